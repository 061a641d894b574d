// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/place/Passes.h"

#include "ir/CsDevices.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"

#include "passes/place/CombineDevices.h"
#include "passes/place/Devices.h"
#include "passes/place/Replicas.h"
#include "passes/place/ShardGradients.h"
#include "passes/support/Module.h"

namespace commsched {
#define GEN_PASS_DEF_REPLICATEDEVICES
#include "passes/place/Passes.h.inc"
} // namespace commsched

using namespace mlir;
using namespace commsched;
using namespace commsched::place;

namespace {

constexpr unsigned kOwner = 0;

bool isOnSeveralDevices(func::FuncOp func) {
  auto isElsewhere = [](Type type) {
    auto placed = dyn_cast<cs::PlacedType>(type);
    return placed && placed.getDevice() != kOwner;
  };
  if (llvm::any_of(func.getArgumentTypes(), isElsewhere))
    return true;
  return llvm::any_of(func.front(), [&](Operation &op) {
    return llvm::any_of(op.getResultTypes(), isElsewhere);
  });
}

constexpr StringLiteral kSum = "sum.";

/// What --assign-devices has spread of a step for one device would go on with the samples of that one.
LogicalResult checkIsReplicated(func::FuncOp func, cs::ClusterOp cluster) {
  if (!func->hasAttr(cs::CsDialect::kStepAttr) || cs::getBatchParts(func, cluster) > 1)
    return success();
  bool changes = func->hasAttr(cs::CsDialect::kGradientReductionAttr); // sums
  for (unsigned i = 0, e = func.getNumArguments(); i < e; ++i)
    changes |= func.getArgAttr(i, cs::CsDialect::kBatchAttr) || func.getArgAttr(i, cs::CsDialect::kWorkerIndexAttr);
  if (!changes)
    return success();
  return func.emitOpError("is on several devices, but its samples on device 0 alone: run --replicate-devices "
                          "directly behind --insert-dist-comm");
}

class Replicator {
public:
  Replicator(func::FuncOp func, unsigned devices, bool byBlock, const Replicas &replicas)
      : func(func), devices(devices), byBlock(byBlock), replicas(replicas),
        origins(replicas.origins()) {}

  void rewrite(const Everywhere &everywhere);

private:
  void addArguments(const Everywhere &everywhere);
  void addFragments();
  void replicateHere(cs::FragmentOp fragment);
  void shard(cs::AllReduceOp op, GradientSharder &sharder);
  SmallVector<Operation *> findCombining();
  void combineOperands(ArrayRef<Operation *> users);
  void repeatOperands();
  void combineBlocks(cs::SplitOp split);
  void addResults(const Everywhere &everywhere);
  Value get(Value value, unsigned device);
  Value combineAt(Operation *user, Value value, cs::Reduction reduction,
                  StringRef name, bool withBody = true);

  func::FuncOp func;
  unsigned devices;
  bool byBlock;
  const Replicas &replicas;
  const Origins &origins;
  /// Of a value of device 0: the one of device d, at d - 1.
  llvm::DenseMap<Value, SmallVector<Value>> versions;
  CopyMaker copies;
};

/// `value` as it is on `device`.
Value Replicator::get(Value value, unsigned device) {
  if (device == kOwner)
    return value;
  if (auto known = versions.find(value); known != versions.end())
    return known->second[device - 1];
  auto concat = value.getDefiningOp<cs::ConcatOp>();
  if (!concat || !byBlock)
    return copies.get(value, device);
  SmallVector<Value> &others = versions[value];
  OpBuilder builder(concat);
  for (unsigned to = devices - 1; to > 0; --to) {
    builder.setInsertionPointAfter(concat);
    SmallVector<Value> blocks;
    for (Value block : concat.getBlocks())
      blocks.push_back(copies.get(block, to));
    others.insert(others.begin(),
                  cs::ConcatOp::create(builder, concat.getLoc(),
                                       onDevice(placedType(value), to), blocks));
  }
  return others[device - 1];
}

void Replicator::addArguments(const Everywhere &everywhere) {
  llvm::DenseSet<Value> returned(func.front().back().operand_begin(),
                                 func.front().back().operand_end());
  SmallVector<unsigned> places;
  SmallVector<Type> types;
  SmallVector<DictionaryAttr> attrs;
  SmallVector<Location> locs;
  SmallVector<Value> whose;
  // Where no device reads samples, each has its own all the same: they are what is counted.
  bool reads = llvm::any_of(func.getArguments(), [&](BlockArgument argument) {
    return !carriedName(func, argument.getArgNumber()) && replicas.isRead(argument);
  });
  for (BlockArgument argument : func.getArguments()) {
    unsigned i = argument.getArgNumber();
    StringAttr name = carriedName(func, i);
    bool isThere =
        name ? everywhere.contains(name.getValue()) &&
                   (replicas.isRead(argument) || returned.contains(argument))
             : replicas.isRead(argument) || (!reads && func.getArgAttr(i, cs::CsDialect::kBatchAttr));
    if (!isThere)
      continue;
    for (unsigned device = 1; device < devices; ++device) {
      places.push_back(i + 1);
      types.push_back(onDevice(placedType(argument), device));
      attrs.push_back(func.getArgAttrDict(i));
      locs.push_back(argument.getLoc());
      whose.push_back(argument);
    }
  }
  (void)func.insertArguments(places, types, attrs, locs);
  for (Value first : whose) {
    unsigned i = cast<BlockArgument>(first).getArgNumber();
    SmallVector<Value> &others = versions[first];
    if (others.empty())
      for (unsigned device = 1; device < devices; ++device)
        others.push_back(func.getArgument(i + device));
  }
}

void Replicator::addFragments() {
  GradientSharder sharder(func);
  for (Operation &op : llvm::make_early_inc_range(func.front()))
    if (auto fragment = dyn_cast<cs::FragmentOp>(op); fragment && replicas.runsEverywhere(fragment))
      replicateHere(fragment);
    else if (replicas.shardsOf(&op))
      shard(cast<cs::AllReduceOp>(op), sharder);
}

void Replicator::replicateHere(cs::FragmentOp fragment) {
  OpBuilder builder(fragment);
  builder.setInsertionPointAfter(fragment);
  for (unsigned device = 1; device < devices; ++device) {
    IRMapping mapping;
    for (Value input : fragment.getInputs())
      mapping.map(input, get(input, device));
    auto clone = cast<cs::FragmentOp>(builder.clone(*fragment, mapping));
    clone.setDevice(device);
    clone.setLabel((fragment.getLabel() + ".device" + Twine(device)).str());
    for (auto [from, to] : llvm::zip(fragment.getOutputs(), clone.getOutputs())) {
      to.setType(onDevice(placedType(from), device));
      versions[from].push_back(to);
    }
  }
}

void Replicator::shard(cs::AllReduceOp op, GradientSharder &sharder) {
  SmallVector<Value> values;
  for (unsigned device = 0; device < devices; ++device)
    values.push_back(get(op.getValue(), device));
  SmallVector<Value> joined = sharder.shard(op, values, replicas.shardsOf(op));
  versions[joined.front()].assign(std::next(joined.begin()), joined.end());
  op.getResult().replaceAllUsesWith(joined.front());
  remarkAt(op.getLoc(), "replicate-devices", func.getName(), "shard", [&](raw_ostream &os) {
    os << "\"" << op.getKey() << "\": " << cs::stringifyReduction(op.getReduction()) << " of "
       << devices << " devices in shards, " << replicas.shardsOf(op) << " on each, "
       << 2 * (devices - 1) * bytesOf(placedType(op.getValue())) << " bytes copied";
  });
  op.erase();
}

/// The combined value of all devices, in front of `user`.
Value Replicator::combineAt(Operation *user, Value value,
                            cs::Reduction reduction, StringRef name,
                            bool withBody) {
  OpBuilder builder(user);
  SmallVector<Value> parts{value};
  for (unsigned device = 1; device < devices; ++device) {
    Value part = get(value, device);
    parts.push_back(cs::CopyOp::create(
        builder, part.getLoc(), onDevice(placedType(part), kOwner), part));
  }
  auto made = value.getDefiningOp<cs::FragmentOp>();
  remarkAt(user->getLoc(), "replicate-devices", func.getName(), "combine",
           [&](raw_ostream &os) {
             os << "\"" << name << "\": " << cs::stringifyReduction(reduction)
                << " of " << devices << " devices on device " << kOwner << ", "
                << (devices - 1) * bytesOf(placedType(value))
                << " bytes copied";
           });
  return combine(builder, user->getLoc(), (kSum + name).str(), reduction,
                 parts, made ? made.hasBody() : withBody);
}

/// What takes a value of all devices, as the program has it: not in shards.
SmallVector<Operation *> Replicator::findCombining() {
  SmallVector<Operation *> users;
  for (Operation &op : func.front().without_terminator())
    if (!isa<cs::FragmentOp>(op) && op.getNumOperands() == 1 &&
        origins.isLocal(op.getOperand(0)) &&
        !op.getOperand(0).getDefiningOp<cs::SplitOp>() && !replicas.shardsOf(&op))
      users.push_back(&op);
  return users;
}

void Replicator::combineOperands(ArrayRef<Operation *> users) {
  for (Operation *user : users) {
    if (auto split = dyn_cast<cs::SplitOp>(user); split && byBlock) {
      combineBlocks(split);
      continue;
    }
    auto [reduction, name] = combination(user);
    user->setOperand(0,
                     combineAt(user, user->getOperand(0), reduction, name));
  }
}

/// What is the same everywhere is made once a node, but a sum counts it once for
/// each device. What a node has alone it counts once.
void Replicator::repeatOperands() {
  SmallVector<Operation *> users;
  for (Operation &op : func.front().without_terminator()) {
    if (op.getNumOperands() != 1 || origins.isLocal(op.getOperand(0)) ||
        origins.isOfNode(op.getOperand(0)))
      continue;
    auto split = dyn_cast<cs::SplitOp>(op);
    bool isSent = split && llvm::all_of(split.getBlocks(), [](Value block) {
                    return !block.use_empty() &&
                           llvm::all_of(block.getUsers(), llvm::IsaPred<cs::SendOp>);
                  });
    bool isWhole = isa<cs::AllReduceOp, cs::ReduceOp, cs::ReduceScatterOp, cs::SendOp>(op) &&
                   !op.getOperand(0).getDefiningOp<cs::SplitOp>();
    if ((isSent || isWhole) && combination(&op).first == cs::Reduction::sum)
      users.push_back(&op);
  }
  for (Operation *user : users) {
    OpBuilder builder(user);
    Value value = user->getOperand(0);
    auto made = value.getDefiningOp<cs::FragmentOp>();
    user->setOperand(0, combine(builder, user->getLoc(), (kSum + combination(user).second).str(),
                                cs::Reduction::sum, SmallVector<Value>(devices, value),
                                !made || made.hasBody()));
  }
}

/// Every device splits its own value, and the blocks are combined one by one.
void Replicator::combineBlocks(cs::SplitOp split) {
  OpBuilder builder(split);
  builder.setInsertionPointAfter(split);
  SmallVector<Type> types(split.getResultTypes());
  for (unsigned device = 1; device < devices; ++device) {
    SmallVector<Type> own;
    for (Type type : types)
      own.push_back(onDevice(cast<cs::PlacedType>(type), device));
    auto part = cs::SplitOp::create(builder, split.getLoc(), own,
                                    get(split.getValue(), device));
    for (auto [from, to] : llvm::zip(split.getBlocks(), part.getBlocks()))
      versions[from].push_back(to);
  }
  bool withBody = true;
  if (auto made = split.getValue().getDefiningOp<cs::FragmentOp>())
    withBody = made.hasBody();
  for (Value block : split.getBlocks())
    for (Operation *user : llvm::make_early_inc_range(block.getUsers())) {
      auto [reduction, name] = combination(user);
      user->setOperand(0, combineAt(user, block, reduction, name, withBody));
    }
}

void Replicator::addResults(const Everywhere &everywhere) {
  Operation *ret = func.front().getTerminator();
  SmallVector<Value> values;
  SmallVector<DictionaryAttr> attrs;
  for (auto [i, value] : llvm::enumerate(ret->getOperands())) {
    StringAttr name = updatedName(func, i);
    auto attr = DictionaryAttr::get(func.getContext(),
                                    llvm::to_vector(func.getResultAttrs(i)));
    if (!name && origins.isLocal(value)) {
      auto metric =
          func.getResultAttrOfType<StringAttr>(i, cs::CsDialect::kMetricAttr);
      values.push_back(combineAt(ret, value, cs::Reduction::mean,
                                 metric ? metric.getValue() : "result"));
    } else {
      values.push_back(value);
    }
    attrs.push_back(attr);
    if (name && everywhere.contains(name.getValue()))
      for (unsigned device = 1; device < devices; ++device) {
        values.push_back(get(value, device));
        attrs.push_back(attr);
      }
  }
  ret->setOperands(values);
  func.setFunctionType(FunctionType::get(func.getContext(),
                                         func.front().getArgumentTypes(),
                                         ValueRange(values).getTypes()));
  func.setAllResultAttrs(attrs);
}

void Replicator::rewrite(const Everywhere &everywhere) {
  addArguments(everywhere);
  repeatOperands();
  SmallVector<Operation *> combining = findCombining();
  addFragments();
  combineOperands(combining);
  addResults(everywhere);
  remarkAt(func.getLoc(), "replicate-devices", func.getName(), "devices",
           [&](raw_ostream &os) {
             os << "@" << func.getName() << ": " << replicas.size()
                << " fragments on each of " << devices << " devices";
           });
}

struct ReplicateDevices
    : commsched::impl::ReplicateDevicesBase<ReplicateDevices> {
  using ReplicateDevicesBase::ReplicateDevicesBase;

  void runOnOperation() override {
    if (failed(run()))
      signalPassFailure();
  }

  LogicalResult run() {
    FailureOr<SmallVector<func::FuncOp>> functions =
        trainerFunctions(getOperation(), getArgument());
    if (failed(functions))
      return failure();
    if (functions->empty())
      return success();
    FailureOr<cs::ClusterOp> cluster = findCluster(getOperation());
    if (failed(cluster))
      return failure();
    for (func::FuncOp func : *functions)
      if (failed(cs::verifyDevices(func, *cluster)))
        return failure();
    auto devices = static_cast<unsigned>(cluster->getDevices());
    if (devices == 1)
      return success();
    // All or none: what the functions carry must fit together.
    bool isDone = false;
    for (func::FuncOp func : *functions) {
      bool isMade = func->hasAttr(cs::CsDialect::kDevicesAttr), isSpread = isOnSeveralDevices(func);
      if (!isMade && isSpread && failed(checkIsReplicated(func, *cluster)))
        return failure();
      isDone |= isMade || isSpread;
    }
    if (isDone)
      return success();
    Everywhere everywhere;
    std::vector<Replicas> replicas;
    for (func::FuncOp func : *functions)
      if (failed(replicas.emplace_back(func, *cluster).find(hierarchical, everywhere)))
        return failure();
    for (auto [func, own] : llvm::zip(*functions, replicas)) {
      Replicator(func, devices, byBlock, own).rewrite(everywhere);
      if (func->hasAttr(cs::CsDialect::kStepAttr))
        func->setAttr(cs::CsDialect::kDevicesAttr, Builder(func).getI64IntegerAttr(devices));
    }
    return success();
  }
};

} // namespace
