// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/plan/Stages.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Bufferization/Transforms/Bufferize.h"
#include "mlir/Dialect/Bufferization/Transforms/OneShotAnalysis.h"
#include "mlir/Dialect/Bufferization/Transforms/Transforms.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

namespace commsched::planexport {

// One tensor.empty per use, and one fill per op that begins with it, so that
// each can become another destination.
static void separateDestinations(func::FuncOp function) {
  SmallVector<linalg::FillOp> fills;
  function.walk([&](linalg::FillOp op) { fills.push_back(op); });
  for (linalg::FillOp fill : fills) {
    if (!fill.getDpsInits()[0].getDefiningOp<tensor::EmptyOp>())
      continue;
    SmallVector<OpOperand *> inits;
    unsigned others = 0;
    for (OpOperand &use : fill->getUses()) {
      auto user = dyn_cast<DestinationStyleOpInterface>(use.getOwner());
      if (user && user.isDpsInit(&use))
        inits.push_back(&use);
      else
        ++others;
    }
    // The fill itself serves for what is left.
    if (!others && !inits.empty())
      inits.pop_back();
    for (OpOperand *use : inits) {
      OpBuilder builder(use->getOwner());
      use->set(builder.clone(*fill)->getResult(0));
    }
  }
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

// A store into the memory of a result is a write that the analysis of tensors
// does not see: what it puts in that memory because of another result, or of a
// shared initial value, could be overwritten before it is read. So the memory
// of each result becomes one tensor at the beginning, into which the result is
// inserted; at the end, when nothing else is read any more, what the analysis
// could not place there is copied.
static void insertResults(func::FuncOp function) {
  SmallVector<bufferization::MaterializeInDestinationOp> stores;
  function.walk([&](bufferization::MaterializeInDestinationOp op) {
    if (isa<MemRefType>(op.getDest().getType()))
      stores.push_back(op);
  });
  Block &block = function.getBody().front();
  Operation *terminator = block.getTerminator();
  SmallVector<std::pair<Value, Value>> results; // inserted, destination
  for (auto store : stores) {
    Value dest = store.getDest();
    Location loc = store.getLoc();
    auto type = cast<RankedTensorType>(store.getSource().getType());
    OpBuilder builder(function.getContext());
    if (Operation *view = dest.getDefiningOp())
      builder.setInsertionPointAfter(view);
    else
      builder.setInsertionPointToStart(&block);
    Value memory = bufferization::ToTensorOp::create(
        builder, loc, type, dest, /*restrict=*/true, /*writable=*/true);
    builder.setInsertionPoint(store);
    Value inserted = insertWhole(builder, loc, store.getSource(), memory);
    results.emplace_back(inserted, dest);
    store.erase();
  }
  OpBuilder builder(terminator);
  SmallVector<Value> buffers;
  for (auto [inserted, dest] : results)
    buffers.push_back(bufferization::ToBufferOp::create(
        builder, inserted.getLoc(), dest.getType(), inserted, /*read_only=*/true));
  for (auto [buffer, result] : llvm::zip(buffers, results))
    memref::CopyOp::create(builder, buffer.getLoc(), buffer, result.second);
}

// What `value` is made in, or a view of.
static Value rootOf(Value value) {
  while (Operation *def = value.getDefiningOp()) {
    Value source = inPlaceSource(value);
    if (!source && isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp, tensor::CastOp>(def))
      source = def->getOperand(0);
    if (!source)
      break;
    value = source;
  }
  return value;
}

// A value that is chosen, by a branch or a select, and is a view, if of a result's memory, would
// leave the layout of the choice open, where nests and kernels need one that is known.
static void ownChosenValues(func::FuncOp function) {
  auto own = [](Operation *choice, MutableArrayRef<OpOperand> operands) {
    OpBuilder builder(choice);
    for (OpOperand &operand : operands) {
      auto type = dyn_cast<RankedTensorType>(operand.get().getType());
      if (type && rootOf(operand.get()).getDefiningOp<tensor::ExtractSliceOp>())
        operand.set(bufferization::AllocTensorOp::create(builder, choice->getLoc(), type,
                                                         ValueRange{}, operand.get()));
    }
  };
  function.walk([&](Operation *op) {
    if (auto yield = dyn_cast<scf::YieldOp>(op); yield && isa<scf::IfOp>(yield->getParentOp()))
      own(yield, yield->getOpOperands());
    else if (isa<arith::SelectOp>(op))
      own(op, op->getOpOperands().drop_front());
  });
}

static LogicalResult assignBuffers(func::FuncOp function) {
  pinLoops(function);
  sinkReshapes(function);
  separateDestinations(function);
  insertResults(function);
  IRRewriter rewriter(function->getContext());
  if (failed(bufferization::eliminateEmptyTensors(rewriter, function)))
    return failure();
  ownChosenValues(function);
  bufferization::OneShotBufferizationOptions options;
  options.bufferAlignment = 64;
  // Constants: one that a branch yields would get an open layout otherwise.
  options.unknownTypeConverterFn = [](TensorType type, Attribute memorySpace,
                                      const bufferization::BufferizationOptions &) {
    return bufferization::getMemRefTypeWithStaticIdentityLayout(type, memorySpace);
  };
  bufferization::BufferizationState state;
  keepMemoryOrder(function);
  // Which values need a copy. What was prepared above leaves none that cannot have one.
  if (failed(bufferization::insertTensorCopies(function, options, state)))
    return function.emitError("internal error: values of a fragment would overwrite "
                              "each other");
  return bufferization::bufferizeOp(function, options, state);
}

LogicalResult bufferizeFragment(func::FuncOp function, double &checkSeconds) {
  if (failed(checkMemory(function, checkSeconds, [&] { return assignBuffers(function); })))
    return failure();
  PassManager pm(function->getContext(), func::FuncOp::getOperationName());
  pm.enableVerifier(false);
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  pm.addPass(createCanonicalizerPass());
  return pm.run(function);
}

} // namespace commsched::planexport
