// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/problem/ProblemIR.h"

#include <algorithm>

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace commsched;

/// An integer of the problem: schedule::Problem::stepsApart.
static constexpr llvm::StringLiteral kStepsApart("cs.steps_apart");
/// Unit attributes of a link: schedule::Link::creditUntilSent and byConnection.
static constexpr llvm::StringLiteral kCreditUntilSent("cs.credit_until_sent"), kByConnection("cs.by_connection");
/// Of a communication, by stage: schedule::Stage::avoidableBytes and avoidableUpdate, where that is not 0; of compute: schedule::Op::avoidable.
static constexpr llvm::StringLiteral kAvoidableBytes("cs.avoidable_bytes"), kAvoidableUpdate("cs.avoidable_update_ns"), kAvoidable("cs.avoidable_ns");
/// Integers: schedule::Link::packetBytes, aheadBytes, peers, onceBytes and rounds.
static constexpr llvm::StringLiteral kPacketBytes("cs.packet_bytes"), kAheadBytes("cs.ahead_bytes"),
    kPeers("cs.peers"), kOnceBytes("cs.once_bytes"), kRounds("cs.rounds");

namespace {

/// The parts of a problem in the order of their indices, which is that of the text.
struct Parts {
  explicit Parts(cs::ProblemOp op) {
    for (Operation &part : op.getBody().front()) {
      if (auto link = dyn_cast<cs::ProblemLinkOp>(part))
        add(links, link);
      else if (auto compute = dyn_cast<cs::ProblemComputeOp>(part))
        add(computes, compute);
      else if (auto communication = dyn_cast<cs::ProblemCommunicationOp>(part))
        add(communications, communication);
    }
  }

  unsigned indexOf(Value value) const { return indices.lookup(value); }
  std::vector<unsigned> indicesOf(ValueRange values) const {
    std::vector<unsigned> result;
    for (Value value : values)
      result.push_back(indexOf(value));
    return result;
  }

  llvm::SmallVector<cs::ProblemLinkOp> links;
  llvm::SmallVector<cs::ProblemComputeOp> computes;
  llvm::SmallVector<cs::ProblemCommunicationOp> communications;

private:
  template <typename Op>
  void add(llvm::SmallVector<Op> &list, Op op) {
    indices[op->getResult(0)] = static_cast<unsigned>(list.size());
    list.push_back(op);
  }

  llvm::DenseMap<Value, unsigned> indices; // among those of its sort
};

/// An attribute that is an i64 where it is there; else `to` stays.
LogicalResult readNumber(Operation *op, StringRef name, int64_t &to) {
  Attribute value = op->getAttr(name);
  auto number = dyn_cast_or_null<IntegerAttr>(value);
  if (value && (!number || !number.getType().isInteger(64)))
    return op->emitOpError() << name << " must be an i64, got: " << value;
  if (number)
    to = number.getInt();
  return success();
}

FailureOr<schedule::Communication> readCommunication(cs::ProblemCommunicationOp op,
                                                     const Parts &parts) {
  schedule::Communication communication;
  communication.name = op.getLabel().str();
  communication.bytes = static_cast<int64_t>(op.getBytes());
  communication.producers = parts.indicesOf(op.getProducers());
  for (auto [consumer, next] : llvm::zip_equal(op.getConsumers(), op.getNextStep()))
    communication.consumers.push_back({parts.indexOf(consumer), next ? 1u : 0u});
  for (auto [link, bytes, overhead, latency, less, earlier, update] :
       llvm::zip_equal(op.getLinks(), op.getStageBytes(), op.getOverheadNs(),
                       op.getLatencyNs(), op.getAvoidableOverheadNs(),
                       op.getAvoidableLatencyNs(), op.getUpdateNs()))
    communication.stages.push_back(
        {parts.indexOf(link), bytes, overhead, latency, update, less, earlier});
  for (auto [name, of] : {std::pair(kAvoidableBytes, &schedule::Stage::avoidableBytes), std::pair(kAvoidableUpdate, &schedule::Stage::avoidableUpdate)})
    if (Attribute value = op->getAttr(name)) {
      auto avoidable = dyn_cast<DenseI64ArrayAttr>(value);
      if (!avoidable || static_cast<size_t>(avoidable.size()) != communication.stages.size())
        return op.emitOpError() << name << " must be an array of i64, one for each of "
                                << communication.stages.size() << " stages, got: " << value;
      for (auto [stage, number] : llvm::zip_equal(communication.stages, avoidable.asArrayRef()))
        stage.*of = number;
    }
  communication.divisible = !op.getIndivisible();
  communication.kind = static_cast<unsigned>(op.getKind());
  communication.tail = static_cast<int64_t>(op.getTail());
  communication.connection = static_cast<unsigned>(op.getConnection());
  return communication;
}

cs::ProblemCommunicationOp
writeCommunication(OpBuilder &builder, Location location,
                   const schedule::Communication &communication,
                   llvm::ArrayRef<Value> links, llvm::ArrayRef<Value> computes) {
  llvm::SmallVector<Value> producers, consumers, through;
  llvm::SmallVector<bool> nextStep;
  llvm::SmallVector<int64_t> bytes, overheads, latencies, less, earlier, updates, fewer, sooner;
  for (unsigned producer : communication.producers)
    producers.push_back(computes[producer]);
  for (const schedule::Consumer &consumer : communication.consumers) {
    consumers.push_back(computes[consumer.op]);
    nextStep.push_back(consumer.distance == 1);
  }
  for (const schedule::Stage &stage : communication.stages) {
    through.push_back(links[stage.link]);
    bytes.push_back(stage.bytes);
    overheads.push_back(stage.overhead);
    latencies.push_back(stage.latency);
    less.push_back(stage.avoidableOverhead);
    earlier.push_back(stage.avoidableLatency);
    fewer.push_back(stage.avoidableBytes);
    sooner.push_back(stage.avoidableUpdate);
    updates.push_back(stage.update);
  }
  auto op = cs::ProblemCommunicationOp::create(
      builder, location, builder.getNoneType(),
      builder.getStringAttr(communication.name),
      builder.getI64IntegerAttr(communication.bytes), producers, consumers, through,
      builder.getDenseBoolArrayAttr(nextStep), builder.getDenseI64ArrayAttr(bytes),
      builder.getDenseI64ArrayAttr(overheads), builder.getDenseI64ArrayAttr(latencies),
      builder.getDenseI64ArrayAttr(less), builder.getDenseI64ArrayAttr(earlier),
      builder.getDenseI64ArrayAttr(updates),
      builder.getI64IntegerAttr(communication.kind),
      communication.divisible ? UnitAttr() : builder.getUnitAttr(),
      builder.getI64IntegerAttr(communication.tail),
      builder.getI64IntegerAttr(communication.connection));
  for (auto [name, numbers] : {std::pair(kAvoidableBytes, &fewer), std::pair(kAvoidableUpdate, &sooner)})
    if (llvm::any_of(*numbers, [](int64_t number) { return number != 0; }))
      op->setAttr(name, builder.getDenseI64ArrayAttr(*numbers));
  return op;
}

/// Each where its producers are done, if those before it are written by then.
void writeCommunications(OpBuilder &builder, Location location,
                         const schedule::Problem &problem, llvm::ArrayRef<Value> links,
                         llvm::ArrayRef<Value> computes) {
  unsigned place = 0; // compute op that the last one was written behind
  Operation *last = nullptr;
  for (const schedule::Communication &communication : problem.communications) {
    unsigned produced = *std::max_element(communication.producers.begin(),
                                          communication.producers.end());
    if (!last || produced > place) {
      place = std::max(place, produced);
      last = computes[place].getDefiningOp();
    }
    builder.setInsertionPointAfter(last);
    last = writeCommunication(builder, location, communication, links, computes);
  }
}

} // namespace

FailureOr<schedule::Problem> commsched::readProblem(cs::ProblemOp op) {
  schedule::Problem problem;
  problem.name = op.getSymName().value_or("").str();
  problem.streams = static_cast<unsigned>(op.getStreams());
  if (std::optional<uint64_t> limit = op.getMemoryLimit())
    problem.memoryLimit = static_cast<int64_t>(*limit);
  if (op->hasAttr(kStepsApart))
    if (failed(readNumber(op, kStepsApart, problem.stepsApart.emplace(0))))
      return failure();
  Parts parts(op);
  for (cs::ProblemLinkOp link : parts.links) {
    problem.links.push_back({link.getLabel().str(),
                             static_cast<int64_t>(link.getBytesPerSecond()),
                             link->hasAttr(kCreditUntilSent)});
    int64_t peers = 1, rounds = 1;
    for (auto [name, to] : {std::pair(kPacketBytes, &problem.links.back().packetBytes),
                            std::pair(kAheadBytes, &problem.links.back().aheadBytes),
                            std::pair(kOnceBytes, &problem.links.back().onceBytes),
                            std::pair(kPeers, &peers), std::pair(kRounds, &rounds)})
      if (failed(readNumber(link, name, *to)))
        return failure();
    problem.links.back().byConnection = link->hasAttr(kByConnection);
    // Others are none of those that are checked below.
    for (auto [number, to] : {std::pair(peers, &problem.links.back().peers), std::pair(rounds, &problem.links.back().rounds)})
      *to = number == static_cast<unsigned>(number) ? static_cast<unsigned>(number) : 0;
  }
  for (cs::ProblemComputeOp compute : parts.computes)
    problem.ops.push_back({compute.getLabel().str(),
                           static_cast<unsigned>(compute.getStream()),
                           static_cast<schedule::Time>(compute.getNs()),
                           parts.indicesOf(compute.getAfter()),
                           static_cast<int64_t>(compute.getExtraBytes()),
                           static_cast<schedule::Time>(compute.getSharedNs()),
                           compute.getDeferred()});
  for (auto [compute, to] : llvm::zip_equal(parts.computes, problem.ops))
    if (failed(readNumber(compute, kAvoidable, to.avoidable)))
      return failure();
  for (cs::ProblemCommunicationOp part : parts.communications) {
    FailureOr<schedule::Communication> communication = readCommunication(part, parts);
    if (failed(communication))
      return failure();
    problem.communications.push_back(*std::move(communication));
  }
  if (std::optional<std::string> error = schedule::check(problem))
    return op.emitOpError() << *error;
  return problem;
}

cs::ProblemOp commsched::writeProblem(OpBuilder &builder, Location location,
                                      const schedule::Problem &problem) {
  OpBuilder::InsertionGuard guard(builder);
  auto op = cs::ProblemOp::create(
      builder, location,
      problem.name.empty() ? StringAttr() : builder.getStringAttr(problem.name),
      builder.getI64IntegerAttr(problem.streams),
      problem.memoryLimit ? builder.getI64IntegerAttr(*problem.memoryLimit)
                          : IntegerAttr());
  if (problem.stepsApart)
    op->setAttr(kStepsApart, builder.getI64IntegerAttr(*problem.stepsApart));
  builder.createBlock(&op.getBody());
  llvm::SmallVector<Value> links, computes;
  for (const schedule::Link &link : problem.links) {
    auto linkOp = cs::ProblemLinkOp::create(
        builder, location, builder.getNoneType(), builder.getStringAttr(link.name),
        builder.getI64IntegerAttr(link.bytesPerSecond));
    if (link.creditUntilSent)
      linkOp->setAttr(kCreditUntilSent, builder.getUnitAttr());
    if (link.packetBytes || link.aheadBytes) {
      linkOp->setAttr(kPacketBytes, builder.getI64IntegerAttr(link.packetBytes));
      linkOp->setAttr(kAheadBytes, builder.getI64IntegerAttr(link.aheadBytes));
    }
    if (link.peers != 1)
      linkOp->setAttr(kPeers, builder.getI64IntegerAttr(link.peers));
    if (link.onceBytes)
      linkOp->setAttr(kOnceBytes, builder.getI64IntegerAttr(link.onceBytes));
    if (link.rounds != 1)
      linkOp->setAttr(kRounds, builder.getI64IntegerAttr(link.rounds));
    if (link.byConnection)
      linkOp->setAttr(kByConnection, builder.getUnitAttr());
    links.push_back(linkOp);
  }
  for (const schedule::Op &compute : problem.ops) {
    llvm::SmallVector<Value> after;
    for (unsigned before : compute.after)
      after.push_back(computes[before]);
    computes.push_back(cs::ProblemComputeOp::create(
        builder, location, builder.getNoneType(), builder.getStringAttr(compute.name),
        builder.getI64IntegerAttr(compute.duration),
        builder.getI64IntegerAttr(compute.shared), after,
        builder.getI64IntegerAttr(compute.stream),
        builder.getI64IntegerAttr(compute.extraBytes),
        compute.deferred ? builder.getUnitAttr() : UnitAttr()));
    if (compute.avoidable)
      computes.back().getDefiningOp()->setAttr(kAvoidable, builder.getI64IntegerAttr(compute.avoidable));
  }
  writeCommunications(builder, location, problem, links, computes);
  return op;
}

FailureOr<schedule::Schedule>
commsched::readSchedule(cs::SolutionOp op, const schedule::Problem &problem) {
  Parts parts(cast<cs::ProblemOp>(op->getParentOp()));
  schedule::Schedule result;
  result.name = op.getPolicy().str();
  result.barrier = op.getBarrier();
  result.order = schedule::programOrder(problem);
  result.credit.assign(problem.links.size(), schedule::kNoLimit);
  if (!op.getBody().empty())
    for (Operation &part : op.getBody().front()) {
      if (auto order = dyn_cast<cs::SolutionOrderOp>(part)) {
        result.order[order.getStream()] = parts.indicesOf(order.getOrder());
      } else if (auto credit = dyn_cast<cs::SolutionCreditOp>(part)) {
        result.credit[parts.indexOf(credit.getLink())] =
            static_cast<int64_t>(credit.getBytes());
      } else {
        auto message = cast<cs::SolutionMessageOp>(part);
        schedule::Message &to = result.messages.emplace_back();
        for (auto [index, communication] : llvm::enumerate(message.getCommunications()))
          to.pieces.push_back({parts.indexOf(communication),
                               message.getRanges()[2 * index],
                               message.getRanges()[2 * index + 1]});
        to.priorities = message.getPriorities().vec();
        to.exclusive = message.getExclusive().value_or(0);
      }
    }
  if (std::optional<std::string> error = schedule::verify(problem, result))
    return op.emitOpError() << "is not a schedule of the problem: " << *error;
  return result;
}

SolutionRecord commsched::readRecord(cs::SolutionOp op) {
  auto value = [](std::optional<APFloat> number) -> std::optional<double> {
    if (!number)
      return std::nullopt;
    return number->convertToDouble();
  };
  return {value(op.getPeriodNs()), value(op.getBoundNs()), value(op.getAnyOrderBoundNs())};
}

cs::SolutionOp commsched::writeSolution(cs::ProblemOp op, const schedule::Problem &problem,
                                        const schedule::Schedule &schedule,
                                        const SolutionRecord &record) {
  Parts parts(op);
  Location location = op.getLoc();
  auto builder = OpBuilder::atBlockEnd(&op.getBody().front());
  auto time = [&](std::optional<double> value) {
    return value ? builder.getF64FloatAttr(*value) : FloatAttr();
  };
  auto solution = cs::SolutionOp::create(
      builder, location, builder.getStringAttr(schedule.name), time(record.period),
      time(record.bound), time(record.anyOrderBound),
      schedule.barrier ? builder.getUnitAttr() : UnitAttr());
  builder.createBlock(&solution.getBody());
  std::vector<std::vector<unsigned>> program = schedule::programOrder(problem);
  for (unsigned stream = 0; stream < schedule.order.size(); ++stream) {
    if (schedule.order[stream] == program[stream])
      continue;
    llvm::SmallVector<Value> order;
    for (unsigned compute : schedule.order[stream])
      order.push_back(parts.computes[compute].getDone());
    cs::SolutionOrderOp::create(builder, location, builder.getI64IntegerAttr(stream), order);
  }
  for (unsigned link = 0; link < schedule.credit.size(); ++link)
    if (schedule.credit[link] != schedule::kNoLimit)
      cs::SolutionCreditOp::create(builder, location, parts.links[link].getLink(),
                                   builder.getI64IntegerAttr(schedule.credit[link]));
  for (const schedule::Message &message : schedule.messages) {
    llvm::SmallVector<Value> communications;
    llvm::SmallVector<int64_t> ranges;
    for (const schedule::Piece &piece : message.pieces) {
      communications.push_back(parts.communications[piece.communication].getArrived());
      ranges.append({piece.begin, piece.end});
    }
    cs::SolutionMessageOp::create(builder, location, communications,
                                  builder.getDenseI64ArrayAttr(ranges),
                                  builder.getDenseI64ArrayAttr(message.priorities),
                                  message.exclusive ? builder.getI64IntegerAttr(message.exclusive) : IntegerAttr());
  }
  return solution;
}

std::string commsched::problemText(const schedule::Problem &problem,
                                   const schedule::Schedule *schedule,
                                   const SolutionRecord &record) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  context.loadDialect<cs::CsDialect>();
  Location location = UnknownLoc::get(&context);
  OwningOpRef<ModuleOp> module = ModuleOp::create(location);
  OpBuilder builder = OpBuilder::atBlockEnd(module->getBody());
  cs::ProblemOp op = writeProblem(builder, location, problem);
  if (schedule)
    writeSolution(op, problem, *schedule, record);
  std::string text;
  llvm::raw_string_ostream stream(text);
  // A problem alone, so that several can be written one after the other.
  op.print(stream);
  stream << "\n";
  return text;
}
