// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A session whose plan may change during the run: docs/replanning.md.
#include <algorithm>
#include <map>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/status_util.h"
#include "runtime/replanning/replacement.h"
#include "runtime/session/session.h"

namespace commsched::runtime {
namespace {

absl::StatusOr<std::shared_ptr<TransportLanes>> Connect(
    const PlanImage &image, int rank, const ConnectFunction &connect,
    const SessionOptions &options) {
  auto lanes = std::make_shared<TransportLanes>();
  TransportOptions transport;
  transport.rank = rank;
  transport.nodes = image.nodes();
  transport.plan_digest = image.digest() ^ options.run_digest;
  transport.connect_deadline = options.deadline;
  transport.on_peer_failure = lanes->FailureHandler();
  auto connected = connect(std::move(transport));
  if (!connected.ok())
    return absl::Status(connected.status().code(),
                        absl::StrCat("rank ", rank, ": ", connected.status().message()));
  lanes->Attach(*std::move(connected));
  return lanes;
}

// Of several ranks: they wait for each other.
absl::Status ConnectAll(const PlanImage &image, const ConnectFunction &connect,
                        const SessionOptions &options,
                        std::vector<Replanner::Rank> *ranks) {
  std::vector<absl::Status> statuses(ranks->size());
  std::vector<std::thread> threads;
  for (size_t i = 0; i < ranks->size(); ++i)
    threads.emplace_back([&, i] {
      auto lanes = Connect(image, (*ranks)[i].rank, connect, options);
      statuses[i] = lanes.status();
      if (lanes.ok()) (*ranks)[i].lanes = *std::move(lanes);
    });
  for (std::thread &thread : threads) thread.join();
  for (const absl::Status &status : statuses)
    if (!status.ok()) return status;
  return absl::OkStatus();
}

// Of ranks that are trainers. An error ends their connections with each other.
absl::Status ConnectServers(const PlanImage &image, const ConnectServersFunction &connect,
                            std::vector<Replanner::Rank> *ranks) {
  if (image.servers().servers.empty()) return absl::OkStatus();
  absl::Status status;
  for (Replanner::Rank &rank : *ranks) {
    if (!connect) status = absl::FailedPreconditionError("there is no connection to parameter servers");
    if (!status.ok()) break;
    auto connected = connect(rank.rank);
    if (connected.ok())
      rank.servers = std::make_shared<ParameterLanes>(*std::move(connected));
    else
      status = absl::Status(connected.status().code(),
                            absl::StrCat("rank ", rank.rank, ": ", connected.status().message()));
  }
  for (const Replanner::Rank &rank : *ranks)
    if (!status.ok() && rank.lanes != nullptr) rank.lanes->Abort(status);
  return status;
}

// A plan that may change runs on the host: cuda_rank.h refuses others.
Executor &OnHost(RankExecutor &executor) { return static_cast<Executor &>(executor); }
std::vector<std::unique_ptr<Executor>> TakeOnHost(
    std::vector<std::unique_ptr<RankExecutor>> *executors) {
  std::vector<std::unique_ptr<Executor>> taken;
  for (auto &executor : *executors) taken.emplace_back(&OnHost(*executor.release()));
  executors->clear();
  return taken;
}
std::vector<std::unique_ptr<RankExecutor>> Take(std::vector<std::unique_ptr<Executor>> *executors) {
  std::vector<std::unique_ptr<RankExecutor>> taken;
  for (auto &executor : *executors) taken.push_back(std::move(executor));
  executors->clear();
  return taken;
}

absl::Duration Since(Clock::time_point begin) {
  return absl::FromChrono(Clock::now() - begin);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Session>> Session::Replanning(
    std::unique_ptr<Session> session, const std::vector<int> &ranks,
    const ConnectFunction &connect, const ConnectServersFunction &connect_servers,
    const SessionOptions &options) {
  const std::shared_ptr<const PlanImage> image = session->image_;
  if (absl::Status s = CheckReplaceable(*image); !s.ok()) return s;
  if (auto program = image->ForRank(ranks[0]); !program.ok()) return program.status();
  Replanner::Settings settings;
  settings.options = *options.replan;
  settings.trace = options.trace;
  settings.deadline = options.deadline;
  settings.emulate = options.emulate;
  settings.on_completed = options.on_completed;
  for (int rank : ranks) settings.ranks.push_back({rank, nullptr});
  // A lone rank talks to nobody; of several elsewhere, rank 0 must be heard even
  // if the plan has no message.
  if (image->nodes() > 1) {
    if (!connect)
      return absl::FailedPreconditionError("re-planning needs connections to all ranks");
    if (absl::Status s = ConnectAll(*image, connect, options, &settings.ranks); !s.ok())
      return s;
  }
  if (absl::Status s = ConnectServers(*image, connect_servers, &settings.ranks); !s.ok()) return s;
  std::vector<Replanner::Rank> connected = settings.ranks;
  session->of_trainers_.assign(image->values().size(), false);
  session->completed_ = std::make_shared<CompletedCalls>(ranks.size());
  settings.completed = session->completed_;
  auto replanner = std::make_unique<Replanner>(std::move(settings));
  absl::StatusOr<Generation> made = replanner->Make(0, image);
  if (!made.ok()) {
    for (const Replanner::Rank &rank : connected) {
      if (rank.lanes != nullptr) rank.lanes->Abort(made.status());
      if (rank.servers != nullptr) rank.servers->Abort(made.status());
    }
    return absl::Status(made.status().code(),
                        absl::StrCat("rank ", ranks[0], ": ", made.status().message()));
  }
  session->generation_ = std::make_unique<Generation>(*std::move(made));
  session->generation_->SetLive(true);
  session->executors_ = Take(&session->generation_->executors);
  session->replanner_ = std::move(replanner);
  session->replanner_->Start(session->generation_.get());
  return session;
}

absl::Status Session::MoveValues(const Generation &next) {
  for (size_t i = 0; i < executors_.size(); ++i) {
    Executor &from = OnHost(*executors_[i]), &to = *next.executors[i];
    std::map<std::pair<std::string, uint32_t>, uint32_t> places;
    const std::vector<SlotInfo> &slots = from.program().slots;
    for (uint32_t s = 0; s < slots.size(); ++s)
      places[{slots[s].name, slots[s].device}] = s;
    for (uint32_t s = 0; s < to.program().slots.size(); ++s) {
      const SlotInfo &slot = to.program().slots[s];
      if (!slot.held) continue;
      auto place = places.find({slot.name, slot.device});
      if (place == places.end())  // not after CheckReplacement
        return absl::InternalError(absl::StrCat("there is no \"", slot.name, "\""));
      absl::StatusOr<SharedBytes> value = from.ShareSlot(place->second);
      if (!value.ok()) return value.status();
      if (absl::Status status = to.SetSlot(s, value->bytes); !status.ok())
        return status;
    }
    to.ContinueFrom(&from);
  }
  return absl::OkStatus();
}

std::vector<int64_t> Session::StepTimes() {
  std::vector<int64_t> times;
  const std::vector<FunctionProgram> &functions = program().functions;
  timed_.resize(functions.size());
  for (size_t f = 0; f < functions.size(); ++f) {
    if (!functions[f].is_step) continue;
    const FunctionStats stats = executors_[0]->Stats(int(f));
    const uint64_t before = std::exchange(timed_[f], stats.calls);
    for (uint64_t call = std::max(before, stats.calls - std::min(stats.calls, FunctionStats::kLast)); call < stats.calls; ++call)
      times.push_back(stats.last_ns[call % FunctionStats::kLast]);
  }
  return times;
}

absl::Status Session::ChangePlan(int function) {
  const bool is_step = program().functions[size_t(function)].is_step;
  if (const uint64_t most = replanner_->MostUnderWay(); most != 0 && calls_ > most)
    for (auto &executor : executors_)
      if (absl::Status s = executor->Metrics(calls_ - most - 1).status(); !s.ok()) return Root(s);
  // What all ranks have called as often: with servers, rank 0 evaluates alone.
  const uint64_t number = has_servers() ? steps() : calls_;
  auto next = replanner_->Before(number, is_step, StepTimes(), [this]() -> absl::Status {
    for (auto &executor : executors_)
      if (absl::Status s = executor->status(); !s.ok()) return Root(s);
    return absl::OkStatus();
  });
  if (!next.ok()) return next.status();
  if (*next == nullptr) return absl::OkStatus();
  // The calls before complete here; on other ranks they may take longer. Their
  // messages are of the old plan's lane.
  const Clock::time_point begin = Clock::now();
  if (absl::Status s = Drain(); !s.ok()) return s;
  const absl::Duration drained = Since(begin);
  const std::vector<int64_t> last = StepTimes();
  if (absl::Status s = MoveValues(**next); !s.ok()) return Root(s);
  absl::Status cancelled;
  {
    MutexLock lock(&cancel_mu_);
    (*next)->SetLive(true);
    generation_->SetLive(false);
    generation_->executors = TakeOnHost(&executors_);
    executors_ = Take(&(*next)->executors);
    std::swap(generation_, *next);
    image_ = generation_->image;
    cancelled = Unshared(cancelled_);
  }
  if (!cancelled.ok())
    for (auto &executor : executors_) executor->Cancel(cancelled);
  const absl::Duration moved = Since(begin) - drained;
  replanner_->Switched(generation_.get(), *std::move(next), number, last, drained, moved);
  return absl::OkStatus();
}

}  // namespace commsched::runtime
