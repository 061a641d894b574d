// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How many bytes to have on the way.

#include "passes/schedule/solver/Search.h"

#include <algorithm>

namespace commsched::schedule {

int64_t timesOnWire(const Problem &problem, unsigned link) {
  int64_t times = 1;
  for (const Communication &communication : problem.communications)
    for (const Stage &stage : communication.stages)
      if (stage.link == link)
        times = std::max(times, stage.bytes / communication.bytes);
  return times;
}

std::vector<int64_t> creditsToTry(const Problem &problem, unsigned link,
                                  int64_t message) {
  // Bounded, so that sums of them fit.
  message = std::clamp<int64_t>(message, 1, int64_t{1} << 50);
  // What the link could send while the latency of a message passes; and what a message has
  // on the wire, where that is the same several times.
  Time latency = 0;
  const int64_t times = timesOnWire(problem, link);
  for (const Communication &communication : problem.communications)
    for (const Stage &stage : communication.stages) {
      if (stage.link != link)
        continue;
      int64_t part = std::min(message, communication.bytes);
      latency = std::max(latency, stage.latency +
                                      updateShare(stage.update, part, communication.bytes));
    }
  auto covered = static_cast<int64_t>(
      static_cast<__int128>(latency) * problem.links[link].bytesPerSecond /
      1'000'000'000);
  message = std::min(message, (int64_t{1} << 50) / times) * times;
  covered = std::min<int64_t>(covered, int64_t{1} << 50);
  return {1, message + covered, 2 * (message + covered), 4 * (message + covered),
          kNoLimit};
}

} // namespace commsched::schedule
