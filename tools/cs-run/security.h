// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the options say about who may join: the token of the job, TLS, and
// --insecure for neither. docs/security.md.
#ifndef COMMSCHED_TOOLS_CS_RUN_SECURITY_H
#define COMMSCHED_TOOLS_CS_RUN_SECURITY_H

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "grpc/base/security.h"
#include "grpc/ranks/grpc_transport.h"
#include "tools/cs-run/options.h"

namespace commsched::run {

// Of the options alone: what does not go together.
absl::Status CheckSecurity(const Options &options);
// That a process which is told where it runs shares a secret, or is told to do without. After all other checks of
// options: nobody is asked for one that is then refused.
absl::Status CheckSecret(const Options &options);
// Once it is known how this process is connected (ApplyLaunch): nothing of it is
// given where nothing uses it.
absl::Status CheckSecurityUsed(const Options &options);

// The token, if there is one: that which --spawn has passed, or of the file.
absl::StatusOr<transport::SecurityOptions> Security(const Options &options);
// Time after which a peer that answers nothing is given up.
absl::Duration Keepalive(const Options &options);
// Of gRPC's connections between ranks.
absl::StatusOr<transport::GrpcOptions> GrpcOptionsOf(const Options &options);
// Where refused connections are reported: stderr.
std::function<void(const std::string &)> RefusalLog(const Options &options);

// An unnamed file of memory with a token, for children; -1 if there can be none.
int MakeTokenFile(const std::string &token);
// What is in it; closes it.
absl::StatusOr<std::string> TakeTokenFile(int fd);

}  // namespace commsched::run

#endif  // COMMSCHED_TOOLS_CS_RUN_SECURITY_H
