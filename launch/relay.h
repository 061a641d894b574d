// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Numbers of which rank 0 has the right ones, on all ranks: those of one call after the
// other, handed on along the tree while the ranks do other things.
#ifndef COMMSCHED_LAUNCH_RELAY_H
#define COMMSCHED_LAUNCH_RELAY_H

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "launch/job.h"

namespace commsched::launch {

// Thread-safe. Each call's number is used once, in any order.
class Relay {
 public:
  // Of the connection that the job has made last; the job outlives it.
  explicit Relay(Job *job);
  ~Relay();

  // Another rank than 0 is to get `count` numbers of `call`; none if it is 0.
  void Expect(uint64_t call, size_t count);
  // On rank 0, once for each call.
  void Put(uint64_t call, const std::vector<double> &numbers);
  // What has been expected; waits for it, at most `patience`: then kDeadlineExceeded.
  // kFailedPrecondition if it was not expected.
  absl::StatusOr<std::vector<double>> Take(uint64_t call, absl::Duration patience);
  // Whoever waits gets this error.
  void Fail(const absl::Status &why);

 private:
  struct State;
  const std::shared_ptr<State> state_;
};

}  // namespace commsched::launch

#endif  // COMMSCHED_LAUNCH_RELAY_H
