// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/executor.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "absl/strings/str_cat.h"
#include "runtime/status_util.h"

namespace commsched::runtime {
namespace {

constexpr size_t kMaxInFlight = 2;  // dependences reach back one call
constexpr size_t kMaxQueued = 2;
constexpr size_t kKeptResults = 65536;

int64_t Nanoseconds(Clock::duration d) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(d).count();
}

}  // namespace

void PeerFailureRelay::Report(int peer, const absl::Status &why) {
  MutexLock lock(&mu_);
  if (handler_)
    handler_(peer, why);
  else
    early_.emplace_back(peer, Unshared(why));
}

void PeerFailureRelay::Attach(Handler handler) {
  MutexLock lock(&mu_);
  handler_ = std::move(handler);
  if (!handler_) return;
  for (const auto &[peer, why] : early_) handler_(peer, why);
  early_.clear();
}

// What a fragment gets. `user` points back here.
struct Executor::KernelContext {
  CsFragmentContext abi;
  Executor *executor = nullptr;
  absl::Status status;

  static void CallKernel(CsFragmentContext *context, int32_t index,
                         void **operands) {
    auto *self = static_cast<KernelContext *>(context->user);
    auto &kernels = self->executor->kernels_;
    absl::Status status;
    if (index < 0 || size_t(index) >= kernels.size())
      status = absl::InvalidArgumentError(
          absl::StrCat("calls kernel ", index, ", which the plan lacks"));
    else
      status = kernels[size_t(index)]->Run(
          operands, self->executor->kernel_scratch_.data());
    if (!status.ok() && self->status.ok()) self->status = status;
  }
};

Executor::Executor(std::shared_ptr<const Program> program,
                   ExecutorOptions options)
    : program_(std::move(program)), options_(std::move(options)) {}

absl::StatusOr<std::unique_ptr<Executor>> Executor::Create(
    std::shared_ptr<const Program> program, ExecutorOptions options) {
  std::unique_ptr<Executor> executor(
      new Executor(std::move(program), std::move(options)));
  absl::Status status = executor->Prepare();
  Executor *e = executor.get();
  if (status.ok()) {
    Mutex mu;
    CondVar made;
    bool ready = false;
    e->engine_ = std::make_unique<ProgressEngine>(
        e->program_->rank, e->options_.transport.get(),
        static_cast<ProgressEngine::Host *>(e), e->options_.trace,
        e->options_.deadline);
    // Kernels are made by the thread that runs them.
    e->thread_ = std::thread([&, e] {
      ops::PrepareComputeThread();
      absl::Status s = e->MakeKernels();
      {
        MutexLock lock(&mu);
        status = s;
        ready = true;
        made.Signal();
      }
      if (s.ok()) e->ComputeLoop();
    });
    MutexLock lock(&mu);
    while (!ready) made.Wait(&mu);
  }
  if (!status.ok()) {
    if (e->options_.transport != nullptr) e->options_.transport->Abort(status);
    return status;
  }
  if (e->options_.failures != nullptr)
    e->options_.failures->Attach([e](int peer, const absl::Status &why) {
      e->engine_->PeerFailed(peer, why);
    });
  return executor;
}

absl::Status Executor::Prepare() {
  size_t scratch = 0;
  for (const FunctionProgram &f : program_->functions) {
    absl::StatusOr<Memory> arena = Memory::Allocate(f.arena_bytes);
    if (!arena.ok())
      return absl::Status(arena.status().code(),
                          absl::StrCat("arena of function @", f.name, ": ",
                                       arena.status().message()));
    memory_bytes_ += arena->size();
    arenas_.push_back(*std::move(arena));
    scratch = std::max(scratch, f.scratch_bytes);
  }
  absl::StatusOr<Memory> memory = Memory::Allocate(scratch);
  if (!memory.ok()) return memory.status();
  memory_bytes_ += memory->size();
  scratch_ = *std::move(memory);
  size_t slot_bytes = 0;
  for (const SlotInfo &slot : program_->slots)
    slot_bytes += AlignUp(slot.type.bytes) * (slot.written ? 2 : 1);
  memory = Memory::Allocate(slot_bytes);
  if (!memory.ok())
    return absl::Status(memory.status().code(),
                        absl::StrCat("parameters and state: ",
                                     memory.status().message()));
  memory_bytes_ += memory->size();
  slot_memory_ = *std::move(memory);
  std::byte *at = slot_memory_.data();
  for (const SlotInfo &slot : program_->slots) {
    for (int copy = 0; copy < 2; ++copy) {
      slots_[copy].push_back(at);
      if (copy == 1 || slot.written) at += AlignUp(slot.type.bytes);
    }
  }
  MutexLock lock(&mu_);
  version_.assign(program_->slots.size(), 0);
  stats_.assign(program_->functions.size(), FunctionStats());
  last_retired_ = Clock::now();
  return absl::OkStatus();
}

absl::Status Executor::MakeKernels() {
  size_t scratch = 0;
  for (size_t i = 0; i < program_->kernels.size(); ++i) {
    auto kernel = ops::MakeKernel(program_->kernels[i]);
    if (!kernel.ok())
      return absl::Status(kernel.status().code(),
                          absl::StrCat("kernel ", i, " \"",
                                       program_->kernels[i].kind, "\": ",
                                       kernel.status().message()));
    scratch = std::max(scratch, (*kernel)->scratch_bytes());
    kernels_.push_back(*std::move(kernel));
  }
  absl::StatusOr<Memory> memory = Memory::Allocate(scratch);
  if (!memory.ok()) return memory.status();
  memory_bytes_ += memory->size();
  kernel_scratch_ = *std::move(memory);
  context_ = std::make_unique<KernelContext>();
  context_->abi = {&KernelContext::CallKernel, scratch_.data(), context_.get()};
  context_->executor = this;
  return absl::OkStatus();
}

Executor::~Executor() {
  {
    MutexLock lock(&mu_);
    stop_ = true;
    // After an orderly end there is nothing left to tell the peers.
    if (status_.ok() && (!in_flight_.empty() || !queue_.empty()))
      status_ = absl::CancelledError("the executor is gone");
    work_.SignalAll();
    changed_.SignalAll();
  }
  if (thread_.joinable()) thread_.join();
  if (options_.failures != nullptr) options_.failures->Attach(nullptr);
  if (options_.transport != nullptr) options_.transport->Close();
  engine_.reset();
  options_.transport.reset();
}

std::byte *Executor::SlotAddress(uint32_t slot, bool next) {
  return slots_[version_[slot] ^ (next ? 1 : 0)][slot];
}

absl::Status Executor::DrainLocked() {
  while (status_.ok() && (!in_flight_.empty() || !queue_.empty()))
    changed_.Wait(&mu_);
  return Unshared(status_);
}

absl::Status Executor::SetSlot(uint32_t slot,
                               absl::Span<const std::byte> value) {
  MutexLock lock(&mu_);
  if (absl::Status s = DrainLocked(); !s.ok()) return s;
  const SlotInfo &info = program_->slots[slot];
  if (value.size() != info.type.bytes)
    return absl::InvalidArgumentError(
        absl::StrCat("value of \"", info.name, "\" must match ",
                     ToString(info.type), " of ", info.type.bytes,
                     " bytes, got: ", value.size(), " bytes"));
  if (!value.empty())
    std::memcpy(SlotAddress(slot, false), value.data(), value.size());
  return absl::OkStatus();
}

absl::Status Executor::GetSlot(uint32_t slot, absl::Span<std::byte> value) {
  MutexLock lock(&mu_);
  if (absl::Status s = DrainLocked(); !s.ok()) return s;
  const SlotInfo &info = program_->slots[slot];
  if (value.size() != info.type.bytes)
    return absl::InvalidArgumentError(
        absl::StrCat("value of \"", info.name, "\" must match ",
                     ToString(info.type), " of ", info.type.bytes,
                     " bytes, got: ", value.size(), " bytes"));
  if (!value.empty())
    std::memcpy(value.data(), SlotAddress(slot, false), value.size());
  return absl::OkStatus();
}

absl::StatusOr<uint64_t> Executor::Enqueue(int function, BatchRows batches) {
  MutexLock lock(&mu_);
  while (status_.ok() && !stop_ && queue_.size() >= kMaxQueued)
    changed_.Wait(&mu_);
  if (!status_.ok()) return Unshared(status_);
  const FunctionProgram &f = program_->functions[function];
  if (batches.data.size() != f.batches.size())
    return absl::InvalidArgumentError(
        absl::StrCat("function @", f.name, " needs ", f.batches.size(),
                     " batch arguments, got: ", batches.data.size()));
  uint64_t number = next_call_++;
  queue_.push_back({function, number, std::move(batches)});
  AdmitCalls();
  work_.Signal();
  return number;
}

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
  size_t n = f.instructions.size();
  call->function = queued.function;
  call->number = queued.number;
  call->program = &f;
  call->done.assign(n, 0);
  call->waiting.assign(n, 0);
  call->stream_position = 0;
  call->remaining = uint32_t(n);
  call->metrics.assign(f.outputs.size(),
                       std::numeric_limits<double>::quiet_NaN());
  call->batches = std::move(queued.batches.owner);
  call->begin = Clock::now();
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
            SlotAddress(buffer.slot, buffer.kind == BufferInfo::kSlotNext);
        break;
      case BufferInfo::kBatch:
        // Only ever read: the loader refuses anything else.
        call->address[b] =
            const_cast<std::byte *>(queued.batches.data[buffer.batch]);
        break;
    }
  }
  // From here on, "current" is what this call writes.
  for (uint32_t slot : f.written_slots) version_[slot] ^= 1;
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

// The instruction's dependences are met. Compute of the in-order stream is
// found there by the compute thread.
void Executor::Ready(Call *call, uint32_t index) {
  const InstructionProgram &instruction = call->program->instructions[index];
  if (instruction.kind != InstructionProgram::kCommunicate) {
    if (instruction.deferred) deferred_.emplace(call->number, index);
    work_.Signal();
    return;
  }
  const CommunicateProgram &c = instruction.communicate;
  ProgressEngine::Request request;
  request.instruction = &instruction;
  request.index = index;
  request.call = call->number;
  request.cookie = call;
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

void Executor::Complete(Call *call, uint32_t index) {
  const InstructionProgram &instruction = call->program->instructions[index];
  call->done[index] = 1;
  for (uint32_t output : instruction.outputs) ReadOutput(call, output);
  for (uint32_t i : instruction.wakes_same)
    if (--call->waiting[i] == 0) Ready(call, i);
  // The call after this one, if it has begun, counts on this instruction.
  for (size_t c = 0; c + 1 < in_flight_.size(); ++c)
    if (in_flight_[c].get() == call) {
      Call *next = in_flight_[c + 1].get();
      for (uint32_t i : instruction.wakes_next)
        if (--next->waiting[i] == 0) Ready(next, i);
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
    Clock::time_point now = Clock::now();
    FunctionStats &stats = stats_[call->function];
    ++stats.calls;
    stats.total_ns += Nanoseconds(now - std::max(call->begin, last_retired_));
    last_retired_ = now;
    call->batches.reset();
    spare_.push_back(std::move(call));
  }
  AdmitCalls();
  work_.Signal();
  changed_.SignalAll();
}

void Executor::CommunicationDone(void *cookie, uint32_t instruction) {
  MutexLock lock(&mu_);
  if (status_.ok()) Complete(static_cast<Call *>(cookie), instruction);
}

bool Executor::NextInstruction(Call **call, uint32_t *index) {
  for (const std::unique_ptr<Call> &candidate : in_flight_) {
    const std::vector<uint32_t> &stream = candidate->program->stream;
    if (candidate->stream_position == stream.size()) continue;
    uint32_t head = stream[candidate->stream_position];
    if (candidate->waiting[head] == 0) {
      ++candidate->stream_position;
      *call = candidate.get();
      *index = head;
      return true;
    }
    break;  // in order: what is behind the head waits with it
  }
  if (deferred_.empty()) return false;
  auto [number, instruction] = *deferred_.begin();
  deferred_.erase(deferred_.begin());
  for (const std::unique_ptr<Call> &candidate : in_flight_)
    if (candidate->number == number) *call = candidate.get();
  *index = instruction;
  return true;
}

// What the compute stream waits for, for the trace.
std::string Executor::WaitName(const Call &call) {
  std::string name;
  const FunctionProgram &f = *call.program;
  if (call.stream_position < f.stream.size())
    for (uint32_t d : f.instructions[f.stream[call.stream_position]].waits_same)
      if (!call.done[d])
        absl::StrAppend(&name, name.empty() ? "wait for " : ", ",
                        f.instructions[d].name);
  return name.empty() ? "wait" : name;
}

void Executor::ComputeLoop() {
  mu_.Lock();
  while (!stop_ && status_.ok()) {
    Call *call = nullptr;
    uint32_t index = 0;
    if (NextInstruction(&call, &index)) {
      computing_ = true;
      mu_.Unlock();
      Clock::time_point begin = Clock::now();
      Execute(call, index);
      Clock::time_point end = Clock::now();
      if (Tracing())
        options_.trace->Add({program_->rank, TraceSpan::kCompute, -1,
                             call->program->instructions[index].name, "compute",
                             call->number, 0, begin, end});
      absl::Status failed = context_->status;
      if (!failed.ok()) {
        const InstructionProgram &instruction =
            call->program->instructions[index];
        Fail(absl::Status(
            failed.code(),
            absl::StrCat("fragment \"", instruction.name, "\"",
                         instruction.location.empty()
                             ? ""
                             : absl::StrCat(" (", instruction.location, ")"),
                         ": ", failed.message())));
      }
      computing_ = false;
      mu_.Lock();
      stats_[call->function].compute_ns += Nanoseconds(end - begin);
      if (status_.ok()) Complete(call, index);
      continue;
    }
    if (in_flight_.empty()) {
      work_.Wait(&mu_);
      continue;
    }
    // Something is under way and nothing can be computed: exposed.
    Clock::time_point begin = Clock::now();
    int function = in_flight_.front()->function;
    uint64_t number = in_flight_.front()->number;
    std::string name =
        Tracing() ? WaitName(*in_flight_.front()) : "";
    work_.Wait(&mu_);
    Clock::time_point end = Clock::now();
    stats_[function].exposed_ns += Nanoseconds(end - begin);
    if (Tracing())
      options_.trace->Add({program_->rank, TraceSpan::kCompute, -1,
                           std::move(name), "exposed wait", number, 0, begin,
                           end});
  }
  mu_.Unlock();
}

void Executor::Execute(Call *call, uint32_t index) {
  const InstructionProgram &instruction = call->program->instructions[index];
  switch (instruction.kind) {
    case InstructionProgram::kRun: {
      const std::vector<uint32_t> &operands = instruction.run.operands;
      void *few[32];
      std::vector<void *> many;
      void **pointers = few;
      if (operands.size() > 32) {
        many.resize(operands.size());
        pointers = many.data();
      }
      for (size_t i = 0; i < operands.size(); ++i)
        pointers[i] = call->address[operands[i]];
      instruction.run.function(&context_->abi, pointers);
      break;
    }
    case InstructionProgram::kCopy: {
      size_t bytes = call->program->buffers[instruction.target].type.bytes;
      if (bytes != 0)
        std::memmove(call->address[instruction.target],
                     call->address[instruction.source], bytes);
      break;
    }
    case InstructionProgram::kDelay: {
      // Other ranks of the process may want the core: sleep, not spin.
      std::this_thread::sleep_for(
          std::chrono::nanoseconds(instruction.nanoseconds));
      break;
    }
    case InstructionProgram::kCommunicate:
      break;
  }
}

void Executor::Fail(const absl::Status &why) {
  {
    MutexLock lock(&mu_);
    if (!status_.ok()) return;
    status_ = Unshared(why);
    work_.SignalAll();
    changed_.SignalAll();
  }
  if (options_.transport != nullptr) options_.transport->Abort(why);
}

void Executor::Cancel(const absl::Status &why) { Fail(why); }

absl::Status Executor::status() {
  MutexLock lock(&mu_);
  return Unshared(status_);
}

absl::Status Executor::Drain() {
  MutexLock lock(&mu_);
  return DrainLocked();
}

absl::StatusOr<std::vector<double>> Executor::Metrics(uint64_t call) {
  MutexLock lock(&mu_);
  if (call >= next_call_)
    return absl::InvalidArgumentError(
        absl::StrCat("there is no call ", call, " yet"));
  while (status_.ok() && completed_ <= call) changed_.Wait(&mu_);
  if (completed_ <= call) return Unshared(status_);
  uint64_t first = completed_ - results_.size();
  if (call < first)
    return absl::OutOfRangeError(
        absl::StrCat("the metrics of call ", call, " are no longer kept"));
  return results_[call - first];
}

FunctionStats Executor::Stats(int function) {
  MutexLock lock(&mu_);
  return stats_[function];
}

void Executor::ResetStats() {
  MutexLock lock(&mu_);
  stats_.assign(stats_.size(), FunctionStats());
}

uint64_t Executor::bytes_sent() const {
  return options_.transport != nullptr ? options_.transport->bytes_sent() : 0;
}

}  // namespace commsched::runtime
