// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/plan/Contraction.h"
#include "passes/plan/HalfSums.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace commsched::planexport {

// Below this many operations a call costs more than loops.
static constexpr int64_t kMinFlops = 4096;

bool isMultiplyAdd(linalg::GenericOp op) {
  if (op.getNumDpsInputs() != 2 || op.getNumDpsInits() != 1)
    return false;
  Block *body = op.getBody();
  auto add = body->getTerminator()->getOperand(0).getDefiningOp<arith::AddFOp>();
  if (!add)
    return false;
  Value out = body->getArgument(2);
  Value product = add.getLhs() == out   ? add.getRhs()
                  : add.getRhs() == out ? add.getLhs()
                                        : Value();
  auto mul = product ? product.getDefiningOp<arith::MulFOp>() : nullptr;
  if (!mul)
    return false;
  // Narrow inputs may be widened.
  unsigned ops = 3;
  auto source = [&](Value value) {
    if (auto widen = value.getDefiningOp<arith::ExtFOp>()) {
      ++ops;
      return widen.getIn();
    }
    return value;
  };
  Value a = body->getArgument(0), b = body->getArgument(1);
  Value lhs = source(mul.getLhs()), rhs = source(mul.getRhs());
  return body->getOperations().size() == ops &&
         ((lhs == a && rhs == b) || (lhs == b && rhs == a));
}

// `expr` as coefficient * loop.
static bool matchTerm(AffineExpr expr, unsigned &loop, int64_t &coefficient) {
  coefficient = 1;
  if (auto binary = dyn_cast<AffineBinaryOpExpr>(expr)) {
    auto constant = dyn_cast<AffineConstantExpr>(binary.getRHS());
    if (binary.getKind() != AffineExprKind::Mul || !constant)
      return false;
    coefficient = constant.getValue();
    expr = binary.getLHS();
  }
  auto dim = dyn_cast<AffineDimExpr>(expr);
  if (!dim || coefficient <= 0)
    return false;
  loop = dim.getPosition();
  return true;
}

std::optional<ContractionInfo> analyseContraction(linalg::GenericOp op) {
  ContractionInfo info;
  info.loops.resize(op.getNumLoops());
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  for (auto [i, map] : llvm::enumerate(maps)) {
    for (auto [r, expr] : llvm::enumerate(map.getResults())) {
      if (auto dim = dyn_cast<AffineDimExpr>(expr)) {
        LoopUse &loop = info.loops[dim.getPosition()];
        if (loop.in[i])
          return std::nullopt; // a diagonal
        loop.in[i] = true;
        continue;
      }
      auto sum = dyn_cast<AffineBinaryOpExpr>(expr);
      Window window;
      window.result = r;
      if (!sum || sum.getKind() != AffineExprKind::Add ||
          !matchTerm(sum.getLHS(), window.loop[0], window.coefficient[0]) ||
          !matchTerm(sum.getRHS(), window.loop[1], window.coefficient[1]) ||
          window.loop[0] == window.loop[1])
        return std::nullopt;
      if (info.large != -1 && info.large != static_cast<int>(i))
        return std::nullopt;
      info.large = i;
      for (unsigned loop : window.loop) {
        if (info.loops[loop].in[i])
          return std::nullopt;
        info.loops[loop].in[i] = true;
      }
      info.windows.push_back(window);
    }
  }
  // Every loop names at least two operands: a loop of one alone is a sum or a
  // broadcast of it.
  for (LoopUse &loop : info.loops)
    if (llvm::popcount(loop.mask()) < 2)
      return std::nullopt;
  if (info.large == -1) {
    // Matrix product: something is summed, for several results of one row or
    // column; sums of products element by element are loops.
    auto has = [&](unsigned mask) {
      return llvm::any_of(llvm::zip(info.loops, op.getStaticLoopRanges()),
                          [&](auto pair) {
                            return std::get<0>(pair).mask() == mask &&
                                   std::get<1>(pair) > 1;
                          });
    };
    if (!has(3) || !(has(5) || has(6)))
      return std::nullopt;
    return info;
  }
  if (info.windows.size() > 3)
    return std::nullopt;
  // The loops of a window belong one to each of the two small operands.
  unsigned p = (info.large + 1) % 3, q = (info.large + 2) % 3;
  for (Window &window : info.windows) {
    LoopUse a = info.loops[window.loop[0]], b = info.loops[window.loop[1]];
    if (a.in[p] == a.in[q] || b.in[p] == b.in[q] || a.in[p] == b.in[p])
      return std::nullopt;
  }
  return info;
}

std::optional<StringRef> kernelFamily(linalg::GenericOp op) {
  if (!isMultiplyAdd(op))
    return std::nullopt;
  SmallVector<Type> elements;
  for (Value operand : op->getOperands()) {
    auto type = dyn_cast<ShapedType>(operand.getType());
    if (!type)
      return std::nullopt;
    elements.push_back(type.getElementType());
  }
  if (elements[0] != elements[1] || !(isHalf(elements[0]) || elements[0].isF32()) ||
      !(elements[2].isF32() || elements[2] == elements[0]))
    return std::nullopt;
  int64_t flops = 2;
  for (int64_t size : op.getStaticLoopRanges())
    flops *= size;
  if (flops < kMinFlops)
    return std::nullopt;
  std::optional<ContractionInfo> info = analyseContraction(op);
  if (!info)
    return std::nullopt;
  return info->large == -1 ? StringRef("matmul") : StringRef("convolution");
}

} // namespace commsched::planexport
