// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Addresses of ranks: "host:port", "[ipv6]:port" or "unix:path".
#ifndef COMMSCHED_GRPC_BASE_ADDRESS_H
#define COMMSCHED_GRPC_BASE_ADDRESS_H

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace commsched::transport {

// The port of this address on all interfaces; a socket file as it is.
absl::StatusOr<std::string> AnyAddress(absl::string_view address);

// Whether `address` leads to this machine only: a loopback address or a socket
// file. Looks names up.
absl::StatusOr<bool> IsLocal(absl::string_view address);

// Checks the form.
absl::Status CheckAddress(absl::string_view address);

// Whether a process listens on this socket file. gRPC replaces the file of one that has gone, but also
// that of one that is there.
bool IsListenedOn(absl::string_view address);

// kUnavailable: `who` ("rank 1") cannot listen on `address`, and why, as far as trying it once more tells:
// gRPC does not say.
absl::Status CannotListen(absl::string_view who, absl::string_view address);

}  // namespace commsched::transport

#endif  // COMMSCHED_GRPC_BASE_ADDRESS_H
