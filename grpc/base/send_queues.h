// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The TCP connections of this process, how much each may have on its way (send_queue.h).
#ifndef COMMSCHED_GRPC_BASE_SEND_QUEUES_H
#define COMMSCHED_GRPC_BASE_SEND_QUEUES_H

namespace commsched::transport {

// From now until it is closed, whoever closes it, the socket has on its way what keeps its link busy, and
// not much more. Nothing if COMMSCHED_SEND_QUEUE=0 is in the environment. Any thread.
void BoundSendQueue(int fd);

// To be called every SendQueue::kPeriod, by one thread.
void LookAtSendQueues();

}  // namespace commsched::transport

#endif  // COMMSCHED_GRPC_BASE_SEND_QUEUES_H
