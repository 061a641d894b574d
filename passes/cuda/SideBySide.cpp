// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Small launches that have nothing to do with each other, as updates of parameters, become one: its first blocks do what the
// blocks of the first one have done, and so on.

#include "passes/cuda/MergeLaunches.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace commsched::cudaexport {

// Of one kernel: parts, parameters, blocks of a part, and launches that one comes before which they were before.
static constexpr size_t kMostParts = 16, kMostParameters = 256, kMostSkipped = 64;
static constexpr uint32_t kMostBlocks = 2048;

void LaunchMerger::putSideBySide(ArrayRef<plan::CudaLaunch> launches, plan::CudaFragment &fragment) {
  SmallVector<bool> taken(launches.size(), false);
  for (size_t first = 0; first < launches.size(); ++first) {
    if (taken[first])
      continue;
    SmallVector<const plan::CudaLaunch *> group{&launches[first]}, passed;
    size_t parameters = launches[first].arguments.size();
    for (size_t i = first + 1; i < launches.size() && passed.size() < kMostSkipped && group.size() < kMostParts; ++i) {
      const plan::CudaLaunch &launch = launches[i];
      if (taken[i])
        continue;
      auto commutes = [&](const plan::CudaLaunch *other) { return mayChangePlaces(*other, launch); };
      taken[i] = std::max(launches[first].grid[0], launch.grid[0]) <= kMostBlocks && launch.block == launches[first].block &&
                 parameters + launch.arguments.size() <= kMostParameters && llvm::all_of(group, commutes) &&
                 llvm::all_of(passed, commutes);
      (taken[i] ? group : passed).push_back(&launch);
      parameters += taken[i] ? launch.arguments.size() : 0;
    }
    fragment.steps.push_back(group.size() == 1 ? *group.front() : sideBySide(group));
  }
}

plan::CudaLaunch LaunchMerger::sideBySide(ArrayRef<const plan::CudaLaunch *> group) {
  SymbolTable symbols(module);
  plan::CudaLaunch result = *group.front();
  std::string key = "side by side";
  result.arguments.clear();
  result.grid[0] = 0;
  for (const plan::CudaLaunch *launch : group) {
    llvm::append_range(result.arguments, launch->arguments);
    result.grid[0] += launch->grid[0];
    key += " " + launch->kernel + " " + std::to_string(launch->grid[0]);
  }
  auto [at, fresh] = known.try_emplace(key);
  if (fresh) {
    at->second = group.front()->kernel + "_beside_" + std::to_string(known.size() - 1);
    auto first = symbols.lookup<func::FuncOp>(group.front()->kernel);
    Location loc = first.getLoc();
    OpBuilder builder(first);
    builder.setInsertionPointAfter(first);
    SmallVector<Type> types;
    SmallVector<DictionaryAttr> attributes;
    for (const plan::CudaLaunch *launch : group) {
      auto source = symbols.lookup<func::FuncOp>(launch->kernel);
      llvm::append_range(types, source.getArgumentTypes());
      for (unsigned i = 0; i < source.getNumArguments(); ++i)
        attributes.push_back(source.getArgAttrDict(i) ? source.getArgAttrDict(i) : builder.getDictionaryAttr({}));
    }
    auto kernel = func::FuncOp::create(builder, loc, at->second, builder.getFunctionType(types, {}));
    kernel->setDiscardableAttrs(first->getDiscardableAttrDictionary());
    kernel.setAllArgAttrs(attributes);
    Block *entry = kernel.addEntryBlock();
    builder.setInsertionPointToStart(entry);
    Type i32 = builder.getI32Type();
    Value block = func::CallOp::create(builder, loc, kBlock, i32, ValueRange()).getResult(0);
    uint32_t before = 0, parameter = 0;
    for (const plan::CudaLaunch *launch : group) {
      auto source = symbols.lookup<func::FuncOp>(launch->kernel);
      Value begin = arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(before));
      Value count = arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(launch->grid[0]));
      Value own = arith::SubIOp::create(builder, loc, block, begin);
      Value inside = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, own, count);
      auto part = scf::IfOp::create(builder, loc, inside, /*withElseRegion=*/false);
      OpBuilder inner = OpBuilder::atBlockBegin(part.thenBlock());
      IRMapping mapping;
      for (BlockArgument argument : source.getArguments())
        mapping.map(argument, entry->getArgument(parameter++));
      for (Operation &op : source.getBody().front().without_terminator())
        inner.clone(op, mapping);
      SmallVector<func::CallOp> calls;
      part.walk([&](func::CallOp call) {
        if (call.getCallee() == kBlock)
          calls.push_back(call);
      });
      for (func::CallOp call : calls) {
        call.getResult(0).replaceAllUsesWith(own);
        call.erase();
      }
      before += launch->grid[0];
    }
    func::ReturnOp::create(builder, loc);
    made.push_back({at->second, result.block[0], nestOf(*group.front())->shape});
  }
  result.kernel = at->second;
  return result;
}

} // namespace commsched::cudaexport
