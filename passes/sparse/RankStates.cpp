// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/sparse/RankStates.h"

#include "ir/CsSparseOps.h"
#include "passes/place/Devices.h"

using namespace mlir;
using namespace commsched;
using namespace commsched::sparse;

FailureOr<Value> RankStates::add(const Twine &suffix, cs::PlacedType type) {
  std::string text = (key + suffix).str();
  // Servers have states that trainers have not; files have all by their names.
  for (auto other : func->getParentOfType<ModuleOp>().getOps<func::FuncOp>())
    for (unsigned i = 0, e = other.getNumArguments(); i < e; ++i)
      if (StringAttr known = place::carriedName(other, i);
          known && known.getValue() == text &&
          (other == func || !other.getArgAttr(i, cs::kPerRankAttr))) // another step's own
        return other.emitOpError() << "argument " << i << " has the name that the sparse "
                                   << "gradient of \"" << key << "\" needs: \"" << text << "\"";
  MLIRContext *context = func.getContext();
  auto attrs = DictionaryAttr::get(
      context, {{StringAttr::get(context, cs::CsDialect::kStateAttr),
                 StringAttr::get(context, text)},
                {StringAttr::get(context, cs::kPerRankAttr), UnitAttr::get(context)}});
  unsigned index = func.getNumArguments();
  if (failed(func.insertArgument(index, type, attrs, loc)))
    return failure();
  states.push_back({text, Value()});
  return Value(func.getArgument(index));
}

FailureOr<Kept> RankStates::keep(const SelectionRules &rules, const Twine &suffix,
                                 cs::PlacedType type) {
  Kept kept;
  if (rules.feedback) {
    FailureOr<Value> state = add(".residual" + suffix, type);
    if (failed(state))
      return failure();
    kept.residual = *state;
  }
  FailureOr<Moments> moments = keepMoments(rules.correction, suffix, type);
  if (failed(moments))
    return failure();
  kept.moments = *moments;
  auto addSmall = [&](const Twine &name, RankedTensorType small, Value &value) {
    FailureOr<Value> state =
        add(name, cs::PlacedType::get(func.getContext(), small, type.getDevice(),
                                      type.getMemory()));
    if (succeeded(state))
      value = *state;
    return state;
  };
  if (rules.exactEvery > 1 && failed(addSmall(".threshold" + suffix,
                                              cs::thresholdType(func.getContext()),
                                              kept.threshold)))
    return failure();
  if (rules.select == "mstopk" &&
      failed(addSmall(".step" + suffix, cs::stepNumberType(func.getContext()), kept.step)))
    return failure();
  return kept;
}

FailureOr<Moments> RankStates::keepMoments(const CorrectionRules &rules,
                                           const Twine &suffix, cs::PlacedType type) {
  Moments moments;
  MomentTypes types = momentTypes(type.getTensor(), rules);
  for (auto [tensor, name, value] :
       {std::tuple(types.velocity, ".velocity", &moments.velocity),
        std::tuple(types.squares, ".squares", &moments.squares),
        std::tuple(types.weights, ".weights", &moments.weights)}) {
    if (!tensor)
      continue;
    FailureOr<Value> state =
        add(name + suffix, cs::PlacedType::get(func.getContext(), tensor,
                                               type.getDevice(), type.getMemory()));
    if (failed(state))
      return failure();
    *value = *state;
  }
  return moments;
}

void RankStates::setNext(ValueRange values) {
  MutableArrayRef<State> last(states);
  for (auto [state, value] : llvm::zip(last.take_back(values.size()), values))
    state.next = value;
}

void RankStates::addResults() {
  MLIRContext *context = func.getContext();
  Operation *ret = func.front().getTerminator();
  for (const State &state : states) {
    ret->insertOperands(ret->getNumOperands(), state.next);
    auto attrs = DictionaryAttr::get(
        context, {{StringAttr::get(context, cs::CsDialect::kUpdatesAttr),
                   StringAttr::get(context, state.name)}});
    (void)func.insertResult(func.getNumResults(), state.next.getType(), attrs);
  }
}

/// Whether `fragment` reads state of each rank of such a name.
static bool readsState(cs::FragmentOp fragment, llvm::function_ref<bool(StringRef)> isOne) {
  auto func = fragment->getParentOfType<func::FuncOp>();
  return llvm::any_of(fragment.getInputs(), [&](Value input) {
    auto argument = dyn_cast<BlockArgument>(input);
    return argument && argument.getOwner() == &func.front() &&
           func.getArgAttr(argument.getArgNumber(), cs::kPerRankAttr) &&
           isOne(place::carriedName(func, argument.getArgNumber()).getValue());
  });
}

bool sparse::readsMoments(cs::FragmentOp fragment, StringRef key) {
  return readsState(fragment, [&](StringRef name) {
    name.consume_back(".mean");
    return name == (key + ".velocity").str() || name == (key + ".squares").str();
  });
}

bool sparse::readsMoments(cs::FragmentOp fragment) {
  return readsState(fragment, [&](StringRef name) {
    return name.contains(".velocity") || name.contains(".squares"); // of a shard of a device, behind it
  });
}
