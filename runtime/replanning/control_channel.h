// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What ranks say to each other about a new plan, while they train: texts of any
// length, in order, from and to rank 0.
#ifndef COMMSCHED_RUNTIME_REPLANNING_CONTROL_CHANNEL_H
#define COMMSCHED_RUNTIME_REPLANNING_CONTROL_CHANNEL_H

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/base/sync.h"
#include "runtime/core/plan_change.h"
#include "runtime/replanning/transport_lanes.h"

namespace commsched::runtime {

struct ControlMessage : core::PlanMessage {
  // Of an answer that is refused: why. kMeasured: what the links do, `value` bytes of it, and
  // the profile. kPrepare: the plan. kForget: why.
  std::string payload = {};
};

// Send may be called by any thread; Receive by one.
class ControlChannel {
 public:
  // Longer payloads are refused.
  static constexpr uint64_t kMaxPayload = uint64_t{1} << 30;

  explicit ControlChannel(std::shared_ptr<TransportLanes> lanes)
      : lanes_(std::move(lanes)) {}

  // Does not wait, and tells nothing: a peer that is lost is noticed elsewhere.
  // What is long gives way to everything else on the link.
  void Send(int peer, ControlMessage message);
  struct Received {
    int peer = 0;
    ControlMessage message;
  };
  // The next message that comes from one of `peers`. kDeadlineExceeded if none does (it may
  // be asked for again), kCancelled after Stop, kDataLoss if it is damaged, or the error of
  // a link.
  absl::StatusOr<Received> Receive(absl::Span<const int> peers, Clock::time_point deadline);
  // Ends Receive, for good.
  void Stop();

 private:
  struct Box;  // what a receive writes into

  struct Shared {
    Mutex mu;
    CondVar changed;
    bool stopped ABSL_GUARDED_BY(mu) = false;
    std::deque<int> ended ABSL_GUARDED_BY(mu);  // whose box it is
  };
  struct Incoming {
    uint64_t number = 0;
    std::shared_ptr<Box> box;  // posted: of the header, then of the payload
    bool has_header = false;
    ControlMessage message;
  };
  void Post(int peer, Incoming *incoming, uint32_t part, size_t bytes);
  // What has come of `peer`; whether that is all of its message.
  absl::StatusOr<bool> Take(int peer, Incoming *incoming);

  const std::shared_ptr<TransportLanes> lanes_;
  const std::shared_ptr<Shared> shared_ = std::make_shared<Shared>();
  Mutex mu_;
  std::map<int, uint64_t> sent_ ABSL_GUARDED_BY(mu_);
  std::map<int, Incoming> incoming_;  // of the receiving thread
};

}  // namespace commsched::runtime

#endif  // COMMSCHED_RUNTIME_REPLANNING_CONTROL_CHANNEL_H
