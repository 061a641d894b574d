// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Makes what executes the ranks of a session, each connected to the others.
#ifndef COMMSCHED_RUNTIME_SESSION_MAKE_RANK_H
#define COMMSCHED_RUNTIME_SESSION_MAKE_RANK_H

#include <cstddef>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/execute/completed_calls.h"
#include "runtime/execute/rank_executor.h"
#include "runtime/session/cuda_rank.h"
#include "runtime/session/session.h"

namespace commsched::runtime {

// Whether the plan can be run as the options say, by `ranks` ranks here. Null but for CUDA devices:
// what their ranks use, as `cuda` below.
absl::StatusOr<std::shared_ptr<const CudaMachine>> CheckRun(const PlanImage &image,
                                                            const SessionOptions &options,
                                                            int ranks);

// What a rank is made of.
struct RankParts {
  int rank = 0;
  size_t number = 0;             // among those here
  ConnectFunction connect = {};  // empty: to no other rank
  ConnectServersFunction connect_servers = {};
  std::shared_ptr<CompletedCalls> completed;
  // As CheckRun has given it; outlives the executor.
  const CudaMachine *cuda = nullptr;
};
absl::StatusOr<std::unique_ptr<RankExecutor>> MakeRank(const PlanImage &image, RankParts parts,
                                                       const SessionOptions &options);

}  // namespace commsched::runtime

#endif  // COMMSCHED_RUNTIME_SESSION_MAKE_RANK_H
