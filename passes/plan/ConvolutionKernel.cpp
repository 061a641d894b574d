// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A convolution and its two gradients are one contraction of three tensors:
// X[n, s p + d q, c], W[q, c, o] and G[n, p, o]. Which of them is written says
// which of the three it is, except that W and G play the same part: the one
// with the smaller space is called the weights.

#include "passes/plan/KernelBuilder.h"
#include "passes/plan/Stages.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace commsched::planexport {
namespace {

// X without its padding: where `X` is a buffer that is zeroed and into which
// `inner` is copied at `offsets`.
struct Padding {
  Value inner;
  SmallVector<int64_t> offsets;
};

/// One of the spatial dimensions of a convolution.
struct Space {
  int64_t source = 1, sourceStride = 0, low = 0, high = 0;
  int64_t kernel = 1, kernelStride = 0, image = 1, imageStride = 0;
  int64_t stride = 1, dilation = 1;

  int64_t used() const { return (image - 1) * stride + (kernel - 1) * dilation + 1; }
  int64_t imageOf(int64_t padded) const {
    const int64_t room = padded - (kernel - 1) * dilation - 1;
    return room < 0 ? 0 : room / stride + 1;
  }
};

} // namespace

// As cuDNN has convolutions: rows that no window reaches are part of the source, and there is as
// much padding behind it as in front. False if that cannot be said of this padding.
static bool makeSymmetric(Space &space, int64_t whole) {
  if (space.imageOf(space.low + whole + space.low) == space.image) {
    space.source = whole;
    space.high = space.low;
  } else if (space.imageOf(space.low + space.source + space.low) == space.image) {
    space.high = space.low;
  }
  return space.low == space.high;
}

static Value memoryOf(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<memref::SubViewOp, memref::ExpandShapeOp, memref::CollapseShapeOp,
             memref::CastOp>(op))
      break;
    value = op->getOperand(0);
  }
  return value;
}

static bool writes(OpOperand &use) {
  Operation *op = use.getOwner();
  if (auto dps = dyn_cast<DestinationStyleOpInterface>(op))
    return dps.isDpsInit(&use);
  if (auto copy = dyn_cast<memref::CopyOp>(op))
    return &use == &copy.getTargetMutable();
  return !isa<memref::LoadOp, func::ReturnOp>(op);
}

// Whether anything writes `root` after `op`, in its block.
static bool writtenAfter(Value root, Operation *op) {
  SmallVector<Value> work{root};
  while (!work.empty()) {
    Value value = work.pop_back_val();
    for (OpOperand &use : value.getUses()) {
      Operation *user = use.getOwner();
      if (isa<memref::SubViewOp, memref::ExpandShapeOp, memref::CollapseShapeOp,
              memref::CastOp>(user)) {
        work.push_back(user->getResult(0));
        continue;
      }
      Operation *ancestor = op->getBlock()->findAncestorOpInBlock(*user);
      if (!ancestor || (writes(use) && !ancestor->isBeforeInBlock(op)))
        return true;
    }
  }
  return false;
}

static std::optional<Padding> findPadding(linalg::GenericOp op, Value large) {
  auto alloc = large.getDefiningOp<memref::AllocOp>();
  if (!alloc || alloc->getBlock() != op->getBlock())
    return std::nullopt;
  linalg::FillOp fill;
  memref::CopyOp copy;
  memref::SubViewOp view;
  for (OpOperand &use : large.getUses()) {
    Operation *user = use.getOwner();
    if (user->getBlock() != op->getBlock())
      return std::nullopt;
    if (auto f = dyn_cast<linalg::FillOp>(user)) {
      if (fill)
        return std::nullopt;
      fill = f;
    } else if (auto v = dyn_cast<memref::SubViewOp>(user)) {
      if (!v->hasOneUse() || copy)
        return std::nullopt;
      copy = dyn_cast<memref::CopyOp>(*v->user_begin());
      view = v;
      if (!copy || copy.getTarget() != v.getResult())
        return std::nullopt;
    } else if (writes(use) && !isa<func::CallOp>(user)) {
      return std::nullopt;
    }
  }
  if (!fill || !copy || copy->getBlock() != op->getBlock() ||
      !copy->isBeforeInBlock(op) || !fill->isBeforeInBlock(copy) ||
      !matchPattern(fill.getInputs()[0], m_AnyZeroFloat()))
    return std::nullopt;
  Value inner = copy.getSource();
  if (ShapedType::isDynamicShape(view.getStaticOffsets()) ||
      llvm::any_of(view.getStaticStrides(), [](int64_t s) { return s != 1; }) ||
      cast<MemRefType>(inner.getType()).getRank() !=
          cast<MemRefType>(large.getType()).getRank() ||
      !llvm::equal(cast<MemRefType>(inner.getType()).getShape(),
                   view.getStaticSizes()))
    return std::nullopt;
  auto [strides, offset] = cast<MemRefType>(inner.getType()).getStridesAndOffset();
  if (ShapedType::isDynamicShape(strides) || writtenAfter(memoryOf(inner), copy))
    return std::nullopt;
  return Padding{inner, SmallVector<int64_t>(view.getStaticOffsets())};
}

std::optional<KernelCall> buildConvolution(linalg::GenericOp op, const ContractionInfo &info,
                                           BodyForm form) {
  SmallVector<int64_t> sizes = op.getStaticLoopRanges();
  const unsigned x = info.large;
  // The two small operands by the extent of their windows.
  auto extent = [&](unsigned i) {
    int64_t product = 1;
    for (const Window &window : info.windows)
      for (unsigned loop : window.loop)
        if (info.loops[loop].in[i])
          product *= sizes[loop];
    return product;
  };
  unsigned w = (x + 1) % 3, g = (x + 2) % 3;
  // On a tie the output is the gradient of the weights: no matter which.
  if (extent(g) < extent(w) || (extent(g) == extent(w) && w == 2))
    std::swap(w, g);

  std::array<StridedView, 3> views;
  for (unsigned i = 0; i < 3; ++i) {
    OpOperand &operand = op->getOpOperand(i);
    views[i].buffer = operand.get();
    auto type = cast<MemRefType>(operand.get().getType());
    SmallVector<int64_t> strides = type.getStridesAndOffset().first;
    if (ShapedType::isDynamicShape(strides))
      return std::nullopt;
    for (auto [expr, stride] : llvm::zip(
             op.getMatchingIndexingMap(&operand).getResults(), strides))
      if (auto dim = dyn_cast<AffineDimExpr>(expr)) {
        views[i].loops.push_back(dim.getPosition());
        views[i].strides.push_back(stride);
      }
  }
  // The large operand: with its padding, or without.
  Value source;
  SmallVector<int64_t> largeStrides, largeShape, low;
  SmallVector<Space> spaces;
  auto read = [&](Value buffer, ArrayRef<int64_t> offsets = {}) {
    source = buffer;
    auto type = cast<MemRefType>(buffer.getType());
    largeStrides = type.getStridesAndOffset().first;
    largeShape.assign(type.getShape().begin(), type.getShape().end());
    low.assign(offsets.begin(), offsets.end());
    low.resize(largeShape.size(), 0);
    unsigned at = 0;
    for (auto [expr, stride] : llvm::zip(
             op.getMatchingIndexingMap(&op->getOpOperand(x)).getResults(), largeStrides))
      if (isa<AffineDimExpr>(expr))
        views[x].strides[at++] = stride;
  };
  // False if it does not fit.
  auto findSpaces = [&] {
    spaces.clear();
    bool fits = true;
    for (const Window &window : info.windows) {
      Space space;
      unsigned ig = info.loops[window.loop[0]].in[g] ? 0 : 1;
      unsigned lg = window.loop[ig], lw = window.loop[1 - ig];
      space.image = sizes[lg];
      space.imageStride = views[g].stride(lg);
      space.kernel = sizes[lw];
      space.kernelStride = views[w].stride(lw);
      space.stride = window.coefficient[ig];
      space.dilation = window.coefficient[1 - ig];
      space.sourceStride = largeStrides[window.result];
      space.low = low[window.result];
      // Rows that no window reaches are not part of the source.
      space.source = std::min(largeShape[window.result], space.used() - space.low);
      space.high = space.used() - space.low - space.source;
      if (space.image == 1)
        space.stride = 1;
      if (space.kernel == 1)
        space.dilation = 1;
      fits &= space.source > 0 && (x != 2 || space.source == largeShape[window.result]);
      if (fits && form == BodyForm::Launches)
        fits &= makeSymmetric(space, largeShape[window.result]);
      spaces.push_back(space);
    }
    return fits;
  };
  read(views[x].buffer);
  bool found = false;
  if (x != 2) {
    if (std::optional<Padding> padding = findPadding(op, source)) {
      auto inner = cast<MemRefType>(padding->inner.getType());
      bool windowsOnly = true;
      for (auto [d, size] : llvm::enumerate(largeShape))
        if (inner.getDimSize(d) != size &&
            llvm::none_of(info.windows, [d = d](const Window &window) {
              return window.result == d;
            }))
          windowsOnly = false;
      Value padded = source;
      if (windowsOnly) {
        read(padding->inner, padding->offsets);
        found = findSpaces();
        if (!found)
          read(padded);
      }
    }
  }
  if (!found && !findSpaces())
    return std::nullopt;

  auto loopsOf = [&](unsigned a, unsigned b, unsigned mask) {
    SmallVector<unsigned> loops;
    for (auto [loop, use] : llvm::enumerate(info.loops))
      if (use.mask() == mask &&
          llvm::none_of(info.windows, [loop = loop](const Window &window) {
            return llvm::is_contained(window.loop, loop);
          }))
        loops.push_back(loop);
    return mergeLoops(views, loops, sizes, mask, a);
  };
  auto pair = [&](unsigned a, unsigned b) {
    return loopsOf(a, b, 1u << a | 1u << b);
  };
  SmallVector<Axis> batch = pair(x, g), channels = pair(x, w), features = pair(g, w);
  SmallVector<Axis> groups = loopsOf(x, g, 7);
  if (channels.size() > 1 || features.size() > 1 || groups.size() > 1)
    return std::nullopt;
  Axis none;
  const Axis group = groups.empty() ? none : groups[0];
  // All groups' channels in a row, in those of the operands that have them.
  auto allGroups = [&](const Axis &axis,
                       ArrayRef<unsigned> operands) -> std::optional<Axis> {
    if (group.size == 1)
      return axis;
    Axis all = axis;
    all.size *= group.size;
    for (unsigned i : operands) {
      if (axis.size == 1)
        all.strides[i] = group.strides[i];
      else if (group.strides[i] != axis.strides[i] * axis.size)
        return std::nullopt;
    }
    return all;
  };
  const Axis c = channels.empty() ? none : channels[0];
  std::optional<Axis> allChannels = allGroups(c, {x});
  std::optional<Axis> allFeatures =
      allGroups(features.empty() ? none : features[0], {g, w});
  if (!allChannels || !allFeatures)
    return std::nullopt;
  const Axis &o = *allFeatures;

  // Loops that do not merge with the samples are space under a window of one.
  Axis sample = batch.empty() ? none : batch[0];
  for (const Axis &axis : llvm::drop_begin(batch, batch.empty() ? 0 : 1)) {
    Space space;
    space.source = space.image = axis.size;
    space.sourceStride = axis.strides[x];
    space.imageStride = axis.strides[g];
    spaces.push_back(space);
  }
  if (spaces.size() > 3)
    return std::nullopt;
  llvm::stable_sort(spaces, [](const Space &a, const Space &b) {
    return a.sourceStride > b.sourceStride;
  });

  auto tensor = [&](const Axis &first, const Axis &second, unsigned i,
                    int64_t Space::*size, int64_t Space::*stride) {
    SmallVector<int64_t> dims{first.size, second.size};
    SmallVector<int64_t> strides{first.strides[i], second.strides[i]};
    for (const Space &space : spaces) {
      dims.push_back(space.*size);
      strides.push_back(space.*stride);
    }
    Type element = cast<MemRefType>(views[i].buffer.getType()).getElementType();
    return kernelTensor(element, dims, strides);
  };
  plan::KernelTensor src =
      tensor(sample, *allChannels, x, &Space::source, &Space::sourceStride);
  plan::KernelTensor weights =
      tensor(o, c, w, &Space::kernel, &Space::kernelStride);
  plan::KernelTensor dst = tensor(sample, o, g, &Space::image, &Space::imageStride);

  KernelCall call;
  call.kernel.set_accumulate(!op->hasAttr(kOverwriteAttr));
  auto operand = [&](const plan::KernelTensor &t, unsigned i) {
    *call.kernel.add_operands() = t;
    call.buffers.push_back(i == x ? source : views[i].buffer);
  };
  if (x == 2) {
    call.kernel.set_kind("convolution_backward_data");
    operand(dst, g), operand(weights, w), operand(src, x);
  } else if (g == 2) {
    call.kernel.set_kind("convolution_forward");
    operand(src, x), operand(weights, w), operand(dst, g);
  } else {
    call.kernel.set_kind("convolution_backward_weights");
    operand(src, x), operand(dst, g), operand(weights, w);
  }
  auto list = [&](const char *name, int64_t Space::*field) {
    plan::Int64List &values = (*call.kernel.mutable_attributes())[name];
    for (const Space &space : spaces)
      values.add_values(space.*field);
  };
  list("strides", &Space::stride);
  list("dilations", &Space::dilation);
  list("pad_low", &Space::low);
  list("pad_high", &Space::high);
  if (group.size > 1)
    (*call.kernel.mutable_attributes())["groups"].add_values(group.size);
  if (form == BodyForm::Launches)
    packConvolution(op, call);
  return call;
}

} // namespace commsched::planexport
