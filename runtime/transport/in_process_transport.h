// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The transport between ranks that are threads of one process. A message is
// copied once, from the sender's bytes to the receiver's buffer (or passed to
// its sink) by the thread that completes the pair; nothing is ever stored.
#ifndef COMMSCHED_RUNTIME_TRANSPORT_IN_PROCESS_TRANSPORT_H
#define COMMSCHED_RUNTIME_TRANSPORT_IN_PROCESS_TRANSPORT_H

#include <memory>

#include "runtime/transport/transport.h"

namespace commsched::runtime {

class InProcessHub;  // runtime/transport/in_process_hub.h

// The meeting point of `nodes` ranks.
std::shared_ptr<InProcessHub> MakeInProcessHub(int nodes);

// Joins `hub` as options.rank and waits for the other ranks, at most
// options.connect_deadline: every rank connects from a thread of its own.
absl::StatusOr<std::unique_ptr<Transport>> ConnectInProcess(
    std::shared_ptr<InProcessHub> hub, TransportOptions options);

}  // namespace commsched::runtime

#endif  // COMMSCHED_RUNTIME_TRANSPORT_IN_PROCESS_TRANSPORT_H
