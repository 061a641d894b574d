// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A sum of bf16 is kept in f32 and rounded once, in its user; a sum of f32 in bf16 stays; a maximum takes its operand
// as it is stored.
// RUN: cs-translate --mlir-to-plan --print-stage=fuse %s -o %t 2>&1 | FileCheck %s
// No value of bf16 reaches LLVM, and nothing but integer arithmetic makes one.
// RUN: cs-translate --mlir-to-plan --print-stage=llvm-opt %s -o %t 2>&1 | FileCheck %s --check-prefix=LLVM --implicit-check-not=bfloat

// CHECK-LABEL: func.func @frag_0
// CHECK: linalg.generic {{.*}}iterator_types = ["parallel", "reduction"]}
// CHECK-SAME: outs({{.*}} : tensor<8xf32>)
// CHECK: ^bb0(%[[X:.*]]: bf16, %[[SUM:.*]]: f32):
// CHECK: %[[WIDE:.*]] = arith.extf %[[X]] {{.*}}: bf16 to f32
// CHECK: arith.addf %[[SUM]], %[[WIDE]] : f32
// CHECK: linalg.generic {{.*}}iterator_types = ["parallel"]}
// CHECK: arith.truncf %{{.*}} : f32 to bf16
// CHECK: math.floor %{{.*}} : bf16

// CHECK: linalg.generic {{.*}}iterator_types = ["parallel", "reduction"]}
// CHECK-SAME: outs({{.*}} : tensor<8xbf16>)
// CHECK: arith.addf %{{.*}} : bf16

// CHECK: linalg.generic {{.*}}iterator_types = ["parallel", "reduction"]}
// CHECK-SAME: outs({{.*}} : tensor<8xf32>)
// CHECK: %[[AS:.*]] = arith.extf %{{.*}} : bf16 to f32
// CHECK: arith.maximumf %{{.*}}, %[[AS]] : f32

// LLVM: define {{.*}} @nest_
// LLVM: lshr <{{.*}} x i32>

cs.cluster @one nodes = 1 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>

!a = !cs.placed<tensor<8x64xbf16>, device 0>
!b = !cs.placed<tensor<8x64xf32>, device 0>
!r = !cs.placed<tensor<8xbf16>, device 0>
#rows = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
#id = affine_map<(i) -> (i)>

func.func @f(%p0: !a {cs.state = "a"}, %p1: !b {cs.state = "b"})
    -> (!r {cs.updates = "sum"}, !r {cs.updates = "narrow"}, !r {cs.updates = "max"}) {
  %f:3 = cs.fragment "f" on 0 (%p0, %p1) : (!a, !b) -> (!r, !r, !r) {
  ^bb0(%x: tensor<8x64xbf16>, %y: tensor<8x64xf32>):
    %zero = arith.constant 0.0 : bf16
    %low = arith.constant 0xFF80 : bf16
    %e = tensor.empty() : tensor<8xbf16>
    %zeros = linalg.fill ins(%zero : bf16) outs(%e : tensor<8xbf16>) -> tensor<8xbf16>
    %lows = linalg.fill ins(%low : bf16) outs(%e : tensor<8xbf16>) -> tensor<8xbf16>
    %sum = linalg.generic {indexing_maps = [#rows, #row], iterator_types = ["parallel", "reduction"]}
        ins(%x : tensor<8x64xbf16>) outs(%zeros : tensor<8xbf16>) {
    ^bb1(%v: bf16, %s: bf16):
      %n = arith.addf %s, %v : bf16
      linalg.yield %n : bf16
    } -> tensor<8xbf16>
    %floor = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
        ins(%sum : tensor<8xbf16>) outs(%e : tensor<8xbf16>) {
    ^bb1(%v: bf16, %s: bf16):
      %n = math.floor %v : bf16
      linalg.yield %n : bf16
    } -> tensor<8xbf16>
    %narrow = linalg.generic {indexing_maps = [#rows, #row], iterator_types = ["parallel", "reduction"]}
        ins(%y : tensor<8x64xf32>) outs(%zeros : tensor<8xbf16>) {
    ^bb1(%v: f32, %s: bf16):
      %t = arith.truncf %v : f32 to bf16
      %n = arith.addf %s, %t : bf16
      linalg.yield %n : bf16
    } -> tensor<8xbf16>
    %max = linalg.generic {indexing_maps = [#rows, #row], iterator_types = ["parallel", "reduction"]}
        ins(%x : tensor<8x64xbf16>) outs(%lows : tensor<8xbf16>) {
    ^bb1(%v: bf16, %s: bf16):
      %n = arith.maximumf %s, %v : bf16
      linalg.yield %n : bf16
    } -> tensor<8xbf16>
    cs.return %floor, %narrow, %max : tensor<8xbf16>, tensor<8xbf16>, tensor<8xbf16>
  }
  return %f#0, %f#1, %f#2 : !r, !r, !r
}
