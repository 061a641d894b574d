// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tells a FakeMachine what a rank's DeviceExecutor does on the host, and names what it enqueues:
// "rank 1: "w" of step 7". What host ops use is what the executor hands to them, not what its
// graph says.
#ifndef COMMSCHED_TESTS_RUNTIME_CUDA_FAKE_PROBE_H
#define COMMSCHED_TESTS_RUNTIME_CUDA_FAKE_PROBE_H

#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/cuda/device_executor.h"
#include "tests/runtime/cuda/fake_machine.h"

namespace commsched::runtime::cuda {

class FakeProbe : public DeviceProbe {
 public:
  FakeProbe(FakeMachine &machine, int rank)
      : machine_(machine), prefix_(absl::StrCat("rank ", rank, ": ")) {}

  // Faults: what becomes of a function's graph and of its waits.
  std::function<void(int function, PlanGraph *)> change_graph = {};
  std::function<void(int function, const PlanGraph &, IssuePlan *)> change_plan = {};

  void Made(int function, PlanGraph *graph) override {
    if (change_graph) change_graph(function, graph);
  }
  void Planned(int function, const PlanGraph &graph, IssuePlan *plan) override {
    if (change_plan) change_plan(function, graph, plan);
  }
  void Enqueues(const std::string &name) override { FakeMachine::NameNext(prefix_ + name); }
  void HostBegins(const HostOp &op) override {
    const uint32_t lane = LaneOf(op);
    // What it has waited for is what the plan says, not what others have seen.
    FakeMachine::ActAs(lane);
    for (const Dependence &wait : op.plan->ops[op.op.op].waits) {
      if (wait.previous && op.op.round == 0) continue;
      const OpOfRound on{wait.op, op.op.round - (wait.previous ? 1 : 0)};
      if (op.graph->lanes[op.graph->ops[on.op].lane].host())
        machine_.HostFollows(lane, clocks_[{op.function, on}]);
      else
        op.issuer->HasEnded(on).IgnoreError();
    }
    FakeMachine::ActAs(-1);
    FakeWork work;
    work.name = prefix_ + op.name;
    for (const auto &[from, to] :
         {std::pair(&op.reads, &work.reads), std::pair(&op.writes, &work.writes)}) {
      for (const HostBytes &bytes : *from) {
        const auto begin = reinterpret_cast<uintptr_t>(bytes.begin);
        if (bytes.bytes != 0) to->push_back({begin, begin + bytes.bytes});
      }
    }
    machine_.HostOp(lane, work);
  }
  void HostEnds(const HostOp &op) override {
    const uint32_t lane = LaneOf(op);
    clocks_[{op.function, op.op}] = machine_.HostClock(lane);
    // Of long runs, what is older than any wait.
    if (op.op.round >= 4) clocks_.erase({op.function, {op.op.op, op.op.round - 4}});
    if (const uint32_t *flag = op.issuer->flag(op.op.op))
      machine_.HostSets(lane, flag, uint32_t(op.op.round + 1));
  }

 private:
  uint32_t LaneOf(const HostOp &op) {
    const auto [at, fresh] = lanes_.try_emplace({op.function, op.graph->ops[op.op.op].lane}, 0);
    if (fresh) at->second = machine_.AddHostLane();
    return at->second;
  }

  FakeMachine &machine_;
  const std::string prefix_;
  std::map<std::pair<int, uint32_t>, uint32_t> lanes_;
  std::map<std::pair<int, OpOfRound>, VectorClock> clocks_;
};

}  // namespace commsched::runtime::cuda

#endif  // COMMSCHED_TESTS_RUNTIME_CUDA_FAKE_PROBE_H
