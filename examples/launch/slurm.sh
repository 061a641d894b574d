#!/usr/bin/env bash
# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Usage: sbatch --nodes=4 --ntasks=4 slurm.sh PLAN [option of cs-run...]
#
# One rank of the plan in each task. With TRANSPORT=grpc in the environment, ranks
# meet at the first host of the step and are connected by gRPC, by TLS and with a
# token: SECURITY is a folder that only you may read, with token (openssl rand -hex 32),
# ca.pem, rank.pem and rank.key; the certificate is for "commsched".
#SBATCH --job-name=commsched
#SBATCH --cpus-per-task=2
set -euo pipefail
bin=${BIN:-build/release/bin}
if [ "${TRANSPORT:-mpi}" = grpc ]; then
  secret=${SECURITY:?a folder with token, ca.pem, rank.pem and rank.key}
  exec srun --kill-on-bad-exit=1 "$bin/cs-run" "$@" --transport grpc --listen-any --token-file "$secret/token" \
    --tls-ca "$secret/ca.pem" --tls-cert "$secret/rank.pem" --tls-key "$secret/rank.key" --tls-server-name commsched
fi
# Open MPI 4.1 with Slurm's PMIx plug-in; without the plug-in, mpirun inside the
# allocation does the same: mpirun "$bin/cs-run" "$@"
exec srun --mpi=pmix --kill-on-bad-exit=1 "$bin/cs-run" "$@" --transport mpi
