// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The ranks of a plan that live in this process, driven together: a whole
// cluster as threads, or one rank connected to others elsewhere.
#ifndef COMMSCHED_RUNTIME_SESSION_SESSION_H
#define COMMSCHED_RUNTIME_SESSION_SESSION_H

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/data/batch_source.h"
#include "runtime/execute/rank_executor.h"
#include "runtime/loading/plan_loader.h"
#include "runtime/replanning/plan_tuner.h"
#include "runtime/replanning/replanner.h"
#include "runtime/servers/parameter_server.h"
#include "runtime/session/cuda_rank.h"
#include "runtime/session/own_states.h"
#include "runtime/transport/parameter_client.h"

namespace commsched::runtime {

struct SessionOptions {
  // Of connecting, and of a step without progress.
  absl::Duration deadline = absl::Seconds(30);
  TraceRecorder *trace = nullptr;  // outlives the session
  // Devices and copy engines take the time that the plan gives; see
  // runtime/execute/executor.h. Without it, a plan with costs in the place of code is
  // refused.
  bool emulate = false;
  ProfileRecorder *profile = nullptr;  // outlives the session
  // Of what else than the plan must be the same on all ranks: goes into the digest that
  // they compare when they connect.
  uint64_t run_digest = 0;
  // Of the lowest rank here: see ExecutorOptions.
  std::function<void(uint64_t call, const std::vector<double> &metrics)> on_completed = {};
  // One rank is connected to others although its plan has no messages between ranks.
  bool always_connected = false;
  // Of a plan for CUDA devices: the ordinal of the lowest rank's here; the others have those behind.
  int cuda_device = 0;
  // Another plan may take over during the run. `profile` is not used then.
  std::optional<ReplanOptions> replan = std::nullopt;
};

// Connects one trainer to the parameter servers of its plan.
using ConnectServersFunction =
    std::function<absl::StatusOr<std::unique_ptr<ParameterClient>>(int rank)>;

// Connects one rank; gets options with everything but addresses filled in.
using ConnectFunction =
    std::function<absl::StatusOr<std::unique_ptr<Transport>>(TransportOptions)>;

// Whether ranks talk to each other. Of a plan without such instructions (with
// parameter servers, as a rule) none is connected to another.
bool RanksCommunicate(const PlanImage &image);

// With parameter servers, ranks are trainers. In one process the servers are there
// as well: values are set and read under their names in files, wherever they
// live. A trainer alone has the values that it holds; before its first step it
// gets those of the servers, which count.
//
// With re-planning, image() and program() are those of the plan that runs: they
// change in Call, and so do the numbers of slots and values. Names, functions and
// call numbers do not.
//
// Used by one thread at a time, except Cancel. Errors say which rank found
// them; of several, the one that is not the echo of another rank's.
class Session {
 public:
  static absl::StatusOr<std::unique_ptr<Session>> InProcess(
      std::shared_ptr<const PlanImage> image, SessionOptions options);
  static absl::StatusOr<std::unique_ptr<Session>> OneRank(
      std::shared_ptr<const PlanImage> image, int rank,
      const ConnectFunction &connect, SessionOptions options,
      const ConnectServersFunction &connect_servers = nullptr);
  ~Session();

  const PlanImage &image() const { return *image_; }
  // Of the plan that it began with, whichever runs now.
  uint64_t digest() const { return digest_; }
  // What tells files of this job from those of another, the same on all ranks. One that goes on is what it was.
  uint64_t job() const { return job_; }
  void set_job(uint64_t job) { job_ = job; }
  // Of the lowest rank here.
  const Program &program() const { return executors_[0]->program(); }
  RankExecutor &executor(size_t i) { return *executors_[i]; }
  const RankExecutor &executor(size_t i) const { return *executors_[i]; }
  size_t local_ranks() const { return executors_.size(); }
  // What files had for ranks here and the plan has no place for (rank_state.h), by local rank; empty: nothing.
  std::vector<UnplacedStates> &unplaced_states() { return unplaced_states_; }

  // The same value on all ranks here and on all devices that have a slot of this
  // name (a repeated slot is set alone). Wait for earlier calls.
  absl::Status SetSlot(uint32_t slot, absl::Span<const std::byte> value);
  absl::Status GetSlot(uint32_t slot, absl::Span<std::byte> value);

  // Parameters and state as files name them, and their values, by index; of the
  // whole cluster, where it is in this process. GetValue of what only servers
  // elsewhere have is kFailedPrecondition, SetValue does nothing.
  const std::vector<ValueInfo> &values() const { return image_->values(); }
  //
  // Where ranks run different steps, the value is that of the role whose step writes
  // it (ValueInfo::role): GetValue without a rank of it here is kFailedPrecondition.
  absl::Status SetValue(uint32_t value, absl::Span<const std::byte> bytes);
  absl::Status GetValue(uint32_t value, absl::Span<std::byte> bytes);
  // Whether a rank here has it, in that sense.
  bool HasValue(uint32_t value) const { return HolderOf(values()[value]) != nullptr; }

  // Queues a call on every rank here; see RankExecutor::Enqueue. With `share`, they
  // get the part of the batch of that rank, and its index, whoever they are.
  absl::StatusOr<uint64_t> Call(int function, BatchSource *batches,
                                int share = -1);
  // From the lowest rank here, when all of them have completed the call; complete
  // for rank 0 only. With parameter servers,
  // functions besides the step exchange nothing: of those, the mean over the
  // ranks here.
  absl::StatusOr<std::vector<double>> Metrics(uint64_t call);
  absl::Status Drain();
  // The same. After an error, ends all ranks here and goes back to the values after
  // the last call that all of them have completed: SetSlot, SetValue and Call fail
  // from then on, as they did, but GetSlot and GetValue give these values.
  absl::Status Settle();
  // Of the step, that have been called; after Settle has found an error, those that
  // the values come after.
  uint64_t steps() const;
  // After Settle: why the values could not be gone back to. They are lost, then.
  const absl::Status &lost() const { return lost_; }
  // With parameter servers: the steps that have been called are all there are.
  // Waits for them, and tells the servers; those in this process have then
  // applied everything. No step may be called after it.
  absl::Status Finish();
  // After Finish: what trainers here have becomes what the servers have in the end.
  // Waits until all trainers have finished, and their last updates are applied.
  absl::Status FinalValues();
  // After it: servers elsewhere may end, unless tables of theirs can still be asked for. What is done here from then on
  // does not fail with them.
  void LeaveServers();
  // Steps of the job that are behind the first step that is called here. The
  // servers know, unless they are in this process.
  uint64_t first_step() const;
  // Whether servers elsewhere write checkpoints while they run.
  bool servers_keep_checkpoints() const;
  // Why a rank here has failed, of several the one to blame; OK if none has. Does not wait.
  absl::Status failure();
  // Ends all ranks, from any thread.
  void Cancel(const absl::Status &why);

 private:
  Session() = default;
  // The first rank here whose value counts; null: they are elsewhere.
  RankExecutor *HolderOf(const ValueInfo &value) const;
  // `status`, or the error of the rank that it comes from.
  absl::Status Root(const absl::Status &status);

  static constexpr uint64_t kAllCalls = ~uint64_t{0};

  // session_back.cc
  void CountStep(uint64_t call);
  // Those of the plan, in this process.
  absl::Status MakeServers(const SessionOptions &options);
  // session_replanning.cc. `session` has its plan, and the servers that are here.
  static absl::StatusOr<std::unique_ptr<Session>> Replanning(
      std::unique_ptr<Session> session, const std::vector<int> &ranks,
      const ConnectFunction &connect, const ConnectServersFunction &connect_servers,
      const SessionOptions &options);
  // Before a call of `function`: changes to another plan, if it is time.
  absl::Status ChangePlan(int function);
  // What each of the steps took that have completed since the last call, from the end of the one before it: no more
  // than the last few.
  std::vector<int64_t> StepTimes();
  absl::Status MoveValues(const Generation &next);
  bool has_servers() const { return !image_->servers().servers.empty(); }
  // Whatever a call of `function` needs of the servers.
  absl::Status PrepareServers(const FunctionProgram &function);
  // Brings trainers and servers to the same values before a step.
  absl::Status Synchronise();
  absl::Status PullValues(RankExecutor *executor, uint64_t version);
  uint64_t Version(RankExecutor &executor) const;  // that it has or is about to have
  // What the servers have of `value` at `version`. False if they do not hand out
  // all of it: optimizer state. Blocks that several values share are pulled once, into
  // `shared`, which is of one version.
  using PulledBlocks = std::map<std::pair<int, uint32_t>, std::vector<std::byte>>;
  absl::StatusOr<bool> PullWhole(ParameterClient *client, const ValueInfo &value,
                                 uint64_t version, PulledBlocks *shared,
                                 absl::Span<std::byte> whole);
  // Of servers in this process.
  absl::Status ReadServers(const ValueInfo &value, absl::Span<std::byte> bytes);
  // Before a function that reads tables as a whole, of which trainers otherwise
  // have the rows of their batches only: gives them to the trainers.
  absl::Status PullTables(const FunctionProgram &function);

  // Outlives the executors, whose clients use it. Empty if they are elsewhere.
  std::vector<std::unique_ptr<ParameterServer>> servers_;
  bool started_ = false;           // trainers have joined
  bool final_ = false;             // what trainers have is the last there is
  std::set<uint64_t> to_average_;  // calls
  std::vector<bool> of_trainers_;  // values that the trainers have newer
  // Of tables, by value: one more than the steps behind what PullTables got.
  std::map<uint32_t, uint64_t> pulled_;
  std::shared_ptr<const PlanImage> image_;
  uint64_t digest_ = 0, job_ = 0;
  uint64_t calls_ = 0;
  std::shared_ptr<CompletedCalls> completed_;  // of the ranks here
  uint64_t steps_ = 0;                         // of calls that all have completed,
  std::deque<uint64_t> step_calls_;            // and the others
  uint64_t good_calls_ = kAllCalls;            // that were gone back to
  absl::Status lost_;
  // What belongs to the plan that runs, except executors_; with re-planning only.
  std::unique_ptr<Generation> generation_;
  std::vector<UnplacedStates> unplaced_states_;
  std::vector<uint64_t> timed_;  // by function, calls of it that StepTimes has told of
  Mutex cancel_mu_;              // Cancel, and the change to another plan
  absl::Status cancelled_ ABSL_GUARDED_BY(cancel_mu_);
  // Of plans for CUDA devices; outlives the executors.
  std::shared_ptr<const CudaMachine> cuda_;
  std::vector<std::unique_ptr<RankExecutor>> executors_;  // by rank
  std::unique_ptr<Replanner> replanner_;
};

}  // namespace commsched::runtime

#endif  // COMMSCHED_RUNTIME_SESSION_SESSION_H
