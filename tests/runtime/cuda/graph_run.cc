// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tests/runtime/cuda/graph_run.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/cuda/host_lanes.h"
#include "runtime/cuda/load.h"
#include "runtime/cuda/step_issuer.h"

namespace commsched::runtime::cuda {
namespace {

class Rank {
 public:
  Rank(const GraphCase &graph_case, const IssuePlan &plan, const GraphRunOptions &options, int rank,
       FakeMachine &machine)
      : case_(graph_case),
        plan_(plan),
        options_(options),
        rank_(rank),
        machine_(machine),
        host_(graph_case.graph, plan) {}

  absl::Status Begin(const NcclUniqueId &id) {
    Enter();
    const RankMemory initial = InitialMemory(case_, rank_);
    for (const std::vector<std::byte> &bytes : initial) {
      void *memory = nullptr;
      nccl_.MemAlloc(&memory, std::max<size_t>(1, bytes.size()));
      std::memcpy(memory, bytes.data(), bytes.size());
      memory_.push_back(static_cast<std::byte *>(memory));
    }
    for (const Lane &lane : case_.graph.lanes)
      lanes_.push_back(lane.host() ? machine_.AddHostLane() : 0);
    absl::StatusOr<std::unique_ptr<StepIssuer>> issuer =
        StepIssuer::Create(driver_, case_.graph, plan_);
    if (!issuer.ok()) return issuer.status();
    issuer_ = *std::move(issuer);
    NcclConfig config;
    config.blocking = 0;
    nccl_.CommInitRankConfig(&comm_, case_.ranks, id, rank_, &config);
    return absl::OkStatus();
  }
  void Register() {
    Settle(NcclResult::kInProgress);
    NcclWindow window = nullptr;
    Settle(nccl_.CommWindowRegister(comm_, memory_[kArena], case_.memory[kArena], &window,
                                    kNcclWindowSymmetric));
    windows_.push_back(window);
  }

  bool MayEnqueue() const { return enqueued_ < options_.rounds && host_.MayEnqueue(); }
  absl::Status EnqueueRound() {
    Enter();
    host_.Enqueued();
    ++enqueued_;
    return issuer_->EnqueueRound(
        [this](const OpOfRound &op, Stream stream) { return EnqueueOp(op, stream); });
  }
  // Whether something has moved.
  bool PollOne(std::mt19937_64 &random) {
    const std::vector<OpOfRound> awaited = host_.Awaited();
    if (awaited.empty()) return false;
    const OpOfRound op = awaited[random() % awaited.size()];
    FakeMachine::ActAs(-1);
    absl::StatusOr<bool> ended = issuer_->HasEnded(op);
    if (!ended.ok() || !*ended) return false;
    host_.Ended(op);
    return true;
  }
  bool PollAll() {
    bool moved = false;
    for (const OpOfRound &op : host_.Awaited()) {
      absl::StatusOr<bool> ended = issuer_->HasEnded(op);
      if (!ended.ok() || !*ended) continue;
      host_.Ended(op);
      moved = true;
    }
    return moved;
  }
  bool RunHostOp(std::mt19937_64 &random) {
    for (const OpOfRound &op : host_.TakeReady()) ready_.push_back(op);
    if (ready_.empty()) return false;
    const size_t at = random() % ready_.size();
    const OpOfRound op = ready_[at];
    ready_.erase(ready_.begin() + ptrdiff_t(at));
    const uint32_t lane = lanes_[case_.graph.ops[op.op].lane];
    // What it has waited for is what the plan says, not what others have seen.
    FakeMachine::ActAs(lane);
    for (const Dependence &wait : plan_.ops[op.op].waits) {
      if (wait.previous && op.round == 0) continue;
      const OpOfRound on{wait.op, op.round - (wait.previous ? 1 : 0)};
      if (case_.graph.lanes[case_.graph.ops[on.op].lane].host())
        machine_.HostFollows(lane, clocks_[on]);
      else
        issuer_->HasEnded(on).IgnoreError();
    }
    FakeMachine::ActAs(-1);
    machine_.HostOp(lane, WorkOf(case_, op, memory_));
    clocks_[op] = machine_.HostClock(lane);
    if (const uint32_t *flag = issuer_->flag(op.op))
      machine_.HostSets(lane, flag, uint32_t(op.round + 1));
    issuer_->HostEnded(op);
    host_.Ended(op);
    return true;
  }
  bool Done() const { return enqueued_ == options_.rounds && host_.Idle() && ready_.empty(); }

  bool Equals(const RankMemory &expected) const {
    for (size_t i = 0; i < expected.size(); ++i) {
      if (std::memcmp(memory_[i], expected[i].data(), expected[i].size()) != 0) return false;
    }
    return true;
  }

  void End(bool well) {
    if (well) {
      for (NcclWindow window : windows_) Settle(nccl_.CommWindowDeregister(comm_, window));
      Settle(nccl_.CommFinalize(comm_));
      nccl_.CommDestroy(comm_);
    } else {
      // An abort waits for streams, and they for the host.
      issuer_->Release();
      nccl_.CommAbort(comm_);
    }
  }
  void Free() {
    issuer_.reset();
    for (std::byte *memory : memory_) nccl_.MemFree(memory);
  }

 private:
  void Enter() { driver_.ContextSetCurrent(reinterpret_cast<Context>(uintptr_t(rank_) + 1)); }
  void Settle(NcclResult result) {
    if (result == NcclResult::kSuccess) result = NcclResult::kInProgress;  // it does not say more
    while (result == NcclResult::kInProgress) nccl_.CommGetAsyncError(comm_, &result);
  }
  absl::Status EnqueueOp(const OpOfRound &op, Stream stream) {
    OpOfRound what = op;
    if (options_.swap && options_.swap->rank == rank_) {
      if (op.op == options_.swap->first) what.op = options_.swap->second;
      if (op.op == options_.swap->second) what.op = options_.swap->first;
    }
    switch (case_.work[what.op].kind) {
      case OpWork::kCollective: {
        const Collective c = CollectiveOf(case_, what, memory_);
        FakeMachine::NameNext(NameOf(case_, what));
        if (c.kind == Collective::Kind::kAllReduce)
          Settle(nccl_.AllReduce(c.from, c.to, c.count, c.type, c.reduction, comm_, stream));
        else if (c.kind == Collective::Kind::kReduceScatter)
          Settle(nccl_.ReduceScatter(c.from, c.to, c.count, c.type, c.reduction, comm_, stream));
        else
          Settle(nccl_.AllGather(c.from, c.to, c.count, c.type, comm_, stream));
        return absl::OkStatus();
      }
      case OpWork::kCopy: {
        const Op &copy = case_.graph.ops[what.op];
        const Range &from = copy.reads.front(), &to = copy.writes.front();
        FakeMachine::NameNext(NameOf(case_, what));
        return ToStatus(
            driver_,
            driver_.MemcpyAsync(reinterpret_cast<uintptr_t>(memory_[to.memory] + to.begin),
                                reinterpret_cast<uintptr_t>(memory_[from.memory] + from.begin),
                                to.bytes, stream),
            "cuMemcpyAsync");
      }
      default: {
        FakeWork work = WorkOf(case_, what, memory_), *parameter = &work;
        void *parameters[] = {&parameter};
        return ToStatus(driver_,
                        driver_.LaunchKernel(machine_.kernel(), 1, 1, 1, 1, 1, 1, 0, stream,
                                             parameters, nullptr),
                        "cuLaunchKernel");
      }
    }
  }

  const GraphCase &case_;
  const IssuePlan &plan_;
  const GraphRunOptions &options_;
  const int rank_;
  FakeMachine &machine_;
  const DriverApi &driver_ = FakeMachine::driver();
  const NcclApi &nccl_ = FakeMachine::nccl();
  HostLanes host_;
  std::unique_ptr<StepIssuer> issuer_;
  NcclComm comm_ = nullptr;
  std::vector<NcclWindow> windows_;
  std::vector<std::byte *> memory_;
  std::vector<uint32_t> lanes_;              // of the machine, for each lane of the host
  std::map<OpOfRound, VectorClock> clocks_;  // of host ops that have ended
  std::vector<OpOfRound> ready_;
  uint64_t enqueued_ = 0;
};

}  // namespace

GraphRunResult RunGraph(const GraphCase &graph_case, const IssuePlan &plan,
                        const GraphRunOptions &options) {
  std::mt19937_64 random(options.seed);
  FakeMachine machine(random(), graph_case.ranks);
  GraphRunResult result;
  NcclUniqueId id;
  FakeMachine::nccl().GetUniqueId(&id);
  std::vector<std::unique_ptr<Rank>> ranks;
  for (int rank = 0; rank < graph_case.ranks; ++rank) {
    ranks.push_back(std::make_unique<Rank>(graph_case, plan, options, rank, machine));
    result.status.Update(ranks.back()->Begin(id));
  }
  for (const auto &rank : ranks) rank->Register();
  const auto done = [&] {
    for (const auto &rank : ranks) {
      if (!rank->Done()) return false;
    }
    return machine.Idle();
  };
  while (result.status.ok() && !done()) {
    // Some steps of the machine, often none, and then something of some rank; all, if nothing
    // moves.
    bool moved = machine.RunSome(random() % 4 == 0 ? random() % 40 : 0) != 0;
    const auto step = [&](Rank &rank, uint64_t which) {
      if (which == 0 && rank.MayEnqueue()) {
        result.status.Update(rank.EnqueueRound());
        moved = true;
      }
      if (which == 1) moved |= rank.PollOne(random);
      if (which == 2) moved |= rank.RunHostOp(random);
    };
    step(*ranks[random() % ranks.size()], random() % 3);
    if (moved || machine.RunSome(1) != 0) continue;
    for (const auto &rank : ranks) {
      for (uint64_t which = 0; which < 3; ++which) step(*rank, which);
    }
    // Polling has run nothing: nothing could. But what others awaited is there, perhaps.
    for (const auto &rank : ranks) moved |= rank->PollAll();
    if (moved || machine.RunSome(1) != 0) continue;
    machine.ReportHang();
    if (machine.Idle()) result.findings.push_back("hang: of the host");
    break;
  }
  const bool well = done();
  const std::vector<RankMemory> expected = ExpectedMemory(graph_case, options.rounds);
  result.values_equal = well;
  for (size_t rank = 0; rank < ranks.size(); ++rank)
    result.values_equal &= ranks[rank]->Equals(expected[rank]);
  for (const auto &rank : ranks) rank->End(well);
  for (std::string &line : machine.TakeFindings()) result.findings.push_back(std::move(line));
  while (machine.RunSome(1000) != 0) {
  }
  for (const auto &rank : ranks) rank->Free();
  if (well) {
    for (std::string &line : machine.TakeFindings()) result.findings.push_back(std::move(line));
  }
  result.left = machine.live();
  return result;
}

}  // namespace commsched::runtime::cuda
