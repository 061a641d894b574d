// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "grpc/base/send_queue.h"

#include <algorithm>

namespace commsched::transport {

void SendQueue::Bind(uint64_t bound) {
  bound_ = bound;
  long_ = 0;
  looks_ = -kWindow / 4;
  bytes_ = busy_ = queues_ = 0;
}

void SendQueue::Free(int looks) {
  Bind(0);
  rest_ = looks;
  rate_ = queue_ = 0;
}

uint64_t SendQueue::Look(const SendLook &now) {
  if (now.busy_s < kLeastBusy * kPeriod || now.bytes < kLeastBytes) return bound_;
  if (rest_ > 0) {
    --rest_;
    return 0;
  }
  const double queue = now.queue_s, rate = now.bytes / now.busy_s;
  const auto bytes_at = [&](double at) { return std::max(at * (now.least_rtt_s + kWanted) / now.connections, kLeastBytes); };
  if (bound_ == 0) {
    rate_ = rate_ == 0 ? rate : 0.5 * (rate_ + rate);
    queue_ = std::max(queue, 0.5 * queue_);
    long_ = queue > kLong ? long_ + 1 : 0;
    if (long_ == kLooks) Bind(uint64_t(bytes_at(rate_)));
    return bound_;
  }
  if (queue < kShort && now.limited_s > 0.5 * now.busy_s) {  // the link could take more
    rate_ = rate;
    Bind(2 * bound_);
    return bound_;
  }
  if (++looks_ <= 0) return bound_;
  bytes_ += now.bytes;
  busy_ += now.busy_s;
  queues_ += queue;
  if (looks_ < kWindow) return bound_;
  const double mean = bytes_ / busy_, mean_queue = queues_ / kWindow;
  if (mean_queue > std::max(kLong, 0.7 * queue_) && mean < 0.85 * rate_) {
    // As long as ever, and less goes through it: it is of others.
    Free(next_rest_);
    next_rest_ = std::min(2 * next_rest_, kMostRest);
  } else if (mean_queue > kLong) {
    // Of a link that has become slower, or of several connections.
    Bind(uint64_t(std::max(std::min(bytes_at(mean), 0.7 * double(bound_)), kLeastBytes)));
  } else {
    Bind(bound_);
  }
  return bound_;
}

}  // namespace commsched::transport
