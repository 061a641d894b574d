#!/usr/bin/env bash
# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Usage: scripts/test.sh [PRESET...]
#
# Installs what is missing, builds and runs all tests: the release build with
# everything in it, then the runtime under the sanitizers. Exits non-zero if
# anything failed, after having run everything. Names of presets (release,
# debug, asan, tsan) restrict the run to these.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

presets=("$@")
[ $# -gt 0 ] || presets=(release asan tsan)
bash scripts/setup.sh --tests
mkdir -p out

failed=()
summary=()
for preset in "${presets[@]}"; do
  step "building $preset"
  begun=$SECONDS
  if ! build "$preset"; then
    failed+=("$preset")
    summary+=("$preset: did not build")
    continue
  fi
  step "testing $preset"
  log=out/test-$preset.log
  built=$SECONDS
  "$CTEST" --preset "$preset" -j "$(nproc)" 2>&1 | tee "$log" || failed+=("$preset")
  summary+=("$preset: $(grep -E '^[0-9]+% tests passed|^No tests were found' "$log" || echo 'no result')")
  summary+=("$preset: built in $((built - begun)) s, tested in $((SECONDS - built)) s; slowest:")
  # "12/140 Test  #34: name ....   Passed   56.78 sec"
  summary+=("$(sed -nE 's/^ *[0-9]+\/[0-9]+ Test +#[0-9]+: ([^ ]+) .* ([0-9.]+) sec.*/\2 s  \1/p' "$log" |
    sort -rn | head -10 | sed 's/^/  /')")
done

step "result"
printf '%s\n' "${summary[@]}"
if [ ${#failed[@]} -gt 0 ]; then
  die "failed: ${failed[*]}; logs in out/test-PRESET.log"
fi
