// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/schedule/DeviceCopies.h"

#include "passes/schedule/StepCosts.h"

using namespace mlir;
using namespace commsched;

/// What does not belong to a compute stream's turn: a copy goes through it on its way to
/// a communication or from one.
static bool passes(Operation *op) {
  auto fragment = dyn_cast<cs::FragmentOp>(op);
  return (fragment && fragment.getDeferred()) ||
         isa<cs::SplitOp, cs::ConcatOp, cs::CopyOp>(op);
}

static bool isBetweenDevices(cs::CopyOp copy) {
  cs::PlacedType from = copy.getValue().getType(), to = copy.getResult().getType();
  return from.getDevice() != to.getDevice();
}

DeviceCopies::DeviceCopies(const StepCommunications &step, cs::ClusterOp cluster)
    : bytesPerSecond(static_cast<int64_t>(cluster.getIntra().getMbitPerS()) * 125'000),
      latency(static_cast<int64_t>(cluster.getIntra().getLatencyNs())),
      engines(static_cast<unsigned>(cluster.getDevices())) {
  Block &block = step.function().front();
  auto communicates = [](Operation *op) { return isa<cs::CommunicationOpInterface>(op); };
  // By op: the first communication that it leads to, the first that it comes from.
  llvm::DenseMap<Operation *, Operation *> to, from;
  for (Operation &op : llvm::reverse(block)) {
    if (!communicates(&op) && !passes(&op))
      continue;
    Operation *first = communicates(&op) ? &op : nullptr;
    if (!first)
      for (Operation *user : op.getUsers())
        if (Operation *next = to.lookup(block.findAncestorOpInBlock(*user));
            next && (!first || step.placeOf(next) < step.placeOf(first)))
          first = next;
    to[&op] = first;
  }
  for (Operation &op : block) {
    if (!communicates(&op) && !passes(&op))
      continue;
    Operation *first = communicates(&op) ? &op : nullptr;
    for (Value operand : op.getOperands())
      if (Operation *def = operand.getDefiningOp(); def && !first)
        first = from.lookup(def);
    from[&op] = first;
    auto copy = dyn_cast<cs::CopyOp>(op);
    if (!copy || !isBetweenDevices(copy))
      continue;
    auto carried = static_cast<__int128>(bytesPerSecond) * latency / 1'000'000'000;
    int64_t bytes = StepCosts::bytesOf(copy.getValue()) + static_cast<int64_t>(carried);
    if (Operation *next = to.lookup(copy))
      before[next] += bytes;
    else if (first)
      after[first] += bytes;
  }
}

void DeviceCopies::addLink(schedule::Problem &problem) {
  link = static_cast<unsigned>(problem.links.size());
  problem.links.push_back({"devices", bytesPerSecond * engines, /*creditUntilSent=*/true});
}

void DeviceCopies::addStages(Operation *first, Operation *last,
                             std::vector<schedule::Stage> &stages) const {
  stages.insert(stages.begin(), {link, before.lookup(first), 0, 0});
  stages.push_back({link, after.lookup(last), 0, 0});
}
