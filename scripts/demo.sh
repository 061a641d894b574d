#!/usr/bin/env bash
# Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Usage: scripts/demo.sh
#
# Trains a convolutional net on handwritten digits, on 4 workers in one process:
# examples/digits.mlir through cs-opt, cs-translate and cs-run. Installs and
# builds what is missing; needs no Python. What it writes lies in out/.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

bash scripts/setup.sh
step "building"
build release cs-opt cs-translate cs-run
bin=build/release/bin
mkdir -p out

step "compiling examples/digits.mlir"
"$bin/cs-opt" --cs-all-reduce-pipeline examples/digits.mlir -o out/digits.schedule.mlir --report=out/digits.html
"$bin/cs-translate" --mlir-to-plan --plan-summary out/digits.schedule.mlir -o out/digits.plan

step "training"
"$bin/cs-run" out/digits.plan --init examples/digits.init.safetensors \
  --batch examples/digits.train.npz --shuffle --epochs 30 --metrics-every 22 \
  --eval eval --eval-batch examples/digits.test.npz --eval-every 110 \
  --report out/digits.run.html --predicted out/digits.trace.json --save-params out/digits.params.safetensors

step "done"
echo "schedule:   out/digits.schedule.mlir"
echo "plan:       out/digits.plan"
echo "parameters: out/digits.params.safetensors"
echo "report:     out/digits.run.html (open it in a browser; out/digits.html is of the schedule alone)"
echo "trace:      out/digits.run.trace.json (open it in https://ui.perfetto.dev)"
