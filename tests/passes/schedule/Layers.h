// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Small scheduling problems: a chain of layers, in slots of one nanosecond on
// links of one byte per slot.

#ifndef COMMSCHED_TESTS_PASSES_SCHEDULE_LAYERS_H
#define COMMSCHED_TESTS_PASSES_SCHEDULE_LAYERS_H

#include "passes/schedule/solver/Schedule.h"

namespace commsched::schedule {

inline constexpr int64_t kBytePerSlot = 1'000'000'000;

/// The forward pass of all layers, then the backward pass in reverse. Layer l's
/// backward op produces a tensor of bytes[l], which goes over the links one after
/// the other and is needed by the layer's forward op of the next step.
inline Problem layers(Time forward, Time backward, std::vector<int64_t> bytes,
                      unsigned links = 1) {
  Problem problem;
  problem.name = "layers";
  for (unsigned i = 0; i < links; ++i)
    problem.links.push_back({"link" + std::to_string(i), kBytePerSlot});
  unsigned count = static_cast<unsigned>(bytes.size());
  for (unsigned i = 0; i < 2 * count; ++i) {
    Op op;
    op.name = i < count ? "forward" + std::to_string(i)
                        : "backward" + std::to_string(2 * count - 1 - i);
    op.duration = i < count ? forward : backward;
    if (i)
      op.after = {i - 1};
    problem.ops.push_back(op);
  }
  for (unsigned i = 0; i < count; ++i) {
    Communication communication;
    communication.name = "layer" + std::to_string(i);
    communication.bytes = bytes[i];
    communication.producers = {2 * count - 1 - i};
    communication.consumers = {{i, 1}};
    for (unsigned link = 0; link < links; ++link)
      communication.stages.push_back({link, bytes[i], 0, 0});
    problem.communications.push_back(communication);
  }
  return problem;
}

/// Pieces of at most `bytes` each, with priorities by layer or, if `fifo`, all the
/// same; one message on each link at a time.
inline Schedule sliced(const Problem &problem, int64_t bytes, bool fifo) {
  Schedule schedule;
  schedule.order = programOrder(problem);
  schedule.credit.assign(problem.links.size(), 0);
  int64_t count = static_cast<int64_t>(problem.ops.size());
  for (unsigned i = 0; i < problem.communications.size(); ++i) {
    const Communication &communication = problem.communications[i];
    for (int64_t begin = 0; begin < communication.bytes; begin += bytes) {
      Message message;
      message.pieces = {{i, begin, std::min(begin + bytes, communication.bytes)}};
      // In order of readiness: that of the producers.
      message.priorities.assign(communication.stages.size(),
                                fifo ? communication.producers.front()
                                     : count + communication.consumers.front().op);
      schedule.messages.push_back(message);
    }
  }
  return schedule;
}

} // namespace commsched::schedule

#endif // COMMSCHED_TESTS_PASSES_SCHEDULE_LAYERS_H
