// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/cuda/KernelBody.h"
#include "passes/cuda/Rows.h"
#include "passes/plan/Memory.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;

namespace commsched::cudaexport {

// Parameters of kernels are memory: numbers come and go through one element of it.
static void passThroughMemory(func::FuncOp nest) {
  Block &block = nest.getBody().front();
  OpBuilder builder = OpBuilder::atBlockBegin(&block);
  Location loc = nest.getLoc();
  for (BlockArgument argument : block.getArguments()) {
    if (isa<BaseMemRefType>(argument.getType()))
      continue;
    auto type = MemRefType::get({}, argument.getType());
    SmallVector<OpOperand *> uses(llvm::make_pointer_range(argument.getUses()));
    argument.setType(type);
    Value loaded = memref::LoadOp::create(builder, loc, argument, ValueRange());
    for (OpOperand *use : uses)
      use->set(loaded);
  }
  auto end = cast<func::ReturnOp>(block.getTerminator());
  builder.setInsertionPoint(end);
  for (Value result : end.getOperands()) {
    Value memory = block.addArgument(MemRefType::get({}, result.getType()), loc);
    memref::StoreOp::create(builder, loc, result, memory, ValueRange());
  }
  end->setOperands({});
  SmallVector<DictionaryAttr> attributes;
  nest.getAllArgAttrs(attributes);
  attributes.resize(block.getNumArguments(), DictionaryAttr::get(nest.getContext()));
  nest.setType(FunctionType::get(nest.getContext(), block.getArgumentTypes(), {}));
  nest.setAllArgAttrs(attributes);
}

// Memory for partial results, as further parameters.
static SmallVector<Value> addPartials(func::FuncOp nest, linalg::GenericOp op, const NestShape &shape,
                                      SmallVectorImpl<uint64_t> &bytes) {
  SmallVector<Value> partials;
  for (OpOperand &init : op.getDpsInitsMutable()) {
    Type element = cast<MemRefType>(init.get().getType()).getElementType();
    int64_t count = shape.outputs * shape.chunks;
    unsigned at = nest.getNumArguments();
    (void)nest.insertArgument(at, MemRefType::get({count}, element), {}, op.getLoc());
    partials.push_back(nest.getArgument(at));
    bytes.push_back(count * planexport::elementBytes(element));
  }
  return partials;
}

// One thread does what the host would. Nothing may be reassociated, which would be another
// order on each target.
static LogicalResult lowerSerially(func::FuncOp nest) {
  if (failed(planexport::lowerNest(nest)))
    return failure();
  nest.walk([](arith::ArithFastMathInterface op) {
    auto none = arith::FastMathFlagsAttr::get(op->getContext(), arith::FastMathFlags::none);
    op->setAttr(op.getFastMathAttrName(), none);
  });
  return success();
}

Value rootOf(Value memory) {
  while (planexport::isMemoryView(memory.getDefiningOp()))
    memory = memory.getDefiningOp()->getOperand(0);
  return memory;
}

// Whether the operand's element of a thread is that of its number.
static bool isFlat(linalg::GenericOp op, OpOperand &operand, const NestShape &shape) {
  auto type = cast<MemRefType>(operand.get().getType());
  if (!type.getLayout().isIdentity() || type.getNumElements() != shape.outputs ||
      cast<MemRefType>(rootOf(operand.get()).getType()).getNumElements() != shape.outputs ||
      !op.getMatchingIndexingMap(&operand).isProjectedPermutation())
    return false;
  int64_t stride = 1;
  for (unsigned loop : llvm::reverse(shape.parallel)) {
    int64_t size = op.getStaticLoopRanges()[loop];
    if (size != 1 && planexport::strideOf(op, operand, loop) != stride)
      return false;
    stride *= size;
  }
  return true;
}

static SmallVector<NestKernels::Access> accessesOf(func::FuncOp nest, linalg::GenericOp op, const NestShape &shape) {
  SmallVector<NestKernels::Access> accesses(nest.getNumArguments());
  for (auto [access, type] : llvm::zip(accesses, nest.getArgumentTypes())) {
    auto memory = dyn_cast<MemRefType>(type);
    if (!memory || !memory.hasStaticShape() || !memory.getLayout().isIdentity() || nest.getNumResults() != 0)
      return {};
    access.bytes = memory.getNumElements() * planexport::elementBytes(memory.getElementType());
  }
  SmallVector<bool> used(accesses.size(), false);
  for (OpOperand &operand : op->getOpOperands()) {
    auto argument = dyn_cast<BlockArgument>(rootOf(operand.get()));
    if (!argument || argument.getOwner() != &nest.getBody().front())
      continue;
    NestKernels::Access &access = accesses[argument.getArgNumber()];
    access.written |= op.isDpsInit(&operand);
    access.flat &= isFlat(op, operand, shape);
    used[argument.getArgNumber()] = true;
  }
  // Numbers are read by all threads.
  for (auto [access, known] : llvm::zip(accesses, used))
    access.flat &= known;
  op.getBody()->walk([&](memref::LoadOp load) {
    if (auto argument = dyn_cast<BlockArgument>(rootOf(load.getMemRef())))
      if (argument.getOwner() == &nest.getBody().front())
        accesses[argument.getArgNumber()].flat = false;
  });
  return accesses;
}

static linalg::GenericOp genericOf(func::FuncOp nest) {
  return *nest.getBody().front().getOps<linalg::GenericOp>().begin();
}

FailureOr<NestKernels> lowerToKernels(func::FuncOp nest) {
  NestKernels result;
  StringRef symbol = nest.getName();
  NestShape shape;
  Operation *body = bodyOf(nest);
  bool ofRows = body && body->hasAttr(kRowsAttr);
  if (auto structured = dyn_cast_or_null<linalg::LinalgOp>(body)) {
    IRRewriter rewriter(nest.getContext());
    FailureOr<linalg::GenericOp> generic = planexport::collapseLoops(rewriter, structured);
    if (failed(generic))
      return failure();
    shape = shapeOf(*generic);
  } else if (std::optional<ScatterLoop> scatter = scatterOf(body)) {
    shape = shapeOf(*scatter);
  }
  result.shape = shape;
  passThroughMemory(nest);
  nest.setPublic();
  if (ofRows)
    return lowerRows(nest);
  if (shape.form == NestShape::Form::Serial) {
    if (failed(lowerSerially(nest)))
      return failure();
    result.kernels.push_back({symbol.str(), 1, 1, 0});
    return result;
  }
  if (shape.form == NestShape::Form::Scatter || shape.form == NestShape::Form::ScatterColumns) {
    result = lowerScatter(nest, shape);
    result.shape = shape;
    return result;
  }
  if (shape.outputs == 0 || shape.terms == 0) {
    nest.erase();
    return result;
  }
  if (shape.blocks() > INT32_MAX)
    return nest.emitError("has too many elements for one launch, got: ") << shape.outputs;
  linalg::GenericOp op = genericOf(nest);
  NestKernels::Kernel kernel{symbol.str(), static_cast<uint32_t>(shape.blocks()), shape.threads(), 0};
  if (shape.form == NestShape::Form::Elementwise) {
    result.accesses = accessesOf(nest, op, shape);
    KernelBody(op, shape).elementwise();
    op.erase();
    result.kernels.push_back(kernel);
    return result;
  }
  SmallVector<Value> partials;
  func::FuncOp finish;
  if (shape.chunks > 1) {
    partials = addPartials(nest, op, shape, result.partialBytes);
    finish = nest.clone();
    finish.setName((symbol + "_finish").str());
    nest->getParentOfType<ModuleOp>().insert(std::next(nest->getIterator()), finish);
  }
  KernelBody writer(op, shape);
  writer.reduction(partials);
  kernel.sharedBytes = writer.sharedBytes();
  op.erase();
  result.kernels.push_back(kernel);
  if (finish) {
    linalg::GenericOp second = genericOf(finish);
    KernelBody(second, shape).finish(finish.getArguments().take_back(partials.size()));
    second.erase();
    uint32_t blocks = llvm::divideCeil(shape.outputs, int64_t(256 / kWarp));
    result.kernels.push_back({finish.getName().str(), blocks, 256, 0});
  }
  return result;
}

} // namespace commsched::cudaexport
