// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/spread/Passes.h"

#include <cmath>
#include <numeric>

#include "mlir/Analysis/TopologicalSortUtils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "passes/place/Devices.h"
#include "passes/spread/Predict.h"
#include "passes/spread/Sums.h"
#include "passes/support/Module.h"
#include "passes/support/OptionError.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringSet.h"

namespace commsched {
#define GEN_PASS_DEF_SPREADSUMS
#include "passes/spread/Passes.h.inc"
} // namespace commsched

using namespace mlir;
using namespace commsched;
using namespace commsched::spread;
using place::placedType;

namespace {

/// Sums that travel together.
struct Group {
  SmallVector<Sum *> sums;
  SmallVector<int64_t> owners; // of each
  unsigned device = 0;
  Type element;
};

/// Gives each sum to a node; returns the bytes that the busiest one reads.
int64_t balance(ArrayRef<Group *> groups, int64_t nodes) {
  SmallVector<std::pair<Group *, unsigned>> order;
  for (Group *group : groups) {
    group->owners.assign(group->sums.size(), 0);
    for (unsigned i = 0; i < group->sums.size(); ++i)
      order.push_back({group, i});
  }
  auto bytes = [](const std::pair<Group *, unsigned> &which) {
    return which.first->sums[which.second]->bytes;
  };
  llvm::stable_sort(order, [&](auto &a, auto &b) { return bytes(a) > bytes(b); });
  // Nodes beyond the number of sums get none.
  SmallVector<int64_t> loads(std::min(nodes, static_cast<int64_t>(order.size())), 0);
  for (auto &which : order) {
    auto *least = std::min_element(loads.begin(), loads.end()); // the first of equals
    *least += bytes(which);
    which.first->owners[which.second] = least - loads.begin();
  }
  return *std::max_element(loads.begin(), loads.end());
}

/// Bytes that nobody else reads any more.
int64_t savedBytes(const Group &group) {
  int64_t bytes = 0;
  for (Sum *sum : group.sums)
    bytes += sum->savedBytes;
  return bytes;
}

int64_t messageBytes(const Group &group) {
  return static_cast<int64_t>(group.sums.size()) * group.element.getIntOrFloatBitWidth() / 8;
}

cs::PlacedType placed(MLIRContext *context, ArrayRef<int64_t> shape, Type element,
                      unsigned device) {
  return cs::PlacedType::get(context, RankedTensorType::get(shape, element), device,
                             cs::MemoryKind::device);
}

class Spreader {
public:
  Spreader(func::FuncOp func, int64_t nodes)
      : func(func), nodes(nodes), builder(func.getContext()) {
    func.walk([&](cs::CommunicationOpInterface op) { keys.insert(op.getCommunicationKey()); });
  }
  void spread(const Group &group);

private:
  std::string unusedKey(const Twine &wanted);
  Value rankOn(unsigned device);
  Value compute(cs::FragmentOp fragment, ArrayRef<unsigned> which, const Group &group);
  void use(cs::FragmentOp fragment, ArrayRef<unsigned> which, const Group &group,
           Value sums);

  func::FuncOp func;
  int64_t nodes;
  OpBuilder builder;
  llvm::StringSet<> keys;
  llvm::SmallDenseMap<unsigned, Value> ranks; // by device
};

std::string Spreader::unusedKey(const Twine &wanted) {
  std::string key = wanted.str();
  while (!keys.insert(key).second)
    key += "'";
  return key;
}

/// The number of this node: its part of the numbers of all, which all have.
Value Spreader::rankOn(unsigned device) {
  Value &rank = ranks[device];
  if (rank)
    return rank;
  Location loc = func.getLoc();
  MLIRContext *context = func.getContext();
  builder.setInsertionPointToStart(&func.front());
  cs::PlacedType all = placed(context, {nodes}, builder.getI32Type(), device);
  auto numbers = cs::FragmentOp::create(
      builder, loc, TypeRange{all}, "spread.nodes", device, ValueRange{},
      cs::CostAttr::get(context, 0, 4 * nodes, /*ns=*/0), /*deferred=*/false);
  auto *body = new Block;
  numbers.getBody().push_back(body);
  SmallVector<int32_t> values(nodes);
  std::iota(values.begin(), values.end(), 0);
  OpBuilder inside = OpBuilder::atBlockEnd(body);
  Value constant = arith::ConstantOp::create(
      inside, loc, DenseElementsAttr::get(all.getTensor(), ArrayRef<int32_t>(values)));
  cs::ReturnOp::create(inside, loc, constant);
  rank = cs::ReduceScatterOp::create(
      builder, loc, placed(context, {1}, builder.getI32Type(), device),
      unusedKey("spread.node" + (device ? "." + Twine(device) : Twine(""))),
      cs::Reduction::max, numbers.getOutputs().front(), FlatSymbolRefAttr());
  return rank;
}

/// A fragment with this node's sums of `fragment`, and zeros for those of others.
Value Spreader::compute(cs::FragmentOp fragment, ArrayRef<unsigned> which,
                        const Group &group) {
  Location loc = fragment.getLoc();
  MLIRContext *context = func.getContext();
  Value rank = rankOn(group.device);
  SmallVector<Value> inputs{rank};
  llvm::SmallDenseMap<Value, unsigned> positions;
  int64_t flops = 0, bytes = 0;
  bool communicated = false;
  for (unsigned i : which) {
    for (BlockArgument argument : group.sums[i]->reads)
      if (positions.try_emplace(argument, inputs.size()).second)
        inputs.push_back(fragment.getInputs()[argument.getArgNumber()]);
    flops += group.sums[i]->flops;
    bytes += group.sums[i]->bytes;
    communicated |= group.sums[i]->communicated;
  }
  auto count = static_cast<int64_t>(which.size());
  builder.setInsertionPoint(fragment);
  auto made = cs::FragmentOp::create(
      builder, loc, TypeRange{placed(context, {count}, group.element, group.device)},
      ("sums." + fragment.getLabel()).str(), group.device, inputs,
      cs::CostAttr::get(context, (flops + nodes - 1) / nodes, (bytes + nodes - 1) / nodes,
                        /*ns=*/0),
      /*deferred=*/communicated);
  auto *body = new Block;
  made.getBody().push_back(body);
  for (Value input : inputs)
    body->addArgument(placedType(input).getTensor(), input.getLoc());
  OpBuilder inside = OpBuilder::atBlockEnd(body);
  Value first = arith::ConstantIndexOp::create(inside, loc, 0);
  Value own = tensor::ExtractOp::create(inside, loc, body->getArgument(0), first);
  Value zero = arith::ConstantOp::create(inside, loc,
                                         inside.getFloatAttr(group.element, 0.0));
  Value empty = tensor::EmptyOp::create(inside, loc, ArrayRef<int64_t>{count}, group.element);
  Value sums = linalg::FillOp::create(inside, loc, zero, empty).getResult(0);
  for (auto [place, i] : llvm::enumerate(which)) {
    const Sum &sum = *group.sums[i];
    Value owner = arith::ConstantOp::create(
        inside, loc, inside.getI32IntegerAttr(static_cast<int32_t>(group.owners[i])));
    Value isOwn = arith::CmpIOp::create(inside, loc, arith::CmpIPredicate::eq, own, owner);
    Value at = arith::ConstantIndexOp::create(inside, loc, place);
    auto choice = scf::IfOp::create(
        inside, loc, isOwn,
        [&](OpBuilder &then, Location) {
          IRMapping mapping;
          for (BlockArgument argument : sum.reads)
            mapping.map(argument, body->getArgument(positions.lookup(argument)));
          for (Operation *op : sum.slice)
            then.clone(*op, mapping);
          linalg::GenericOp op = sum.op;
          Value scalar =
              tensor::ExtractOp::create(then, loc, mapping.lookup(op.getResult(0)));
          Value inserted = tensor::InsertOp::create(then, loc, scalar, sums, at);
          scf::YieldOp::create(then, loc, inserted);
        },
        [&](OpBuilder &other, Location) { scf::YieldOp::create(other, loc, sums); });
    sums = choice.getResult(0);
  }
  cs::ReturnOp::create(inside, loc, sums);
  return made.getOutputs().front();
}

/// Lets the fragment take its sums from `sums`.
void Spreader::use(cs::FragmentOp fragment, ArrayRef<unsigned> which, const Group &group,
                   Value sums) {
  Block &body = fragment.getBody().front();
  fragment.getInputsMutable().append(sums);
  BlockArgument argument = body.addArgument(placedType(sums).getTensor(), fragment.getLoc());
  int64_t flops = 0, bytes = 0;
  OpBuilder inside = OpBuilder::atBlockBegin(&body);
  for (auto [place, i] : llvm::enumerate(which)) {
    const Sum &sum = *group.sums[i];
    linalg::GenericOp op = sum.op;
    SmallVector<OpFoldResult> offset{inside.getIndexAttr(static_cast<int64_t>(place))};
    SmallVector<OpFoldResult> one{inside.getIndexAttr(1)};
    Value own = tensor::ExtractSliceOp::create(
        inside, op.getLoc(), cast<RankedTensorType>(op.getResult(0).getType()), argument,
        offset, one, one);
    op.getResult(0).replaceAllUsesWith(own);
    flops += sum.savedFlops;
    bytes += sum.savedBytes;
  }
  llvm::SmallPtrSet<Operation *, 16> unused;
  for (unsigned i : which)
    unused.insert(group.sums[i]->slice.begin(), group.sums[i]->slice.end());
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(body)))
    if (unused.contains(&op) && isOpTriviallyDead(&op))
      op.erase();
  if (cs::CostAttr cost = fragment.getCostAttr())
    fragment.setCostAttr(cs::CostAttr::get(
        func.getContext(), std::max<int64_t>(0, cost.getFlops() - flops),
        std::max<int64_t>(0, cost.getBytes() - bytes), cost.getNs()));
  fragment.setDeferred(true);
}

void Spreader::spread(const Group &group) {
  llvm::MapVector<Operation *, SmallVector<unsigned>> byFragment;
  for (auto [i, sum] : llvm::enumerate(group.sums))
    byFragment[sum->fragment].push_back(i);
  SmallVector<Value> own;
  SmallVector<Type> types;
  for (auto &[op, which] : byFragment) {
    own.push_back(compute(cast<cs::FragmentOp>(op), which, group));
    types.push_back(own.back().getType());
  }
  builder.setInsertionPointAfter(own.back().getDefiningOp());
  Location loc = group.sums.front()->fragment.getLoc();
  Value message = own.size() == 1 ? own.front()
                                  : cs::ConcatOp::create(builder, loc, own).getResult();
  std::string key = "spread.sums.early";
  if (group.sums.front()->communicated)
    key = own.size() == 1
              ? ("spread." + group.sums.front()->fragment.getLabel()).str()
              : "spread.sums";
  Value all = cs::AllReduceOp::create(
      builder, loc, message.getType(),
      unusedKey(key),
      cs::Reduction::sum, message, FlatSymbolRefAttr());
  SmallVector<Value> parts{all};
  if (own.size() > 1)
    parts = llvm::to_vector(llvm::map_range(
        cs::SplitOp::create(builder, loc, types, all).getBlocks(),
        [](Value block) { return block; }));
  unsigned part = 0;
  for (auto &[op, which] : byFragment)
    use(cast<cs::FragmentOp>(op), which, group, parts[part++]);
}

struct SpreadSums : commsched::impl::SpreadSumsBase<SpreadSums> {
  using SpreadSumsBase::SpreadSumsBase;

  void runOnOperation() override {
    if (minElements < 0) {
      emitOptionError(*this, &getContext())
          << "min-elements must not be negative, got: " << minElements.getValue();
      return signalPassFailure();
    }
    FailureOr<SmallVector<func::FuncOp>> functions =
        place::trainerFunctions(getOperation(), getArgument());
    if (failed(functions))
      return signalPassFailure();
    for (func::FuncOp func : *functions)
      if (func->hasAttr(cs::CsDialect::kStepAttr) && failed(run(func)))
        return signalPassFailure();
  }

private:
  LogicalResult run(func::FuncOp func) {
    // Trainers of servers may have values of different steps.
    for (Operation &op : func.front())
      if (!isa<cs::FragmentOp, cs::CopyOp, cs::SplitOp, cs::ConcatOp, func::ReturnOp>(op)) {
        auto communication = dyn_cast<cs::CommunicationOpInterface>(op);
        if (!communication || !communication.isCollective())
          return success();
      }
    SmallVector<Sum> sums = findSums(func, minElements);
    if (sums.empty())
      return success();
    FailureOr<cs::ClusterOp> cluster = findCluster(getOperation());
    if (failed(cluster))
      return failure();
    if (cluster->getNodes() == 1)
      return success();
    SmallVector<Group> groups;
    for (Sum &sum : sums)
      groupOf(groups, sum).sums.push_back(&sum);
    // Messages of their own have to pay each; then, and otherwise, all together.
    SmallVector<SmallVector<Group *>> choices;
    SmallVector<Group *> own;
    for (Group &group : groups) {
      if (!apart || !group.sums.front()->communicated)
        choices.push_back({&group});
      else if (force || paysAlone(func, group, *cluster))
        own.push_back(&group);
    }
    if (!own.empty())
      choices.push_back(own);
    Spreader spreader(func, cluster->getNodes());
    bool changed = false;
    for (ArrayRef<Group *> choice : choices) {
      if (!pays(func, choice, *cluster))
        continue;
      for (Group *group : choice)
        spreader.spread(*group);
      changed = true;
    }
    // Fragments that now wait for a communication come behind it.
    if (changed && !sortTopologically(&func.front()))
      return func.emitOpError("has sums that depend on each other");
    return success();
  }

  Group &groupOf(SmallVectorImpl<Group> &groups, Sum &sum) {
    auto device = static_cast<unsigned>(sum.fragment.getDevice());
    Type element = cast<RankedTensorType>(sum.op.getResult(0).getType()).getElementType();
    for (Group &group : groups)
      if (group.device == device && group.element == element &&
          group.sums.front()->communicated == sum.communicated &&
          (!apart || !sum.communicated || group.sums.front()->fragment == sum.fragment))
        return group;
    groups.push_back({{}, {}, device, element});
    return groups.back();
  }

  template <typename Write>
  void tell(func::FuncOp func, const Group &group, Write write) {
    place::remarkAt(group.sums.front()->op.getLoc(), getArgument(), func.getName(), "spread",
                    write);
  }

  /// Whether the mean node saves more than the message of the group takes.
  bool paysAlone(func::FuncOp func, const Group &group, cs::ClusterOp cluster) {
    auto nodes = static_cast<double>(cluster.getNodes());
    double saved = readTime(static_cast<double>(savedBytes(group)) * (nodes - 1) / nodes, cluster);
    double travel = predictAllReduce(messageBytes(group), cluster).travel;
    if (saved > travel)
      return true;
    tell(func, group, [&](raw_ostream &os) {
      os << "sums of \"" << group.sums.front()->fragment.getLabel()
         << "\" not spread: a node would save " << std::llround(saved) << " ns of reading, and "
         << messageBytes(group) << " bytes travel in " << std::llround(travel) << " ns";
    });
    return false;
  }

  bool pays(func::FuncOp func, ArrayRef<Group *> choice, cs::ClusterOp cluster) {
    int64_t most = balance(choice, cluster.getNodes());
    int64_t saved = 0, sums = 0, bytes = 0;
    MessageTimes messages;
    for (const Group *group : choice) {
      saved += savedBytes(*group);
      sums += static_cast<int64_t>(group->sums.size());
      bytes += messageBytes(*group);
      MessageTimes times = predictAllReduce(messageBytes(*group), cluster);
      messages.travel += times.travel;
      messages.busy += times.busy;
    }
    double before = readTime(static_cast<double>(saved), cluster);
    double own = readTime(static_cast<double>(most), cluster);
    StepTimes step = predictStep(func, cluster);
    StepTimes then = {step.compute - before + own, step.link + messages.busy};
    bool better = own + messages.travel < before && then.bound() < step.bound();
    tell(func, *choice.front(), [&](raw_ostream &os) {
      os << sums << (sums == 1 ? " sum" : " sums")
         << (better || force ? " spread" : " not spread")
         << (force && !better ? " (asked for)" : "") << ": " << saved << " bytes take "
         << std::llround(before) << " ns on every node; the busiest of " << cluster.getNodes()
         << " would read " << most << " in " << std::llround(own) << " ns, and " << bytes
         << " bytes in " << choice.size() << (choice.size() == 1 ? " message" : " messages")
         << " travel in " << std::llround(messages.travel) << " ns; of the step, compute takes "
         << std::llround(step.compute) << " ns, then " << std::llround(then.compute)
         << ", the link " << std::llround(step.link) << " ns, then " << std::llround(then.link);
    });
    return better || force;
  }
};

} // namespace
