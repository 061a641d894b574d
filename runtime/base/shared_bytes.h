// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COMMSCHED_RUNTIME_BASE_SHARED_BYTES_H
#define COMMSCHED_RUNTIME_BASE_SHARED_BYTES_H

#include <cstddef>
#include <memory>

#include "absl/types/span.h"

namespace commsched::runtime {

// Bytes that stay unchanged as long as `owner` lives.
struct SharedBytes {
  absl::Span<const std::byte> bytes;
  std::shared_ptr<const void> owner;
};

}  // namespace commsched::runtime

#endif  // COMMSCHED_RUNTIME_BASE_SHARED_BYTES_H
