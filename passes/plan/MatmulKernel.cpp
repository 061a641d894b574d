// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/plan/HalfSums.h"
#include "passes/plan/KernelBuilder.h"
#include "passes/plan/Stages.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace commsched::planexport {

int64_t StridedView::stride(unsigned loop) const {
  for (auto [l, s] : llvm::zip(loops, strides))
    if (l == loop)
      return s;
  return 0;
}

SmallVector<Axis> mergeLoops(const std::array<StridedView, 3> &views,
                             ArrayRef<unsigned> loops, ArrayRef<int64_t> sizes,
                             unsigned mask, unsigned key) {
  SmallVector<Axis> axes;
  for (unsigned loop : loops) {
    if (sizes[loop] == 1)
      continue;
    Axis axis;
    axis.size = sizes[loop];
    for (unsigned i = 0; i < 3; ++i) {
      axis.in[i] = mask >> i & 1;
      axis.strides[i] = axis.in[i] ? views[i].stride(loop) : 0;
    }
    axes.push_back(axis);
  }
  llvm::stable_sort(axes, [&](const Axis &a, const Axis &b) {
    return a.strides[key] > b.strides[key];
  });
  SmallVector<Axis> merged;
  for (const Axis &axis : axes) {
    if (!merged.empty()) {
      Axis &outer = merged.back();
      bool fits = true;
      for (unsigned i = 0; i < 3; ++i)
        fits &= outer.strides[i] == axis.strides[i] * axis.size;
      if (fits) {
        outer.size *= axis.size;
        outer.strides = axis.strides;
        continue;
      }
    }
    merged.push_back(axis);
  }
  return merged;
}

plan::KernelTensor kernelTensor(Type element, ArrayRef<int64_t> dims,
                                ArrayRef<int64_t> strides) {
  plan::KernelTensor tensor;
  tensor.set_element(element.isBF16()  ? plan::BF16
                     : element.isF16() ? plan::F16
                                       : plan::F32);
  // The stride of a dimension of size 1 says nothing: make it what a dense
  // tensor would have, so that equal kernels look equal.
  SmallVector<int64_t> sane(strides);
  for (int i = dims.size() - 1; i >= 0; --i)
    if (dims[i] == 1)
      sane[i] = i + 1 < static_cast<int>(dims.size()) ? sane[i + 1] * dims[i + 1] : 1;
  tensor.mutable_dims()->Add(dims.begin(), dims.end());
  tensor.mutable_strides()->Add(sane.begin(), sane.end());
  return tensor;
}

namespace {

// What ops/onednn/matmul.h takes.
constexpr size_t kMaxBatch = 3;

class MatmulBuilder {
public:
  MatmulBuilder(linalg::GenericOp op, const ContractionInfo &info, BodyForm form)
      : op(op), builder(op), form(form), sizes(op.getStaticLoopRanges()) {
    for (auto [loop, use] : llvm::enumerate(info.loops))
      byMask[use.mask()].push_back(loop);
    for (unsigned i = 0; i < 3; ++i) {
      OpOperand &operand = op->getOpOperand(i);
      AffineMap map = op.getMatchingIndexingMap(&operand);
      views[i].buffer = operand.get();
      for (AffineExpr expr : map.getResults())
        views[i].loops.push_back(cast<AffineDimExpr>(expr).getPosition());
      views[i].strides =
          cast<MemRefType>(operand.get().getType()).getStridesAndOffset().first;
    }
    accumulate = !op->hasAttr(kOverwriteAttr);
  }

  std::optional<KernelCall> build() {
    group();
    if (form == BodyForm::Calls && batch.size() > kMaxBatch)
      return std::nullopt;
    if (k.size() > 1) {
      // One order of the summed loops for both: B's if B is dense in it.
      SmallVector<Axis> inB = mergeLoops(views, byMask[3], sizes, 2, 1);
      SmallVector<Axis> inA = mergeLoops(views, byMask[3], sizes, 1, 0);
      if (inB.size() == 1) {
        pack(0, order(byMask[3], 1));
      } else if (inA.size() == 1) {
        pack(1, order(byMask[3], 0));
      } else {
        pack(1, byMask[3]);
        pack(0, byMask[3]);
      }
      group();
    }
    for (unsigned i = 0; i < 2; ++i) {
      if (unitStride(i))
        continue;
      pack(i, order(byMask[3], i == 0 ? 1 : 0));
      group();
    }
    if (!unitStride(2)) {
      packOutput();
      group();
    }
    if (form == BodyForm::Launches && batch.size() > 1)
      makeOneBatch();
    // Row-major results: C^T = B^T A^T otherwise.
    unsigned a = 0, b = 1;
    if (n.strides[2] != 1 && n.size != 1 && (m.strides[2] == 1 || m.size == 1)) {
      std::swap(a, b);
      std::swap(m, n);
    }
    if (batch.size() > kMaxBatch || k.size() > 1)
      return std::nullopt;
    KernelCall call;
    call.kernel.set_kind("matmul");
    call.kernel.set_accumulate(accumulate);
    const Axis kk = k.empty() ? Axis{} : k.front();
    addOperand(call, a, m, kk);
    addOperand(call, b, kk, n);
    addOperand(call, 2, m, n);
    return call;
  }

private:
  // Sorts loops into batch, m, n and k by the current strides.
  void group() {
    batch = mergeLoops(views, byMask[7], sizes, 7, 2);
    k = mergeLoops(views, byMask[3], sizes, 3, 1);
    m = keepLargest(mergeLoops(views, byMask[5], sizes, 5, 2));
    n = keepLargest(mergeLoops(views, byMask[6], sizes, 6, 2));
    llvm::stable_sort(batch, [](const Axis &a, const Axis &b) {
      return a.strides[2] > b.strides[2];
    });
  }

  // What does not merge becomes batch.
  Axis keepLargest(SmallVector<Axis> axes) {
    if (axes.empty())
      return Axis{};
    auto largest = std::max_element(
        axes.begin(), axes.end(),
        [](const Axis &a, const Axis &b) { return a.size < b.size; });
    Axis kept = *largest;
    axes.erase(largest);
    batch.append(axes.begin(), axes.end());
    return kept;
  }

  // Loops by decreasing stride in operand i.
  SmallVector<unsigned> order(SmallVector<unsigned> loops, unsigned i) {
    llvm::stable_sort(loops, [&](unsigned a, unsigned b) {
      return views[i].stride(a) > views[i].stride(b);
    });
    return loops;
  }

  bool unitStride(unsigned i) {
    const Axis kk = k.empty() ? Axis{} : k.front();
    auto unit = [&](const Axis &axis) {
      return axis.size == 1 || axis.strides[i] == 1;
    };
    return i == 0   ? unit(m) || unit(kk)
           : i == 1 ? unit(n) || unit(kk)
                    : unit(m) || unit(n);
  }

  bool merges(ArrayRef<unsigned> loops, unsigned mask) {
    return mergeLoops(views, loops, sizes, mask, 2).size() <= 1;
  }

  // Libraries of devices have one stride from a matrix to the next; of several, each matrix of all but the
  // largest dimension would be a call. Copies are cheaper.
  void makeOneBatch() {
    if (!merges(byMask[7], 4) || !merges(byMask[5], 4) || !merges(byMask[6], 4)) {
      packOutput();
      group();
    }
    for (unsigned i = 0; i < 2 && batch.size() > 1; ++i) {
      const unsigned mask = 4 | 1 << i;
      if (merges(byMask[7], mask) && merges(byMask[i == 0 ? 5 : 6], mask))
        continue;
      pack(i, order(byMask[3], i == 0 ? 1 : 0));
      group();
    }
  }

  // A dense copy of operand i: batch, m or n, k.
  void pack(unsigned i, ArrayRef<unsigned> kOrder) {
    SmallVector<unsigned> loops = order(byMask[7], 2);
    llvm::append_range(loops, order(byMask[i == 0 ? 5 : 6], 2));
    llvm::append_range(loops, kOrder);
    Value packed = allocate(loops, elementOf(i));
    copy(views[i].buffer, views[i].loops, packed, loops, /*add=*/false);
    replace(i, packed, loops);
  }

  void packOutput() {
    SmallVector<unsigned> loops = byMask[7];
    llvm::append_range(loops, byMask[5]);
    llvm::append_range(loops, byMask[6]);
    // What is added later must not be rounded before.
    Type element = elementOf(2);
    if (accumulate && isHalf(element))
      element = builder.getF32Type();
    Value packed = allocate(loops, element);
    builder.setInsertionPointAfter(op);
    copy(packed, loops, views[2].buffer, views[2].loops, accumulate);
    builder.setInsertionPoint(op);
    accumulate = false;
    replace(2, packed, loops);
  }

  Type elementOf(unsigned i) {
    return cast<MemRefType>(views[i].buffer.getType()).getElementType();
  }

  Value allocate(ArrayRef<unsigned> loops, Type element) {
    SmallVector<int64_t> shape;
    for (unsigned loop : loops)
      shape.push_back(sizes[loop]);
    return memref::AllocOp::create(builder, op.getLoc(),
                                   MemRefType::get(shape, element));
  }

  void replace(unsigned i, Value buffer, ArrayRef<unsigned> loops) {
    views[i].buffer = buffer;
    views[i].loops.assign(loops.begin(), loops.end());
    views[i].strides = cast<MemRefType>(buffer.getType()).getStridesAndOffset().first;
  }

  void copy(Value from, ArrayRef<unsigned> fromLoops, Value to,
            ArrayRef<unsigned> toLoops, bool add) {
    MLIRContext *context = op->getContext();
    unsigned rank = toLoops.size();
    SmallVector<AffineExpr> source;
    for (unsigned loop : fromLoops)
      source.push_back(getAffineDimExpr(
          std::distance(toLoops.begin(), llvm::find(toLoops, loop)), context));
    SmallVector<AffineMap> maps{AffineMap::get(rank, 0, source, context),
                                AffineMap::getMultiDimIdentityMap(rank, context)};
    SmallVector<utils::IteratorType> iterators(rank, utils::IteratorType::parallel);
    linalg::GenericOp::create(
        builder, op.getLoc(), ValueRange{from}, ValueRange{to}, maps, iterators,
        [&](OpBuilder &b, Location loc, ValueRange args) {
          Value value = args[0], old = args[1];
          bool round = value.getType() != old.getType();
          if (add) {
            if (round)
              old = arith::ExtFOp::create(b, loc, value.getType(), old);
            value = arith::AddFOp::create(b, loc, old, value);
          }
          if (round)
            value = arith::TruncFOp::create(b, loc, args[1].getType(), value);
          linalg::YieldOp::create(b, loc, value);
        });
  }

  void addOperand(KernelCall &call, unsigned i, const Axis &row, const Axis &column) {
    SmallVector<int64_t> dims, strides;
    for (const Axis &axis : batch) {
      dims.push_back(axis.size);
      strides.push_back(axis.strides[i]);
    }
    dims.append({row.size, column.size});
    strides.append({row.strides[i], column.strides[i]});
    *call.kernel.add_operands() = kernelTensor(elementOf(i), dims, strides);
    call.buffers.push_back(views[i].buffer);
  }

  linalg::GenericOp op;
  OpBuilder builder;
  BodyForm form;
  SmallVector<int64_t> sizes;
  std::array<SmallVector<unsigned>, 8> byMask;
  std::array<StridedView, 3> views;
  bool accumulate;
  SmallVector<Axis> batch, k;
  Axis m, n;
};

} // namespace

std::optional<KernelCall> buildMatmul(linalg::GenericOp op, const ContractionInfo &info, BodyForm form) {
  return MatmulBuilder(op, info, form).build();
}

} // namespace commsched::planexport
