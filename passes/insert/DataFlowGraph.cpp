// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/insert/DataFlowGraph.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "passes/insert/Program.h"

using namespace mlir;
using namespace commsched;

namespace {

LogicalResult checkOp(Operation *op) {
  if (isa<cs::GradientOp>(op))
    return success();
  if (auto call = dyn_cast<CallOpInterface>(op)) {
    InFlightDiagnostic diag = op->emitOpError("must be inlined first");
    if (auto callee = dyn_cast<SymbolRefAttr>(call.getCallableForCallee()))
      diag << ": call of " << callee;
    return diag;
  }
  for (Type type : op->getResultTypes()) {
    if (!isa<ShapedType>(type))
      continue;
    // Indices may be tensors, too, within a fragment.
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (tensor && tensor.getElementType().isIndex())
      type = tensor.clone(IntegerType::get(type.getContext(), 64));
    StringRef why = whyNotPlaceable(type);
    if (!why.empty())
      return op->emitOpError() << "result " << why << ", got: " << type;
  }
  return success();
}

LogicalResult checkNested(Operation *op) {
  for (Region &region : op->getRegions()) {
    WalkResult walked = region.walk([&](Operation *nested) {
      if (isa_and_nonnull<cs::CsDialect>(nested->getDialect()))
        return nested->emitOpError("must be at the top of the function"),
               WalkResult::interrupt();
      if (isa<CallOpInterface>(nested))
        return (void)checkOp(nested), WalkResult::interrupt();
      return WalkResult::advance();
    });
    if (walked.wasInterrupted())
      return failure();
  }
  return success();
}

bool mayRepeat(Operation *op) {
  auto isConstant = [](Value value) {
    return matchPattern(value, m_Constant());
  };
  if (op->hasTrait<OpTrait::ConstantLike>() || isa<tensor::EmptyOp>(op))
    return op->getNumOperands() == 0;
  // Another shape of what has no value is none either: it could not go from one fragment to another.
  if (isa<tensor::ExtractSliceOp, tensor::ExpandShapeOp, tensor::CollapseShapeOp, tensor::CastOp>(op))
    return op->getNumOperands() == 1 && op->getOperand(0).getDefiningOp<tensor::EmptyOp>();
  if (auto splat = dyn_cast<tensor::SplatOp>(op))
    return isConstant(splat.getInput()) && splat.getDynamicSizes().empty();
  if (auto fill = dyn_cast<linalg::FillOp>(op))
    return fill.getNumDpsInputs() == 1 && isConstant(fill.getDpsInputs()[0]) &&
           fill.getDpsInits()[0].getDefiningOp<tensor::EmptyOp>();
  return false;
}

} // namespace

FailureOr<DataFlowGraph> DataFlowGraph::read(Block &block) {
  DataFlowGraph graph;
  for (Operation &op : block.without_terminator()) {
    graph.index[&op] = graph.ops.size();
    graph.ops.push_back(&op);
  }
  graph.firstRef.push_back(0);
  for (Operation *op : graph.ops) {
    if (failed(checkOp(op)) || failed(checkNested(op)))
      return failure();
    if (!isa<cs::GradientOp>(op) && !isMemoryEffectFree(op))
      return op->emitOpError(
          "may have side effects, which a fragment cannot have");
    forEachUse(op, [&](OpOperand &operand) {
      Value value = operand.get();
      if (value.getParentBlock() == &block)
        graph.refs.push_back(graph.refOf(value));
    });
    graph.firstRef.push_back(graph.refs.size());
  }
  graph.repeatable.reserve(graph.ops.size());
  for (Operation *op : graph.ops)
    graph.repeatable.push_back(mayRepeat(op));
  return graph;
}

Ref DataFlowGraph::refOf(Value value) const {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return -1 - static_cast<int>(argument.getArgNumber());
  return index.lookup(value.getDefiningOp());
}

bool DataFlowGraph::isOfRows(int op) const {
  return isa<cs::LookupOp, cs::SegmentSumOp>(ops[op]);
}

bool DataFlowGraph::isCheap(int op) const {
  if (auto linalgOp = dyn_cast<linalg::LinalgOp>(ops[op]))
    return linalgOp.getNumReductionLoops() == 0;
  return OpTrait::hasElementwiseMappableTraits(ops[op]) ||
         isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp, tensor::ExtractOp,
             tensor::SplatOp, tensor::FromElementsOp>(ops[op]);
}

void commsched::forEachUse(Operation *op,
                           llvm::function_ref<void(OpOperand &)> fn) {
  for (OpOperand &operand : op->getOpOperands())
    fn(operand);
  for (Region &region : op->getRegions())
    region.walk([&](Operation *nested) {
      for (OpOperand &operand : nested->getOpOperands())
        fn(operand);
    });
}
