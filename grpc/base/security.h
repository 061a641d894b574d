// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What protects a connection between ranks, or between a trainer and a parameter
// server: TLS in which both sides show a certificate, and the token of the job.
// docs/security.md says what that is good for.
#ifndef COMMSCHED_GRPC_BASE_SECURITY_H
#define COMMSCHED_GRPC_BASE_SECURITY_H

#include <grpcpp/security/credentials.h>
#include <grpcpp/security/server_credentials.h>

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace commsched::transport {

struct SecurityOptions {
  // PEM files: the authority that both sides trust (not the system's), the own
  // certificate, with those that lead to the authority, and its key. All three,
  // or none for a connection without TLS.
  std::string ca_file = {};
  std::string certificate_file = {};
  std::string key_file = {};
  // The same for all processes of a job; never sent (admission.h). Empty: none.
  std::string token = {};
  // Who dials: the name that the other's certificate must have, if not the host
  // of its address.
  std::string server_name = {};

  bool tls() const { return !certificate_file.empty(); }
};

// The first line of a file, for tokens. An error if it has fewer than
// kLeastTokenBytes characters, or all users may read the file.
absl::StatusOr<std::string> ReadTokenFile(const std::string &path);
inline constexpr size_t kLeastTokenBytes = 16;

// kInvalidArgument naming the file if one is missing or unfit.
absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>> ServerCredentials(
    const SecurityOptions &options);
absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> ChannelCredentials(
    const SecurityOptions &options);

// What `whose` ("a rank", "a parameter server") with these options listens on for
// `address`, or with `any` for its port; without TLS and a token, the address must
// lead to this machine only (loopback, a socket file). Looks names up.
absl::StatusOr<std::string> ServerAddress(const std::string &address,
                                          absl::string_view whose,
                                          const SecurityOptions &options,
                                          bool any = false);
// The same of who dials it. A name that cannot be looked up yet is none of this machine.
absl::Status CheckDialled(const std::string &address, absl::string_view whose,
                          const SecurityOptions &options);

}  // namespace commsched::transport

#endif  // COMMSCHED_GRPC_BASE_SECURITY_H
