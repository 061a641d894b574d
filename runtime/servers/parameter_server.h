// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One parameter server of a plan: collects the trainers' gradients block by
// block, runs the updates on an Executor of its own, and hands out the values.
// Knows nothing of connections: an in-process client and the gRPC service call
// it.
//
// Synchronous: the update of a block for step s runs when every trainer that has
// not finished before s has pushed it; the combination is the mean or the sum
// over those, added in the order of their ranks, so that it is the same bits on
// every run. Asynchronous: the update runs for every push, in the order of
// arrival.
//
// A block of rows (ServerBlock.row_chunk in the plan) is updated row by row, those
// only that some trainer has pushed, and held once: the versions before the
// newest one are not there any more.
//
// A push of (trainer, step, block) that has been taken already is acknowledged
// and dropped. A push of a later step than the block's next one is kept.
//
// The first error ends the server: waiting calls return it, and so does every
// later call. It names the trainer or the block.
//
// Threading: all methods may be called from any thread, concurrently. Callbacks
// as in ParameterClient.
#ifndef COMMSCHED_RUNTIME_SERVERS_PARAMETER_SERVER_H
#define COMMSCHED_RUNTIME_SERVERS_PARAMETER_SERVER_H

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "runtime/base/shared_bytes.h"
#include "runtime/loading/plan_loader.h"
#include "runtime/measure/profile.h"
#include "runtime/measure/trace.h"

namespace commsched::runtime {

struct ParameterServerOptions {
  int server = 0;    // index in the plan's ParameterServers
  int trainers = 1;  // ranks 0 .. trainers - 1
  // Longest time without progress while somebody waits for a block: then the
  // error names the trainers whose pushes are missing.
  absl::Duration deadline = absl::Seconds(30);
  // Steps that a trainer may be ahead of an update. A correct one is at most two;
  // but one that repeats what a checkpoint lacks sends all of that at once.
  uint64_t max_ahead = 16;
  // Where checkpoints of the job are cut: no update of step n * cut_every or later
  // begins before all of the steps before are applied and Save has been called. So
  // all servers have a checkpoint of the same steps. 0: nowhere.
  uint64_t cut_every = 0;
  // Of a checkpoint that Save has written to `path`, if it is one of the job: it
  // has exactly the updates of the steps before `step`, and no NaN. By the thread of
  // Save.
  std::function<absl::Status(const std::string &path, uint64_t step)> on_cut = {};
  TraceRecorder *trace = nullptr;      // outlives the server
  bool emulate = false;                // see runtime/execute/executor.h
  ProfileRecorder *profile = nullptr;  // outlives the server
  // Called once, with the error that ends the server.
  std::function<void(const absl::Status &)> on_failure = {};
};

class ParameterServer {
 public:
  using PushDone = absl::AnyInvocable<void(absl::Status)>;
  using PullDone = absl::AnyInvocable<void(absl::StatusOr<SharedBytes>)>;

  // kResourceExhausted, with the numbers, if these servers of the plan, all that are in this process, need more memory than there is; or
  // the error with which one does not load.
  static absl::Status CheckMemory(const PlanImage &image, absl::Span<const int> servers);

  static absl::StatusOr<std::unique_ptr<ParameterServer>> Create(
      std::shared_ptr<const PlanImage> image, ParameterServerOptions options);
  virtual ~ParameterServer() = default;

  // Values by their names in files: `whole` is all of a parameter or state, of
  // which the server takes its rows, if it has any. Before the first Join, or
  // between steps: kFailedPrecondition while pushes wait for others.
  virtual absl::Status SetWhole(const std::string &name,
                                absl::Span<const std::byte> whole) = 0;
  // The server's own part; for checkpoints. Waits until no update runs. After an
  // error, or Cancel: what the last update of each block has made; of synchronous
  // trainers, blocks may then be a step apart.
  virtual absl::Status GetSlot(uint32_t slot, absl::Span<std::byte> value) = 0;

  // A trainer is there (again): returns the number of steps of which the server
  // has all that it needs, so that they are applied to all blocks or about to be:
  // the step from which the trainer goes on. kFailedPrecondition for a rank that
  // is not expected.
  virtual absl::StatusOr<uint64_t> Join(int trainer) = 0;
  // What of a trainer's has been taken, restored parts included: what it need
  // not repeat. `next` has one entry for each block: one more than the last step
  // that was pushed, 0 if none. Empty if that is not known.
  struct Taken {
    std::vector<uint64_t> next;
    bool finished = false;
  };
  virtual Taken taken(int trainer) = 0;
  // `payload` is the whole block of one step, or, of a block of rows, a message of
  // rows. Done when it has been taken.
  virtual void Push(int trainer, uint32_t block, uint64_t step,
                    SharedBytes payload, PushDone done) = 0;
  virtual void Pull(int trainer, uint32_t block, uint64_t version,
                    PullDone done) = 0;
  // Rows `ids` of a block of rows. Synchronous: nobody asks for a version that is
  // older than the newest one: that is kOutOfRange. Pull gives all rows.
  virtual void PullRows(int trainer, uint32_t block, uint64_t version,
                        std::vector<int64_t> ids, PullDone done) = 0;
  // See ParameterClient::Finish.
  virtual absl::Status Finish(int trainer, uint64_t steps) = 0;
  // The trainer is gone for good: an error for all, with its name.
  virtual void Lost(int trainer, const absl::Status &why) = 0;
  virtual void Cancel(const absl::Status &why) = 0;

  // Waits until all trainers have finished and their last updates are applied,
  // or the server has ended with an error.
  virtual absl::Status Wait() = 0;

  // Everything that a restart needs (slots, the steps applied to each block, all
  // pushes that have been taken), consistent, as one file, written under another
  // name and renamed. With `wait`, waits until all blocks are at the cut, or a
  // trainer finishes.
  virtual absl::Status Save(const std::string &path, bool wait = false) = 0;
  // The next step at which checkpoints are cut; the largest number: none.
  virtual uint64_t cut() = 0;
  // Before the first Join; a damaged file, or one of another plan or server, is
  // refused. Of the `whole_job`, trainers included, only what was before the cut
  // is taken: the trainers do the rest again.
  virtual absl::Status Restore(const std::string &path, bool whole_job = false) = 0;
};

}  // namespace commsched::runtime

#endif  // COMMSCHED_RUNTIME_SERVERS_PARAMETER_SERVER_H
