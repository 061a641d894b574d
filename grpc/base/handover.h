// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tells the thread sanitizer what it cannot see: that what happened before a
// call into gRPC, which is not instrumented, happened before the completion
// queue gave its event out. Nothing in other builds.
#ifndef COMMSCHED_GRPC_BASE_HANDOVER_H
#define COMMSCHED_GRPC_BASE_HANDOVER_H

#ifdef COMMSCHED_THREAD_SANITIZER
#include <sanitizer/tsan_interface.h>

namespace commsched::transport {
inline char handover_token;
// Around every call that gives something to gRPC.
inline void HandOver() { __tsan_release(&handover_token); }
// After an event has come out of the queue.
inline void TakeOver() { __tsan_acquire(&handover_token); }
}  // namespace commsched::transport

#else

namespace commsched::transport {
inline void HandOver() {}
inline void TakeOver() {}
}  // namespace commsched::transport

#endif

#endif  // COMMSCHED_GRPC_BASE_HANDOVER_H
