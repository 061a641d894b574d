// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A reduction whose outputs have just been filled with a number begins with this number: there is no
// launch that writes it, and nothing is read.

#include "passes/cuda/Stages.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace commsched::cudaexport {
namespace {

// Of a nest that fills its one argument with a number: the number.
TypedAttr fillOf(func::FuncOp nest) {
  auto fill = dyn_cast_or_null<linalg::FillOp>(bodyOf(nest));
  if (!fill || nest.getNumArguments() != 1 || fill.getOutputs().front() != nest.getArgument(0))
    return {};
  TypedAttr value;
  return matchPattern(fill.getInputs().front(), m_Constant(&value)) ? value : TypedAttr();
}

// Whether the nest is a reduction with one output, which is all of this argument, and nothing else is.
bool reducesInto(func::FuncOp nest, unsigned argument) {
  auto op = dyn_cast_or_null<linalg::GenericOp>(bodyOf(nest));
  if (!op || op.getNumDpsInits() != 1)
    return false;
  // Without terms there is no launch that would write it.
  NestShape shape = shapeOf(op);
  if (shape.form != NestShape::Form::Reduction || shape.terms == 0)
    return false;
  Value whole = nest.getArgument(argument), output = op.getDpsInitOperand(0)->get();
  auto type = dyn_cast<MemRefType>(output.getType()), all = dyn_cast<MemRefType>(whole.getType());
  if (rootOf(output) != whole || !all || !type.getLayout().isIdentity() || !all.hasStaticShape() ||
      type.getNumElements() != all.getNumElements())
    return false;
  for (Value value = output; value != whole; value = value.getDefiningOp()->getOperand(0))
    if (!value.hasOneUse())
      return false;
  return whole.hasOneUse();
}

} // namespace

void foldFills(ModuleOp module, ArrayRef<std::string> fragments) {
  SymbolTable symbols(module);
  DenseMap<std::pair<Operation *, Attribute>, func::FuncOp> made;
  auto nestOf = [&](Operation *op) {
    auto call = dyn_cast<func::CallOp>(op);
    auto nest = call ? symbols.lookup<func::FuncOp>(call.getCallee()) : func::FuncOp();
    return nest && nest->hasAttr(planexport::kNestAttr) ? nest : func::FuncOp();
  };
  for (const std::string &fragment : fragments) {
    func::CallOp fill;
    Block &body = symbols.lookup<func::FuncOp>(fragment).getBody().front();
    for (Operation &op : llvm::make_early_inc_range(body)) {
      func::FuncOp nest = nestOf(&op);
      if (!nest) {
        if (isa<func::CallOp>(op))
          fill = nullptr;
        continue;
      }
      auto call = cast<func::CallOp>(op);
      func::CallOp before = std::exchange(fill, fillOf(nest) ? call : func::CallOp());
      if (!before)
        continue;
      TypedAttr value = fillOf(nestOf(before));
      for (auto [i, operand] : llvm::enumerate(call.getOperands())) {
        if (operand != before.getOperand(0) || llvm::count(call.getOperands(), operand) != 1 || !reducesInto(nest, i))
          continue;
        func::FuncOp &begun = made[{nest, value}];
        if (!begun) {
          begun = nest.clone();
          begun.setName((nest.getName() + "_from_" + Twine(made.size() - 1)).str());
          begun->setAttr(kInitialAttr, value);
          symbols.insert(begun, std::next(nest->getIterator()));
        }
        call.setCallee(begun.getName());
        before.erase();
        break;
      }
    }
  }
}

} // namespace commsched::cudaexport
