// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tests/runtime/cuda/plan_faults.h"

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/runtime/cuda/orders.h"

namespace commsched::runtime::cuda {
namespace {

bool HasRace(const StepGraph &used, const IssuePlan &plan) {
  const Orders given = Orders::Given(used, plan);
  const std::vector<OrderedPair> conflicts = Conflicts(used);
  return std::any_of(conflicts.begin(), conflicts.end(), [&](const OrderedPair &pair) {
    return !given.Has(pair.first, pair.second);
  });
}

// The end of a call waits for all that it is behind, not only for what has to be said: a fault
// elsewhere does not end it early. Nobody waits for it.
void WaitForAll(const PlanGraph &graph, IssuePlan *plan) {
  for (uint32_t op = 0; op < plan->ops.size(); ++op) {
    if (graph.work[op].kind != DeviceOp::kEndOfCall) continue;
    plan->ops[op].waits = graph.graph.ops[op].after;
    for (const Dependence &wait : plan->ops[op].waits) {
      if (graph.graph.lanes[graph.graph.ops[wait.op].lane].host()) continue;
      plan->ops[wait.op].signals = true;
      plan->ops[wait.op].events = std::max(plan->ops[wait.op].events, kRoundsInFlight);
    }
  }
}

// The ranges of an op that begin at `from`, and its places there, are at `to`.
void Move(PlanGraph *used, size_t op, const DevicePlace &from, const DevicePlace &to) {
  for (DevicePlace &place : used->work[op].places) {
    if (place == from) place = to;
  }
  Op &ranges = used->graph.ops[op];
  for (std::vector<Range> *list : {&ranges.reads, &ranges.writes}) {
    for (Range &range : *list) {
      if (range.memory == from.memory && range.begin == from.offset) range.begin = to.offset;
    }
  }
}

using Random = std::mt19937_64;

bool SwapCopy(Random &random, PlanGraph *used) {
  // An instruction's places in the other call have the other copy.
  std::vector<std::tuple<size_t, DevicePlace, DevicePlace>> choices;
  std::map<uint32_t, size_t> first;
  for (size_t op = 0; op < used->work.size(); ++op) {
    const DeviceOp &work = used->work[op];
    if (work.instruction == DeviceOp::kNone) continue;
    if (work.call == 0) {
      first[work.instruction] = op;
      continue;
    }
    const DeviceOp &other = used->work[first[work.instruction]];
    for (size_t i = 0; i < work.places.size(); ++i) {
      if (work.places[i].memory == kSlotMemory && !(work.places[i] == other.places[i]))
        choices.emplace_back(op, work.places[i], other.places[i]);
    }
  }
  if (choices.empty()) return false;
  const auto &[op, from, to] = choices[random() % choices.size()];
  Move(used, op, from, to);
  return true;
}

bool SharePlace(Random &random, PlanGraph *used) {
  std::vector<size_t> messages;
  for (size_t op = 0; op < used->work.size(); ++op) {
    if (used->work[op].kind == DeviceOp::kMessage) messages.push_back(op);
  }
  if (messages.size() < 2) return false;
  const size_t op = messages[random() % messages.size()];
  const DevicePlace from = used->work[op].places[0];
  const DevicePlace to = used->work[messages[random() % messages.size()]].places[0];
  const Op &ranges = used->graph.ops[op];
  const std::vector<Range> &own = ranges.writes.empty() ? ranges.reads : ranges.writes;
  if (own.empty()) return false;
  const uint64_t bytes = own[0].bytes;
  if (from == to || to.offset + bytes > used->bytes[kHostArenaMemory]) return false;
  // With the copies to it and from it in the same call.
  const uint32_t call = used->work[op].call;
  for (size_t other = 0; other < used->work.size(); ++other) {
    if (used->work[other].call == call) Move(used, other, from, to);
  }
  return true;
}

// A wait of an op of the plan.
struct Wait {
  uint32_t op = 0;
  size_t number = 0;
};

// Those that such a fault may leave out.
std::vector<Wait> WaitsOf(PlanFault fault, const PlanGraph &graph, const IssuePlan &plan) {
  const auto is = [&](uint32_t op, bool writes) {
    const Op &ranges = graph.graph.ops[op];
    return graph.work[op].kind == DeviceOp::kMessage && (writes ? ranges.reads : ranges.writes).empty();
  };
  const auto lane = [&](uint32_t op) { return graph.graph.lanes[graph.graph.ops[op].lane].kind; };
  std::vector<Wait> waits;
  for (uint32_t op = 0; op < plan.ops.size(); ++op) {
    if (graph.work[op].kind == DeviceOp::kEndOfCall) continue;
    for (size_t i = 0; i < plan.ops[op].waits.size(); ++i) {
      const uint32_t on = plan.ops[op].waits[i].op;
      const bool arrives = lane(op) == LaneKind::kToDevice && is(on, true);
      const bool arrived = lane(on) == LaneKind::kToDevice && lane(op) == LaneKind::kCompute &&
                           graph.work[on].instruction != DeviceOp::kNone;
      if (fault == PlanFault::kPush   ? is(op, false) && lane(on) == LaneKind::kToHost
          : fault == PlanFault::kPull ? arrives || arrived
                                      : true)
        waits.push_back({op, i});
    }
  }
  return waits;
}

}  // namespace

std::optional<PlanFault> PlanFaultOf(const std::string &name) {
  if (name == "wait") return PlanFault::kWait;
  if (name == "range") return PlanFault::kRange;
  if (name == "copy") return PlanFault::kCopy;
  if (name == "place") return PlanFault::kPlace;
  if (name == "push") return PlanFault::kPush;
  if (name == "pull") return PlanFault::kPull;
  return std::nullopt;
}

void Plant(FakeProbe &probe, PlanFault fault, uint64_t seed,
           std::shared_ptr<std::optional<bool>> harmful) {
  auto random = std::make_shared<Random>(seed);
  // What ops really use; nothing, if there is no fault.
  auto used = std::make_shared<std::optional<PlanGraph>>();
  probe.change_graph = [=](int function, PlanGraph *graph) {
    if (function != 0) return;
    PlanGraph real = *graph;
    if (fault == PlanFault::kRange) {
      Op &op = graph->graph.ops[(*random)() % graph->graph.ops.size()];
      std::vector<Range> &ranges = (*random)() % 2 == 0 ? op.reads : op.writes;
      if (ranges.empty()) return;
      ranges.erase(ranges.begin() + ptrdiff_t((*random)() % ranges.size()));
    } else if (fault == PlanFault::kCopy || fault == PlanFault::kPlace) {
      if (!(fault == PlanFault::kCopy ? SwapCopy : SharePlace)(*random, &real)) return;
      // The graph says what was before.
      graph->work = real.work;
    }
    *used = std::move(real);
  };
  probe.change_plan = [=](int function, const PlanGraph &graph, IssuePlan *plan) {
    if (function != 0 || !used->has_value()) return;
    WaitForAll(graph, plan);
    if (fault == PlanFault::kWait || fault == PlanFault::kPush || fault == PlanFault::kPull) {
      const std::vector<Wait> waits = WaitsOf(fault, graph, *plan);
      if (waits.empty()) return;
      const Wait &wait = waits[(*random)() % waits.size()];
      auto &of = plan->ops[wait.op].waits;
      of.erase(of.begin() + ptrdiff_t(wait.number));
    }
    *harmful = HasRace((*used)->graph, *plan);
  };
}

}  // namespace commsched::runtime::cuda
