// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Who calls MPI when, and what runs without the lock.
#include <sched.h>
#include <sys/prctl.h>

#include <algorithm>
#include <utility>

#include "mpi/ranks.h"
#include "runtime/base/backoff.h"
#include "runtime/base/run_flat.h"
#include "runtime/base/status_util.h"

namespace commsched::transport::mpi {

using runtime::Backoff;
using runtime::Clock;
using runtime::MutexLock;

namespace {

// How long parts under way count as found when nothing of them is seen.
constexpr int64_t kMovingNs = 300'000;
// Where all that is to be expected comes through rings, of how many looks one is
// at MPI; the same while a message was granted, which may come in parts.
constexpr unsigned kLooksAtRings = 64, kLooksAtRingsGranted = 8;
// How long the own thread stays away after another has polled.
constexpr int64_t kOthersPollNs = 3'000'000;
// Its longest pause while a message is under way, and while none is.
constexpr auto kBusyPause = std::chrono::microseconds(100);
constexpr auto kIdlePause = std::chrono::milliseconds(1);

}  // namespace

void MpiRanks::Check(int code, const char *call) {
  if (code != MPI_SUCCESS && mpi_error_.ok()) mpi_error_ = FromMpi(code, call);
}

void MpiRanks::Later(absl::AnyInvocable<void()> action, Actions *actions) {
  ++callbacks_;
  actions->push_back({nullptr, absl::OkStatus(), std::move(action)});
}

void MpiRanks::Finish(Done done, absl::Status status, Actions *actions) {
  ++callbacks_;
  actions->push_back({std::move(done), runtime::Unshared(status), nullptr});
}

void MpiRanks::RunAll(Actions actions) {
  if (actions.empty()) return;
  if (runtime::RunsFlat())
    return runtime::RunFlat(
        [this, actions = std::move(actions)]() mutable { RunNow(actions); });
  runtime::RunFlat([this, &actions] { RunNow(actions); });
}

void MpiRanks::RunNow(Actions &actions) {
  const int count = int(actions.size());
  for (Action &action : actions) {
    if (action.done)
      action.done(std::move(action.status));
    else
      action.other();
  }
  actions.clear();
  callbacks_ -= count;
}

bool MpiRanks::SendsDone() const {
  return std::all_of(peers_.begin(), peers_.end(), [](const Peer &peer) {
    return peer.sent_all() && peer.under_way == 0;
  });
}

bool MpiRanks::Idle() const {
  return requests_.empty() && granted_.empty() &&
         std::all_of(peers_.begin(), peers_.end(), [](const Peer &peer) {
           return peer.idle() && peer.backlog.empty();
         });
}

bool MpiRanks::LongUnderWay() const {
  return !requests_.empty() || !granted_.empty() ||
         std::any_of(peers_.begin(), peers_.end(),
                     [](const Peer &peer) { return !peer.placed.empty(); });
}

bool MpiRanks::MpiIsDue() {
  if (ringed_.size() < partners_ || !requests_.empty() || !notes_.empty() || closing_)
    return true;
  return ++looks_ % (granted_.empty() ? kLooksAtRings : kLooksAtRingsGranted) == 0;
}

bool MpiRanks::Progress(Actions *actions) {
  bool any = TakeRings(actions);
  if (!MpiIsDue()) return PassParts(actions) || any;
  const size_t slot = next_slot_;
  TakeNotes(actions);
  any |= slot != next_slot_;
  any |= TakeParts();
  any |= TestParts(actions);
  any |= PassParts(actions);
  for (auto note = notes_.begin(); note != notes_.end();) {
    int done = 0;
    Check(Mpi().Test(&note->request, &done, MPI_STATUS_IGNORE), "MPI_Test");
    if (!done) break;
    spare_notes_.push_back(std::move(note->bytes));
    note = notes_.erase(note);
  }
  if (!mpi_error_.ok())
    for (size_t peer = 0; peer < peers_.size(); ++peer)
      if (options_.IsPartner(int(peer)))
        End(int(peer), peers_[peer].end.Lost(mpi_error_.message()), actions);
  return any;
}

bool MpiRanks::PollOnce() {
  Actions actions;
  bool found = false, any = false, yield = false;
  {
    MutexLock lock(&mu_);
    if (polling_ || closed_ || peers_.empty()) return false;
    polling_ = true;
    any = found = Progress(&actions);
    // MPI does not say that it has moved a part on.
    if (!requests_.empty() || !granted_.empty()) {
      const int64_t now = NowNs();
      if (found) moved_at_ = now;
      any |= now - moved_at_ < kMovingNs;
    }
    polling_ = false;
    yield = crowded_ && !found && (++vain_polls_ % kPollsUntilYield == 0 || LongUnderWay());
    if (closing_) changed_.SignalAll();
  }
  if (!actions.empty()) RunAll(std::move(actions));
  // What is waited for may be the work of another rank on this processor.
  if (yield) sched_yield();
  return any;
}

bool MpiRanks::Poll() {
  polls_.store(polls_.load(std::memory_order_relaxed) + 1,
               std::memory_order_relaxed);
  return PollOnce();
}

void MpiRanks::PollUntil(Clock::time_point deadline,
                         absl::FunctionRef<bool()> condition) {
  Backoff backoff(kBusyPause);
  while (true) {
    const bool any = PollOnce();
    {
      MutexLock lock(&mu_);
      if (condition() || Clock::now() >= deadline) return;
    }
    backoff.Rest(any);
  }
}

void MpiRanks::Loop() {
  prctl(PR_SET_TIMERSLACK, 1);
  Backoff busy(kBusyPause);
  uint64_t polls = 0;
  int64_t polled_at = NowNs();
  MutexLock lock(&mu_);
  while (!stop_) {
    const int64_t now = NowNs();
    if (now - watched_at_ > kWatchNs) {
      watched_at_ = now;
      mu_.Unlock();
      WatchProcesses();
      mu_.Lock();
      continue;
    }
    if (const uint64_t seen = polls_.load(std::memory_order_relaxed);
        seen != polls) {
      polls = seen;
      polled_at = now;
    }
    if (now - polled_at < kOthersPollNs) {
      changed_.WaitUntil(&mu_, Clock::now() + kIdlePause);
      continue;
    }
    const bool idle = Idle();
    mu_.Unlock();
    const bool any = PollOnce();
    mu_.Lock();
    if (stop_) break;
    if (idle && !any) {
      changed_.WaitUntil(&mu_, Clock::now() + kIdlePause);
    } else {
      mu_.Unlock();
      busy.Rest(any);
      mu_.Lock();
    }
  }
}

}  // namespace commsched::transport::mpi
