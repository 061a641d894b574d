// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "grpc/base/send_queue.h"

#include <algorithm>

namespace commsched::transport {

void SendQueue::Set(uint64_t bound) {
  bound_ = bound;
  looks_ = -kWindow / 4;
  stopped_ = 0;
  bytes_ = busy_ = queues_ = 0;
}

void SendQueue::Refused() {
  state_ = State::kRefused;
  Set(0);
}

bool SendQueue::IsStopped(const SendLook &now) {
  const bool hardly_waits = now.queue_s < std::max(kHardly, kHardlyOfWay * (now.queue_s + now.least_rtt_s));
  const bool stopped = now.queue_s < kShort && now.limited_s > (hardly_waits ? kHeldUp : kStopped) * now.busy_s;
  stopped_ = stopped ? stopped_ + 1 : 0;
  return stopped && (hardly_waits || stopped_ >= kSure);
}

uint64_t SendQueue::Look(const SendLook &now) {
  if (state_ == State::kRefused || now.busy_s < kLeastBusy * kPeriod || now.bytes < kLeastBytes) return bound_;
  if (state_ == State::kBounded && IsStopped(now)) {
    Set(uint64_t(growth_ * double(bound_)));
    return bound_;
  }
  until_ = std::max(0, until_ - 1);
  if (state_ == State::kOfOthers) {
    if (until_ == 0) {
      state_ = State::kBounded;
      Set(uint64_t(kLeastBytes));
      growth_ = kFaster;
    }
    return bound_;
  }
  if (++looks_ <= 0) return bound_;
  bytes_ += now.bytes;
  busy_ += now.busy_s;
  queues_ += now.queue_s;
  if (looks_ < kWindow) return bound_;
  const double rate = bytes_ / busy_, queue = queues_ / kWindow;
  if (state_ == State::kTried) {
    const bool others = rate > 1.15 * rate_;
    state_ = others ? State::kOfOthers : State::kBounded;
    Set(others ? 0 : uint64_t(kLeastBytes));
    until_ = rest_;
    rest_ = std::min(2 * rest_, kMostRest);
  } else if (queue > kLong && double(bound_) > kLeastBytes) {  // such as of a link that has become slower
    const double part = (now.least_rtt_s + kWanted) / (now.least_rtt_s + queue);
    Set(uint64_t(std::max(part * double(bound_), kLeastBytes)));
    growth_ = kSlower;
  } else if (queue > kLong && until_ == 0) {
    state_ = State::kTried;
    rate_ = rate;
    Set(0);
  } else {
    Set(bound_);
  }
  return bound_;
}

}  // namespace commsched::transport
