// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/spread/Sums.h"

#include "ir/CsGroups.h"
#include "ir/CsSparseOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "passes/insert/Outline.h"
#include "passes/place/Devices.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace commsched;
using namespace commsched::spread;

namespace {

/// Values of a function that are not the same on all nodes.
class Differences {
public:
  explicit Differences(func::FuncOp func) {
    for (BlockArgument argument : func.getArguments()) {
      unsigned i = argument.getArgNumber();
      if (!place::carriedName(func, i) || func.getArgAttr(i, cs::kPerRankAttr))
        differs.insert(argument);
    }
    for (Operation &op : func.front()) {
      // After these all nodes have the same.
      if (isa<cs::AllReduceOp, cs::BroadcastOp, cs::AllGatherOp>(op) &&
          !cs::getGroupName(&op))
        continue;
      bool own = !isa<cs::FragmentOp, cs::CopyOp, cs::SplitOp, cs::ConcatOp>(op) ||
                 llvm::any_of(op.getOperands(),
                              [&](Value value) { return differs.contains(value); });
      if (own)
        differs.insert(op.result_begin(), op.result_end());
    }
  }
  bool contains(Value value) const { return differs.contains(value); }

private:
  llvm::DenseSet<Value> differs;
};

/// +0, or tensors of it: what is added to that has the same bits if zeros of other
/// nodes are added to it.
bool isPositiveZero(Value init) {
  if (auto fill = init.getDefiningOp<linalg::FillOp>())
    return matchPattern(fill.getInputs().front(), m_PosZeroFloat());
  DenseElementsAttr value;
  return matchPattern(init, m_Constant(&value)) && value.isSplat() &&
         isa<FloatType>(value.getElementType()) && value.getSplatValue<APFloat>().isPosZero();
}

/// If it adds up at least so many elements to a scalar.
bool isSum(linalg::GenericOp op, int64_t minElements) {
  if (op.getNumDpsInits() != 1 || op.getNumResults() != 1 ||
      op.getNumReductionLoops() != op.getNumLoops())
    return false;
  auto type = cast<RankedTensorType>(op.getResult(0).getType());
  if (type.getRank() != 0 || !isa<Float32Type, Float64Type>(type.getElementType()))
    return false;
  int64_t elements = 1;
  for (int64_t range : op.getStaticLoopRanges()) {
    if (ShapedType::isDynamic(range))
      return false;
    elements *= range;
  }
  if (elements < minElements || !isPositiveZero(op.getDpsInits().front()))
    return false;
  Block *body = op.getBody();
  BlockArgument out = body->getArguments().back();
  auto add = body->getTerminator()->getOperand(0).getDefiningOp<arith::AddFOp>();
  return add && out.hasOneUse() && *out.getUsers().begin() == add &&
         add->getBlock() == body;
}

int64_t bytesOf(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || !tensor.hasStaticShape() || !tensor.getElementType().isIntOrFloat())
    return 0;
  return tensor.getNumElements() *
         std::max<int64_t>(1, tensor.getElementTypeBitWidth() / 8);
}

/// Operands, also of ops inside, that are defined outside of `op`.
llvm::SmallSetVector<Value, 8> operandsOf(Operation *op) {
  llvm::SmallSetVector<Value, 8> found;
  op->walk([&](Operation *inner) {
    for (Value operand : inner->getOperands())
      if (!op->isAncestor(operand.getParentBlock()->getParentOp()))
        found.insert(operand);
  });
  return found;
}

void collect(Operation *op, llvm::SmallPtrSetImpl<Operation *> &ops,
             llvm::SmallSetVector<Value, 8> &arguments) {
  SmallVector<Operation *> worklist{op};
  while (!worklist.empty()) {
    Operation *next = worklist.pop_back_val();
    if (!ops.insert(next).second)
      continue;
    for (Value operand : operandsOf(next)) {
      if (Operation *def = operand.getDefiningOp())
        worklist.push_back(def);
      else
        arguments.insert(operand);
    }
  }
}

/// What is not computed any more without the sum, and what that reads.
void measureSavings(Sum &sum) {
  llvm::SmallPtrSet<Operation *, 8> dead;
  for (Operation *op : llvm::reverse(sum.slice)) {
    bool isDead = op == sum.op || llvm::all_of(op->getUsers(), [&](Operation *user) {
                    Operation *top = sum.fragment.getBody().front().findAncestorOpInBlock(*user);
                    return top && dead.contains(top);
                  });
    if (isDead)
      dead.insert(op);
  }
  llvm::SmallPtrSet<Value, 8> read;
  sum.savedFlops = sum.savedBytes = 0;
  for (Operation *op : sum.slice) {
    if (!dead.contains(op))
      continue;
    sum.savedFlops += estimateFlops(op);
    for (Value operand : operandsOf(op)) {
      Operation *def = operand.getDefiningOp();
      if ((def && (dead.contains(def) || isa<tensor::EmptyOp, linalg::FillOp>(def) ||
                   def->hasTrait<OpTrait::ConstantLike>())) ||
          !read.insert(operand).second)
        continue;
      sum.savedBytes += bytesOf(operand.getType());
    }
  }
}

/// What fragments that take their sums from others will have to wait for.
class Waits {
public:
  static constexpr unsigned kEarly = 1, kLate = 2;

  unsigned of(Value value) const { return waits.lookup(value); }
  /// Behind what `op` itself takes: a set of the above.
  void add(Operation &op, unsigned own) {
    for (Value operand : op.getOperands())
      own |= of(operand);
    for (Value result : op.getResults())
      waits[result] = own;
  }

private:
  llvm::DenseMap<Value, unsigned> waits;
};

/// A fragment that nothing needs which is not deferred itself.
bool canWait(cs::FragmentOp fragment) {
  return fragment.getDeferred() || llvm::all_of(fragment->getUsers(), [](Operation *user) {
           auto other = dyn_cast<cs::FragmentOp>(user);
           return isa<func::ReturnOp>(user) || (other && other.getDeferred());
         });
}

} // namespace

SmallVector<Sum> spread::findSums(func::FuncOp func, int64_t minElements) {
  SmallVector<Sum> sums;
  Differences differences(func);
  place::Origins origins(func);
  Waits waits;
  for (Operation &each : func.front()) {
    auto fragment = dyn_cast<cs::FragmentOp>(each);
    if (!fragment || !fragment.hasBody() || !canWait(fragment)) {
      waits.add(each, 0);
      continue;
    }
    unsigned own = 0;
    Block &body = fragment.getBody().front();
    llvm::SmallPtrSet<Operation *, 4> taken;
    for (auto op : body.getOps<linalg::GenericOp>()) {
      if (!isSum(op, minElements))
        continue;
      llvm::SmallPtrSet<Operation *, 8> ops;
      llvm::SmallSetVector<Value, 8> arguments;
      collect(op, ops, arguments);
      bool isOfSums = llvm::any_of(taken, [&](Operation *sum) { return ops.contains(sum); });
      bool differs = false, communicated = false;
      unsigned behind = 0;
      for (Value argument : arguments) {
        Value input = fragment.getInputs()[cast<BlockArgument>(argument).getArgNumber()];
        differs |= differences.contains(input);
        communicated |= origins.isCommunicated(input);
        behind |= waits.of(input);
      }
      // Their messages must not wait for each other, nor early ones for late ones.
      bool isBehind = communicated ? behind & Waits::kLate : behind != 0;
      if (isOfSums || isBehind || differs || arguments.empty())
        continue;
      own |= communicated ? Waits::kLate : Waits::kEarly;
      taken.insert(op);
      Sum sum{fragment, op, {}, {}, 0, 0, 0, 0, communicated};
      for (Operation &inner : body) // in order
        if (ops.contains(&inner))
          sum.slice.push_back(&inner);
      for (BlockArgument argument : body.getArguments())
        if (arguments.contains(argument)) {
          sum.reads.push_back(argument);
          sum.bytes += bytesOf(argument.getType());
        }
      for (Operation *inner : sum.slice)
        sum.flops += estimateFlops(inner);
      measureSavings(sum);
      sums.push_back(std::move(sum));
    }
    waits.add(each, own);
  }
  return sums;
}
