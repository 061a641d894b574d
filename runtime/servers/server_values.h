// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Initial values of a parameter server.
#ifndef COMMSCHED_RUNTIME_SERVERS_SERVER_VALUES_H
#define COMMSCHED_RUNTIME_SERVERS_SERVER_VALUES_H

#include "absl/status/status.h"
#include "runtime/data/tensor_file.h"
#include "runtime/loading/plan_loader.h"
#include "runtime/servers/parameter_server.h"

namespace commsched::runtime {

// Gives `server` what @init of the plan makes, if it has one, which needs memory
// for a while, and over that what `file` has (may be null; names are those of
// wholes; unknown ones are an error). What neither has is an error if the server
// holds it. Before the first Join.
absl::Status InitialiseServer(const PlanImage &image, const TensorFile *file,
                              int index, ParameterServer *server);

}  // namespace commsched::runtime

#endif  // COMMSCHED_RUNTIME_SERVERS_SERVER_VALUES_H
