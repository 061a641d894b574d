// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/transport/peer_failure_relay.h"

#include "runtime/base/status_util.h"

namespace commsched::runtime {

void PeerFailureRelay::Report(int peer, const absl::Status &why) {
  MutexLock lock(&mu_);
  if (handler_)
    handler_(peer, why);
  else
    early_.emplace_back(peer, Unshared(why));
}

void PeerFailureRelay::Attach(Handler handler) {
  MutexLock lock(&mu_);
  handler_ = std::move(handler);
  if (!handler_) return;
  for (const auto &[peer, why] : early_) handler_(peer, why);
  early_.clear();
}

}  // namespace commsched::runtime
