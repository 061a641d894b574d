// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What ranks say to each other about a new plan, while they train: texts of any
// length, in order, from and to rank 0.
#ifndef COMMSCHED_RUNTIME_REPLANNING_CONTROL_CHANNEL_H
#define COMMSCHED_RUNTIME_REPLANNING_CONTROL_CHANNEL_H

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "runtime/base/sync.h"
#include "runtime/replanning/transport_lanes.h"

namespace commsched::runtime {

struct ControlMessage {
  enum Kind : uint32_t {
    kMeasure = 1,  // from rank 0: send what you have measured
    kMeasured,     // to rank 0: profile; or, with value 1, why not
    kLinks,        // to rank 0, after it: what the links do
    kPrepare,      // from rank 0: a plan; value: its digest
    kPrepared,     // to rank 0: value: the digest; payload: why not, or empty
    kHold,         // from rank 0: how far will you go without hearing more?
    kHolding,      // to rank 0: value: the first call that will wait
    kSwitch,       // from rank 0: value: the first call of the new plan
    kForget,       // from rank 0: go on with the old plan; payload: why
  };
  uint32_t kind = 0;
  uint64_t attempt = 0;
  uint64_t value = 0;
  std::string payload;
};

// Send may be called by any thread; Receive by one at a time.
class ControlChannel {
 public:
  // Longer payloads are refused.
  static constexpr uint64_t kMaxPayload = uint64_t{1} << 30;

  explicit ControlChannel(std::shared_ptr<TransportLanes> lanes)
      : lanes_(std::move(lanes)) {}

  // Does not wait, and tells nothing: a peer that is lost is noticed elsewhere.
  // What is long gives way to everything else on the link.
  void Send(int peer, ControlMessage message);
  // The next message from `peer`. kDeadlineExceeded if it does not come (it may
  // be asked for again), kCancelled after Stop, kDataLoss if it is damaged, or
  // the error of the link.
  absl::StatusOr<ControlMessage> Receive(int peer, Clock::time_point deadline);
  // Ends Receive, for good.
  void Stop();

 private:
  struct Box;  // what a receive writes into

  absl::Status Await(int peer, const std::shared_ptr<Box> &box,
                     Clock::time_point deadline);

  struct Shared {
    Mutex mu;
    CondVar changed;
    bool stopped ABSL_GUARDED_BY(mu) = false;
  };
  struct Incoming {
    uint64_t number = 0;
    std::shared_ptr<Box> header, payload;  // posted
  };

  const std::shared_ptr<TransportLanes> lanes_;
  const std::shared_ptr<Shared> shared_ = std::make_shared<Shared>();
  Mutex mu_;
  std::map<int, uint64_t> sent_ ABSL_GUARDED_BY(mu_);
  std::map<int, Incoming> incoming_;  // of the receiving thread
};

}  // namespace commsched::runtime

#endif  // COMMSCHED_RUNTIME_REPLANNING_CONTROL_CHANNEL_H
