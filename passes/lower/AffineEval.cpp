// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/lower/AffineEval.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

std::optional<int64_t> commsched::evaluate(AffineExpr expr, int64_t rank,
                                           int64_t round) {
  switch (expr.getKind()) {
  case AffineExprKind::Constant:
    return cast<AffineConstantExpr>(expr).getValue();
  case AffineExprKind::DimId: {
    unsigned position = cast<AffineDimExpr>(expr).getPosition();
    if (position > 1)
      return std::nullopt;
    return position == 0 ? rank : round;
  }
  case AffineExprKind::SymbolId:
    return std::nullopt;
  default:
    break;
  }
  auto binary = cast<AffineBinaryOpExpr>(expr);
  std::optional<int64_t> lhs = evaluate(binary.getLHS(), rank, round);
  std::optional<int64_t> rhs = evaluate(binary.getRHS(), rank, round);
  if (!lhs || !rhs)
    return std::nullopt;
  int64_t result;
  switch (expr.getKind()) {
  case AffineExprKind::Add:
    if (llvm::AddOverflow(*lhs, *rhs, result))
      return std::nullopt;
    return result;
  case AffineExprKind::Mul:
    if (llvm::MulOverflow(*lhs, *rhs, result))
      return std::nullopt;
    return result;
  case AffineExprKind::Mod:
    if (*rhs < 1)
      return std::nullopt;
    return llvm::mod(*lhs, *rhs);
  case AffineExprKind::FloorDiv:
    if (*rhs < 1)
      return std::nullopt;
    return llvm::divideFloorSigned(*lhs, *rhs);
  case AffineExprKind::CeilDiv:
    if (*rhs < 1)
      return std::nullopt;
    return llvm::divideCeilSigned(*lhs, *rhs);
  default:
    return std::nullopt;
  }
}

std::optional<bool> commsched::contains(IntegerSet set, int64_t rank,
                                        int64_t round) {
  for (unsigned i = 0, e = set.getNumConstraints(); i < e; ++i) {
    std::optional<int64_t> value =
        evaluate(set.getConstraint(i), rank, round);
    if (!value)
      return std::nullopt;
    if (set.isEq(i) ? *value != 0 : *value < 0)
      return false;
  }
  return true;
}
