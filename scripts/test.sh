#!/usr/bin/env bash
# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Usage: scripts/test.sh [PRESET | wheel]...
#
# Installs what is missing, builds and runs all tests: the release build with
# everything in it, then the runtime under the sanitizers, then the wheel
# (scripts/wheel.sh). Exits non-zero if
# anything failed, after having run everything. Names of presets (release,
# debug, asan, tsan), and wheel, restrict the run to these.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

presets=("$@")
[ $# -gt 0 ] || presets=(release asan tsan wheel)
mkdir -p out

failed=() phases=()
# phase NAME COMMAND...: runs it, and notes the time that it took.
phase() {
  local name=$1 begun=$SECONDS status=0
  shift
  step "$name"
  "$@" || status=$?
  phases+=("$(printf '%5d s  %s' $((SECONDS - begun)) "$name")")
  return $status
}
# Two more at once than there are processors, as tests of jobs wait a lot.
# Half of the random cases that tests name, and a quarter under the sanitizers, which look at how code runs, at a fifth of its
# speed: all has to end well inside of 90 minutes on a slow machine. scripts/soak.sh tries more.
run_tests() {
  local times=0.5
  case $1 in asan | tsan) times=0.25 ;; esac
  COMMSCHED_TEST_TIMES=${COMMSCHED_TEST_TIMES:-$times} "$CTEST" --preset "$1" -j "$(($(nproc) + 2))" 2>&1 | tee "out/test-$1.log"
}

# What else is built goes beside the tests of the first preset, which wait a lot: with what these leave of the processors.
build_ahead() {
  local what
  renice -n 19 -p "$BASHPID" >/dev/null
  for what in "$@"; do
    if [ "$what" = wheel ]; then
      bash scripts/wheel.sh >out/wheel.log 2>&1 && touch out/wheel.good || true
    else
      (build "$what") >"out/build-$what.log" 2>&1 || true  # said by the phase that builds it
    fi
  done
}
wheel() {
  if [ ! -e out/wheel.log ]; then
    bash scripts/wheel.sh
    return
  fi
  cat out/wheel.log
  [ -e out/wheel.good ]
}

phase "setup" bash scripts/setup.sh --tests
rm -f out/wheel.log out/wheel.good
logs=() ahead=
for preset in "${presets[@]}"; do
  if [ -n "$ahead" ]; then
    phase "builds beside tests" wait "$ahead" || true
    ahead=
  fi
  if [ "$preset" = wheel ]; then
    phase "wheel" wheel || failed+=(wheel)
    continue
  fi
  if ! phase "build $preset" build "$preset"; then
    failed+=("$preset (did not build)")
    continue
  fi
  if [ "$preset" = "${presets[0]}" ] && [ ${#presets[@]} -gt 1 ]; then
    build_ahead "${presets[@]:1}" &
    ahead=$!
  fi
  phase "test $preset" run_tests "$preset" || failed+=("$preset")
  logs+=("out/test-$preset.log")
  phases+=("         $(grep -E '^[0-9]+% tests passed|^No tests were found' "out/test-$preset.log" || echo 'no result')")
done

step "result"
printf '%s\n' "${phases[@]}"
if [ ${#logs[@]} -gt 0 ]; then
  echo "the slowest tests:"
  for log in "${logs[@]}"; do
    # "12/140 Test  #34: name ....   Passed   56.78 sec"
    sed -nE "s/^ *[0-9]+\/[0-9]+ Test +#[0-9]+: ([^ ]+) .* ([0-9.]+) sec.*/\2 s  \1 ($(basename "$log" .log | cut -d- -f2))/p" "$log"
  done | sort -rn | sed -n '1,10s/^/  /p'
fi
if [ ${#failed[@]} -gt 0 ]; then
  die "failed: ${failed[*]}; logs in out/test-PRESET.log and out/wheel.log"
fi
