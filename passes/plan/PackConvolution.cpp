// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/plan/HalfSums.h"
#include "passes/plan/KernelBuilder.h"
#include "passes/plan/Stages.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace commsched::planexport {

using Numbers = SmallVector<int64_t, 5>;

// An operand's dimensions from the outermost to the innermost in memory.
static Numbers orderOf(int64_t rank, bool channelsLast) {
  Numbers order{0};
  for (int64_t d = 2; d < rank; ++d)
    order.push_back(d);
  order.insert(channelsLast ? order.end() : order.begin() + 1, 1);
  return order;
}

static Numbers stridesIn(const Numbers &order, const Numbers &dims) {
  Numbers strides(dims.size());
  int64_t stride = 1;
  for (int64_t d : llvm::reverse(order)) {
    strides[d] = stride;
    stride *= dims[d];
  }
  return strides;
}

static Numbers dimsOf(const plan::KernelTensor &tensor) {
  return Numbers(tensor.dims().begin(), tensor.dims().end());
}

// Whether it lies so, whatever the strides of dimensions of size 1 are.
static bool lies(const plan::KernelTensor &tensor, bool channelsLast) {
  const Numbers dims = dimsOf(tensor);
  const Numbers strides = stridesIn(orderOf(dims.size(), channelsLast), dims);
  for (auto [d, size] : llvm::enumerate(dims))
    if (size != 1 && tensor.strides(d) != strides[d])
      return false;
  return true;
}

// to = from, or to = to + from, element by element, rounded once.
static void copy(OpBuilder &builder, Location loc, Value from, Value to, bool add) {
  const unsigned rank = cast<MemRefType>(to.getType()).getRank();
  SmallVector<AffineMap> maps(2, builder.getMultiDimIdentityMap(rank));
  SmallVector<utils::IteratorType> iterators(rank, utils::IteratorType::parallel);
  linalg::GenericOp::create(builder, loc, ValueRange{from}, ValueRange{to}, maps, iterators,
                            [&](OpBuilder &b, Location at, ValueRange args) {
                              Value value = args[0], old = args[1];
                              const bool round = value.getType() != old.getType();
                              if (add) {
                                if (round)
                                  old = arith::ExtFOp::create(b, at, value.getType(), old);
                                value = arith::AddFOp::create(b, at, old, value);
                              }
                              if (round)
                                value = arith::TruncFOp::create(b, at, args[1].getType(), value);
                              linalg::YieldOp::create(b, at, value);
                            });
}

void packConvolution(linalg::GenericOp op, KernelCall &call) {
  auto &operands = *call.kernel.mutable_operands();
  // Not the weights, which are small.
  const int other = call.kernel.kind() == "convolution_backward_weights" ? 1 : 2;
  auto bothLie = [&](bool channelsLast) {
    return lies(operands[0], channelsLast) && lies(operands[other], channelsLast);
  };
  const bool channelsLast = bothLie(true) || !bothLie(false);
  for (int i = 0; i < operands.size(); ++i) {
    plan::KernelTensor &tensor = operands[i];
    const Numbers dims = dimsOf(tensor), order = orderOf(dims.size(), channelsLast);
    const Numbers packed = stridesIn(order, dims);
    if (!lies(tensor, channelsLast)) {
      Value buffer = call.buffers[i];
      auto type = cast<MemRefType>(buffer.getType());
      Numbers sizes, strides;
      for (int64_t d : order) {
        sizes.push_back(dims[d]);
        strides.push_back(tensor.strides(d));
      }
      const bool output = i + 1 == operands.size();
      const bool add = output && call.kernel.accumulate();
      Type element = type.getElementType();
      OpBuilder builder(op);
      // What is added later must not be rounded before.
      if (add && isHalf(element)) {
        element = builder.getF32Type();
        tensor.set_element(plan::F32);
      }
      const int64_t offset = type.getStridesAndOffset().second;
      auto view = memref::ReinterpretCastOp::create(
          builder, op.getLoc(),
          MemRefType::get(sizes, type.getElementType(),
                          StridedLayoutAttr::get(op.getContext(), offset, strides)),
          buffer, offset, sizes, strides);
      Value own = memref::AllocOp::create(builder, op.getLoc(), MemRefType::get(sizes, element));
      if (output) {
        builder.setInsertionPointAfter(op);
        copy(builder, op.getLoc(), own, view, add);
        call.kernel.set_accumulate(false);
      } else {
        copy(builder, op.getLoc(), view, own, /*add=*/false);
      }
      call.buffers[i] = own;
    }
    tensor.mutable_strides()->Assign(packed.begin(), packed.end());
  }
}

} // namespace commsched::planexport
