// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// a * b + c as one operation: what compilers for training do. Code generators decide it
// by what happens to stand in a block, otherwise on each target; here the program says it.

#include "passes/plan/Stages.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;

namespace commsched::planexport {

static bool mayReassociate(arith::ArithFastMathInterface op) {
  auto flags = op.getFastMathFlagsAttr();
  return flags && arith::bitEnumContainsAny(flags.getValue(), arith::FastMathFlags::reassoc);
}

// A product that nothing else needs.
static arith::MulFOp productOf(Value value, Operation *sum) {
  auto product = value.getDefiningOp<arith::MulFOp>();
  return product && product->hasOneUse() && product->getBlock() == sum->getBlock()
             ? product
             : arith::MulFOp();
}

static void contract(Operation *sum) {
  arith::MulFOp left = productOf(sum->getOperand(0), sum);
  arith::MulFOp right = left ? arith::MulFOp() : productOf(sum->getOperand(1), sum);
  arith::MulFOp product = left ? left : right;
  if (!product)
    return;
  if (mayReassociate(cast<arith::ArithFastMathInterface>(sum))) {
    auto flags = arith::FastMathFlagsAttr::get(sum->getContext(), arith::FastMathFlags::contract);
    product.setFastmathAttr(flags);
    return;
  }
  OpBuilder builder(sum);
  Location loc = sum->getLoc();
  Value a = product.getLhs(), b = product.getRhs(), c = sum->getOperand(left ? 1 : 0);
  if (isa<arith::SubFOp>(sum)) {
    Value &negated = left ? c : a;
    negated = arith::NegFOp::create(builder, loc, negated);
  }
  sum->getResult(0).replaceAllUsesWith(math::FmaOp::create(builder, loc, a, b, c).getResult());
  sum->erase();
  product.erase();
}

void contractMultiplyAdds(ModuleOp module) {
  SmallVector<Operation *> sums;
  module->walk([&](Operation *op) {
    if (isa<arith::AddFOp, arith::SubFOp>(op) && isa<Float32Type, Float64Type>(op->getResult(0).getType()))
      sums.push_back(op);
  });
  for (Operation *sum : sums)
    contract(sum);
}

} // namespace commsched::planexport
