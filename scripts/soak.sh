#!/usr/bin/env bash
# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Usage: scripts/soak.sh [--minutes N] [--seed S]
#
# Compares random training steps in random modes with the reference, and random
# steps of JAX with JAX, round after round with a seed of its own, for N minutes; without
# --minutes until it is interrupted. Findings are saved in out/differential, shrunk;
# once mended they belong in tests/differential/corpus. Exits non-zero if there was one.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

minutes=0 seed=$(date +%s)
while [ $# -gt 0 ]; do
  case "$1" in
  --minutes | --seed)
    [[ "${2-}" =~ ^[0-9]+$ ]] || die "$1 needs a number"
    printf -v "${1#--}" %s "$2"
    shift 2
    ;;
  *) die "unknown argument '$1'; usage: scripts/soak.sh [--minutes N] [--seed S]" ;;
  esac
done

bash scripts/setup.sh --tests
build release cs-differential cs-opt cs-translate commsched_c
mkdir -p out/differential
export COMMSCHED_BIN=$PWD/build/release/bin
end=$((SECONDS + 60 * minutes))
status=0
while [ "$minutes" = 0 ] || [ $SECONDS -lt $end ]; do
  step "seed $seed"
  left=$((end - SECONDS))
  bash bench/run differential --seed "$seed" --runs 20000 --jax 100 --save out/differential \
    $([ "$minutes" = 0 ] || echo --seconds "$((left > 0 ? left : 1))") || status=1
  seed=$((seed + 1))
done
[ $status = 0 ] || die "there are findings in out/differential"
