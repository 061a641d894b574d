// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "bench/AppliedSchedule.h"

#include "passes/schedule/Apply.h"
#include "passes/schedule/Credits.h"
#include "passes/schedule/StepCosts.h"

#include "llvm/ADT/StringMap.h"

#include <map>
#include <set>

using namespace mlir;
using namespace commsched;
using schedule::Message;

namespace {

class Reader {
 public:
  Reader(const StepCommunications &before, const StepProblem &step, func::FuncOp after)
      : before(before), step(step), after(after) {}

  FailureOr<schedule::Schedule> run();

 private:
  /// A result of a fragment: their labels are the same in both modules.
  using Made = std::pair<StringRef, unsigned>;
  static std::optional<Made> madeBy(Value value) {
    auto fragment = value.getDefiningOp<cs::FragmentOp>();
    if (!fragment)
      return std::nullopt;
    return Made(fragment.getLabel(), cast<OpResult>(value).getResultNumber());
  }
  /// The same of a part of one, and where in it the part begins.
  static std::pair<std::optional<Made>, int64_t> sourceOf(Value value) {
    int64_t begin = 0;
    while (auto split = value.getDefiningOp<cs::SplitOp>()) {
      for (Value block : split.getBlocks()) {
        if (block == value)
          break;
        begin += StepCosts::bytesOf(block);
      }
      value = split.getValue();
    }
    return {madeBy(value), begin};
  }

  void nameParts();
  LogicalResult readStart(cs::StartOp start);
  LogicalResult readPack(cs::StartOp start, cs::PackOp pack);
  std::optional<schedule::Piece> sentPiece(Value value, int64_t begin, int64_t end);
  LogicalResult readOrder();
  std::vector<int64_t> prioritiesOf(cs::StartOp start, unsigned communication) const;

  const StepCommunications &before;
  const StepProblem &step;
  func::FuncOp after;
  schedule::Schedule result;
  llvm::StringMap<unsigned> wholes, pulls;  // communications, by key
  std::map<Made, unsigned> made;            // all-reduces, by what they sum
  /// Of a gradient that goes to servers: where each block lies in it.
  struct Block {
    int64_t begin;
    unsigned communication;
  };
  std::map<Made, std::vector<Block>> blocksOf;
  std::set<std::pair<unsigned, int64_t>> sent;  // communication and begin
  llvm::StringMap<size_t> messageOf;            // by key of what is pushed
};

void Reader::nameParts() {
  for (auto [i, part] : llvm::enumerate(step.parts)) {
    wholes[step.problem.communications[i].name] = i;
    if (part.pull)
      pulls[cast<cs::CommunicationOpInterface>(part.pull).getCommunicationKey()] = i;
    if (auto send = dyn_cast<cs::SendOp>(part.op))
      if (auto [source, begin] = sourceOf(send.getValue()); source)
        blocksOf[*source].push_back({begin, static_cast<unsigned>(i)});
    if (auto reduce = dyn_cast<cs::AllReduceOp>(part.op))
      if (std::optional<Made> source = madeBy(reduce.getValue()))
        made.emplace(*source, i);
  }
}

/// The half of an all-reduce that distributes the sums may have its own, on the start or
/// on what that was expanded into.
std::vector<int64_t> Reader::prioritiesOf(cs::StartOp start, unsigned communication) const {
  int64_t last = start.getGatherPriority().value_or(start.getPriority());
  for (auto exchange : start.getBody().front().getOps<cs::ExchangeOp>())
    if (std::optional<int64_t> own = exchange.getPriority())
      last = *own;
  return prioritiesByStage(step.parts[communication],
                           step.problem.communications[communication].stages.size(),
                           start.getPriority(), last);
}

/// Of several blocks of the same bytes, the first of which they are not known yet to be sent.
std::optional<schedule::Piece> Reader::sentPiece(Value value, int64_t begin, int64_t end) {
  auto [source, first] = sourceOf(value);
  if (!source)
    return std::nullopt;
  for (const Block &block : blocksOf[*source]) {
    schedule::Piece piece{block.communication, first + begin - block.begin,
                          first + end - block.begin};
    if (piece.begin >= 0 &&
        piece.end <= step.problem.communications[block.communication].bytes &&
        sent.insert({piece.communication, piece.begin}).second)
      return piece;
  }
  return std::nullopt;
}

LogicalResult Reader::readPack(cs::StartOp start, cs::PackOp pack) {
  Message message;
  for (auto [i, value] : llvm::enumerate(pack.getPieces())) {
    int64_t width = StepCosts::widthOf(value);
    int64_t begin = pack.getBounds()[2 * i] * width, end = pack.getBounds()[2 * i + 1] * width;
    if (isa<cs::SendOp>(start.getBody().front().front())) {
      std::optional<schedule::Piece> piece = sentPiece(value, begin, end);
      if (!piece)
        return pack.emitOpError("has a piece of what is not sent before");
      message.pieces.push_back(*piece);
      continue;
    }
    std::optional<Made> source = madeBy(value);
    auto known = source ? made.find(*source) : made.end();
    if (known == made.end())
      return pack.emitOpError("has a piece of what is not summed before");
    message.pieces.push_back({known->second, begin, end});
  }
  messageOf[start.getKey()] = result.messages.size();
  message.priorities = prioritiesOf(start, message.pieces.front().communication);
  message.exclusive = start.getExclusive().value_or(0);
  result.messages.push_back(std::move(message));
  return success();
}

LogicalResult Reader::readStart(cs::StartOp start) {
  if (start.getInputs().size() == 1)
    if (auto pack = start.getInputs().front().getDefiningOp<cs::PackOp>())
      return readPack(start, pack);
  StringRef key = start.getKey();
  StringRef pushed = key;
  if (auto pull = pulls.find(key); pull != pulls.end())
    pushed = step.problem.communications[pull->second].name;
  else if (wholes.contains(key) ||
           (pushed.consume_back(".new") && !messageOf.contains(pushed)))
    pushed = key;
  if (pushed != key) {
    auto push = messageOf.find(pushed);
    if (push == messageOf.end())
      return start.emitOpError("must come after what is pushed for it");
    Message &message = result.messages[push->second];
    message.priorities = prioritiesByStage(
        step.parts[message.pieces.front().communication], message.priorities.size(),
        message.priorities.front(), start.getPriority());
    return success();
  }
  Message message;
  if (auto whole = wholes.find(key); whole != wholes.end()) {
    message.pieces.push_back(
        {whole->second, 0, step.problem.communications[whole->second].bytes});
  } else {
    std::optional<schedule::Piece> part;
    if (isa<cs::SendOp>(start.getBody().front().front())) {
      Value value = start.getInputs().front();
      part = sentPiece(value, 0, StepCosts::bytesOf(value));
    }
    if (!part)
      return start.emitOpError("is no communication of the step before");
    message.pieces.push_back(*part);
  }
  message.priorities = prioritiesOf(start, message.pieces.front().communication);
  message.exclusive = start.getExclusive().value_or(0);
  messageOf[key] = result.messages.size();
  result.messages.push_back(std::move(message));
  return success();
}

/// Fragments as they stand; what is deferred runs directly before the first that reads
/// what it makes, wherever it stands.
LogicalResult Reader::readOrder() {
  llvm::StringMap<unsigned> ops;
  std::vector<bool> deferred(step.problem.ops.size()), added(step.problem.ops.size());
  for (auto [i, fragment] : llvm::enumerate(step.fragments))
    if (cs::FragmentOp(fragment)) {
      ops[cs::FragmentOp(fragment).getLabel()] = i;
      deferred[i] = cs::FragmentOp(fragment).getDeferred();
    }
  result.order.resize(step.problem.streams);
  auto add = [&](auto &self, unsigned op) -> void {
    if (added[op])
      return;
    added[op] = true;
    for (unsigned earlier : step.problem.ops[op].after)
      if (deferred[earlier])
        self(self, earlier);
    result.order[step.problem.ops[op].stream].push_back(op);
  };
  for (auto [i, fragment] : llvm::enumerate(step.fragments))
    if (!cs::FragmentOp(fragment))
      add(add, i);
  size_t count = 0;
  for (auto fragment : after.front().getOps<cs::FragmentOp>()) {
    auto op = ops.find(fragment.getLabel());
    if (op == ops.end())
      return fragment.emitOpError("is not in the step before");
    ++count;
    if (!deferred[op->second])
      add(add, op->second);
    else if (!fragment.getDeferred())
      result.barrier = true;
  }
  if (count != ops.size())
    return after.emitOpError("must have the fragments of the step before");
  for (unsigned op = 0; op < step.problem.ops.size(); ++op)
    add(add, op);
  return success();
}

FailureOr<schedule::Schedule> Reader::run() {
  result.name = "applied";
  nameParts();
  for (auto start : after.front().getOps<cs::StartOp>())
    if (failed(readStart(start)))
      return failure();
  if (failed(readOrder()))
    return failure();
  auto record = after->getAttrOfType<cs::ScheduleAttr>(cs::CsDialect::kScheduleAttr);
  setCredit(step, record ? record.getCredit() : 0, result);
  if (std::optional<std::string> error = schedule::verify(step.problem, result))
    return after.emitOpError() << "is no schedule of the step before: " << *error;
  return std::move(result);
}

}  // namespace

FailureOr<schedule::Schedule>
commsched::readAppliedSchedule(const StepCommunications &before,
                               const StepProblem &problem, func::FuncOp after) {
  return Reader(before, problem, after).run();
}

schedule::Problem commsched::withFreeBlocks(const StepProblem &step) {
  schedule::Problem problem = step.problem;
  llvm::DenseMap<Operation *, unsigned> kinds;  // by server
  for (auto [part, block] : llvm::zip_equal(step.parts, problem.communications)) {
    if (!part.pull)
      continue;
    block.divisible = true;
    block.kind = kinds.try_emplace(cs::getServerOf(part.op), block.kind).first->second;
  }
  return problem;
}
