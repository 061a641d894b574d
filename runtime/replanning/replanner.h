// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A new plan during a run: measured, made, prepared by all ranks, and begun by
// all with the same call. docs/replanning.md describes the protocol, and why no
// message can be taken for another and nothing can hang.
#ifndef COMMSCHED_RUNTIME_REPLANNING_REPLANNER_H
#define COMMSCHED_RUNTIME_REPLANNING_REPLANNER_H

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "runtime/core/plan_change.h"
#include "runtime/execute/executor.h"
#include "runtime/loading/plan_loader.h"
#include "runtime/measure/link_observer.h"
#include "runtime/measure/profile.h"
#include "runtime/replanning/control_channel.h"
#include "runtime/replanning/parameter_lanes.h"
#include "runtime/replanning/planning_command.h"
#include "runtime/replanning/replan_event.h"
#include "runtime/replanning/step_clock.h"
#include "runtime/replanning/transport_lanes.h"

namespace commsched::runtime {

struct ReplanOptions {
  // Makes plans; of the process with rank 0 only.
  PlanFunction plan;
  // A new plan is made after so many steps, and again; 0: not for that.
  uint64_t every = 0;
  // Or when a step takes so many percent more or less time than at first with this
  // plan; 0: not for that.
  double when_off_percent = 0;
  // What is measured is that of so many steps, the last ones.
  uint64_t window = 20;
  // Or of fewer, at least so many, where these say enough (see StepClock); 0: not of fewer.
  uint64_t least = 0;
  // Of a rank to get and prepare a plan. Then training goes on with the old one.
  absl::Duration prepare_deadline = absl::Seconds(60);
  // Fragments and links are measured for plans that are made. False: steps are, and nothing else. The same of all ranks.
  bool measures_costs = true;
  // A plan that was replaced stays prepared, in the place of one, until another one is made or another is prepared: it
  // can take the place of its successor at once. The same of all ranks.
  bool keeps_replaced = false;
  // All ranks of the plan have the memory of one host, each in a process of its own: what a plan needs is looked at for all
  // of them before it is prepared. Of the process with rank 0 only.
  bool one_host = false;
  // After so many attempts in a row that gave no plan, there is no further one.
  int most_failures = 3;
  // What a plan is called that was made and cannot run, for what is said of it. Of the process with rank 0
  // only; may be null.
  std::function<std::string()> name;
  // Asked when an attempt is over, with the plan that runs and the steps that have been completed so far: what is said if it
  // is kept for good, and nothing else is made any more. Of the process with rank 0 only; may be null.
  std::function<std::optional<std::string>(uint64_t running, uint64_t steps)> kept;
  // May be called by any thread, one at a time.
  std::function<void(const ReplanEvent &)> on_event;
};

// A plan and what runs it on the ranks of this process. Ends in the order of a
// run: first what runs.
struct Generation {
  // Whether it is the one that runs.
  void SetLive(bool live);

  uint32_t number = 0;
  std::shared_ptr<const PlanImage> image;
  // Where costs are measured; else null, and none.
  std::unique_ptr<ProfileRecorder> profile;
  std::vector<std::unique_ptr<LinkObserver>> links;  // by local rank
  // Of the executors; null: such a rank talks to nobody, or to no servers.
  std::vector<TransportLanes::Lane *> lanes;
  std::vector<ParameterLanes::Lane *> server_lanes;
  std::vector<std::unique_ptr<Executor>> executors;
};

// Of a process with one rank or all of them. Its thread asks, plans and prepares;
// the thread that calls the functions of the plan changes from one to the next.
class Replanner {
 public:
  struct Rank {
    int rank = 0;
    std::shared_ptr<TransportLanes> lanes;              // null: it talks to nobody
    std::shared_ptr<ParameterLanes> servers = nullptr;  // null: there are none
  };
  // `base`: what executors have besides transport, failures and measurements.
  struct Settings {
    ReplanOptions options;
    std::vector<Rank> ranks;  // here: one, or all of the plan
    TraceRecorder *trace = nullptr;
    absl::Duration deadline = absl::Seconds(30);
    bool emulate = false;
    std::shared_ptr<CompletedCalls> completed;  // by rank here
    // Of the first of them: see ExecutorOptions.
    std::function<void(uint64_t call, const std::vector<double> &metrics)> on_completed = {};
  };

  explicit Replanner(Settings settings);
  ~Replanner();

  // What runs the plan on the ranks here, not live yet.
  absl::StatusOr<Generation> Make(uint32_t number,
                                  std::shared_ptr<const PlanImage> image);
  // What `generation` runs is measured from now on.
  void Start(const Generation *generation);

  // Of calls under way, so many at most when another one is made; 0: as many as there may be. Where plans are tried, what is queued
  // until they change is of the one that is left, and a step or more of it tells nothing that is worth its time.
  uint64_t MostUnderWay() const;
  // Before call `call`; may wait until it is known whether it is of the new plan.
  // If it is, gives what runs it. `check`, which is asked now and then, ends the
  // waiting with its error. `step_ns`: of each step that was completed since the call before.
  absl::StatusOr<std::unique_ptr<Generation>> Before(
      uint64_t call, bool is_step, absl::Span<const int64_t> step_ns,
      const std::function<absl::Status()> &check);
  // The caller has changed to `now`; `old` goes, beside the run, if it is not kept. `step_ns`: of its last steps.
  void Switched(const Generation *now, std::unique_ptr<Generation> old, uint64_t call,
                absl::Span<const int64_t> step_ns, absl::Duration drained, absl::Duration moved);
  // Ends attempts and everything that waits, from any thread. The plan goes on.
  void Stop();

 private:
  void Run();
  void Lead();
  void Follow();
  // One attempt of rank 0. An error says why there is no new plan.
  absl::Status Attempt(uint64_t attempt);
  absl::StatusOr<Measurements> Collect(uint64_t attempt);
  absl::Status CheckNew(const std::string &plan) const;
  absl::Status CheckMemoryOfHost(const PlanImage &next) const;
  absl::Status Distribute(uint64_t attempt, const std::string &plan, uint64_t digest);
  // `ahead_ns`: what ranks go on for meanwhile.
  absl::Status Agree(uint64_t attempt, uint64_t ahead_ns);
  // No plan: that which was kept when it was replaced.
  absl::Status PrepareHere(uint64_t attempt, const std::string &plan, uint64_t digest);
  // Whether a plan with this digest was kept when it was replaced.
  bool Keeps(uint64_t digest) const;
  std::shared_ptr<const PlanImage> Running() const;
  // Both kinds of ranks: forgets a plan that has been prepared.
  void Drop();
  // The one that was replaced goes.
  void DropReplaced();
  uint64_t Hold(uint64_t ahead_ns);
  // Of a step, of the plan that ran before as long as nothing is known of this one; 0: of neither.
  int64_t KnownStepNs() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Waits until the plan that was decided on runs. False if it never will.
  bool AwaitSwitch();
  void Answer(const ControlMessage &message);
  // Waits until all ranks have answered what rank 0 asks. What they say, by rank.
  absl::StatusOr<std::map<int, ControlMessage>> Answers(Clock::time_point deadline);
  void ToAll(core::PlanMessage message, const std::string &payload = "");
  absl::StatusOr<std::string> Profile() const;
  // A line for rank 0.
  std::string StepTimes() const;
  bool ToldThatKept(uint64_t attempt);
  // On this rank: what is kept for another attempt goes.
  void NoFurtherPlanHere();
  // On all ranks.
  void NoFurtherPlan();
  std::vector<LinkObserver::Link> Links() const;
  void Tell(ReplanEvent event);

  const Settings settings_;
  const bool leads_;                         // rank 0 is here
  std::vector<int> others_;                  // ranks elsewhere; of those that follow: rank 0
  std::unique_ptr<ControlChannel> control_;  // null: there are none
  core::PlanChangeLeader leader_;            // of rank 0's thread
  bool over_ = false;                        // of the same: another rank has finished
  std::atomic<bool> stopped_{false};

  Mutex tell_mu_;
  mutable Mutex mu_;
  CondVar changed_;
  StepClock clock_ ABSL_GUARDED_BY(mu_);
  uint64_t steps_ ABSL_GUARDED_BY(mu_) = 0;   // of the run, completed
  bool wanted_ ABSL_GUARDED_BY(mu_) = false;  // an attempt is
  bool trying_ ABSL_GUARDED_BY(mu_) = false;  // plans in turn, until one is kept
  std::string why_ ABSL_GUARDED_BY(mu_);      // of the attempt
  const Generation *running_ ABSL_GUARDED_BY(mu_) = nullptr;
  std::unique_ptr<Generation> prepared_ ABSL_GUARDED_BY(mu_);
  std::unique_ptr<Generation> replaced_ ABSL_GUARDED_BY(mu_);  // the last one, if it is kept
  struct {
    uint64_t digest = 0;
    int64_t step_ns = 0, error_ns = 0;
  } before_ ABSL_GUARDED_BY(mu_);              // the plan that ran before
  uint64_t attempt_ ABSL_GUARDED_BY(mu_) = 0;  // of what is prepared
  uint64_t told_ ABSL_GUARDED_BY(mu_) = 0;     // attempt whose plan runs, which has been told
  core::PlanChange change_ ABSL_GUARDED_BY(mu_);
  absl::Duration held_ ABSL_GUARDED_BY(mu_);

  std::thread reaper_;  // of what has been replaced; of the calling thread
  std::thread thread_;
};

}  // namespace commsched::runtime

#endif  // COMMSCHED_RUNTIME_REPLANNING_REPLANNER_H
