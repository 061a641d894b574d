// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How much has been enqueued on a device's streams and has not ended. A driver has room for about a
// thousand commands (launches, copies, waits, records) of a process; a call that finds no room waits
// for it. A stream may wait for the host, so a thread that sees to host ops must never wait so: it
// enqueues while there is room here, and sees to host ops in between.
//
// Owned by one thread at a time, which has the device's context current.
#ifndef COMMSCHED_RUNTIME_CUDA_ISSUE_WINDOW_H
#define COMMSCHED_RUNTIME_CUDA_ISSUE_WINDOW_H

#include <cstdint>
#include <deque>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/cuda/driver_api.h"

namespace commsched::runtime::cuda {

// Of commands, under way at most: a quarter of what drivers have room for.
inline constexpr uint32_t kMostCommands = 256;
// Those of which the end is looked for together.
inline constexpr uint32_t kCommandsTogether = 64;

class IssueWindow {
 public:
  explicit IssueWindow(const DriverApi &driver) : driver_(driver) {}
  IssueWindow(const IssueWindow &) = delete;
  ~IssueWindow();

  // Looks at what has ended. Errors are those of the driver.
  absl::Status Look();
  uint32_t under_way() const { return under_way_; }
  // So many commands have been enqueued on these streams since the last call.
  absl::Status Enqueued(uint32_t commands, absl::Span<const Stream> streams);

 private:
  struct Portion {
    uint32_t commands = 0;
    std::vector<Event> ends;  // one of each stream
  };

  const DriverApi &driver_;
  uint32_t under_way_ = 0;
  std::deque<Portion> portions_;
  std::vector<Event> free_;
};

}  // namespace commsched::runtime::cuda

#endif  // COMMSCHED_RUNTIME_CUDA_ISSUE_WINDOW_H
