// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/execute/executor.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/precise_sleep.h"
#include "runtime/base/status_util.h"
#include "runtime/execute/merging_client.h"
#include "runtime/loading/code_object.h"

namespace commsched::runtime {
namespace {

constexpr size_t kMaxQueued = 2;

void Touch(std::byte *data, size_t bytes) {
  constexpr size_t kPage = 4096;
  for (size_t i = 0; i < bytes; i += kPage)
    const_cast<volatile std::byte *>(data)[i] = std::byte{0};
}

}  // namespace

Executor::Executor(std::shared_ptr<const Program> program,
                   ExecutorOptions options)
    : program_(std::move(program)),
      options_(std::move(options)),
      calls_(program_->streams, options_.emulate) {}

absl::StatusOr<std::unique_ptr<Executor>> Executor::Create(
    std::shared_ptr<const Program> program, ExecutorOptions options) {
  std::unique_ptr<Executor> executor(
      new Executor(std::move(program), std::move(options)));
  absl::Status status = executor->Prepare();
  Executor *e = executor.get();
  if (status.ok()) {
    if (e->options_.servers != nullptr)
      e->options_.servers = MergeGradients(std::move(e->options_.servers),
                                           e->program_->servers);
    if (e->options_.emulate) e->PrepareMeetings();
    e->engine_ = std::make_unique<ProgressEngine>(
        e->program_->rank, e->options_.transport.get(),
        e->options_.servers.get(), &e->program_->servers,
        static_cast<ProgressEngine::Host *>(e), e->options_.trace,
        e->options_.deadline, e->options_.links);
    status = e->StartStreams();
  }
  if (!status.ok()) {
    e->Abort(status);
    return status;
  }
  if (e->options_.failures != nullptr)
    e->options_.failures->Attach([e](int peer, const absl::Status &why) {
      e->engine_->PeerFailed(peer, why);
    });
  return executor;
}

absl::Status Executor::Prepare() {
  if (absl::Status s = program_->code->Map(); !s.ok()) return s;
  for (const FunctionProgram &f : program_->functions) {
    // In emulation a device's memory is the host's; the arenas lie one behind the other.
    absl::StatusOr<Memory> arena = Memory::Allocate(HostArenaBegin(f) + f.host_arena_bytes);
    if (!arena.ok())
      return absl::Status(arena.status().code(),
                          absl::StrCat("arena of function @", f.name, ": ",
                                       arena.status().message()));
    memory_bytes_ += arena->size();
    arenas_.push_back(*std::move(arena));
  }
  for (const StreamInfo &info : program_->streams) {
    auto stream = std::make_unique<Stream>();
    stream->index = uint32_t(streams_.size());
    stream->info = info;
    stream->stats.resize(program_->functions.size());
    if (info.kind == StreamInfo::kCompute)
      if (absl::Status s = stream->runner.AllocateScratch(*program_); !s.ok())
        return s;
    streams_.push_back(std::move(stream));
  }
  MutexLock lock(&mu_);
  if (absl::Status s = slots_.Allocate(program_->slots); !s.ok()) return s;
  memory_bytes_ += slots_.bytes();
  stats_.assign(program_->functions.size(), FunctionStats());
  last_retired_ = Clock::now();
  return absl::OkStatus();
}

absl::Status Executor::StartStreams() {
  if (options_.runs_where_awaited && streams_.size() == 1 && streams_[0]->info.kind == StreamInfo::kCompute) {
    if (options_.emulate) UsePreciseTimers();
    ops::PrepareComputeThread();
    runner_ = std::this_thread::get_id();
    absl::Status status = streams_[0]->runner.MakeKernels(*program_);
    memory_bytes_ += streams_[0]->runner.memory_bytes();
    return status;
  }
  Mutex mu;
  CondVar made;
  size_t waiting = streams_.size();
  absl::Status status;
  for (auto &owned : streams_) {
    Stream *stream = owned.get();
    stream->thread = std::thread([&, this, stream] {
      absl::Status s;
      if (options_.emulate) UsePreciseTimers();
      // Kernels are made by the thread that runs them.
      if (stream->info.kind == StreamInfo::kCompute) {
        ops::PrepareComputeThread();
        s = stream->runner.MakeKernels(*program_);
      }
      const bool run = s.ok();
      {
        MutexLock lock(&mu);
        memory_bytes_ += stream->runner.memory_bytes();
        if (status.ok()) status = std::move(s);
        --waiting;
        made.Signal();
      }
      if (run) RunStream(stream);
    });
  }
  MutexLock lock(&mu);
  while (waiting != 0) made.Wait(&mu);
  return status;
}

Executor::~Executor() {
  absl::Status failed;
  {
    MutexLock lock(&mu_);
    failed = Unshared(status_);
    stop_ = true;
    ended_ = true;
    // After an orderly end there is nothing left to tell the peers.
    if (status_.ok() && (!calls_.empty() || !queue_.empty()))
      status_ = absl::CancelledError("the executor is gone");
    WakeStreams();
    changed_.SignalAll();
  }
  for (auto &stream : streams_)
    if (stream->thread.joinable()) stream->thread.join();
  if (options_.failures != nullptr) options_.failures->Attach(nullptr);
  {
    // Closed before, the transport would tell the peers that this rank has finished.
    MutexLock lock(&mu_);
    while (telling_) changed_.Wait(&mu_);
    if (told_) failed = absl::OkStatus();
  }
  if (!failed.ok()) Abort(failed);
  if (options_.transport != nullptr) options_.transport->Close();
  if (options_.servers != nullptr) options_.servers->Close();
  engine_.reset();
  options_.transport.reset();
  options_.servers.reset();
}

absl::Status Executor::DrainLocked() {
  while (status_.ok() && (!calls_.empty() || !queue_.empty())) AwaitChange();
  return Unshared(status_);
}

absl::Status Executor::SetSlot(uint32_t slot,
                               absl::Span<const std::byte> value) {
  MutexLock lock(&mu_);
  if (absl::Status s = DrainLocked(); !s.ok()) return s;
  return slots_.Set(slot, program_->slots[slot], value);
}

absl::Status Executor::GetSlot(uint32_t slot, absl::Span<std::byte> value) {
  MutexLock lock(&mu_);
  if (absl::Status s = DrainLocked(); !s.ok() && !went_back_) return s;
  return slots_.Get(slot, program_->slots[slot], value);
}

absl::Status Executor::GoBack(uint64_t calls) {
  MutexLock lock(&mu_);
  // Now no instruction begins any more; one that still runs writes what has been
  // marked as being written.
  if (status_.ok()) return absl::FailedPreconditionError("there was no error");
  for (uint32_t s = 0; s < program_->slots.size(); ++s)
    if (program_->slots[s].held)
      if (absl::Status status = slots_.GoBack(s, program_->slots[s], calls);
          !status.ok())
        return status;
  went_back_ = true;
  return absl::OkStatus();
}

absl::StatusOr<SharedBytes> Executor::ShareSlot(uint32_t slot) {
  const SlotInfo &info = program_->slots[slot];
  auto writes = [&](int function) {
    const std::vector<uint32_t> &slots =
        program_->functions[function].written_slots;
    return std::find(slots.begin(), slots.end(), slot) != slots.end();
  };
  MutexLock lock(&mu_);
  while (status_.ok()) {
    bool busy = false;
    for (size_t c = 0; c < calls_.size(); ++c)
      busy |= writes(static_cast<const Call *>(calls_[c])->function);
    for (const Queued &queued : queue_) busy |= writes(queued.function);
    if (!busy) break;
    AwaitChange();
  }
  if (!status_.ok()) return Unshared(status_);
  if (!info.held)
    return absl::NotFoundError(
        absl::StrCat("\"", info.name, "\" is not held by this role"));
  return slots_.Share(slot, info);
}

std::byte *Executor::SlotData(uint32_t slot) {
  MutexLock lock(&mu_);
  return slots_.Address(slot, false);
}

const std::byte *Executor::ArenaData(int function, uint32_t buffer) const {
  return arenas_[size_t(function)].data() +
         program_->functions[size_t(function)].buffers[buffer].offset;
}

uint64_t Executor::completed() {
  MutexLock lock(&mu_);
  return completed_;
}

uint64_t Executor::steps() {
  MutexLock lock(&mu_);
  return steps_queued_;
}

absl::StatusOr<uint64_t> Executor::Enqueue(int function, BatchRows batches) {
  MutexLock lock(&mu_);
  while (status_.ok() && !stop_ && queue_.size() >= kMaxQueued) AwaitChange();
  if (!status_.ok()) return Unshared(status_);
  const FunctionProgram &f = program_->functions[function];
  if (batches.data.size() != f.batches.size())
    return absl::InvalidArgumentError(
        absl::StrCat("function @", f.name, " needs ", f.batches.size(),
                     " batch arguments, got: ", batches.data.size()));
  uint64_t number = next_call_++;
  if (f.is_step) ++steps_queued_;
  queue_.push_back({function, number, std::move(batches)});
  AdmitCalls();
  return number;
}

void Executor::Fail(const absl::Status &why) {
  {
    MutexLock lock(&mu_);
    if (!status_.ok()) return;
    status_ = Unshared(why);
    ended_ = true;
    telling_ = true;
    WakeStreams();
    changed_.SignalAll();
  }
  Abort(why);
  MutexLock lock(&mu_);
  telling_ = false;
  told_ = true;
  changed_.SignalAll();
}

void Executor::Abort(const absl::Status &why) {
  if (options_.transport != nullptr) options_.transport->Abort(why);
  if (options_.servers != nullptr) options_.servers->Abort(why);
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
  while (status_.ok() && completed_ <= call) AwaitChange();
  if (completed_ <= call) return Unshared(status_);
  uint64_t first = completed_ - results_.size();
  if (call < first)
    return absl::OutOfRangeError(
        absl::StrCat("the metrics of call ", call, " are no longer kept"));
  return results_[call - first];
}

FunctionStats Executor::Stats(int function) {
  MutexLock lock(&mu_);
  FunctionStats stats = stats_[function];
  for (const auto &stream : streams_) {
    const FunctionStats &own = stream->stats[function];
    if (stream->info.kind != StreamInfo::kCompute) {
      stats.copy_ns = std::max(stats.copy_ns, own.copy_ns);
    } else if (stream->index == 0 || own.compute_ns > stats.compute_ns) {
      stats.compute_ns = own.compute_ns;
      stats.exposed_ns = own.exposed_ns;
    }
    stats.requested_ns += own.requested_ns;
    stats.elapsed_ns += own.elapsed_ns;
    stats.latest_ns = std::max(stats.latest_ns, own.latest_ns);
  }
  return stats;
}

void Executor::ResetStats() {
  MutexLock lock(&mu_);
  stats_.assign(stats_.size(), FunctionStats());
  for (auto &stream : streams_)
    stream->stats.assign(stream->stats.size(), FunctionStats());
}

void Executor::ContinueFrom(Executor *old) {
  std::vector<FunctionStats> stats;
  for (size_t f = 0; f < program_->functions.size(); ++f)
    stats.push_back(old->Stats(int(f)));
  uint64_t calls, steps, steps_queued;
  std::deque<std::vector<double>> results;
  Clock::time_point last_retired;
  {
    MutexLock lock(&old->mu_);
    calls = old->next_call_;
    steps = old->steps_;
    steps_queued = old->steps_queued_;
    results = std::move(old->results_);
    last_retired = old->last_retired_;
  }
  MutexLock lock(&mu_);
  next_call_ = completed_ = calls;
  if (options_.completed != nullptr)
    options_.completed->Set(options_.number, completed_);
  steps_ = steps;
  steps_queued_ = steps_queued;
  results_ = std::move(results);
  last_retired_ = last_retired;
  // What streams add up goes on from where the first one stood.
  for (size_t f = 0; f < stats.size(); ++f) {
    stats_[f].calls = stats[f].calls;
    stats_[f].total_ns = stats[f].total_ns;
    stats_[f].first_ns = stats[f].first_ns;
    for (auto &stream : streams_) {
      stream->stats[f] = stream->index == 0 ? stats[f] : FunctionStats();
      if (stream->info.kind != StreamInfo::kCompute)
        stream->stats[f].copy_ns = stats[f].copy_ns;
    }
  }
}

void Executor::TouchMemory() {
  for (Memory &arena : arenas_) Touch(arena.data(), arena.size());
  MutexLock lock(&mu_);
  for (uint32_t s = 0; s < program_->slots.size(); ++s)
    if (program_->slots[s].held)
      for (bool next : {false, true})
        Touch(slots_.Address(s, next), program_->slots[s].type.bytes);
}

uint64_t Executor::bytes_sent() const {
  uint64_t bytes = 0;
  if (options_.transport != nullptr) bytes += options_.transport->bytes_sent();
  if (options_.servers != nullptr) bytes += options_.servers->bytes_sent();
  return bytes;
}

}  // namespace commsched::runtime
