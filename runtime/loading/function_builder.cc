// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/loading/function_builder.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/loading/plan_cuda.h"
#include "runtime/loading/plan_values.h"

namespace commsched::runtime {

absl::StatusOr<FunctionProgram> FunctionBuilder::Build() {
  out_.name = in_.name();
  out_.is_step = in_.is_step();
  out_.sums_gradients = in_.sums_gradients();
  where_ = absl::StrCat("function @", in_.name());
  if (in_.arena_bytes() > kMaxPlanBytes || in_.scratch_bytes() > kMaxPlanBytes)
    return BadPlan(where_, "its arena is too large");
  on_cuda_ = IsCudaPlan(plan_) && program_->server < 0;
  if (in_.host_arena_bytes() > (on_cuda_ ? kMaxPlanBytes : 0))
    return BadPlan(where_, on_cuda_ ? "its host arena is too large" : "only what runs on CUDA devices has a host arena");
  out_.arena_bytes = in_.arena_bytes();
  out_.host_arena_bytes = in_.host_arena_bytes();
  out_.scratch_bytes = in_.scratch_bytes();
  out_.global_batch = in_.global_batch();
  out_.credit_bytes = in_.credit_bytes();
  for (int i = 0; i < in_.buffers_size(); ++i)
    if (absl::Status s = AddBuffer(i); !s.ok()) return s;
  writer_.assign(in_.buffers_size(), -1);
  for (int i = 0; i < in_.instructions_size(); ++i)
    if (absl::Status s = AddInstruction(i); !s.ok()) return s;
  if (absl::Status s = Finish(); !s.ok()) return s;
  return std::move(out_);
}

absl::Status FunctionBuilder::AddBuffer(int index) {
  const plan::Buffer &b = in_.buffers(index);
  std::string where =
      absl::StrCat(where_, ": buffer ", index, b.name().empty() ? "" : " \"",
                   b.name(), b.name().empty() ? "" : "\"");
  absl::StatusOr<TensorInfo> type = ConvertType(b.type(), where);
  if (!type.ok()) return type.status();
  BufferInfo info;
  info.type = *std::move(type);
  info.name = b.name();
  switch (b.kind()) {
    case plan::Buffer::ARENA: {
      info.kind = BufferInfo::kArena;
      info.offset = b.offset();
      info.host = b.host();
      info.device = b.device();
      if (b.device() >= devices_ || (b.device() > 0 && !on_cuda_))
        return BadPlan(where, absl::StrCat("there is no memory of device ", b.device()));
      const size_t arena = b.host() ? out_.host_arena_bytes : out_.arena_bytes;
      if (b.offset() > arena || info.type.bytes > arena - b.offset())
        return BadPlan(where, "lies outside of the arena");
      if (b.offset() % ops::ElementBytes(info.type.element) != 0)
        return BadPlan(where, "is not aligned to its elements");
      break;
    }
    case plan::Buffer::SLOT_CURRENT:
    case plan::Buffer::SLOT_NEXT: {
      if (b.slot() >= program_->slots.size())
        return BadPlan(where, absl::StrCat("there is no slot ", b.slot()));
      SlotInfo &slot = program_->slots[b.slot()];
      if (!(slot.type == info.type))
        return BadPlan(where, absl::StrCat("type must match slot \"", slot.name,
                                           "\" ", ToString(slot.type),
                                           ", got: ", ToString(info.type)));
      info.slot = b.slot();
      info.device = slot.device;
      bool next = b.kind() == plan::Buffer::SLOT_NEXT;
      info.kind = next ? BufferInfo::kSlotNext : BufferInfo::kSlotCurrent;
      std::vector<uint32_t> &list = next ? out_.written_slots : out_.read_slots;
      if (std::find(list.begin(), list.end(), b.slot()) == list.end())
        list.push_back(b.slot());
      if (next) slot.written = true;
      break;
    }
    case plan::Buffer::BATCH: {
      info.kind = BufferInfo::kBatch;
      if (b.batch().empty()) return BadPlan(where, "a batch needs a name");
      if (info.type.shape.empty() && program_->server < 0)
        return BadPlan(where, "a batch needs a dimension that counts samples");
      if (b.device() >= devices_)
        return BadPlan(where, absl::StrCat("there is no device ", b.device()));
      if (b.device() > 0) out_.batch_devices = devices_;
      for (const BatchArgument &a : out_.batches)
        if (a.name == b.batch() && !(a.type == info.type))
          return BadPlan(
              where, absl::StrCat("batch \"", b.batch(), "\" has two types"));
      auto known = std::find_if(out_.batches.begin(), out_.batches.end(),
                                [&](const BatchArgument &a) {
                                  return a.name == b.batch() &&
                                         a.device == b.device();
                                });
      info.batch = uint32_t(known - out_.batches.begin());
      info.device = b.device();
      if (known == out_.batches.end())
        out_.batches.push_back({b.batch(), info.type, b.device()});
      break;
    }
    case plan::Buffer::WORKER_INDEX:
      info.kind = BufferInfo::kWorkerIndex;
      if (info.type.element != ops::Element::kI32 || !info.type.shape.empty())
        return BadPlan(where, absl::StrCat("a worker's index must be of I32 without "
                                           "dimensions, got: ",
                                           ToString(info.type)));
      if (((plan_.required_features() >> plan::FEATURE_WORKER_INDEX) & 1) == 0)
        return BadPlan(where,
                       "is a worker's index, which the plan's required "
                       "features do not say");
      if (program_->server >= 0)
        return BadPlan(where, "a server is no worker, and has no index");
      if (b.device() >= devices_)
        return BadPlan(where, absl::StrCat("there is no device ", b.device()));
      if (b.device() > 0) out_.batch_devices = devices_;
      info.device = b.device();
      out_.reads_index = true;
      break;
    case plan::Buffer::PART: {
      if (b.parent() >= uint32_t(index) ||
          in_.buffers(int(b.parent())).kind() == plan::Buffer::PART)
        return BadPlan(where, absl::StrCat("buffer ", b.parent(),
                                           " must come before its parts and be none"));
      const BufferInfo &parent = out_.buffers[b.parent()];
      if (parent.kind == BufferInfo::kWorkerIndex)
        return BadPlan(where, "a worker's index has no parts");
      if (b.offset() > parent.type.bytes ||
          info.type.bytes > parent.type.bytes - b.offset())
        return BadPlan(where, absl::StrCat("lies outside of buffer ", b.parent()));
      if (b.offset() % ops::ElementBytes(info.type.element) != 0 ||
          ops::ElementBytes(info.type.element) >
              ops::ElementBytes(parent.type.element))
        return BadPlan(where, "is not aligned to its elements");
      info.kind = parent.kind;
      info.offset = parent.offset + b.offset();
      info.slot = parent.slot;
      info.batch = parent.batch;
      info.device = parent.device;
      info.host = parent.host;
      break;
    }
    default:
      return BadPlan(where, "unknown kind");
  }
  if (b.host() != info.host || (b.host() && !on_cuda_))
    return BadPlan(where, "only buffers of the arena of what runs on CUDA devices, and their parts, can be in host memory");
  out_.buffers.push_back(std::move(info));
  return absl::OkStatus();
}

absl::Status FunctionBuilder::CheckRead(uint32_t buffer) {
  if (buffer >= out_.buffers.size())
    return BadPlan(where_, absl::StrCat("there is no buffer ", buffer));
  return absl::OkStatus();
}

absl::Status FunctionBuilder::Write(uint32_t buffer) {
  if (absl::Status s = CheckRead(buffer); !s.ok()) return s;
  BufferInfo::Kind kind = out_.buffers[buffer].kind;
  if (kind == BufferInfo::kBatch || kind == BufferInfo::kSlotCurrent ||
      kind == BufferInfo::kWorkerIndex)
    return BadPlan(where_, absl::StrCat("writes buffer ", buffer,
                                        ", which may only be read"));
  writer_[buffer] = current_;
  if (kind == BufferInfo::kSlotNext)
    slot_writes_.emplace(current_, out_.buffers[buffer].slot);
  return absl::OkStatus();
}

int64_t FunctionBuilder::LastWriter(uint32_t buffer) const {
  auto root = [&](uint32_t b) {
    const plan::Buffer &info = in_.buffers(int(b));
    return info.kind() == plan::Buffer::PART ? info.parent() : b;
  };
  const BufferInfo &own = out_.buffers[buffer];
  int64_t last = -1;
  for (uint32_t b = 0; b < out_.buffers.size(); ++b) {
    const BufferInfo &other = out_.buffers[b];
    if (b == buffer || (root(b) == root(buffer) &&
                        other.offset < own.offset + own.type.bytes &&
                        own.offset < other.offset + other.type.bytes))
      last = std::max(last, writer_[b]);
  }
  return last;
}

absl::Status FunctionBuilder::Finish() {
  where_ = absl::StrCat("function @", in_.name());
  for (uint32_t i = 0; i < out_.instructions.size(); ++i) {
    for (uint32_t d : out_.instructions[i].waits_same)
      out_.instructions[d].wakes_same.push_back(i);
    for (uint32_t d : out_.instructions[i].waits_last)
      out_.instructions[d].wakes_next.push_back(i);
    for (const PartWait &d : out_.instructions[i].part_waits_same)
      out_.instructions[d.instruction].communicate.parts[d.part].wakes_same.push_back(i);
    for (const PartWait &d : out_.instructions[i].part_waits_last)
      out_.instructions[d.instruction].communicate.parts[d.part].wakes_next.push_back(i);
  }
  if (UpdatesRows())
    if (absl::Status s = AddRowOutputs(); !s.ok()) return s;
  for (const plan::Output &o : in_.outputs()) {
    if (UpdatesRows()) break;
    if (absl::Status s = CheckRead(o.buffer()); !s.ok()) return s;
    const TensorInfo &type = out_.buffers[o.buffer()].type;
    if (type.elements != 1)
      return BadPlan(where_, absl::StrCat("metric \"", o.metric(),
                                          "\" must have one element, got: ",
                                          ToString(type)));
    uint32_t index = uint32_t(out_.outputs.size());
    out_.outputs.push_back({o.metric(), o.buffer()});
    const int64_t writer = LastWriter(o.buffer());
    if (writer >= 0)
      out_.instructions[writer].outputs.push_back(index);
    else if (out_.buffers[o.buffer()].kind == BufferInfo::kBatch ||
             out_.buffers[o.buffer()].kind == BufferInfo::kWorkerIndex ||
             out_.buffers[o.buffer()].kind == BufferInfo::kSlotCurrent)
      out_.initial_outputs.push_back(index);
    else
      return BadPlan(
          where_, absl::StrCat("nothing writes metric \"", o.metric(), "\""));
  }
  for (const auto &[instruction, slot] : slot_writes_)
    out_.instructions[size_t(instruction)].writes.push_back(
        uint32_t(std::find(out_.written_slots.begin(), out_.written_slots.end(), slot) -
                 out_.written_slots.begin()));
  for (uint32_t slot : out_.written_slots) {
    bool written = false;
    for (size_t b = 0; b < out_.buffers.size(); ++b)
      written |= out_.buffers[b].kind == BufferInfo::kSlotNext &&
                 out_.buffers[b].slot == slot && writer_[b] >= 0;
    if (!written)
      return BadPlan(where_, absl::StrCat("nothing writes the next value of \"",
                                          program_->slots[slot].name, "\""));
  }
  if (absl::Status s = CheckPushes(); !s.ok()) return s;
  if (absl::Status s = CheckNcclOrder(); !s.ok()) return s;
  if (absl::Status s = CheckEnds(); !s.ok()) return s;
  const uint64_t workers = uint64_t(program_->workers) * out_.batch_devices;
  for (const BatchArgument &batch : out_.batches)
    if (out_.global_batch != 0 &&
        uint64_t(batch.type.shape[0]) * workers != out_.global_batch)
      return BadPlan(
          where_,
          absl::StrCat("batch \"", batch.name, "\" of ", batch.type.shape[0],
                       " samples on ", program_->workers, " nodes",
                       out_.batch_devices > 1
                           ? absl::StrCat(" of ", out_.batch_devices, " devices")
                           : "",
                       " must match the global batch ", out_.global_batch));
  return absl::OkStatus();
}

}  // namespace commsched::runtime
