// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "mpi/world.h"

#include <stdlib.h>

#include <algorithm>
#include <atomic>
#include <iterator>
#include <list>
#include <memory>
#include <thread>

#include "absl/strings/str_cat.h"
#include "mpi/functions.h"
#include "mpi/ranks.h"
#include "runtime/base/backoff.h"
#include "runtime/base/files.h"

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

constexpr int kSignTag = 0;  // notes have others
constexpr auto kLook = std::chrono::milliseconds(100);
// How often the patience of the others the disk may take for one answer.
constexpr int kDiskPatience = 5;

// Until all processes have come to the end of MPI.
bool AllCome(absl::Duration patience) {
  // MPI keeps where the signs go, also if not all come.
  struct Waiting {
    MPI_Request all, sign;
    char byte;
  };
  auto waiting = std::make_unique<Waiting>();
  auto listen = [&] {
    return Mpi().Irecv(&waiting->byte, 1, Mpi().byte, MPI_ANY_SOURCE, kSignTag, Mpi().world, &waiting->sign);
  };
  Clock::time_point until = runtime::After(patience);
  runtime::Backoff backoff(std::chrono::milliseconds(1));
  for (bool begun = false, come = false; !come; begun = true) {
    if (begun) backoff.Rest(false);
    MutexLock lock(&MpiMutex());
    int heard = 0, done = 0;
    bool good = begun || (Mpi().Ibarrier(Mpi().world, &waiting->all) == MPI_SUCCESS && listen() == MPI_SUCCESS);
    good = good && Mpi().Test(&waiting->sign, &heard, MPI_STATUS_IGNORE) == MPI_SUCCESS &&
           (!heard || listen() == MPI_SUCCESS) && Mpi().Test(&waiting->all, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS;
    come = good && done;
    if (heard) until = runtime::After(patience);
    if (come) {
      Mpi().Cancel(&waiting->sign);
      Mpi().Wait(&waiting->sign, MPI_STATUS_IGNORE);
    } else if (!good || Clock::now() >= until) {
      (void)waiting.release();
      return false;
    }
  }
  return true;
}
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

MpiSigns::MpiSigns(absl::Duration patience) : thread_([this, patience] { Sign(patience); }) {}

MpiSigns::~MpiSigns() {
  {
    MutexLock lock(&mu_);
    over_ = true;
  }
  changed_.SignalAll();
  thread_.join();
}

void MpiSigns::Sign(absl::Duration patience) {
  static char byte = 0;
  // What a peer that is gone has not taken stays with MPI.
  static auto *sent = new std::list<MPI_Request>;
  runtime::DiskWatch disk;
  int rank = 0, size = 1;
  {
    MutexLock lock(&MpiMutex());
    Mpi().Comm_rank(Mpi().world, &rank);
    Mpi().Comm_size(Mpi().world, &size);
  }
  Clock::time_point next = runtime::After(patience / 4);
  MutexLock lock(&mu_);
  while (!over_) {
    changed_.WaitUntil(&mu_, std::min(next, Clock::now() + kLook));
    const bool stuck = disk.Look() * absl::FromChrono(kLook) > kDiskPatience * patience;
    if (over_ || stuck || Clock::now() < next) continue;
    next = runtime::After(patience / 4);
    MutexLock mpi(&MpiMutex());
    for (auto request = sent->begin(); request != sent->end();) {
      int done = 0;
      const int code = Mpi().Test(&*request, &done, MPI_STATUS_IGNORE);
      request = done || code != MPI_SUCCESS ? sent->erase(request) : std::next(request);
    }
    for (int peer = 0; peer < size; ++peer)
      if (peer != rank &&
          Mpi().Isend(&byte, 1, Mpi().byte, peer, kSignTag, Mpi().world, &sent->emplace_back()) != MPI_SUCCESS)
        sent->pop_back();
  }
}

bool EndMpi(absl::Duration patience) {
  {
    MutexLock lock(&MpiMutex());
    if (!begun_here) return true;
    int ended = 0;
    Mpi().Finalized(&ended);
    if (ended) return true;
  }
  if (!AllCome(patience)) return false;
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
