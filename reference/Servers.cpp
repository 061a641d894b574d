// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "reference/Servers.h"

#include "ir/Cs.h"
#include "reference/Collectives.h"
#include "reference/Combine.h"
#include "reference/InOrder.h"
#include "reference/Ops.h"

using namespace mlir;
using namespace commsched;
using namespace commsched::reference;

ServerStep::ServerStep(func::FuncOp function, Interpreter &interpreter, int64_t trainers,
                       ArrayRef<ArrayPtr> arguments)
    : function(function), interpreter(interpreter), trainers(trainers) {
  for (auto [argument, value] : llvm::zip(function.getArguments(), arguments))
    values[argument] = value;
}

LogicalResult ServerStep::advance(Messages &messages) {
  for (Operation &op : function.getBody().front().without_terminator()) {
    if (done.contains(&op))
      continue;
    FailureOr<bool> ready = evaluate(op, messages);
    if (failed(ready))
      return failure();
    if (*ready)
      done.insert(&op);
  }
  return success();
}

/// How the messages of trainers combine. `each` is of the only one there is.
template <typename Op>
static Combiner combinerOf(Op op) {
  std::optional<cs::Reduction> reduction = op.getReduction();
  return reduction == cs::Reduction::mean  ? Combiner::mean
         : reduction == cs::Reduction::max ? Combiner::max
         : reduction == cs::Reduction::min ? Combiner::min
                                           : Combiner::sum;
}

FailureOr<bool> ServerStep::evaluate(Operation &op, Messages &messages) {
  SmallVector<ArrayPtr> operands;
  for (Value operand : op.getOperands()) {
    operands.push_back(values.lookup(operand));
    if (!operands.back())
      return false;
  }
  auto arrived = [&](StringRef key) -> const std::map<int64_t, Message> * {
    auto found = messages.find({function.getName().str(), 0, key.str()});
    bool all = found != messages.end() &&
               static_cast<int64_t>(found->second.size()) == trainers;
    return all ? &found->second : nullptr;
  };
  auto take = [&](StringRef key) {
    messages.erase({function.getName().str(), 0, key.str()});
  };
  if (auto collect = dyn_cast<cs::CollectOp>(op)) {
    const auto *sent = arrived(collect.getKey());
    if (!sent)
      return false;
    SmallVector<ArrayPtr> parts;
    for (const auto &[rank, message] : *sent) {
      parts.push_back(message.parts.front());
      RankedTensorType wanted = collect.getResult().getType().getTensor();
      auto send = dyn_cast<cs::SendOp>(message.sender);
      RankedTensorType given = send ? cast<cs::PlacedType>(send.getValue().getType()).getTensor() : wanted;
      if (cs::CoordinatesAttr::of(given)) {
        FailureOr<ArrayPtr> whole = spreadList(&op, *parts.back(), given, wanted);
        if (failed(whole))
          return failure();
        parts.back() = *whole;
      }
      if (parts.back()->type() !=
          RankedTensorType::get(wanted.getShape(), wanted.getElementType()))
        return op.emitOpError() << "rank " << rank << " sends " << parts.back()->type(),
               failure();
      if (parts.back()->hasUnwritten())
        return op.emitOpError() << "rank " << rank << " sends elements that were never written",
               failure();
    }
    values[collect.getResult()] = combine(parts, combinerOf(collect));
    take(collect.getKey());
    return true;
  }
  if (auto update = dyn_cast<cs::UpdateRowsOp>(op)) {
    const auto *sent = arrived(update.getKey());
    if (!sent)
      return false;
    if (failed(updateRows(op, *sent)))
      return failure();
    take(update.getKey());
    return true;
  }
  if (isa<cs::PublishOp>(op))
    return true;
  SmallVector<ArrayPtr> results;
  if (auto fragment = dyn_cast<cs::FragmentOp>(op); fragment && fragment.hasBody()) {
    FailureOr<SmallVector<ArrayPtr>> returned =
        interpreter.evaluateRegion(fragment.getBody(), operands);
    if (failed(returned))
      return failure();
    results = *returned;
  } else if (isMove(&op)) {
    results = evaluateMove(&op, operands);
  } else if (fragment) {
    return op.emitOpError("has no body, only a cost"), failure();
  } else {
    return op.emitOpError("is not interpreted on a parameter server"), failure();
  }
  for (auto [result, array] : llvm::zip(op.getResults(), results))
    values[result] = array;
  return true;
}

/// The rows of one message, those of one id added up in their order.
static std::map<int64_t, ArrayPtr> rowsOf(const Message &message) {
  const Array &ids = *message.parts[0], &values = *message.parts[1];
  SmallVector<int64_t, 4> shape(values.shape);
  shape[0] = 1;
  int64_t width = ids.size() == 0 ? 0 : values.size() / ids.size();
  InOrder sum(values.elementType, cs::Combine::sum);
  std::map<int64_t, ArrayPtr> rows;
  for (int64_t i = 0; i < ids.size(); ++i) {
    ArrayPtr &row = rows[ids.ints[i]];
    if (!row) {
      row = cut(values, i * width, shape);
      continue;
    }
    for (int64_t k = 0; k < width; ++k)
      sum.apply(*row, k, values, i * width + k);
  }
  return rows;
}

LogicalResult ServerStep::updateRows(Operation &op,
                                     const std::map<int64_t, Message> &messages) {
  auto update = cast<cs::UpdateRowsOp>(op);
  std::map<int64_t, SmallVector<ArrayPtr>> byRow;
  for (const auto &[rank, message] : messages) {
    for (double bound : message.parts[0]->bounds)
      if (bound != 0)
        return update.emitOpError() << "rank " << rank << " sends rows that are not known";
    for (auto &[id, row] : rowsOf(message))
      byRow[id].push_back(row);
  }
  // A mean is one over all trainers: those without the row have zeros.
  SmallVector<std::pair<int64_t, ArrayPtr>> gradients;
  for (auto &[id, parts] : byRow) {
    while (static_cast<int64_t>(parts.size()) < trainers)
      parts.push_back(makeZeros(parts.front()->elementType, parts.front()->shape));
    gradients.push_back({id, combine(parts, combinerOf(update))});
  }

  SmallVector<ArrayPtr> tables, others;
  for (Value rows : update.getRows())
    tables.push_back(std::make_shared<Array>(*values.lookup(rows)));
  for (Value other : update.getOthers())
    others.push_back(values.lookup(other));
  auto chunk = static_cast<int64_t>(update.getChunk());
  Block &body = update.getBody().front();
  for (size_t at = 0; at < gradients.size(); at += chunk) {
    size_t count = std::min<size_t>(chunk, gradients.size() - at);
    // Behind the last row the first one stands again: what comes of it is dropped.
    auto rowAt = [&](int64_t i) -> auto & {
      return gradients[at + (i < static_cast<int64_t>(count) ? i : 0)];
    };
    SmallVector<ArrayPtr> arguments;
    for (size_t k = 0; k <= tables.size(); ++k) {
      auto type = cast<RankedTensorType>(body.getArgument(k).getType());
      ArrayPtr rows = makeZeros(type.getElementType(), type.getShape());
      int64_t width = rows->size() / chunk;
      for (int64_t i = 0; i < chunk; ++i) {
        auto &[id, gradient] = rowAt(i);
        if (k == 0)
          copyElements(*gradient, 0, width, *rows, i * width);
        else
          copyElements(*tables[k - 1], id * width, width, *rows, i * width);
      }
      arguments.push_back(rows);
    }
    arguments.append(others);
    FailureOr<SmallVector<ArrayPtr>> returned =
        interpreter.evaluateRegion(update.getBody(), arguments);
    if (failed(returned))
      return failure();
    for (auto [table, rows] : llvm::zip(tables, *returned)) {
      int64_t width = rows->size() / chunk;
      for (size_t i = 0; i < count; ++i)
        copyElements(*rows, i * width, width, *table, gradients[at + i].first * width);
    }
  }
  for (auto [result, table] : llvm::zip(update.getResults(), tables))
    values[result] = table;
  return success();
}

ArrayPtr ServerStep::published(StringRef key) const {
  for (auto publish : function.getBody().front().getOps<cs::PublishOp>())
    if (publish.getKey() == key)
      return values.lookup(publish.getValue());
  return nullptr;
}

ArrayPtr ServerStep::table(StringRef key) const {
  for (auto update : function.getBody().front().getOps<cs::UpdateRowsOp>())
    if (update.getKey() == key && !update.getRows().empty())
      return values.lookup(update.getRows().front());
  return nullptr;
}

std::optional<SmallVector<ArrayPtr>> ServerStep::results(Operation *&waiting) const {
  Block &block = function.getBody().front();
  for (Operation &op : block.without_terminator())
    if (!done.contains(&op)) {
      waiting = &op;
      return std::nullopt;
    }
  SmallVector<ArrayPtr> results;
  for (Value operand : block.getTerminator()->getOperands())
    results.push_back(values.lookup(operand));
  return results;
}
