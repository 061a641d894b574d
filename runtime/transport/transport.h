// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the executor asks of a network. One Transport object belongs to one
// rank; it is connected to its partners among the other ranks of the cluster and
// moves tagged messages between pairs of them.
//
// Matching. A message goes from rank s to rank r under a tag. It matches the
// receive that r posts for (s, tag); each pair (peer, tag) is used by at most
// one message and one receive over the life of the connection. Either side may
// come first. Messages of one pair of ranks need not arrive in the order sent:
// among those queued, the one with the smaller priority number should go
// first, and a long message is cut up so that an urgent one overtakes it.
//
// No blocking. Send and the receive calls never wait for the network or for
// the peer. A message whose receive is not posted yet never holds up another
// message: a transport may keep it (at most TransportOptions::unexpected_bytes
// per peer), and beyond that it must leave it with the sender until the receive
// is there (announce and grant).
//
// Completion. Every Send and receive has a `done` that is called exactly once,
// from any thread, possibly before the call returns, never while the transport
// holds a lock that a call into it would need. `done` of a Send means that the
// caller may reuse the bytes; it may come only after the peer has posted its
// receive, and does not mean that the peer has got them. `done` of a receive
// means that all bytes are there. Callbacks must be short and must not call
// Close.
//
// Failure. A peer that is lost, breaks the protocol, or aborts fails every
// pending and later operation with that peer, and is reported once through
// TransportOptions::on_peer_failure. The status names the peer ("peer 2
// (host:port): ..."). Codes: kUnavailable for a lost peer, kAborted when the
// peer called Abort (its message is passed on), kInvalidArgument or kDataLoss
// for a message of the wrong size, kCancelled after Close on this side,
// kFailedPrecondition when the peer has closed in good order and something is
// still wanted of it. A peer that closed in good order while nothing is pending
// is not a failure and is not reported.
// There is no deadline on a single message: the executor watches for progress.
//
// Threading: all methods may be called from any thread, concurrently.
#ifndef COMMSCHED_RUNTIME_TRANSPORT_TRANSPORT_H
#define COMMSCHED_RUNTIME_TRANSPORT_TRANSPORT_H

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "plan/urgency.h"
#include "runtime/core/message_tag.h"

namespace commsched::runtime {

// What two ranks must agree on, and what a connection needs.
struct TransportOptions {
  int rank = 0;
  int nodes = 1;
  // Exchanged at connection: a peer with another digest or another number of
  // nodes is refused, on both sides, with an error naming both values.
  uint64_t plan_digest = 0;
  // Which membership of the job this is: a job that is begun again, with other ranks perhaps,
  // has a larger one. Ranks of two memberships refuse each other; of a smaller one than its
  // own a rank takes no notice else, and waits for the right one.
  uint64_t epoch = 0;
  // The ranks that it exchanges messages with; all others, if that is not set. Of two
  // ranks both are partners of each other, or none. There is no connection with others,
  // and an operation with one of them fails with kInvalidArgument.
  std::optional<std::set<int>> partners = {};
  // For transports with addresses: "host:port" of every rank, own included
  // (own entry is the address to listen on).
  std::vector<std::string> peers = {};
  // All partners are connected within this time, or Connect fails with
  // kDeadlineExceeded naming the ranks that are missing.
  absl::Duration connect_deadline = absl::Seconds(30);
  // Bytes of messages without a receive that are kept per peer.
  size_t unexpected_bytes = size_t{64} << 20;
  // Called once per failed peer, from any thread, under the same rules as
  // `done`. Not called after Close has returned. May be empty.
  std::function<void(int peer, const absl::Status &why)> on_peer_failure = {};

  bool IsPartner(int peer) const {
    return peer != rank && (!partners || partners->count(peer) != 0);
  }
};
// Of an operation with a rank that is none.
inline absl::Status NoPartner(int peer) {
  return absl::InvalidArgumentError(
      absl::StrCat("peer ", peer, ": there is no connection with it"));
}

class Transport {
 public:
  using Done = absl::AnyInvocable<void(absl::Status)>;
  // Gets the bytes of a message from `offset` on. Called in order, without
  // overlap in time, until the whole message has been passed; offsets and
  // sizes are multiples of the receive's `unit`. The memory is only valid
  // during the call, and aligned to 1 byte only.
  using Sink =
      absl::AnyInvocable<void(size_t offset, absl::Span<const std::byte>)>;

  // Closes if that has not been done.
  virtual ~Transport() = default;

  virtual int rank() const = 0;
  virtual int nodes() const = 0;
  // For errors and traces: "in-process", "grpc", "mpi".
  virtual const char *name() const = 0;

  // Sends `bytes` to `peer` (0 <= peer < nodes, a partner) under `tag`.
  // `bytes` stays unchanged until `done`. Zero bytes are a message too.
  // `priority`: smaller is more urgent.
  virtual void Send(int peer, MessageTag tag, int32_t priority,
                    absl::Span<const std::byte> bytes, Done done) = 0;

  // Whether an urgent message overtakes others on their way to the same peer at
  // once, whatever was sent before it. Then the caller need not hold back any: a
  // bound on what is in flight makes ranks wait for each other, as a message
  // that is not granted yet counts.
  virtual bool overtakes() const { return false; }

  // Holds back what is less urgent than `least`, to all peers, until this is called again; none: nothing. What has been handed to
  // the system goes; of a message of which only a part has been, the rest waits. Of two messages of one priority the one of the
  // earlier step is more urgent. A transport without an order of its own need not: it is for speed alone, and whoever calls this
  // sees to it that it ends. Close ends it.
  virtual void Hold(const std::optional<plan::Urgency> & /*least*/) {}

  // Receives a message of exactly buffer.size() bytes into `buffer`, which
  // the transport may write until `done`, in any order.
  virtual void Recv(int peer, MessageTag tag, absl::Span<std::byte> buffer,
                    Done done) = 0;

  // Receives a message of exactly `bytes` bytes and passes it to `sink`
  // without storing it first where the transport can: so that a reduction
  // needs no copy. `unit` (a power of two, at most 64) divides `bytes`.
  // The last call of `sink` has returned before `done` is called.
  virtual void RecvStream(int peer, MessageTag tag, size_t bytes, size_t unit,
                          Sink sink, Done done) = 0;

  // Tells all partners that this rank gives up, and why (one line, at most 4 KiB
  // is passed on); does not wait. What a partner has told in this way is passed on as it
  // is, so that ranks hear it that have no connection with who said it first. Own pending operations fail with kCancelled.
  // Only Close may follow.
  virtual void Abort(const absl::Status &why) = 0;

  // Waits for the sends that have begun (at most `flush`), says goodbye to the
  // peers and drops the connections. Pending receives fail with kCancelled.
  // After it has returned no callback runs and no caller's memory is touched.
  // Calling it again does nothing.
  virtual void Close(absl::Duration flush = absl::Seconds(5)) = 0;

  // Of a transport that moves on only while it is called (MPI): true. A thread
  // that waits for messages then calls Poll instead of sleeping, which does what
  // can be done now, callbacks included, and returns whether there was anything.
  // While nobody calls it, a thread of the transport does.
  virtual bool polls() const { return false; }
  virtual bool Poll() { return false; }
  // Of such a transport: up to this many bytes, it may be asked for a message that no receive
  // was posted for.
  virtual size_t takes_now() const { return 0; }
  // Whether the message is here: then it has been passed to `sink`, all of it at once, as a
  // receive would have, which is not posted any more. `sink` must not call the transport.
  virtual bool TakeNow(int /*peer*/, MessageTag, size_t /*bytes*/,
                       absl::FunctionRef<void(absl::Span<const std::byte>)> /*sink*/) {
    return false;
  }

  // Sum of message bytes that have completed, for reports.
  virtual uint64_t bytes_sent() const = 0;
  virtual uint64_t bytes_received() const = 0;
};

}  // namespace commsched::runtime

#endif  // COMMSCHED_RUNTIME_TRANSPORT_TRANSPORT_H
