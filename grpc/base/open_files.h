// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whether connections fit into what a process may have open (RLIMIT_NOFILE). gRPC does not ask: without
// files it aborts the process, or listens and accepts nobody.
#ifndef COMMSCHED_GRPC_BASE_OPEN_FILES_H
#define COMMSCHED_GRPC_BASE_OPEN_FILES_H

#include <cstddef>

#include "absl/status/status.h"

namespace commsched::transport {

// kResourceExhausted if there are too few for so many connections, and for what a rank opens besides.
// Before gRPC is begun. `shared_memory`, which takes more and is never needed, becomes false if
// there are too few for that only.
absl::Status CheckOpenFiles(size_t connections, bool *shared_memory);

}  // namespace commsched::transport

#endif  // COMMSCHED_GRPC_BASE_OPEN_FILES_H
