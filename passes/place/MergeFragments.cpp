// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/place/Passes.h"

#include "passes/place/Devices.h"
#include "passes/support/Module.h"

#include "mlir/IR/IRMapping.h"

#include "llvm/ADT/SetVector.h"

namespace commsched {
#define GEN_PASS_DEF_MERGEFRAGMENTS
#include "passes/place/Passes.h.inc"
} // namespace commsched

using namespace mlir;
using namespace commsched;
using namespace commsched::place;

namespace {

/// The fragments of a function that has nothing else; none otherwise.
SmallVector<cs::FragmentOp> allFragments(func::FuncOp func) {
  SmallVector<cs::FragmentOp> fragments;
  for (Operation &op : func.front().without_terminator()) {
    auto fragment = dyn_cast<cs::FragmentOp>(op);
    if (!fragment || !fragment.hasBody() || fragment.getDevice() != cast<cs::FragmentOp>(func.front().front()).getDevice())
      return {};
    fragments.push_back(fragment);
  }
  return fragments;
}

cs::CostAttr sumOfCosts(MLIRContext *context, ArrayRef<cs::FragmentOp> fragments) {
  int64_t flops = 0, bytes = 0, ns = 0;
  for (cs::FragmentOp fragment : fragments) {
    cs::CostAttr cost = fragment.getCostAttr();
    if (!cost)
      return {};
    flops += cost.getFlops();
    bytes += cost.getBytes();
    ns += cost.getNs();
  }
  return cs::CostAttr::get(context, flops, bytes, ns);
}

void merge(func::FuncOp func, MutableArrayRef<cs::FragmentOp> fragments) {
  llvm::SetVector<Value> inputs, outputs;
  for (cs::FragmentOp fragment : fragments) {
    for (Value input : fragment.getInputs())
      if (!input.getDefiningOp())
        inputs.insert(input);
    for (Value output : fragment.getOutputs())
      if (llvm::any_of(output.getUsers(), llvm::IsaPred<func::ReturnOp>))
        outputs.insert(output);
  }
  OpBuilder builder(fragments.front());
  SmallVector<Type> types = llvm::map_to_vector(outputs, [](Value value) { return value.getType(); });
  auto merged = cs::FragmentOp::create(builder, func.getLoc(), types, func.getName(), fragments.front().getDevice(),
                                       inputs.getArrayRef(), sumOfCosts(func.getContext(), fragments), /*deferred=*/false);
  auto *body = new Block;
  merged.getBody().push_back(body);
  builder.setInsertionPointToStart(body);
  IRMapping inside; // from placed values to the tensors in them
  for (Value input : inputs)
    inside.map(input, body->addArgument(placedType(input).getTensor(), input.getLoc()));
  for (cs::FragmentOp fragment : fragments) {
    Block &own = fragment.getBody().front();
    IRMapping mapping;
    for (auto [argument, input] : llvm::zip(own.getArguments(), fragment.getInputs()))
      mapping.map(argument, inside.lookup(input));
    for (Operation &op : own.without_terminator())
      builder.clone(op, mapping);
    for (auto [output, made] : llvm::zip(fragment.getOutputs(), own.getTerminator()->getOperands()))
      inside.map(output, mapping.lookupOrDefault(made));
  }
  cs::ReturnOp::create(builder, func.getLoc(),
                       llvm::map_to_vector(outputs, [&](Value value) { return inside.lookup(value); }));
  for (auto [i, made] : llvm::enumerate(merged.getOutputs())) {
    Value output = outputs[i];
    output.replaceAllUsesWith(made);
  }
  for (cs::FragmentOp fragment : llvm::reverse(fragments))
    fragment.erase();
}

struct MergeFragments : commsched::impl::MergeFragmentsBase<MergeFragments> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    bool cuda = llvm::any_of(module.getOps<cs::ClusterOp>(), [](cs::ClusterOp cluster) {
      return cluster.getDevice().getKind() == cs::DeviceKind::cuda;
    });
    if (!cuda)
      return;
    for (auto func : module.getOps<func::FuncOp>()) {
      if (func.isExternal() || !func.getBody().hasOneBlock())
        continue;
      if (SmallVector<cs::FragmentOp> fragments = allFragments(func); fragments.size() > 1)
        merge(func, fragments);
    }
  }
};

} // namespace
