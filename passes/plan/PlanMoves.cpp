// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Copies, and the blocks of cs.split and cs.concat, which are not copied if they
// are in their place already.

#include "passes/plan/FunctionBuilder.h"
#include "passes/plan/Memory.h"
#include "passes/plan/Urgency.h"

#include "passes/layout/StagingRing.h"

using namespace mlir;

namespace commsched::planexport {

unsigned FunctionBuilder::addPart(unsigned whole, uint64_t offset, RankedTensorType type,
                                  StringRef name) {
  const plan::Buffer &outer = out.buffers(whole);
  if (outer.kind() == plan::Buffer::PART) {
    offset += outer.offset();
    whole = outer.parent();
  }
  unsigned buffer = addBuffer(plan::Buffer::PART, type, name, {});
  out.mutable_buffers(buffer)->set_parent(whole);
  out.mutable_buffers(buffer)->set_host(out.buffers(whole).host());
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
        addBuffer(plan::Buffer::ARENA, concat.getResult().getType().getTensor(), "concat",
                  concat.getResult().getType());
    buffers[concat.getResult()] = whole;
    return whole;
  }
  return it->second;
}

unsigned FunctionBuilder::stageAt(uint64_t offset, RankedTensorType type, StringRef name) {
  if (!stagingArea) {
    stagingArea = addBuffer(plan::Buffer::ARENA,
                            RankedTensorType::get({0}, IntegerType::get(type.getContext(), 64)),
                            "staging",
                            cs::PlacedType::get(type.getContext(), type, 0, cs::MemoryKind::host));
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
    return bufferFor(op.getFuture(), type, op.getKey());
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

unsigned FunctionBuilder::bufferFor(Value value, RankedTensorType type, StringRef name) {
  std::optional<MessageLayout::Place> place = layout.placeOf(value);
  if (!place)
    return addBuffer(plan::Buffer::ARENA, type, name, placedOf(value));
  return addPart(areas[place->area], place->element * elementBytes(type.getElementType()),
                 type, name);
}

unsigned FunctionBuilder::piece(unsigned whole, int64_t begin, int64_t end,
                                RankedTensorType type, StringRef name) {
  Type element = type.getElementType();
  uint64_t bytes = elementBytes(element);
  if (begin == 0 && (end - begin) * bytes == tensorBytes(out.buffers(whole).type()))
    return whole;
  return addPart(whole, begin * bytes, RankedTensorType::get({end - begin}, element), name);
}

void FunctionBuilder::addPack(cs::PackOp op) {
  RankedTensorType type = op.getResult().getType().getTensor();
  unsigned message = bufferFor(op.getResult(), type, "message");
  buffers[op.getResult()] = message;
  int64_t at = 0;
  for (auto [i, value] : llvm::enumerate(op.getPieces())) {
    int64_t begin = op.getBounds()[2 * i], end = op.getBounds()[2 * i + 1];
    at += end - begin;
    if (!layout.isCopied(op, i))
      continue;
    unsigned source = piece(buffers.lookup(value), begin, end, type, "piece");
    unsigned target = piece(message, at - (end - begin), at, type, "piece");
    addCopyInstruction(op, source, target, "pack");
    plan::Instruction &copy = *out.mutable_instructions(out.instructions_size() - 1);
    copy.set_device(op.getResult().getType().getDevice());
    // The network waits for it.
    copy.set_priority(kUrgent);
  }
}

void FunctionBuilder::addUnpack(cs::UnpackOp op) {
  RankedTensorType type = op.getResult().getType().getTensor();
  if (layout.reasonToCopy(op).empty()) {
    // Its pieces lie side by side.
    uint64_t offset = op.getBounds()[0] * elementBytes(type.getElementType());
    buffers[op.getResult()] =
        addPart(buffers.lookup(op.getPieces()[0]), offset, type, "unpacked");
    return;
  }
  unsigned whole = addBuffer(plan::Buffer::ARENA, type, "unpacked", op.getResult().getType());
  buffers[op.getResult()] = whole;
  int64_t at = 0;
  for (auto [i, value] : llvm::enumerate(op.getPieces())) {
    int64_t begin = op.getBounds()[2 * i], end = op.getBounds()[2 * i + 1];
    unsigned source = piece(buffers.lookup(value), begin, end, type, "piece");
    unsigned target = piece(whole, at, at + end - begin, type, "piece");
    addCopyInstruction(op, source, target, "unpack");
    out.mutable_instructions(out.instructions_size() - 1)
        ->set_device(op.getResult().getType().getDevice());
    at += end - begin;
  }
}

unsigned FunctionBuilder::copyTo(Operation *op, unsigned source, plan::Buffer::Kind kind,
                                 cs::PlacedType placed, StringRef name) {
  unsigned target = addBuffer(kind, placed.getTensor(), name, placed);
  addCopyInstruction(op, source, target, name);
  if (onDevices())
    out.mutable_instructions(out.instructions_size() - 1)->set_device(placed.getDevice());
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
  instruction.mutable_copy()->set_between_devices(from.getDevice() != to.getDevice());
  context.usesDevices |= !stays;
  useDevice(instruction.device());
}

bool FunctionBuilder::isMadeInTurn(Value value) {
  auto fragment = value.getDefiningOp<cs::FragmentOp>();
  return fragment ? !fragment.getDeferred() : isa<BlockArgument>(value);
}

void FunctionBuilder::addCopy(cs::CopyOp op) {
  RankedTensorType type = op.getResult().getType().getTensor();
  unsigned target = bufferFor(op.getResult(), type, "copy");
  addCopyInstruction(op, buffers.lookup(op.getValue()), target, "copy");
  buffers[op.getResult()] = target;
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
