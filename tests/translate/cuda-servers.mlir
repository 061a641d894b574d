// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Trainers on CUDA devices, servers on the host: gradients are copied to pinned memory and pushed from
// there, values are pulled to pinned memory and copied to the device.
// RUN: cs-opt --cs-parameter-server-pipeline="servers=2 min-block-elements=8 fuse-blocks=false" --verify-distributed %s -o %t.mlir
// RUN: FileCheck %s --check-prefix=LEVEL2 < %t.mlir
// RUN: cs-translate --mlir-to-plan %t.mlir -o %t.plan
// RUN: cs-translate --plan-to-text %t.plan | FileCheck %s --check-prefix=PLAN
// Copies are the default, and without them it is refused.
// RUN: cs-opt --cs-parameter-server-pipeline="servers=2 min-block-elements=8 fuse-blocks=false copies=overlap" --verify-distributed %s | cmp - %t.mlir
// RUN: not cs-opt --cs-parameter-server-pipeline="servers=2 copies=none" %s 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: cs-opt --cs-parameter-server-pipeline="servers=2 copies=in-line" %s | cs-translate --mlir-to-plan -o %t.in-line.plan
// RUN: cs-translate --plan-to-text %t.in-line.plan | FileCheck %s --check-prefix=IN-LINE
// A ring of staging memory, in which what is sent and what is received have their turns.
// RUN: cs-opt --cs-parameter-server-pipeline="servers=2 staging-bytes=8192" %s | cs-translate --mlir-to-plan -o %t.staged.plan
// RUN: cs-translate --plan-to-text %t.staged.plan | FileCheck %s --check-prefix=STAGED
// Of servers alone there is code for the host; they are the same as for trainers on CPUs.
// RUN: sed 's/kind = cuda/kind = cpu/' %s | cs-opt --cs-parameter-server-pipeline="servers=2 min-block-elements=8 fuse-blocks=false" -o %t.cpu.mlir
// RUN: sed -n '/func.func @server/,/^  }/p' %t.mlir > %t.servers
// RUN: sed -n '/func.func @server/,/^  }/p' %t.cpu.mlir | cmp - %t.servers

// LEVEL2-LABEL: func.func @step(
// LEVEL2: cs.start "w.block0.to_host"
// LEVEL2: cs.start "w.block0" {{.*}}device 0 host
// LEVEL2: cs.start "w.block0.new" {{.*}} after
// LEVEL2: cs.start "w.block0.new.to_device" {{.*}}device 0 host
// LEVEL2-LABEL: func.func @server.0(
// LEVEL2-NOT: host
// LEVEL2: cs.publish

// PLAN-LABEL: name: "step"
// PLAN-NOT: run {
// PLAN: direction: TO_HOST
// PLAN: push {
// PLAN: pull {
// PLAN: direction: TO_DEVICE
// PLAN: host_arena_bytes

// NONE: mode (copies of the pipelines) must be overlap or in-line where devices of kind cuda communicate through the host, got: none
// IN-LINE: in_line: true
// STAGED: name: "staging"
// STAGED-NEXT: host: true

cs.cluster @lab nodes = 2 devices = 1 device = <kind = cuda, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
func.func @step(%w: tensor<64x32xf32> {cs.param = "w"}, %b: tensor<32xf32> {cs.param = "b"}, %x: tensor<16x64xf32> {cs.batch = "x"})
    -> (tensor<64x32xf32> {cs.updates = "w"}, tensor<32xf32> {cs.updates = "b"}) attributes {cs.step} {
  %zero = arith.constant 0.0 : f32
  %e0 = tensor.empty() : tensor<16x32xf32>
  %z0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<16x32xf32>) -> tensor<16x32xf32>
  %p = linalg.matmul ins(%x, %w : tensor<16x64xf32>, tensor<64x32xf32>) outs(%z0 : tensor<16x32xf32>) -> tensor<16x32xf32>
  %bs = linalg.broadcast ins(%b : tensor<32xf32>) outs(%e0 : tensor<16x32xf32>) dimensions = [0]
  %h = arith.addf %p, %bs : tensor<16x32xf32>
  %e1 = tensor.empty() : tensor<64x16xf32>
  %t = linalg.transpose ins(%x : tensor<16x64xf32>) outs(%e1 : tensor<64x16xf32>) permutation = [1, 0]
  %e2 = tensor.empty() : tensor<64x32xf32>
  %z2 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<64x32xf32>) -> tensor<64x32xf32>
  %gw = linalg.matmul ins(%t, %h : tensor<64x16xf32>, tensor<16x32xf32>) outs(%z2 : tensor<64x32xf32>) -> tensor<64x32xf32>
  %e3 = tensor.empty() : tensor<32xf32>
  %z3 = linalg.fill ins(%zero : f32) outs(%e3 : tensor<32xf32>) -> tensor<32xf32>
  %gb = linalg.reduce { arith.addf } ins(%h : tensor<16x32xf32>) outs(%z3 : tensor<32xf32>) dimensions = [0]
  %mw = cs.gradient %gw of "w" : tensor<64x32xf32>
  %mb = cs.gradient %gb of "b" : tensor<32xf32>
  %nw = arith.subf %w, %mw : tensor<64x32xf32>
  %nb = arith.subf %b, %mb : tensor<32xf32>
  return %nw, %nb : tensor<64x32xf32>, tensor<32xf32>
}
