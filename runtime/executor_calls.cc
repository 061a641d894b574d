// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The bookkeeping of calls: one is admitted from the queue, begins, its
// instructions become ready and complete, and it is retired.
#include <algorithm>
#include <limits>
#include <utility>

#include "runtime/executor.h"

namespace commsched::runtime {
namespace {

constexpr size_t kMaxInFlight = 2;  // dependences reach back one call
constexpr size_t kKeptResults = 65536;

}  // namespace

void Executor::AdmitCalls() {
  while (!queue_.empty() && status_.ok()) {
    const Queued &next = queue_.front();
    if (!in_flight_.empty()) {
      const Call &last = *in_flight_.back();
      bool overlaps = last.program->is_step && last.function == next.function;
      if (!overlaps || in_flight_.size() >= kMaxInFlight) return;
    }
    Queued queued = std::move(queue_.front());
    queue_.pop_front();
    Begin(std::move(queued));
    changed_.SignalAll();
  }
}

void Executor::Begin(Queued queued) {
  std::unique_ptr<Call> owned;
  if (spare_.empty()) {
    owned = std::make_unique<Call>();
  } else {
    owned = std::move(spare_.back());
    spare_.pop_back();
  }
  Call *call = owned.get();
  const FunctionProgram &f = program_->functions[queued.function];
  call->writes.resize(f.written_slots.size());
  for (size_t w = 0; w < f.written_slots.size(); ++w) {
    const uint32_t slot = f.written_slots[w];
    if (absl::Status s = slots_.PrepareWrite(slot, program_->slots[slot],
                                             &call->writes[w]);
        !s.ok()) {
      status_ = std::move(s);
      return;
    }
  }
  size_t n = f.instructions.size();
  call->function = queued.function;
  call->number = queued.number;
  if (options_.servers != nullptr) {
    // A call that is no step sees the values after the steps before it.
    call->step = options_.servers->first_step() + steps_;
    if (f.is_step) ++steps_;
  }
  call->program = &f;
  call->done.assign(n, 0);
  call->waiting.assign(n, 0);
  call->position.assign(streams_.size(), 0);
  call->remaining = uint32_t(n);
  call->metrics.assign(f.outputs.size(),
                       std::numeric_limits<double>::quiet_NaN());
  call->batches = std::move(queued.batches.owner);
  call->begin = Clock::now();
  if (options_.emulate) call->ready.assign(n, call->begin);
  const int rank = queued.batches.rank < 0 ? program_->rank : queued.batches.rank;
  call->index.resize(f.batch_devices);
  for (uint32_t d = 0; d < f.batch_devices; ++d)
    call->index[d] = int32_t(uint32_t(rank) * f.batch_devices + d);
  call->address.resize(f.buffers.size());
  for (size_t b = 0; b < f.buffers.size(); ++b) {
    const BufferInfo &buffer = f.buffers[b];
    switch (buffer.kind) {
      case BufferInfo::kArena:
        call->address[b] = arenas_[queued.function].data() + buffer.offset;
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
  const Call *previous = in_flight_.empty() ? nullptr : in_flight_.back().get();
  for (size_t i = 0; i < n; ++i) {
    const InstructionProgram &instruction = f.instructions[i];
    uint32_t waiting = uint32_t(instruction.waits_same.size());
    if (previous != nullptr)
      for (uint32_t d : instruction.waits_last)
        if (!previous->done[d]) ++waiting;
    call->waiting[i] = waiting;
  }
  in_flight_.push_back(std::move(owned));
  for (uint32_t output : f.initial_outputs) ReadOutput(call, output);
  for (uint32_t i = 0; i < n; ++i)
    if (call->waiting[i] == 0) Ready(call, i);
  if (n == 0) Retire();
}

void Executor::BeginWrites(Call *call, const InstructionProgram &instruction) {
  for (uint32_t w : instruction.writes) {
    if (call->writes[w].begun) continue;
    const uint32_t slot = call->program->written_slots[w];
    slots_.BeginWrite(slot, program_->slots[slot], call->number,
                      options_.completed != nullptr ? options_.completed->OfAll()
                                                    : completed_,
                      &call->writes[w]);
  }
}

// The instruction's dependences are met. What runs in order on a stream is
// found there by the stream's thread.
void Executor::Ready(Call *call, uint32_t index) {
  const InstructionProgram &instruction = call->program->instructions[index];
  if (instruction.on_stream()) {
    Stream &stream = *streams_[instruction.stream];
    if (stream.info.kind != StreamInfo::kCompute)
      stream.ready.emplace(instruction.priority, call->number, index);
    else if (instruction.deferred)
      stream.ready.emplace(std::min(0, instruction.priority), call->number, index);
    stream.work.Signal();
    return;
  }
  BeginWrites(call, instruction);
  ProgressEngine::Request request;
  request.instruction = &instruction;
  request.index = index;
  request.call = call->number;
  request.cookie = call;
  if (options_.transport == nullptr || !options_.transport->overtakes())
    request.credit = call->program->credit_bytes;
  if (instruction.kind != InstructionProgram::kCommunicate) {
    const bool after = call->program->is_step &&
                       instruction.kind == InstructionProgram::kPull;
    request.step = call->step + (after ? 1 : 0);
    if (instruction.kind == InstructionProgram::kPushRows ||
        instruction.kind == InstructionProgram::kPullRows) {
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
  request.buffer = call->address[c.buffer];
  if (c.input >= 0) request.input = call->address[size_t(c.input)];
  if (c.output >= 0) request.output = call->address[size_t(c.output)];
  engine_->Start(request);
}

void Executor::ReadOutput(Call *call, uint32_t output) {
  uint32_t buffer = call->program->outputs[output].buffer;
  call->metrics[output] = ops::ReadElement(
      call->program->buffers[buffer].type.element, call->address[buffer]);
}

void Executor::Complete(Call *call, uint32_t index, Clock::time_point at) {
  const InstructionProgram &instruction = call->program->instructions[index];
  call->done[index] = 1;
  for (uint32_t output : instruction.outputs) ReadOutput(call, output);
  auto met = [&](Call *waiter, uint32_t i) {
    if (options_.emulate) waiter->ready[i] = std::max(waiter->ready[i], at);
    if (--waiter->waiting[i] == 0) Ready(waiter, i);
  };
  for (uint32_t i : instruction.wakes_same) met(call, i);
  // The call after this one, if it has begun, counts on this instruction.
  for (size_t c = 0; c + 1 < in_flight_.size(); ++c)
    if (in_flight_[c].get() == call) {
      Call *next = in_flight_[c + 1].get();
      for (uint32_t i : instruction.wakes_next) met(next, i);
    }
  if (--call->remaining == 0) Retire();
}

void Executor::Retire() {
  while (!in_flight_.empty() && in_flight_.front()->remaining == 0) {
    std::unique_ptr<Call> call = std::move(in_flight_.front());
    in_flight_.pop_front();
    results_.push_back(std::move(call->metrics));
    if (results_.size() > kKeptResults) results_.pop_front();
    ++completed_;
    if (options_.completed != nullptr)
      options_.completed->Set(options_.number, completed_);
    Clock::time_point now = Clock::now();
    FunctionStats &stats = stats_[call->function];
    ++stats.calls;
    stats.total_ns += Nanoseconds(now - std::max(call->begin, last_retired_));
    last_retired_ = now;
    call->batches.reset();
    spare_.push_back(std::move(call));
  }
  AdmitCalls();
  WakeStreams();
  changed_.SignalAll();
}

void Executor::CommunicationDone(void *cookie, uint32_t instruction) {
  MutexLock lock(&mu_);
  if (status_.ok())
    Complete(static_cast<Call *>(cookie), instruction,
             options_.emulate ? Clock::now() : Clock::time_point());
}

}  // namespace commsched::runtime
