// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A small plan with two parameter servers, built by hand.
#ifndef COMMSCHED_TESTS_RUNTIME_SERVER_PLAN_H
#define COMMSCHED_TESTS_RUNTIME_SERVER_PLAN_H

#include <cstdint>
#include <string>
#include <vector>

#include "tests/runtime/plan_builder.h"

namespace commsched::testing {

inline constexpr int kRows = 5, kColumns = 4, kBias = 7;
inline constexpr int kWeights = kRows * kColumns;

struct ServerPlanOptions {
  int trainers = 2;
  plan::ParameterServers::Mode mode = plan::ParameterServers::SYNC;
  uint32_t merge = 1;
  bool mean = true;
  bool together = false;     // one function updates both blocks of server 1
  bool shared_loss = false;  // server 1 has the mean of the trainers' losses
  uint32_t lists = 0;        // trainers push so many elements of the gradient of b, as y
  bool fused = false;        // what server 1 has shares messages; none of the above
};

// Parameters "w" f32[5,4], rows 0..2 of which are on server 0 and the others on
// server 1, and "b" f32[7], on server 1. A trainer's gradients are w + x and
// y, with batches x f32[1,20] and y f32[1,7]; its metric "loss" is the sum of w.
// The servers keep the momentum of w ("w.momentum") and a "count" of steps, from
// which a schedule makes the rate: m' = m / 2 + g, w' = w - m' / (2 + count).
// b has no momentum: b' = b - g / 4. With `shared_loss`, block 2 of server 1 is
// "loss", and the metric of every trainer its mean. With `fused`, block 0 of server 1 is
// "w.block1+1", of its rows of w and b behind them. Sizes are state: "n.w", "n.3", "n.2", "n.b".
PlanBuilder ServerPlan(const ServerPlanOptions &options);

}  // namespace commsched::testing

#endif  // COMMSCHED_TESTS_RUNTIME_SERVER_PLAN_H
