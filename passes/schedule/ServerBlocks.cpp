// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/schedule/ServerBlocks.h"

#include "passes/schedule/StepCosts.h"
#include "passes/support/RowFragment.h"

#include "llvm/Support/MathExtras.h"

#include <map>

using namespace mlir;
using namespace commsched;

ServerBlocks::Carried::Carried(func::FuncOp server)
    : resultOf(server.getNumArguments()), argumentOf(server.getNumResults()) {
  auto firstRow = [](DenseI64ArrayAttr rows) { return rows ? rows[0] : 0; };
  // A slot is a name and its rows.
  std::map<std::tuple<StringRef, int64_t, const void *>, unsigned> results;
  auto key = [&](StringAttr name, DenseI64ArrayAttr rows, Type type) {
    return std::tuple(name.getValue(), firstRow(rows), type.getAsOpaquePointer());
  };
  for (unsigned i = 0; i < server.getNumResults(); ++i)
    if (auto name =
            server.getResultAttrOfType<StringAttr>(i, cs::CsDialect::kUpdatesAttr))
      results.try_emplace(
          key(name,
              server.getResultAttrOfType<DenseI64ArrayAttr>(i, cs::CsDialect::kRowsAttr),
              server.getResultTypes()[i]),
          i);
  for (unsigned i = 0; i < server.getNumArguments(); ++i) {
    auto name = server.getArgAttrOfType<StringAttr>(i, cs::CsDialect::kParamAttr);
    if (!name)
      name = server.getArgAttrOfType<StringAttr>(i, cs::CsDialect::kStateAttr);
    if (!name)
      continue;
    auto known = results.find(
        key(name, server.getArgAttrOfType<DenseI64ArrayAttr>(i, cs::CsDialect::kRowsAttr),
            server.getArgumentTypes()[i]));
    if (known == results.end())
      continue;
    resultOf[i] = known->second;
    argumentOf[known->second] = i;
  }
}

/// What of the function is the block's alone; false if it cannot be cut.
bool ServerBlocks::findCut(ServerBlock &block, const Carried &carried) const {
  cs::FragmentOp update = block.update;
  std::optional<SmallVector<RowUse>> uses = rowUses(update);
  if (!uses)
    return false;
  Operation *ret = update->getBlock()->getTerminator();
  llvm::SmallDenseSet<Value> updated; // arguments whose new value is the block's
  for (OpResult output : update->getResults())
    for (OpOperand &use : output.getUses()) {
      if (use.getOwner() == block.publish)
        continue;
      if (use.getOwner() != ret || !carried.argumentOf[use.getOperandNumber()])
        return false;
      unsigned number = *carried.argumentOf[use.getOperandNumber()];
      block.results.push_back(use.getOperandNumber());
      block.arguments.push_back(number);
      updated.insert(update->getBlock()->getArgument(number));
    }
  // The old values, of which the block has some rows only, nothing else may read.
  for (Value argument : updated)
    for (OpOperand &use : argument.getUses())
      if (use.getOwner() != update || (*uses)[use.getOperandNumber()].whole)
        return false;
  for (auto [i, input] : llvm::enumerate(update.getInputs())) {
    RowUse use = (*uses)[i];
    bool isCut = use.byRows && !use.whole;
    if (input == block.collect.getResult()) {
      if (!isCut)
        return false;
    } else if (auto argument = dyn_cast<BlockArgument>(input)) {
      std::optional<unsigned> result = carried.resultOf[argument.getArgNumber()];
      bool keeps = result && ret->getOperand(*result) == input;
      isCut = isCut && (updated.contains(input) || !result || keeps);
      for (OpOperand &other : input.getUses())
        isCut = isCut &&
                ((other.getOwner() == update && other.getOperandNumber() == i) ||
                 (other.getOwner() == ret && keeps && other.getOperandNumber() == *result));
      if (updated.contains(input) && !isCut)
        return false;
      if (isCut && keeps)
        block.results.push_back(*result);
      if (isCut && !updated.contains(input))
        block.arguments.push_back(argument.getArgNumber());
    } else {
      isCut = false;
    }
    block.isCut.push_back(isCut);
  }
  llvm::sort(block.results);
  return true;
}

std::unique_ptr<ServerBlock> ServerBlocks::find(cs::SendOp send,
                                                const StepCommunications &step) {
  auto block = std::make_unique<ServerBlock>();
  block->send = send;
  if (step.recvsOf(send).size() != 1)
    return nullptr;
  block->recv = cast<cs::RecvOp>(step.recvsOf(send).front());
  block->publish = step.publishOf(block->recv);
  if (step.sendsOf(block->recv).size() != 1 || !block->publish)
    return nullptr;
  block->update = block->publish.getValue().getDefiningOp<cs::FragmentOp>();
  if (!block->update)
    return nullptr;
  for (Value input : block->update.getInputs())
    if (auto collect = input.getDefiningOp<cs::CollectOp>()) {
      if (block->collect)
        return nullptr;
      block->collect = collect;
    }
  auto server = dyn_cast<func::FuncOp>(block->update->getParentOp());
  RankedTensorType type = cast<cs::PlacedType>(send.getValue().getType()).getTensor();
  if (!block->collect || !server || !block->collect.getResult().hasOneUse() ||
      block->collect.getKey() != send.getKey() || type.getNumElements() == 0 ||
      cast<cs::PlacedType>(block->collect.getType()).getTensor() != type ||
      cast<cs::PlacedType>(block->publish.getValue().getType()).getTensor() != type ||
      cast<cs::PlacedType>(block->recv.getType()).getTensor() != type)
    return nullptr;
  return block;
}

void ServerBlocks::findRows(ServerBlock &block) {
  Value value = cs::SendOp(block.send).getValue();
  RankedTensorType type = cast<cs::PlacedType>(value.getType()).getTensor();
  if (type.getRank() == 0 || type.getDimSize(0) < 2)
    return;
  block.rows = type.getDimSize(0);
  block.rowBytes = StepCosts::bytesOf(value) / block.rows;
  auto server = cast<func::FuncOp>(cs::FragmentOp(block.update)->getParentOp());
  std::unique_ptr<Carried> &carried = servers[server];
  if (!carried)
    carried = std::make_unique<Carried>(server);
  block.divisible = hasRows(block) && findCut(block, *carried);
}

bool ServerBlocks::hasRows(const ServerBlock &block) const {
  return llvm::all_of(cs::FragmentOp(block.update).getOutputs(), [&](Value output) {
    RankedTensorType own = cast<cs::PlacedType>(output.getType()).getTensor();
    return own.getRank() != 0 && own.getDimSize(0) == block.rows;
  });
}

bool ServerBlock::sharesMessagesWith(const ServerBlock &other) const {
  auto placeOf = [](Value value) {
    auto placed = cast<cs::PlacedType>(value.getType());
    return std::tuple(placed.getTensor().getElementType(), placed.getDevice(),
                      placed.getMemory());
  };
  cs::SendOp own = send, others = other.send;
  cs::RecvOp back = recv, othersBack = other.recv;
  cs::CollectOp sum = collect, othersSum = other.collect;
  return cs::FragmentOp(update)->getParentOp() ==
             cs::FragmentOp(other.update)->getParentOp() &&
         sum.getReduction() == othersSum.getReduction() &&
         own.getPeer() == others.getPeer() && own.getWhen() == others.getWhen() &&
         back.getPeer() == othersBack.getPeer() && back.getWhen() == othersBack.getWhen() &&
         placeOf(own.getValue()) == placeOf(others.getValue()) &&
         placeOf(back.getResult()) == placeOf(othersBack.getResult());
}

ServerBlocks::ServerBlocks(const StepCommunications &step, bool cuts) {
  SymbolTableCollection symbols;
  for (Operation *op : step.all()) {
    auto send = dyn_cast<cs::SendOp>(op);
    if (!send)
      continue;
    if (std::unique_ptr<ServerBlock> block = find(send, step)) {
      if (cuts)
        findRows(*block);
      bySend[op] = block.get();
      blocks.push_back(std::move(block));
    }
    int64_t &load = loads[cs::getServerOf(op, &symbols)];
    if (llvm::AddOverflow(load, StepCosts::bytesOf(send.getValue()), load))
      load = INT64_MAX;
  }
  for (const std::unique_ptr<ServerBlock> &block : blocks) {
    if (!block->divisible)
      continue;
    int64_t least = loadOf(*block) / kPartsOfServer;
    block->coarseUnit = std::max<int64_t>(1, llvm::divideCeilSigned(least, block->rowBytes)) *
                        block->rowBytes;
  }
}
