// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The trainer's side of half-asynchronous training.
#ifndef COMMSCHED_RUNTIME_EXECUTE_MERGING_CLIENT_H
#define COMMSCHED_RUNTIME_EXECUTE_MERGING_CLIENT_H

#include <memory>

#include "runtime/program/server_program.h"
#include "runtime/transport/parameter_client.h"

namespace commsched::runtime {

// A client that takes a gradient of every step, sends the mean of
// `servers.merge` of them when as many steps of the job are complete, and gets
// values then; in between, a Pull gives the value of the last time. Finish sends
// what is left. Where there is nothing to merge, this is `client` itself.
std::unique_ptr<ParameterClient> MergeGradients(
    std::unique_ptr<ParameterClient> client, const ServersProgram &servers);

}  // namespace commsched::runtime

#endif  // COMMSCHED_RUNTIME_EXECUTE_MERGING_CLIENT_H
