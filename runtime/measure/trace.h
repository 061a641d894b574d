// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Records what ran when, and writes it in the Chrome trace format, which
// Perfetto (ui.perfetto.dev) and chrome://tracing show: a process per rank, a
// track for each compute stream and copy engine of its devices and one for each
// direction of each link.
#ifndef COMMSCHED_RUNTIME_MEASURE_TRACE_H
#define COMMSCHED_RUNTIME_MEASURE_TRACE_H

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "runtime/base/sync.h"

namespace commsched::runtime {

struct TraceSpan {
  enum Track {
    kCompute,
    kCopyToHost,
    kCopyToDevice,
    kSend,
    kReceive,
    kNccl,
    // Streams of CUDA devices (runtime/program/plan_order.h).
    kDeferred,
    kDeferredFirst,
    kCopyToHostAgain,
    kCopyToDeviceFirst,
    kBatches,
    kMetrics
  };
  int rank = 0;
  Track track = kCompute;
  int peer = 0;          // of a link; else the device
  std::string name;      // label or key
  const char *category;  // "compute", "copy", "exposed wait", "message", "collective"; static
  uint64_t step = 0;
  uint64_t bytes = 0;
  Clock::time_point begin, end;
};

// Thread-safe.
class TraceRecorder {
 public:
  // Times in the trace count from `origin`.
  explicit TraceRecorder(Clock::time_point origin = Clock::now())
      : origin_(origin) {}
  // Begins or stops recording; on at first.
  void Enable(bool on) { enabled_ = on; }
  bool enabled() const { return enabled_; }
  void Add(TraceSpan span);
  // Writes what has been recorded so far: to a temporary file beside `path`,
  // then renamed.
  absl::Status Write(const std::string &path) const;
  // The text that Write writes.
  std::string ToJson() const;
  bool empty() const {
    MutexLock lock(&mu_);
    return spans_.empty();
  }
  // What has been recorded so far, in the order in which it ended.
  std::vector<TraceSpan> spans() const {
    MutexLock lock(&mu_);
    return spans_;
  }

 private:
  // Later spans are dropped, and the trace says how many.
  static constexpr size_t kMaxSpans = size_t{2} << 20;

  const Clock::time_point origin_;
  std::atomic<bool> enabled_{true};
  mutable Mutex mu_;
  std::vector<TraceSpan> spans_ ABSL_GUARDED_BY(mu_);
  uint64_t dropped_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace commsched::runtime

#endif  // COMMSCHED_RUNTIME_MEASURE_TRACE_H
