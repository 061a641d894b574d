// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/cs-run/replan.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/replanning/plan_tuner.h"
#include "runtime/replanning/planning_command.h"
#include "runtime/replanning/replacement.h"
#include "tools/cs-run/outputs.h"

namespace commsched::run {
namespace {

using runtime::ReplanEvent;

// What people read later: a run goes on without it.
void Append(const std::string &folder, const std::string &line) {
  mkdir(folder.c_str(), 0777);
  const std::string path = folder + "/events.json";
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  const ssize_t written = fd < 0 ? -1 : write(fd, line.data(), line.size());
  if (written != ssize_t(line.size()))
    std::fprintf(stderr, "cs-run: warning: %s: cannot be written: %s\n", path.c_str(),
                 std::strerror(written < 0 ? errno : ENOSPC));
  if (fd >= 0) close(fd);
}

absl::Status CheckMeasures(const char *option, const Options &o) {
  if (!o.profile.empty() || !o.calibrate.empty())
    return absl::InvalidArgumentError(
        absl::StrCat(option, " measures by itself: it goes without --profile and --calibrate"));
  if (o.is_server())
    return absl::InvalidArgumentError(absl::StrCat(option, " is of trainers, a server goes on as it is"));
  return absl::OkStatus();
}

// Rank 0 tells people, and writes it to the folder.
std::function<void(const ReplanEvent &)> Told(const Options &options, std::shared_ptr<std::atomic<bool>> kept) {
  if (options.rank > 0) return nullptr;
  return [folder = options.replan_folder, tunes = !options.tune.empty(), kept = std::move(kept)](const ReplanEvent &event) {
    if (kept != nullptr && event.kind == ReplanEvent::kKept) *kept = true;
    if (!folder.empty()) Append(folder, runtime::ToJson(event) + "\n");
    const bool bad = event.kind == ReplanEvent::kGivenUp;
    // Every trial is a change; what came of them is one line.
    if (tunes && !bad && event.kind != ReplanEvent::kKept) return;
    // In the place of the progress bar, which comes back.
    if (isatty(STDOUT_FILENO) == 1) std::fputs("\r\x1b[K", stdout);
    std::fflush(stdout);
    std::fprintf(bad ? stderr : stdout, "%s%s: %s\n", bad ? "cs-run: warning: " : "",
                 tunes ? "tuning" : absl::StrCat("re-planning ", event.attempt).c_str(), event.text.c_str());
    std::fflush(stdout);
  };
}

}  // namespace

absl::Status CheckReplan(const Options &o) {
  auto bad = [](absl::string_view text) { return absl::InvalidArgumentError(text); };
  if (o.tune.empty() && o.tune_steps != 0) return bad("--tune-steps needs --tune");
  if (!o.tune.empty()) {
    if (!o.replan.empty() || o.replan_every != 0 || o.replan_when_off != 0 || o.replan_window != 0 ||
        o.replan_deadline != absl::ZeroDuration())
      return bad("--tune goes without --replan and its options, but --replan-folder");
    return CheckMeasures("--tune", o);
  }
  if (o.replan.empty()) {
    if (!o.replan_folder.empty()) return bad("--replan-folder needs --replan or --tune");
    return absl::OkStatus();
  }
  if (absl::Status s = runtime::CheckPlanningCommand(o.replan); !s.ok())
    return bad(absl::StrCat("--replan ", s.message()));
  if (o.replan_every == 0 && o.replan_when_off == 0)
    return bad("--replan needs --replan-every or --replan-when-off");
  if (o.replan_every != 0 && o.replan_window > o.replan_every)
    return bad(absl::StrCat("--replan-window must be at most --replan-every, ", o.replan_every, ", as no plan is made before it is over, got: ",
                            o.replan_window));
  return CheckMeasures("--replan", o);
}

absl::Status CheckReplan(const Options &options, const runtime::PlanImage &image) {
  if (!Replans(options)) return absl::OkStatus();
  const bool has_servers = !image.servers().servers.empty();
  if (!options.replan_folder.empty() && options.rank <= 0 && !options.spawned)
    if (absl::Status s = MakeFolder("--replan-folder", options.replan_folder); !s.ok()) return s;
  if (has_servers && options.tune.empty())
    return absl::InvalidArgumentError("--replan goes without parameter servers, whose links it does not measure");
  if (has_servers && options.rank >= 0 && options.peers.empty() && image.nodes() > 1)
    return absl::InvalidArgumentError("--tune of trainers needs --peers: they agree on when they change");
  absl::Status status = runtime::CheckReplaceable(image);
  // No error: it may be a script for many that is tried with one.
  if (status.ok() && image.nodes() == 1 && image.plan().cluster().devices() <= 1 && !has_servers && options.rank <= 0 && !options.spawned)
    std::fprintf(stderr, "cs-run: warning: %s changes nothing with one worker, which sends nothing that could be sent by another plan\n",
                 options.tune.empty() ? "--replan" : "--tune");
  if (status.ok()) return status;
  return absl::Status(status.code(), absl::StrCat(options.tune.empty() ? "--replan: " : "--tune: ", status.message()));
}

void WarnOfNoneKept(const Options &options) {
  if (!options.tune.empty() && options.rank <= 0)
    std::fprintf(stderr, "cs-run: warning: tuning: the run has ended before it was known which plan is the fastest: the choice takes more steps\n");
}

absl::StatusOr<runtime::ReplanOptions> ReplanOptionsOf(const Options &options, std::shared_ptr<std::atomic<bool>> kept) {
  if (!options.tune.empty()) {
    runtime::PlanTunerOptions tuned;
    tuned.steps = options.tune_steps;
    if (options.rank <= 0) {
      tuned.plans = {options.plan};
      tuned.plans.insert(tuned.plans.end(), options.tune.begin(), options.tune.end());
    }
    auto replan = runtime::TunePlans(tuned);
    if (!replan.ok())
      return absl::Status(replan.status().code(), absl::StrCat("--tune: ", replan.status().message()));
    replan->on_event = Told(options, std::move(kept));
    return replan;
  }
  runtime::PlanningCommandOptions command;
  command.command = options.replan;
  command.folder = options.replan_folder;
  if (options.replan_deadline > absl::ZeroDuration())
    command.deadline = options.replan_deadline;
  runtime::ReplanOptions replan;
  replan.plan = runtime::PlanByCommand(std::move(command));
  replan.every = options.replan_every;
  replan.when_off_percent = options.replan_when_off;
  replan.window = options.replan_window != 0 ? options.replan_window : runtime::StepClock::DefaultWindow(options.replan_every);
  replan.on_event = Told(options, nullptr);
  return replan;
}

}  // namespace commsched::run
