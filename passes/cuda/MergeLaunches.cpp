// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Launches that follow each other, with a thread for each of as many elements, become one: each
// thread does what it has done in each of them, one after the other. That is the same as long as what
// one of them writes is, in the others, of the same thread only. Between them there may be launches that neither write what
// the later ones use, nor use what these write: they come behind all of them.

#include "passes/cuda/MergeLaunches.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace commsched::cudaexport {
namespace {

// Of one kernel; more would not leave registers enough.
constexpr size_t kMostMerged = 8, kMostArguments = 80;
// Launches that one comes before which they were before: more are not looked at.
constexpr size_t kMostPassed = 64;

bool overlap(const plan::CudaAddress &a, uint64_t bytesOfA, const plan::CudaAddress &b, uint64_t bytesOfB) {
  return a.base == b.base && a.index == b.index && a.offset < b.offset + bytesOfB && b.offset < a.offset + bytesOfA;
}

} // namespace

const NestKernels *LaunchMerger::nestOf(const plan::CudaLaunch &launch) const {
  const llvm::StringMap<NestKernels> &known = merged.contains(launch.kernel) ? merged : nests;
  auto nest = known.find(launch.kernel);
  return nest == known.end() || nest->second.accesses.empty() ? nullptr : &nest->second;
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

bool LaunchMerger::mayChangePlaces(const plan::CudaLaunch &a, const plan::CudaLaunch &b) const {
  for (auto [first, of] : llvm::zip(a.arguments, nestOf(a)->accesses))
    for (auto [second, then] : llvm::zip(b.arguments, nestOf(b)->accesses))
      if ((of.written || then.written) && overlap(first, of.bytes, second, then.bytes))
        return false;
  return true;
}

void LaunchMerger::mergeSome(ArrayRef<const plan::CudaLaunch *> launches, plan::CudaFragment &fragment) {
  SmallVector<plan::CudaLaunch> results;
  SmallVector<bool> taken(launches.size(), false);
  for (size_t first = 0; first < launches.size(); ++first) {
    if (taken[first])
      continue;
    SmallVector<const plan::CudaLaunch *> group{launches[first]}, passed;
    size_t arguments = launches[first]->arguments.size();
    for (size_t i = first + 1; i < launches.size() && passed.size() < kMostPassed && group.size() < kMostMerged; ++i) {
      if (taken[i])
        continue;
      const plan::CudaLaunch *launch = launches[i];
      taken[i] = arguments + launch->arguments.size() <= kMostArguments &&
                 nestOf(*launch)->shape.outputs == nestOf(*group.front())->shape.outputs &&
                 llvm::all_of(group, [&](const auto *other) { return mayShareThreads(*other, *nestOf(*other), *launch, *nestOf(*launch)); }) &&
                 llvm::all_of(passed, [&](const auto *other) { return mayChangePlaces(*other, *launch); });
      if (taken[i]) {
        group.push_back(launch);
        arguments += launch->arguments.size();
      } else {
        passed.push_back(launch);
      }
    }
    results.push_back(group.size() == 1 ? *group.front() : merge(group));
  }
  putSideBySide(results, fragment);
}

void LaunchMerger::run(plan::CudaFragment &fragment) {
  auto steps = std::move(fragment.steps);
  fragment.steps.clear();
  SmallVector<const plan::CudaLaunch *> launches;
  for (const auto &step : steps) {
    if (const auto *launch = std::get_if<plan::CudaLaunch>(&step); launch && nestOf(*launch)) {
      launches.push_back(launch);
      continue;
    }
    mergeSome(launches, fragment);
    launches.clear();
    fragment.steps.push_back(step);
  }
  mergeSome(launches, fragment);
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
  plan::CudaLaunch result = *group.front();
  result.arguments.clear();
  for (const Parameter &parameter : parameters)
    result.arguments.push_back(parameter.address);
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
    made.push_back({at->second, result.block[0], nestOf(*group.front())->shape});
    NestKernels &nest = merged[at->second];
    nest.shape = made.back().shape;
    for (const Parameter &parameter : parameters)
      nest.accesses.push_back({parameter.written, /*flat=*/false, parameter.bytes});
  }
  result.kernel = at->second;
  return result;
}

} // namespace commsched::cudaexport
