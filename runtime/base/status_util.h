// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COMMSCHED_RUNTIME_BASE_STATUS_UTIL_H
#define COMMSCHED_RUNTIME_BASE_STATUS_UTIL_H

#include "absl/status/status.h"

namespace commsched::runtime {

// A copy that shares nothing with `status`, to hand to another thread: the
// thread sanitizer cannot see the counting inside the distribution's Abseil.
inline absl::Status Unshared(const absl::Status &status) {
  return status.ok() ? absl::OkStatus()
                     : absl::Status(status.code(), status.message());
}

}  // namespace commsched::runtime

#endif  // COMMSCHED_RUNTIME_BASE_STATUS_UTIL_H
