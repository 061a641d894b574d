// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each loop nest becomes a function of its own: its pointers can then be
// declared not to alias, which holds in the nest (all its buffers are live)
// but not in the whole fragment (scratch is reused); and equal nests of many
// fragments are compiled once.

#include "passes/plan/Stages.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/MemRef/Utils/MemRefUtils.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StructuredOpsUtils.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace commsched::planexport {

bool isMemoryView(Operation *op) {
  return isa_and_nonnull<memref::SubViewOp, memref::ExpandShapeOp,
                         memref::CollapseShapeOp, memref::CastOp,
                         memref::ReinterpretCastOp, memref::TransposeOp>(op);
}

// A buffer that no other buffer of a live nest overlaps.
static bool isDistinct(Value root) {
  if (auto arg = dyn_cast<BlockArgument>(root))
    return isa<func::FuncOp>(arg.getOwner()->getParentOp());
  return root.getDefiningOp<memref::ViewOp>() ||
         root.getDefiningOp<memref::GetGlobalOp>();
}

// Copies the definition of `value` into the nest as far as views and constants
// go; what remains is an argument.
static Value import(Value value, OpBuilder &inner, IRMapping &mapping,
                    SmallVectorImpl<Value> &captured,
                    SmallVectorImpl<Value> &arguments, Block *body) {
  if (Value known = mapping.lookupOrNull(value))
    return known;
  Operation *def = value.getDefiningOp();
  if (isMemoryView(def) || (def && (def->hasTrait<OpTrait::ConstantLike>() ||
                                    isa<memref::GetGlobalOp>(def)))) {
    for (Value operand : def->getOperands())
      import(operand, inner, mapping, captured, arguments, body);
    inner.clone(*def, mapping);
    return mapping.lookup(value);
  }
  Value argument = body->addArgument(value.getType(), value.getLoc());
  captured.push_back(value);
  arguments.push_back(argument);
  mapping.map(value, argument);
  return argument;
}

static LogicalResult outline(Operation *op, func::FuncOp function,
                             NestTable &table) {
  MLIRContext *context = op->getContext();
  auto module = function->getParentOfType<ModuleOp>();
  auto nest = func::FuncOp::create(op->getLoc(), "nest",
                                   FunctionType::get(context, {}, {}));
  Block *body = nest.addEntryBlock();
  OpBuilder inner = OpBuilder::atBlockBegin(body);
  IRMapping mapping;
  SmallVector<Value> captured, arguments;
  llvm::SetVector<Value> outside;
  op->walk([&](Operation *nested) {
    for (Value operand : nested->getOperands())
      if (!op->isAncestor(operand.getParentBlock()->getParentOp()) ||
          operand.getParentBlock() == op->getBlock())
        outside.insert(operand);
  });
  for (Value value : outside)
    import(value, inner, mapping, captured, arguments, body);
  Operation *clone = inner.clone(*op, mapping);
  func::ReturnOp::create(inner, op->getLoc(), clone->getResults());
  nest.setType(FunctionType::get(context, body->getArgumentTypes(),
                                 op->getResultTypes()));
  bool distinct = llvm::all_of(captured, [](Value value) {
    return !isa<BaseMemRefType>(value.getType()) || isDistinct(value);
  });
  for (auto [i, value] : llvm::enumerate(captured))
    if (distinct && isa<MemRefType>(value.getType()))
      nest.setArgAttr(i, LLVM::LLVMDialect::getNoAliasAttrName(),
                      UnitAttr::get(context));
  nest->setAttr(kNestAttr, UnitAttr::get(context));

  std::string &symbol = table.known[wholeText(nest)];
  if (symbol.empty()) {
    symbol = "nest_" + std::to_string(table.count++);
    nest.setName(symbol);
    nest.setPrivate();
    module.push_back(nest);
  } else {
    nest.erase();
  }
  OpBuilder builder(op);
  auto call = func::CallOp::create(builder, op->getLoc(), symbol,
                                   op->getResultTypes(), captured);
  op->replaceAllUsesWith(call.getResults());
  op->erase();
  return success();
}

// A copy that is not one run of bytes becomes a nest.
static void expandCopies(func::FuncOp function, BodyForm form) {
  SmallVector<memref::CopyOp> copies;
  function.walk([&](memref::CopyOp op) { copies.push_back(op); });
  for (memref::CopyOp op : copies) {
    auto source = cast<MemRefType>(op.getSource().getType());
    auto target = cast<MemRefType>(op.getTarget().getType());
    bool inLoop = op->getParentOp() != function;
    if (form == BodyForm::Calls && !inLoop && memref::isStaticShapeAndContiguousRowMajor(source) &&
        memref::isStaticShapeAndContiguousRowMajor(target) &&
        source.getNumElements() > 16)
      continue;
    OpBuilder builder(op);
    AffineMap map =
        AffineMap::getMultiDimIdentityMap(source.getRank(), op->getContext());
    SmallVector<utils::IteratorType> iterators(source.getRank(),
                                               utils::IteratorType::parallel);
    linalg::GenericOp::create(
        builder, op.getLoc(), ValueRange{op.getSource()}, ValueRange{op.getTarget()},
        ArrayRef<AffineMap>{map, map}, iterators,
        [](OpBuilder &b, Location loc, ValueRange args) {
          linalg::YieldOp::create(b, loc, args[0]);
        });
    op.erase();
  }
}

// Moves `ops` into a region at the place of the last, which is a nest to be.
static void gather(ArrayRef<Operation *> ops) {
  if (ops.empty())
    return;
  SmallVector<Value> used;
  for (Operation *op : ops)
    for (Value result : op->getResults())
      if (llvm::any_of(result.getUsers(), [&](Operation *user) {
            Operation *own = op->getBlock()->findAncestorOpInBlock(*user);
            return !llvm::is_contained(ops, own);
          }))
        used.push_back(result);
  OpBuilder builder(ops.back());
  Location loc = ops.front()->getLoc();
  auto region = scf::ExecuteRegionOp::create(builder, loc, ValueRange(used).getTypes());
  Block *body = builder.createBlock(&region.getRegion());
  for (Operation *op : ops)
    op->moveBefore(body, body->end());
  for (auto [value, result] : llvm::zip(used, region.getResults()))
    value.replaceUsesWithIf(result, [&](OpOperand &use) {
      return !region->isAncestor(use.getOwner());
    });
  builder.setInsertionPointToEnd(body);
  scf::YieldOp::create(builder, loc, used);
}

// What a fragment computes of single numbers, between its nests, is nests too.
static void gatherScalars(func::FuncOp function) {
  SmallVector<SmallVector<Operation *>> runs(1);
  for (Operation &op : function.getBody().front()) {
    bool isFree = isMemoryView(&op) || isa<memref::ViewOp, memref::GetGlobalOp>(op) ||
                  op.hasTrait<OpTrait::ConstantLike>();
    bool waits = llvm::any_of(op.getOperands(), [&](Value operand) {
      return llvm::is_contained(runs.back(), operand.getDefiningOp());
    });
    bool isScalar = !isFree && op.getNumRegions() == 0 && !isa<linalg::LinalgOp, func::CallOp>(op) &&
                    !op.hasTrait<OpTrait::IsTerminator>();
    if (isScalar)
      runs.back().push_back(&op);
    else if (!isFree || waits)
      runs.emplace_back();
  }
  for (ArrayRef<Operation *> run : runs)
    gather(run);
}

static LogicalResult outlineBlock(Block &block, func::FuncOp function,
                                  NestTable &table, BodyForm form) {
  for (Operation &op : llvm::make_early_inc_range(block)) {
    if (!isa<linalg::LinalgOp, scf::ForOp, scf::WhileOp, scf::IfOp,
             scf::ForallOp, scf::ParallelOp, scf::IndexSwitchOp, scf::ExecuteRegionOp>(op))
      continue;
    // What calls kernels stays; the nests inside it go.
    bool callsKernel = false;
    op.walk([&](func::CallOp) { callsKernel = true; });
    // A nest under a condition is the code, and gives the bits, that it would without.
    bool hasNests = false;
    if (form == BodyForm::Calls && isa<scf::IfOp>(op))
      op.walk([&](linalg::LinalgOp) { hasNests = true; });
    if (form == BodyForm::Launches && callsKernel)
      return op.emitError("has library kernels under control flow, which cannot be launched");
    if (callsKernel || hasNests || llvm::any_of(op.getResultTypes(), [](Type type) {
          return isa<BaseMemRefType>(type);
        })) {
      for (Region &region : op.getRegions())
        for (Block &nested : region)
          if (failed(outlineBlock(nested, function, table, form)))
            return failure();
      continue;
    }
    if (failed(outline(&op, function, table)))
      return failure();
  }
  return success();
}

LogicalResult outlineNests(func::FuncOp function, NestTable &table, BodyForm form) {
  expandCopies(function, form);
  if (form == BodyForm::Launches)
    gatherScalars(function);
  return outlineBlock(function.getBody().front(), function, table, form);
}

} // namespace commsched::planexport
