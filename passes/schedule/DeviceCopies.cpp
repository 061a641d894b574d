// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/schedule/DeviceCopies.h"

#include "passes/schedule/StepCosts.h"
#include "passes/schedule/StepValues.h"

#include <map>

using namespace mlir;
using namespace commsched;

/// What does not belong to a compute stream's turn: a copy goes through it on its way to
/// a communication or from one.
static bool passes(Operation *op) {
  auto fragment = dyn_cast<cs::FragmentOp>(op);
  return (fragment && fragment.getDeferred()) || movesOnly(op);
}

static bool isBetweenDevices(cs::CopyOp copy) {
  cs::PlacedType from = copy.getValue().getType(), to = copy.getResult().getType();
  return from.getDevice() != to.getDevice();
}

static unsigned deviceOf(Operation *communication) {
  Value value = communication->getNumOperands() ? communication->getOperand(0)
                                                : communication->getResult(0);
  return cast<cs::PlacedType>(value.getType()).getDevice();
}

DeviceCopies::DeviceCopies(const StepCommunications &step, cs::ClusterOp cluster)
    : bytesPerSecond(static_cast<int64_t>(cluster.getIntra().getMbitPerS()) * 125'000),
      latency(static_cast<int64_t>(cluster.getIntra().getLatencyNs())),
      engines(static_cast<int64_t>(cluster.getDevices())) {
  Block &block = step.function().front();
  // By op: the first communication that it leads to, the first that it comes from.
  llvm::DenseMap<Operation *, Operation *> to, from;
  for (Operation &op : llvm::reverse(block)) {
    if (!isCommunication(&op) && !passes(&op))
      continue;
    Operation *first = isCommunication(&op) ? &op : nullptr;
    if (!first)
      for (Operation *user : op.getUsers())
        if (Operation *next = to.lookup(block.findAncestorOpInBlock(*user));
            next && (!first || step.placeOf(next) < step.placeOf(first)))
          first = next;
    to[&op] = first;
  }
  for (Operation &op : block) {
    if (!isCommunication(&op) && !passes(&op))
      continue;
    Operation *first = isCommunication(&op) ? &op : nullptr;
    for (Value operand : op.getOperands())
      if (Operation *def = operand.getDefiningOp(); def && !first)
        first = from.lookup(def);
    from[&op] = first;
    auto copy = dyn_cast<cs::CopyOp>(op);
    if (!copy || !isBetweenDevices(copy))
      continue;
    auto carried = static_cast<__int128>(bytesPerSecond) * latency / 1'000'000'000;
    int64_t bytes = StepCosts::bytesOf(copy.getValue()) +
                    static_cast<int64_t>(std::min<__int128>(carried, int64_t{1} << 60));
    if (Operation *next = to.lookup(copy)) {
      Incoming &incoming = before[next];
      incoming.bytes += bytes;
      if (deviceOf(next) == copy.getResult().getType().getDevice())
        incoming.toOwn += bytes;
    } else if (first)
      after[first] += bytes;
  }
}

/// Whether all engines together need longer than the busiest of the other links.
bool DeviceCopies::areSlow(const schedule::Problem &problem) const {
  std::vector<double> busy(problem.links.size());
  for (const schedule::Communication &communication : problem.communications)
    for (const schedule::Stage &stage : communication.stages)
      busy[stage.link] += static_cast<double>(
          schedule::transferTime(problem.links[stage.link], stage.bytes) + stage.overhead);
  double bytes = 0;
  for (const auto &entry : before)
    bytes += static_cast<double>(entry.second.bytes);
  for (const auto &entry : after)
    bytes += static_cast<double>(entry.second);
  return bytes * 1e9 / static_cast<double>(bytesPerSecond * engines) >
         *llvm::max_element(busy);
}

void DeviceCopies::addTo(StepProblem &step) const {
  schedule::Problem &problem = step.problem;
  bool slow = areSlow(problem);
  // The engines free what they have been given when it is copied.
  auto addLink = [&](const std::string &name, int64_t times) {
    problem.links.push_back({name, bytesPerSecond * times, /*creditUntilSent=*/true});
    return static_cast<unsigned>(problem.links.size() - 1);
  };
  unsigned all = addLink("devices", engines);
  std::map<unsigned, unsigned> engineOf; // link, by device
  for (auto [part, communication] : llvm::zip(step.parts, problem.communications)) {
    schedule::Stage in{all, before.lookup(part.op).bytes, 0, 0};
    if (!slow) {
      unsigned device = deviceOf(part.op);
      auto [link, isNew] = engineOf.try_emplace(device);
      if (isNew)
        link->second = addLink("device " + std::to_string(device), 1);
      in = {link->second, before.lookup(part.op).toOwn, 0, 0};
    }
    ++part.firstStage;
    ++part.lastStage;
    communication.stages.insert(communication.stages.begin(), in);
    communication.stages.push_back({all, after.lookup(part.pull ? part.pull : part.op), 0, 0});
    communication.tail = 0; // a copy is of all of a message
  }
}
