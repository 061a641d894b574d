// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Policies by name.

#ifndef COMMSCHED_PASSES_SCHEDULE_SOLVER_POLICY_H
#define COMMSCHED_PASSES_SCHEDULE_SOLVER_POLICY_H

#include "passes/schedule/solver/Solve.h"

#include <string_view>

namespace commsched::schedule {

inline constexpr std::string_view kSolver = "solver";

/// "solver, fifo, ...": the solver, then the baselines.
std::string listPolicies();

bool isPolicy(std::string_view name);

/// Whether the policy takes limits of buckets.
bool hasBuckets(std::string_view policy);

/// Empty, or what is wrong with limits of buckets for this policy.
std::string checkBuckets(const BucketLimits &limits, std::string_view policy);

/// Empty, or what is wrong with an effort for this policy.
std::string checkEffort(int64_t effort, std::string_view policy);

/// What the policy of this name makes of the problem. Of baselines the list of
/// periods has its own alone; the solver's priorities are those by first consumer where
/// that makes next to no difference. Effort 0: in proportion to the size of the problem, so
/// that a small step is done at once. Requires isPolicy() and that check() finds
/// nothing.
Solution runPolicy(const Problem &problem, std::string_view name,
                   SolverOptions options = {});

} // namespace commsched::schedule

#endif // COMMSCHED_PASSES_SCHEDULE_SOLVER_POLICY_H
