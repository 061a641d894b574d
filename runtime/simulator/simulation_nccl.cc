// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Collectives by NCCL: no messages, but one after the other, on all ranks at once.
#include <utility>

#include "runtime/simulator/simulation.h"

namespace commsched::runtime::simulator {

void Simulation::MeetNccl(uint64_t call, uint32_t communication) {
  ++nccl_met_[call % kInFlight][size_t(model_.communications[communication].nccl)];
  BeginNccl();
}

void Simulation::BeginNccl() {
  const size_t number = nccl_begun_ % model_.nccl.size();
  uint32_t &met = nccl_met_[nccl_begun_ / model_.nccl.size() % kInFlight][number];
  if (nccl_since_ >= 0 || met < ranks_.size()) return;
  met = 0;
  nccl_since_ = now_;
  ++nccl_begun_;
  events_.Add(now_ + model_.communications[model_.nccl[number]].nccl_ns, Event::kNccl,
              model_.nccl[number]);
}

void Simulation::EndNccl(uint32_t communication) {
  const ModelCommunication &c = model_.communications[communication];
  const uint64_t call = (nccl_begun_ - 1) / model_.nccl.size();
  const Time since = std::exchange(nccl_since_, -1);
  for (Rank &rank : ranks_) {
    if (options_.trace != nullptr)
      Trace(rank.rank, TraceSpan::kNccl, 0, c.key, "collective", call,
            double(c.elements) * c.element_bytes, since, now_);
    Complete(&rank, call, c.instruction);
  }
  BeginNccl();
}

}  // namespace commsched::runtime::simulator
