// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A plan of a cluster with CUDA devices: fragments as launches, memories told apart.
// RUN: cs-opt --cs-all-reduce-pipeline=nccl=true %s -o %t.nccl.mlir
// RUN: cs-translate --mlir-to-plan %t.nccl.mlir -o %t.nccl.plan
// RUN: cs-translate --mlir-to-plan %t.nccl.mlir -o %t.again
// RUN: cmp %t.nccl.plan %t.again
// RUN: cs-translate --plan-to-text %t.nccl.plan | FileCheck %s --check-prefix=NCCL
// RUN: FileCheck %s --check-prefix=LEVEL2 < %t.nccl.mlir
// Without NCCL through the host: copies are the default, and without them it is refused.
// RUN: cs-opt --cs-all-reduce-pipeline %s -o %t.host.mlir
// RUN: cs-opt --cs-all-reduce-pipeline=copies=overlap %s | cmp - %t.host.mlir
// RUN: cs-translate --mlir-to-plan %t.host.mlir -o %t.host.plan
// RUN: cs-translate --plan-to-text %t.host.plan | FileCheck %s --check-prefix=HOST
// RUN: cs-opt --cs-all-reduce-pipeline=staging-bytes=8192 %s | cs-translate --mlir-to-plan -o %t.staged.plan
// RUN: cs-translate --plan-to-text %t.staged.plan | FileCheck %s --check-prefix=STAGED
// RUN: cs-opt --cs-all-reduce-pipeline=copies=in-line %s | cs-translate --mlir-to-plan -o %t.inline.plan
// RUN: not cs-opt --cs-all-reduce-pipeline=copies=none %s 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: cs-opt --insert-dist-comm --schedule-comm --expand-collectives %s | not cs-translate --mlir-to-plan 2>&1 | FileCheck %s --check-prefix=DEVICE
// RUN: cs-opt --cs-all-reduce-pipeline="nccl=true copies=none" %s | cmp - %t.nccl.mlir
// RUN: sed 's/kind = cuda/kind = cpu/' %s | not cs-opt --cs-all-reduce-pipeline=nccl=true 2>&1 | FileCheck %s --check-prefix=CPU
// Servers run on hosts, and so does what gives them initial values.
// RUN: cs-opt --cs-parameter-server-pipeline=servers=2 %s | cs-translate --mlir-to-plan -o %t.servers.plan
// RUN: cs-translate --plan-to-text %t.servers.plan | FileCheck %s --check-prefix=SERVERS
// RUN: cs-opt --insert-dist-comm=mode=parameter-server --schedule-comm --expand-collectives %s | not cs-translate --mlir-to-plan 2>&1 | FileCheck %s --check-prefix=PUSH

// LEVEL2: cs.start "{{.*}}" {{.*}} attributes {cs.nccl = #cs.nccl<lane = 0, number = 0>} {
// LEVEL2-NOT: .to_host
// LEVEL2-NOT: cs.exchange

// Exchanges, kernels, parts of buffers, CUDA, NCCL.
// NCCL: required_features: 393350
// NCCL-NOT: host_arena_bytes
// NCCL-NOT: host: true
// NCCL-NOT: run {
// NCCL: launch {
// NCCL: nccl {
// NCCL-NEXT: reduction: MEAN
// NCCL-NEXT: }
// NCCL-NOT: phases
// NCCL-NOT: objects {
// NCCL: kernels {
// NCCL: cuda {
// NCCL-NEXT: ptx: "({{[0-9]+}} bytes)"
// NCCL-NEXT: architecture: "sm_90"
// NCCL: library {
// NCCL: kernel: "nest_

// HOST: required_features: 131462
// HOST: host: true
// HOST: direction: TO_HOST
// HOST: phases {
// HOST: direction: TO_DEVICE
// HOST-NOT: nccl
// HOST: host_arena_bytes
// HOST: cuda {
// STAGED: name: "staging"
// STAGED-NEXT: host: true
// STAGED: host_arena_bytes: 8192
// NONE: mode (copies of the pipelines) must be overlap or in-line where devices of kind cuda communicate through the host, got: none
// DEVICE: error: "{{[^"]+}}" is in memory of a CUDA device, from which the host does not send: run --overlap-rpc-memcpy, which makes the copies, or --lower-to-nccl
// PUSH: error: "{{[^"]+}}" is in memory of a CUDA device
// CPU: error: 'cs.cluster' op must have devices of kind cuda for algorithm=nccl, got: cpu

// SERVERS: name: "step"
// SERVERS-NOT: run {
// SERVERS: push {
// SERVERS: name: "init"
// SERVERS: launch {
// SERVERS: host {
// SERVERS-NEXT: symbol: "frag_
// SERVERS: functions {
// SERVERS-NOT: launch {
// SERVERS: run {
// SERVERS: objects {

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
func.func @init() -> (tensor<64x32xf32> {cs.updates = "w"}, tensor<32xf32> {cs.updates = "b"}) {
  %w = arith.constant dense<0.5> : tensor<64x32xf32>
  %b = arith.constant dense<0.25> : tensor<32xf32>
  return %w, %b : tensor<64x32xf32>, tensor<32xf32>
}
