// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Carried tensors stay in one buffer: a loop that handed on a new buffer in every
// iteration would need memory that no static assignment has. What a loop hands on is
// either made in the buffer that carries it, or stored there at the end of the body.
//
// The analysis of tensors has to find both possible, or it gives up. So what it could not
// resolve is not left to it: a value that could be in the memory of another carried one
// is copied before the first store, and one that cannot be made in its own buffer,
// because what was there is read later, begins with a copy. Stores are insertions:
// bufferization.materialize_in_destination may not be refused by the analysis, which
// takes then all that might be in place near it for a conflict.

#include "passes/plan/Stages.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "mlir/Interfaces/LoopLikeInterface.h"

using namespace mlir;

namespace commsched::planexport {

// The operand in whose memory `value` is made; null where it begins.
static OpOperand *madeIn(Value value) {
  auto result = dyn_cast<OpResult>(value);
  if (!result)
    return nullptr;
  Operation *op = result.getOwner();
  if (auto insert = dyn_cast<tensor::InsertOp>(op))
    return &insert.getDestMutable();
  if (auto slice = dyn_cast<tensor::InsertSliceOp>(op))
    return &slice.getDestMutable();
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return &loop.getInitArgsMutable()[result.getResultNumber()];
  if (auto dps = dyn_cast<DestinationStyleOpInterface>(op))
    return dps.getTiedOpOperand(result);
  return nullptr;
}

Value inPlaceSource(Value value) {
  OpOperand *operand = madeIn(value);
  return operand ? operand->get() : Value();
}

Value insertWhole(OpBuilder &builder, Location loc, Value value, Value dest) {
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<OpFoldResult> zeros(type.getRank(), builder.getIndexAttr(0)), sizes,
      ones(type.getRank(), builder.getIndexAttr(1));
  for (int64_t size : type.getShape())
    sizes.push_back(builder.getIndexAttr(size));
  return tensor::InsertSliceOp::create(builder, loc, value, dest, zeros, sizes, ones);
}

static bool isView(Operation *op) {
  return isa<tensor::ExtractSliceOp, tensor::ExpandShapeOp, tensor::CollapseShapeOp,
             tensor::CastOp>(op);
}

// Whether `op` reads each element of `use`, and does nothing else with it, before it
// writes the one of `written`.
static bool readsElementFirst(Operation *op, OpOperand &use, OpOperand &written) {
  auto generic = dyn_cast<linalg::LinalgOp>(op);
  return generic && generic.isDpsInput(&use) &&
         generic.getNumLoops() == generic.getNumParallelLoops() &&
         generic.getMatchingIndexingMap(&use) == generic.getMatchingIndexingMap(&written) &&
         generic.getMatchingIndexingMap(&use).isPermutation();
}

// Whether what `written` refers to is read after its owner has written there.
static bool isReadAfter(OpOperand &written) {
  Operation *writer = written.getOwner();
  SmallVector<Value> work{written.get()};
  DenseSet<Value> seen;
  while (!work.empty()) {
    Value value = work.pop_back_val();
    if (!seen.insert(value).second)
      continue;
    for (OpOperand &use : value.getUses()) {
      Operation *user = use.getOwner();
      Operation *ancestor = writer->getBlock()->findAncestorOpInBlock(*user);
      if (!ancestor)
        return true;
      if (ancestor == writer) {
        if (&use != &written && (user != writer || !readsElementFirst(writer, use, written)))
          return true;
        continue;
      }
      if (!ancestor->isBeforeInBlock(writer))
        return true;
      // Under another name.
      if (isView(user) || isa<arith::SelectOp>(user) || isa<LoopLikeOpInterface>(user))
        work.append(user->result_begin(), user->result_end());
      else if (isa<scf::YieldOp>(user))
        work.append(user->getParentOp()->result_begin(), user->getParentOp()->result_end());
    }
  }
  return false;
}

// `value` is made of `carried` in place. Where that cannot be, because what was there
// is read later, it begins with a copy: false then.
static bool makeInPlace(Value value, Value carried) {
  for (; value != carried; value = inPlaceSource(value)) {
    OpOperand *operand = madeIn(value);
    if (!isReadAfter(*operand))
      continue;
    Operation *op = operand->getOwner();
    OpBuilder builder(op);
    auto type = cast<RankedTensorType>(operand->get().getType());
    auto generic = dyn_cast<linalg::LinalgOp>(op);
    bool isRead = !generic || generic.payloadUsesValueFromOperand(operand);
    operand->set(bufferization::AllocTensorOp::create(builder, op->getLoc(), type, ValueRange{},
                                                      isRead ? operand->get() : Value()));
    return false;
  }
  return true;
}

// Whether `value` may be in the memory of one that `body` carries.
static bool mayBeCarried(Value value, Block *body) {
  SmallVector<Value> work{value};
  DenseSet<Value> seen;
  auto add = [&](ValueRange values) { work.append(values.begin(), values.end()); };
  while (!work.empty()) {
    Value at = work.pop_back_val();
    if (!seen.insert(at).second)
      continue;
    auto result = dyn_cast<OpResult>(at);
    if (!result) {
      Block *block = cast<BlockArgument>(at).getOwner();
      if (block == body)
        return true;
      // Carried by a loop inside, which begins with what it is given.
      if (auto loop = dyn_cast<LoopLikeOpInterface>(block->getParentOp()))
        add(loop.getInits());
      continue;
    }
    Operation *op = result.getOwner();
    if (Value source = inPlaceSource(at)) {
      add(source);
    } else if (isView(op)) {
      add(op->getOperand(0));
    } else if (auto select = dyn_cast<arith::SelectOp>(op)) {
      add({select.getTrueValue(), select.getFalseValue()});
    } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
      add({branch.thenYield().getOperand(result.getResultNumber()),
           branch.elseYield().getOperand(result.getResultNumber())});
    } else if (auto loop = dyn_cast<LoopLikeOpInterface>(op)) {
      add(loop.getInits()); // any of them: they may change places
    }
  }
  return false;
}

static bool isMadeOf(Value value, Value carried) {
  while (value && value != carried)
    value = inPlaceSource(value);
  return value == carried;
}

static void pinCarried(Block *body, Operation *yield, ValueRange carried) {
  OpBuilder builder(yield);
  // All copies come before the first store: carried values may change places.
  SmallVector<std::pair<OpOperand *, Value>> moved;
  for (auto [i, arg] : llvm::enumerate(carried)) {
    OpOperand &operand = yield->getOpOperand(i);
    Value value = operand.get();
    if (!isa<RankedTensorType>(value.getType()) || value == arg)
      continue;
    if (isMadeOf(value, arg)) {
      if (makeInPlace(value, arg))
        continue;
    } else if (mayBeCarried(value, body)) {
      auto type = cast<RankedTensorType>(value.getType());
      value = bufferization::AllocTensorOp::create(builder, yield->getLoc(),
                                                   type, ValueRange{}, value);
      operand.set(value);
    }
    moved.emplace_back(&operand, arg);
  }
  // What is handed on twice is copied from where it has been put: it may have been
  // computed there, and a store is a write.
  DenseMap<Value, Value> placed;
  for (auto [operand, arg] : moved) {
    Value &value = placed.try_emplace(operand->get(), operand->get()).first->second;
    value = insertWhole(builder, yield->getLoc(), value, arg);
    operand->set(value);
  }
}

// The same loop, whose condition hands on all that it got: what only the
// condition reads has been dropped, and would not stay in its buffer.
static void handOnEverything(scf::WhileOp loop) {
  scf::ConditionOp condition = loop.getConditionOp();
  Block *before = loop.getBeforeBody();
  SmallVector<unsigned> from; // of a result the argument
  for (Value value : condition.getArgs()) {
    auto arg = dyn_cast<BlockArgument>(value);
    if (!arg || arg.getOwner() != before)
      return;
    from.push_back(arg.getArgNumber());
  }
  if (llvm::equal(condition.getArgs(), before->getArguments()))
    return;
  OpBuilder builder(loop);
  SmallVector<Type> types(before->getArgumentTypes());
  auto whole =
      scf::WhileOp::create(builder, loop.getLoc(), types, loop.getInits());
  whole.getBefore().takeBody(loop.getBefore());
  whole.getAfter().takeBody(loop.getAfter());
  condition.getArgsMutable().assign(whole.getBeforeArguments());
  Block *body = whole.getAfterBody();
  for (Type type : types)
    body->addArgument(type, loop.getLoc());
  for (auto [i, source] : llvm::enumerate(from)) {
    body->getArgument(i).replaceAllUsesWith(
        body->getArgument(from.size() + source));
    loop.getResult(i).replaceAllUsesWith(whole.getResult(source));
  }
  body->eraseArguments(0, from.size());
  loop.erase();
}

void pinLoops(func::FuncOp function) {
  SmallVector<scf::WhileOp> whiles;
  function.walk([&](scf::WhileOp loop) { whiles.push_back(loop); });
  for (scf::WhileOp loop : whiles)
    handOnEverything(loop);
  function.walk([](Operation *op) {
    if (auto loop = dyn_cast<scf::ForOp>(op)) {
      pinCarried(loop.getBody(), loop.getBody()->getTerminator(),
                 loop.getRegionIterArgs());
    } else if (auto loop = dyn_cast<scf::WhileOp>(op)) {
      // Only where the condition hands on what it got.
      auto condition = loop.getConditionOp();
      if (llvm::equal(condition.getArgs(), loop.getBeforeArguments()))
        pinCarried(loop.getAfterBody(), loop.getYieldOp(),
                   loop.getAfterArguments());
    }
  });
}

} // namespace commsched::planexport
