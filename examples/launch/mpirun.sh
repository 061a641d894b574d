#!/usr/bin/env bash
# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Usage: [HOSTS=hostfile] [BIN=folder] mpirun.sh RANKS PLAN [option of cs-run...]
#
# One rank of the plan in each process of an MPI job.
set -euo pipefail
[ $# -ge 2 ] || { echo "usage: mpirun.sh RANKS PLAN [option...]" >&2; exit 2; }
ranks=$1
shift
bin=${BIN:-$(dirname "${BASH_SOURCE[0]}")/../../build/release/bin}
options=(-n "$ranks" --oversubscribe)
[ -z "${HOSTS-}" ] || options+=(--hostfile "$HOSTS" --map-by node)
# mpirun does not start as root unless it is told to, twice.
[ "$(id -u)" != 0 ] || options+=(--allow-run-as-root)
exec mpirun "${options[@]}" "$bin/cs-run" "$@"
