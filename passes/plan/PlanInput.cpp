// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/plan/PlanInput.h"

#include "ir/CsDevices.h"
#include "ir/CsServerFunctions.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/DialectResourceBlobManager.h"

#include "llvm/Support/JSON.h"

using namespace mlir;

namespace commsched::planexport {

/// Whether `function` has anything of cs: what has not stays in the module, and out of the plan.
static bool isOfCs(func::FuncOp function) {
  auto isOurs = [](NamedAttribute attr) {
    return attr.getName().getValue().starts_with("cs.");
  };
  auto isPlaced = llvm::IsaPred<cs::PlacedType, cs::FutureType>;
  bool found = llvm::any_of(function->getDiscardableAttrs(), isOurs) ||
               llvm::any_of(function.getArgumentTypes(), isPlaced) ||
               llvm::any_of(function.getResultTypes(), isPlaced);
  auto interface = cast<FunctionOpInterface>(function.getOperation());
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    found |= llvm::any_of(interface.getArgAttrs(i), isOurs);
  for (unsigned i = 0; i < function.getNumResults(); ++i)
    found |= llvm::any_of(interface.getResultAttrs(i), isOurs);
  function.walk([&](Operation *op) { found |= isa_and_nonnull<cs::CsDialect>(op->getDialect()); });
  return found;
}

SmallVector<func::FuncOp> functionsOf(ModuleOp module) {
  SmallVector<func::FuncOp> all(module.getOps<func::FuncOp>());
  SmallVector<func::FuncOp> own = llvm::filter_to_vector(all, isOfCs);
  return own.empty() ? all : own;
}

/// The text of a plan is UTF-8: of other text it would be written, and not be read again.
static LogicalResult checkNames(ModuleOp module) {
  WalkResult walked = module.walk([](Operation *op) {
    if (!isa<SymbolOpInterface>(op) && !isa_and_nonnull<cs::CsDialect>(op->getDialect()))
      return WalkResult::advance();
    for (StringRef name : {"sym_name", "label", "key"})
      if (auto text = op->getAttrOfType<StringAttr>(name);
          text && !llvm::json::isUTF8(text.getValue())) {
        op->emitOpError() << "'" << name << "' must be UTF-8, got: " << text;
        return WalkResult::interrupt();
      }
    return WalkResult::advance();
  });
  return failure(walked.wasInterrupted());
}

static LogicalResult checkLevel(ModuleOp module) {
  WalkResult nested = module.walk([&](func::FuncOp function) {
    if (function->getParentOp() == module || !function->hasAttr(cs::CsDialect::kStepAttr))
      return WalkResult::advance();
    function.emitOpError("must not be in a module inside of another one: a plan is of one module");
    return WalkResult::interrupt();
  });
  if (nested.wasInterrupted())
    return failure();
  for (func::FuncOp function : functionsOf(module)) {
    if (function.isDeclaration())
      return function.emitError("function has no body: a plan needs all of it");
    if (function->hasAttr(cs::CsDialect::kRankAttr))
      return function.emitError("is specialised to one rank: a plan is for all");
    for (ArrayRef<Type> types : {function.getArgumentTypes(), function.getResultTypes()})
      for (Type type : types)
        if (!isa<cs::PlacedType>(type))
          return function.emitError("is not of level 2; run --cs-all-reduce-pipeline");
    if (!llvm::hasSingleElement(function.getBody()))
      return function.emitError("must have one block");
    bool onServer = cs::getServerIndex(function).has_value();
    for (Operation &op : function.getBody().front()) {
      if (onServer && isa<cs::StartOp, cs::AwaitOp>(op))
        return op.emitOpError("cannot be part of a server, which only collects and publishes");
      if (isa<cs::FragmentOp, cs::AwaitOp, cs::CopyOp, cs::SplitOp, cs::ConcatOp, cs::PackOp,
              cs::UnpackOp, func::ReturnOp>(op))
        continue;
      if (onServer && isa<cs::CollectOp, cs::PublishOp, cs::UpdateRowsOp>(op))
        continue;
      if (isa<cs::CommunicationOpInterface>(op))
        return op.emitError("communication is not scheduled; run --schedule-comm");
      auto start = dyn_cast<cs::StartOp>(op);
      if (!start)
        return op.emitOpError("cannot be part of a plan");
      for (Operation &inner : start.getBody().front()) {
        if (isa<cs::SendOp, cs::RecvOp, cs::FetchRowsOp, cs::SendRowsOp>(inner) ||
            start->hasAttr(cs::CsDialect::kNcclAttr))
          continue;
        if (isa<cs::CommunicationOpInterface>(inner))
          return inner.emitError(
              "communication is not expanded; run --expand-collectives");
      }
    }
  }
  return success();
}

/// What would be compiled as something else, or not at all: values of constants may be in a part of the file of their own,
/// which MLIR leaves out where it is told to.
static LogicalResult checkBodies(func::FuncOp function) {
  WalkResult walked = function.walk([](Operation *op) {
    if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
      auto resource = dyn_cast<DenseResourceElementsAttr>(constant.getValue());
      if (!resource)
        return WalkResult::advance();
      AsmResourceBlob *blob = resource.getRawHandle().getBlob();
      if (!blob) {
        op->emitOpError("has no values: the module has none by the name of ") << constant.getValue();
        return WalkResult::interrupt();
      }
      Type element = resource.getElementType();
      if (!element.isIntOrFloat() || element.getIntOrFloatBitWidth() % 8 != 0) {
        op->emitOpError("has values that cannot be in a resource, being of ") << element << ": they must be dense<...>";
        return WalkResult::interrupt();
      }
      // Of more, MLIR takes the first.
      uint64_t bytes = resource.getNumElements() * (element.getIntOrFloatBitWidth() / 8);
      if (blob->getData().size() == bytes)
        return WalkResult::advance();
      op->emitOpError("must have ") << bytes << " bytes of values, got: " << blob->getData().size() << " in "
                                    << constant.getValue();
      return WalkResult::interrupt();
    }
    auto truncate = dyn_cast<arith::TruncFOp>(op);
    std::optional<arith::RoundingMode> mode = truncate ? truncate.getRoundingmode() : std::nullopt;
    if (!mode || *mode == arith::RoundingMode::to_nearest_even)
      return WalkResult::advance();
    op->emitOpError("rounds ") << arith::stringifyRoundingMode(*mode) << ", but fragments to_nearest_even";
    return WalkResult::interrupt();
  });
  return failure(walked.wasInterrupted());
}

/// What the loader of plans refuses, where it is known before.
static LogicalResult checkFits(func::FuncOp function, cs::ClusterOp cluster) {
  if (failed(cs::verifyDevices(function, cluster)))
    return failure();
  for (unsigned i = 0; i < function.getNumResults(); ++i) {
    auto name = function.getResultAttrOfType<StringAttr>(i, cs::CsDialect::kMetricAttr);
    RankedTensorType type = cast<cs::PlacedType>(function.getResultTypes()[i]).getTensor();
    if (name && type.getNumElements() != 1)
      return function.emitOpError() << "result " << i << ": metric " << name << " must have one element, got: " << type;
  }
  return success();
}

LogicalResult checkModule(ModuleOp module) {
  return success(succeeded(checkNames(module)) && succeeded(checkLevel(module)));
}

LogicalResult checkFunction(func::FuncOp function, cs::ClusterOp cluster) {
  return success(succeeded(checkFits(function, cluster)) && succeeded(checkBodies(function)));
}

} // namespace commsched::planexport
