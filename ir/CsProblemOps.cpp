// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Scheduling problems. The verifiers refuse, at the op, what schedule::check()
// refuses, except for steps with too many bytes or nanoseconds to be counted.

#include "ir/CsProblemOps.h"

#include "ir/CsCommunication.h"
#include "ir/CsPieceSyntax.h"
#include "ir/CsProblemSyntax.h"

#include "mlir/IR/BuiltinOps.h"

using namespace mlir;
using namespace commsched::cs;

#define GET_OP_CLASSES
#include "ir/CsProblemOps.cpp.inc"

static LogicalResult notNegative(Operation *op, StringRef what, int64_t value) {
  if (value < 0)
    return op->emitOpError() << what << " must not be negative, got: " << value;
  return success();
}

/// Every value is the result of an `Op`, not of another part of the problem.
template <typename Op>
static LogicalResult areAll(Operation *op, StringRef what, ValueRange values) {
  for (size_t index = 0; index < values.size(); ++index) {
    Operation *other = values[index].getDefiningOp();
    if (isa_and_nonnull<Op>(other))
      continue;
    InFlightDiagnostic diagnostic = op->emitOpError()
                                    << what << " " << index << " must be a "
                                    << Op::getOperationName();
    if (other)
      diagnostic << ", got: " << other->getName();
    return diagnostic;
  }
  return success();
}

static bool isBefore(Operation *first, Operation *second) {
  return first->getBlock() == second->getBlock() &&
         first->isBeforeInBlock(second);
}

static void setName(Value result, StringRef label,
                    OpAsmSetValueNameFn setValueName) {
  if (!label.empty())
    setValueName(result, common::ssaName(label));
}

//===- The problem --------------------------------------------------------===//

LogicalResult ProblemOp::verify() {
  // As in schedule::check(): far beyond any machine.
  constexpr int64_t kMost = 4096;
  auto streams = static_cast<int64_t>(getStreams());
  if (streams < 1 || streams > kMost)
    return emitOpError() << "must have 1 to " << kMost
                         << " streams, got: " << streams;
  if (std::optional<uint64_t> limit = getMemoryLimit())
    return notNegative(*this, "memory limit", static_cast<int64_t>(*limit));
  return success();
}

LogicalResult ProblemOp::verifyRegions() {
  if (getBody().empty() || getBody().front().getOps<ProblemComputeOp>().empty())
    return emitOpError("must have a cs.problem.compute");
  llvm::DenseMap<uint64_t, ProblemCommunicationOp> firstOfKind;
  for (Operation &op : getBody().front()) {
    if (!isa<ProblemLinkOp, ProblemComputeOp, ProblemCommunicationOp, SolutionOp>(op))
      return op.emitOpError("is not part of a scheduling problem");
    auto communication = dyn_cast<ProblemCommunicationOp>(op);
    if (!communication)
      continue;
    ProblemCommunicationOp first =
        firstOfKind.try_emplace(communication.getKind(), communication).first->second;
    if (communication.getLinks() == first.getLinks() &&
        communication.getOverheadNs() == first.getOverheadNs() &&
        communication.getLatencyNs() == first.getLatencyNs() &&
        communication.getAvoidableOverheadNs() == first.getAvoidableOverheadNs() &&
        communication.getAvoidableLatencyNs() == first.getAvoidableLatencyNs() &&
        communication.getConnection() == first.getConnection() &&
        (communication.getTail() == 0) == (first.getTail() == 0))
      continue;
    InFlightDiagnostic diagnostic =
        communication.emitOpError()
        << "must match links, overheads, latencies, connection and whether there is a tail of \"" << first.getLabel()
        << "\", which is of the same kind";
    diagnostic.attachNote(first.getLoc()) << "which is here";
    return diagnostic;
  }
  return success();
}

void ProblemLinkOp::getAsmResultNames(OpAsmSetValueNameFn setValueName) {
  setName(getLink(), getLabel(), setValueName);
}

LogicalResult ProblemLinkOp::verify() {
  if (auto rate = static_cast<int64_t>(getBytesPerSecond()); rate <= 0)
    return emitOpError() << "bytes per second must be positive, got: " << rate;
  struct {
    StringRef name;
    int64_t least, most;
  } numbers[] = {{"cs.packet_bytes", 0, int64_t{1} << 40}, {"cs.ahead_bytes", 0, int64_t{1} << 40}, {"cs.peers", 1, 30}, {"cs.once_bytes", 0, int64_t{1} << 40}, {"cs.rounds", 1, 1024}};
  for (auto [name, least, most] : numbers) {
    Attribute value = (*this)->getAttr(name);
    auto number = dyn_cast_or_null<IntegerAttr>(value);
    if (value && (!number || !number.getType().isInteger(64) || number.getInt() < least || number.getInt() > most))
      return emitOpError() << name << " must be an i64 of " << least << " to " << most << ", got: " << value;
  }
  return success();
}

void ProblemComputeOp::getAsmResultNames(OpAsmSetValueNameFn setValueName) {
  setName(getDone(), getLabel(), setValueName);
}

LogicalResult ProblemComputeOp::verify() {
  auto stream = static_cast<int64_t>(getStream());
  auto streams =
      static_cast<int64_t>(cast<ProblemOp>((*this)->getParentOp()).getStreams());
  if (stream < 0 || stream >= streams)
    return emitOpError() << "stream must be from 0 to " << streams - 1
                         << ", got: " << stream;
  if (failed(notNegative(*this, "time", static_cast<int64_t>(getNs()))) ||
      failed(notNegative(*this, "extra bytes", static_cast<int64_t>(getExtraBytes()))) ||
      failed(areAll<ProblemComputeOp>(*this, "input", getAfter())))
    return failure();
  if (Attribute value = (*this)->getAttr("cs.avoidable_ns")) {
    auto avoidable = dyn_cast<IntegerAttr>(value);
    if (!avoidable || !avoidable.getType().isInteger(64) || avoidable.getInt() < 0 || avoidable.getInt() > static_cast<int64_t>(getNs()))
      return emitOpError() << "cs.avoidable_ns must be an i64 of 0 to " << getNs() << ", got: " << value;
  }
  if (auto shared = static_cast<int64_t>(getSharedNs());
      shared < 0 || shared > static_cast<int64_t>(getNs()))
    return emitOpError() << "shared_ns must be 0 to " << static_cast<int64_t>(getNs())
                         << ", got: " << shared;
  for (Value before : getAfter())
    if (!isBefore(before.getDefiningOp(), *this))
      return emitOpError() << "must come after \""
                           << before.getDefiningOp<ProblemComputeOp>().getLabel()
                           << "\", which it waits for";
  return success();
}

void ProblemCommunicationOp::getAsmResultNames(OpAsmSetValueNameFn setValueName) {
  setName(getArrived(), getLabel(), setValueName);
}

LogicalResult ProblemCommunicationOp::verify() {
  if (auto bytes = static_cast<int64_t>(getBytes()); bytes <= 0)
    return emitOpError() << "bytes must be positive, got: " << bytes;
  for (auto [what, number] : {std::pair("kind", static_cast<int64_t>(getKind())),
                              std::pair("connection", static_cast<int64_t>(getConnection()))})
    if (number < 0 || number > UINT32_MAX)
      return emitOpError() << what << " must be from 0 to " << UINT32_MAX << ", got: " << number;
  if (getProducers().empty())
    return emitOpError("must come from a cs.problem.compute");
  if (getLinks().empty())
    return emitOpError("must go through a cs.problem.link");
  if (failed(areAll<ProblemComputeOp>(*this, "producer", getProducers())) ||
      failed(areAll<ProblemComputeOp>(*this, "consumer", getConsumers())) ||
      failed(areAll<ProblemLinkOp>(*this, "link", getLinks())))
    return failure();
  if (getNextStep().size() != getConsumers().size())
    return emitOpError() << "must say of " << getConsumers().size()
                         << " consumers whether they are of the next step, got: "
                         << getNextStep().size();
  for (auto [what, values] : {std::pair("bytes", getStageBytes()),
                              std::pair("overhead", getOverheadNs()),
                              std::pair("latency", getLatencyNs()),
                              std::pair("avoidable overhead", getAvoidableOverheadNs()),
                              std::pair("avoidable latency", getAvoidableLatencyNs()),
                              std::pair("update", getUpdateNs())}) {
    if (values.size() != getLinks().size())
      return emitOpError() << "must have " << what << " for " << getLinks().size()
                           << " links, got: " << values.size();
    for (auto [index, value] : llvm::enumerate(values))
      if (value < 0)
        return emitOpError() << what << " of link " << index
                             << " must not be negative, got: " << value;
  }
  for (auto [what, avoidable, all] :
       {std::tuple("overhead", getAvoidableOverheadNs(), getOverheadNs()),
        std::tuple("latency", getAvoidableLatencyNs(), getLatencyNs())})
    for (auto [index, value] : llvm::enumerate(avoidable))
      if (value > all[index])
        return emitOpError() << "avoidable " << what << " of link " << index
                             << " must be at most " << all[index] << ", got: " << value;
  if (auto tail = static_cast<int64_t>(getTail()); tail < 0 || tail > getStageBytes().back())
    return emitOpError() << "tail must be 0 to " << getStageBytes().back()
                         << " bytes, those of the last link, got: " << tail;
  for (auto [name, what, all] : {std::tuple("cs.avoidable_bytes", "bytes", getStageBytes()), std::tuple("cs.avoidable_update_ns", "update", getUpdateNs())})
    if (Attribute value = (*this)->getAttr(name)) {
      auto avoidable = dyn_cast<DenseI64ArrayAttr>(value);
      bool fits = avoidable && static_cast<size_t>(avoidable.size()) == getLinks().size();
      for (size_t i = 0; fits && i < getLinks().size(); ++i)
        fits = avoidable[i] >= 0 && avoidable[i] <= all[i];
      if (!fits)
        return emitOpError() << name << " must be an array<i64> of 0 to the " << what << " of each of " << getLinks().size() << " links, got: " << value;
    }
  for (auto [consumer, next] : llvm::zip_equal(getConsumers(), getNextStep()))
    for (Value producer : getProducers())
      if (!next && !isBefore(producer.getDefiningOp(), consumer.getDefiningOp()))
        return emitOpError()
               << "goes to \""
               << consumer.getDefiningOp<ProblemComputeOp>().getLabel()
               << "\" in the same step, which must come after \""
               << producer.getDefiningOp<ProblemComputeOp>().getLabel() << "\"";
  return success();
}

//===- Solutions ----------------------------------------------------------===//

LogicalResult SolutionOp::verify() {
  for (auto [what, time] :
       {std::pair("period", getPeriodNsAttr()), std::pair("bound", getBoundNsAttr()),
        std::pair("bound for any order", getAnyOrderBoundNsAttr())})
    if (time && (!time.getValue().isFinite() || time.getValue().isNegative()))
      return emitOpError() << what << " must be finite and not negative, got: " << time;
  return success();
}

LogicalResult SolutionOp::verifyRegions() {
  if (getBody().empty())
    return success();
  llvm::DenseSet<uint64_t> streams;
  llvm::DenseSet<Value> links;
  for (Operation &op : getBody().front()) {
    if (auto order = dyn_cast<SolutionOrderOp>(op)) {
      if (!streams.insert(order.getStream()).second)
        return op.emitOpError() << "stream " << order.getStream() << " has an order already";
    } else if (auto credit = dyn_cast<SolutionCreditOp>(op)) {
      if (!links.insert(credit.getLink()).second)
        return op.emitOpError("the link has a credit already");
    } else if (!isa<SolutionMessageOp>(op)) {
      return op.emitOpError("is not part of a solution");
    }
  }
  return success();
}

LogicalResult SolutionOrderOp::verify() {
  auto problem = cast<ProblemOp>((*this)->getParentOp()->getParentOp());
  if (getStream() >= problem.getStreams())
    return emitOpError() << "stream must be from 0 to " << problem.getStreams() - 1
                         << ", got: " << static_cast<int64_t>(getStream());
  return areAll<ProblemComputeOp>(*this, "operand", getOrder());
}

LogicalResult SolutionCreditOp::verify() {
  if (failed(notNegative(*this, "bytes", static_cast<int64_t>(getBytes()))))
    return failure();
  return areAll<ProblemLinkOp>(*this, "operand", (*this)->getOperands());
}

LogicalResult SolutionMessageOp::verify() {
  if (getRanges().size() != 2 * getCommunications().size())
    return emitOpError() << "must have begin and end for " << getCommunications().size()
                         << " pieces, got: " << getRanges().size() << " numbers";
  return areAll<ProblemCommunicationOp>(*this, "piece", getCommunications());
}
