// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The thread that owns a rank's communicator, and enqueues all that the rank does on its device,
// in the order in which it is posted, which is the plan's. NCCL's kernels wait for those of other
// ranks and are matched by their order alone, so nothing overtakes at run time (docs/cuda.md).
//
// The communicator does not block, and what a call returns does not say that NCCL is done with it:
// ncclCommWindowRegister returns success of what has only begun (2.27 to 2.30), and the next call on
// the communicator would be refused. So it is asked behind each call until it says that it is done;
// then what was called is on the stream. When NCCL reports an error, or nothing moves for the deadline,
// it is aborted, which ends what is on the device, and the lane ends with one error (nccl_watch.h)
// that all calls return from then on. Ranks do not tell each other: each ends for itself.
//
// Threading: Post, Drain, Fail and status may be called from any thread, the destructor when no
// other call runs. Work runs on the lane's thread, with the context current.
#ifndef COMMSCHED_RUNTIME_CUDA_NCCL_LANE_H
#define COMMSCHED_RUNTIME_CUDA_NCCL_LANE_H

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "runtime/base/sync.h"
#include "runtime/base/time.h"
#include "runtime/cuda/driver_api.h"
#include "runtime/cuda/nccl_api.h"
#include "runtime/cuda/nccl_watch.h"

namespace commsched::runtime::cuda {

struct Collective {
  enum class Kind {
    kAllReduce,
    kReduceScatter,
    kAllGather
  };
  CollectiveName name;
  Kind kind = Kind::kAllReduce;
  // In device memory; the same, for an all-reduce in place. `count` is that of an all-reduce,
  // else that of one rank's part.
  const void *from = nullptr;
  void *to = nullptr;
  size_t count = 0;
  NcclType type = NcclType::kFloat32;
  NcclReduction reduction = NcclReduction::kSum;  // not of an all-gather
};

struct NcclLaneOptions {
  // Outlive the lane.
  const DriverApi *driver = nullptr;
  const NcclApi *nccl = nullptr;
  Context context = nullptr;
  int rank = 0, ranks = 1;
  NcclUniqueId id = {};  // of rank 0's ncclGetUniqueId
  // For all ranks to meet, and as NcclWatch has it.
  absl::Duration deadline = absl::Seconds(30);
  // The time by which the deadline counts; without, the steady clock's. Called on the lane's thread.
  std::function<Time()> now = {};
  // Arenas of ncclMemAlloc, of the same sizes on all ranks, that are registered as symmetric
  // windows, in this order.
  struct Window {
    void *begin = nullptr;
    size_t bytes = 0;
  };
  std::vector<Window> windows = {};
  // Lets the device go on where it waits for the host. An abort makes NCCL's kernels end, and then
  // waits for all that streams have before and between them. Called when an abort takes its time,
  // until it has ended, by a thread of its own. It may be empty.
  std::function<void()> let_go = {};
};

class NcclLane {
 public:
  // What work may call, on the lane's thread.
  class Caller {
   public:
    // Enqueues the collective on `stream`. The streams of all calls are one. Returns when NCCL
    // has taken it.
    absl::Status Call(const Collective &collective, Stream stream) {
      return lane_.Call(collective, stream);
    }

   private:
    friend class NcclLane;
    explicit Caller(NcclLane &lane) : lane_(lane) {}
    NcclLane &lane_;
  };
  using Work = absl::AnyInvocable<absl::Status(Caller &)>;

  // Starts the thread and meets the other ranks, or fails within the deadline.
  static absl::StatusOr<std::unique_ptr<NcclLane>> Create(NcclLaneOptions options);
  // Drops work that has not begun, waits for collectives that have been called, at most for the
  // deadline, and joins the thread: the communicator is destroyed, or aborted.
  ~NcclLane();

  // Work that fails ends the lane.
  absl::Status Post(Work work);
  // Waits until all that was posted has run and its collectives have ended.
  absl::Status Drain();
  // Ends the lane from outside: what is on the device is aborted.
  void Fail(const absl::Status &why);
  // An error is here before anything that is on the device ends without being done: who sees an op
  // of the device end, and then no error, knows that it was done.
  absl::Status status();

 private:
  // A collective that has been called, and the events before and behind it.
  struct Open {
    Event inputs = nullptr, end = nullptr;
    bool called = false;  // `end` has been recorded
    bool ready = false;   // the inputs are there
  };

  explicit NcclLane(NcclLaneOptions options);

  void Run();
  absl::Status Connect();
  absl::Status CheckDriver(DriverResult result, const char *what) const;
  // Until NCCL has ended what the call that returned `result` has begun, or there is an error.
  absl::Status Settle(NcclResult result, const char *what);
  absl::Status Call(const Collective &collective, Stream stream);
  absl::Status Enqueue(const Collective &collective, Stream stream, NcclResult *result);
  absl::Status TakeEvents(Open *call);
  absl::StatusOr<bool> HasEnded(Event event) const;
  absl::Status Note();  // what has ended
  // And what the communicator says; an error ends the lane.
  absl::Status Look(NcclResult *says);
  absl::Status Poll();
  NcclResult Ask() const;  // what the communicator says
  bool Stopped();
  Time Now() const;
  absl::Status Stop();  // the error of Fail, if there is one
  absl::Status Finish();
  void Abort();
  void End(const absl::Status &why);
  std::string TextOf(NcclResult result) const;

  const NcclLaneOptions options_;
  // Of the thread.
  NcclComm comm_ = nullptr;
  std::vector<NcclWindow> windows_;
  NcclWatch watch_;
  std::deque<Open> open_;   // as the watch's
  std::vector<Open> free_;  // events

  Mutex mu_;
  CondVar changed_;
  std::deque<Work> work_ ABSL_GUARDED_BY(mu_);
  bool connected_ ABSL_GUARDED_BY(mu_) = false;
  bool idle_ ABSL_GUARDED_BY(mu_) = false;  // no work runs, no collective is open
  bool closing_ ABSL_GUARDED_BY(mu_) = false;
  bool ended_ ABSL_GUARDED_BY(mu_) = false;
  absl::Status failed_ ABSL_GUARDED_BY(mu_);  // by Fail
  absl::Status status_ ABSL_GUARDED_BY(mu_);
  std::thread thread_;
};

}  // namespace commsched::runtime::cuda

#endif  // COMMSCHED_RUNTIME_CUDA_NCCL_LANE_H
