// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The connection to one peer: core::Matcher, plan::PacketQueue and core::LinkEnd over
// a gRPC stream. The protocol is described in transport.proto.
//
// A Link is made before its peer is there; operations wait until Open.
//
// Ownership: the bytes of a send are referenced by slices that gRPC holds; the
// send completes when the last of them is gone. A Link must outlive its stream
// and all operations: wait for closed() and Callbacks::idle().
//
// Threading: all methods may be called from any thread.
#ifndef COMMSCHED_GRPC_RANKS_LINK_H
#define COMMSCHED_GRPC_RANKS_LINK_H

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "grpc/base/callbacks.h"
#include "grpc/base/stream.h"
#include "grpc/base/wire.h"
#include "plan/packet_queue.h"
#include "runtime/base/sync.h"
#include "runtime/core/link_end.h"
#include "runtime/core/matcher.h"
#include "runtime/core/packet_size.h"
#include "runtime/transport/transport.h"

namespace commsched::transport {

using runtime::MessageTag;

// A receive that has been posted: either into `buffer` or to `sink`.
struct Receive {
  size_t bytes = 0;
  absl::Span<std::byte> buffer;
  runtime::Transport::Sink sink;
  size_t unit = 1;
  runtime::Transport::Done done;

  // Takes the next bytes of the message.
  void Take(absl::Span<const std::byte> piece);

  bool busy = false;     // a thread takes bytes
  absl::Status failure;  // set while busy
 private:
  // The first part of a unit that was cut by the end of a piece.
  std::array<std::byte, 64> carry_;
  size_t carried_ = 0;
  size_t passed_ = 0;  // bytes written to the buffer or given to the sink
};

class Link final : public StreamHandler {
 public:
  struct Settings {
    int peer;
    std::string address;
    size_t chunk_bytes;       // largest packet, roughly; a multiple of 64
    size_t eager_bytes;       // own, as announced
    size_t unexpected_bytes;  // own, as announced
    // Called through `callbacks`, at most once.
    std::function<void(const absl::Status &)> on_failure;
  };

  Link(Settings settings, Callbacks *callbacks, Monitor *monitor);

  // "peer 2 (host:port)"
  const std::string &label() const { return label_; }
  const std::string &address() const { return settings_.address; }

  // The handshake is done: `theirs` came from the peer. Becomes the handler of
  // `stream`, on which nothing is under way, writes `reply` if it is not empty,
  // and begins to read. Returns false if the link has been opened before.
  bool Open(std::shared_ptr<Stream> stream, const Hello &theirs,
            grpc::ByteBuffer *reply);

  void Send(MessageTag tag, int32_t priority, absl::Span<const std::byte> bytes,
            runtime::Transport::Done done);
  // Transport::Hold.
  void Hold(const std::optional<plan::Urgency> &least);
  void Recv(MessageTag tag, std::unique_ptr<Receive> receive);

  // Gives up: the peer is told `why`; own operations fail with kCancelled.
  void Abort(const absl::Status &why);
  // Ends in good order: operations that are left fail with kCancelled.
  void SayGoodbye();
  // Drops the connection at once.
  void Drop();

  bool open() const;
  bool closed() const;      // was not opened, or its stream has ended
  bool sends_done() const;  // of the sends that were begun
  uint64_t bytes_sent() const { return bytes_sent_; }
  uint64_t bytes_received() const { return bytes_received_; }

  void OnRead(grpc::ByteBuffer packet) override;
  void OnWritten(bool ok) override;
  void OnClosed(absl::Status status) override;

 private:
  using Done = runtime::Transport::Done;
  using LinkEnd = runtime::core::LinkEnd;

  struct Outgoing {
    Link *link;
    MessageTag tag;
    int32_t priority;
    absl::Span<const std::byte> bytes;
    Done done;
    absl::Status failure = {};  // written before the link's hold is dropped
    // The link's own hold, and one per slice that refers to `bytes`.
    std::atomic<int> holds{1};
  };
  using Matcher = runtime::core::Matcher<Outgoing *, std::shared_ptr<Receive>,
                                         std::vector<std::byte>>;
  // Completions to be run without the lock.
  using Ended = std::vector<std::pair<Done, absl::Status>>;

  static void ReleaseSlice(void *outgoing);
  static void ReleaseCopied(void *outgoing);
  static void Complete(Outgoing *outgoing);
  static void Release(Outgoing *outgoing, std::vector<Outgoing *> &released);
  void Run(std::vector<Outgoing *> released, Ended ended);

  // Writes the next packet if there is anything to write and none under way.
  void Pump();
  grpc::ByteBuffer NextPacket() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Takes the packets that have been read, one thread at a time.
  void Drain();
  void TakePacket(const grpc::ByteBuffer &packet);
  void TakeData(const Data &data, PacketReader &reader);
  void TakeControl(const runtime::core::Control &control);
  void Go(const Matcher::Going &going) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Puts controls_ into the next packets.
  void QueueControls() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void TakeGoodbye();
  void EndReceive(Receive &receive, absl::Status status);
  // Does what follows from an event of the end.
  void End(absl::FunctionRef<LinkEnd::Outcome(LinkEnd &)> event);
  void FailPending(std::vector<Outgoing *> &released, Ended &ended)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // The peer broke the protocol.
  void FailProtocol(const absl::Status &what);
  absl::Status failure() const;
  void Report(Ended &ended) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // What an operation fails with that comes too late; OK if it does not.
  absl::Status TooLate(Ended &ended) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const Settings settings_;
  const std::string label_;
  Callbacks *const callbacks_;
  Monitor *const monitor_;
  std::atomic<uint64_t> bytes_sent_{0};
  std::atomic<uint64_t> bytes_received_{0};

  mutable runtime::Mutex mu_;
  std::shared_ptr<Stream> stream_ ABSL_GUARDED_BY(mu_);
  bool opened_ ABSL_GUARDED_BY(mu_) = false;
  bool copies_ ABSL_GUARDED_BY(mu_) = false;  // as the stream does
  bool writing_ ABSL_GUARDED_BY(mu_) = false;
  bool last_written_ ABSL_GUARDED_BY(mu_) = false;  // the last word is in a packet
  bool dropped_ ABSL_GUARDED_BY(mu_) = false;
  LinkEnd end_ ABSL_GUARDED_BY(mu_);

  Matcher matcher_ ABSL_GUARDED_BY(mu_);
  runtime::core::Controls controls_ ABSL_GUARDED_BY(mu_);
  std::deque<Header> control_ ABSL_GUARDED_BY(mu_);  // frames
  plan::PacketQueue<MessageTag, Outgoing *, size_t> packets_
      ABSL_GUARDED_BY(mu_);
  std::vector<Outgoing *> in_last_packet_ ABSL_GUARDED_BY(mu_);
  runtime::core::PacketSize packet_size_ ABSL_GUARDED_BY(mu_);
  size_t packet_bytes_ ABSL_GUARDED_BY(mu_) = 0;  // of the last one
  runtime::Clock::time_point packet_begin_ ABSL_GUARDED_BY(mu_);
  std::deque<grpc::ByteBuffer> inbox_ ABSL_GUARDED_BY(mu_);
  bool draining_ ABSL_GUARDED_BY(mu_) = false;
  bool read_waits_ ABSL_GUARDED_BY(mu_) = false;  // for room in the inbox
};

}  // namespace commsched::transport

#endif  // COMMSCHED_GRPC_RANKS_LINK_H
