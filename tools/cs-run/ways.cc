// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/cs-run/ways.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "runtime/loading/plan_cuda.h"
#include "runtime/session/session.h"

namespace commsched::run {
namespace {

struct Row {
  const char *name;
  unsigned ways;
  const char *needs = nullptr;  // an option without which it is of no use
};

constexpr unsigned kRuns = kTrain | kServe | kCalibrate;
constexpr unsigned kRanks = kTrain | kCalibrate;  // with connections of ranks

constexpr Row kRows[] = {
    {"--batch", kTrain | kCheck},
    {"--steps", kTrain | kSimulate | kCheck},
    {"--epochs", kTrain, "--batch"},
    {"--shuffle", kTrain | kCheck, "--batch"},
    {"--seed", kTrain | kCheck, "--shuffle"},
    {"--init", kRuns | kCheck},
    {"--resume", kRuns},
    {"--resume-job", kTrain | kServe},
    {"--checkpoint", kTrain | kServe},
    {"--checkpoint-every", kTrain | kServe, "--checkpoint"},
    {"--save-params", kTrain},
    {"--call", kTrain},
    {"--stop-on-nan", kTrain},
    {"--check-against", kCheck},
    {"--check-json", kCheck, "--check-against"},
    {"--eval", kTrain},
    {"--eval-batch", kTrain, "--eval"},
    {"--eval-every", kTrain, "--eval"},
    {"--spawn", kRanks},
    {"--role", kRuns | kArenaInfo},
    {"--rank", kRanks | kArenaInfo},
    {"--peers", kRanks},
    {"--servers", kRanks},
    {"--index", kServe | kArenaInfo},
    {"--listen", kServe},
    {"--listen-any", kRanks},
    {"--transport", kRanks | kCheck},
    {"--token-file", kRuns},
    {"--insecure", kRuns},
    {"--tls-ca", kRuns},
    {"--tls-cert", kRuns},
    {"--tls-key", kRuns},
    {"--tls-server-name", kRanks},
    {"--congestion-control", kRanks},
    {"--no-shared-memory", kRuns},
    {"--membership", kRanks},
    {"--deadline", kRuns | kCheck},
    {"--emulate", kRuns},
    {"--simulate", kSimulate},
    {"--what-if", kSimulate, "--simulate"},
    {"--straggler", kSimulate, "--simulate"},
    {"--jitter", kSimulate, "--simulate"},
    {"--in-order", kSimulate, "--simulate"},
    {"--link", kSimulate, "--simulate"},
    {"--link-latency-ns", kSimulate, "--simulate"},
    {"--link-overhead-ns", kSimulate, "--simulate"},
    {"--link-burst", kSimulate, "--simulate"},
    {"--link-queue-ns", kSimulate, "--simulate"},
    {"--engine-ns", kSimulate, "--simulate"},
    {"--read-profile", kSimulate, "--simulate"},
    {"--read-calibration", kSimulate, "--simulate"},
    {"--read-nccl-tests", kSimulate, "--simulate"},
    {"--every-rank", kSimulate, "--simulate"},
    {"--replan", kTrain},
    {"--replan-every", kTrain, "--replan"},
    {"--replan-window", kTrain, "--replan"},
    {"--replan-when-off", kTrain, "--replan"},
    {"--replan-deadline", kTrain, "--replan"},
    {"--replan-folder", kTrain},
    {"--tune", kTrain},
    {"--tune-steps", kTrain, "--tune"},
    {"--metrics-every", kTrain},
    {"--metrics-json", kTrain | kSimulate},
    {"--trace", kTrain | kServe | kSimulate},
    {"--report", kTrain | kSimulate | kShow},
    {"--predicted", kTrain | kShow, "--report"},
    {"--measured", kSimulate | kShow, "--report"},
    {"--report-steps", kTrain | kSimulate | kShow, "--report"},
    {"--profile", kTrain | kServe},
    {"--calibrate", kCalibrate},
    {"--arena-info", kArenaInfo},
};

// Of processes that --spawn has started, and of nobody else.
constexpr const char *kOfSpawned[] = {"--spawned", "--token-fd", "--stop-file", "--trace-origin"};

const Row *Find(absl::string_view name) {
  for (const Row &row : kRows)
    if (name == row.name) return &row;
  return nullptr;
}

bool IsOfSpawned(absl::string_view name) {
  return std::find(std::begin(kOfSpawned), std::end(kOfSpawned), name) != std::end(kOfSpawned);
}

bool IsGiven(const Options &options, absl::string_view name) {
  return std::find(options.given.begin(), options.given.end(), name) != options.given.end();
}

const char *Says(Way way) {
  switch (way) {
    case kTrain: return "training";
    case kServe: return "--role server goes without what trainers do";
    case kCalibrate: return "--calibrate goes without what training needs and writes";
    case kSimulate: return "--simulate runs nothing";
    case kCheck: return "--check-against goes without what training, measuring and predicting need";
    case kShow: return "--measured is of a run that has been: goes without what trains and traces";
    case kArenaInfo: return "--arena-info runs nothing: it goes with --rank, or with --role server and --index";
  }
  return "";
}

// Whether the step (nullptr), of any rank, or the functions of this name take batches.
bool TakesBatches(const runtime::PlanImage &image, const std::string *name) {
  for (const plan::Function &f : image.plan().functions()) {
    if (name == nullptr ? !f.is_step() : f.name() != *name) continue;
    for (const plan::Buffer &buffer : f.buffers())
      if (buffer.kind() == plan::Buffer::BATCH) return true;
  }
  return false;
}

absl::Status CheckDataUsed(const Options &o, const runtime::PlanImage &image) {
  const auto bad = [](absl::string_view text) { return absl::InvalidArgumentError(text); };
  const bool step = TakesBatches(image, nullptr);
  bool used = step || (!o.eval.empty() && o.eval_batch.empty() && TakesBatches(image, &o.eval));
  for (const std::string &call : o.calls) used |= TakesBatches(image, &call);
  if (!o.batch.empty() && !used)
    return bad("--batch is for functions that take batches, of which none is run");
  if (o.epochs && !step) return bad("--epochs counts batches, of which the step takes none");
  if (!o.eval_batch.empty() && !TakesBatches(image, &o.eval))
    return bad(absl::StrCat("--eval-batch is for batches, of which @", o.eval, " takes none"));
  return absl::OkStatus();
}

absl::Status CheckConnectionsUsed(const Options &o, const runtime::PlanImage &image) {
  const auto bad = [](absl::string_view text) { return absl::InvalidArgumentError(text); };
  // Trainers agree on when they change to another plan.
  const bool talk = runtime::RanksCommunicate(image) ||
                    (image.nodes() > 1 && (image.servers().servers.empty() || !o.tune.empty() || !o.calibrate.empty()));
  const bool rank = o.rank >= 0 && talk && (o.world > 0 || !o.peers.empty());
  if (!o.peers.empty() && !rank && o.has_servers())
    return bad("--peers is of ranks that talk to each other: these trainers talk to servers only");
  if (o.listen_any && !rank) return bad("--listen-any is of ranks that others dial, of which there are none");
  const bool dialled = std::any_of(o.peers.begin(), o.peers.end(),
                                   [](const std::string &peer) { return !absl::StartsWith(peer, "unix:"); });
  if (!o.congestion.empty() && (!rank || o.transport == "mpi" || !dialled))
    return bad("--congestion-control is of TCP connections between ranks, of which there are none");
  if (o.membership >= 0 && !rank)
    return bad(
        "--membership is of ranks that are started by others and talk to each other, of which "
        "there are none");
  return absl::OkStatus();
}

}  // namespace

Way WayOf(const Options &o) {
  if (!o.check_against.empty()) return kCheck;
  if (o.simulate) return kSimulate;
  if (!o.calibrate.empty()) return kCalibrate;
  if (o.arena_info) return kArenaInfo;
  if (!o.measured.empty()) return kShow;
  return o.is_server() ? kServe : kTrain;
}

absl::Status CheckWay(const Options &options) {
  if (options.spawned) return absl::OkStatus();  // the parent has
  const auto bad = [](const auto &...text) { return absl::InvalidArgumentError(absl::StrCat(text...)); };
  const Way way = WayOf(options);
  for (const std::string &name : options.given) {
    if (IsOfSpawned(name)) return bad(name, " is not for users");
    const Row *row = Find(name);
    if (row == nullptr) return absl::InternalError(absl::StrCat(name, " has no row in ways.cc"));
    if (row->needs != nullptr && !IsGiven(options, row->needs))
      return bad(name, " needs ", row->needs);
    if ((row->ways & way) == 0) return bad(Says(way), ", got: ", name);
  }
  return absl::OkStatus();
}

absl::Status CheckPlanUses(const Options &o, const runtime::PlanImage &image) {
  if (o.spawned) return absl::OkStatus();  // the parent has
  const auto bad = [](absl::string_view text) { return absl::InvalidArgumentError(text); };
  const bool servers = !image.servers().servers.empty();
  const Way way = WayOf(o);
  if (way == kShow || way == kSimulate || way == kArenaInfo) return absl::OkStatus();
  if (way == kTrain || way == kCheck)
    if (absl::Status s = CheckDataUsed(o, image); !s.ok()) return s;
  if (!servers && !o.resume.empty() && !o.init.empty())
    return bad("--resume and --init exclude each other");
  if (way == kCalibrate && !(servers && o.spawn != 0) && (!o.resume.empty() || !o.init.empty()))
    return bad("--calibrate goes with --init and --resume where it starts parameter servers only");
  if (way == kCalibrate && o.emulate && !(servers && o.spawn != 0) && !runtime::IsCudaPlan(image.plan()))
    return bad("--calibrate measures links, which --emulate leaves as they are: it is for plans for CUDA devices, and where parameter servers are started");
  return way == kCheck ? absl::OkStatus() : CheckConnectionsUsed(o, image);
}

}  // namespace commsched::run
