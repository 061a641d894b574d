// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One transport for several plans, one after the other: each generation of the
// plan has a lane of its own, so that no message of one can be taken for one of
// another, and control messages have another. docs/replanning.md says how they
// are used.
#ifndef COMMSCHED_RUNTIME_REPLANNING_TRANSPORT_LANES_H
#define COMMSCHED_RUNTIME_REPLANNING_TRANSPORT_LANES_H

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "runtime/base/sync.h"
#include "runtime/transport/peer_failure_relay.h"
#include "runtime/transport/transport.h"

namespace commsched::runtime {

// The lane is in the upper bits of MessageTag::key; lane 0 leaves tags as they
// are. Thread-safe. Shared by its lanes; the transport is closed with the last.
class TransportLanes : public std::enable_shared_from_this<TransportLanes> {
 public:
  static constexpr int kKeyBits = 20;
  static constexpr uint32_t kMaxKeys = uint32_t{1} << kKeyBits;
  static constexpr uint32_t kControl = (uint32_t{1} << (32 - kKeyBits)) - 1;

  // A lane is made idle: what goes wrong in it stays in it. That of the plan
  // which runs is live: Abort and Close of it are those of the transport. One
  // that is over is idle again, and has nothing under way.
  class Lane : public Transport {
   public:
    virtual void SetLive(bool live) = 0;
  };

  ~TransportLanes();

  // What goes into TransportOptions::on_peer_failure; outlives the transport. A
  // peer that closed in good order is not passed on: control messages are
  // always awaited of it, and what else is awaited fails by itself.
  std::function<void(int, const absl::Status &)> FailureHandler();
  // Once, before Open.
  void Attach(std::unique_ptr<Transport> transport);
  // Ends the transport, with all lanes.
  void Abort(const absl::Status &why) { transport_->Abort(why); }
  // `generation` is below kControl and used once. `failures` gets what is
  // reported from now on, and what was before.
  std::unique_ptr<Lane> Open(uint32_t generation,
                             std::shared_ptr<PeerFailureRelay> failures);

  // Message number `number` of `part` under way from one rank to another.
  void SendControl(int peer, uint64_t number, uint32_t part, int32_t priority,
                   absl::Span<const std::byte> bytes, Transport::Done done);
  void RecvControl(int peer, uint64_t number, uint32_t part,
                   absl::Span<std::byte> buffer, Transport::Done done);

 private:
  class LaneImpl;
  void Report(int peer, const absl::Status &why);

  Mutex mu_;
  std::vector<std::weak_ptr<PeerFailureRelay>> relays_ ABSL_GUARDED_BY(mu_);
  std::vector<std::pair<int, absl::Status>> failed_ ABSL_GUARDED_BY(mu_);
  std::unique_ptr<Transport> transport_;
};

}  // namespace commsched::runtime

#endif  // COMMSCHED_RUNTIME_REPLANNING_TRANSPORT_LANES_H
