// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The phase of an all-to-all: of 2 n parts, part q of rank r goes to part n + r of
// rank q.
#ifndef COMMSCHED_TESTS_RUNTIME_ALL_TO_ALL_H
#define COMMSCHED_TESTS_RUNTIME_ALL_TO_ALL_H

#include "tests/runtime/plan_builder.h"

namespace commsched::testing {

inline plan::Phase AllToAll(int nodes) {
  plan::Phase phase;
  phase.set_chunks(uint32_t(2 * nodes));
  phase.set_rounds(uint32_t(nodes - 1));
  const auto to = (Rank() + RoundNumber() + Constant(1)) % nodes;
  const auto from = (Rank() + RoundNumber() * -1 + Constant(-1)) % nodes;
  *phase.mutable_send()->mutable_begin() = to;
  *phase.mutable_send()->mutable_peer() = to;
  *phase.mutable_recv()->mutable_begin() = from + Constant(nodes);
  *phase.mutable_recv()->mutable_peer() = from;
  for (plan::Side *side : {phase.mutable_send(), phase.mutable_recv()})
    *side->mutable_count() = Constant(1);
  return phase;
}

}  // namespace commsched::testing

#endif  // COMMSCHED_TESTS_RUNTIME_ALL_TO_ALL_H
