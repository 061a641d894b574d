// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "mpi/world.h"

#include <mpi.h>
#include <stdlib.h>

#include <atomic>
#include <memory>
#include <thread>

#include "absl/strings/str_cat.h"
#include "mpi/ranks.h"

namespace commsched::transport {

using runtime::Clock;
using runtime::CondVar;
using runtime::Mutex;
using runtime::MutexLock;

namespace {
MPI_Comm parts_of_world = MPI_COMM_NULL;
int processes_here = 1;  // of the job, on this host
}  // namespace

mpi::Communicators mpi::World() { return {MPI_COMM_WORLD, parts_of_world}; }

int mpi::ProcessesHere() { return processes_here; }

Mutex &MpiMutex() {
  static Mutex *mutex = new Mutex;
  return *mutex;
}

absl::Status FromMpi(int code, absl::string_view call) {
  if (code == MPI_SUCCESS) return absl::OkStatus();
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  if (MPI_Error_string(code, text, &length) != MPI_SUCCESS) length = 0;
  return absl::UnavailableError(
      absl::StrCat(call, ": ", absl::string_view(text, size_t(length))));
}

absl::StatusOr<MpiWorld> BeginMpi() {
  MutexLock lock(&MpiMutex());
  int begun = 0, ended = 0, provided = 0;
  MPI_Initialized(&begun);
  MPI_Finalized(&ended);
  if (ended) return absl::FailedPreconditionError("MPI has been ended");
  if (begun) {
    MPI_Query_thread(&provided);
  } else {
    // In memory that processes of one host share, messages up to this size go
    // without a handshake of Open MPI's own: MpiOptions::eager_bytes and headers.
    // A user's own setting goes first.
    setenv("OMPI_MCA_btl_vader_eager_limit", "20480", /*overwrite=*/0);
    const int code =
        MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided);
    if (code != MPI_SUCCESS)
      return absl::UnavailableError(absl::StrCat("MPI does not begin: ", code));
  }
  if (provided < MPI_THREAD_SERIALIZED)
    return absl::UnavailableError(absl::StrCat(
        "MPI must allow calls from several threads (MPI_THREAD_SERIALIZED), "
        "got level: ",
        provided));
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  MpiWorld world;
  MPI_Comm_rank(MPI_COMM_WORLD, &world.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &world.size);
  if (parts_of_world == MPI_COMM_NULL) {
    const int code = MPI_Comm_dup(MPI_COMM_WORLD, &parts_of_world);
    if (code != MPI_SUCCESS) return FromMpi(code, "MPI_Comm_dup");
    MPI_Comm here = MPI_COMM_NULL;
    const int split = MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0,
                                          MPI_INFO_NULL, &here);
    if (split != MPI_SUCCESS) return FromMpi(split, "MPI_Comm_split_type");
    MPI_Comm_size(here, &processes_here);
    MPI_Comm_free(&here);
  }
  return world;
}

bool EndMpi(absl::Duration patience) {
  int begun = 0, ended = 0;
  {
    MutexLock lock(&MpiMutex());
    MPI_Initialized(&begun);
    MPI_Finalized(&ended);
  }
  if (!begun || ended) return true;
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
      MPI_Finalize();
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
