// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One side of a call with streams both ways as a sequence of packets, the same for the side
// that dials and the side that accepts.
//
// A stream has at most one Read and one Write under way. Its handler is told
// of their ends, by a completion-queue thread, and at the very end, after all
// else, of the end of the stream. A stream keeps itself alive until then. Its
// end is only seen by reading: a handler that stops to read never hears of it,
// unless it cancels.
//
// Threading: Read, Write, End and Cancel may be called from any thread.
#ifndef COMMSCHED_GRPC_BASE_STREAM_H
#define COMMSCHED_GRPC_BASE_STREAM_H

#include <grpcpp/channel.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/async_stream.h>
#include <grpcpp/support/byte_buffer.h>

#include <cstddef>
#include <functional>
#include <limits>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "grpc/base/transport.grpc.pb.h"

namespace commsched::transport {

// The server's side as raw bytes.
using RawService =
    Transport::WithRawMethod_Connect<Transport::Service>;

// What comes out of the completion queue.
class Event {
 public:
  virtual ~Event() = default;
  virtual void Happened(bool ok) = 0;
};

class Stream;

class StreamHandler {
 public:
  virtual ~StreamHandler() = default;
  // Dialling side only: Read and Write of `stream` may begin, which may be another one
  // than Dial has returned.
  virtual void OnOpen(std::shared_ptr<Stream> stream) { (void)stream; }
  virtual void OnRead(grpc::ByteBuffer packet) = 0;
  // Not ok: the stream is broken; Read goes on until it is closed.
  virtual void OnWritten(bool ok) = 0;
  // The status that the accepting side ended the call with, or why the call
  // broke; on the accepting side always OK: whether the end was in good order,
  // the packets must say.
  virtual void OnClosed(absl::Status status) = 0;
};

class Stream {
 public:
  virtual ~Stream() = default;

  // Only before the first Read, or in OnRead with no Write under way.
  virtual void set_handler(StreamHandler *handler) = 0;
  // Does nothing if the stream has ended.
  virtual void Read() = 0;
  // False if the stream has ended: nothing was done, OnWritten is not called. Else it may be
  // called before this returns, where copies().
  virtual bool Write(grpc::ByteBuffer &&packet) = 0;
  // No Write follows; further calls do nothing. The accepting side ends the
  // call with `status`; on the dialling side it is ignored, and the other side
  // ends the call.
  virtual void End(absl::Status status = absl::OkStatus()) = 0;
  // Drops the stream; the other side sees a lost peer.
  virtual void Cancel() = 0;
  // Address of the other side, as gRPC sees it.
  virtual std::string peer() = 0;
  // Whether packets are copied: then they are let go of before OnWritten, by its thread, which
  // holds no lock.
  virtual bool copies() const { return false; }
  // Longer packets are better not made.
  virtual size_t packet_bytes() const { return std::numeric_limits<size_t>::max(); }
};

inline constexpr char kConnectMethod[] =
    "/commsched.transport.Transport/Connect";

// Begins a call of `method` over `channel`. It waits until the channel is
// connected, or, if not `patient`, fails with why that does not succeed.
std::shared_ptr<Stream> Dial(std::shared_ptr<grpc::Channel> channel,
                             grpc::CompletionQueue *queue,
                             StreamHandler *handler,
                             const char *method,
                             bool patient);

// Asks a service for its next call: its Request method.
using RequestCall = std::function<void(
    grpc::ServerContext *context,
    grpc::ServerAsyncReaderWriter<grpc::ByteBuffer, grpc::ByteBuffer> *call,
    void *tag)>;

// Waits for one call and passes it to `accepted`; nullptr when the server shuts
// down.
void Accept(const RequestCall &request,
            std::function<void(std::shared_ptr<Stream>)> accepted);
void Accept(RawService *service, grpc::ServerCompletionQueue *queue,
            std::function<void(std::shared_ptr<Stream>)> accepted);

}  // namespace commsched::transport

#endif  // COMMSCHED_GRPC_BASE_STREAM_H
