// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/insert/InlineHelpers.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Transforms/Passes.h"
#include "passes/insert/Program.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace commsched;

namespace {

/// Calls `fn` with the symbols of the module that `op` names; false where it may name others.
bool forEachNamed(Operation *op, llvm::function_ref<void(StringRef)> fn) {
  std::optional<SymbolTable::UseRange> uses = SymbolTable::getSymbolUses(op);
  if (!uses)
    return false;
  for (SymbolTable::SymbolUse use : *uses)
    fn(use.getSymbolRef().getRootReference());
  return true;
}

/// What the program's functions and what is no function name, one by way of the other. Nothing where that cannot be known.
std::optional<llvm::SetVector<Operation *>> findNamed(ModuleOp module) {
  SymbolTable symbols(module);
  llvm::SetVector<Operation *> named;
  for (Operation &op : *module.getBody()) {
    auto func = dyn_cast<func::FuncOp>(op);
    if (!func || (func.isPublic() && hasRoles(func)))
      named.insert(&op);
  }
  for (size_t i = 0; i < named.size(); ++i)
    if (!forEachNamed(named[i], [&](StringRef name) {
          if (Operation *symbol = symbols.lookup(name))
            named.insert(symbol);
        }))
      return std::nullopt;
  return named;
}

/// Erases private functions of those names that nothing needs, and what only they needed.
void eraseUnneeded(ModuleOp module, ArrayRef<std::string> names) {
  llvm::StringMap<unsigned> uses;
  for (Operation &op : *module.getBody())
    if (!forEachNamed(&op, [&](StringRef name) { ++uses[name]; }))
      return;
  SymbolTable symbols(module);
  SmallVector<std::string> left(names);
  llvm::StringSet<> ours;
  for (StringRef name : names)
    ours.insert(name);
  while (!left.empty()) {
    const std::string name = left.pop_back_val();
    auto func = symbols.lookup<func::FuncOp>(name);
    if (!func || func.isPublic() || uses.lookup(name) > 0)
      continue;
    forEachNamed(func, [&](StringRef other) {
      if (--uses[other] == 0 && ours.contains(other))
        left.push_back(other.str());
    });
    symbols.erase(func);
  }
}

} // namespace

LogicalResult commsched::inlineHelpers(ModuleOp module,
                                       llvm::function_ref<LogicalResult(OpPassManager &)> run) {
  std::optional<llvm::SetVector<Operation *>> named = findNamed(module);
  SmallVector<std::string> helpers;
  // In the places of functions that stay out of it, which is empty.
  SmallVector<std::pair<func::FuncOp, ModuleOp>> others;
  llvm::StringSet<> neededElsewhere;
  bool allKnown = true;
  for (auto func : llvm::make_early_inc_range(module.getOps<func::FuncOp>())) {
    const bool isNamed = !named || named->contains(func);
    if (!func.isPublic() && (isNamed || hasMarks(func)))
      helpers.push_back(func.getName().str());
    if (isNamed)
      continue;
    // The inliner would take those that these need, too, for helpers that nobody does.
    allKnown &= forEachNamed(func, [&](StringRef name) { neededElsewhere.insert(name); });
    OpBuilder builder(func);
    others.push_back({func, ModuleOp::create(builder, func.getLoc())});
    func->remove();
  }
  SmallVector<std::pair<std::string, SymbolTable::Visibility>> shown;
  for (auto func : module.getOps<func::FuncOp>())
    if (!func.isPublic() && (!allKnown || neededElsewhere.contains(func.getName()))) {
      shown.push_back({func.getName().str(), func.getVisibility()});
      func.setVisibility(SymbolTable::Visibility::Public);
    }
  OpPassManager manager("builtin.module");
  manager.addPass(createInlinerPass({}, [](OpPassManager &) {}));
  LogicalResult inlined = run(manager);
  for (auto [func, place] : others) {
    place->getBlock()->getOperations().insert(place->getIterator(), func.getOperation());
    place.erase();
  }
  const SymbolTable symbols(module);
  for (const auto &[name, visibility] : shown)
    symbols.lookup<func::FuncOp>(name).setVisibility(visibility);
  if (succeeded(inlined))
    eraseUnneeded(module, helpers);
  return inlined;
}
