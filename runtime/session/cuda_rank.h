// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ranks of a session on CUDA devices: what they need of the machine, and of each other before their
// first step.
#ifndef COMMSCHED_RUNTIME_SESSION_CUDA_RANK_H
#define COMMSCHED_RUNTIME_SESSION_CUDA_RANK_H

#include <memory>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/cuda/driver_api.h"
#include "runtime/cuda/nccl_api.h"
#include "runtime/execute/rank_executor.h"
#include "runtime/loading/plan_loader.h"
#include "runtime/transport/parameter_client.h"
#include "runtime/transport/peer_failure_relay.h"
#include "runtime/transport/transport.h"

namespace commsched::runtime {

struct RankParts;
struct SessionOptions;

// The libraries of this machine that the ranks here use.
struct CudaMachine {
  cuda::DriverApi driver;
  std::optional<cuda::NcclApi> nccl;  // if the plan has collectives of NCCL
  // Of NCCL, for ranks that are all here. Others are given it (nccl_id.h).
  std::optional<cuda::NcclUniqueId> id;
  int first_device = 0;  // of the lowest rank here
  bool graphs = true;    // COMMSCHED_CUDA_GRAPHS (device_executor.h)
};

// Whether `ranks` ranks of a plan for CUDA devices can run here as the options say. Errors: what
// the machine lacks, as machine_check.h has it; kUnimplemented, something that devices do not have.
absl::StatusOr<std::shared_ptr<const CudaMachine>> OpenCudaMachine(const PlanImage &image,
                                                                   const SessionOptions &options,
                                                                   int ranks);

// Whom ranks meet besides, if there is NCCL.
void AddCudaPartners(const CudaMachine &machine, TransportOptions *connection);

// `transport`: null if the rank has no message to others, `servers`, if it has none to servers. They
// are aborted where there is an error.
absl::StatusOr<std::unique_ptr<RankExecutor>> MakeCudaRank(
    const CudaMachine &machine, std::shared_ptr<const Program> program, RankParts parts,
    std::unique_ptr<Transport> transport, std::unique_ptr<ParameterClient> servers,
    std::shared_ptr<PeerFailureRelay> failures, const SessionOptions &options);

}  // namespace commsched::runtime

#endif  // COMMSCHED_RUNTIME_SESSION_CUDA_RANK_H
