#!/usr/bin/env bash
# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Usage: scripts/fuzz.sh [--minutes N] [--seed S]
#
# Fuzzes parser, verifiers and pipelines for N minutes (10), on all cores.
# Findings are saved in out/fuzz; once fixed they belong in tests/fuzz/corpus.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

minutes=10 seed=$(date +%s)
while [ $# -gt 0 ]; do
  case "$1" in
  --minutes | --seed)
    [[ "${2-}" =~ ^[0-9]+$ ]] || die "$1 needs a number"
    printf -v "${1#--}" %s "$2"
    shift 2
    ;;
  *) die "unknown argument '$1'; usage: scripts/fuzz.sh [--minutes N] [--seed S]" ;;
  esac
done

bash scripts/setup.sh --tests
build release cs-fuzz
mkdir -p out/fuzz
mapfile -t texts < <(find tests examples -name '*.mlir' | LC_ALL=C sort)
end=$((SECONDS + 60 * minutes))
worker() {
  local round=0 bad=0
  while [ $SECONDS -lt $end ]; do
    build/release/bin/cs-fuzz --runs 5000 --seed "$seed" --first $((($1 + round * $2) * 5000)) \
      --save out/fuzz "${texts[@]}" || bad=1
    round=$((round + 1))
  done
  return $bad
}
step "fuzzing for $minutes minutes with seed $seed"
cores=$(nproc)
pids=()
for ((i = 0; i < cores; i++)); do
  worker $i "$cores" &
  pids+=($!)
done
status=0
for pid in "${pids[@]}"; do
  wait "$pid" || status=1
done
[ $status = 0 ] || die "there are findings in out/fuzz"
