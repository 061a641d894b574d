// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tests/differential/shrink.h"

#include "ir/Cs.h"
#include "ir/Register.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringSet.h"

#include <chrono>

using namespace mlir;

namespace commsched::differential {

namespace {

class Shrinker {
public:
  Shrinker(ModuleOp module, double seconds, const std::function<bool(const std::string &)> &shows)
      : current(module.clone()), shows(shows),
        end(std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds)) {}

  std::string run() {
    for (bool smaller = true; smaller && !late();) {
      smaller = false;
      smaller |= dropResults();
      smaller |= replaceOps();
    }
    return print(*current);
  }

private:
  bool late() const { return std::chrono::steady_clock::now() > end; }
  static std::string print(ModuleOp module) {
    std::string text;
    llvm::raw_string_ostream os(text);
    module.getOperation()->print(os, OpPrintingFlags().useLocalScope());
    // The function alone: its cluster is added again.
    func::FuncOp step = *module.getOps<func::FuncOp>().begin();
    text.clear();
    step.getOperation()->print(os, OpPrintingFlags().useLocalScope());
    return text + "\n";
  }
  static func::FuncOp stepOf(ModuleOp module) { return *module.getOps<func::FuncOp>().begin(); }

  static void clean(func::FuncOp step) {
    for (bool changed = true; changed;) {
      changed = false;
      std::vector<Operation *> dead;
      step.walk<WalkOrder::PostOrder>([&](Operation *op) {
        if (op != step && isOpTriviallyDead(op))
          dead.push_back(op);
      });
      for (Operation *op : llvm::reverse(dead))
        if (op->use_empty()) {
          op->erase();
          changed = true;
          break; // what it holds may be in the list
        }
    }
    llvm::StringSet<> needed;
    for (unsigned i = 0; i < step.getNumResults(); ++i)
      if (auto name = step.getResultAttrOfType<StringAttr>(i, cs::CsDialect::kUpdatesAttr))
        needed.insert(name.getValue());
    step.walk([&](cs::GradientOp gradient) { needed.insert(gradient.getParam()); });
    for (unsigned i = step.getNumArguments(); i-- > 0;) {
      auto name = step.getArgAttrOfType<StringAttr>(i, cs::CsDialect::kParamAttr);
      if (!name)
        name = step.getArgAttrOfType<StringAttr>(i, cs::CsDialect::kStateAttr);
      if (step.getArgument(i).use_empty() && !(name && needed.contains(name.getValue())))
        (void)step.eraseArgument(i);
    }
  }

  // Whether `changed` still shows it; it is the current one then.
  bool accept(OwningOpRef<ModuleOp> changed) {
    clean(stepOf(*changed));
    if (failed(verify(*changed)) || !shows(print(*changed)))
      return false;
    current = std::move(changed);
    return true;
  }

  bool dropResults() {
    bool smaller = false;
    for (unsigned i = stepOf(*current).getNumResults(); i-- > 0 && !late();) {
      OwningOpRef<ModuleOp> copy = current->clone();
      func::FuncOp step = stepOf(*copy);
      step.front().getTerminator()->eraseOperand(i);
      (void)step.eraseResult(i);
      smaller |= accept(std::move(copy));
    }
    return smaller;
  }

  static std::vector<Operation *> opsOf(func::FuncOp step) {
    std::vector<Operation *> ops;
    step.walk([&](Operation *op) {
      if (op != step && !op->hasTrait<OpTrait::IsTerminator>() && op->getNumResults() > 0)
        ops.push_back(op);
    });
    return ops;
  }

  // Every op, from the last: by its operands, arguments of the step, or zeros.
  bool replaceOps() {
    bool smaller = false;
    for (size_t at = opsOf(stepOf(*current)).size(); at-- > 0 && !late();) {
      if (at >= opsOf(stepOf(*current)).size())
        continue;
      for (unsigned way = 0; way < 3 && !late(); ++way) {
        OwningOpRef<ModuleOp> copy = current->clone();
        func::FuncOp step = stepOf(*copy);
        Operation *op = opsOf(step)[at];
        if (!replace(op, step, way))
          continue;
        if (accept(std::move(copy))) {
          smaller = true;
          break;
        }
      }
    }
    return smaller;
  }

  static bool replace(Operation *op, func::FuncOp step, unsigned way) {
    if (isa<arith::ConstantOp>(op) || isa<cs::GradientOp>(op))
      return false;
    OpBuilder builder(op);
    for (Value result : op->getResults()) {
      if (result.use_empty())
        continue;
      Value with;
      if (way == 0) {
        for (Value operand : op->getOperands())
          if (operand.getType() == result.getType())
            with = operand;
      } else if (way == 1) {
        for (Value argument : step.getArguments())
          if (argument.getType() == result.getType())
            with = argument;
      } else if (Attribute zero = builder.getZeroAttr(result.getType())) {
        with = arith::ConstantOp::create(builder, op->getLoc(), cast<TypedAttr>(zero));
      }
      if (!with)
        return false;
      result.replaceAllUsesWith(with);
    }
    return true;
  }

  OwningOpRef<ModuleOp> current;
  const std::function<bool(const std::string &)> &shows;
  std::chrono::time_point<std::chrono::steady_clock, std::chrono::duration<double>> end;
};

} // namespace

std::string shrink(const std::string &text, double seconds,
                   const std::function<bool(const std::string &)> &shows) {
  DialectRegistry registry;
  registerDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.getDiagEngine().registerHandler([](Diagnostic &) { return success(); });
  ParserConfig config(&context);
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, config);
  if (!module)
    return text;
  return Shrinker(*module, seconds, shows).run();
}

} // namespace commsched::differential
