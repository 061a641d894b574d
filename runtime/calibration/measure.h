// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a link costs, and how much slower compute is while it is busy. The model
// is that of docs/scheduling.md: a message occupies the link for the overhead and
// its bytes, and is there `latency` later.
#ifndef COMMSCHED_RUNTIME_CALIBRATION_MEASURE_H
#define COMMSCHED_RUNTIME_CALIBRATION_MEASURE_H

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "runtime/base/sync.h"

namespace commsched::calibration {

struct LinkCost {
  int64_t latency_ns = 0;
  int64_t overhead_ns = 0;  // of a further message while the link is busy with others
  int64_t bits_per_second = 0;
  int64_t round_trip_ns = 0;  // of a request and a small answer
  // That a further message takes on processors of the process that asks, whatever the link hides of it. Nothing: not known.
  std::optional<int64_t> processor_ns = {};
};

// Of an even number, the lower of the middle two. Not of none.
int64_t Median(std::vector<int64_t> values);

// Asks the other end of a link for messages. Used by one thread.
class Source {
 public:
  virtual ~Source() = default;
  // `count` messages of `bytes` each, asked for at once: when they were there, in
  // nanoseconds from then on, ascending.
  virtual absl::StatusOr<std::vector<int64_t>> Ask(size_t count, size_t bytes) = 0;
};

// Takes 1 to 10 s, on a link that is not very slow.
absl::StatusOr<LinkCost> MeasureLink(Source *source);

// The size of messages of which 50 a second fill the link: 64 KiB to 1 MiB.
size_t LargeMessage(int64_t bits_per_second);

// Completions of operations that callbacks report. Shared by those who wait and
// the callbacks, of which some may come late. Thread-safe.
class Completions {
 public:
  // Operation `number` is over.
  void Add(size_t number, absl::Status status);
  struct One {
    size_t number;
    runtime::Clock::time_point at;
  };
  // The next ones, at least one. The first error that there was;
  // kDeadlineExceeded if nothing comes within `deadline`.
  absl::StatusOr<std::vector<One>> Next(absl::Duration deadline);
  // Waits until `count` of them are over, those before this call included, unless
  // Next has returned them.
  absl::StatusOr<std::vector<One>> Take(size_t count, absl::Duration deadline);

 private:
  runtime::Mutex mu_;
  runtime::CondVar changed_;
  std::vector<One> over_ ABSL_GUARDED_BY(mu_);
  absl::Status status_ ABSL_GUARDED_BY(mu_);
};

// Nanoseconds that a loop of multiplications and additions over 8 MiB takes a
// number of times: medians without and with communication.
struct Slowdown {
  int64_t quiet_ns = 0;
  int64_t communicating_ns = 0;
  // How much longer, rounded to the nearest; not negative.
  int64_t percent() const;
};

// Runs the loop for a while, calls `ready`, then runs it as long as
// `communicate`, in another thread, does.
absl::StatusOr<Slowdown> MeasureSlowdown(
    const std::function<absl::Status()> &ready,
    const std::function<absl::Status()> &communicate);

}  // namespace commsched::calibration

#endif  // COMMSCHED_RUNTIME_CALIBRATION_MEASURE_H
