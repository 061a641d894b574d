// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random training steps of a few layers, for the solver and the policies.

#ifndef COMMSCHED_TESTS_PASSES_SCHEDULE_RANDOMLAYERS_H
#define COMMSCHED_TESTS_PASSES_SCHEDULE_RANDOMLAYERS_H

#include "passes/schedule/solver/Problem.h"

#include <random>

namespace commsched::schedule {

struct RandomShape {
  unsigned maxLayers = 8;
  int64_t maxBytes = 40;
  bool sameStep = true;    ///< some tensors are needed in the step that makes them
  bool indivisible = true; ///< some cannot be cut
  unsigned maxStreams = 2;
};

/// Layers with a forward op, one or two backward ops and a tensor each; links of a
/// byte per nanosecond or slower; one to three stages per tensor, in two kinds.
inline Problem randomLayers(uint32_t seed, const RandomShape &shape = {}) {
  std::mt19937 generator(seed);
  auto upTo = [&](int64_t most) {
    return static_cast<int64_t>(generator() % static_cast<uint64_t>(most + 1));
  };
  Problem problem;
  problem.name = "random" + std::to_string(seed);
  problem.streams = static_cast<unsigned>(1 + upTo(shape.maxStreams - 1));
  auto numLinks = static_cast<unsigned>(1 + upTo(1));
  for (unsigned i = 0; i < numLinks; ++i)
    problem.links.push_back({"", 1'000'000'000 / (1 + upTo(2))});
  auto numLayers = static_cast<unsigned>(1 + upTo(shape.maxLayers - 1));
  auto op = [&](std::vector<unsigned> after) {
    Op result;
    result.stream = static_cast<unsigned>(upTo(problem.streams - 1));
    result.duration = upTo(20);
    result.after = std::move(after);
    result.extraBytes = upTo(5);
    problem.ops.push_back(result);
    return static_cast<unsigned>(problem.ops.size() - 1);
  };
  std::vector<unsigned> forward, gradient(numLayers);
  for (unsigned i = 0; i < numLayers; ++i)
    forward.push_back(op(i ? std::vector<unsigned>{i - 1} : std::vector<unsigned>{}));
  unsigned last = forward.back();
  for (unsigned i = numLayers; i-- > 0;) {
    gradient[i] = op({last});
    last = upTo(1) ? op({last}) : gradient[i];
  }
  // What every message of a kind does.
  std::vector<Stage> stages[2];
  for (std::vector<Stage> &kind : stages)
    for (int64_t i = upTo(2); i >= 0; --i)
      kind.push_back({static_cast<unsigned>(upTo(numLinks - 1)), 0, upTo(6), upTo(8)});
  for (unsigned i = 0; i < numLayers; ++i) {
    Communication communication;
    communication.bytes = 1 + upTo(shape.maxBytes - 1);
    communication.producers = {gradient[i]};
    if (upTo(5) == 0)
      communication.producers.push_back(forward[i]);
    communication.kind = upTo(4) == 0;
    communication.divisible = !shape.indivisible || upTo(4) != 0;
    communication.stages = stages[communication.kind];
    for (Stage &stage : communication.stages)
      stage.bytes = communication.bytes * (1 + upTo(2)) / 2;
    if (upTo(9) != 0)
      communication.consumers.push_back({forward[i], 1});
    if (shape.sameStep && upTo(5) == 0) {
      unsigned made = gradient[i];
      if (made + 1 < problem.ops.size())
        communication.consumers.push_back(
            {made + 1 + static_cast<unsigned>(upTo(problem.ops.size() - made - 2)), 0});
    }
    problem.communications.push_back(communication);
  }
  return problem;
}

} // namespace commsched::schedule

#endif // COMMSCHED_TESTS_PASSES_SCHEDULE_RANDOMLAYERS_H
