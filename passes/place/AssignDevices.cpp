// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/place/Passes.h"

#include "ir/CsDevices.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

#include "passes/place/Devices.h"
#include "passes/support/Module.h"

namespace commsched {
#define GEN_PASS_DEF_ASSIGNDEVICES
#include "passes/place/Passes.h.inc"
} // namespace commsched

using namespace mlir;
using namespace commsched;
using namespace commsched::place;

namespace {

/// A gradient: what communicates under the name of one parameter.
struct Item {
  int64_t bytes = 0;
  unsigned owner = 0;
  SmallVector<Operation *> ops;
  Operation *first() const { return ops.front(); }
};

/// Where carried tensors that only one device holds live, by name.
using Homes = llvm::StringMap<unsigned>;

/// Decides in the step; the other functions follow its homes.
class Assigner {
public:
  Assigner(func::FuncOp func, unsigned devices)
      : func(func), devices(devices), origins(func) {}

  void findItems();
  void assignOwners();
  void placeOps();
  /// Moves single carried tensors to their users, and notes where.
  void findHomes(Homes &homes);
  void rewrite(const Homes &homes);

private:
  StringRef paramOf(StringRef key) const;
  StringRef itemOfKey(StringRef key, bool givesGradient, Operation *op);
  Operation *sumOf(const Item &item);
  std::optional<unsigned> deviceOfDeferred(cs::FragmentOp fragment);
  unsigned placeOf(Operation *op) const;
  unsigned newDevice(Value value) const;
  void setDevice(Operation *op, unsigned device);
  llvm::StringMap<unsigned> countCarried();

  func::FuncOp func;
  unsigned devices;
  Origins origins;
  llvm::StringSet<> params;
  llvm::MapVector<StringRef, Item> items; // by parameter
  llvm::DenseMap<Operation *, StringRef> itemOf;
  llvm::DenseMap<Operation *, unsigned> places; // of ops that are not pinned
  llvm::DenseMap<Value, unsigned> argumentPlaces;
};

/// The parameter that a key belongs to, empty if none.
StringRef Assigner::paramOf(StringRef key) const {
  auto find = [&](StringRef name) {
    auto it = params.find(name);
    return it == params.end() ? StringRef() : it->first();
  };
  if (StringRef name = find(key); !name.empty())
    return name;
  // What a server gives back.
  if (key.consume_back(".new"))
    if (StringRef name = find(key); !name.empty())
      return name;
  size_t at = key.rfind(".block");
  if (at == StringRef::npos)
    return {};
  StringRef number = key.drop_front(at + StringRef(".block").size());
  return !number.empty() && llvm::all_of(number, llvm::isDigit)
             ? find(key.take_front(at))
             : StringRef();
}

/// The item of a communication: the parameter, or the block if blocks come to it
/// one by one. Empty if it is no gradient's.
StringRef Assigner::itemOfKey(StringRef key, bool givesGradient,
                              Operation *op) {
  StringRef param = paramOf(key);
  if (param.empty() || param == key)
    return param;
  StringRef block = key;
  block.consume_back(".new");
  if (items.contains(block))
    return block;
  bool alone = givesGradient && block == key &&
               !sourceOf(op->getOperand(0)).getDefiningOp<cs::SplitOp>();
  return alone ? block : param;
}

void Assigner::findItems() {
  for (BlockArgument argument : func.getArguments())
    if (auto name = func.getArgAttrOfType<StringAttr>(
            argument.getArgNumber(), cs::CsDialect::kParamAttr))
      params.insert(name.getValue());
  for (Operation &op : func.front()) {
    auto communication = dyn_cast<cs::CommunicationOpInterface>(op);
    if (!communication)
      continue;
    bool givesGradient =
        isa<cs::AllReduceOp, cs::ReduceOp, cs::ReduceScatterOp, cs::SendOp>(op);
    StringRef name =
        itemOfKey(communication.getCommunicationKey(), givesGradient, &op);
    if (name.empty())
      continue;
    auto *known = items.find(name);
    if (known == items.end() && !givesGradient)
      continue;
    Item &item = items[name];
    item.ops.push_back(&op);
    itemOf[&op] = name;
    if (givesGradient)
      item.bytes += bytesOf(placedType(op.getOperand(0)));
    Operation *split = op.getNumOperands()
                           ? op.getOperand(0).getDefiningOp<cs::SplitOp>()
                           : nullptr;
    if (split && itemOf.try_emplace(split, name).second)
      item.ops.push_back(split);
  }
}

void Assigner::assignOwners() {
  std::vector<int64_t> assigned(devices);
  for (auto &[name, item] : items) {
    auto least = std::min_element(assigned.begin(), assigned.end());
    item.owner = least - assigned.begin();
    *least += item.bytes;
    remarkAt(item.first()->getLoc(), "assign-devices", func.getName(), "owner",
             [&, &name = name, &item = item](raw_ostream &os) {
               os << "gradient \"" << name << "\": " << item.bytes
                  << " bytes to device " << item.owner << ", which has "
                  << *least << " bytes now";
             });
  }
}

/// The fragment that combines what the devices made of the gradient, null if
/// there is none: it reads from other devices, and only the item uses it.
Operation *Assigner::sumOf(const Item &item) {
  for (Operation *op : item.ops) {
    if (op->getNumOperands() == 0)
      continue;
    auto fragment = sourceOf(op->getOperand(0)).getDefiningOp<cs::FragmentOp>();
    if (!fragment || fragment.getOutputs().size() != 1)
      continue;
    llvm::DenseSet<unsigned> from;
    for (Value input : fragment.getInputs())
      if (origins.isLocal(input))
        from.insert(deviceOf(sourceOf(input)));
    auto belongs = [&](Operation *user) {
      if (isDeviceCopy(user))
        return llvm::all_of(user->getUsers(), [&](Operation *next) {
          return llvm::is_contained(item.ops, next);
        });
      return llvm::is_contained(item.ops, user);
    };
    if (from.size() > 1 && llvm::all_of(fragment->getUsers(), belongs))
      return fragment;
  }
  return nullptr;
}

unsigned Assigner::placeOf(Operation *op) const {
  if (auto known = places.find(op); known != places.end())
    return known->second;
  if (auto fragment = dyn_cast<cs::FragmentOp>(op))
    return fragment.getDevice();
  if (op->getNumResults())
    return deviceOf(op->getResult(0));
  return op->getNumOperands() ? deviceOf(op->getOperand(0)) : 0;
}

/// Of a value that is no copy.
unsigned Assigner::newDevice(Value value) const {
  if (Operation *def = value.getDefiningOp())
    return placeOf(def);
  auto known = argumentPlaces.find(value);
  return known == argumentPlaces.end() ? deviceOf(value) : known->second;
}

/// A fragment behind communications goes where the largest result of one is
/// that it reads, else the largest value that depends on one. First of equals.
std::optional<unsigned>
Assigner::deviceOfDeferred(cs::FragmentOp fragment) {
  std::optional<unsigned> device;
  std::pair<bool, int64_t> best;
  for (Value input : fragment.getInputs()) {
    Value source = sourceOf(input);
    Operation *def = source.getDefiningOp();
    if (!def || !origins.isCommunicated(source))
      continue;
    std::pair<bool, int64_t> rank(!isa<cs::FragmentOp>(def),
                                  bytesOf(placedType(source)));
    if (device && rank <= best)
      continue;
    best = rank;
    device = placeOf(def);
  }
  return device;
}

void Assigner::placeOps() {
  for (auto &[name, item] : items) {
    for (Operation *op : item.ops)
      places[op] = item.owner;
    if (Operation *sum = sumOf(item))
      places[sum] = item.owner;
  }
  // Where several devices join the same blocks, each needs its own.
  llvm::DenseMap<Value, unsigned> joined;
  for (auto concat : func.front().getOps<cs::ConcatOp>())
    ++joined[sourceOf(concat.getOperand(0))];
  // And what depends on them is computed by each.
  llvm::DenseSet<Operation *> stays;
  for (Operation &op : func.front()) {
    if (places.contains(&op))
      continue;
    bool isJoined = isa<cs::ConcatOp>(op) && joined.lookup(sourceOf(op.getOperand(0))) > 1;
    if (isJoined || (isa<cs::FragmentOp>(op) && llvm::any_of(op.getOperands(), [&](Value input) {
                       return stays.contains(input.getDefiningOp());
                     })))
      stays.insert(&op);
    if (stays.contains(&op))
      continue;
    if (isa<cs::SplitOp>(op) && origins.isLocal(sourceOf(op.getOperand(0))))
      continue;
    if (isa<cs::ConcatOp, cs::SplitOp>(op)) {
      places[&op] = newDevice(sourceOf(op.getOperand(0)));
      continue;
    }
    auto fragment = dyn_cast<cs::FragmentOp>(op);
    if (!fragment || llvm::any_of(fragment.getOutputs(), [&](Value output) {
          return origins.isLocal(output);
        }))
      continue;
    if (std::optional<unsigned> device = deviceOfDeferred(fragment))
      places[&op] = *device;
  }
}

/// How many arguments carry each name.
llvm::StringMap<unsigned> Assigner::countCarried() {
  llvm::StringMap<unsigned> count;
  for (BlockArgument argument : func.getArguments())
    if (StringAttr name = carriedName(func, argument.getArgNumber()))
      ++count[name.getValue()];
  return count;
}

void Assigner::findHomes(Homes &homes) {
  llvm::StringMap<unsigned> count = countCarried();
  for (BlockArgument argument : func.getArguments()) {
    StringAttr name = carriedName(func, argument.getArgNumber());
    if (!name || count.lookup(name.getValue()) != 1)
      continue;
    llvm::SmallDenseSet<unsigned> where;
    SmallVector<Value> values{argument};
    while (!values.empty())
      for (Operation *user : values.pop_back_val().getUsers()) {
        if (isDeviceCopy(user))
          values.push_back(user->getResult(0));
        else if (!isa<func::ReturnOp>(user))
          where.insert(placeOf(user));
      }
    homes[name.getValue()] =
        where.size() == 1 ? *where.begin() : deviceOf(argument);
  }
}

void Assigner::setDevice(Operation *op, unsigned device) {
  if (auto fragment = dyn_cast<cs::FragmentOp>(op))
    fragment.setDevice(device);
  for (Value result : op->getResults())
    result.setType(onDevice(placedType(result), device));
}

void Assigner::rewrite(const Homes &homes) {
  Block &block = func.front();
  Operation *ret = block.getTerminator();
  llvm::StringMap<unsigned> arguments = countCarried(), results;
  for (unsigned i = 0, e = func.getNumResults(); i < e; ++i)
    if (StringAttr name = updatedName(func, i))
      ++results[name.getValue()];
  // Where operands must be, before anything moves.
  llvm::DenseMap<Operation *, unsigned> at;
  for (Operation &op : block.without_terminator())
    at[&op] = placeOf(&op);
  SmallVector<unsigned> resultPlaces;
  for (auto [i, value] : llvm::enumerate(ret->getOperands())) {
    StringAttr name = updatedName(func, i);
    unsigned device = deviceOf(value);
    if (name && results.lookup(name.getValue()) == 1)
      if (auto home = homes.find(name.getValue()); home != homes.end())
        device = home->second;
    resultPlaces.push_back(device);
  }
  // Copies go, to come back where they are needed.
  SmallVector<Operation *> copies;
  for (Operation &op : block) {
    if (isDeviceCopy(&op))
      copies.push_back(&op);
    else
      for (OpOperand &operand : op.getOpOperands())
        operand.set(sourceOf(operand.get()));
  }
  for (Operation *copy : llvm::reverse(copies))
    copy->erase();
  llvm::StringMap<SmallVector<BlockArgument>> carried;
  for (BlockArgument argument : block.getArguments()) {
    StringAttr name = carriedName(func, argument.getArgNumber());
    if (!name)
      continue;
    auto home = homes.find(name.getValue());
    if (arguments.lookup(name.getValue()) == 1 && home != homes.end())
      argument.setType(onDevice(placedType(argument), home->second));
    carried[name.getValue()].push_back(argument);
  }
  for (Operation &op : block.without_terminator())
    if (auto known = places.find(&op); known != places.end())
      setDevice(&op, known->second);
  CopyMaker maker;
  auto fetch = [&](OpOperand &operand, unsigned device) {
    Value value = operand.get();
    if (deviceOf(value) == device)
      return;
    // A carried tensor may be there already.
    if (auto argument = dyn_cast<BlockArgument>(value))
      if (StringAttr name = carriedName(func, argument.getArgNumber()))
        for (BlockArgument other : carried[name.getValue()])
          if (deviceOf(other) == device)
            return operand.set(other);
    operand.set(maker.get(value, device));
  };
  for (Operation &op : llvm::make_early_inc_range(block.without_terminator()))
    if (!isDeviceCopy(&op))
      for (OpOperand &operand : op.getOpOperands())
        fetch(operand, at.lookup(&op));
  for (auto [operand, device] : llvm::zip(ret->getOpOperands(), resultPlaces))
    fetch(operand, device);
  func.setFunctionType(FunctionType::get(func.getContext(),
                                         block.getArgumentTypes(),
                                         ret->getOperandTypes()));
}

struct AssignDevices : commsched::impl::AssignDevicesBase<AssignDevices> {
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
    auto devices = static_cast<unsigned>(cluster->getDevices());
    for (func::FuncOp func : *functions)
      if (failed(cs::verifyDevices(func, *cluster)))
        return failure();
    if (devices == 1)
      return success();
    // Without a step nothing is to be assigned.
    auto *step = llvm::find_if(*functions, [](func::FuncOp func) {
      return func->hasAttr(cs::CsDialect::kStepAttr);
    });
    if (step == functions->end())
      return success();
    Homes homes;
    Assigner decider(*step, devices);
    decider.findItems();
    decider.assignOwners();
    decider.placeOps();
    decider.findHomes(homes);
    decider.rewrite(homes);
    for (func::FuncOp func : *functions)
      if (func != *step)
        Assigner(func, devices).rewrite(homes);
    return success();
  }
};

} // namespace
