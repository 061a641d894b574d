// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "grpc/base/process.h"

#include <grpc/grpc.h>
#include <grpc/support/log.h>

#include <cstdlib>

namespace commsched::transport {

void InitialiseGrpc() {
  static const bool done = [] {
    if (std::getenv("GRPC_VERBOSITY") == nullptr)
      gpr_set_log_function([](gpr_log_func_args *) {});
    // Never undone: gRPC's own shutdown waits up to 10 s for connections that
    // it has not taken apart yet, with nobody left to poll them.
    grpc_init();
    return true;
  }();
  (void)done;
}

}  // namespace commsched::transport
