// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What becomes a library kernel, and with which strides: transposes cost no
// copy, equal kernels are listed once.
// RUN: cs-translate --mlir-to-plan %s -o %t.plan
// RUN: cs-translate --plan-to-text %t.plan | FileCheck %s
// RUN: cs-translate --plan-to-object %t.plan -o %t.so
// RUN: llvm-nm -D --defined-only %t.so | FileCheck %s --check-prefix=EXPORTS
// RUN: llvm-readelf -d %t.so | FileCheck %s --check-prefix=NEEDED

// EXPORTS-COUNT-3: T frag_{{[0-9]+}}
// EXPORTS-NOT: T
// NEEDED-NOT: NEEDED

cs.cluster @one nodes = 1 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>

!a = !cs.placed<tensor<32x16xf32>, device 0>
!b = !cs.placed<tensor<32x24xf32>, device 0>
!c = !cs.placed<tensor<16x24xf32>, device 0>

func.func @f(%a: !a {cs.param = "a"}, %b: !b {cs.param = "b"})
    -> (!c {cs.updates = "c"}, !c {cs.updates = "d"}, !c {cs.updates = "e"}) {
  %c = cs.fragment "transpose" on 0 (%a, %b) : (!a, !b) -> !c {
  ^bb0(%x: tensor<32x16xf32>, %y: tensor<32x24xf32>):
    %zero = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<16x32xf32>
    %t = linalg.transpose ins(%x : tensor<32x16xf32>) outs(%e : tensor<16x32xf32>) permutation = [1, 0]
    %o = tensor.empty() : tensor<16x24xf32>
    %i = linalg.fill ins(%zero : f32) outs(%o : tensor<16x24xf32>) -> tensor<16x24xf32>
    %r = linalg.matmul ins(%t, %y : tensor<16x32xf32>, tensor<32x24xf32>) outs(%i : tensor<16x24xf32>) -> tensor<16x24xf32>
    cs.return %r : tensor<16x24xf32>
  }
  // The same kernel, with a scale behind it.
  %d = cs.fragment "map" on 0 (%a, %b) : (!a, !b) -> !c {
  ^bb0(%x: tensor<32x16xf32>, %y: tensor<32x24xf32>):
    %zero = arith.constant 0.0 : f32
    %two = arith.constant dense<2.0> : tensor<16x24xf32>
    %o = tensor.empty() : tensor<16x24xf32>
    %i = linalg.fill ins(%zero : f32) outs(%o : tensor<16x24xf32>) -> tensor<16x24xf32>
    %r = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (k, m)>, affine_map<(m, n, k) -> (k, n)>,
        affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%x, %y : tensor<32x16xf32>, tensor<32x24xf32>) outs(%i : tensor<16x24xf32>) {
    ^bb1(%p: f32, %q: f32, %z: f32):
      %m = arith.mulf %p, %q : f32
      %s = arith.addf %m, %z : f32
      linalg.yield %s : f32
    } -> tensor<16x24xf32>
    %s = linalg.mul ins(%r, %two : tensor<16x24xf32>, tensor<16x24xf32>) outs(%o : tensor<16x24xf32>) -> tensor<16x24xf32>
    cs.return %s : tensor<16x24xf32>
  }
  // Onto something: another kernel.
  %e = cs.fragment "accumulate" on 0 (%a, %b, %c) : (!a, !b, !c) -> !c {
  ^bb0(%x: tensor<32x16xf32>, %y: tensor<32x24xf32>, %z: tensor<16x24xf32>):
    %e = tensor.empty() : tensor<16x32xf32>
    %t = linalg.transpose ins(%x : tensor<32x16xf32>) outs(%e : tensor<16x32xf32>) permutation = [1, 0]
    %r = linalg.matmul ins(%t, %y : tensor<16x32xf32>, tensor<32x24xf32>) outs(%z : tensor<16x24xf32>) -> tensor<16x24xf32>
    cs.return %r : tensor<16x24xf32>
  }
  return %c, %d, %e : !c, !c, !c
}

// CHECK:      kernels {
// CHECK-NEXT:   kind: "matmul"
// CHECK-NEXT:   operands {
// CHECK-NEXT:     element: F32
// CHECK-NEXT:     dims: [16, 32]
// CHECK-NEXT:     strides: [1, 16]
// CHECK-NEXT:   }
// CHECK-NEXT:   operands {
// CHECK-NEXT:     element: F32
// CHECK-NEXT:     dims: [32, 24]
// CHECK-NEXT:     strides: [24, 1]
// CHECK-NEXT:   }
// CHECK-NEXT:   operands {
// CHECK-NEXT:     element: F32
// CHECK-NEXT:     dims: [16, 24]
// CHECK-NEXT:     strides: [24, 1]
// CHECK-NEXT:   }
// CHECK-NEXT: }
// CHECK:      kernels {
// CHECK:        accumulate: true
// CHECK-NOT:  kernels {
