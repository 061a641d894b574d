// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The id by which the ranks of a communicator of NCCL find each other: rank 0 makes it, and the
// others get it by messages, each from its parent in the tree of core/stop_agreement.h, whose ranks
// are connected in any case where a job can stop early.
#ifndef COMMSCHED_RUNTIME_SESSION_NCCL_ID_H
#define COMMSCHED_RUNTIME_SESSION_NCCL_ID_H

#include <set>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "runtime/cuda/nccl_api.h"
#include "runtime/transport/transport.h"

namespace commsched::runtime {

absl::StatusOr<cuda::NcclUniqueId> MakeNcclId(const cuda::NcclApi &nccl);

// Whom a rank exchanges messages with for it.
std::set<int> NcclIdPartners(int rank, int nodes);

// Called by all ranks, once; returns rank 0's id. Errors name the peer from which it should have
// come: kDeadlineExceeded, nothing has come within `deadline`; those of the transport. The caller
// aborts the transport then.
absl::StatusOr<cuda::NcclUniqueId> ShareNcclId(const cuda::NcclApi &nccl, Transport *transport,
                                               absl::Duration deadline);

}  // namespace commsched::runtime

#endif  // COMMSCHED_RUNTIME_SESSION_NCCL_ID_H
