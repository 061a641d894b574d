// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What holds up what on the streams of a device, of drawn plans, by brute force (orders.h): beside the orders that
// there would be if each op of the streams that are looked at had a stream of its own.
#include "runtime/program/plan_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/cuda/issue_plan.h"
#include "runtime/cuda/plan_graph.h"
#include "runtime/loading/plan_loader.h"
#include "tests/cases.h"
#include "tests/runtime/cuda/drawn_plan.h"
#include "tests/runtime/cuda/orders.h"

namespace commsched::runtime::cuda {
namespace {

PlanLane LaneOf(const PlanGraph &graph, uint32_t op) { return graph.lanes[graph.graph.ops[op].lane]; }

// Each op of these lanes on a stream of its own, with all dependences of the plan: the graph has none between ops of a stream.
StepGraph Apart(const PlanGraph &graph, const FunctionProgram &function, const std::set<PlanLane> &lanes) {
  StepGraph apart = graph.graph;
  for (uint32_t op = 0; op < apart.ops.size(); ++op) {
    const PlanLane lane = LaneOf(graph, op);
    if (lanes.count(lane) == 0) continue;
    const LaneKind kind = apart.lanes[apart.ops[op].lane].kind;
    apart.lanes.push_back({absl::StrCat("of ", op), kind});
    apart.ops[op].lane = uint32_t(apart.lanes.size()) - 1;
  }
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> ops;  // by call and instruction
  for (uint32_t op = 0; op < graph.work.size(); ++op) ops[{graph.work[op].call, graph.work[op].instruction}] = op;
  for (uint32_t call = 0; call < 2; ++call) {
    for (uint32_t i = 0; i < function.instructions.size(); ++i) {
      std::vector<Dependence> &after = apart.ops[ops.at({call, i})].after;
      for (uint32_t on : function.instructions[i].waits_same) after.push_back({ops.at({call, on}), false});
      for (uint32_t on : function.instructions[i].waits_last) after.push_back({ops.at({1 - call, on}), call == 0});
    }
  }
  return apart;
}

class Checker {
 public:
  // `real`: as it is without a fault, for what the plan needs.
  Checker(const FunctionProgram &function, const PlanGraph &real, const PlanGraph &given, const IssuePlan &plan)
      : graph_(real),
        last_apart_(Orders::Asked(Apart(
            real, function, {PlanLane::kToDevice, PlanLane::kDeferred, PlanLane::kBatches, PlanLane::kMetrics}))),
        to_host_apart_(Orders::Asked(Apart(real, function, {PlanLane::kToHost, PlanLane::kToHostAgain}))),
        given_(Orders::Given(given.graph, plan)) {}

  std::vector<std::string> Problems() {
    for (uint32_t op = 0; op < graph_.work.size(); ++op) {
      if (graph_.work[op].kind == DeviceOp::kCopy) {
        if (LaneOf(graph_, op) == PlanLane::kBatches) CheckBatch(op);
        if (LaneOf(graph_, op) == PlanLane::kToHost) CheckToHost(op);
      }
      if (graph_.work[op].kind == DeviceOp::kMessage) CheckMessage(op);
    }
    return problems_;
  }

 private:
  static constexpr uint64_t kRound = 1;  // that is looked at: there are rounds before it and behind it

  void Find(uint32_t op, const std::string &what, uint32_t on) {
    problems_.push_back(
        absl::StrCat("\"", graph_.graph.ops[op].name, "\" ", what, " \"", graph_.graph.ops[on].name, "\""));
  }
  bool IsLast(uint32_t op) const {
    return LaneOf(graph_, op) == PlanLane::kToDevice || LaneOf(graph_, op) == PlanLane::kDeferred;
  }

  // Of its call and the one before: fills and copies of batches.
  void CheckBatch(uint32_t batch) {
    const uint32_t call = graph_.work[batch].call;
    for (uint64_t round = call == 0 ? kRound - 1 : kRound; round <= kRound; ++round) {
      for (uint32_t op = 0; op < graph_.work.size(); ++op) {
        if (call == 0 && round < kRound && graph_.work[op].call == 0) continue;
        const bool batches =
            graph_.work[op].kind == DeviceOp::kFillBatch || LaneOf(graph_, op) == PlanLane::kBatches;
        if (!batches && given_.Has({op, round}, {batch, kRound})) Find(batch, "waits for", op);
      }
    }
  }

  // For no message of its call but those that it needs.
  void CheckToHost(uint32_t copy) {
    for (uint32_t on = 0; on < copy; ++on) {
      if (graph_.work[on].kind == DeviceOp::kMessage && graph_.work[on].call == graph_.work[copy].call &&
          given_.Has({on, kRound}, {copy, kRound}) && !to_host_apart_.Has({on, kRound}, {copy, kRound}))
        Find(copy, "is held up by", on);
    }
  }

  // What waits for a message of its own call, though the compute that needs it first does not. And no message waits
  // for what is last in its call.
  void CheckMessage(uint32_t message) {
    for (uint32_t op = 0; op < graph_.work.size(); ++op) {
      if (!IsLast(op) || graph_.work[op].call != graph_.work[message].call) continue;
      if (given_.Has({op, kRound}, {message, kRound})) Find(message, "waits for", op);
      if (!given_.Has({message, kRound}, {op, kRound})) continue;
      const std::optional<OpOfRound> first = FirstCompute(op);
      if (first.has_value() && !last_apart_.Has({message, kRound}, *first)) Find(op,
                                                                                 absl::StrCat("is needed by \"", graph_.graph.ops[first->op].name, "\" of round ", first->round,
                                                                                              ", and held up by"),
                                                                                 message);
    }
  }

  std::optional<OpOfRound> FirstCompute(uint32_t op) const {
    for (uint64_t round = kRound; round < kRoundsOfOrders; ++round) {
      for (uint32_t other = 0; other < graph_.work.size(); ++other) {
        if (LaneOf(graph_, other) == PlanLane::kCompute && last_apart_.Has({op, kRound}, {other, round}))
          return OpOfRound{other, round};
      }
    }
    return std::nullopt;
  }

  const PlanGraph &graph_;
  const Orders last_apart_, to_host_apart_, given_;
  std::vector<std::string> problems_;
};

// As it is, and with faults.
enum Fault {
  kNone,
  kBatchesBehindCopies,
  kOneDeferred,  // streams that are one
  kOneToHost,
  kOneToDevice,
  kPlanOrder,  // what is last is in the order of the plan, not of need
  kFaults
};

void Merge(PlanGraph *graph, PlanLane from, PlanLane to) {
  const auto lane = [&](PlanLane of) {
    return uint32_t(std::find(graph->lanes.begin(), graph->lanes.end(), of) - graph->lanes.begin());
  };
  if (lane(from) == graph->lanes.size() || lane(to) == graph->lanes.size()) return;
  for (Op &op : graph->graph.ops) {
    if (op.lane == lane(from)) op.lane = lane(to);
  }
}

// What is found of each, in how many functions.
class PlanOrderTest : public ::testing::Test {
 protected:
  void Check(uint64_t seed) {
    std::mt19937_64 random(seed);
    const DrawnPlan plan = DrawPlan(random, {.nccl = seed % 3 != 0, .servers = seed % 2 == 1});
    auto image = PlanImage::Load(plan.bytes);
    ASSERT_TRUE(image.ok()) << image.status();
    auto program = (*image)->ForRank(0);
    ASSERT_TRUE(program.ok()) << program.status();
    for (int f = 0; f < plan.functions; ++f) {
      SCOPED_TRACE(::testing::Message() << "seed " << seed << " function " << f);
      for (int fault = kNone; fault < kFaults; ++fault) Check(**program, (*program)->functions[size_t(f)], fault);
    }
  }

  void Check(const Program &program, const FunctionProgram &function, int fault) {
    FunctionProgram seen = function;
    if (fault == kPlanOrder) {
      // What the calls behind it need is not known; of memory it is.
      for (InstructionProgram &i : seen.instructions) i.waits_last.clear();
    }
    const auto real = MakePlanGraph(program, seen, PlaceSlots(program));
    ASSERT_TRUE(real.ok()) << real.status();
    PlanGraph given = *real;
    if (fault == kBatchesBehindCopies) Merge(&given, PlanLane::kBatches, PlanLane::kToDevice);
    if (fault == kOneDeferred) Merge(&given, PlanLane::kDeferredFirst, PlanLane::kDeferred);
    if (fault == kOneToHost) Merge(&given, PlanLane::kToHostAgain, PlanLane::kToHost);
    if (fault == kOneToDevice) Merge(&given, PlanLane::kToDeviceFirst, PlanLane::kToDevice);
    const auto issue = PlanIssue(given.graph);
    ASSERT_TRUE(issue.ok()) << issue.status();
    const std::vector<std::string> problems = Checker(seen, *real, given, *issue).Problems();
    if (fault == kNone) {
      EXPECT_TRUE(problems.empty()) << problems[0];
      for (PlanLane lane : real->lanes) ++lanes_[lane];
    }
    found_[size_t(fault)] += problems.empty() ? 0 : 1;
  }

  std::map<PlanLane, uint32_t> lanes_;  // how many functions have them
  std::array<uint32_t, kFaults> found_ = {};
};

TEST_F(PlanOrderTest, NothingIsHeldUpByMessagesThatNobodyNeeds) {
  const Cases cases = casesOf(200);
  for (uint32_t seed = cases.first; seed < cases.end && !HasFailure(); ++seed) Check(seed);
  for (int fault = kNone + 1; fault < kFaults; ++fault) {
    std::printf("fault %d found in %u functions\n", fault, found_[size_t(fault)]);
    if (cases.end - cases.first >= 200) {
      EXPECT_GT(found_[size_t(fault)], 0u);
    }
  }
  if (cases.end - cases.first < 200) return;
  for (PlanLane lane : {PlanLane::kDeferredFirst, PlanLane::kDeferred, PlanLane::kToHost, PlanLane::kToHostAgain,
                        PlanLane::kToDeviceFirst, PlanLane::kToDevice, PlanLane::kBatches, PlanLane::kMetrics})
    EXPECT_GT(lanes_[lane], 10u) << int(lane);
}

}  // namespace
}  // namespace commsched::runtime::cuda
