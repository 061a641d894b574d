// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/schedule/ProblemBuilder.h"

#include "passes/schedule/StepValues.h"
#include "passes/support/Module.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace commsched;

/// A deferred fragment that waits for communication which no other compute of this
/// step waits for: an update. Communication of what it makes is late as well.
void ProblemBuilder::findLate() {
  for (Operation &op : step.function().front()) {
    auto fragment = dyn_cast<cs::FragmentOp>(op);
    if (!isCommunication(&op) && !(fragment && fragment.getDeferred()))
      continue;
    if (step.needOf(&op).when == Need::ThisStep)
      continue;
    bool late = false;
    for (Value operand : op.getOperands())
      forSources(operand, [&](Operation *source) {
        late |= isLate.contains(source) ||
                (fragment && isCommunication(source) &&
                 step.needOf(source).when != Need::ThisStep);
      });
    if (!late)
      continue;
    isLate.insert(&op);
    if (fragment)
      result.late.push_back(fragment);
  }
}

/// A send that is the only one that its recv waits for, and the reverse: both are
/// stages of one communication.
bool ProblemBuilder::isPaired(Operation *send) const {
  Operations recvs = step.recvsOf(send);
  return recvs.size() == 1 && step.sendsOf(recvs.front()).size() == 1;
}

/// Communications that must be done before this one can start.
ProblemBuilder::Operations ProblemBuilder::awaitedBy(Operation *communication) const {
  Operations awaited;
  if (isa<cs::RecvOp>(communication)) {
    awaited = step.sendsOf(communication);
    if (!awaited.empty() && isPaired(awaited.front()))
      awaited.clear();
  } else {
    for (Value operand : communication->getOperands())
      if (Operation *source = operand.getDefiningOp(); isCommunication(source))
        awaited.push_back(source);
  }
  return awaited;
}

/// One for each device that does something, whatever its number is.
void ProblemBuilder::findStreams() {
  for (auto fragment : step.function().front().getOps<cs::FragmentOp>())
    streamOf.try_emplace(static_cast<unsigned>(fragment.getDevice()));
  for (Operation *op : step.all())
    streamOf.try_emplace(deviceOf(op));
  unsigned next = 0;
  for (auto &[device, stream] : streamOf)
    stream = next++;
  result.problem.streams = std::max(1u, next);
}

/// What is sent as it came in is there when the step begins on its device.
void ProblemBuilder::addBegins() {
  for (Operation *op : step.all()) {
    if (!awaitedBy(op).empty() || !step.sendsOf(op).empty())
      continue;
    bool made = false;
    for (Value operand : op->getOperands())
      forSources(operand, [&](Operation *source) { made |= source != nullptr; });
    unsigned device = deviceOf(op);
    auto next = static_cast<unsigned>(result.problem.ops.size());
    if (made || !begins.try_emplace(device, next).second)
      continue;
    schedule::Op begin;
    begin.name = "begin";
    begin.stream = streamOf.at(device);
    result.problem.ops.push_back(std::move(begin));
    result.fragments.push_back(nullptr);
  }
}

void ProblemBuilder::addFragment(cs::FragmentOp fragment) {
  opOf[fragment] = static_cast<unsigned>(result.problem.ops.size());
  schedule::Op op;
  op.name = fragment.getLabel().str();
  op.stream = streamOf.at(static_cast<unsigned>(fragment.getDevice()));
  op.duration = costs.durationOf(fragment);
  op.avoidable = costs.avoidableOf(fragment);
  op.deferred = fragment.getDeferred();
  for (Value output : fragment.getOutputs())
    op.extraBytes += StepCosts::bytesOf(output);
  result.problem.ops.push_back(std::move(op));
  result.fragments.push_back(fragment);
}

/// The moment at which other communication is done: an op without duration, on a
/// stream of its own, as no compute waits for it.
void ProblemBuilder::addRelay(Operation *communication) {
  Operations awaited = awaitedBy(communication);
  auto next = static_cast<unsigned>(result.problem.ops.size());
  auto [known, isNew] = relays.try_emplace(awaited, next);
  relayBefore[communication] = known->second;
  if (!isNew)
    return;
  schedule::Op op;
  op.name = "relay";
  op.stream = result.problem.streams++;
  result.problem.ops.push_back(std::move(op));
  result.fragments.push_back(nullptr);
  for (Operation *source : awaited)
    relaysAfter[source].push_back(
        {next, shiftOf(communication) - shiftOf(source)});
}

/// In front of a communication, or of the first use of its result. Bounds hold wherever a run does it, and count it in the
/// compute of its stream alone: of a message that is part of a tensor the copy ends before those of the others.
void ProblemBuilder::addInLine(Operation *communication, bool toHost) {
  Value value = toHost ? communication->getOperand(0) : communication->getResult(0);
  (toHost ? copyBefore : copyBehind)[communication] =
      static_cast<unsigned>(result.problem.ops.size());
  schedule::Op op;
  op.name = toHost ? "copy to host" : "copy from host";
  op.stream = streamOf.at(cast<cs::PlacedType>(value.getType()).getDevice());
  op.duration =
      schedule::transferTime(result.hostEngine->link, StepCosts::bytesOf(value));
  op.shared = op.duration;
  op.deferred = true;
  result.problem.ops.push_back(std::move(op));
  result.fragments.push_back(nullptr);
}

/// A sum over the devices of a node, of what another one of them makes. When that is copied here the stream has begun with its next
/// fragment, which none overtakes: devices compute side by side.
static bool waitsForOtherDevice(cs::FragmentOp fragment) {
  bool waits = false;
  if (fragment.getDeferred())
    for (Value input : fragment.getInputs())
      forSources(input, [&](Operation *source) {
        auto of = dyn_cast_or_null<cs::FragmentOp>(source);
        waits |= of && of.getDevice() != fragment.getDevice();
      });
  return waits;
}

/// In program order, but what is deferred behind communication directly before the
/// first fragment that needs it, in this step or the next; at the end if none does.
void ProblemBuilder::addOps() {
  std::map<unsigned, std::vector<Operation *>> before; // by place
  std::vector<Operation *> last;
  llvm::DenseSet<Operation *> moved;
  for (Operation &op : step.function().front()) {
    auto fragment = dyn_cast<cs::FragmentOp>(op);
    Need need = step.needOf(&op);
    bool moves = isLate.contains(&op);
    if (fragment && fragment.getDeferred() && need.when == Need::ThisStep)
      for (Value input : fragment.getInputs())
        forSources(input, [&](Operation *source) { moves |= isCommunication(source); });
    if (!moves)
      continue;
    moved.insert(&op);
    if (need.when == Need::Report)
      last.push_back(&op);
    else
      before[need.place].push_back(&op);
  }
  const bool inLine = result.hostEngine.has_value();
  llvm::MapVector<Operation *, std::vector<Operation *>> comeBefore; // by first user
  if (inLine)
    for (Operation *op : step.all())
      if (op->getNumResults() != 0 && !costs.isNccls(op))
        comeBefore[step.firstUserOf(op)].push_back(op);
  llvm::SetVector<Operation *> held; // sums
  // What an op waits for comes before it.
  const auto add = [&](Operation *op, const auto &self) -> void {
    if (auto fragment = dyn_cast<cs::FragmentOp>(op)) {
      for (Value input : fragment.getInputs())
        forSources(input, [&](Operation *source) {
          if (held.remove(source))
            self(source, self);
        });
      addFragment(fragment);
    } else if (isCommunication(op) && !awaitedBy(op).empty())
      addRelay(op);
    if (inLine && isCommunication(op) && op->getNumOperands() != 0 && !costs.isNccls(op))
      addInLine(op, /*toHost=*/true);
  };
  const auto addHeld = [&](auto counts) {
    for (Operation *sum : llvm::SmallVector<Operation *>(held.begin(), held.end()))
      if (counts(cast<cs::FragmentOp>(sum)) && held.remove(sum))
        add(sum, add);
  };
  for (Operation &op : step.function().front()) {
    if (auto here = before.find(step.placeOf(&op)); here != before.end())
      for (Operation *earlier : here->second)
        add(earlier, add);
    for (Operation *come : comeBefore.lookup(&op))
      addInLine(come, /*toHost=*/false);
    if (moved.contains(&op))
      continue;
    auto fragment = dyn_cast<cs::FragmentOp>(op);
    if (fragment && !inLine && waitsForOtherDevice(fragment)) {
      held.insert(fragment);
      continue;
    }
    add(&op, add);
    if (fragment && !fragment.getDeferred())
      addHeld([&](cs::FragmentOp sum) { return sum.getDevice() == fragment.getDevice(); });
  }
  addHeld([](cs::FragmentOp) { return true; });
  for (Operation *op : last)
    add(op, add);
}

void ProblemBuilder::addDependences() {
  std::vector<schedule::Op> &ops = result.problem.ops;
  for (cs::FragmentOp fragment : result.fragments) {
    if (!fragment)
      continue;
    std::vector<unsigned> &after = ops[opOf.lookup(fragment)].after;
    for (Value input : fragment.getInputs())
      forSources(input, [&](Operation *source) {
        if (isa_and_nonnull<cs::FragmentOp>(source) &&
            shiftOf(source) == shiftOf(fragment))
          after.push_back(opOf.lookup(source));
      });
    if (!shiftOf(fragment))
      continue;
    // What reads the new value, in the step that the fragment counts to.
    for (Value output : fragment.getOutputs())
      forUses(output, [&](OpOperand &use) {
        if (!isa<func::ReturnOp>(use.getOwner()))
          return;
        if (Value argument = step.updatedBy(use.getOperandNumber()))
          if (cs::FragmentOp reader = step.readerOf(argument))
            ops[opOf.lookup(reader)].after.push_back(opOf.lookup(fragment));
      });
  }
  for (schedule::Op &op : ops) {
    llvm::sort(op.after);
    op.after.erase(llvm::unique(op.after), op.after.end());
  }
}
