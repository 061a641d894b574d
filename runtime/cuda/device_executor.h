// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Executes the program of one rank on a CUDA device: what runtime/execute/executor.h is for CPUs.
// Calls of functions are queued and run in order, those of one function one behind the other on
// the device, two rounds ahead of the host at most; a call of another function waits for those
// before it.
//
// A thread enqueues calls, looks for what has ended on the device, and begins host ops
// (host_lanes.h); messages between ranks are those of runtime/execute, in pinned memory. Where the
// program has collectives of NCCL, the thread of NcclLane enqueues.
//
// The first error ends the rank: everything on the device is let go of, memory is given back, peers
// and parameter servers are told where there are any, and waiting and later calls return it. It
// names the rank, and the op or key and the step where one is to blame.
#ifndef COMMSCHED_RUNTIME_CUDA_DEVICE_EXECUTOR_H
#define COMMSCHED_RUNTIME_CUDA_DEVICE_EXECUTOR_H

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "runtime/base/sync.h"
#include "runtime/base/time.h"
#include "runtime/cuda/device_memory.h"
#include "runtime/cuda/driver_api.h"
#include "runtime/cuda/host_lanes.h"
#include "runtime/cuda/issue_plan.h"
#include "runtime/cuda/issue_window.h"
#include "runtime/cuda/launch_graph.h"
#include "runtime/cuda/library_kernels.h"
#include "runtime/cuda/load.h"
#include "runtime/cuda/nccl_api.h"
#include "runtime/cuda/nccl_lane.h"
#include "runtime/cuda/op_times.h"
#include "runtime/cuda/plan_graph.h"
#include "runtime/cuda/step_issuer.h"
#include "runtime/data/batch_rows.h"
#include "runtime/execute/completed_calls.h"
#include "runtime/execute/progress_engine.h"
#include "runtime/execute/rank_executor.h"
#include "runtime/measure/profile.h"
#include "runtime/measure/trace.h"
#include "runtime/program/program.h"
#include "runtime/transport/peer_failure_relay.h"
#include "runtime/transport/transport.h"

namespace commsched::runtime::cuda {

// Bytes that a host op uses.
struct HostBytes {
  const std::byte *begin = nullptr;
  size_t bytes = 0;
};

// What tests look at and change. Called by the executor's threads, without its lock.
class DeviceProbe {
 public:
  virtual ~DeviceProbe() = default;
  // Before waits are planned, and behind that.
  virtual void Made(int /*function*/, PlanGraph *) {}
  virtual void Planned(int /*function*/, const PlanGraph &, IssuePlan *) {}
  // The next call of the driver or of NCCL is this op.
  virtual void Enqueues(const std::string & /*name*/) {}
  struct HostOp {
    int function = 0;
    OpOfRound op;
    std::string name;
    const StepGraph *graph = nullptr;
    const IssuePlan *plan = nullptr;
    const StepIssuer *issuer = nullptr;
    std::vector<HostBytes> reads, writes;
  };
  virtual void HostBegins(const HostOp &) {}
  virtual void HostEnds(const HostOp &) {}
};

// When a rank has communicated.
class Communications {
 public:
  void Begin(const OpOfRound &op, Clock::time_point at) { open_[op] = at; }
  void End(const OpOfRound &op, Clock::time_point at);
  void Add(Clock::time_point begin, Clock::time_point end) { ended_.emplace_back(begin, end); }
  // Whether one was under way between these two.
  bool Any(Clock::time_point begin, Clock::time_point end) const;
  // Of what has ended before, nobody asks any more.
  void Forget(Clock::time_point before);

 private:
  std::map<OpOfRound, Clock::time_point> open_;
  std::vector<std::pair<Clock::time_point, Clock::time_point>> ended_;
};

struct DeviceExecutorOptions {
  const DriverApi *driver = nullptr;  // outlives the executor
  int device = 0;                     // its ordinal
  // Needed if the program has collectives of NCCL; `id` is of rank 0's ncclGetUniqueId.
  const NcclApi *nccl = nullptr;
  NcclUniqueId id = {};
  // For fragments that call library kernels; null: cuBLASLt's, which is looked for in `libraries`.
  std::unique_ptr<LibraryKernels> library = nullptr;
  Libraries libraries = Libraries::OfSystem();
  // As in ExecutorOptions.
  std::unique_ptr<Transport> transport = nullptr;
  std::unique_ptr<ParameterClient> servers = nullptr;
  std::shared_ptr<PeerFailureRelay> failures = nullptr;
  absl::Duration deadline = absl::Seconds(30);
  std::shared_ptr<CompletedCalls> completed = nullptr;
  size_t number = 0;
  std::function<void(uint64_t call, const std::vector<double> &metrics)> on_completed = {};
  // By which NCCL's deadline counts (nccl_lane.h).
  std::function<Time()> now = {};
  // Whether launches that follow each other become graphs; not with a probe, nor of calls that are timed.
  bool graphs = true;
  // When ops run, by events around each, of calls that begin while the trace is on, or with a profile. Both may be
  // null, and outlive the executor.
  TraceRecorder *trace = nullptr;
  ProfileRecorder *profile = nullptr;
  // For tests; outlives the executor.
  DeviceProbe *probe = nullptr;
};

class DeviceExecutor : public RankExecutor, private ProgressEngine::Host {
 public:
  // Makes everything, and meets the other ranks where there is NCCL. Errors are those of
  // MakePlanGraph and PlanIssue; kFailedPrecondition: the device is older than what the plan is for;
  // kResourceExhausted: its memory does not suffice, with the numbers.
  static absl::StatusOr<std::unique_ptr<DeviceExecutor>> Create(
      std::shared_ptr<const Program> program, DeviceExecutorOptions options);
  ~DeviceExecutor() override;

  // As RankExecutor has them. A device keeps no values of calls that are behind it: it cannot go back.
  const Program &program() const override { return *program_; }
  absl::Status SetSlot(uint32_t slot, absl::Span<const std::byte> value) override;
  absl::Status GetSlot(uint32_t slot, absl::Span<std::byte> value) override;
  absl::StatusOr<uint64_t> Enqueue(int function, BatchRows batches) override;
  absl::StatusOr<std::vector<double>> Metrics(uint64_t call) override;
  absl::Status Drain() override;
  absl::Status GoBack(uint64_t calls) override;
  void Cancel(const absl::Status &why) override { Fail(why); }
  absl::Status status() override;
  FunctionStats Stats(int function) override;
  void ResetStats() override;
  // Of the device, and pinned.
  size_t memory_bytes() const override { return device_bytes_ + pinned_bytes_; }
  // Without what NCCL sends.
  uint64_t bytes_sent() const override;
  // As in the options, or what merges for it.
  ParameterClient *servers() override { return options_.servers.get(); }
  uint64_t completed() override;
  uint64_t steps() override;

  uint64_t device_bytes() const { return device_bytes_; }
  uint64_t pinned_bytes() const { return pinned_bytes_; }

 private:
  // A step of a fragment, with its addresses.
  struct KernelStep {
    Function function = nullptr;
    std::array<uint32_t, 3> grid = {}, block = {};
    uint32_t shared_bytes = 0;
    std::vector<DevicePtr> arguments;
  };
  struct LibraryStep {
    uint32_t kernel = 0;
    std::vector<DevicePtr> operands;
  };
  using Step = std::variant<KernelStep, LibraryStep>;

  // What belongs to a function. Of the executor's thread, but for the issuer while NcclLane's
  // enqueues.
  struct OfFunction {
    PlanGraph graph;
    IssuePlan plan;
    std::array<DevicePtr, kMemoryKinds> memory = {};
    std::vector<std::vector<Step>> steps;  // of each op
    // That each op is at most, on its stream; of calls that are timed.
    std::vector<uint32_t> commands, timed_commands;
    // Launches that are one graph are so with their first op; the others have nothing to enqueue.
    std::map<uint32_t, std::unique_ptr<LaunchGraph>> graphs;
    std::vector<bool> in_graph;  // of an op: with one before it
    std::unique_ptr<HostLanes> lanes;
    std::unique_ptr<StepIssuer> issuer;
    uint64_t begun = 0;  // calls
  };
  struct Call {
    int function = 0;
    uint64_t number = 0;
    BatchRows batches;
    Clock::time_point begin;
    uint64_t steps_before = 0;  // of the job, with parameter servers
    bool timed = false;
  };
  // A call that is enqueued, portion by portion, and what there is to do before it.
  struct Admission {
    OfFunction *function = nullptr;
    uint64_t number = 0;          // of the call
    bool timed = false;           // the same
    uint32_t next = 0, upto = 0;  // ops of the portion
    uint32_t end = 0;             // of the call's ops
    // Copies of slots to where the function looks for them.
    struct Move {
      DevicePtr from = 0, to = 0;
      uint64_t bytes = 0;
    };
    std::vector<Move> moves;
    OfFunction *before = nullptr;  // what the service stream waits for first; null: nothing
    bool fence = false;            // the function waits for the service stream
  };

  DeviceExecutor(std::shared_ptr<const Program> program, DeviceExecutorOptions options);

  // ProgressEngine::Host
  void CommunicationDone(void *cookie, uint32_t instruction) override;
  void CommunicationFailed(const absl::Status &why) override { Fail(Named("", why)); }
  bool Computing() const override { return on_device_; }

  void Fail(const absl::Status &why) ABSL_LOCKS_EXCLUDED(mu_);
  absl::Status DrainLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Runs it on the executor's thread when nothing is under way.
  absl::Status OnThread(std::function<absl::Status()> task) ABSL_LOCKS_EXCLUDED(mu_);
  absl::Status Check(DriverResult result, const char *what) const;
  // With the rank, and what it was.
  absl::Status Named(absl::string_view what, const absl::Status &status) const;

  // device_prepare.cc: all on the executor's thread.
  absl::Status Prepare();
  absl::Status CheckDevice();
  absl::Status MakeFunctions();
  absl::Status AllocateMemory();
  absl::Status LoadModule();
  absl::Status PrepareSteps(OfFunction *function, const FunctionProgram &program);
  absl::Status PrepareLibrary();  // behind PrepareSteps of all functions
  absl::Status StartNccl();
  void TearDown();
  void ReleaseFlags();  // for which the device waits
  void LetGo();         // of what is on the device

  // device_graphs.cc
  void RecordGraphs();
  void RecordRow(OfFunction *function, uint32_t lane, std::vector<uint32_t> ops);
  void CountCommands();
  // device_calls.cc has what other threads call. device_executor.cc:
  void Run();
  void Loop();
  // Each: whether there was something.
  bool Admit() ABSL_LOCKS_EXCLUDED(mu_);
  bool BeginCall() ABSL_LOCKS_EXCLUDED(mu_);
  // device_enqueue.cc
  bool EnqueuePortion() ABSL_LOCKS_EXCLUDED(mu_);
  absl::Status EnqueueCall(const Admission &admission, NcclLane::Caller *caller);
  absl::Status EnqueueOp(const Admission &admission, const OpOfRound &op, Stream stream,
                         NcclLane::Caller *caller);
  absl::Status EnqueueSteps(const OfFunction &function, uint32_t op, Stream stream);
  absl::Status EnqueueCollective(const Admission &admission, uint32_t op, Stream stream,
                                 NcclLane::Caller *caller);
  bool MoveHost();
  void BeginHostOp(const OpOfRound &op);
  void EndHostOp(const OpOfRound &op);
  void EndCall(const OpOfRound &op);
  Call &CallOf(const OpOfRound &op);
  DevicePtr At(const OfFunction &function, const DevicePlace &place) const {
    return function.memory[place.memory] + place.offset;
  }
  std::byte *HostAt(const OfFunction &function, const DevicePlace &place) const {
    return reinterpret_cast<std::byte *>(At(function, place));
  }
  // device_times.cc
  bool Timed() const {
    return options_.profile != nullptr || (options_.trace != nullptr && options_.trace->enabled());
  }
  // Of the call that has ended, the first one in flight.
  absl::Status RecordTimes();
  void RecordProfile(uint64_t ended);
  DeviceProbe::HostOp Describe(const OpOfRound &op);
  std::string NameOf(const OfFunction &function, uint32_t op, uint64_t call) const;
  absl::Status CheckStall();

  // device_slots.cc: the service stream, copies between calls.
  absl::Status ServiceAfter(const OfFunction *before);
  absl::Status ServiceFence(const OfFunction &function);
  absl::Status ServiceWait();
  absl::Status TransferSlot(uint32_t slot, const std::byte *set, std::byte *get, size_t bytes);

  const std::shared_ptr<const Program> program_;
  DeviceExecutorOptions options_;
  const DriverApi &driver_;
  std::atomic<bool> on_device_{false};  // something is awaited there
  uint64_t device_bytes_ = 0, pinned_bytes_ = 0;

  // Of the executor's thread.
  Context context_ = nullptr;
  Device device_ = 0;
  bool retained_ = false;
  std::unique_ptr<DeviceMemory> memory_;
  Module module_ = nullptr;
  std::map<std::string, Function> kernels_;
  SlotPlaces slots_;
  std::vector<uint32_t> current_;  // which copy of a slot
  std::vector<OfFunction> functions_;
  Stream service_ = nullptr;
  Event service_event_ = nullptr;
  DevicePtr bounce_ = 0;
  uint64_t bounce_bytes_ = 0;
  int active_ = -1;  // function of the calls under way, or of the last
  uint64_t begun_steps_ = 0;
  bool fence_ = false;  // it must wait for the service stream
  std::deque<Call> in_flight_;
  std::optional<Admission> entering_;                  // the last of them, as long as it is not enqueued whole
  std::unique_ptr<IssueWindow> window_;                // of the thread that enqueues
  std::map<OpOfRound, DeviceProbe::HostOp> messages_;  // under way; only with a probe filled
  Clock::time_point moved_;
  std::unique_ptr<OpTimes> times_;  // of calls that are timed
  Communications communications_;   // with a profile
  // Of fragments and copies, until it is known what was communicated meanwhile.
  struct Measured {
    uint64_t beside = 0;  // the last call that has been under way at the same time
    int function = 0;
    uint32_t instruction = 0;
    OpTimes::Interval when;
  };
  std::deque<Measured> measured_;
  std::unique_ptr<NcclLane> nccl_;
  std::unique_ptr<ProgressEngine> engine_;

  Mutex mu_;
  CondVar changed_;  // for callers
  CondVar work_;     // for the thread
  bool prepared_ ABSL_GUARDED_BY(mu_) = false;
  bool stop_ ABSL_GUARDED_BY(mu_) = false;
  bool gone_ ABSL_GUARDED_BY(mu_) = false;  // everything has been given back
  absl::Status status_ ABSL_GUARDED_BY(mu_);
  std::deque<Call> queue_ ABSL_GUARDED_BY(mu_);
  struct Task {
    std::function<absl::Status()> run;
    absl::Status result;
    bool done = false;
  };
  std::deque<Task *> tasks_ ABSL_GUARDED_BY(mu_);
  std::vector<OpOfRound> ended_ ABSL_GUARDED_BY(mu_);  // messages
  bool enqueuing_ ABSL_GUARDED_BY(mu_) = false;        // NcclLane's thread is
  bool enqueued_ ABSL_GUARDED_BY(mu_) = false;         // it has
  size_t open_ ABSL_GUARDED_BY(mu_) = 0;               // calls in flight
  uint64_t next_call_ ABSL_GUARDED_BY(mu_) = 0;
  uint64_t completed_ ABSL_GUARDED_BY(mu_) = 0;
  uint64_t steps_ ABSL_GUARDED_BY(mu_) = 0;
  std::vector<FunctionStats> stats_ ABSL_GUARDED_BY(mu_);  // by function
  Clock::time_point last_end_ ABSL_GUARDED_BY(mu_);        // of a call
  std::deque<std::vector<double>> results_ ABSL_GUARDED_BY(mu_);
  std::thread thread_;
};

}  // namespace commsched::runtime::cuda

#endif  // COMMSCHED_RUNTIME_CUDA_DEVICE_EXECUTOR_H
