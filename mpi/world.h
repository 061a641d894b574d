// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// MPI in this process: begun once, ended once, and one lock around all calls.
//
// Threads: MPI_THREAD_SERIALIZED is asked for, and whoever calls MPI holds
// MpiMutex(). In Open MPI 4.1, MPI_THREAD_MULTIPLE locks inside every call and
// in every step of its progress; here one lock covers a batch of calls, and the
// thread that waits for a message is the one that makes MPI progress, so that no
// message is handed from thread to thread.
#ifndef COMMSCHED_MPI_WORLD_H
#define COMMSCHED_MPI_WORLD_H

#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "runtime/base/sync.h"

namespace commsched::transport {

struct MpiWorld {
  int rank = 0;
  int size = 0;
};

// To be held around every call of MPI but those of this header.
runtime::Mutex &MpiMutex();

// Begins MPI in this process if that has not been done, with errors returned
// instead of ending the process. kUnavailable if there is none, it does not begin or gives
// fewer threads than are needed. Thread-safe.
absl::StatusOr<MpiWorld> BeginMpi();

// While it lives, the processes that are in EndMpi already hear that this one comes later, unless its disk
// does not answer: for who writes files when nobody needs it any more.
class MpiSigns {
 public:
  // `patience`: that of EndMpi.
  explicit MpiSigns(absl::Duration patience);
  ~MpiSigns();

 private:
  void Sign(absl::Duration patience);

  runtime::Mutex mu_;
  runtime::CondVar changed_;
  bool over_ ABSL_GUARDED_BY(mu_) = false;
  std::thread thread_;  // the last: it uses the others
};

// Ends MPI, if BeginMpi began it: to be called once, by a process that has done all
// its work, when no transport is left. Waits for the other processes, at most
// `patience` without a sign of one; false if they do not come. A process that failed leaves it out
// and ends with a non-zero status, upon which its launcher ends the others.
bool EndMpi(absl::Duration patience);

// What an MPI call returned: OK, or kUnavailable with MPI's own words.
absl::Status FromMpi(int code, absl::string_view call);

}  // namespace commsched::transport

#endif  // COMMSCHED_MPI_WORLD_H
