// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Measures the links between ranks. All ranks make the same calls in the same
// order; messages of other kinds must not be on the transport.
#ifndef COMMSCHED_RUNTIME_CALIBRATION_PEER_LINKS_H
#define COMMSCHED_RUNTIME_CALIBRATION_PEER_LINKS_H

#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "runtime/calibration/measure.h"
#include "runtime/calibration/peer_exchanges.h"
#include "runtime/transport/transport.h"

namespace commsched::calibration {

struct PeerLink {
  int from = 0, to = 0;
  LinkCost cost;
};

// From each rank to the next one, one link after the other; the same on all
// ranks. An error names the link; `deadline` bounds every message.
absl::StatusOr<std::vector<PeerLink>> MeasurePeerLinks(
    runtime::Transport *transport, absl::Duration deadline);

// What collectives cost on each rank. `exchanges` is this one's.
absl::StatusOr<std::vector<Exchange>> MeasurePeerExchanges(
    runtime::Transport *transport, const std::vector<PeerLink> &links,
    PeerExchanges *exchanges, absl::Duration deadline);

// Of this rank's compute, while every rank sends to the next one, and adds up what
// it receives. All ranks get those of all.
absl::StatusOr<std::vector<Slowdown>> MeasurePeerSlowdown(
    runtime::Transport *transport, const std::vector<PeerLink> &links,
    absl::Duration deadline);

}  // namespace commsched::calibration

#endif  // COMMSCHED_RUNTIME_CALIBRATION_PEER_LINKS_H
