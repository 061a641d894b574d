// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/sparse/Exchange.h"

#include <cmath>

#include "ir/CsSparseOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "passes/place/CombineDevices.h"
#include "passes/place/Devices.h"
#include "passes/sparse/FragmentMaker.h"
#include "passes/sparse/RankStates.h"
#include "passes/sparse/Regions.h"
#include "passes/sparse/Selection.h"

using namespace mlir;
using namespace commsched;
using namespace commsched::sparse;
using place::onDevice;
using place::placedType;

int64_t sparse::selected(double density, int64_t elements) {
  return std::clamp<int64_t>(std::llround(density * static_cast<double>(elements)), 1,
                             elements);
}

NodeGradient::NodeGradient(cs::AllReduceOp op, unsigned devices)
    : combined(op.getValue()) {
  auto sum = place::sourceOf(combined).getDefiningOp<cs::FragmentOp>();
  parts.push_back(combined);
  if (devices == 1 || !sum || sum.getInputs().size() != devices || !sum->hasOneUse())
    return;
  // Of what has only a cost, nothing but the label says what it is.
  if (sum.hasBody() ? !place::combines(sum, op.getReduction())
                    : sum.getOutputs().size() != 1 || sum.getLabel() != ("sum." + op.getKey()).str())
    return;
  SmallVector<Value> found(devices);
  for (Value input : sum.getInputs()) {
    Value source = place::sourceOf(input);
    unsigned device = place::deviceOf(source);
    if (placedType(source).getTensor() != placedType(combined).getTensor() ||
        device >= devices || found[device])
      return;
    found[device] = source;
  }
  parts = found;
  sumOp = sum;
}

SmallVector<RankedTensorType> NodeGradient::shardTypes() const {
  RankedTensorType type = placedType(combined).getTensor();
  auto devices = static_cast<int64_t>(parts.size());
  if (devices == 1 || type.getRank() == 0 || type.getDimSize(0) < devices)
    return {type};
  int64_t rows = type.getDimSize(0);
  SmallVector<RankedTensorType> types;
  for (int64_t shard = 0; shard < devices; ++shard) {
    SmallVector<int64_t> shape(type.getShape());
    shape[0] = rows * (shard + 1) / devices - rows * shard / devices;
    types.push_back(RankedTensorType::get(shape, type.getElementType()));
  }
  return types;
}

bool NodeGradient::hasBody() const {
  auto made = place::sourceOf(combined).getDefiningOp<cs::FragmentOp>();
  return !made || made.hasBody();
}

namespace {

class Exchanger {
public:
  Exchanger(func::FuncOp func, cs::AllReduceOp op, const NodeGradient &gradient,
            cs::ClusterOp cluster, const ExchangeOptions &options,
            const ForwardUses &forward)
      : func(func), forward(forward), op(op), gradient(gradient), options(options),
        nodes(cluster.getNodes()), builder(op), key(op.getKey().str()),
        owner(place::deviceOf(op.getValue())), states(func, op.getLoc(), key) {}

  LogicalResult run();
  /// Of a gradient that stays dense: what is made of the result.
  LogicalResult correctResult();

private:
  SelectionContext contextOf(RankedTensorType type) {
    return {builder, op.getLoc(), type,
            selected(options.density, type.getNumElements()),
            options.values ? options.values : type.getElementType(), options.rules,
            gradient.hasBody()};
  }
  int64_t over(int64_t ranks) const {
    return op.getReduction() == cs::Reduction::mean ? ranks : 1;
  }
  Value gather(StringRef name, Value message);
  Value mergeInRounds(const SelectionContext &context, StringRef name, Value lists);
  Value copyTo(Value value, unsigned device);
  FailureOr<Value> ofEachDevice();
  FailureOr<Value> ofShards();
  FailureOr<Value> ofShard(StringRef suffix, Value value, bool deferred);
  FailureOr<Value> ofRegions(StringRef suffix, Value value, bool deferred);

  LogicalResult computeAhead(const Kept &kept);

  func::FuncOp func;
  const ForwardUses &forward;
  mutable cs::AllReduceOp op; // a handle
  const NodeGradient &gradient;
  const ExchangeOptions &options;
  int64_t nodes;
  OpBuilder builder;
  std::string key;
  unsigned owner;
  RankStates states;
};

Value Exchanger::gather(StringRef name, Value message) {
  if (nodes == 1)
    return message;
  cs::PlacedType type = placedType(message);
  RankedTensorType own = type.getTensor();
  SmallVector<int64_t> shape(own.getShape());
  shape[0] *= nodes;
  auto gathered = cs::PlacedType::get(
      func.getContext(),
      RankedTensorType::get(shape, own.getElementType(), own.getEncoding()),
      type.getDevice(), type.getMemory());
  return cs::AllGatherOp::create(builder, op.getLoc(), gathered, name, message,
                                 FlatSymbolRefAttr());
}

/// gTop-k: in round s with the node whose number differs in bit s, and both select
/// again. All have the same list in the end.
Value Exchanger::mergeInRounds(const SelectionContext &context, StringRef name,
                               Value lists) {
  for (int64_t distance = 1, round = 0; distance < nodes; distance *= 2, ++round) {
    std::string suffix = (".round" + Twine(round)).str();
    Value both = cs::PairExchangeOp::create(builder, op.getLoc(), lists.getType(),
                                            (name + suffix).str(), lists, distance);
    bool isLast = 2 * distance >= nodes;
    lists = mergeTopK(context, ("merge." + name + suffix).str(), both, isLast ? 1 : 2);
  }
  return lists;
}

Value Exchanger::copyTo(Value value, unsigned device) {
  if (place::deviceOf(value) == device)
    return value;
  return cs::CopyOp::create(builder, op.getLoc(), onDevice(placedType(value), device), value);
}

/// Flat: every device selects from its own gradient.
FailureOr<Value> Exchanger::ofEachDevice() {
  SelectionContext context = contextOf(placedType(op.getValue()).getTensor());
  SmallVector<Value> own;
  bool several = gradient.isOfDevices();
  for (auto [device, value] : llvm::enumerate(gradient.ofDevices())) {
    std::string suffix = device == 0 ? "" : (".device" + Twine(device)).str();
    FailureOr<Kept> kept = states.keep(options.rules, suffix, placedType(value));
    if (failed(kept) || failed(computeAhead(*kept)))
      return failure();
    Selected selected = selectTopK(
        context, "top_k." + key + suffix, value, *kept,
        nodes * static_cast<int64_t>(gradient.ofDevices().size()), /*deferred=*/false);
    states.setNext(selected.kept.present());
    own.push_back(selected.message);
  }
  for (Value &message : own)
    message = copyTo(message, owner);
  Value joined = several ? cs::ConcatOp::create(builder, op.getLoc(), own).getResult()
                         : own.front();
  Value all = gather(key, joined);
  return scatterAdd(context, "scatter_add." + key, all, over(listsOf(all)));
}

/// Of what device of `value` has of the node's gradient.
FailureOr<Value> Exchanger::ofShard(StringRef suffix, Value value, bool deferred) {
  if (options.method == Method::okTopK && nodes > 1)
    return ofRegions(suffix, value, deferred);
  SelectionContext context = contextOf(placedType(value).getTensor());
  FailureOr<Kept> kept = states.keep(options.rules, suffix, placedType(value));
  if (failed(kept) || failed(computeAhead(*kept)))
    return failure();
  bool tree = options.method == Method::gTopK && nodes > 1;
  Selected selected = selectTopK(context, ("top_k." + key + suffix).str(), value, *kept,
                                 nodes, deferred, /*twice=*/tree);
  if (tree) {
    Value sent = mergeInRounds(context, (key + suffix).str(), selected.twice);
    if (Value &rest = selected.kept.residual)
      rest = giveBack(context, ("residual." + key + suffix).str(), rest, selected.message,
                      sent);
    states.setNext(selected.kept.present());
    return scatterAdd(context, ("scatter_add." + key + suffix).str(), sent, over(nodes));
  }
  states.setNext(selected.kept.present());
  Value all = gather((key + suffix).str(), selected.message);
  return scatterAdd(context, ("scatter_add." + key + suffix).str(), all, over(nodes));
}

/// Ok-Topk: regions of the indices, which nodes own, move with what is selected.
FailureOr<Value> Exchanger::ofRegions(StringRef suffix, Value value, bool deferred) {
  SelectionContext context = contextOf(placedType(value).getTensor());
  std::string name = (key + suffix).str();
  Regions regions(context.k, nodes);
  cs::PlacedType type = placedType(value);
  auto shiftsType = cs::PlacedType::get(
      func.getContext(), RankedTensorType::get({nodes - 1}, builder.getI32Type()),
      type.getDevice(), type.getMemory());
  FailureOr<Value> shifts = states.add(".regions" + suffix, shiftsType);
  if (failed(shifts))
    return failure();
  FailureOr<Kept> kept = states.keep(options.rules, suffix, type);
  if (failed(kept) || failed(computeAhead(*kept)))
    return failure();
  Split split =
      splitTopK(context, "top_k." + name, value, *kept, *shifts, regions, deferred);
  Value lists = cs::AllToAllOp::create(builder, op.getLoc(), split.lists.getType(),
                                       name + ".split", split.lists);
  Value own = mergeRegion(context, "merge." + name, lists, regions);
  Value result = gather(name, own);
  if (Value &rest = split.kept.residual)
    rest = giveBackRegions(context, "residual." + name, rest, lists, result, regions);
  SmallVector<Value> next{
      balanceRegions(context, "regions." + name, result, *shifts, regions)};
  llvm::append_range(next, split.kept.present());
  states.setNext(next);
  return scatterRegions(context, "scatter_add." + name, result, over(nodes), regions);
}

/// Hierarchical: combined in the node first, a shard on each device.
FailureOr<Value> Exchanger::ofShards() {
  SmallVector<RankedTensorType> types = gradient.shardTypes();
  auto shards = static_cast<unsigned>(types.size());
  if (shards == 1)
    return ofShard("", gradient.whole(), gradient.isOfDevices());
  SmallVector<ValueRange> cut; // by device
  for (Value value : gradient.ofDevices()) {
    SmallVector<Type> placed;
    for (RankedTensorType block : types)
      placed.push_back(cs::PlacedType::get(func.getContext(), block, place::deviceOf(value),
                                           cs::MemoryKind::device));
    cut.push_back(
        cs::SplitOp::create(builder, op.getLoc(), placed, value).getBlocks());
  }
  SmallVector<Value> joined;
  for (unsigned shard = 0; shard < shards; ++shard) {
    std::string suffix = (".shard" + Twine(shard)).str();
    SmallVector<Value> blocks;
    for (ValueRange blocksOfDevice : cut)
      blocks.push_back(copyTo(blocksOfDevice[shard], shard));
    Value sum = place::combine(builder, op.getLoc(), "sum." + key + suffix,
                               op.getReduction(), blocks, gradient.hasBody());
    FailureOr<Value> dense = ofShard(suffix, sum, /*deferred=*/true);
    if (failed(dense))
      return failure();
    joined.push_back(*dense);
  }
  for (Value &block : joined)
    block = copyTo(block, owner);
  return cs::ConcatOp::create(builder, op.getLoc(), joined).getResult();
}

/// Gradients are computed at the parameter less what this rank has kept of it.
LogicalResult Exchanger::computeAhead(const Kept &kept) {
  if (options.rules.unsentRate == 0 || !forward.contains(key))
    return success();
  if (gradient.isOfDevices())
    return op.emitOpError() << "of \"" << key << "\" cannot have an unsent rate on nodes of "
                            << gradient.ofDevices().size()
                            << " devices: their parameters are the owner's";
  sparse::computeAhead(func, op.getLoc(), key, forward, kept.residual,
                       options.rules.unsentRate, gradient.hasBody());
  return success();
}

LogicalResult Exchanger::run() {
  FailureOr<Value> result =
      options.method == Method::allGather ? ofEachDevice() : ofShards();
  if (failed(result))
    return failure();
  states.addResults();
  Value combined = op.getValue();
  op.getResult().replaceAllUsesWith(*result);
  op.erase();
  // What combined the devices' gradients as a whole.
  while (Operation *def = combined.getDefiningOp()) {
    if (!gradient.isOfDevices() || !def->use_empty() ||
        !(place::isDeviceCopy(def) || def == gradient.sum()))
      break;
    SmallVector<Value> inputs(def->getOperands());
    combined = inputs.front();
    bool isSum = def == gradient.sum();
    def->erase();
    if (!isSum)
      continue;
    for (Value input : inputs)
      if (Operation *copy = input.getDefiningOp();
          copy && place::isDeviceCopy(copy) && copy->use_empty())
        copy->erase();
    break;
  }
  return success();
}

/// All ranks have the same moments then, and must, or their parameters would drift apart. Where they
/// have selected before, and each has its own, those of the mean are made of all (runtime/session/own_states.h).
LogicalResult Exchanger::correctResult() {
  builder.setInsertionPointAfter(op);
  SelectionContext context = contextOf(placedType(op.getValue()).getTensor());
  FailureOr<Moments> moments =
      states.keepMoments(options.rules.correction, ".mean", placedType(op.getValue()));
  if (failed(moments))
    return failure();
  SmallVector<Value> inputs{op.getResult()};
  SmallVector<RankedTensorType> types{context.type};
  for (Value state : moments->present()) {
    inputs.push_back(state);
    types.push_back(placedType(state).getTensor());
  }
  const CorrectionRules &rules = options.rules.correction;
  FragmentMaker maker(context, "correct." + key, inputs, types,
                      10 * context.type.getNumElements(),
                      passesOfCorrection(rules) * place::bytesOf(placedType(inputs[0])),
                      /*deferred=*/true);
  if (maker.hasBody()) {
    auto [direction, next] =
        correct(maker.inside, op.getLoc(), maker.argument(0),
                moments->with(maker.arguments().drop_front()), rules, /*ranks=*/1);
    SmallVector<Value> returned{direction};
    llvm::append_range(returned, next.present());
    maker.finish(op.getLoc(), returned);
  }
  auto outputs = maker.fragment.getOutputs();
  op.getResult().replaceAllUsesExcept(outputs.front(), maker.fragment);
  states.setNext(outputs.drop_front());
  states.addResults();
  return success();
}

} // namespace

LogicalResult sparse::correctDense(func::FuncOp func, cs::AllReduceOp op,
                                   const NodeGradient &gradient, cs::ClusterOp cluster,
                                   const ExchangeOptions &options) {
  const ForwardUses none;
  return Exchanger(func, op, gradient, cluster, options, none).correctResult();
}

LogicalResult sparse::exchange(func::FuncOp func, cs::AllReduceOp op,
                               const NodeGradient &gradient, cs::ClusterOp cluster,
                               const ExchangeOptions &options, const ForwardUses &forward) {
  return Exchanger(func, op, gradient, cluster, options, forward).run();
}
