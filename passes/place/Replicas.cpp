// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/place/Replicas.h"

#include "ir/CsGroups.h"
#include "ir/CsSparseOps.h"
#include "passes/place/ShardGradients.h"
#include "passes/support/Module.h"

using namespace mlir;
using namespace commsched;
using namespace commsched::place;

/// What a message to a server is combined by there.
static std::optional<cs::Reduction> reductionAtServer(cs::SendOp send) {
  if (!send.getRole())
    return std::nullopt;
  auto server = dyn_cast_or_null<func::FuncOp>(
      send->getParentOfType<ModuleOp>().lookupSymbol(*send.getRole()));
  if (!server || server.isExternal())
    return std::nullopt;
  std::optional<cs::Reduction> found;
  server.walk([&](cs::CollectOp collect) {
    if (collect.getKey() == send.getKey())
      found = collect.getReduction();
  });
  return found;
}

std::pair<cs::Reduction, std::string> place::combination(Operation *op) {
  if (auto allReduce = dyn_cast<cs::AllReduceOp>(op))
    return {allReduce.getReduction(), allReduce.getKey().str()};
  if (auto reduce = dyn_cast<cs::ReduceOp>(op))
    return {reduce.getReduction(), reduce.getKey().str()};
  if (auto scatter = dyn_cast<cs::ReduceScatterOp>(op))
    return {scatter.getReduction(), scatter.getKey().str()};
  if (auto send = dyn_cast<cs::SendOp>(op))
    return {reductionAtServer(send).value_or(cs::Reduction::mean),
            send.getKey().str()};
  // A split: what its first block is sent as, without the block.
  for (Operation *user : op->getResult(0).getUsers()) {
    auto [reduction, name] = combination(user);
    StringRef key = name;
    size_t at = key.rfind(".block");
    return {reduction, key.take_front(at).str()};
  }
  llvm_unreachable("checked by Replicas::check");
}

/// What other passes make of communications takes the node for one worker.
LogicalResult Replicas::checkIsNew() {
  for (unsigned i = 0, e = func.getNumArguments(); i < e; ++i)
    if (func.getArgAttr(i, cs::kPerRankAttr))
      return func.emitOpError() << "argument " << i << ", state " << carriedName(func, i)
                                << ", is each rank's own: run --replicate-devices before --lower-sparse-comm";
  WalkResult lists = func.walk([](cs::PackListsOp op) {
    op.emitOpError("makes a list to be sent: run --replicate-devices before --lower-sparse-comm");
    return WalkResult::interrupt();
  });
  if (lists.wasInterrupted())
    return failure();
  for (Operation &op : func.front())
    if (isa<cs::AllGatherOp, cs::AllToAllOp, cs::PairExchangeOp>(op) && !known.isLocal(op.getOperand(0)) &&
        !known.isOfNode(op.getOperand(0)))
      return op.emitOpError("has what is the same on all devices once for each node: run "
                            "--replicate-devices directly behind --insert-dist-comm");
  return success();
}

LogicalResult Replicas::check(Operation &op) {
  if (isa<cs::FragmentOp>(op))
    return success();
  auto isLocal = [&](Value value) { return known.isLocal(value); };
  if (llvm::none_of(op.getOperands(), isLocal))
    return success();
  if (cs::getGroupName(&op))
    return op.emitOpError() << "is in " << cs::getGroupName(&op)
                            << ": groups are of nodes with one device";
  if (auto ret = dyn_cast<func::ReturnOp>(op)) {
    for (auto [i, value] : llvm::enumerate(ret.getOperands())) {
      if (!isLocal(value))
        continue;
      if (updatedName(func, i))
        return func.emitOpError()
               << "result " << i << ", the new value of "
               << updatedName(func, i)
               << ", depends on the batch or the worker's index without a "
                  "communication: devices would drift apart";
      if (!isa<FloatType>(placedType(value).getTensor().getElementType()))
        return func.emitOpError()
               << "result " << i
               << " must be floating-point to be averaged over the devices, "
                  "got: "
               << value.getType();
    }
    return success();
  }
  if (auto split = dyn_cast<cs::SplitOp>(op)) {
    for (Value block : split.getBlocks())
      if (block.use_empty() ||
          !llvm::all_of(block.getUsers(), llvm::IsaPred<cs::SendOp>))
        return op.emitOpError("must be of blocks to send, to be combined over "
                              "the devices");
  } else if (!isa<cs::AllReduceOp, cs::ReduceOp, cs::ReduceScatterOp,
                  cs::SendOp>(op)) {
    return op.emitOpError("works on what differs between the devices of a "
                          "node, and does not combine it");
  } else if (isa<cs::SendOp>(op) && op.getOperand(0).getDefiningOp<cs::SplitOp>()) {
    return success();
  }
  cs::Reduction reduction = combination(&op).first;
  Type element = placedType(op.getOperand(0)).getTensor().getElementType();
  if (reduction == cs::Reduction::mean && !isa<FloatType>(element))
    return op.emitOpError("takes a mean over the devices, which needs a "
                          "floating-point element type, got: ")
           << element;
  return success();
}

void Replicas::replicate(cs::FragmentOp fragment) {
  SmallVector<cs::FragmentOp> worklist{fragment};
  while (!worklist.empty()) {
    cs::FragmentOp next = worklist.pop_back_val();
    if (!replicated.insert(next).second)
      continue;
    for (Value input : next.getInputs()) {
      if (isa<BlockArgument>(input))
        read.insert(input);
      // Computing it again takes less than moving it.
      else if (auto def = input.getDefiningOp<cs::FragmentOp>();
               def && llvm::none_of(def.getOutputs(), [&](Value output) {
                 return known.isCommunicated(output);
               }))
        worklist.push_back(def);
    }
  }
}

/// What is joined again on every device is used there: each computes all that depends
/// on it, updates above all.
void Replicas::findSharded() {
  llvm::DenseSet<Value> everywhere;
  for (Operation &op : func.front()) {
    auto reduce = dyn_cast<cs::AllReduceOp>(op);
    auto fragment = dyn_cast<cs::FragmentOp>(op);
    int64_t ofDevice = reduce && known.isLocal(reduce.getValue())
                           ? shardsOfDevice(reduce, cluster)
                           : 0;
    if (ofDevice) {
      sharded[reduce] = ofDevice;
      everywhere.insert(reduce.getResult());
    } else if (fragment && llvm::any_of(fragment.getInputs(), [&](Value input) {
                 return everywhere.contains(input);
               })) {
      replicate(fragment);
      everywhere.insert(fragment.getOutputs().begin(), fragment.getOutputs().end());
    }
  }
}

LogicalResult Replicas::find(bool shards, Everywhere &everywhere) {
  if (failed(checkIsNew()))
    return failure();
  for (Operation &op : func.front()) {
    if (failed(check(op)))
      return failure();
    // A part of the batch that is combined as it is: each device has its own.
    if (!isa<cs::FragmentOp>(op))
      for (Value operand : op.getOperands())
        if (isa<BlockArgument>(operand) && known.isLocal(operand))
          read.insert(operand);
    if (auto fragment = dyn_cast<cs::FragmentOp>(op))
      if (llvm::any_of(fragment.getOutputs(), [&](Value output) {
            return known.isLocal(output);
          }))
        replicate(fragment);
  }
  if (shards)
    findSharded();
  for (BlockArgument argument : func.getArguments())
    if (StringAttr name = carriedName(func, argument.getArgNumber());
        name && read.contains(argument))
      everywhere.insert(name.getValue());
  return success();
}
