// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What collectives of NCCL take by what a plan says of its cluster.
#ifndef COMMSCHED_PLAN_CLUSTER_NCCL_H
#define COMMSCHED_PLAN_CLUSTER_NCCL_H

#include "plan/nccl_costs.h"
#include "plan/plan.pb.h"

namespace commsched::plan {

// What NCCL's model is told: of as many ranks as the cluster has nodes.
NcclMachines MachinesOf(const Cluster &cluster);

// As measured, if the plan has that, else by the model.
NcclCosts NcclCostsOf(const Cluster &cluster);

// Of the numbers that NCCL's kinds have in a plan.
NcclCall CallOf(int kind);

}  // namespace commsched::plan

#endif  // COMMSCHED_PLAN_CLUSTER_NCCL_H
