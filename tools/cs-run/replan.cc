// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/cs-run/replan.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/replanning/planning_command.h"
#include "runtime/replanning/replacement.h"

namespace commsched::run {
namespace {

using runtime::ReplanEvent;

void Append(const std::string &folder, const std::string &line) {
  mkdir(folder.c_str(), 0777);
  if (std::FILE *file = std::fopen((folder + "/events.json").c_str(), "a")) {
    std::fputs(line.c_str(), file);
    std::fclose(file);
  }
}

}  // namespace

absl::Status CheckReplan(const Options &o) {
  auto bad = [](absl::string_view text) { return absl::InvalidArgumentError(text); };
  if (o.replan.empty()) {
    if (o.replan_every != 0 || o.replan_when_off != 0 || o.replan_window != 0 ||
        o.replan_deadline != absl::ZeroDuration() || !o.replan_folder.empty())
      return bad(
          "--replan-every, --replan-when-off, --replan-window, --replan-deadline "
          "and --replan-folder need --replan");
    return absl::OkStatus();
  }
  if (absl::Status s = runtime::CheckPlanningCommand(o.replan); !s.ok())
    return bad(absl::StrCat("--replan ", s.message()));
  if (o.replan_every == 0 && o.replan_when_off == 0)
    return bad("--replan needs --replan-every or --replan-when-off");
  if (!o.profile.empty() || !o.calibrate.empty())
    return bad("--replan measures by itself: it goes without --profile and --calibrate");
  if (o.is_server() || o.has_servers())
    return bad("--replan goes without parameter servers");
  return absl::OkStatus();
}

absl::Status CheckReplan(const Options &options, const runtime::PlanImage &image) {
  if (options.replan.empty()) return absl::OkStatus();
  absl::Status status = runtime::CheckReplaceable(image);
  if (status.ok()) return status;
  return absl::Status(status.code(), absl::StrCat("--replan: ", status.message()));
}

runtime::ReplanOptions ReplanOptionsOf(const Options &options) {
  runtime::PlanningCommandOptions command;
  command.command = options.replan;
  command.folder = options.replan_folder;
  if (options.replan_deadline > absl::ZeroDuration())
    command.deadline = options.replan_deadline;
  runtime::ReplanOptions replan;
  replan.plan = runtime::PlanByCommand(std::move(command));
  replan.every = options.replan_every;
  replan.when_off_percent = options.replan_when_off;
  if (options.replan_window != 0) replan.window = options.replan_window;
  if (options.rank > 0) return replan;
  replan.on_event = [folder = options.replan_folder](const ReplanEvent &event) {
    const bool bad = event.kind == ReplanEvent::kGivenUp;
    // In the place of the progress bar, which comes back.
    if (isatty(STDOUT_FILENO) == 1) std::fputs("\r\x1b[K", stdout);
    std::fflush(stdout);
    std::fprintf(bad ? stderr : stdout, "%sre-planning %d: %s\n",
                 bad ? "cs-run: warning: " : "", int(event.attempt), event.text.c_str());
    std::fflush(stdout);
    if (!folder.empty()) Append(folder, runtime::ToJson(event) + "\n");
  };
  return replan;
}

}  // namespace commsched::run
