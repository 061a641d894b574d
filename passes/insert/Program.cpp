// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/insert/Program.h"

#include "ir/CsSparseOps.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace commsched;
using cs::CsDialect;

StringRef commsched::whyNotPlaceable(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return "must be a ranked tensor";
  if (!tensor.hasStaticShape())
    return "must have a static shape";
  if (tensor.getEncoding())
    return "must not have an encoding";
  Type element = tensor.getElementType();
  if (!element.isF64() && !element.isF32() && !element.isF16() &&
      !element.isBF16() && !element.isSignlessInteger(64) &&
      !element.isSignlessInteger(32) && !element.isSignlessInteger(8) &&
      !element.isSignlessInteger(1))
    return "must have one of the element types f64, f32, f16, bf16, i64, i32, "
           "i8, i1";
  return {};
}

bool commsched::hasMarks(func::FuncOp func) {
  WalkResult walked = func.walk([](Operation *op) {
    return isa<cs::GradientOp, cs::WorkerIndexOp, cs::LookupOp, cs::SegmentSumOp, cs::ProfiledOp>(op)
               ? WalkResult::interrupt()
               : WalkResult::advance();
  });
  return walked.wasInterrupted();
}

bool commsched::hasRoles(func::FuncOp func) {
  if (func->hasAttr(CsDialect::kStepAttr) ||
      func->hasAttr(CsDialect::kGlobalBatchAttr))
    return true;
  auto function = cast<FunctionOpInterface>(func.getOperation());
  auto isOurs = [](NamedAttribute attr) {
    return attr.getName().getValue().starts_with("cs.");
  };
  for (unsigned i = 0, e = func.getNumArguments(); i < e; ++i)
    if (llvm::any_of(function.getArgAttrs(i), isOurs))
      return true;
  for (unsigned i = 0, e = func.getNumResults(); i < e; ++i)
    if (llvm::any_of(function.getResultAttrs(i), isOurs))
      return true;
  return false;
}

namespace {

/// What functions of the module agree on: the carried tensors by name.
struct CarriedType {
  Type type;
  bool isParam;
  func::FuncOp func;
};
using CarriedTypes = llvm::StringMap<CarriedType>;

/// What the program calls has been inlined. Other functions stay, and no later pass takes what they mark.
LogicalResult checkNothingIsMarked(func::FuncOp func) {
  if (!hasMarks(func))
    return success();
  return func.emitOpError("has ops of cs, and no argument or result with an attribute of cs: it must be private, being "
                          "called by others")
         << (func.isPublic() ? "" : " that have some");
}

/// Level 0 has plain types, and of `cs` gradients, rows of tables, selections and
/// profiled layers only.
LogicalResult checkLevel(func::FuncOp func) {
  auto isLevel1 = [](Type type) {
    return isa<cs::PlacedType, cs::FutureType>(type);
  };
  if (llvm::any_of(func.getArgumentTypes(), isLevel1) ||
      llvm::any_of(func.getResultTypes(), isLevel1))
    return func.emitOpError("must be a level-0 function, got one over placed "
                            "values: --insert-dist-comm has run already");
  for (Operation &op : func.front())
    if (isa_and_nonnull<CsDialect>(op.getDialect()) &&
        !isa<cs::GradientOp, cs::LookupOp, cs::SegmentSumOp, cs::ProfiledOp,
             cs::TopKOp, cs::ScatterAddOp, cs::ScatterClearOp, cs::MergeTopKOp,
             cs::SplitRegionsOp, cs::BalanceRegionsOp>(op))
      return op.emitOpError("does not belong in a level-0 function");
  return success();
}

/// The worker's index comes from outside, like the batch.
void makeWorkerIndexAnArgument(func::FuncOp func) {
  SmallVector<cs::WorkerIndexOp> ops;
  func.walk([&](cs::WorkerIndexOp op) { ops.push_back(op); });
  if (ops.empty())
    return;
  StringRef name = CsDialect::kWorkerIndexAttr;
  BlockArgument index;
  for (BlockArgument argument : func.getArguments())
    if (func.getArgAttr(argument.getArgNumber(), name))
      index = argument;
  if (!index) {
    Builder builder(func.getContext());
    auto attrs = builder.getDictionaryAttr(
        builder.getNamedAttr(name, builder.getUnitAttr()));
    unsigned last = func.getNumArguments();
    (void)func.insertArgument(last, ops.front().getType(), attrs,
                              ops.front().getLoc());
    index = func.getArgument(last);
  }
  for (cs::WorkerIndexOp op : ops) {
    op.replaceAllUsesWith(Value(index));
    op.erase();
  }
}

LogicalResult checkType(func::FuncOp func, StringRef what, unsigned index,
                        Type type) {
  StringRef why = whyNotPlaceable(type);
  if (why.empty())
    return success();
  return func.emitOpError()
         << what << " " << index << " " << why << ", got: " << type;
}

LogicalResult readArguments(ProgramFunction &function, CarriedTypes &carried) {
  func::FuncOp func = function.func;
  llvm::StringMap<unsigned> seen;
  bool hasIndex = false;
  for (unsigned i = 0, e = func.getNumArguments(); i < e; ++i) {
    Type type = func.getArgumentTypes()[i];
    ArgumentRole role;
    if (auto name = func.getArgAttrOfType<StringAttr>(i, CsDialect::kParamAttr))
      role = {ArgumentRole::Param, name};
    else if (auto name =
                 func.getArgAttrOfType<StringAttr>(i, CsDialect::kStateAttr))
      role = {ArgumentRole::State, name};
    else if (auto name =
                 func.getArgAttrOfType<StringAttr>(i, CsDialect::kBatchAttr))
      role = {ArgumentRole::Batch, name};
    else if (func.getArgAttr(i, CsDialect::kWorkerIndexAttr))
      role = {ArgumentRole::WorkerIndex, StringAttr::get(func.getContext())};
    else
      return func.emitOpError()
             << "argument " << i
             << " must have one of cs.param, cs.state, cs.batch, cs.worker_index";
    if (failed(checkType(func, "argument", i, type)))
      return failure();
    if (role.kind == ArgumentRole::WorkerIndex) {
      if (hasIndex)
        return func.emitOpError()
               << "argument " << i
               << " must be the only one with cs.worker_index";
      hasIndex = true;
      function.arguments.push_back(role);
      continue;
    }
    if (!seen.try_emplace(role.name.getValue(), i).second)
      return func.emitOpError()
             << "argument " << i
             << " must have a name of its own, got: " << role.name
             << ", like argument " << seen[role.name.getValue()];
    function.arguments.push_back(role);
    if (role.isCarried()) {
      bool isParam = role.kind == ArgumentRole::Param;
      auto [entry, isNew] = carried.try_emplace(
          role.name.getValue(), CarriedType{type, isParam, func});
      CarriedType &known = entry->second;
      if (!isNew && (known.type != type || known.isParam != isParam)) {
        InFlightDiagnostic diag =
            func.emitOpError()
            << "argument " << i << " must match "
            << (known.isParam ? "parameter " : "state ") << role.name << " of @"
            << known.func.getName() << ", " << known.type
            << ", got: " << (isParam ? "parameter, " : "state, ") << type;
        return diag;
      }
    } else if (cast<RankedTensorType>(type).getRank() == 0) {
      return func.emitOpError()
             << "argument " << i
             << " must have a dimension of samples, being of the batch, got: "
             << type;
    }
  }
  return success();
}

LogicalResult readResults(ProgramFunction &function,
                          const CarriedTypes &carried) {
  func::FuncOp func = function.func;
  llvm::StringMap<unsigned> updates, metrics;
  llvm::StringMap<bool> own;
  for (const ArgumentRole &role : function.arguments)
    if (role.isCarried())
      own[role.name.getValue()] = true;
  for (unsigned i = 0, e = func.getNumResults(); i < e; ++i) {
    Type type = func.getResultTypes()[i];
    ResultRole role;
    if (auto name =
            func.getResultAttrOfType<StringAttr>(i, CsDialect::kUpdatesAttr))
      role = {ResultRole::Updates, name};
    else if (auto name = func.getResultAttrOfType<StringAttr>(
                 i, CsDialect::kMetricAttr))
      role = {ResultRole::Metric, name};
    else
      return func.emitOpError()
             << "result " << i << " must have one of cs.updates, cs.metric";
    if (failed(checkType(func, "result", i, type)))
      return failure();
    auto &seen = role.kind == ResultRole::Updates ? updates : metrics;
    if (!seen.try_emplace(role.name.getValue(), i).second)
      return func.emitOpError()
             << "result " << i
             << " must have a name of its own, got: " << role.name
             << ", like result " << seen[role.name.getValue()];
    if (role.kind == ResultRole::Metric &&
        !isa<FloatType>(cast<RankedTensorType>(type).getElementType()))
      return func.emitOpError()
             << "result " << i << ": metric " << role.name
             << " must be floating-point to be averaged, got: " << type;
    function.results.push_back(role);
    if (role.kind != ResultRole::Updates)
      continue;
    auto known = carried.find(role.name.getValue());
    // Without a step there is nobody to ask which names exist.
    if ((function.isStep && !own.count(role.name.getValue())) ||
        (known == carried.end() && !carried.empty()))
      return func.emitOpError()
             << "result " << i
             << " updates no parameter or state: " << role.name;
    if (known != carried.end() && known->second.type != type)
      return func.emitOpError()
             << "result " << i << " must match "
             << (known->second.isParam ? "parameter " : "state ") << role.name
             << ", " << known->second.type << ", got: " << type;
  }
  return success();
}

} // namespace

FailureOr<Program> commsched::readProgram(ModuleOp module) {
  Program program;
  func::FuncOp step;
  for (auto func : module.getOps<func::FuncOp>()) {
    bool isStep = func->hasAttr(CsDialect::kStepAttr);
    if (isStep && step) {
      InFlightDiagnostic diag =
          func.emitOpError("must be the only one with cs.step");
      diag.attachNote(step.getLoc()) << "the other one is @" << step.getName();
      return diag;
    }
    if (isStep && !func.isPublic())
      return func.emitOpError("must be public, being the cs.step");
    if (!func.isPublic() || !hasRoles(func)) {
      if (failed(checkNothingIsMarked(func)))
        return failure();
      continue;
    }
    if (func.isExternal())
      return func.emitOpError("must have a body");
    if (!func.getBody().hasOneBlock())
      return func.emitOpError("must have one block, got: ")
             << func.getBody().getBlocks().size();
    if (!isa<func::ReturnOp>(func.front().back()))
      return func.front().back().emitOpError("must be a func.return, being the "
                                             "last of its function");
    makeWorkerIndexAnArgument(func);
    if (failed(checkLevel(func)))
      return failure();
    if (isStep)
      step = func;
    program.functions.push_back({func, isStep, {}, {}});
  }
  // The step says what is carried; the others follow it.
  CarriedTypes carried;
  for (bool isStep : {true, false})
    for (ProgramFunction &function : program.functions)
      if (function.isStep == isStep && failed(readArguments(function, carried)))
        return failure();
  for (ProgramFunction &function : program.functions)
    if (failed(readResults(function, carried)))
      return failure();
  return program;
}
