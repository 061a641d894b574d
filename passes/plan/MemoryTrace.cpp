// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operations that only compute scalars are passed over. Control flow is in
// MemoryTraceLoops.cpp.

#include "passes/plan/MemoryTrace.h"

#include "passes/plan/Memory.h"
#include "passes/plan/Stages.h"

#include "ir/Cs.h"
#include "ir/CsSparseOps.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace commsched::planexport {

static View denseView(Type type) {
  auto shaped = cast<ShapedType>(type);
  return denseView(shaped.getShape(),
                   static_cast<int64_t>(elementBytes(shaped.getElementType())));
}

static bool hasMemory(Value value) {
  return isa<RankedTensorType, MemRefType>(value.getType());
}

static bool isStructured(Operation *op) {
  return isa<linalg::LinalgOp, cs::KernelOp, func::CallOp>(op) &&
         op->hasAttr(kMemoryNumberAttr);
}

LogicalResult MemoryTrace::run() {
  if (failed(number()))
    return failure();
  for (BlockArgument arg : function.getArguments()) {
    if (!isa<MemRefType>(arg.getType()))
      continue;
    View view = denseView(arg.getType());
    unsigned number = function.getNumArguments() - arg.getArgNumber();
    unsigned root = newRoot(view, {Source::Input, false, 0, number});
    roots[root].argument = number;
    memrefs[arg] = {root, view};
  }
  if (failed(block(function.getBody().front())))
    return failure();
  // Without tensors, results are what is in memory at the end.
  Operation *terminator = function.getBody().front().getTerminator();
  for (const Root &root : roots)
    if (root.argument >= 0 && writtenArgs.contains(root.argument)) {
      Value arg = function.getArgument(function.getNumArguments() - root.argument);
      record({ReadKey::Result, static_cast<unsigned>(root.argument), 0}, terminator,
             root.content.read(memrefs.lookup(arg).view.region));
    }
  return success();
}

LogicalResult MemoryTrace::block(Block &block) {
  for (Operation &op : block)
    if (failed(visit(&op)))
      return failure();
  return success();
}

LogicalResult MemoryTrace::unknown(Operation *op) {
  return op->emitOpError("cannot be compiled in a fragment: what it does to memory cannot be checked");
}

Content &MemoryTrace::content(Value tensor) {
  auto it = tensors.find(tensor);
  if (it != tensors.end())
    return it->second;
  Source source;
  // What no op here defines: constants.
  if (matchPattern(tensor, m_Constant()))
    source.kind = Source::Constant;
  return tensors[tensor] = Content(denseView(tensor.getType()).region.box, source);
}

void MemoryTrace::set(Value tensor, Content value) { tensors[tensor] = std::move(value); }

unsigned MemoryTrace::newRoot(const View &view, Source source) {
  roots.push_back({Content(view.region.box, source), -1, {}});
  return roots.size() - 1;
}

FailureOr<MemoryTrace::Pointer> MemoryTrace::pointer(Operation *op, Value memref) {
  auto it = memrefs.find(memref);
  if (it != memrefs.end())
    return it->second;
  return unknown(op);
}

void MemoryTrace::record(ReadKey key, Operation *op, Writers writers) {
  found[key] = {std::move(writers), op};
}

// `strides` of the slice are in elements of the parent's dimensions; `shape` is
// `sizes` without some dimensions of one element.
View MemoryTrace::slice(const View &parent, ArrayRef<OpFoldResult> offsets,
                        ArrayRef<OpFoldResult> strides, ArrayRef<int64_t> sizes,
                        ArrayRef<int64_t> shape) {
  View view;
  view.elementBytes = parent.elementBytes;
  int64_t offset = 0;
  bool known = true;
  SmallVector<int64_t, 4> allSizes, allStrides;
  for (size_t d = 0; d < sizes.size(); ++d) {
    std::optional<int64_t> at = getConstantIntValue(offsets[d]);
    std::optional<int64_t> step = getConstantIntValue(strides[d]);
    known &= at.has_value();
    offset += at.value_or(0) * parent.strides[d];
    int64_t stride = step.value_or(1) * parent.strides[d];
    allSizes.push_back(sizes[d]);
    allStrides.push_back(stride / view.elementBytes);
    if (view.sizes.size() == shape.size() || shape[view.sizes.size()] != sizes[d])
      continue;
    view.sizes.push_back(sizes[d]);
    view.strides.push_back(stride);
  }
  auto box = [&](int64_t begin) {
    return makeBox(begin, allSizes, allStrides, view.elementBytes);
  };
  const MemoryRegion &outer = parent.region;
  if (known && !outer.where) {
    view.region = {box(outer.box.offset + offset), 0, {}};
  } else if (known) {
    view.region = {outer.box, outer.where, box(outer.inner.offset + offset)};
  } else {
    std::vector<const void *> key{reinterpret_cast<const void *>(uintptr_t(outer.where))};
    for (OpFoldResult at : offsets)
      key.push_back(at.getOpaqueValue());
    for (int64_t size : sizes)
      key.push_back(reinterpret_cast<const void *>(size));
    for (auto [size, stride] : outer.box.dims) {
      key.push_back(reinterpret_cast<const void *>(size));
      key.push_back(reinterpret_cast<const void *>(stride));
    }
    key.push_back(reinterpret_cast<const void *>(outer.box.offset));
    unsigned &where = places[key];
    if (!where)
      where = places.size();
    view.region = {outer.box, where, box(0)};
  }
  return view;
}

Writers MemoryTrace::readAll(Operation *op, Value value) {
  if (isa<RankedTensorType>(value.getType()))
    return content(value).read(denseView(value.getType()).region);
  auto it = memrefs.find(value);
  if (it == memrefs.end())
    return {};
  return roots[it->second.root].content.read(it->second.view.region);
}

void MemoryTrace::write(Operation *op, const Pointer &to, Source source, bool weak) {
  Root &root = roots[to.root];
  root.content.write(to.view.region, source, weak);
  if (root.argument >= 0)
    writtenArgs.try_emplace(root.argument, op);
  for (const Pointer &other : SmallVector<Pointer, 2>(root.either))
    write(op, other, source, /*weak=*/true);
}

// An op that reads its operands and writes its outs.
LogicalResult MemoryTrace::structured(Operation *op) {
  unsigned number = numbers.lookup(op);
  auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
  auto kernel = dyn_cast<cs::KernelOp>(op);
  auto isOut = [&](OpOperand &operand) {
    if (linalgOp)
      return linalgOp.isDpsInit(&operand);
    if (kernel)
      return kernel.isDpsInit(&operand);
    auto inputs = op->getAttrOfType<IntegerAttr>(kKernelInputsAttr);
    return !inputs || operand.getOperandNumber() >= inputs.getInt();
  };
  // Not all elements of a result need be written.
  auto partly = [&](OpOperand &operand) {
    return linalgOp && !linalgOp.getMatchingIndexingMap(&operand).isProjectedPermutation();
  };
  auto isRead = [&](OpOperand &operand) {
    if (linalgOp)
      return linalgOp.payloadUsesValueFromOperand(&operand);
    if (kernel)
      return kernel.isDpsInput(&operand) || kernel.getAccumulate();
    return !isOut(operand) || op->hasAttr(kKernelAccumulateAttr);
  };
  for (OpOperand &operand : op->getOpOperands()) {
    if (!hasMemory(operand.get()) || !isRead(operand))
      continue;
    record({ReadKey::Structured, number, operand.getOperandNumber()}, op,
           readAll(op, operand.get()));
  }
  for (mlir::Region &region : op->getRegions())
    for (Block &body : region)
      if (failed(block(body)))
        return failure();

  SmallVector<OpOperand *> outs;
  for (OpOperand &operand : op->getOpOperands())
    if (hasMemory(operand.get()) && isOut(operand))
      outs.push_back(&operand);
  for (auto [k, out] : llvm::enumerate(outs)) {
    Source source{Source::Structured, false, static_cast<uint16_t>(k), number};
    bool weak = partly(*out);
    if (isa<RankedTensorType>(out->get().getType())) {
      Content value = content(out->get());
      value.write(denseView(out->get().getType()).region, source, weak);
      set(op->getResult(k), std::move(value));
      continue;
    }
    FailureOr<Pointer> to = pointer(op, out->get());
    if (failed(to))
      return failure();
    // In place only where each element is read before it is written, and not again.
    for (OpOperand &operand : op->getOpOperands()) {
      if (&operand == out || !isa<MemRefType>(operand.get().getType()))
        continue;
      FailureOr<Pointer> from = pointer(op, operand.get());
      if (failed(from))
        return failure();
      if (from->root != to->root || (!isOut(operand) && !isRead(operand)) ||
          relate(from->view.region, to->view.region) == Relation::Disjoint)
        continue;
      bool elementwise = linalgOp && !isOut(operand) && linalgOp.getNumReductionLoops() == 0 &&
                         from->view.sizes == to->view.sizes &&
                         from->view.strides == to->view.strides &&
                         relate(from->view.region, to->view.region) == Relation::Equal &&
                         linalgOp.getMatchingIndexingMap(&operand) ==
                             linalgOp.getMatchingIndexingMap(out);
      if (!elementwise)
        return op->emitError("internal error: operand ")
               << operand.getOperandNumber() << " is overwritten while it is read";
    }
    write(op, *to, source, weak);
  }
  return success();
}

LogicalResult MemoryTrace::visit(Operation *op) {
  if (isStructured(op))
    return structured(op);
  if (isa<scf::WhileOp>(op))
    return whileLoop(op);
  if (auto loopLike = dyn_cast<scf::ForOp>(op))
    return loop(loopLike);
  if (isa<scf::IfOp, scf::IndexSwitchOp>(op))
    return branches(op);
  auto dense = [](Value value) { return denseView(value.getType()); };
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](bufferization::ToTensorOp to) {
        FailureOr<Pointer> from = pointer(op, to.getBuffer());
        if (failed(from))
          return failure();
        Content value(dense(to.getResult()).region.box, {});
        value.copy(roots[from->root].content, from->view, dense(to.getResult()));
        set(to.getResult(), std::move(value));
        return success();
      })
      .Case([&](bufferization::MaterializeInDestinationOp to) {
        if (isa<RankedTensorType>(to.getDest().getType())) {
          set(to.getResult(), content(to.getSource()));
          return success();
        }
        FailureOr<Pointer> dest = pointer(op, to.getDest());
        if (failed(dest))
          return failure();
        write(op, *dest, {}, false);
        roots[dest->root].content.copy(content(to.getSource()), dense(to.getSource()),
                                       dest->view);
        return success();
      })
      .Case([&](bufferization::AllocTensorOp alloc) {
        set(alloc.getResult(), alloc.getCopy() ? content(alloc.getCopy())
                                               : Content(dense(alloc.getResult()).region.box, {}));
        return success();
      })
      .Case([&](tensor::EmptyOp empty) {
        set(empty.getResult(), Content(dense(empty.getResult()).region.box, {}));
        return success();
      })
      .Case<tensor::ExpandShapeOp, tensor::CollapseShapeOp, tensor::CastOp>([&](Operation *view) {
        set(view->getResult(0), Content(content(view->getOperand(0))));
        return success();
      })
      .Case([&](tensor::ExtractSliceOp part) {
        View view = slice(dense(part.getSource()), part.getMixedOffsets(), part.getMixedStrides(),
                          part.getStaticSizes(), part.getType().getShape());
        Content value(dense(part.getResult()).region.box, {});
        value.copy(content(part.getSource()), view, dense(part.getResult()));
        set(part.getResult(), std::move(value));
        return success();
      })
      .Case([&](tensor::InsertSliceOp insert) {
        View view = slice(dense(insert.getDest()), insert.getMixedOffsets(),
                          insert.getMixedStrides(), insert.getStaticSizes(),
                          insert.getSourceType().getShape());
        Content value = content(insert.getDest());
        value.copy(content(insert.getSource()), dense(insert.getSource()), view);
        set(insert.getResult(), std::move(value));
        return success();
      })
      .Case([&](tensor::InsertOp insert) {
        Content value = content(insert.getDest());
        value.write(
            dense(insert.getDest()).region, {Source::Stored, false, 0, numbers.lookup(op)},
            dense(insert.getDest()).region.box.volume() != dense(insert.getDest()).elementBytes);
        set(insert.getResult(), std::move(value));
        return success();
      })
      .Case([&](tensor::FromElementsOp from) {
        View view = dense(from.getResult());
        Content value(view.region.box, {});
        for (size_t i = 0; i < from.getElements().size(); ++i)
          value.write({makeBox(i * view.elementBytes, {}, {}, view.elementBytes), 0, {}},
                      {Source::Stored, false, 0, static_cast<uint32_t>(numbers.lookup(op) + i)});
        set(from.getResult(), std::move(value));
        return success();
      })
      .Case<tensor::ExtractOp, memref::LoadOp>([&](Operation *load) {
        record({ReadKey::Load, numbers.lookup(op), 0}, op, readAll(op, load->getOperand(0)));
        return success();
      })
      .Case([&](memref::StoreOp store) {
        FailureOr<Pointer> to = pointer(op, store.getMemref());
        if (failed(to))
          return failure();
        Source source{Source::Stored, false, 0, numbers.lookup(op)};
        View view = to->view;
        SmallVector<OpFoldResult> at = getAsOpFoldResult(store.getIndices());
        SmallVector<OpFoldResult> ones(at.size(), Builder(op).getIndexAttr(1));
        SmallVector<int64_t> sizes(at.size(), 1);
        bool constant = llvm::all_of(
            at, [](OpFoldResult index) { return getConstantIntValue(index).has_value(); });
        if (constant)
          view = slice(view, at, ones, sizes, sizes);
        write(op, {to->root, view}, source,
              !constant && view.region.volume() != view.elementBytes);
        return success();
      })
      .Case([&](memref::CopyOp copy) {
        FailureOr<Pointer> from = pointer(op, copy.getSource());
        FailureOr<Pointer> to = pointer(op, copy.getTarget());
        if (failed(from) || failed(to))
          return failure();
        if (from->root == to->root && from->view.region == to->view.region &&
            from->view.strides == to->view.strides)
          return success();
        Content arriving = roots[from->root].content;
        write(op, *to, {}, !roots[to->root].either.empty());
        roots[to->root].content.copy(arriving, from->view, to->view);
        return success();
      })
      .Case<memref::AllocOp, memref::AllocaOp>([&](Operation *alloc) {
        Value memref = alloc->getResult(0);
        View view = dense(memref);
        memrefs[memref] = {newRoot(view, {}), view};
        return success();
      })
      .Case([&](memref::GetGlobalOp global) {
        View view = dense(global.getResult());
        memrefs[global.getResult()] = {newRoot(view, {Source::Constant, false, 0, 0}), view};
        return success();
      })
      .Case([&](memref::SubViewOp part) {
        FailureOr<Pointer> from = pointer(op, part.getSource());
        if (failed(from))
          return failure();
        memrefs[part.getResult()] = {
            from->root, slice(from->view, part.getMixedOffsets(), part.getMixedStrides(),
                              part.getStaticSizes(), part.getType().getShape())};
        return success();
      })
      .Case([&](memref::CastOp cast) {
        FailureOr<Pointer> from = pointer(op, cast.getSource());
        if (failed(from))
          return failure();
        memrefs[cast.getResult()] = *from;
        return success();
      })
      .Case<memref::ExpandShapeOp, memref::CollapseShapeOp>([&](Operation *view) {
        FailureOr<Pointer> from = pointer(op, view->getOperand(0));
        if (failed(from))
          return failure();
        auto type = cast<MemRefType>(view->getResult(0).getType());
        SmallVector<int64_t> strides;
        int64_t offset;
        if (failed(type.getStridesAndOffset(strides, offset)) ||
            ShapedType::isDynamicShape(strides) || !type.hasStaticShape())
          return unknown(op);
        View result = from->view;
        result.sizes.assign(type.getShape().begin(), type.getShape().end());
        result.strides.clear();
        for (int64_t stride : strides)
          result.strides.push_back(stride * result.elementBytes);
        memrefs[view->getResult(0)] = {from->root, result};
        return success();
      })
      .Case([&](arith::SelectOp select) {
        Value result = select.getResult();
        if (isa<RankedTensorType>(result.getType())) {
          Content value = content(select.getTrueValue());
          value.merge(content(select.getFalseValue()));
          set(result, std::move(value));
        } else if (isa<MemRefType>(result.getType())) {
          FailureOr<Pointer> yes = pointer(op, select.getTrueValue());
          FailureOr<Pointer> no = pointer(op, select.getFalseValue());
          if (failed(yes) || failed(no))
            return failure();
          choose(result, {*yes, *no}, {behind(*yes), behind(*no)});
        }
        return success();
      })
      .Case<bufferization::ToBufferOp, bufferization::DeallocTensorOp, memref::DeallocOp,
            memref::AssumeAlignmentOp, func::ReturnOp>([](Operation *) { return success(); })
      .Default([&](Operation *other) {
        if (llvm::any_of(other->getResults(), hasMemory))
          return matchPattern(other, m_Constant()) ? success() : unknown(op);
        return other->getNumRegions() ? unknown(op) : success();
      });
}

} // namespace commsched::planexport
