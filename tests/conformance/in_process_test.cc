// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/transport/in_process_transport.h"
#include "tests/conformance/conformance.h"

namespace commsched::conformance {
namespace {

Kind InProcess() {
  return {"in_process", [](int nodes) -> Kind::Connect {
            return [hub = runtime::MakeInProcessHub(nodes)](
                       TransportOptions options) {
              return runtime::ConnectInProcess(hub, std::move(options));
            };
          },
          /*one_size=*/true};
}

INSTANTIATE_TEST_SUITE_P(Transports, ConformanceTest,
                         ::testing::Values(InProcess()),
                         ::testing::PrintToStringParamName());

}  // namespace
}  // namespace commsched::conformance
