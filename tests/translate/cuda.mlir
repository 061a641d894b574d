// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Fragments as launches: a thread for each element, rows by lanes, sums in chunks, library
// kernels at addresses that are constants, numbers that cross launches in scratch.
// RUN: cs-translate --mlir-to-cuda %s -o %t.1
// RUN: cs-translate --mlir-to-cuda %s -o %t.2
// RUN: cmp %t.1 %t.2
// RUN: FileCheck %s < %t.1
// RUN: FileCheck %s --check-prefix=NOT < %t.1

// Nothing that the assembler may contract, nothing that it does not have.
// NOT-NOT: {{(add|sub|mul)\.f(32|64) }}
// NOT-NOT: .extern .func
// NOT-NOT: __nv_

// CHECK: library kernel 0 {kind: "matmul"
// CHECK: fragment frag_0 "elements" inputs 2 outputs 1 scratch 0
// CHECK-NEXT:   launch [[E:nest_[0-9]+]] grid 8 block 256 shared 0 (input 0 + 0, input 1 + 0, output 0 + 0)
// CHECK-NEXT: fragment frag_1 "rows"
// CHECK:   launch [[ROWS:nest_[0-9]+_from_[0-9]+]] grid 5 block 256 shared 0 (input 0 + 0, output 0 + 0)
// CHECK-NEXT: fragment frag_2 "all"
// CHECK:   launch [[ALL:nest_[0-9]+_from_[0-9]+]] grid 25 block 256 shared 32 (input 0 + 0, output 0 + 0, scratch + {{[0-9]+}})
// CHECK-NEXT:   launch [[ALL]]_finish grid 1 block 256 shared 0 (input 0 + 0, output 0 + 0, scratch + {{[0-9]+}})
// CHECK-NEXT: fragment frag_3 "product", "product again" inputs 2 outputs 1
// CHECK-NEXT:   library 0 (input 0 + 0, input 1 + 0, output 0 + 0)
// CHECK-NEXT: fragment frag_4 "number"
// CHECK-NEXT:   launch {{nest_[0-9]+}} grid 1 block 1 shared 0 (input 1 + 0, scratch + [[SLOT:[0-9]+]])
// CHECK-NEXT:   launch {{nest_[0-9]+}} grid 8 block 256 shared 0 ({{.*}}scratch + [[SLOT]]{{.*}})
// CHECK: ptx
// CHECK: .version 8.0
// CHECK-NEXT: .target sm_90
// CHECK-DAG: .entry [[E]](
// CHECK-DAG: .entry [[ROWS]](
// CHECK-DAG: shfl.sync.down.b32
// CHECK-DAG: fma.rn.f32

cs.cluster @one nodes = 1 devices = 1 device = <kind = cuda, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>

!a = !cs.placed<tensor<40x50xf32>, device 0>
!b = !cs.placed<tensor<50x40xf32>, device 0>
!c = !cs.placed<tensor<40x40xf32>, device 0>
!r = !cs.placed<tensor<40xf32>, device 0>
!l = !cs.placed<tensor<200000xf32>, device 0>
!s = !cs.placed<tensor<f32>, device 0>
func.func @f(%x: !a {cs.state = "x"}, %y: !a {cs.state = "y"}, %w: !b {cs.state = "w"}, %l: !l {cs.state = "l"}, %n: !s {cs.state = "n"})
    -> (!a {cs.updates = "z"}, !r {cs.updates = "r"}, !s {cs.updates = "s"}, !c {cs.updates = "p"}, !c {cs.updates = "q"}, !a {cs.updates = "t"}) {
  %z = cs.fragment "elements" on 0 (%x, %y) : (!a, !a) -> !a {
  ^bb0(%a: tensor<40x50xf32>, %b: tensor<40x50xf32>):
    %e = math.exp %a : tensor<40x50xf32>
    %m = arith.mulf %e, %b : tensor<40x50xf32>
    %c = arith.addf %m, %a : tensor<40x50xf32>
    cs.return %c : tensor<40x50xf32>
  }
  %r = cs.fragment "rows" on 0 (%x) : (!a) -> !r {
  ^bb0(%a: tensor<40x50xf32>):
    %zero = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<40xf32>
    %i = linalg.fill ins(%zero : f32) outs(%e : tensor<40xf32>) -> tensor<40xf32>
    %s = linalg.reduce {arith.addf} ins(%a : tensor<40x50xf32>) outs(%i : tensor<40xf32>) dimensions = [1]
    cs.return %s : tensor<40xf32>
  }
  %s = cs.fragment "all" on 0 (%l) : (!l) -> !s {
  ^bb0(%a: tensor<200000xf32>):
    %zero = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<f32>
    %i = linalg.fill ins(%zero : f32) outs(%e : tensor<f32>) -> tensor<f32>
    %s = linalg.reduce {arith.addf} ins(%a : tensor<200000xf32>) outs(%i : tensor<f32>) dimensions = [0]
    cs.return %s : tensor<f32>
  }
  %p = cs.fragment "product" on 0 (%x, %w) : (!a, !b) -> !c {
  ^bb0(%a: tensor<40x50xf32>, %b: tensor<50x40xf32>):
    %zero = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<40x40xf32>
    %i = linalg.fill ins(%zero : f32) outs(%e : tensor<40x40xf32>) -> tensor<40x40xf32>
    %m = linalg.matmul ins(%a, %b : tensor<40x50xf32>, tensor<50x40xf32>) outs(%i : tensor<40x40xf32>) -> tensor<40x40xf32>
    cs.return %m : tensor<40x40xf32>
  }
  %q = cs.fragment "product again" on 0 (%y, %w) : (!a, !b) -> !c {
  ^bb0(%a: tensor<40x50xf32>, %b: tensor<50x40xf32>):
    %zero = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<40x40xf32>
    %i = linalg.fill ins(%zero : f32) outs(%e : tensor<40x40xf32>) -> tensor<40x40xf32>
    %m = linalg.matmul ins(%a, %b : tensor<40x50xf32>, tensor<50x40xf32>) outs(%i : tensor<40x40xf32>) -> tensor<40x40xf32>
    cs.return %m : tensor<40x40xf32>
  }
  %t = cs.fragment "number" on 0 (%x, %n) : (!a, !s) -> !a {
  ^bb0(%a: tensor<40x50xf32>, %b: tensor<f32>):
    %number = tensor.extract %b[] : tensor<f32>
    %e = tensor.empty() : tensor<40x50xf32>
    %i = linalg.fill ins(%number : f32) outs(%e : tensor<40x50xf32>) -> tensor<40x50xf32>
    %o = linalg.sub ins(%i, %a : tensor<40x50xf32>, tensor<40x50xf32>) outs(%e : tensor<40x50xf32>) -> tensor<40x50xf32>
    cs.return %o : tensor<40x50xf32>
  }
  return %z, %r, %s, %p, %q, %t : !a, !r, !s, !c, !c, !a
}
