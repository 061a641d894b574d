// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Stages.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Bufferization/Transforms/OneShotAnalysis.h"
#include "mlir/Dialect/Bufferization/Transforms/Transforms.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

namespace commsched::planexport {

// One tensor.empty per use, so that each can become another destination.
static void separateEmptyTensors(func::FuncOp function) {
  SmallVector<tensor::EmptyOp> empties;
  function.walk([&](tensor::EmptyOp op) { empties.push_back(op); });
  for (tensor::EmptyOp empty : empties) {
    for (OpOperand &use : llvm::make_early_inc_range(empty->getUses())) {
      OpBuilder builder(use.getOwner());
      use.set(builder.clone(*empty)->getResult(0));
    }
    empty.erase();
  }
}

// A result that is a reshape of a value is that value in reshaped memory.
static void sinkReshapes(func::FuncOp function) {
  SmallVector<bufferization::MaterializeInDestinationOp> stores;
  function.walk([&](bufferization::MaterializeInDestinationOp op) {
    if (isa<MemRefType>(op.getDest().getType()))
      stores.push_back(op);
  });
  OpBuilder builder = OpBuilder::atBlockBegin(&function.getBody().front());
  for (auto store : stores) {
    while (Operation *reshape = store.getSource().getDefiningOp()) {
      Value dest = store.getDest();
      auto memref = [&](Value tensor) {
        auto type = cast<RankedTensorType>(tensor.getType());
        return MemRefType::get(type.getShape(), type.getElementType());
      };
      if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(reshape)) {
        store.getDestMutable().assign(memref::ExpandShapeOp::create(
            builder, store.getLoc(), memref(collapse.getSrc()), dest,
            collapse.getReassociationIndices()));
        store.getSourceMutable().assign(collapse.getSrc());
      } else if (auto expand = dyn_cast<tensor::ExpandShapeOp>(reshape)) {
        store.getDestMutable().assign(memref::CollapseShapeOp::create(
            builder, store.getLoc(), memref(expand.getSrc()), dest,
            expand.getReassociationIndices()));
        store.getSourceMutable().assign(expand.getSrc());
      } else {
        break;
      }
    }
  }
}

// What `value` is made of in place; null where it begins.
static Value inPlaceSource(Value value) {
  auto result = dyn_cast<OpResult>(value);
  if (!result)
    return nullptr;
  Operation *op = result.getOwner();
  if (auto insert = dyn_cast<tensor::InsertOp>(op))
    return insert.getDest();
  if (auto slice = dyn_cast<tensor::InsertSliceOp>(op))
    return slice.getDest();
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return loop.getInitArgs()[result.getResultNumber()];
  if (auto dps = dyn_cast<DestinationStyleOpInterface>(op))
    return dps.getTiedOpOperand(result)->get();
  return nullptr;
}

// Carried tensors stay in one buffer: a loop that handed on a new buffer in
// every iteration would need memory that no static assignment has.
static void pinCarried(Block *body, Operation *yield, unsigned firstOperand,
                       ValueRange carried) {
  OpBuilder builder(yield);
  // All copies come before the first write: carried values may change places.
  SmallVector<std::pair<OpOperand *, Value>> moved;
  for (auto [i, arg] : llvm::enumerate(carried)) {
    OpOperand &operand = yield->getOpOperand(firstOperand + i);
    Value value = operand.get();
    if (!isa<RankedTensorType>(value.getType()) || value == arg)
      continue;
    Value source = value;
    while (source && source != arg)
      source = inPlaceSource(source);
    if (source == arg)
      continue;
    // Another carried value, or a view of one: it may be overwritten first.
    Value root = value;
    while (Operation *def = root.getDefiningOp()) {
      if (!isa<tensor::ExtractSliceOp, tensor::ExpandShapeOp,
               tensor::CollapseShapeOp, tensor::CastOp>(def))
        break;
      root = def->getOperand(0);
    }
    if (auto other = dyn_cast<BlockArgument>(root);
        other && other.getOwner() == body) {
      auto type = cast<RankedTensorType>(value.getType());
      value = bufferization::AllocTensorOp::create(builder, yield->getLoc(),
                                                   type, ValueRange{}, value);
      operand.set(value);
    }
    moved.emplace_back(&operand, arg);
  }
  for (auto [operand, arg] : moved) {
    auto pinned = bufferization::MaterializeInDestinationOp::create(
        builder, yield->getLoc(), operand->get(), arg);
    operand->set(pinned.getResult());
  }
}

static void pinLoops(func::FuncOp function) {
  function.walk([](Operation *op) {
    if (auto loop = dyn_cast<scf::ForOp>(op)) {
      pinCarried(loop.getBody(), loop.getBody()->getTerminator(), 0,
                 loop.getRegionIterArgs());
    } else if (auto loop = dyn_cast<scf::WhileOp>(op)) {
      // Only where the condition hands on what it got.
      auto condition = loop.getConditionOp();
      if (llvm::equal(condition.getArgs(), loop.getBeforeArguments()))
        pinCarried(loop.getAfterBody(), loop.getYieldOp(), 0,
                   loop.getAfterArguments());
    }
  });
}

LogicalResult bufferizeFragment(func::FuncOp function) {
  pinLoops(function);
  sinkReshapes(function);
  separateEmptyTensors(function);
  IRRewriter rewriter(function->getContext());
  if (failed(bufferization::eliminateEmptyTensors(rewriter, function)))
    return failure();
  bufferization::OneShotBufferizationOptions options;
  options.bufferAlignment = 64;
  bufferization::BufferizationState state;
  if (failed(bufferization::runOneShotBufferize(function, options, state)))
    return failure();
  PassManager pm(function->getContext(), func::FuncOp::getOperationName());
  pm.enableVerifier(false);
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  pm.addPass(createCanonicalizerPass());
  return pm.run(function);
}

} // namespace commsched::planexport
