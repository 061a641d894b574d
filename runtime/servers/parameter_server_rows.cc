// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Blocks of rows of a parameter server: their rows lie once in the memory of
// the executor's slots. An update takes the rows that have been pushed out of
// there, chunk by chunk, calls the block's function, and puts them back.
#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/status_util.h"
#include "runtime/servers/parameter_server_impl.h"

namespace commsched::runtime {
namespace {

SharedBytes Own(RowsMessage bytes) {
  auto owned = std::make_shared<RowsMessage>(std::move(bytes));
  return {absl::MakeConstSpan(*owned), owned};
}

std::vector<int64_t> Ids(const RowsView &rows, size_t begin, size_t count) {
  std::vector<int64_t> ids(count);
  for (size_t i = 0; i < count; ++i) ids[i] = rows.id(begin + i);
  return ids;
}

}  // namespace

absl::Status ParameterServerImpl::PrepareRows(Block *block) {
  if (!block->program->of_rows()) return absl::OkStatus();
  const FunctionProgram &function =
      program_->functions[size_t(block->program->function)];
  for (const BatchArgument &batch : function.batches) {
    absl::StatusOr<Memory> memory = Memory::Allocate(batch.type.bytes);
    if (!memory.ok()) return Named(memory.status());
    block->chunk.push_back(*std::move(memory));
  }
  return absl::OkStatus();
}

bool ParameterServerImpl::Reading() const {
  for (uint32_t b = 0; b < blocks_.size(); ++b)
    if (machine_->readers(b) != 0) return true;
  return false;
}

int ParameterServerImpl::BlockOfRows(uint32_t slot) const {
  for (size_t b = 0; b < server_->blocks.size(); ++b)
    for (const RowBlockProgram::Slot &own : server_->blocks[b].rows.slots)
      if (own.slot == slot) return int(b);
  return -1;
}

SharedBytes ParameterServerImpl::MergeParts(Block *block) {
  std::vector<SharedBytes> parts = std::move(block->row_parts);
  block->row_parts.clear();
  if (parts.size() == 1) return std::move(parts[0]);
  const double scale = block->program->mean ? 1.0 / double(parts.size()) : 0.0;
  const RowLayout &layout = block->program->rows.gradient;
  mu_.Unlock();
  std::vector<RowsView> views;
  // They were checked when they came.
  for (const SharedBytes &part : parts) views.push_back(*ReadRows(part.bytes, layout));
  SharedBytes merged = Own(MergeRows(views, layout, scale));
  parts.clear();
  mu_.Lock();
  return merged;
}

absl::Status ParameterServerImpl::UpdateRows(const Machine::Work &work) {
  Block *block = &blocks_[size_t(work.block)];
  waiters_.Await(&mu_, [&] { return stop_ || machine_->readers(uint32_t(work.block)) == 0; });
  const RowBlockProgram &program = block->program->rows;
  absl::StatusOr<RowsView> rows = ReadRows(work.gradient.bytes, program.gradient);
  absl::Status status = rows.status();
  for (size_t at = 0; status.ok() && at < rows->count; at += program.chunk) {
    if (stop_) return absl::CancelledError("the server is gone");
    mu_.Unlock();
    status = UpdateChunk(*block, *rows, at,
                         std::min<size_t>(program.chunk, rows->count - at));
    mu_.Lock();
  }
  return status;
}

absl::Status ParameterServerImpl::UpdateChunk(const Block &block,
                                              const RowsView &rows, size_t begin,
                                              size_t count) {
  const RowBlockProgram &program = block.program->rows;
  const int function = block.program->function;
  const std::vector<int64_t> ids = Ids(rows, begin, count);
  BatchRows batches;
  for (const Memory &memory : block.chunk) batches.data.push_back(memory.data());
  const auto clear_rest = [&](int batch, size_t row_bytes) {
    if (count != program.chunk)
      std::memset(block.chunk[size_t(batch)].data() + count * row_bytes, 0,
                  (program.chunk - count) * row_bytes);
  };
  const size_t gradient = program.gradient.row_bytes;
  std::memcpy(block.chunk[size_t(program.gradient_batch)].data(),
              rows.values + begin * gradient, count * gradient);
  clear_rest(program.gradient_batch, gradient);
  for (const RowBlockProgram::Slot &slot : program.slots) {
    if (slot.batch < 0) continue;
    GatherRows(executor_->SlotData(slot.slot), ids, slot.row_bytes,
               block.chunk[size_t(slot.batch)].data());
    clear_rest(slot.batch, slot.row_bytes);
  }
  absl::StatusOr<uint64_t> call = executor_->Enqueue(function, std::move(batches));
  if (!call.ok()) return call.status();
  if (auto done = executor_->Metrics(*call); !done.ok()) return done.status();
  const FunctionProgram &f = program_->functions[size_t(function)];
  for (const RowBlockProgram::Slot &slot : program.slots) {
    if (slot.output < 0) continue;
    const uint32_t buffer = f.row_outputs[size_t(slot.output)];
    const BufferInfo &info = f.buffers[buffer];
    const std::byte *updated =
        info.kind == BufferInfo::kBatch
            ? block.chunk[info.batch].data() + info.offset
            : executor_->ArenaData(function, buffer);
    ScatterRows(updated, ids, slot.row_bytes, executor_->SlotData(slot.slot));
  }
  return absl::OkStatus();
}

void ParameterServerImpl::AnswerRows(uint32_t block, PendingPull pull) {
  const BlockProgram &program = server_->blocks[block];
  machine_->BeginRead(block);
  mu_.Unlock();
  const size_t row = program.rows.value_bytes;
  RowsMessage bytes(pull.all ? program.value.bytes : pull.ids.size() * row);
  const std::byte *table = executor_->SlotData(program.slots[0].slot);
  if (pull.all)
    std::memcpy(bytes.data(), table, bytes.size());
  else
    GatherRows(table, pull.ids, row, bytes.data());
  absl::StatusOr<SharedBytes> value = Own(std::move(bytes));
  mu_.Lock();
  machine_->EndRead(block);
  waiters_.Changed();
  mu_.Unlock();
  pull.done(std::move(value));
  mu_.Lock();
}

void ParameterServerImpl::PullRows(int trainer, uint32_t block, uint64_t version,
                                   std::vector<int64_t> ids, PullDone done) {
  absl::Status status;
  {
    MutexLock lock(&mu_);
    status = Check(trainer, block);
    if (status.ok() && !blocks_[block].program->of_rows())
      status = Named(absl::InvalidArgumentError(
          absl::StrCat(Where(blocks_[block]), ": has no single rows")));
    if (status.ok())
      status = CheckIds(reinterpret_cast<const std::byte *>(ids.data()), ids.size(),
                        blocks_[block].program->rows.gradient.rows);
    if (!status.ok()) {
      status = absl::Status(status.code(),
                            absl::StrCat("pull of rows by trainer ", trainer, ": ",
                                         status.message()));
    } else {
      PendingPull pull{std::move(done), false, std::move(ids)};
      absl::StatusOr<Machine::Pulled> pulled = Ask(trainer, block, version, &pull);
      if (pulled.ok()) {
        if (*pulled != Machine::Pulled::kWaits) AnswerRows(block, std::move(pull));
        return;
      }
      done = std::move(pull.done);
      status = pulled.status();
    }
  }
  done(std::move(status));
}

ParameterServerImpl::Tables ParameterServerImpl::CopyTables() {
  // No update runs while a snapshot is wanted.
  mu_.Unlock();
  Tables tables;
  for (const BlockProgram &block : server_->blocks)
    for (const RowBlockProgram::Slot &slot : block.rows.slots) {
      const std::byte *data = executor_->SlotData(slot.slot);
      tables[slot.slot] =
          Own({data, data + program_->slots[slot.slot].type.bytes});
    }
  mu_.Lock();
  return tables;
}

}  // namespace commsched::runtime
