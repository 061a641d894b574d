// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// gRPC in this process.
#ifndef COMMSCHED_GRPC_BASE_PROCESS_H
#define COMMSCHED_GRPC_BASE_PROCESS_H

namespace commsched::transport {

// Before anything else of gRPC. Silences its own log, unless GRPC_VERBOSITY is
// set in the environment.
void InitialiseGrpc();

}  // namespace commsched::transport

#endif  // COMMSCHED_GRPC_BASE_PROCESS_H
