// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Copies, and the blocks of cs.split and cs.concat, which are not copied if they
// are in their place already.

#include "FunctionBuilder.h"
#include "Urgency.h"

#include "passes/place/StagingRing.h"

using namespace mlir;

namespace commsched::planexport {

unsigned FunctionBuilder::addPart(unsigned whole, uint64_t offset, RankedTensorType type,
                                  StringRef name) {
  const plan::Buffer &outer = out.buffers(whole);
  if (outer.kind() == plan::Buffer::PART) {
    offset += outer.offset();
    whole = outer.parent();
  }
  unsigned buffer = addBuffer(plan::Buffer::PART, type, name);
  out.mutable_buffers(buffer)->set_parent(whole);
  out.mutable_buffers(buffer)->set_offset(offset);
  context.usesServers = true;
  return buffer;
}

void FunctionBuilder::findJoinedInPlace() {
  for (auto concat : function.getBody().front().getOps<cs::ConcatOp>()) {
    uint64_t offset = 0;
    for (Value block : concat.getBlocks()) {
      auto await = block.getDefiningOp<cs::AwaitOp>();
      auto start = await ? await.getFuture().getDefiningOp<cs::StartOp>() : cs::StartOp();
      // Others may read it where it is.
      auto joins = llvm::count_if(block.getUsers(), llvm::IsaPred<cs::ConcatOp>);
      if (start && joins == 1 && !start->hasAttr(place::kStagingAttr) &&
          isa<cs::RecvOp, cs::CopyOp>(start.getBody().front().front()))
        joinedAt[start.getFuture()] = {concat, offset};
      offset += bytesOf(block);
    }
  }
}

uint64_t FunctionBuilder::bytesOf(Value value) {
  return tensorBytes(toPlan(cast<cs::PlacedType>(value.getType()).getTensor()));
}

unsigned FunctionBuilder::wholeOf(cs::ConcatOp concat) {
  auto [it, fresh] = buffers.try_emplace(concat.getResult(), 0);
  if (fresh) {
    unsigned whole =
        addBuffer(plan::Buffer::ARENA, concat.getResult().getType().getTensor(), "concat");
    buffers[concat.getResult()] = whole;
    return whole;
  }
  return it->second;
}

unsigned FunctionBuilder::stageAt(uint64_t offset, RankedTensorType type, StringRef name) {
  if (!stagingArea) {
    stagingArea = addBuffer(plan::Buffer::ARENA,
                            RankedTensorType::get({0}, IntegerType::get(type.getContext(), 64)),
                            "staging");
  }
  plan::TensorType *area = out.mutable_buffers(*stagingArea)->mutable_type();
  int64_t end = offset + tensorBytes(toPlan(type));
  area->set_shape(0, std::max<int64_t>(area->shape(0), (end + 7) / 8));
  return addPart(*stagingArea, offset, type, name);
}

unsigned FunctionBuilder::receiveInto(cs::StartOp op, RankedTensorType type) {
  if (auto offset = op->getAttrOfType<IntegerAttr>(place::kStagingAttr))
    return stageAt(offset.getInt(), type, op.getKey());
  auto joined = joinedAt.find(op.getFuture());
  if (joined == joinedAt.end())
    return addBuffer(plan::Buffer::ARENA, type, op.getKey());
  auto [concat, offset] = joined->second;
  return addPart(wholeOf(concat), offset, type, op.getKey());
}

void FunctionBuilder::addSplit(cs::SplitOp op) {
  uint64_t offset = 0;
  unsigned whole = buffers.lookup(op.getValue());
  for (Value block : op.getBlocks()) {
    buffers[block] = addPart(whole, offset,
                             cast<cs::PlacedType>(block.getType()).getTensor(), "split");
    offset += bytesOf(block);
  }
}

void FunctionBuilder::addConcat(cs::ConcatOp op) {
  unsigned whole = wholeOf(op);
  uint64_t offset = 0;
  for (Value block : op.getBlocks()) {
    auto await = block.getDefiningOp<cs::AwaitOp>();
    if (!await || !joinedAt.count(await.getFuture())) {
      unsigned part = addPart(
          whole, offset, cast<cs::PlacedType>(block.getType()).getTensor(), "concat");
      addCopyInstruction(op, buffers.lookup(block), part, "concat");
      out.mutable_instructions(out.instructions_size() - 1)
          ->set_device(op.getResult().getType().getDevice());
    }
    offset += bytesOf(block);
  }
}

unsigned FunctionBuilder::copyTo(Operation *op, unsigned source, plan::Buffer::Kind kind,
                                 RankedTensorType type, StringRef name) {
  unsigned target = addBuffer(kind, type, name);
  addCopyInstruction(op, source, target, name);
  return target;
}

void FunctionBuilder::addCopyInstruction(Operation *op, unsigned source, unsigned target,
                                         StringRef name) {
  plan::Instruction &instruction = addInstruction(op, name);
  instruction.set_deferred(true);
  instruction.mutable_copy()->set_source(source);
  instruction.mutable_copy()->set_target(target);
  accesses.back().reads.push_back(source);
  accesses.back().writes.push_back(target);
}

void FunctionBuilder::setRoute(plan::Instruction &instruction, cs::CopyOp op) {
  cs::PlacedType from = op.getValue().getType(), to = op.getResult().getType();
  bool toHost = to.getMemory() == cs::MemoryKind::host;
  bool stays = from.getDevice() == to.getDevice() && from.getMemory() == to.getMemory();
  instruction.set_device(toHost ? from.getDevice() : to.getDevice());
  instruction.mutable_copy()->set_direction(stays    ? plan::CopyBuffer::LOCAL
                                            : toHost ? plan::CopyBuffer::TO_HOST
                                                     : plan::CopyBuffer::TO_DEVICE);
  context.usesDevices |= !stays;
  useDevice(instruction.device());
}

bool FunctionBuilder::isMadeInTurn(Value value) {
  auto fragment = value.getDefiningOp<cs::FragmentOp>();
  return fragment ? !fragment.getDeferred() : isa<BlockArgument>(value);
}

void FunctionBuilder::addCopy(cs::CopyOp op) {
  buffers[op.getResult()] =
      copyTo(op, buffers.lookup(op.getValue()), plan::Buffer::ARENA,
             op.getResult().getType().getTensor(), "copy");
  plan::Instruction &instruction =
      *out.mutable_instructions(out.instructions_size() - 1);
  setRoute(instruction, op);
  if (instruction.copy().direction() == plan::CopyBuffer::LOCAL)
    return;
  instruction.mutable_copy()->set_in_line(true);
  bool inTurn = isMadeInTurn(op.getValue()) &&
                op.getValue().getType().getDevice() == instruction.device();
  instruction.set_deferred(!inTurn);
  if (!inTurn)
    instruction.set_priority(kUrgent);
  accesses.back().stream = inTurn;
}

} // namespace commsched::planexport
