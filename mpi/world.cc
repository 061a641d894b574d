// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "mpi/world.h"

#include <stdlib.h>

#include <atomic>
#include <memory>
#include <thread>

#include "absl/strings/str_cat.h"
#include "mpi/functions.h"
#include "mpi/ranks.h"
#include "runtime/base/backoff.h"

namespace commsched::transport {

using runtime::Clock;
using runtime::CondVar;
using runtime::Mutex;
using runtime::MutexLock;

using mpi::Mpi;

namespace {
const mpi::Functions *functions = nullptr;
bool begun_here = false;
bool ready = false;       // is what follows
MPI_Comm parts_of_world;  // of the first connection
int processes_here = 1;   // of the job, on this host
}  // namespace

const mpi::Functions &mpi::Mpi() { return *functions; }

absl::StatusOr<mpi::Communicators> mpi::WorldOf(int connection, Clock::time_point deadline) {
  if (connection == 0) return Communicators{Mpi().world, parts_of_world};
  // Not in one call: what other connections have under way goes on meanwhile. MPI keeps where
  // the result goes, also if that never comes.
  struct Making {
    MPI_Comm parts;
    MPI_Request request;
  };
  auto making = std::make_unique<Making>();
  int done = 0;
  runtime::Backoff backoff(std::chrono::microseconds(100));
  for (bool begun = false; !done; begun = true) {
    if (begun) backoff.Rest(false);
    MutexLock lock(&MpiMutex());
    const int code = begun ? Mpi().Test(&making->request, &done, MPI_STATUS_IGNORE)
                           : Mpi().Comm_idup(Mpi().world, &making->parts, &making->request);
    absl::Status status = FromMpi(code, "MPI_Comm_idup");
    if (status.ok() && !done && Clock::now() >= deadline)
      status = absl::DeadlineExceededError("not all processes of the MPI job have begun a connection");
    if (status.ok()) continue;
    (void)making.release();
    return status;
  }
  return Communicators{Mpi().world, making->parts};
}

int mpi::ProcessesHere() { return processes_here; }

Mutex &MpiMutex() {
  static Mutex *mutex = new Mutex;
  return *mutex;
}

absl::Status FromMpi(int code, absl::string_view call) {
  if (code == MPI_SUCCESS) return absl::OkStatus();
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  if (Mpi().Error_string(code, text, &length) != MPI_SUCCESS) length = 0;
  return absl::UnavailableError(
      absl::StrCat(call, ": ", absl::string_view(text, size_t(length))));
}

absl::StatusOr<MpiWorld> BeginMpi() {
  MutexLock lock(&MpiMutex());
  if (functions == nullptr) {
    auto found = mpi::FindMpi();
    if (!found.ok()) return found.status();
    functions = *found;
  }
  int begun = 0, ended = 0, provided = 0;
  Mpi().Initialized(&begun);
  Mpi().Finalized(&ended);
  if (ended) return absl::FailedPreconditionError("MPI has been ended");
  if (begun) {
    Mpi().Query_thread(&provided);
  } else {
    // In memory that processes of one host share, messages up to this size go
    // without a handshake of Open MPI's own: MpiOptions::eager_bytes and headers.
    // A user's own setting goes first.
    setenv("OMPI_MCA_btl_vader_eager_limit", "20480", /*overwrite=*/0);
    const int code =
        Mpi().Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided);
    if (code != MPI_SUCCESS)
      return absl::UnavailableError(absl::StrCat("MPI does not begin: ", code));
    begun_here = true;
  }
  if (provided < MPI_THREAD_SERIALIZED)
    return absl::UnavailableError(absl::StrCat(
        "MPI must allow calls from several threads (MPI_THREAD_SERIALIZED), "
        "got level: ",
        provided));
  Mpi().Comm_set_errhandler(Mpi().world, Mpi().errors_return);
  Mpi().Comm_set_errhandler(Mpi().self, Mpi().errors_return);
  MpiWorld world;
  Mpi().Comm_rank(Mpi().world, &world.rank);
  Mpi().Comm_size(Mpi().world, &world.size);
  if (!ready) {
    const int code = Mpi().Comm_dup(Mpi().world, &parts_of_world);
    if (code != MPI_SUCCESS) return FromMpi(code, "MPI_Comm_dup");
    MPI_Comm here = Mpi().no_comm;
    const int split = Mpi().Comm_split_type(Mpi().world, MPI_COMM_TYPE_SHARED, 0,
                                            Mpi().no_info, &here);
    if (split != MPI_SUCCESS) return FromMpi(split, "MPI_Comm_split_type");
    Mpi().Comm_size(here, &processes_here);
    Mpi().Comm_free(&here);
    ready = true;
  }
  return world;
}

bool EndMpi(absl::Duration patience) {
  {
    MutexLock lock(&MpiMutex());
    if (!begun_here) return true;
    int ended = 0;
    Mpi().Finalized(&ended);
    if (ended) return true;
  }
  struct State {
    Mutex mu;
    CondVar changed;
    bool done ABSL_GUARDED_BY(mu) = false;
  };
  // MPI_Finalize waits for all processes, for ever: in a thread of its own, which
  // is left behind if one of them does not come.
  auto state = std::make_shared<State>();
  std::thread([state] {
    {
      MutexLock lock(&MpiMutex());
      Mpi().Finalize();
    }
    MutexLock lock(&state->mu);
    state->done = true;
    state->changed.SignalAll();
  }).detach();
  const Clock::time_point deadline = runtime::After(patience);
  MutexLock lock(&state->mu);
  while (!state->done)
    if (state->changed.WaitUntil(&state->mu, deadline)) return state->done;
  return true;
}

}  // namespace commsched::transport
