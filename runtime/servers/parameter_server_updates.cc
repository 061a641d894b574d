// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How a parameter server combines gradients and runs updates.
#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ops/sparse/list_message.h"
#include "runtime/base/status_util.h"
#include "runtime/servers/parameter_server_impl.h"

namespace commsched::runtime {

absl::StatusOr<std::shared_ptr<Memory>> ParameterServerImpl::Buffer(
    Block *block) {
  if (!block->spare.empty()) {
    std::shared_ptr<Memory> memory = std::move(block->spare.back());
    block->spare.pop_back();
    return memory;
  }
  absl::StatusOr<Memory> memory =
      Memory::Allocate(block->program->gradient.bytes);
  if (!memory.ok()) return memory.status();
  return std::make_shared<Memory>(*std::move(memory));
}

absl::Status ParameterServerImpl::Add(Block *block, const Machine::Addition &addition) {
  if (block->program->of_rows()) {
    block->row_parts.push_back(addition.payload);
    return absl::OkStatus();
  }
  // Of one trainer alone: closed before anything else sees the block.
  if (addition.parts == 1 && addition.last && !block->program->of_lists()) {
    block->sole = addition.payload;
    return absl::OkStatus();
  }
  const ops::Element element = block->program->gradient.element;
  const size_t unit = ops::ElementBytes(element);
  const size_t bytes = block->program->gradient.bytes;
  if (block->sum == nullptr) {
    absl::StatusOr<std::shared_ptr<Memory>> memory = Buffer(block);
    if (!memory.ok()) return memory.status();
    block->sum = *std::move(memory);
  }
  // Of narrow elements the sum is rounded before it is scaled, whoever finishes
  // when: so not here.
  const bool wide = element == ops::Element::kF32 || element == ops::Element::kF64;
  const int parts = addition.parts;
  const BlockProgram &program = *block->program;
  block->scaled = addition.last && wide && program.mean && parts > 1 && !program.of_lists();
  const double scale = block->scaled ? 1.0 / parts : 0.0;
  std::byte *sum = block->sum->data();
  absl::Status added;
  mu_.Unlock();
  if (program.of_lists()) {
    if (parts == 1 && bytes != 0) std::memset(sum, 0, bytes);
    added = ops::sparse::AddListMessage(program.lists, addition.payload.bytes, sum,
                                        program.gradient.elements);
  } else if (parts == 1) {
    if (bytes != 0) std::memcpy(sum, addition.payload.bytes.data(), bytes);
  } else {
    ops::CombineElements(element, ops::Combine::kSum, scale, sum,
                         addition.payload.bytes.data(), bytes / unit);
  }
  mu_.Lock();
  if (added.ok()) return added;
  return absl::Status(added.code(), absl::StrCat(Where(*block), ": ", added.message()));
}

void ParameterServerImpl::Close(uint32_t index, int parts) {
  Block &block = blocks_[index];
  if (block.program->of_rows()) return machine_->Closed(index, MergeParts(&block));
  if (block.sum == nullptr)
    return machine_->Closed(index, std::exchange(block.sole, SharedBytes()));
  std::shared_ptr<Memory> sum = std::move(block.sum);
  const bool scale = block.program->mean && !block.scaled && parts > 1;
  block.sum = nullptr;
  block.scaled = false;
  if (scale) {
    mu_.Unlock();
    ops::ScaleElements(block.program->gradient.element, 1.0 / parts, sum->data(),
                       size_t(block.program->gradient.elements));
    mu_.Lock();
  }
  const absl::Span<const std::byte> gradient = {sum->data(),
                                                block.program->gradient.bytes};
  machine_->Closed(index, {gradient, nullptr}, std::move(sum));
}

void ParameterServerImpl::Combine(uint32_t index) {
  Machine::Addition addition;
  while (status_.ok() && machine_->NextAddition(index, &addition)) {
    if (addition.close) {
      Close(index, addition.parts);
    } else {
      const absl::Status failed = Add(&blocks_[index], addition);
      machine_->Added(index);
      if (!failed.ok()) FailUnlocked(Named(failed));
    }
    Wake();
  }
}

// Messages lie where the network has put them.
absl::Status ParameterServerImpl::Align(Machine::Work *work) {
  Block &block = blocks_[size_t(work->block)];
  const absl::Span<const std::byte> from = work->gradient.bytes;
  if (reinterpret_cast<uintptr_t>(from.data()) %
          ops::ElementBytes(block.program->gradient.element) ==
      0)
    return absl::OkStatus();
  absl::StatusOr<std::shared_ptr<Memory>> memory = Buffer(&block);
  if (!memory.ok()) return memory.status();
  std::memcpy((*memory)->data(), from.data(), from.size());
  work->gradient = {{(*memory)->data(), from.size()}, nullptr};
  work->buffer = *std::move(memory);
  return absl::OkStatus();
}

void ParameterServerImpl::Begin(Machine::Work *work) {
  BatchRows rows;
  int function = server_->schedule;
  absl::Status status;
  if (work->block >= 0) {
    const BlockProgram &program = server_->blocks[size_t(work->block)];
    function = program.function;
    for (uint32_t b : program.together) blocks_[b].previous = {};
    if (OfRows(*work)) return;  // run by Complete
    // The gradients live as long as the work.
    for (uint32_t b : program.together) {
      Machine::Work *own = work;
      for (Machine::Work &other : work->others)
        if (other.block == int(b)) own = &other;
      if (status.ok()) status = Align(own);
      rows.data.push_back(own->gradient.bytes.data());
    }
    if (work->others.empty()) rows.owner = work->gradient.owner;
  }
  if (!status.ok()) return FailUnlocked(Named(status));
  mu_.Unlock();
  absl::StatusOr<uint64_t> call =
      executor_->Enqueue(function, std::move(rows));
  mu_.Lock();
  if (!call.ok()) return FailUnlocked(Named(call.status()));
  work->call = *call;
}

// Waits for the update that has begun first.
void ParameterServerImpl::Complete() {
  const Machine::Work &running = *machine_->running();
  const int index = running.block;
  std::vector<SharedBytes> values(blocks_.size());
  absl::Status status;
  if (OfRows(running)) {
    status = UpdateRows(running);
  } else {
    const uint64_t call = running.call;
    mu_.Unlock();
    status = executor_->Metrics(call).status();
    if (index >= 0)
      for (uint32_t b : server_->blocks[size_t(index)].together) {
        if (!status.ok()) break;
        absl::StatusOr<SharedBytes> value =
            ShareValue(server_->blocks[b]);
        if (value.ok())
          values[b] = *std::move(value);
        else
          status = value.status();
      }
    mu_.Lock();
  }
  if (!status.ok()) {
    const std::string what =
        index < 0 ? "schedule"
                  : absl::StrCat("update of ", Where(blocks_[size_t(index)]));
    return FailUnlocked(Named(
        absl::Status(status.code(), absl::StrCat(what, ": ", status.message()))));
  }
  std::vector<Machine::Answer> answers;
  Machine::Work work = machine_->Complete(&answers);
  if (index >= 0 && !OfRows(work)) {
    for (uint32_t b : server_->blocks[size_t(index)].together) {
      Block &block = blocks_[b];
      if (sync()) block.previous = std::move(block.current);
      block.current = std::move(values[b]);
    }
    work.others.push_back({work.block, 0, 0, {}, std::move(work.buffer)});
    for (Machine::Work &own : work.others)
      if (own.buffer != nullptr)
        blocks_[size_t(own.block)].spare.push_back(
            std::static_pointer_cast<Memory>(std::move(own.buffer)));
  }
  Wake();
  AnswerAll(std::move(answers));
}

void ParameterServerImpl::AnswerAll(std::vector<Machine::Answer> answers) {
  std::vector<std::pair<PullDone, absl::StatusOr<SharedBytes>>> now;
  std::vector<std::pair<uint32_t, PendingPull>> of_rows;
  for (Machine::Answer &answer : answers) {
    PendingPull pull = TakePull(answer.pull);
    if (!answer.status.ok())
      now.emplace_back(std::move(pull.done), Named(answer.status));
    else if (blocks_[answer.block].program->of_rows())
      of_rows.emplace_back(answer.block, std::move(pull));
    else
      now.emplace_back(std::move(pull.done), blocks_[answer.block].current);
  }
  // No update runs meanwhile: this is the thread that would run it.
  for (auto &[block, pull] : of_rows) AnswerRows(block, std::move(pull));
  if (now.empty()) return;
  mu_.Unlock();
  for (auto &[done, value] : now) done(std::move(value));
  now.clear();
  mu_.Lock();
}

void ParameterServerImpl::WaitForWork() {
  sleeps_ = true;
  watches_ = machine_->waiting();
  Rest();
  sleeps_ = false;
}

void ParameterServerImpl::Rest() {
  if (!watches_) {
    work_.Wait(&mu_);
    return;
  }
  const Clock::duration deadline = absl::ToChronoNanoseconds(
      std::min(options_.deadline, absl::Hours(24 * 365)));
  if (stall_.Idle() < deadline) {
    work_.WaitUntil(&mu_, stall_.NextLook(deadline));
    return;
  }
  FailUnlocked(Named(absl::DeadlineExceededError(
      absl::StrCat("no progress within ", absl::FormatDuration(options_.deadline),
                   ": ", machine_->Missing()))));
}

// Updates run on the server's own thread, while it waits for them.
absl::Status ParameterServerImpl::MakeExecutor() {
  ExecutorOptions options;
  options.trace = options_.trace;
  options.deadline = options_.deadline;
  options.emulate = options_.emulate;
  options.profile = options_.profile;
  options.runs_where_awaited = true;
  auto made = Executor::Create(program_, std::move(options));
  if (!made.ok()) return made.status();
  executor_ = *std::move(made);
  return absl::OkStatus();
}

void ParameterServerImpl::Run() {
  absl::Status made = MakeExecutor();
  mu_.Lock();
  made_ = std::move(made);
  waiters_.Changed();
  while (!begins_ && !stop_) work_.Wait(&mu_);
  while (!stop_ && status_.ok()) {
    std::vector<Machine::Answer> answers;
    machine_->TakeFinal(&answers);
    if (!answers.empty())
      AnswerAll(std::move(answers));
    else if (Machine::Work *work = machine_->Next(); work != nullptr)
      Begin(work);
    else if (machine_->running() != nullptr)
      Complete();
    else
      WaitForWork();
  }
  // What has begun ends, whatever becomes of it: values are read behind that.
  mu_.Unlock();
  if (executor_ != nullptr) executor_->Drain().IgnoreError();
  mu_.Lock();
  ended_ = true;
  waiters_.Changed();
  mu_.Unlock();
}

}  // namespace commsched::runtime
