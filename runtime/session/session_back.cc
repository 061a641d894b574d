// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a session still has after an error: the values after the last call that
// all ranks here have completed.
#include <cstddef>

#include "absl/strings/str_cat.h"
#include "runtime/session/session.h"

namespace commsched::runtime {

void Session::CountStep(uint64_t call) {
  const uint64_t completed = completed_->OfAll();
  while (!step_calls_.empty() && step_calls_.front() < completed) {
    step_calls_.pop_front();
    ++steps_;
  }
  step_calls_.push_back(call);
}

uint64_t Session::steps() const {
  uint64_t steps = steps_;
  for (uint64_t call : step_calls_) steps += call < good_calls_ ? 1 : 0;
  return steps;
}

absl::Status Session::Settle() {
  absl::Status status = Drain();
  if (status.ok() || good_calls_ != kAllCalls) return status;
  if (!lost_.ok()) return lost_;
  // A rank that hears of no other one has not heard of the error either.
  for (auto &executor : executors_)
    executor->Cancel(absl::AbortedError("another rank has failed"));
  for (auto &server : servers_) server->Cancel(status);
  const uint64_t good = completed_->OfAll();
  for (auto &executor : executors_)
    if (absl::Status s = executor->GoBack(good); !s.ok())
      return lost_ = absl::Status(
                 status.code(),
                 absl::StrCat(status.message(), "; its values are lost: ", s.message()));
  good_calls_ = good;
  return status;
}

}  // namespace commsched::runtime
