// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "reference/Ranks.h"

#include "ir/Cs.h"
#include "ir/CsDevices.h"
#include "ir/CsServerFunctions.h"
#include "ir/CsSparseOps.h"
#include "reference/Collectives.h"
#include "reference/RankStep.h"

using namespace mlir;
using namespace commsched;
using namespace commsched::reference;
using cs::CsDialect;

namespace {

/// What an argument or result of a function is of.
struct Role {
  enum Kind {
    Slot,
    Batch,
    WorkerIndex,
    Metric
  } kind;
  std::string name;
  cs::PlacedType type;
  std::optional<std::pair<int64_t, int64_t>> rows;
  bool perRank = false;

  RankedTensorType tensor() const { return type.getTensor(); }
};

FailureOr<Role> readRole(func::FuncOp function, Type type, DictionaryAttr attributes) {
  Role role{Role::Slot, "", dyn_cast<cs::PlacedType>(type), std::nullopt};
  if (!role.type)
    return function.emitError() << "must have placed values only, got: " << type;
  auto find = [&](StringRef attribute, Role::Kind kind) {
    if (!attributes)
      return;
    if (auto name = attributes.getAs<StringAttr>(attribute)) {
      role.kind = kind;
      role.name = name.str();
    }
  };
  for (StringRef slot :
       {CsDialect::kParamAttr, CsDialect::kStateAttr, CsDialect::kUpdatesAttr})
    find(slot, Role::Slot);
  find(CsDialect::kBatchAttr, Role::Batch);
  find(CsDialect::kMetricAttr, Role::Metric);
  if (attributes && attributes.contains(CsDialect::kWorkerIndexAttr)) {
    role.kind = Role::WorkerIndex;
    return role;
  }
  if (role.name.empty())
    return function.emitError("has an argument or result without a cs attribute that "
                              "names it");
  if (auto rows = attributes.getAs<DenseI64ArrayAttr>(CsDialect::kRowsAttr))
    role.rows = {rows[0], rows[1]};
  role.perRank = attributes.contains(cs::kPerRankAttr);
  return role;
}

struct Function {
  mutable func::FuncOp op; // a handle
  SmallVector<Role> arguments, results;
};

FailureOr<Function> readFunction(func::FuncOp op) {
  Function function{op, {}, {}};
  for (unsigned i = 0; i < op.getNumArguments(); ++i) {
    FailureOr<Role> role = readRole(op, op.getArgumentTypes()[i], op.getArgAttrDict(i));
    if (failed(role))
      return failure();
    function.arguments.push_back(*role);
  }
  for (unsigned i = 0; i < op.getNumResults(); ++i) {
    FailureOr<Role> role = readRole(op, op.getResultTypes()[i], op.getResultAttrDict(i));
    if (failed(role))
      return failure();
    function.results.push_back(*role);
  }
  return function;
}

/// First element in which they differ, as far as that is determined; -1: none.
int64_t findDifference(const Array &a, const Array &b) {
  for (int64_t i = 0; i < a.size(); ++i) {
    if (isUndetermined(a.bounds[i]) || isUndetermined(b.bounds[i]))
      continue;
    double x = a.at(i), y = b.at(i);
    if (x != y && !(std::isnan(x) && std::isnan(y)))
      return i;
  }
  return -1;
}

class Runner {
public:
  Runner(ModuleOp module, NamedArrays slots) : module(module), slots(std::move(slots)) {}

  LogicalResult prepare();
  FailureOr<StepResult> step(const NamedArrays &batch);
  int64_t workers() const { return nodes * devices; }

private:
  FailureOr<ArrayPtr> argumentOf(const Function &function, const Role &role, int64_t rank,
                                 const NamedArrays &batch);
  FailureOr<ArrayPtr> valueOf(const Function &function, const Role &role, int64_t rank);
  FailureOr<ArrayPtr> partOf(const Function &function, const Role &role, int64_t rank,
                             const NamedArrays &batch);
  LogicalResult put(const Function &function, const Role &role, const ArrayPtr &value,
                    const std::string &name, const Twine &owner);

  ModuleOp module;
  NamedArrays slots;
  int64_t nodes = 0;
  int64_t devices = 1;         // of a node, that get parts of a batch
  SmallVector<Function> steps; // of each rank
  SmallVector<Place> places;   // of each rank
  SmallVector<Function> servers;
  Interpreter interpreter;
  // Of the step that ends: rows that servers have put, and new values.
  NamedArrays next;
  std::map<std::string, std::string> owners;
};

LogicalResult Runner::prepare() {
  auto clusters = module.getOps<cs::ClusterOp>();
  if (clusters.empty())
    return module.emitError("needs a cs.cluster that says how many nodes there are");
  nodes = static_cast<int64_t>((*clusters.begin()).getNodes());
  SmallVector<func::FuncOp> found(nodes);
  int64_t taken = 0; // by functions that some of the ranks run
  func::FuncOp common;
  for (auto op : module.getOps<func::FuncOp>()) {
    if (cs::getServerIndex(op)) {
      FailureOr<Function> server = readFunction(op);
      if (failed(server))
        return failure();
      servers.push_back(*server);
    } else if (op->hasAttr(CsDialect::kStepAttr)) {
      auto rank = op->getAttrOfType<IntegerAttr>(CsDialect::kRankAttr);
      if (auto count = op->getAttrOfType<IntegerAttr>(CsDialect::kCountAttr); count && !rank) {
        for (int64_t i = 0; i < count.getInt(); ++i, ++taken) {
          if (taken == nodes)
            return op.emitError() << "is run by more ranks than the " << nodes
                                  << " of the cluster";
          found[taken] = op;
        }
        continue;
      }
      if (!rank && common)
        return op.emitError("is a second step");
      if (!rank)
        common = op;
      else if (rank.getInt() >= 0 && rank.getInt() < nodes)
        found[rank.getInt()] = op;
      else
        return op.emitError() << "is of a rank that the cluster does not have: "
                              << rank.getInt();
    }
  }
  for (auto [rank, op] : llvm::enumerate(found)) {
    if (!op)
      op = common;
    if (!op)
      return module.emitError() << "has no step of rank " << rank;
    if (!op.getBody().hasOneBlock())
      return op.emitError("must have one block");
    FailureOr<Function> function = readFunction(op);
    if (failed(function))
      return failure();
    steps.push_back(*function);
    devices = std::max(devices, cs::getBatchParts(op, *clusters.begin()));
    auto mode = op->getAttrOfType<cs::ServersAttr>(CsDialect::kServersAttr);
    if (mode && mode.getSyncMode() != cs::SyncMode::sync && nodes > 1)
      return op.emitError("has asynchronous parameter servers and several trainers: in "
                          "which order they arrive is not defined");
    if (mode && mode.getMerge() != 1)
      return op.emitError("merges the gradients of several steps, which is not "
                          "interpreted");
  }
  places = placesOf(found);
  return success();
}

/// Of a slot, what an argument has in the beginning of the step.
FailureOr<ArrayPtr> Runner::valueOf(const Function &function, const Role &role,
                                    int64_t rank) {
  std::string own = (role.name + ".rank" + Twine(rank)).str();
  auto slot = slots.find(role.perRank && slots.count(own) ? own : role.name);
  if (slot == slots.end()) {
    if (role.perRank)
      return makeZeros(role.tensor().getElementType(), role.tensor().getShape());
    return function.op.emitError() << "needs a value of \"" << role.name << "\"";
  }
  const Array &whole = *slot->second;
  SmallVector<int64_t> shape(role.tensor().getShape());
  int64_t begin = 0, width = 1;
  if (role.rows) {
    for (int64_t dim : ArrayRef<int64_t>(shape).drop_front())
      width *= dim;
    begin = role.rows->first * width;
    shape[0] = whole.shape.empty() ? 0 : whole.shape[0];
    if (shape[0] < role.rows->second)
      return function.op.emitError() << "has rows that \"" << role.name << "\" has not";
  }
  if (whole.elementType != role.tensor().getElementType() ||
      ArrayRef<int64_t>(whole.shape) != ArrayRef<int64_t>(shape))
    return function.op.emitError() << "\"" << role.name << "\" must be a "
                                   << RankedTensorType::get(shape, role.tensor().getElementType())
                                   << ", got: " << whole.type();
  if (!role.rows)
    return slot->second;
  return cut(whole, begin, role.tensor().getShape());
}

/// Of a batch, what an argument has: the part of its device, also of a batch that others do not
/// have because they do not use it; all on device 0 means one part for each rank.
FailureOr<ArrayPtr> Runner::partOf(const Function &function, const Role &role, int64_t rank,
                                   const NamedArrays &batch) {
  auto given = batch.find(role.name);
  if (given == batch.end())
    return function.op.emitError() << "needs a batch \"" << role.name << "\"";
  int64_t own = cs::getBatchParts(function.op, *module.getOps<cs::ClusterOp>().begin());
  int64_t before = role.type.getDevice();
  RankedTensorType type = role.tensor();
  SmallVector<int64_t> shape(type.getShape());
  if (!shape.empty())
    shape[0] *= places[rank].count * own;
  const Array &whole = *given->second;
  if (shape.empty() || whole.elementType != type.getElementType() ||
      ArrayRef<int64_t>(whole.shape) != ArrayRef<int64_t>(shape))
    return function.op.emitError()
           << "batch \"" << role.name << "\" must be a "
           << RankedTensorType::get(shape, type.getElementType()) << ", got: " << whole.type();
  return cut(whole, (places[rank].index * own + before) * type.getNumElements(),
             type.getShape());
}

FailureOr<ArrayPtr> Runner::argumentOf(const Function &function, const Role &role,
                                       int64_t rank, const NamedArrays &batch) {
  if (role.kind == Role::Batch)
    return partOf(function, role, rank, batch);
  if (role.kind != Role::WorkerIndex)
    return valueOf(function, role, rank);
  // Which part of a batch the device gets: those on device 0 alone are one for each rank.
  ArrayPtr index = makeZeros(role.tensor());
  int64_t parts = cs::getBatchParts(function.op, *module.getOps<cs::ClusterOp>().begin());
  index->ints[0] = places[rank].index * parts + role.type.getDevice();
  return index;
}

/// Takes a new value of a slot, or of rows of it, which must be that of all others who
/// have it: a whole comes before its rows.
LogicalResult Runner::put(const Function &function, const Role &role, const ArrayPtr &value,
                          const std::string &name, const Twine &owner) {
  if (value->hasUnwritten())
    return function.op.emitError() << "the new value of \"" << name << "\" has elements that "
                                   << "were never written on " << owner;
  std::string label = name;
  if (role.rows && !owners.count(name))
    label += "[" + std::to_string(role.rows->first) + "]";
  int64_t begin = 0;
  if (role.rows)
    begin = value->size() / std::max<int64_t>(value->shape[0], 1) * role.rows->first;
  if (owners.insert({label, owner.str()}).second) {
    ArrayPtr &whole = next[name];
    if (!role.rows) {
      whole = value;
      return success();
    }
    whole = std::make_shared<Array>(whole ? *whole : *slots.at(name));
    copyElements(*value, 0, value->size(), *whole, begin);
    return success();
  }
  ArrayPtr there = cut(*next[name], begin, value->shape);
  int64_t element = findDifference(*value, *there);
  if (element < 0)
    return success();
  return function.op.emitError()
         << "element " << begin + element << " of the new value of \"" << name << "\" is "
         << value->at(element) << " on " << owner << ", but " << there->at(element) << " on "
         << owners[label];
}

FailureOr<StepResult> Runner::step(const NamedArrays &batch) {
  SmallVector<func::FuncOp> functions;
  for (const Function &function : steps)
    functions.push_back(function.op);
  RankStep run(interpreter, functions, devices);
  for (auto [rank, function] : llvm::enumerate(steps)) {
    SmallVector<ArrayPtr> arguments;
    for (const Role &role : function.arguments) {
      FailureOr<ArrayPtr> value = argumentOf(function, role, rank, batch);
      if (failed(value))
        return failure();
      arguments.push_back(*value);
    }
    run.addRank(arguments);
  }
  for (const Function &function : servers) {
    SmallVector<ArrayPtr> arguments;
    for (const Role &role : function.arguments) {
      FailureOr<ArrayPtr> value = valueOf(function, role, 0);
      if (failed(value))
        return failure();
      arguments.push_back(*value);
    }
    run.addServer(function.op, arguments);
  }
  if (failed(run.run()))
    return failure();

  StepResult result;
  next.clear();
  owners.clear();
  for (auto [rank, function] : llvm::enumerate(steps))
    for (auto [role, value] : llvm::zip(function.results, run.resultsOfRank(rank))) {
      if (role.kind == Role::Metric) {
        if (places[rank].index == 0)
          result.metrics[role.name] = value;
        continue;
      }
      bool perRank = llvm::any_of(function.arguments, [&](const Role &argument) {
        return argument.name == role.name && argument.perRank;
      });
      std::string name = role.name;
      if (perRank)
        name += ".rank" + std::to_string(rank);
      if (failed(put(function, role, value, name, "rank " + Twine(rank))))
        return failure();
    }
  for (auto [index, function] : llvm::enumerate(servers))
    for (auto [role, value] : llvm::zip(function.results, run.resultsOfServer(index)))
      if (failed(put(function, role, value, role.name, "@" + function.op.getName())))
        return failure();
  for (auto &[name, value] : next)
    slots[name] = value;
  result.slots = slots;
  return result;
}

} // namespace

bool reference::isOfRanks(ModuleOp module) {
  return llvm::any_of(module.getOps<func::FuncOp>(), [](func::FuncOp op) {
    auto isPlaced = [](Type type) { return isa<cs::PlacedType>(type); };
    return op->hasAttr(CsDialect::kStepAttr) && (llvm::any_of(op.getArgumentTypes(), isPlaced) ||
                                                 llvm::any_of(op.getResultTypes(), isPlaced));
  });
}

FailureOr<int64_t> reference::countWorkers(ModuleOp module) {
  Runner runner(module, {});
  if (failed(runner.prepare()))
    return failure();
  return runner.workers();
}

FailureOr<std::vector<StepResult>> reference::runRankSteps(ModuleOp module, NamedArrays slots,
                                                           ArrayRef<NamedArrays> batches) {
  Runner runner(module, std::move(slots));
  if (failed(runner.prepare()))
    return failure();
  std::vector<StepResult> results;
  for (const NamedArrays &batch : batches) {
    FailureOr<StepResult> result = runner.step(batch);
    if (failed(result))
      return failure();
    results.push_back(std::move(*result));
  }
  return results;
}
