// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// When a communicator has to be given up, and with which error: a machine as those of
// runtime/core, which is told what happens to its collectives and what time it is. Collectives of
// a communicator end in the order of their calls. Not for several threads.
//
// Errors name the collective that has not ended (the first, if there are several), its step, the
// rank, and why: kUnavailable, another rank is lost; kDeadlineExceeded, nothing has moved for the
// deadline although the inputs are there; kInternal, what NCCL says otherwise.
#ifndef COMMSCHED_RUNTIME_CUDA_NCCL_WATCH_H
#define COMMSCHED_RUNTIME_CUDA_NCCL_WATCH_H

#include <cstdint>
#include <deque>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "runtime/base/time.h"
#include "runtime/cuda/nccl_api.h"

namespace commsched::runtime::cuda {

// Which collective, for errors.
struct CollectiveName {
  std::string key;
  uint64_t step = 0;
};

class NcclWatch {
 public:
  NcclWatch(int rank, int ranks, Time deadline) : rank_(rank), ranks_(ranks), deadline_(deadline) {}

  // It is called now: the call itself has the deadline, too, until Accepted.
  void Called(CollectiveName name, Time now);
  void Accepted() { calling_ = false; }
  // How many collectives have their inputs, and how many have ended: the first so many.
  void Ready(size_t count, Time now);
  void Ended(size_t count, Time now);
  size_t open() const { return open_.size(); }

  // What is with the communicator: OK, or the error that it ends with. `says` is what NCCL's
  // ncclCommGetAsyncError gives, `text` its explanation.
  absl::Status Check(NcclResult says, absl::string_view text, Time now) const;
  // An error at the first collective that has not ended.
  absl::Status Error(absl::StatusCode code, absl::string_view why) const;
  // Of the last one called, which NCCL does not take.
  absl::Status Refused(NcclResult says, absl::string_view text) const;

 private:
  struct Open {
    CollectiveName name;
    std::optional<Time> since;  // its inputs are there, and those before it have ended
  };
  absl::Status ErrorAt(const CollectiveName *name, absl::StatusCode code,
                       absl::string_view why) const;

  const int rank_, ranks_;
  const Time deadline_;
  std::deque<Open> open_;
  size_t ready_ = 0;  // of open_
  bool calling_ = false;
  Time called_ = 0;
};

}  // namespace commsched::runtime::cuda

#endif  // COMMSCHED_RUNTIME_CUDA_NCCL_WATCH_H
