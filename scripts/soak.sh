#!/usr/bin/env bash
# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Usage: scripts/soak.sh [--minutes N] [--seed S]
#
# Round after round with a seed of its own, for N minutes; without --minutes until it is
# interrupted: random training steps in random modes beside the reference, by pipelines and
# by passes one by one in odd orders; random steps of JAX beside JAX; and the property tests
# (ctest -L property), of which scripts/test.sh has few cases, with three times as many.
# Findings are saved in out/differential, shrunk; once mended they belong in
# tests/differential/corpus. Mutants of programs that crash the tools are in
# build/release/tests/fuzz/findings. Exits non-zero if there was anything.
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
build release
mkdir -p out/differential
export COMMSCHED_BIN=$PWD/build/release/bin
end=$((SECONDS + 60 * minutes))
status=0
while [ "$minutes" = 0 ] || [ $SECONDS -lt $end ]; do
  step "seed $seed"
  left=$((end - SECONDS))
  bash bench/run differential --seed "$seed" --runs 20000 --jax 100 --save out/differential \
    $([ "$minutes" = 0 ] || echo --seconds "$((left > 0 ? left : 1))") || status=1
  if [ "$minutes" = 0 ] || [ $SECONDS -lt $end ]; then
    build/release/bin/cs-differential --by-hand --runs 2000 --seed "$seed" --shrink 20 --save out/differential || status=1
    COMMSCHED_TEST_SEED=$((seed % 1000000 * 1000)) COMMSCHED_TEST_TIMES=3 \
      "$CTEST" --preset release -L property -j "$(nproc)" || status=1
  fi
  seed=$((seed + 1))
done
[ $status = 0 ] || die "there were findings: see above, and out/differential"
