// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Enqueues rounds of a graph on the streams of a device, as an IssuePlan says: a stream for each
// lane that is none of the host, events, and flags in pinned memory that host lanes set and
// streams wait for (cuStreamWaitValue32).
//
// Owned by one thread, which has the device's context current; HostEnded may be called from any
// thread. Errors are those of the driver, with the op.
#ifndef COMMSCHED_RUNTIME_CUDA_STEP_ISSUER_H
#define COMMSCHED_RUNTIME_CUDA_STEP_ISSUER_H

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/cuda/driver_api.h"
#include "runtime/cuda/host_lanes.h"
#include "runtime/cuda/issue_plan.h"
#include "runtime/cuda/step_graph.h"

namespace commsched::runtime::cuda {

class StepIssuer {
 public:
  // Enqueues what an op does in a round, and nothing else, on its stream. An error is handed on.
  using EnqueueOp = absl::FunctionRef<absl::Status(const OpOfRound &op, Stream stream)>;

  // `api`, `graph` and `plan` outlive it.
  static absl::StatusOr<std::unique_ptr<StepIssuer>> Create(const DriverApi &api,
                                                            const StepGraph &graph,
                                                            const IssuePlan &plan);
  // What was enqueued must have ended, or been aborted.
  ~StepIssuer();

  // The next round, or what is left of it, as HostLanes::MayEnqueue allows.
  absl::Status EnqueueRound(EnqueueOp enqueue) {
    return Enqueue(uint32_t(graph_.ops.size()), enqueue);
  }
  // The same, but its ops before `end` only.
  absl::Status Enqueue(uint32_t end, EnqueueOp enqueue);
  // After an error: nothing on the device waits for host ops any more.
  void Release();
  // Whether an op on the device that host lanes wait for has ended, in one of the last
  // kRoundsInFlight rounds, or the one before them where the wait is for the round before.
  absl::StatusOr<bool> HasEnded(const OpOfRound &op) const;
  // A host op has ended: what waits for it on the device goes on.
  void HostEnded(const OpOfRound &op);

  Stream stream(uint32_t lane) const { return streams_[lane]; }
  // What HostEnded writes; null if nothing on the device waits for the op.
  const uint32_t *flag(uint32_t op) const;

 private:
  StepIssuer(const DriverApi &api, const StepGraph &graph, const IssuePlan &plan)
      : api_(api), graph_(graph), plan_(plan) {}
  absl::Status MakeAll();
  absl::Status Wait(Stream stream, const Dependence &wait);
  bool OnHost(uint32_t op) const { return graph_.lanes[graph_.ops[op].lane].host(); }
  Event EventOf(uint32_t op, uint64_t round) const {
    return events_[op][round % events_[op].size()];
  }

  const DriverApi &api_;
  const StepGraph &graph_;
  const IssuePlan &plan_;
  std::vector<Stream> streams_;             // of each lane; null on the host
  std::vector<std::vector<Event>> events_;  // of each op
  std::vector<uint32_t> flag_of_;           // of each op
  uint32_t *flags_ = nullptr;
  uint32_t flag_count_ = 0;
  uint64_t round_ = 0;  // the next one
  uint32_t next_ = 0;   // its first op that has not been enqueued
};

}  // namespace commsched::runtime::cuda

#endif  // COMMSCHED_RUNTIME_CUDA_STEP_ISSUER_H
