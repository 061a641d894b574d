// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Executes the program of one rank. Calls of functions are queued and run in
// order, and what runs when is said by runtime/core/calls.h. Every compute stream
// and every copy engine of a device runs on a thread of its own (but see
// ExecutorOptions::runs_where_awaited), communication on another.
//
// In emulation, delays, copies between memories and collectives by NCCL take their time,
// and code runs. A thread wakes up later than it should, so such an instruction counts
// from when it could begin, not from when it did: lateness does not add up.
//
// The first error ends the rank: peers are told, waiting calls return it, and
// so does every later call; but what was last good can still be read (GoBack).
#ifndef COMMSCHED_RUNTIME_EXECUTE_EXECUTOR_H
#define COMMSCHED_RUNTIME_EXECUTE_EXECUTOR_H

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "runtime/base/memory.h"
#include "runtime/base/sync.h"
#include "runtime/core/calls.h"
#include "runtime/data/batch_rows.h"
#include "runtime/execute/completed_calls.h"
#include "runtime/execute/emulated_nccl.h"
#include "runtime/execute/instruction_runner.h"
#include "runtime/execute/progress_engine.h"
#include "runtime/execute/rank_executor.h"
#include "runtime/execute/slot_memory.h"
#include "runtime/measure/link_observer.h"
#include "runtime/measure/profile.h"
#include "runtime/measure/trace.h"
#include "runtime/program/program.h"
#include "runtime/transport/parameter_client.h"
#include "runtime/transport/peer_failure_relay.h"
#include "runtime/transport/transport.h"

namespace commsched::runtime {

struct ExecutorOptions {
  // Needed if the program has a message. The executor closes it.
  std::unique_ptr<Transport> transport;
  // Needed if the program has a message to or from parameter servers. The
  // executor closes it. For half-asynchronous plans it gets every gradient; they
  // are merged on the way.
  std::unique_ptr<ParameterClient> servers;
  // What the transport's on_peer_failure reports to; may be null.
  std::shared_ptr<PeerFailureRelay> failures;
  TraceRecorder *trace = nullptr;  // outlives the executor; null: no trace
  // Longest time without progress while a message is awaited.
  absl::Duration deadline = absl::Seconds(30);
  bool emulate = false;
  ProfileRecorder *profile = nullptr;  // outlives the executor; null: none
  LinkObserver *links = nullptr;       // the same
  // Of the executors that may go back together, and which of them this is; null:
  // it goes back alone.
  std::shared_ptr<CompletedCalls> completed;
  size_t number = 0;
  // Of a program whose only stream computes: it has no thread, but runs on the one that calls Create, whenever that waits
  // here for something. Then nothing happens that this thread does not wait for, and no call changes threads twice.
  bool runs_where_awaited = false;
  // Gets the metrics of every call as soon as it is complete, in order. Short, and calls
  // nothing of the executor, which has its lock. May be empty.
  std::function<void(uint64_t call, const std::vector<double> &metrics)> on_completed = {};
};

class Executor : public RankExecutor, private ProgressEngine::Host {
 public:
  // Makes memory and kernels and starts the threads. On an error the
  // transport is aborted and closed.
  static absl::StatusOr<std::unique_ptr<Executor>> Create(
      std::shared_ptr<const Program> program, ExecutorOptions options);
  ~Executor() override;

  // As RankExecutor has them.
  const Program &program() const override { return *program_; }
  absl::Status SetSlot(uint32_t slot, absl::Span<const std::byte> value) override;
  absl::Status GetSlot(uint32_t slot, absl::Span<std::byte> value) override;
  absl::StatusOr<uint64_t> Enqueue(int function, BatchRows batches) override;
  absl::StatusOr<std::vector<double>> Metrics(uint64_t call) override;
  absl::Status Drain() override;
  absl::Status GoBack(uint64_t calls) override;
  void Cancel(const absl::Status &why) override;
  absl::Status status() override;
  FunctionStats Stats(int function) override;
  void ResetStats() override;
  size_t memory_bytes() const override { return memory_bytes_; }
  uint64_t bytes_sent() const override;
  // As in ExecutorOptions, or what merges for it.
  ParameterClient *servers() override { return options_.servers.get(); }
  uint64_t completed() override;
  uint64_t steps() override;

  // The value after the calls before this one, without a copy; it stays as it is
  // as long as its owner lives. Waits for calls that write the slot only. Not for
  // slots of functions whose calls overlap.
  absl::StatusOr<SharedBytes> ShareSlot(uint32_t slot);

  // For a server's blocks of rows: the value of a slot that no function writes,
  // and a buffer in the arena of a function. The caller sees to it that nothing
  // else touches them.
  std::byte *SlotData(uint32_t slot);
  const std::byte *ArenaData(int function, uint32_t buffer) const;

  // Goes on as if all calls of `old` had been its own, in numbers, metrics and
  // statistics, not in values. `old`, of a program with the same functions, has
  // completed all of its calls, this one all that it had, which are fewer; and `old`
  // makes no more before it goes on likewise.
  void ContinueFrom(Executor *old);
  // Before the first call: has the system give the memory now, not when it is
  // first written.
  void TouchMemory();

 private:
  // A call that has begun.
  struct Call : core::Call {
    int function = 0;
    uint64_t step = 0;                      // of the job, with parameter servers
    std::vector<std::byte *> address;       // by buffer
    std::vector<int32_t> index;             // of the worker, by device
    std::vector<SlotMemory::Write> writes;  // as in FunctionProgram::written_slots
    std::vector<double> metrics;
    std::shared_ptr<const void> batches;
    Clock::time_point begin;
  };
  struct Queued {
    int function;
    uint64_t number;
    BatchRows batches;
  };

  // A compute stream or a copy engine. `work` and `stats` are guarded by mu_; the
  // rest belongs to the thread.
  struct Stream {
    uint32_t index = 0;
    StreamInfo info;
    CondVar work;
    std::vector<FunctionStats> stats;  // by function
    InstructionRunner runner;
    // When the last instruction was to end, and when it did.
    Clock::time_point due, end;
    std::thread thread;
  };

  Executor(std::shared_ptr<const Program> program, ExecutorOptions options);
  absl::Status Prepare();
  absl::Status StartStreams();

  // ProgressEngine::Host
  void CommunicationDone(void *cookie, uint32_t instruction) override;
  void PartDone(void *cookie, uint32_t instruction, uint32_t part) override;
  void CommunicationFailed(const absl::Status &why) override { Fail(why); }
  bool Computing() const override { return busy_ != 0; }

  bool Tracing() const {
    return options_.trace != nullptr && options_.trace->enabled();
  }
  static int64_t Nanoseconds(Clock::duration d) {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(d).count();
  }
  void Fail(const absl::Status &why) ABSL_LOCKS_EXCLUDED(mu_);
  absl::Status DrainLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // executor_calls.cc
  void AdmitCalls() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Begin(Queued queued) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Of an instruction that no stream runs.
  void Communicate(Call *call, uint32_t index) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Complete(Call *call, uint32_t index, Clock::time_point at)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void PrepareMeetings();
  // All ranks have come to a collective by NCCL; it has ended.
  void Meet(Call *call, uint32_t index);
  void EndNccl(const EmulatedNccl::Collective &of, Clock::time_point begin, Clock::time_point end)
      ABSL_LOCKS_EXCLUDED(mu_);
  // Does what calls_ wants to be done.
  void Act() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void ReadOutput(Call *call, uint32_t output);
  // Calls that all have completed who may go back together.
  uint64_t CompletedByAll() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return options_.completed != nullptr ? options_.completed->OfAll() : completed_;
  }
  // Before the instruction runs.
  void BeginWrites(Call *call, const InstructionProgram &instruction)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Retire() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // executor_compute.cc
  void RunStream(Stream *stream);
  void RunInstruction(Stream *stream, Call *call, uint32_t index)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void WaitForWork(Stream *stream) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void WakeStreams() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Until changed_ is signalled, or something has been run here.
  void AwaitChange() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Tells peers and servers why.
  void Abort(const absl::Status &why) ABSL_LOCKS_EXCLUDED(mu_);

  const std::shared_ptr<const Program> program_;
  ExecutorOptions options_;
  std::vector<Memory> arenas_;                    // by function
  std::vector<std::unique_ptr<Stream>> streams_;  // as in Program::streams
  // Who runs the only stream, if it has no thread.
  std::thread::id runner_;
  size_t memory_bytes_ = 0;
  std::atomic<int> busy_{0};        // streams that run an instruction
  std::atomic<bool> ended_{false};  // nothing needs to be waited for any more

  Mutex mu_;
  CondVar changed_;  // for callers
  bool stop_ ABSL_GUARDED_BY(mu_) = false;
  absl::Status status_ ABSL_GUARDED_BY(mu_);
  // Of an error, for the peers: whether one is being told to them, or has been.
  bool telling_ ABSL_GUARDED_BY(mu_) = false, told_ ABSL_GUARDED_BY(mu_) = false;
  bool went_back_ ABSL_GUARDED_BY(mu_) = false;
  SlotMemory slots_ ABSL_GUARDED_BY(mu_);
  std::deque<Queued> queue_ ABSL_GUARDED_BY(mu_);
  core::Calls calls_ ABSL_GUARDED_BY(mu_);
  core::Calls::Actions actions_ ABSL_GUARDED_BY(mu_);
  std::vector<std::unique_ptr<Call>> owned_ ABSL_GUARDED_BY(mu_);
  std::vector<Call *> spare_ ABSL_GUARDED_BY(mu_);  // not in flight
  uint64_t next_call_ ABSL_GUARDED_BY(mu_) = 0;
  uint64_t steps_ ABSL_GUARDED_BY(mu_) = 0;  // calls of the step that have begun
  uint64_t steps_queued_ ABSL_GUARDED_BY(mu_) = 0;
  uint64_t completed_ ABSL_GUARDED_BY(mu_) = 0;  // calls
  std::deque<std::vector<double>> results_ ABSL_GUARDED_BY(mu_);
  std::vector<FunctionStats> stats_ ABSL_GUARDED_BY(mu_);
  Clock::time_point last_retired_ ABSL_GUARDED_BY(mu_);

  // In emulation, of collectives by NCCL: by function and instruction, what has the ranks meet.
  struct Meeting {
    InstructionProgram instruction;
    std::byte buffer[2] = {};
  };
  std::vector<std::map<uint32_t, Meeting>> meetings_;
  std::unique_ptr<EmulatedNccl> nccl_;  // null: there are none
  std::unique_ptr<ProgressEngine> engine_;
};

}  // namespace commsched::runtime

#endif  // COMMSCHED_RUNTIME_EXECUTE_EXECUTOR_H
