// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The bookkeeping of calls: one is admitted from the queue, begins, its
// instructions become ready and complete, and it is retired.
#include <algorithm>
#include <limits>
#include <utility>

#include "runtime/execute/executor.h"

namespace commsched::runtime {

void Executor::AdmitCalls() {
  while (!queue_.empty() && status_.ok() &&
         calls_.MayBegin(program_->functions[queue_.front().function])) {
    Queued queued = std::move(queue_.front());
    queue_.pop_front();
    Begin(std::move(queued));
    changed_.SignalAll();
  }
}

void Executor::Begin(Queued queued) {
  if (spare_.empty()) {
    owned_.push_back(std::make_unique<Call>());
    spare_.push_back(owned_.back().get());
  }
  Call *call = spare_.back();
  const FunctionProgram &f = program_->functions[queued.function];
  call->writes.resize(f.written_slots.size());
  for (size_t w = 0; w < f.written_slots.size(); ++w) {
    const uint32_t slot = f.written_slots[w];
    if (absl::Status s = slots_.PrepareWrite(slot, program_->slots[slot],
                                             CompletedByAll(), &call->writes[w]);
        !s.ok()) {
      status_ = std::move(s);
      return;
    }
  }
  spare_.pop_back();
  call->function = queued.function;
  call->number = queued.number;
  if (options_.servers != nullptr) {
    call->step = options_.servers->first_step() + steps_;
    if (f.is_step) ++steps_;
  }
  call->program = &f;
  call->metrics.assign(f.outputs.size(),
                       std::numeric_limits<double>::quiet_NaN());
  call->batches = std::move(queued.batches.owner);
  call->begin = Clock::now();
  const int rank = queued.batches.rank < 0 ? program_->worker : queued.batches.rank;
  call->index.resize(f.batch_devices);
  for (uint32_t d = 0; d < f.batch_devices; ++d)
    call->index[d] = int32_t(uint32_t(rank) * f.batch_devices + d);
  call->address.resize(f.buffers.size());
  for (size_t b = 0; b < f.buffers.size(); ++b) {
    const BufferInfo &buffer = f.buffers[b];
    switch (buffer.kind) {
      case BufferInfo::kArena:
        call->address[b] = arenas_[queued.function].data() + buffer.offset +
                           (buffer.host ? HostArenaBegin(f) : 0);
        break;
      case BufferInfo::kSlotCurrent:
      case BufferInfo::kSlotNext:
        call->address[b] =
            slots_.Address(buffer.slot, buffer.kind == BufferInfo::kSlotNext) +
            buffer.offset;
        break;
      case BufferInfo::kBatch:
        // Only ever read: the loader refuses anything else.
        call->address[b] =
            const_cast<std::byte *>(queued.batches.data[buffer.batch]) +
            buffer.offset;
        break;
      case BufferInfo::kWorkerIndex:
        // The same of it.
        call->address[b] =
            reinterpret_cast<std::byte *>(&call->index[buffer.device]);
        break;
    }
  }
  // From here on, "current" is what this call writes.
  for (uint32_t slot : f.written_slots) slots_.Advance(slot, queued.number);
  for (uint32_t output : f.initial_outputs) ReadOutput(call, output);
  if (nccl_ != nullptr)
    nccl_->BeginCall(call->number, uint32_t(meetings_[size_t(call->function)].size()));
  calls_.Begin(call, ToTime(call->begin), &actions_);
  Act();
  Retire();
}

void Executor::BeginWrites(Call *call, const InstructionProgram &instruction) {
  for (uint32_t w : instruction.writes) {
    if (call->writes[w].begun) continue;
    const uint32_t slot = call->program->written_slots[w];
    slots_.BeginWrite(slot, program_->slots[slot], call->number,
                      CompletedByAll(), &call->writes[w]);
  }
}

void Executor::Act() {
  // Nothing that is done here completes anything at once.
  for (auto [call, index] : actions_.begin) Communicate(static_cast<Call *>(call), index);
  for (uint32_t stream : actions_.wake) streams_[stream]->work.Signal();
  actions_.clear();
}

void Executor::Communicate(Call *call, uint32_t index) {
  const InstructionProgram &instruction = call->program->instructions[index];
  BeginWrites(call, instruction);
  ProgressEngine::Request request;
  request.instruction = &instruction;
  request.index = index;
  request.call = call->number;
  request.cookie = call;
  if (options_.transport == nullptr || !options_.transport->overtakes())
    request.credit = call->program->credit_bytes;
  if (instruction.kind != InstructionProgram::kCommunicate) {
    request.step = ServerStep(*call->program, instruction, call->step);
    if (instruction.of_rows()) {
      request.input = call->address[instruction.rows.ids];
      request.buffer = call->address[instruction.rows.values];
      engine_->Start(request);
      return;
    }
    request.buffer = call->address[instruction.message.buffer];
    engine_->Start(request);
    return;
  }
  const CommunicateProgram &c = instruction.communicate;
  if (c.nccl.has_value()) {
    Meeting &meeting = meetings_[size_t(call->function)].at(index);
    request.instruction = &meeting.instruction;
    request.buffer = meeting.buffer;
    engine_->Start(request);
    return;
  }
  request.buffer = call->address[c.buffer];
  if (c.input >= 0) request.input = call->address[size_t(c.input)];
  if (c.output >= 0) request.output = call->address[size_t(c.output)];
  engine_->Start(request);
}

void Executor::PrepareMeetings() {
  meetings_.resize(program_->functions.size());
  bool any = false;
  for (size_t f = 0; f < meetings_.size(); ++f) {
    const std::vector<InstructionProgram> &instructions = program_->functions[f].instructions;
    for (uint32_t i = 0; i < instructions.size(); ++i) {
      const CommunicateProgram &c = instructions[i].communicate;
      if (!c.nccl.has_value()) continue;
      any = true;
      InstructionProgram &meeting = meetings_[f][i].instruction;
      meeting.kind = InstructionProgram::kCommunicate;
      meeting.name = instructions[i].name;
      meeting.location = instructions[i].location;
      meeting.communicate.key = c.key;
      meeting.communicate.key_id = c.key_id;
      meeting.communicate.source_op = c.source_op;
      meeting.communicate.element = ops::Element::kI8;
      meeting.communicate.phases = {c.nccl->meeting};
    }
  }
  if (!any) return;
  nccl_ = std::make_unique<EmulatedNccl>(
      [this](const EmulatedNccl::Collective &of, Clock::time_point begin, Clock::time_point end) {
        EndNccl(of, begin, end);
      },
      &ended_);
}

void Executor::Meet(Call *call, uint32_t index) {
  const NcclProgram &nccl = *call->program->instructions[index].communicate.nccl;
  nccl_->Met({call, call->number, nccl.number, index, nccl.nanoseconds});
}

void Executor::EndNccl(const EmulatedNccl::Collective &of, Clock::time_point begin,
                       Clock::time_point end) {
  MutexLock lock(&mu_);
  if (!status_.ok() || stop_) return;
  auto *call = static_cast<Call *>(of.call);
  if (Tracing()) {
    const CommunicateProgram &c = call->program->instructions[of.instruction].communicate;
    options_.trace->Add({program_->rank, TraceSpan::kNccl, 0, c.key, "collective", of.number,
                         call->program->buffers[c.buffer].type.bytes, begin, end});
  }
  Complete(call, of.instruction, end);
}

void Executor::ReadOutput(Call *call, uint32_t output) {
  uint32_t buffer = call->program->outputs[output].buffer;
  call->metrics[output] = ops::ReadElement(
      call->program->buffers[buffer].type.element, call->address[buffer]);
}

void Executor::Complete(Call *call, uint32_t index, Clock::time_point at) {
  for (uint32_t output : call->program->instructions[index].outputs)
    ReadOutput(call, output);
  const bool retire = calls_.Complete(call, index, ToTime(at), &actions_);
  Act();
  if (retire) Retire();
}

void Executor::Retire() {
  bool any = false;
  while (auto *call = static_cast<Call *>(calls_.Retire())) {
    any = true;
    if (options_.on_completed) options_.on_completed(completed_, call->metrics);
    results_.push_back(std::move(call->metrics));
    if (results_.size() > kKeptMetrics) results_.pop_front();
    ++completed_;
    if (options_.completed != nullptr)
      options_.completed->Set(options_.number, completed_);
    Clock::time_point now = Clock::now();
    FunctionStats &stats = stats_[call->function];
    stats.Completed(Nanoseconds(now - std::max(call->begin, last_retired_)));
    last_retired_ = now;
    call->batches.reset();
    spare_.push_back(call);
  }
  if (!any) return;
  AdmitCalls();
  WakeStreams();
  changed_.SignalAll();
}

void Executor::PartDone(void *cookie, uint32_t instruction, uint32_t part) {
  MutexLock lock(&mu_);
  if (!status_.ok()) return;
  calls_.Release(static_cast<Call *>(cookie), instruction, part,
                 options_.emulate ? ToTime(Clock::now()) : Time(), &actions_);
  Act();
}

void Executor::CommunicationDone(void *cookie, uint32_t instruction) {
  MutexLock lock(&mu_);
  if (!status_.ok()) return;
  auto *call = static_cast<Call *>(cookie);
  if (nccl_ != nullptr && call->program->instructions[instruction].communicate.nccl.has_value())
    return Meet(call, instruction);
  Complete(call, instruction, options_.emulate ? Clock::now() : Clock::time_point());
}

}  // namespace commsched::runtime
