// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/combine/Combine.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include "passes/place/Devices.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace commsched;
using namespace commsched::combine;
using place::placedType;

cs::AllReduceOp combine::soleReduce(cs::FragmentOp fragment, Value argument) {
  auto own = dyn_cast<BlockArgument>(argument);
  if (!own || !argument.hasOneUse() || own.getOwner() != &fragment.getBody().front())
    return {};
  auto reduce = fragment.getInputs()[own.getArgNumber()].getDefiningOp<cs::AllReduceOp>();
  // Not of other blocks, not of a group, and not with wishes of --lower-sparse-comm.
  if (!reduce || reduce.getGroup() || !reduce.getResult().hasOneUse() ||
      reduce->getBlock() != fragment->getBlock() || !reduce->getDiscardableAttrs().empty())
    return {};
  return reduce;
}

namespace {

bool isLinear(cs::Reduction reduction, Type element) {
  return reduction == cs::Reduction::sum ||
         (reduction == cs::Reduction::mean && isa<FloatType>(element));
}

struct Pair {
  cs::AllReduceOp first, second;
  Operation *join; // in the body of the fragment
};

/// In the body of `fragment`, if `op` joins two all-reduced tensors.
std::optional<Pair> findPair(cs::FragmentOp fragment, Operation &op) {
  if (!isa<arith::AddFOp, arith::SubFOp, arith::AddIOp, arith::SubIOp>(op))
    return std::nullopt;
  cs::AllReduceOp first = soleReduce(fragment, op.getOperand(0));
  cs::AllReduceOp second = soleReduce(fragment, op.getOperand(1));
  if (!first || !second || first == second ||
      first.getReduction() != second.getReduction() ||
      first.getResult().getType() != second.getResult().getType() ||
      !isLinear(first.getReduction(), placedType(first.getResult()).getTensor().getElementType()))
    return std::nullopt;
  return Pair{first, second, &op};
}

cs::AllReduceOp combinePair(cs::FragmentOp fragment, Pair pair, llvm::StringSet<> &keys) {
  cs::AllReduceOp last =
      pair.first->isBeforeInBlock(pair.second) ? pair.second : pair.first;
  Location loc = pair.join->getLoc();
  cs::PlacedType type = placedType(pair.first.getResult());
  int64_t elements = type.getTensor().getNumElements();
  std::string key = (pair.first.getKey() + "+" + pair.second.getKey()).str();
  while (!keys.insert(key).second)
    key += "'";
  // What a node has is there at the later of the two: that depends on neither result.
  OpBuilder builder(last);
  auto sum = cs::FragmentOp::create(
      builder, loc, TypeRange{type}, "join." + key, type.getDevice(),
      ValueRange{pair.first.getValue(), pair.second.getValue()},
      cs::CostAttr::get(builder.getContext(), elements, 3 * place::bytesOf(type), /*ns=*/0),
      /*deferred=*/true);
  auto *body = new Block;
  sum.getBody().push_back(body);
  IRMapping mapping;
  for (Value operand : pair.join->getOperands())
    mapping.map(operand, body->addArgument(operand.getType(), loc));
  OpBuilder inside = OpBuilder::atBlockEnd(body);
  cs::ReturnOp::create(inside, loc, inside.clone(*pair.join, mapping)->getResults());
  auto made = cs::AllReduceOp::create(builder, last.getLoc(), type, key,
                                      pair.first.getReduction(), sum.getOutputs().front(),
                                      FlatSymbolRefAttr());

  auto kept = cast<BlockArgument>(pair.join->getOperand(0));
  unsigned gone = cast<BlockArgument>(pair.join->getOperand(1)).getArgNumber();
  fragment.getInputsMutable()[kept.getArgNumber()].set(made.getResult());
  pair.join->getResult(0).replaceAllUsesWith(kept);
  pair.join->erase();
  fragment.getInputsMutable().erase(gone);
  fragment.getBody().front().eraseArgument(gone);
  pair.first.erase();
  pair.second.erase();
  return made;
}

} // namespace

void combine::combineSums(func::FuncOp func, Tell tell) {
  llvm::StringSet<> keys;
  for (auto communication : func.front().getOps<cs::CommunicationOpInterface>())
    keys.insert(communication.getCommunicationKey());
  for (auto fragment : func.front().getOps<cs::FragmentOp>()) {
    if (!fragment.hasBody())
      continue;
    // A sum of three is a sum of two, one of which has been made here.
    for (Operation &op : llvm::make_early_inc_range(fragment.getBody().front()))
      if (std::optional<Pair> pair = findPair(fragment, op)) {
        std::string first = pair->first.getKey().str(), second = pair->second.getKey().str();
        tell(combinePair(fragment, *pair, keys),
             "one all-reduce for \"" + Twine(first) + "\" and \"" + second + "\"");
      }
  }
}
