// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Addresses of ranks: "host:port", "[ipv6]:port" or "unix:path".
#ifndef COMMSCHED_GRPC_ADDRESS_H
#define COMMSCHED_GRPC_ADDRESS_H

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace commsched::transport {

// What to listen on for a rank with this address of its own: the address
// itself, which must then lead to this machine only (loopback or a socket
// file), or with `any` the port of it on all interfaces. Looks names up.
absl::StatusOr<std::string> ListenAddress(absl::string_view address, bool any);

// Whether `address` leads to this machine only: a loopback address or a socket
// file. Looks names up.
absl::StatusOr<bool> IsLocal(absl::string_view address);

// Checks the form.
absl::Status CheckAddress(absl::string_view address);

}  // namespace commsched::transport

#endif  // COMMSCHED_GRPC_ADDRESS_H
