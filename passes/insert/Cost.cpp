// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/insert/Outline.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace {

constexpr int64_t kMost = std::numeric_limits<int64_t>::max();

int64_t times(int64_t a, int64_t b) {
  int64_t product;
  return llvm::MulOverflow(a, b, product) ? kMost : product;
}

int64_t plus(int64_t a, int64_t b) {
  int64_t sum;
  return llvm::AddOverflow(a, b, sum) ? kMost : sum;
}

/// Elements of a tensor; 1 for a scalar.
int64_t elements(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || !tensor.hasStaticShape())
    return 1;
  int64_t n = 1;
  for (int64_t dim : tensor.getShape())
    n = times(n, dim);
  return n;
}

int64_t nestedFlops(Operation *op) {
  int64_t sum = 0;
  for (Region &region : op->getRegions())
    for (Block &block : region)
      for (Operation &nested : block)
        sum = plus(sum, commsched::estimateFlops(&nested));
  return sum;
}

} // namespace

int64_t commsched::estimateFlops(Operation *op) {
  if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op)) {
    int64_t points = 1;
    for (int64_t range : linalgOp.getStaticLoopRanges())
      points = times(points, ShapedType::isDynamic(range) ? 1 : range);
    return times(points, nestedFlops(op));
  }
  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    auto lower = getConstantIntValue(loop.getLowerBound());
    auto upper = getConstantIntValue(loop.getUpperBound());
    auto step = getConstantIntValue(loop.getStep());
    int64_t trips = 1, distance;
    if (lower && upper && step && *step > 0 &&
        !llvm::SubOverflow(*upper, *lower, distance))
      trips = distance > 0 ? (distance - 1) / *step + 1 : 0;
    return times(trips, nestedFlops(op));
  }
  if (op->getNumRegions() > 0)
    return nestedFlops(op);
  if (op->getNumResults() != 1 || !OpTrait::hasElementwiseMappableTraits(op) ||
      !isa<FloatType>(getElementTypeOrSelf(op->getResult(0))))
    return 0;
  return elements(op->getResult(0).getType());
}

int64_t commsched::tensorBytes(RankedTensorType type) {
  int64_t bits = type.getElementTypeBitWidth();
  return times(elements(type), (bits + 7) / 8);
}
