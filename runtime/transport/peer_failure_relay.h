// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COMMSCHED_RUNTIME_TRANSPORT_PEER_FAILURE_RELAY_H
#define COMMSCHED_RUNTIME_TRANSPORT_PEER_FAILURE_RELAY_H

#include <functional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "runtime/base/sync.h"

namespace commsched::runtime {

// Passes the transport's failure reports on to an executor that is made after
// the transport. Thread-safe.
class PeerFailureRelay {
 public:
  using Handler = std::function<void(int, const absl::Status &)>;
  void Report(int peer, const absl::Status &why);
  // Hands over what has been reported before; nullptr detaches, after which
  // no call of the old handler runs.
  void Attach(Handler handler);

 private:
  Mutex mu_;
  Handler handler_ ABSL_GUARDED_BY(mu_);
  std::vector<std::pair<int, absl::Status>> early_ ABSL_GUARDED_BY(mu_);
};

}  // namespace commsched::runtime

#endif  // COMMSCHED_RUNTIME_TRANSPORT_PEER_FAILURE_RELAY_H
