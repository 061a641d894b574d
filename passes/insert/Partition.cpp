// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/insert/Partition.h"

#include <map>

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace commsched;

namespace {

/// See the head of Partition.h. Level -1 is 'none'.
struct Group {
  static constexpr int kShared = -1;
  int level = -1, communication = kShared;
  bool isNone() const { return level < 0; }
  bool operator==(const Group &) const = default;
  auto operator<=>(const Group &) const = default;
};

/// Groups of operands, collected.
class Join {
public:
  void add(Group group) {
    level = std::max(level, group.level);
    if (group.isNone() || group.communication == Group::kShared)
      return;
    ownLevel = std::max(ownLevel, group.level);
    several |= own != Group::kShared && own != group.communication;
    own = group.communication;
  }
  Group result() const {
    if (several)
      return {std::max(level, ownLevel + 1), Group::kShared};
    return {level, own};
  }

private:
  int level = -1, ownLevel = -1, own = Group::kShared;
  bool several = false;
};

/// A value that a top-level op uses: result of op `op`, or argument `-1 - op`.
using Ref = int;

class Partitioner {
public:
  Partitioner(const ProgramFunction &function)
      : function(function), block(function.func.front()) {}

  FailureOr<Partition> run() {
    if (failed(readOps()) || failed(planGradients()) || failed(classify()) ||
        failed(planResults()))
      return failure();
    findLive();
    sink();
    cutCompute();
    groupDeferred();
    placeCommunications();
    return std::move(plan);
  }

private:
  LogicalResult readOps();
  LogicalResult checkOp(Operation *op);
  LogicalResult planGradients();
  LogicalResult classify();
  LogicalResult planResults();
  void findLive();
  void sink();
  void cutCompute();
  void groupDeferred();
  void placeCommunications();

  ArrayRef<Ref> refsOf(int op) const {
    return ArrayRef(refs).slice(firstRef[op], firstRef[op + 1] - firstRef[op]);
  }
  Ref refOf(Value value) const {
    if (auto argument = dyn_cast<BlockArgument>(value))
      return -1 - static_cast<int>(argument.getArgNumber());
    return index.lookup(value.getDefiningOp());
  }
  bool isCarried(Ref ref) const {
    return ref < 0 && function.arguments[-1 - ref].isCarried();
  }
  Group groupOf(Ref ref) const { return ref < 0 ? Group() : groups[ref]; }
  bool isRepeatable(int op) const;
  bool isCheap(Operation *op) const;
  /// In a fragment for its own sake, not just repeated or dead.
  bool isPlaced(int op) const {
    return live[op] && !isa<cs::GradientOp>(ops[op]) &&
           (!repeated[op] || leaves[op]);
  }
  void openFragment(std::string label, bool deferred) {
    plan.fragments.push_back({std::move(label), deferred, {}, {}});
  }
  void put(int op) {
    plan.fragments.back().ops.push_back(ops[op]);
    plan.fragmentOf[ops[op]] = plan.fragments.size() - 1;
  }
  std::string uniqueLabel(const std::string &base);

  const ProgramFunction &function;
  Block &block;
  Partition plan;
  std::vector<Operation *> ops; // without the terminator
  llvm::DenseMap<Operation *, int> index;
  std::vector<Ref> refs;        // what each op uses, nested ops included
  std::vector<size_t> firstRef; // by op, and the end
  std::vector<bool> repeated, live;
  std::vector<bool> leaves; // a result is returned or communicated
  std::vector<bool> tainted, taintedArgument;
  std::vector<Group> groups;
  std::vector<bool> makesGradient; // a result is the operand of a gradient
  std::vector<int> gradientOf;     // communication of a gradient op, else -1
  llvm::StringSet<> labels;
  llvm::StringMap<unsigned> labelCounts;
};

LogicalResult Partitioner::checkOp(Operation *op) {
  if (isa<cs::GradientOp>(op))
    return success();
  if (auto call = dyn_cast<CallOpInterface>(op)) {
    InFlightDiagnostic diag = op->emitOpError("must be inlined first");
    if (auto callee = dyn_cast<SymbolRefAttr>(call.getCallableForCallee()))
      diag << ": call of " << callee;
    return diag;
  }
  for (Type type : op->getResultTypes()) {
    if (!isa<ShapedType>(type))
      continue;
    // Indices may be tensors, too, within a fragment.
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (tensor && tensor.getElementType().isIndex())
      type = tensor.clone(IntegerType::get(type.getContext(), 64));
    StringRef why = whyNotPlaceable(type);
    if (!why.empty())
      return op->emitOpError() << "result " << why << ", got: " << type;
  }
  return success();
}

LogicalResult Partitioner::readOps() {
  for (Operation &op : block.without_terminator()) {
    index[&op] = ops.size();
    ops.push_back(&op);
  }
  firstRef.push_back(0);
  for (Operation *op : ops) {
    if (failed(checkOp(op)))
      return failure();
    for (Region &region : op->getRegions()) {
      WalkResult walked = region.walk([&](Operation *nested) {
        if (isa_and_nonnull<cs::CsDialect>(nested->getDialect()))
          return nested->emitOpError("must be at the top of the function"),
                 WalkResult::interrupt();
        if (isa<CallOpInterface>(nested))
          return (void)checkOp(nested), WalkResult::interrupt();
        return WalkResult::advance();
      });
      if (walked.wasInterrupted())
        return failure();
    }
    if (!isa<cs::GradientOp>(op) && !isMemoryEffectFree(op))
      return op->emitOpError(
          "may have side effects, which a fragment cannot have");
    forEachUse(op, [&](OpOperand &operand) {
      Value value = operand.get();
      if (value.getParentBlock() == &block)
        refs.push_back(refOf(value));
    });
    firstRef.push_back(refs.size());
  }
  repeated.resize(ops.size());
  leaves.resize(ops.size());
  makesGradient.resize(ops.size());
  gradientOf.assign(ops.size(), -1);
  for (size_t i = 0; i < ops.size(); ++i)
    repeated[i] = isRepeatable(i);
  return success();
}

/// Constants, empty tensors and their fills with constants: cheaper to repeat
/// than to keep, and no reason to tie two fragments together.
bool Partitioner::isRepeatable(int op) const {
  auto isConstant = [](Value value) {
    return matchPattern(value, m_Constant());
  };
  if (ops[op]->hasTrait<OpTrait::ConstantLike>() ||
      isa<tensor::EmptyOp>(ops[op]))
    return ops[op]->getNumOperands() == 0;
  if (auto splat = dyn_cast<tensor::SplatOp>(ops[op]))
    return isConstant(splat.getInput()) && splat.getDynamicSizes().empty();
  if (auto fill = dyn_cast<linalg::FillOp>(ops[op]))
    return fill.getNumDpsInputs() == 1 && isConstant(fill.getDpsInputs()[0]) &&
           fill.getDpsInits()[0].getDefiningOp<tensor::EmptyOp>();
  return false;
}

/// One pass over its operands, no reduction.
bool Partitioner::isCheap(Operation *op) const {
  if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op))
    return linalgOp.getNumReductionLoops() == 0;
  return OpTrait::hasElementwiseMappableTraits(op) ||
         isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp, tensor::ExtractOp,
             tensor::SplatOp, tensor::FromElementsOp>(op);
}

LogicalResult Partitioner::planGradients() {
  llvm::StringMap<Type> params;
  for (auto [i, role] : llvm::enumerate(function.arguments))
    if (role.kind == ArgumentRole::Param)
      params[role.name.getValue()] = block.getArgument(i).getType();
  llvm::StringMap<Operation *> marked;
  std::vector<std::pair<Ref, int>> made;
  for (size_t i = 0; i < ops.size(); ++i) {
    auto gradient = dyn_cast<cs::GradientOp>(ops[i]);
    if (!gradient)
      continue;
    if (!function.isStep)
      return gradient.emitOpError("belongs in the function with cs.step, got "
                                  "one in @")
             << function.func.getName();
    StringRef param = gradient.getParam();
    auto known = params.find(param);
    if (known == params.end())
      return gradient.emitOpError()
             << "is of an unknown parameter: \"" << param << "\"";
    if (known->second != gradient.getValue().getType())
      return gradient.emitOpError()
             << "must match parameter \"" << param << "\", " << known->second
             << ", got: " << gradient.getValue().getType();
    auto [first, isNew] = marked.try_emplace(param, gradient);
    if (!isNew) {
      InFlightDiagnostic diag = gradient.emitOpError()
                                << "marks the gradient of \"" << param
                                << "\" a second time";
      diag.attachNote(first->second->getLoc()) << "the first time is here";
      return diag;
    }
    Ref ref = refOf(gradient.getValue());
    if (ref >= 0)
      leaves[ref] = makesGradient[ref] = true;
    // Arguments are there from the start.
    made.emplace_back(std::max(ref, -1), i);
  }
  // In the order in which they are made, wherever they are marked.
  llvm::sort(made);
  for (auto [maker, i] : made) {
    auto gradient = cast<cs::GradientOp>(ops[i]);
    gradientOf[i] = plan.communications.size();
    plan.communications.push_back(
        {PlannedCommunication::Gradient, gradient.getParam().str(),
         gradient.getValue(), gradient.getLoc(), gradient, 0});
  }
  if (function.isStep && marked.empty())
    return function.func.emitOpError(
        "must mark at least one gradient with cs.gradient, being the cs.step");
  return success();
}

LogicalResult Partitioner::classify() {
  taintedArgument.resize(function.arguments.size());
  for (auto [i, role] : llvm::enumerate(function.arguments))
    taintedArgument[i] = !role.isCarried();
  tainted.resize(ops.size());
  groups.resize(ops.size());
  for (size_t i = 0; i < ops.size(); ++i) {
    Join join;
    bool taint = false;
    for (Ref ref : refsOf(i)) {
      join.add(groupOf(ref));
      taint = taint || (ref < 0 ? taintedArgument[-1 - ref] : tainted[ref]);
    }
    groups[i] = join.result();
    tainted[i] = taint;
    if (gradientOf[i] >= 0) {
      groups[i] = {std::max(groups[i].level, 0), gradientOf[i]};
      tainted[i] = false;
    }
  }
  return success();
}

LogicalResult Partitioner::planResults() {
  auto ret = cast<func::ReturnOp>(block.getTerminator());
  llvm::StringMap<unsigned> keys;
  for (auto [i, planned] : llvm::enumerate(plan.communications))
    keys[planned.key] = i;
  auto add = [&](PlannedCommunication planned) -> LogicalResult {
    auto [entry, isNew] =
        keys.try_emplace(planned.key, plan.communications.size());
    if (!isNew)
      return emitError(plan.communications[entry->second].loc)
             << "message key \"" << planned.key
             << "\" is also needed for a metric or state: rename the parameter";
    plan.communications.push_back(std::move(planned));
    return success();
  };
  for (auto [i, role] : llvm::enumerate(function.results)) {
    Value value = ret.getOperand(i);
    Ref ref = refOf(value);
    if (ref >= 0)
      leaves[ref] = true;
    Location loc = ref >= 0 ? ops[ref]->getLoc() : ret.getLoc();
    if (role.kind == ResultRole::Metric) {
      if (failed(add({PlannedCommunication::Metric,
                      ("metric." + role.name.getValue()).str(), value, loc,
                      nullptr, static_cast<unsigned>(i)})))
        return failure();
      continue;
    }
    if (!(ref < 0 ? taintedArgument[-1 - ref] : tainted[ref]))
      continue;
    const ArgumentRole *argument =
        llvm::find_if(function.arguments, [&](const ArgumentRole &argument) {
          return argument.isCarried() && argument.name == role.name;
        });
    bool isParam = argument != function.arguments.end() &&
                   argument->kind == ArgumentRole::Param;
    if (isParam)
      return emitError(loc) << "new value of parameter " << role.name
                            << " depends on the batch other than through its "
                               "cs.gradient: workers would drift apart";
    if (!isa<FloatType>(
            cast<RankedTensorType>(value.getType()).getElementType()))
      return emitError(loc) << "new value of state " << role.name
                            << " depends on the batch, and " << value.getType()
                            << " cannot be averaged over the workers: workers "
                               "would drift apart";
    if (failed(add({PlannedCommunication::State,
                    ("state." + role.name.getValue()).str(), value, loc,
                    nullptr, static_cast<unsigned>(i)})))
      return failure();
  }
  return success();
}

void Partitioner::findLive() {
  live = leaves;
  for (int i = ops.size() - 1; i >= 0; --i) {
    // Gradients stay: they are communicated even if nobody looks at them.
    live[i] = live[i] || gradientOf[i] >= 0;
    if (live[i])
      for (Ref ref : refsOf(i))
        if (ref >= 0)
          live[ref] = true;
    plan.deadOps += !live[i];
  }
  for (size_t i = 0; i < ops.size(); ++i)
    if (repeated[i])
      plan.repeated.insert(ops[i]);
}

/// Moves cheap ops over carried arguments into the one group that they serve.
void Partitioner::sink() {
  std::vector<bool> carriedOnly(ops.size());
  for (size_t i = 0; i < ops.size(); ++i)
    carriedOnly[i] =
        isPlaced(i) && !leaves[i] && groups[i].isNone() && isCheap(ops[i]) &&
        llvm::all_of(refsOf(i), [&](Ref ref) {
          return ref < 0 ? isCarried(ref) : repeated[ref] || carriedOnly[ref];
        });
  // The group of all users; `several` once they differ.
  std::vector<Group> users(ops.size());
  std::vector<bool> used(ops.size()), several(ops.size());
  for (int i = ops.size() - 1; i >= 0; --i) {
    if (!live[i])
      continue;
    if (carriedOnly[i] && used[i] && !several[i] && !users[i].isNone()) {
      groups[i] = users[i];
      ++plan.sunkOps;
    }
    for (Ref ref : refsOf(i)) {
      if (ref < 0)
        continue;
      several[ref] = several[ref] || (used[ref] && users[ref] != groups[i]);
      used[ref] = true;
      users[ref] = groups[i];
    }
  }
}

/// The ops that depend on no communication, in program order.
void Partitioner::cutCompute() {
  // Arguments whose new value is there only after a communication. Others are
  // there as soon as the previous step's compute is through.
  std::vector<bool> late(function.arguments.size());
  if (function.isStep) {
    llvm::StringMap<unsigned> numbers;
    for (auto [i, role] : llvm::enumerate(function.arguments))
      if (role.isCarried())
        numbers[role.name.getValue()] = i;
    auto ret = cast<func::ReturnOp>(block.getTerminator());
    for (auto [i, role] : llvm::enumerate(function.results))
      if (role.kind == ResultRole::Updates)
        late[numbers[role.name.getValue()]] =
            !groupOf(refOf(ret.getOperand(i))).isNone();
    for (const PlannedCommunication &planned : plan.communications)
      if (planned.kind == PlannedCommunication::State)
        late[numbers[function.results[planned.result].name.getValue()]] = true;
  }
  bool open = false;
  unsigned count = 0;
  for (size_t i = 0; i < ops.size(); ++i) {
    if (!isPlaced(i) || !groups[i].isNone())
      continue;
    bool readsLate = false;
    for (Ref ref : refsOf(i))
      if (ref < 0 && late[-1 - ref]) {
        readsLate = true;
        late[-1 - ref] = false;
      }
    if (readsLate && open) {
      open = false;
      ++plan.cutsBeforeParameter;
    }
    if (!open) {
      openFragment(uniqueLabel("compute." + std::to_string(count++)), false);
      open = true;
    }
    put(i);
    if (makesGradient[i]) {
      open = false;
      ++plan.cutsAfterGradient;
    }
  }
}

void Partitioner::groupDeferred() {
  std::map<Group, std::vector<int>> members;
  for (size_t i = 0; i < ops.size(); ++i)
    if (isPlaced(i) && !groups[i].isNone())
      members[groups[i]].push_back(i);
  for (const auto &[group, list] : members) {
    std::string base =
        group.communication == Group::kShared
            ? std::string("shared")
            : "update." + plan.communications[group.communication].key;
    bool open = false;
    for (int i : list) {
      if (!open)
        openFragment(uniqueLabel(base), true);
      open = !makesGradient[i];
      put(i);
      plan.cutsAfterGradient += makesGradient[i];
    }
  }
}

void Partitioner::placeCommunications() {
  plan.chainedCommunications.resize(plan.communications.size());
  for (auto [i, planned] : llvm::enumerate(plan.communications)) {
    Ref ref = refOf(planned.operand);
    if (ref < 0)
      plan.argumentCommunications.push_back(i);
    else if (gradientOf[ref] >= 0)
      plan.chainedCommunications[gradientOf[ref]].push_back(i);
    else
      plan.fragments[plan.fragmentOf[ops[ref]]].communications.push_back(i);
  }
}

std::string Partitioner::uniqueLabel(const std::string &base) {
  std::string label = base;
  unsigned &next = labelCounts[base];
  if (next > 0)
    label = base + "." + std::to_string(next);
  // Parameters may have names that look numbered.
  for (++next; !labels.insert(label).second; ++next)
    label = base + "." + std::to_string(next);
  return label;
}

} // namespace

FailureOr<Partition> commsched::partition(const ProgramFunction &function) {
  return Partitioner(function).run();
}
