// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which rank of which job this process is, by what its launcher has put into the
// environment:
//   Open MPI      OMPI_COMM_WORLD_RANK, _SIZE, _LOCAL_SIZE
//   PMI           PMI_RANK, PMI_SIZE (srun --mpi=pmi2, MPICH)
//   Slurm         SLURM_PROCID, SLURM_STEP_NUM_TASKS of a job step
//   frameworks    RANK, WORLD_SIZE (torchrun, Kubernetes operators)
//   PaddlePaddle  PADDLE_TRAINER_ID, PADDLE_TRAINERS_NUM (paddle.distributed.launch)
//   Kubernetes    JOB_COMPLETION_INDEX of an indexed job, with WORLD_SIZE
// and where the others are, for gRPC: MASTER_ADDR and MASTER_PORT, or the first
// host of the Slurm step or of PADDLE_TRAINER_ENDPOINTS, or socket files if all are on
// one host.
// docs/transports.md has the whole of it.
#ifndef COMMSCHED_LAUNCH_ENVIRONMENT_H
#define COMMSCHED_LAUNCH_ENVIRONMENT_H

#include <functional>
#include <optional>
#include <string>

#include "absl/status/statusor.h"

namespace commsched::launch {

// Gives the value of a variable, or null.
using Environment = std::function<const char *(const char *name)>;

struct Launched {
  int rank = 0;
  int size = 1;
  int local_rank = -1;    // among those on this host; -1: not said
  std::string by;         // the variables, for errors: "OMPI_COMM_WORLD_RANK and ..."
  bool of_mpi = false;    // the launcher starts MPI jobs
  bool one_host = false;  // all processes are on this host
  std::string job;        // names the job on its hosts, if one_host
  std::string master;     // host of rank 0; empty: not known
  int port = 0;           // where rank 0 can be met; 0: not known
  int epoch = 0;          // how often the job was begun again
};

// Nothing if the environment names no job of more than one process.
// kInvalidArgument if values are no numbers or contradict each other, upon which
// `instead` says what can be done.
absl::StatusOr<std::optional<Launched>> ReadLaunch(const Environment &environment,
                                                   const std::string &instead = "");

// A host as it is looked up: an address of IPv6 may be given in brackets.
std::string BareHost(const std::string &host);

// The first host of a list such as "node[07-09,12],login".
absl::StatusOr<std::string> FirstHost(const std::string &list);

}  // namespace commsched::launch

#endif  // COMMSCHED_LAUNCH_ENVIRONMENT_H
