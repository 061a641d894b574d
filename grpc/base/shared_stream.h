// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A stream whose packets go through memory that both processes share. The gRPC stream
// below it carries nothing any more, but stays: it ends when either side ends it or is
// gone, and what its packets would have told comes before that. A packet is copied into
// the memory once, and read there; a long one is copied out again.
#ifndef COMMSCHED_GRPC_BASE_SHARED_STREAM_H
#define COMMSCHED_GRPC_BASE_SHARED_STREAM_H

#include <memory>

#include "grpc/base/shared_loop.h"
#include "grpc/base/shared_wire.h"
#include "grpc/base/stream.h"

namespace commsched::transport {

// Whether, and through what, streams of a process share memory with others of the host.
// Outlives the streams.
struct Sharing {
  bool enabled = true;
  size_t payload = size_t{1} << 20;  // bytes of a lane; a power of two
  SharedLoop loop = {};
};

// `below`: a stream on which nothing is under way and nothing has been read that was not
// passed on. The other side does the same with its end of `wire`.
std::shared_ptr<Stream> ShareStream(std::shared_ptr<Stream> below,
                                    std::shared_ptr<SharedWire> wire, SharedLoop *loop);

}  // namespace commsched::transport

#endif  // COMMSCHED_GRPC_BASE_SHARED_STREAM_H
