// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Selections as calls of library kernels: cs.top_k and the like become cs.kernel on
// flat tensors, that on buffers a call of a function that says which kernel it
// stands for.

#include "passes/plan/Stages.h"

#include "ir/CsSparseOps.h"
#include "mlir/Dialect/Bufferization/IR/DstBufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace commsched::planexport {
namespace {

// On calls, until extractKernelCalls.
constexpr StringLiteral kKind = "kernel_kind";
constexpr StringLiteral kSettings = "kernel_settings";
constexpr StringLiteral kAccumulate = kKernelAccumulateAttr;

SmallVector<ReassociationIndices> allInOne(int64_t rank) {
  ReassociationIndices indices;
  for (int64_t i = 0; i < rank; ++i)
    indices.push_back(i);
  return rank == 0 ? SmallVector<ReassociationIndices>()
                   : SmallVector<ReassociationIndices>{indices};
}

/// Replaces one op by a kernel on tensors of one dimension.
class KernelWriter {
public:
  explicit KernelWriter(Operation *op)
      : op(op), builder(op) {}

  Value flat(Value value) {
    auto type = cast<RankedTensorType>(value.getType());
    RankedTensorType target = flatType(type);
    if (type == target)
      return value;
    auto groups = allInOne(type.getRank());
    if (type.getRank() == 0)
      return tensor::ExpandShapeOp::create(builder, op->getLoc(), target, value, groups);
    return tensor::CollapseShapeOp::create(builder, op->getLoc(), target, value, groups);
  }
  Value empty(Value like) {
    RankedTensorType type = flatType(cast<RankedTensorType>(like.getType()));
    return tensor::EmptyOp::create(builder, op->getLoc(), type.getShape(),
                                   type.getElementType());
  }
  void set(StringRef name, int64_t value) {
    settings.append(name, builder.getI64IntegerAttr(value));
  }
  SmallVector<Value> call(StringRef kind, ValueRange inputs, ValueRange outs,
                          bool accumulate = false) {
    auto kernel = cs::KernelOp::create(
        builder, op->getLoc(), outs.getTypes(), kind, inputs, outs,
        settings.getDictionary(op->getContext()), accumulate);
    return SmallVector<Value>(kernel.getResults());
  }
  void replace(SmallVector<Value> results) {
    for (auto [old, value] : llvm::zip(op->getResults(), results)) {
      auto type = cast<RankedTensorType>(old.getType());
      if (value.getType() != type) {
        auto groups = allInOne(type.getRank());
        if (type.getRank() == 0)
          value = tensor::CollapseShapeOp::create(builder, op->getLoc(), type, value, groups);
        else
          value = tensor::ExpandShapeOp::create(builder, op->getLoc(), type, value, groups);
      }
      old.replaceAllUsesWith(value);
    }
    op->erase();
  }

private:
  static RankedTensorType flatType(RankedTensorType type) {
    return RankedTensorType::get({type.getNumElements()}, type.getElementType());
  }
  Operation *op;
  OpBuilder builder;
  NamedAttrList settings;
};

void lower(cs::TopKOp op) {
  KernelWriter write(op);
  auto methods = cs::selectionMethods();
  int64_t method = llvm::find(methods, op.getMethod()) - methods.begin();
  write.set("method", method);
  SmallVector<Value> inputs{write.flat(op.getValue())};
  if (op.getResidual())
    inputs.push_back(write.flat(op.getResidual()));
  if (op.getThreshold())
    inputs.push_back(op.getThreshold());
  if (op.getMethod() == "mstopk") {
    write.set("seed", static_cast<int64_t>(op.getSeed()));
    write.set("steps", static_cast<int64_t>(op.getSamples()));
    if (op.getEarlyStop())
      write.set("stop_early", 1);
    if (op.getStep()) {
      write.set("has_step", 1);
      inputs.push_back(op.getStep());
    }
  }
  Value values = write.empty(op.getValues()), indices = write.empty(op.getIndices());
  if (op.getThreshold()) {
    write.set("every", static_cast<int64_t>(op.getEvery()));
    return write.replace(write.call(
        "top_k_every", inputs,
        {values, indices, write.empty(op.getRest()), write.empty(op.getNext())}));
  }
  if (op.getResidual())
    return write.replace(write.call("top_k_feedback", inputs,
                                    {values, indices, write.empty(op.getRest())}));
  SmallVector<Value> results = write.call("top_k", inputs, {values, indices});
  Value rest = inputs.front();
  if (!op.getRest().use_empty()) {
    KernelWriter clear(op);
    rest = clear.call("scatter_clear", {results[1]}, {rest}, /*accumulate=*/true).front();
  }
  results.push_back(rest);
  write.replace(results);
}

void lower(cs::ScatterAddOp op) {
  KernelWriter write(op);
  Value values = op.getValues(), indices = op.getIndices();
  if (op.getExcept())
    return write.replace(write.call("scatter_add_others",
                                    {indices, values, op.getExcept()},
                                    {write.flat(op.getInto())}, /*accumulate=*/true));
  if (op.getOver() != 1)
    write.set("denominator", static_cast<int64_t>(op.getOver()));
  if (op.getInto())
    return write.replace(write.call("scatter_add", {indices, values},
                                    {write.flat(op.getInto())}, /*accumulate=*/true));
  write.replace(write.call("scatter_add", {indices, values}, {write.empty(op.getResult())}));
}

void lower(cs::ScatterClearOp op) {
  KernelWriter write(op);
  write.replace(write.call("scatter_clear", {op.getIndices()}, {write.flat(op.getValue())},
                           /*accumulate=*/true));
}

void lower(cs::MergeTopKOp op) {
  KernelWriter write(op);
  write.replace(write.call("merge_top_k", {op.getIndices(), op.getValues()},
                           {write.empty(op.getTopValues()), write.empty(op.getTopIndices())}));
}

void lower(cs::SplitRegionsOp op) {
  KernelWriter write(op);
  write.set("size", static_cast<int64_t>(op.getElements()));
  write.replace(write.call("split_regions", {op.getIndices(), op.getValues(), op.getShifts()},
                           {write.empty(op.getSplitValues()), write.empty(op.getSplitIndices()),
                            write.empty(op.getCounts())}));
}

void lower(cs::BalanceRegionsOp op) {
  KernelWriter write(op);
  write.set("size", static_cast<int64_t>(op.getElements()));
  write.replace(write.call("balance_regions",
                           {op.getIndices(), op.getCounts(), op.getShifts()},
                           {write.empty(op.getResult())}));
}

/// Kernels take dense operands: `buffer`, or a copy of it.
Value denseCopy(OpBuilder &builder, Location loc, Value buffer) {
  auto type = cast<MemRefType>(buffer.getType());
  if (type.getStridesAndOffset().first == SmallVector<int64_t>{1})
    return buffer;
  auto dense = MemRefType::get(type.getShape(), type.getElementType());
  Value copy = memref::AllocOp::create(builder, loc, dense);
  memref::CopyOp::create(builder, loc, buffer, copy);
  return copy;
}

struct KernelModel
    : bufferization::DstBufferizableOpInterfaceExternalModel<KernelModel, cs::KernelOp> {
  bool bufferizesToMemoryRead(Operation *op, OpOperand &operand,
                              const bufferization::AnalysisState &) const {
    auto kernel = cast<cs::KernelOp>(op);
    return kernel.getAccumulate() || kernel.isDpsInput(&operand);
  }
  LogicalResult bufferize(Operation *op, RewriterBase &rewriter,
                          const bufferization::BufferizationOptions &options,
                          bufferization::BufferizationState &state) const {
    auto kernel = cast<cs::KernelOp>(op);
    SmallVector<Value> buffers, outs;
    SmallVector<std::pair<Value, Value>> back; // from, to
    rewriter.setInsertionPoint(op);
    for (OpOperand &operand : op->getOpOperands()) {
      FailureOr<Value> buffer = bufferization::getBuffer(rewriter, operand.get(), options, state);
      if (failed(buffer))
        return failure();
      Value dense = denseCopy(rewriter, op->getLoc(), *buffer);
      buffers.push_back(dense);
      if (!kernel.isDpsInit(&operand))
        continue;
      outs.push_back(*buffer);
      if (dense != *buffer)
        back.push_back({dense, *buffer});
    }
    auto call = func::CallOp::create(rewriter, op->getLoc(), "kernel", TypeRange(), buffers);
    call->setAttr(kKind, kernel.getKindAttr());
    call->setAttr(kSettings, kernel.getSettingsAttr());
    if (kernel.getAccumulate())
      call->setAttr(kAccumulate, rewriter.getUnitAttr());
    call->setAttr(kKernelInputsAttr, rewriter.getI64IntegerAttr(kernel.getInputs().size()));
    if (Attribute number = op->getAttr(kMemoryNumberAttr))
      call->setAttr(kMemoryNumberAttr, number);
    for (auto [from, to] : back)
      memref::CopyOp::create(rewriter, op->getLoc(), from, to);
    bufferization::replaceOpWithBufferizedValues(rewriter, op, outs);
    return success();
  }
};

plan::ElementType elementOf(Type type) {
  return type.isF32()         ? plan::F32
         : type.isF16()       ? plan::F16
         : type.isBF16()      ? plan::BF16
         : type.isInteger(64) ? plan::I64
         : type.isInteger(32) ? plan::I32
                              : plan::I8;
}

} // namespace

void lowerSparseOps(func::FuncOp function) {
  SmallVector<Operation *> ops;
  function.walk([&](Operation *op) {
    if (isa<cs::TopKOp, cs::ScatterAddOp, cs::ScatterClearOp, cs::MergeTopKOp,
            cs::SplitRegionsOp, cs::BalanceRegionsOp>(op))
      ops.push_back(op);
  });
  for (Operation *op : ops) {
    if (auto topK = dyn_cast<cs::TopKOp>(op))
      lower(topK);
    else if (auto scatter = dyn_cast<cs::ScatterAddOp>(op))
      lower(scatter);
    else if (auto clear = dyn_cast<cs::ScatterClearOp>(op))
      lower(clear);
    else if (auto split = dyn_cast<cs::SplitRegionsOp>(op))
      lower(split);
    else if (auto balance = dyn_cast<cs::BalanceRegionsOp>(op))
      lower(balance);
    else
      lower(cast<cs::MergeTopKOp>(op));
  }
}

void addKernelBufferization(MLIRContext *context) {
  if (!RegisteredOperationName::lookup(cs::KernelOp::getOperationName(), context)
           ->hasInterface<bufferization::BufferizableOpInterface>())
    cs::KernelOp::attachInterface<KernelModel>(*context);
}

LogicalResult extractKernelCalls(func::FuncOp function, KernelTable &table) {
  auto module = function->getParentOfType<ModuleOp>();
  SmallVector<func::CallOp> calls;
  function.walk([&](func::CallOp call) {
    if (call->hasAttr(kKind))
      calls.push_back(call);
  });
  for (auto [number, call] : llvm::enumerate(calls)) {
    plan::Kernel kernel;
    kernel.set_kind(call->getAttrOfType<StringAttr>(kKind).str());
    kernel.set_accumulate(call->hasAttr(kAccumulate));
    for (NamedAttribute setting : call->getAttrOfType<DictionaryAttr>(kSettings))
      (*kernel.mutable_attributes())[setting.getName().str()].add_values(
          cast<IntegerAttr>(setting.getValue()).getInt());
    for (Value buffer : call.getOperands()) {
      auto type = cast<MemRefType>(buffer.getType());
      auto [strides, offset] = type.getStridesAndOffset();
      (void)offset;
      if (strides.size() != 1 || strides[0] != 1)
        return call.emitError() << "kernel \"" << kernel.kind()
                                << "\" needs dense operands, got: " << type;
      plan::KernelTensor *tensor = kernel.add_operands();
      tensor->set_element(elementOf(type.getElementType()));
      tensor->add_dims(type.getDimSize(0));
      tensor->add_strides(1);
    }
    OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
    auto callee = func::FuncOp::create(
        builder, call.getLoc(), (function.getName() + "_sparse_" + Twine(number)).str(),
        builder.getFunctionType(call.getOperandTypes(), {}));
    callee.setPrivate();
    callee->setAttr(kKernelIndexAttr, builder.getI32IntegerAttr(table.index(kernel)));
    builder.setInsertionPoint(call);
    func::CallOp::create(builder, call.getLoc(), callee, call.getOperands());
    call.erase();
  }
  return success();
}

} // namespace commsched::planexport
