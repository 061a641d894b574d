#!/usr/bin/env bash
# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Usage: sbatch --nodes=4 --ntasks=4 slurm.sh PLAN [option of cs-run...]
#
# One rank of the plan in each task. With TRANSPORT=grpc in the environment, ranks
# meet at the first host of the step and are connected by gRPC, which is neither
# encrypted nor authenticated: for a network that is your own.
#SBATCH --job-name=commsched
#SBATCH --cpus-per-task=2
set -euo pipefail
bin=${BIN:-build/release/bin}
if [ "${TRANSPORT:-mpi}" = grpc ]; then
  exec srun --kill-on-bad-exit=1 "$bin/cs-run" "$@" --transport grpc --listen-any
fi
# Open MPI 4.1 with Slurm's PMIx plug-in; without the plug-in, mpirun inside the
# allocation does the same: mpirun "$bin/cs-run" "$@"
exec srun --mpi=pmix --kill-on-bad-exit=1 "$bin/cs-run" "$@" --transport mpi
