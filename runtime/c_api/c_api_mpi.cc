// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <optional>
#include <utility>

#include "runtime/c_api/c_api_session.h"
#ifdef COMMSCHED_HAVE_MPI
#include "mpi/mpi_transport.h"
#include "mpi/world.h"
#endif

namespace commsched {

std::optional<launch::MpiDoor> MpiOfPlugin() {
#ifdef COMMSCHED_HAVE_MPI
  return launch::MpiDoor{
      .begin = []() -> absl::StatusOr<std::pair<int, int>> {
        auto world = transport::BeginMpi();
        if (!world.ok()) return world.status();
        return std::pair(world->rank, world->size);
      },
      .connect = [](runtime::TransportOptions options) { return transport::ConnectMpi(std::move(options)); },
      .end = transport::EndMpi};
#else
  return std::nullopt;
#endif
}

}  // namespace commsched
