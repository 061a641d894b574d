// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How many bytes to have on the way.

#include "passes/schedule/solver/Search.h"

#include <algorithm>

namespace commsched::schedule {

std::vector<int64_t> creditsToTry(const Problem &problem, unsigned link,
                                  int64_t message) {
  // What the link could send while the latency of a message passes.
  Time latency = 0;
  for (const Communication &communication : problem.communications)
    for (const Stage &stage : communication.stages)
      if (stage.link == link)
        latency = std::max(latency, stage.latency);
  auto covered = static_cast<int64_t>(
      static_cast<__int128>(latency) * problem.links[link].bytesPerSecond /
      1'000'000'000);
  // Bounded, so that sums of them fit.
  message = std::clamp<int64_t>(message, 1, int64_t{1} << 50);
  covered = std::min<int64_t>(covered, int64_t{1} << 50);
  return {1, message + covered, 2 * (message + covered), 4 * (message + covered),
          kNoLimit};
}

} // namespace commsched::schedule
