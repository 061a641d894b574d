// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Evaluates the phases of a Communicate instruction for one rank.
#ifndef COMMSCHED_RUNTIME_LOADING_EXCHANGE_H
#define COMMSCHED_RUNTIME_LOADING_EXCHANGE_H

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "plan/limits.h"
#include "plan/plan.pb.h"
#include "runtime/loading/rank_group.h"
#include "runtime/program/program.h"

namespace commsched::runtime {

// Keeps a damaged plan from taking all memory.
inline constexpr uint32_t kMaxRounds = 1 << 16;

// The rounds of `phase`, of `group`, as rank `rank` sees them, for a tensor of type
// `type`: without anything to do if it is no member. Refuses parts and peers that do
// not exist.
absl::StatusOr<std::vector<Round>> EvaluatePhase(const plan::Phase &phase,
                                                 const TensorInfo &type, int rank,
                                                 const RankGroup &group);
// The same of one end of messages, with peers in another group; and of a tensor in parts of
// so many elements, each of which is cut into the phase's chunks.
absl::StatusOr<std::vector<Round>> EvaluatePhase(const plan::Phase &phase,
                                                 const TensorInfo &type, int rank,
                                                 const RankGroup &group,
                                                 const RankGroup &peers,
                                                 absl::Span<const int64_t> parts = {});

// Into how many slices messages are cut (CommunicateProgram::slices), the same on
// all ranks. More than one only where each round moves one of the same parts of
// the tensor, as around a ring: then a slice needs nothing of the others, and no
// element is combined in another order.
uint32_t SlicesOf(const plan::Communicate &exchange, const TensorInfo &type);

// Checks that in every round what a rank sends is what its peer expects.
absl::Status CheckPhaseMatches(const plan::Phase &phase, const TensorInfo &type,
                               const RankGroup &group);
// The same of the two ends of messages, each a phase of its own: members of `from` send,
// those of `to` receive.
absl::Status CheckEndsMatch(const plan::Phase &sends, const RankGroup &from,
                            const plan::Phase &receives, const RankGroup &to,
                            const TensorInfo &type);

}  // namespace commsched::runtime

#endif  // COMMSCHED_RUNTIME_LOADING_EXCHANGE_H
