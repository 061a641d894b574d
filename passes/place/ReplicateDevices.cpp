// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/place/Passes.h"

#include "ir/CsGroups.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/StringSet.h"

#include "passes/place/CombineDevices.h"
#include "passes/place/Devices.h"
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

/// Carried tensors that all devices hold, by name.
using Everywhere = llvm::StringSet<>;

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

class Replicator {
public:
  /// `shards`: of the gradients that it pays for.
  Replicator(func::FuncOp func, cs::ClusterOp cluster, bool byBlock, bool shards)
      : func(func), cluster(cluster), devices(static_cast<unsigned>(cluster.getDevices())),
        byBlock(byBlock), shards(shards), origins(func) {}

  /// Finds what runs on every device; adds what it reads to `everywhere`.
  LogicalResult analyse(Everywhere &everywhere);
  void rewrite(const Everywhere &everywhere);

private:
  LogicalResult check(Operation &op);
  void replicate(cs::FragmentOp fragment);
  void findSharded();
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
  cs::ClusterOp cluster;
  unsigned devices;
  bool byBlock, shards;
  Origins origins;
  llvm::DenseMap<Operation *, int64_t> sharded; // cs.all_reduce: shards of a device
  llvm::DenseSet<Operation *> replicated;
  /// Arguments of which all devices have their own: fragments read them, or they
  /// are combined.
  llvm::DenseSet<Value> read;
  /// Of a value of device 0: the one of device d, at d - 1.
  llvm::DenseMap<Value, SmallVector<Value>> versions;
  CopyMaker copies;
};

/// What a message to a server is combined by there.
std::optional<cs::Reduction> reductionAtServer(cs::SendOp send) {
  if (!send.getRole())
    return std::nullopt;
  auto server = dyn_cast_or_null<func::FuncOp>(
      send->getParentOfType<ModuleOp>().lookupSymbol(*send.getRole()));
  if (!server || server.isExternal())
    return std::nullopt;
  std::optional<cs::Reduction> found;
  server.walk([&](cs::CollectOp collect) {
    if (collect.getKey() == send.getKey())
      found = collect.getReduction();
  });
  return found;
}

/// How the devices' values combine for `op`, and for what.
std::pair<cs::Reduction, std::string> combination(Operation *op) {
  if (auto allReduce = dyn_cast<cs::AllReduceOp>(op))
    return {allReduce.getReduction(), allReduce.getKey().str()};
  if (auto reduce = dyn_cast<cs::ReduceOp>(op))
    return {reduce.getReduction(), reduce.getKey().str()};
  if (auto scatter = dyn_cast<cs::ReduceScatterOp>(op))
    return {scatter.getReduction(), scatter.getKey().str()};
  if (auto send = dyn_cast<cs::SendOp>(op))
    return {reductionAtServer(send).value_or(cs::Reduction::mean),
            send.getKey().str()};
  // A split: what its first block is sent as, without the block.
  for (Operation *user : op->getResult(0).getUsers()) {
    auto [reduction, name] = combination(user);
    StringRef key = name;
    size_t at = key.rfind(".block");
    return {reduction, key.take_front(at).str()};
  }
  llvm_unreachable("checked by Replicator::check");
}

LogicalResult Replicator::check(Operation &op) {
  if (isa<cs::FragmentOp>(op))
    return success();
  auto isLocal = [&](Value value) { return origins.isLocal(value); };
  if (llvm::none_of(op.getOperands(), isLocal))
    return success();
  if (cs::getGroupName(&op))
    return op.emitOpError() << "is in " << cs::getGroupName(&op)
                            << ": groups are of nodes with one device";
  if (auto ret = dyn_cast<func::ReturnOp>(op)) {
    for (auto [i, value] : llvm::enumerate(ret.getOperands())) {
      if (!isLocal(value))
        continue;
      if (updatedName(func, i))
        return func.emitOpError()
               << "result " << i << ", the new value of "
               << updatedName(func, i)
               << ", depends on the batch or the worker's index without a "
                  "communication: devices would drift apart";
      if (!isa<FloatType>(placedType(value).getTensor().getElementType()))
        return func.emitOpError()
               << "result " << i
               << " must be floating-point to be averaged over the devices, "
                  "got: "
               << value.getType();
    }
    return success();
  }
  if (auto split = dyn_cast<cs::SplitOp>(op)) {
    for (Value block : split.getBlocks())
      if (block.use_empty() ||
          !llvm::all_of(block.getUsers(), llvm::IsaPred<cs::SendOp>))
        return op.emitOpError("must be of blocks to send, to be combined over "
                              "the devices");
  } else if (!isa<cs::AllReduceOp, cs::ReduceOp, cs::ReduceScatterOp,
                  cs::SendOp>(op)) {
    return op.emitOpError("works on what differs between the devices of a "
                          "node, and does not combine it");
  } else if (isa<cs::SendOp>(op) && op.getOperand(0).getDefiningOp<cs::SplitOp>()) {
    return success();
  }
  cs::Reduction reduction = combination(&op).first;
  Type element = placedType(op.getOperand(0)).getTensor().getElementType();
  if (reduction == cs::Reduction::mean && !isa<FloatType>(element))
    return op.emitOpError("takes a mean over the devices, which needs a "
                          "floating-point element type, got: ")
           << element;
  return success();
}

void Replicator::replicate(cs::FragmentOp fragment) {
  SmallVector<cs::FragmentOp> worklist{fragment};
  while (!worklist.empty()) {
    cs::FragmentOp next = worklist.pop_back_val();
    if (!replicated.insert(next).second)
      continue;
    for (Value input : next.getInputs()) {
      if (isa<BlockArgument>(input))
        read.insert(input);
      // Computing it again takes less than moving it.
      else if (auto def = input.getDefiningOp<cs::FragmentOp>();
               def && llvm::none_of(def.getOutputs(), [&](Value output) {
                 return origins.isCommunicated(output);
               }))
        worklist.push_back(def);
    }
  }
}

/// What is joined again on every device is used there: each computes all that depends
/// on it, updates above all.
void Replicator::findSharded() {
  llvm::DenseSet<Value> everywhere;
  for (Operation &op : func.front()) {
    auto reduce = dyn_cast<cs::AllReduceOp>(op);
    auto fragment = dyn_cast<cs::FragmentOp>(op);
    int64_t ofDevice = reduce && origins.isLocal(reduce.getValue())
                           ? shardsOfDevice(reduce, cluster)
                           : 0;
    if (ofDevice) {
      sharded[reduce] = ofDevice;
      everywhere.insert(reduce.getResult());
    } else if (fragment && llvm::any_of(fragment.getInputs(), [&](Value input) {
                 return everywhere.contains(input);
               })) {
      replicate(fragment);
      everywhere.insert(fragment.getOutputs().begin(), fragment.getOutputs().end());
    }
  }
}

LogicalResult Replicator::analyse(Everywhere &everywhere) {
  for (Operation &op : func.front()) {
    if (failed(check(op)))
      return failure();
    // A part of the batch that is combined as it is: each device has its own.
    if (!isa<cs::FragmentOp>(op))
      for (Value operand : op.getOperands())
        if (isa<BlockArgument>(operand) && origins.isLocal(operand))
          read.insert(operand);
    if (auto fragment = dyn_cast<cs::FragmentOp>(op))
      if (llvm::any_of(fragment.getOutputs(), [&](Value output) {
            return origins.isLocal(output);
          }))
        replicate(fragment);
  }
  if (shards)
    findSharded();
  for (BlockArgument argument : func.getArguments())
    if (StringAttr name = carriedName(func, argument.getArgNumber());
        name && read.contains(argument))
      everywhere.insert(name.getValue());
  return success();
}

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
  for (BlockArgument argument : func.getArguments()) {
    unsigned i = argument.getArgNumber();
    StringAttr name = carriedName(func, i);
    bool isThere =
        name ? everywhere.contains(name.getValue()) &&
                   (read.contains(argument) || returned.contains(argument))
             : read.contains(argument);
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
    if (auto fragment = dyn_cast<cs::FragmentOp>(op); fragment && replicated.contains(&op))
      replicateHere(fragment);
    else if (sharded.contains(&op))
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
  SmallVector<Value> joined = sharder.shard(op, values, sharded.lookup(op));
  versions[joined.front()].assign(std::next(joined.begin()), joined.end());
  op.getResult().replaceAllUsesWith(joined.front());
  remarkAt(op.getLoc(), "replicate-devices", func.getName(), "shard", [&](raw_ostream &os) {
    os << "\"" << op.getKey() << "\": " << cs::stringifyReduction(op.getReduction()) << " of "
       << devices << " devices in shards, " << sharded.lookup(op) << " on each, "
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
  return combine(builder, user->getLoc(), ("sum." + name).str(), reduction,
                 parts, made ? made.hasBody() : withBody);
}

/// What takes a value of all devices, as the program has it: not in shards.
SmallVector<Operation *> Replicator::findCombining() {
  SmallVector<Operation *> users;
  for (Operation &op : func.front().without_terminator())
    if (!isa<cs::FragmentOp>(op) && op.getNumOperands() == 1 &&
        origins.isLocal(op.getOperand(0)) &&
        !op.getOperand(0).getDefiningOp<cs::SplitOp>() && !sharded.contains(&op))
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
/// each device.
void Replicator::repeatOperands() {
  SmallVector<Operation *> users;
  for (Operation &op : func.front().without_terminator()) {
    if (op.getNumOperands() != 1 || origins.isLocal(op.getOperand(0)))
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
    user->setOperand(0, combine(builder, user->getLoc(), "sum." + combination(user).second,
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
             os << "@" << func.getName() << ": " << replicated.size()
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
    // All or none: what the functions carry must fit together.
    if (cluster->getDevices() == 1 || llvm::any_of(*functions, isOnSeveralDevices))
      return success();
    Everywhere everywhere;
    std::vector<Replicator> replicators;
    for (func::FuncOp func : *functions) {
      replicators.emplace_back(func, *cluster, byBlock, hierarchical);
      if (failed(replicators.back().analyse(everywhere)))
        return failure();
    }
    for (Replicator &replicator : replicators)
      replicator.rewrite(everywhere);
    return success();
  }
};

} // namespace
