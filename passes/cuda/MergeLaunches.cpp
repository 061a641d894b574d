// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Launches that follow each other, with a thread for each of as many elements, become one: each
// thread does what it has done in each of them, one after the other. That is the same as long as what
// one of them writes is, in the others, of the same thread only.

#include "passes/cuda/MergeLaunches.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace commsched::cudaexport {
namespace {

// Of one kernel; more would not leave registers enough.
constexpr size_t kMostMerged = 8, kMostArguments = 32;

bool overlap(const plan::CudaAddress &a, uint64_t bytesOfA, const plan::CudaAddress &b, uint64_t bytesOfB) {
  return a.base == b.base && a.index == b.index && a.offset < b.offset + bytesOfB && b.offset < a.offset + bytesOfA;
}

} // namespace

const NestKernels *LaunchMerger::nestOf(const std::variant<plan::CudaLaunch, plan::CudaLibraryCall> &step) const {
  const auto *launch = std::get_if<plan::CudaLaunch>(&step);
  if (!launch)
    return nullptr;
  auto nest = nests.find(launch->kernel);
  return nest == nests.end() || nest->second.accesses.empty() ? nullptr : &nest->second;
}

bool LaunchMerger::mayShareThreads(const plan::CudaLaunch &a, const NestKernels &nestOfA, const plan::CudaLaunch &b,
                                   const NestKernels &nestOfB) const {
  for (auto [first, of] : llvm::zip(a.arguments, nestOfA.accesses))
    for (auto [second, then] : llvm::zip(b.arguments, nestOfB.accesses)) {
      if ((!of.written && !then.written) || !overlap(first, of.bytes, second, then.bytes))
        continue;
      if (!of.flat || !then.flat || first.offset != second.offset || of.bytes != then.bytes)
        return false;
    }
  return true;
}

void LaunchMerger::run(plan::CudaFragment &fragment) {
  auto steps = std::move(fragment.steps);
  fragment.steps.clear();
  SmallVector<const plan::CudaLaunch *> group;
  size_t arguments = 0;
  auto flush = [&] {
    if (group.size() == 1)
      fragment.steps.push_back(*group.front());
    else if (!group.empty())
      fragment.steps.push_back(merge(group));
    group.clear();
    arguments = 0;
  };
  for (const auto &step : steps) {
    const NestKernels *nest = nestOf(step);
    if (!nest) {
      flush();
      fragment.steps.push_back(step);
      continue;
    }
    const auto &launch = std::get<plan::CudaLaunch>(step);
    bool fits = !group.empty() && group.size() < kMostMerged && arguments + launch.arguments.size() <= kMostArguments &&
                nestOf(*group.front())->shape.outputs == nest->shape.outputs;
    for (const plan::CudaLaunch *other : group)
      fits = fits && mayShareThreads(*other, *nestOf(*other), launch, *nest);
    if (!fits)
      flush();
    group.push_back(&launch);
    arguments += launch.arguments.size();
  }
  flush();
}

plan::CudaLaunch LaunchMerger::merge(ArrayRef<const plan::CudaLaunch *> group) {
  SymbolTable symbols(module);
  // Which parameter of the new kernel each argument is: one for each address and type.
  struct Parameter {
    plan::CudaAddress address;
    Type type;
    uint64_t bytes;
    bool written, alone;
  };
  SmallVector<Parameter> parameters;
  SmallVector<SmallVector<unsigned>> places;
  std::string key;
  for (const plan::CudaLaunch *launch : group) {
    auto kernel = symbols.lookup<func::FuncOp>(launch->kernel);
    SmallVector<unsigned> &own = places.emplace_back();
    key += launch->kernel;
    for (auto [address, type, access] :
         llvm::zip(launch->arguments, kernel.getArgumentTypes(), nestOf(*launch)->accesses)) {
      auto *known = llvm::find_if(parameters, [&](const Parameter &p) { return p.address == address && p.type == type; });
      if (known == parameters.end()) {
        parameters.push_back({address, type, access.bytes, false, true});
        known = std::prev(parameters.end());
      }
      known->written |= access.written;
      own.push_back(known - parameters.begin());
      key += " " + std::to_string(own.back());
    }
  }
  for (auto [i, a] : llvm::enumerate(parameters))
    for (auto [j, b] : llvm::enumerate(parameters))
      if (i != j && (a.written || b.written) && overlap(a.address, a.bytes, b.address, b.bytes))
        a.alone = false;
  for (const Parameter &parameter : parameters)
    key += parameter.alone ? " alone" : " shared";
  plan::CudaLaunch merged = *group.front();
  merged.arguments.clear();
  for (const Parameter &parameter : parameters)
    merged.arguments.push_back(parameter.address);
  auto [at, fresh] = known.try_emplace(key);
  if (fresh) {
    at->second = group.front()->kernel + "_and_" + std::to_string(known.size() - 1);
    auto first = symbols.lookup<func::FuncOp>(group.front()->kernel);
    OpBuilder builder(first);
    builder.setInsertionPointAfter(first);
    SmallVector<Type> types;
    for (const Parameter &parameter : parameters)
      types.push_back(parameter.type);
    auto kernel = func::FuncOp::create(builder, first.getLoc(), at->second, builder.getFunctionType(types, {}));
    kernel->setDiscardableAttrs(first->getDiscardableAttrDictionary());
    Block *block = kernel.addEntryBlock();
    builder.setInsertionPointToStart(block);
    for (auto [launch, own] : llvm::zip(group, places)) {
      auto source = symbols.lookup<func::FuncOp>(launch->kernel);
      IRMapping mapping;
      for (auto [argument, place] : llvm::zip(source.getArguments(), own))
        mapping.map(argument, block->getArgument(place));
      for (Operation &op : source.getBody().front().without_terminator())
        builder.clone(op, mapping);
    }
    func::ReturnOp::create(builder, first.getLoc());
    for (auto [i, parameter] : llvm::enumerate(parameters))
      if (parameter.alone)
        kernel.setArgAttr(i, "llvm.noalias", builder.getUnitAttr());
    made.push_back({at->second, merged.block[0], nestOf(*group.front())->shape});
  }
  merged.kernel = at->second;
  return merged;
}

} // namespace commsched::cudaexport
