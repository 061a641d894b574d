#!/usr/bin/env bash
# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Usage: scripts/demo.sh [WORKERS]
#
# Trains a convolutional net on handwritten digits, on 4 workers (or WORKERS)
# in one process: examples/digits.mlir through cs-opt, cs-translate and cs-run.
# Needs no Python. What it writes lies in out/.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

bash scripts/setup.sh
step "building"
build release cs-opt cs-translate cs-run
bin=build/release/bin
mkdir -p out

step "compiling examples/digits.mlir for ${1:-4} workers"
"$bin/cs-opt" --cs-all-reduce-pipeline examples/digits.mlir -o out/digits.schedule.mlir
"$bin/cs-translate" --mlir-to-plan out/digits.schedule.mlir -o out/digits.plan

step "training"
"$bin/cs-run" out/digits.plan --trace out/digits.trace.json
