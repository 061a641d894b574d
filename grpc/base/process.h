// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// gRPC in this process.
#ifndef COMMSCHED_GRPC_BASE_PROCESS_H
#define COMMSCHED_GRPC_BASE_PROCESS_H

namespace commsched::transport {

// Before anything else of gRPC. Silences its own log, unless GRPC_VERBOSITY is
// set in the environment. Abseil no longer looks for deadlocks among the locks of
// the process, as where it is built without assertions.
void InitialiseGrpc();

// Whether the time of day was set back since then. A channel that waits until it may connect again may
// wait for as long: who needs one makes another.
bool TimeWasSetBack();

}  // namespace commsched::transport

#endif  // COMMSCHED_GRPC_BASE_PROCESS_H
