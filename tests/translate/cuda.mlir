// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Fragments as launches: a thread for each element, rows by lanes, sums in chunks, library
// kernels at addresses that are constants, numbers that cross launches in scratch, launches that have become one, updates
// at computed places.
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
// CHECK-NEXT: fragment frag_5 "one launch" inputs 1 outputs 2
// CHECK-NEXT:   launch [[BOTH:nest_[0-9]+_and_[0-9]+]] grid 8 block 256 shared 0 (input 0 + 0, output 0 + 0, output 1 + 0)
// CHECK-NEXT: fragment frag_6 "two launches" inputs 1 outputs 2
// CHECK-NEXT:   launch {{nest_[0-9]+}} grid 8 block 256 shared 0 (input 0 + 0, output 0 + 0)
// CHECK-NEXT:   launch {{nest_[0-9]+}} grid 8 block 256 shared 0 (output 0 + 0, output 1 + 0)
// CHECK-NEXT: fragment frag_7 "updates"
// CHECK:   launch [[UPDATES:nest_[0-9]+]] grid 2 block 256
// CHECK-NEXT:   launch [[UPDATES]]_chain grid 38 block 256
// CHECK-NEXT:   launch [[UPDATES]]_apply grid 59 block 256
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
!i = !cs.placed<tensor<300xi32>, device 0>
!u = !cs.placed<tensor<300x50xf32>, device 0>
func.func @f(%x: !a {cs.state = "x"}, %y: !a {cs.state = "y"}, %w: !b {cs.state = "w"}, %l: !l {cs.state = "l"}, %n: !s {cs.state = "n"}, %at: !i {cs.state = "at"}, %rows: !u {cs.state = "rows"})
    -> (!a {cs.updates = "o1"}, !a {cs.updates = "o2"}, !a {cs.updates = "t1"}, !b {cs.updates = "t2"}, !a {cs.updates = "k"}, !a {cs.updates = "z"}, !r {cs.updates = "r"}, !s {cs.updates = "s"}, !c {cs.updates = "p"}, !c {cs.updates = "q"}, !a {cs.updates = "t"}) {
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
  %o:2 = cs.fragment "one launch" on 0 (%x) : (!a) -> (!a, !a) {
  ^bb0(%a: tensor<40x50xf32>):
    %e = math.exp %a : tensor<40x50xf32>
    %l = math.tanh %e : tensor<40x50xf32>
    cs.return %e, %l : tensor<40x50xf32>, tensor<40x50xf32>
  }
  %v:2 = cs.fragment "two launches" on 0 (%x) : (!a) -> (!a, !b) {
  ^bb0(%a: tensor<40x50xf32>):
    %e = math.exp %a : tensor<40x50xf32>
    %i = tensor.empty() : tensor<50x40xf32>
    %m = linalg.transpose ins(%e : tensor<40x50xf32>) outs(%i : tensor<50x40xf32>) permutation = [1, 0]
    %l = math.tanh %m : tensor<50x40xf32>
    cs.return %e, %l : tensor<40x50xf32>, tensor<50x40xf32>
  }
  %k = cs.fragment "updates" on 0 (%x, %at, %rows) : (!a, !i, !u) -> !a {
  ^bb0(%a: tensor<40x50xf32>, %b: tensor<300xi32>, %u: tensor<300x50xf32>):
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %count = arith.constant 300 : index
    %last = arith.constant 39 : index
    %sums = scf.for %i = %c0 to %count step %c1 iter_args(%old = %a) -> (tensor<40x50xf32>) {
      %g = tensor.extract %b[%i] : tensor<300xi32>
      %j = arith.index_castui %g : i32 to index
      %row = arith.minui %j, %last : index
      %was = tensor.extract_slice %old[%row, 0] [1, 50] [1, 1] : tensor<40x50xf32> to tensor<50xf32>
      %own = tensor.extract_slice %u[%i, 0] [1, 50] [1, 1] : tensor<300x50xf32> to tensor<50xf32>
      %sum = linalg.map ins(%own : tensor<50xf32>) outs(%was : tensor<50xf32>) (%d: f32, %w: f32) {
        %s = arith.addf %w, %d : f32
        linalg.yield %s : f32
      }
      %put = tensor.insert_slice %sum into %old[%row, 0] [1, 50] [1, 1] : tensor<50xf32> into tensor<40x50xf32>
      scf.yield %put : tensor<40x50xf32>
    }
    cs.return %sums : tensor<40x50xf32>
  }
  return %o#0, %o#1, %v#0, %v#1, %k, %z, %r, %s, %p, %q, %t : !a, !a, !a, !b, !a, !a, !r, !s, !c, !c, !a
}
