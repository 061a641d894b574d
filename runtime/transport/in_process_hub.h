// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where the ranks of one process meet. Used by the in-process transport only.
#ifndef COMMSCHED_RUNTIME_TRANSPORT_IN_PROCESS_HUB_H
#define COMMSCHED_RUNTIME_TRANSPORT_IN_PROCESS_HUB_H

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "runtime/base/sync.h"
#include "runtime/core/link_end.h"
#include "runtime/transport/transport.h"

namespace commsched::runtime {

// The meeting point of the ranks of one process: matches messages with
// receives, hands the bytes over, and knows how each rank ended. The contract
// is that of runtime/transport/transport.h, one method for each of the transport's, with
// the calling rank as `self`.
//
// Ownership: shared by the transports of its ranks. It keeps what is pending,
// never the bytes of a message. Threading: all methods may be called from any
// thread, concurrently; callbacks run on the thread that brought about what
// they report, without the lock.
class InProcessHub {
 public:
  // A receive that has been posted, with a buffer or with a sink.
  struct PendingRecv {
    std::byte *buffer = nullptr;  // null: use sink
    size_t bytes = 0;
    Transport::Sink sink;
    Transport::Done done;
  };

  explicit InProcessHub(int nodes);

  // Waits for the other ranks, at most options.connect_deadline.
  absl::Status Join(const TransportOptions &options);
  void Send(int self, int peer, MessageTag tag,
            absl::Span<const std::byte> bytes, Transport::Done done);
  void Recv(int self, int peer, MessageTag tag, PendingRecv recv);
  void Abort(int self, const absl::Status &why);
  void Close(int self, absl::Duration flush);

  int nodes() const { return nodes_; }
  uint64_t bytes_sent(int rank) const { return endpoints_[rank].bytes_sent; }
  uint64_t bytes_received(int rank) const {
    return endpoints_[rank].bytes_received;
  }

 private:
  struct PendingSend {
    absl::Span<const std::byte> bytes;
    Transport::Done done;
  };

  // From one rank to another.
  struct Channel {
    std::map<MessageTag, PendingSend> sends;
    std::map<MessageTag, PendingRecv> recvs;
  };

  struct Endpoint {
    enum State {
      kAbsent,
      kOpen,
      kClosed
    };
    State state = kAbsent;
    TransportOptions options;
    std::vector<core::LinkEnd> ends;  // by peer
    int active = 0;                   // callbacks running or about to run for it
    int sends_pending = 0;            // begun and not completed
    std::atomic<uint64_t> bytes_sent{0}, bytes_received{0};
  };

  // Work to do without the lock. Each entry holds one `active` of `owner`.
  struct Action {
    int owner;
    absl::AnyInvocable<void()> run;
  };
  using Actions = std::vector<Action>;

  Channel &channel(int from, int to) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return channels_[size_t(from) * nodes_ + to];
  }
  void Later(int owner, absl::AnyInvocable<void()> run, Actions *actions)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    ++endpoints_[owner].active;
    actions->push_back({owner, std::move(run)});
  }
  core::LinkEnd &end(int self, int peer) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return endpoints_[size_t(self)].ends[size_t(peer)];
  }
  // What an operation of `self` with `peer` fails with that comes too late; OK if it
  // does not.
  absl::Status TooLate(int self, int peer, Actions *actions)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Does what follows from an event of an end, at the other end too.
  void End(int self, int peer, const core::LinkEnd::Outcome &outcome,
           Actions *actions) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Fails what is pending between `self` and `peer` on the side of `self`.
  void FailPending(int self, int peer, Actions *actions)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Report(int self, int peer, Actions *actions) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Perform(Actions actions) ABSL_LOCKS_EXCLUDED(mu_);
  void Transfer(int from, int to, PendingSend send, PendingRecv recv)
      ABSL_LOCKS_EXCLUDED(mu_);
  void CopyAndFinish(int from, int to, PendingSend &send, PendingRecv &recv)
      ABSL_LOCKS_EXCLUDED(mu_);

  const int nodes_;
  Mutex mu_;
  CondVar changed_;
  std::vector<Channel> channels_ ABSL_GUARDED_BY(mu_);
  std::vector<Endpoint> endpoints_;  // guarded by mu_ except the counters
  int joined_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace commsched::runtime

#endif  // COMMSCHED_RUNTIME_TRANSPORT_IN_PROCESS_HUB_H
