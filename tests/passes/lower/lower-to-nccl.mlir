// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: cs-opt --lower-to-nccl --verify-distributed %s --remarks-filter="lower-to-nccl|verify-distributed" 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks
// What NCCL has stays where it is; the rest goes through the host.
// RUN: cs-opt --lower-to-nccl --expand-collectives --overlap-rpc-memcpy --verify-distributed %s | FileCheck %s --check-prefix=REST
// RUN: sed 's/nodes = 4/nodes = 1/' %s | cs-opt --lower-to-nccl --expand-collectives | FileCheck %s --check-prefix=ONE
// RUN: cs-opt --lower-to-nccl --expand-collectives=algorithm=ring %s | FileCheck %s --check-prefix=RING
// RING: cs.exchange
// RUN: sed 's/4xi8/4xf32/' %s | not cs-opt --lower-to-nccl --expand-collectives=algorithm=ring 2>&1 | FileCheck %s --check-prefix=CHOICE
// CHOICE: error: expand-collectives: algorithm must be auto where no collective has a choice, got: ring
// CHOICE-NOT: {{.}}

cs.cluster @lab nodes = 4 devices = 1 device = <kind = cuda, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>

!w = !cs.placed<tensor<8xf32>, device 0>
!n = !cs.placed<tensor<4xi8>, device 0>

// The turns of the schedule, but for "c", whose value is needed before "b" begins.
// CHECK-LABEL: func.func @step
// CHECK: cs.start "a" {{.*}} attributes {cs.nccl = #cs.nccl<lane = 0, number = 0>}
// CHECK: cs.start "c" {{.*}} attributes {cs.nccl = #cs.nccl<lane = 0, number = 1>}
// CHECK: cs.start "n"
// CHECK-NOT: cs.nccl
// CHECK: cs.await %c
// CHECK: cs.start "b" {{.*}} attributes {cs.nccl = #cs.nccl<lane = 0, number = 2>}
// CHECK: cs.start "d" {{.*}} attributes {cs.nccl = #cs.nccl<lane = 0, number = 3>}
// CHECK-NOT: cs.turn
// A function without turns has the order of its program.
// CHECK-LABEL: func.func @eval
// CHECK: cs.start "y" {{.*}} attributes {cs.nccl = #cs.nccl<lane = 0, number = 0>}
// CHECK: cs.start "z" {{.*}} attributes {cs.nccl = #cs.nccl<lane = 0, number = 1>}

// REMARK-DAG: "n" is not for NCCL: its elements have one byte
// REMARK-DAG: @step: 4 collectives by NCCL
// REMARK-DAG: no circular wait

// REST: cs.start "n.to_host"
// REST: cs.start "a"
// REST-NOT: cs.exchange
// REST: cs.start "n"
// REST: cs.exchange
// REST: cs.start "n.to_device"
// REST-NOT: .to_host
// REST-NOT: cs.exchange
// ONE-NOT: cs.start
func.func @step(%w: !w {cs.param = "w"}, %n: !n {cs.param = "n"})
    -> (!w {cs.updates = "w"}, !w {cs.updates = "v"}, !w {cs.updates = "u"}, !w {cs.updates = "t"}, !n {cs.updates = "n"}) attributes {cs.step} {
  %d = cs.start "d" (%w) : (!w) -> !cs.future<!w> attributes {cs.turn = 3 : i64} {
  ^bb0(%x: !w):
    %r = cs.all_reduce "d" mean %x : !w
    cs.return %r : !w
  }
  %a = cs.start "a" (%w) : (!w) -> !cs.future<!w> attributes {cs.turn = 0 : i64} {
  ^bb0(%x: !w):
    %r = cs.all_reduce "a" mean %x : !w
    cs.return %r : !w
  }
  %c = cs.start "c" priority 1 (%w) : (!w) -> !cs.future<!w> attributes {cs.turn = 2 : i64} {
  ^bb0(%x: !w):
    %r = cs.all_reduce "c" mean %x : !w
    cs.return %r : !w
  }
  %k = cs.start "n" (%n) : (!n) -> !cs.future<!n> attributes {cs.turn = 1 : i64} {
  ^bb0(%x: !n):
    %r = cs.all_reduce "n" max %x : !n
    cs.return %r : !n
  }
  %rc = cs.await %c : !cs.future<!w>
  %b = cs.start "b" (%rc) : (!w) -> !cs.future<!w> attributes {cs.turn = 1 : i64} {
  ^bb0(%x: !w):
    %r = cs.all_reduce "b" mean %x : !w
    cs.return %r : !w
  }
  %ra = cs.await %a : !cs.future<!w>
  %rb = cs.await %b : !cs.future<!w>
  %rd = cs.await %d : !cs.future<!w>
  %rn = cs.await %k : !cs.future<!n>
  return %ra, %rb, %rc, %rd, %rn : !w, !w, !w, !w, !n
}
func.func @eval(%w: !w {cs.param = "w"}) -> (!w {cs.updates = "s"}, !w {cs.updates = "q"}) {
  %y = cs.start "y" priority 5 (%w) : (!w) -> !cs.future<!w> {
  ^bb0(%x: !w):
    %r = cs.all_reduce "y" sum %x : !w
    cs.return %r : !w
  }
  %z = cs.start "z" (%w) : (!w) -> !cs.future<!w> {
  ^bb0(%x: !w):
    %r = cs.all_reduce "z" sum %x : !w
    cs.return %r : !w
  }
  %ry = cs.await %y : !cs.future<!w>
  %rz = cs.await %z : !cs.future<!w>
  return %ry, %rz : !w, !w
}
