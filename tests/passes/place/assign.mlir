// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: %cs-opt --assign-devices %s | FileCheck %s
// RUN: cs-opt --assign-devices %s -o %t1
// RUN: cs-opt --assign-devices %t1 -o %t2
// RUN: cmp %t1 %t2
// RUN: %cs-opt --assign-devices %s --remarks-filter=assign-devices -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// The order of the other functions says nothing.
// RUN: sed -n '/^func.func @init/,/^}/p' %s > %t.init
// RUN: sed '/^func.func @init/,/^}/d' %s > %t.rest
// RUN: sed '/^!e =/r %t.init' %t.rest > %t.mlir
// RUN: cs-opt --assign-devices %t.mlir | FileCheck %s --check-prefix=ORDER

// 1000000, 1000, 10 and 500 elements on 3 devices: 0, 1, 2, 2.

cs.cluster @node nodes = 1 devices = 3 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>

!a = !cs.placed<tensor<1000000xf32>, device 0>
!b = !cs.placed<tensor<1000xf32>, device 0>
!c = !cs.placed<tensor<10xf32>, device 0>
!d = !cs.placed<tensor<500xf32>, device 0>
!n = !cs.placed<tensor<i32>, device 0>
!e = !cs.placed<tensor<f32>, device 0>

// REMARK: gradient "a": 4000000 bytes to device 0, which has 4000000 bytes now
// REMARK: gradient "b": 4000 bytes to device 1, which has 4000 bytes now
// REMARK: gradient "c": 40 bytes to device 2, which has 40 bytes now
// REMARK: gradient "d": 2000 bytes to device 2, which has 2040 bytes now

// ORDER-LABEL: func.func @init
// ORDER-SAME: device 1> {cs.updates = "b.m"}
// ORDER-LABEL: func.func @step
// ORDER: cs.fragment "update.a" on 0
// ORDER: cs.fragment "update.b" on 1
// ORDER: cs.fragment "update.c" on 2
// ORDER: cs.fragment "update.d" on 2

// The momentum of b moves with it; the step count, which two updates share,
// stays; b is read on device 0, so that it comes back.

// CHECK-LABEL: func.func @step(
// CHECK-SAME: %{{.*}}: !cs.placed<tensor<1000xf32>, device 0> {cs.param = "b"}, %[[BM:.*]]: !cs.placed<tensor<1000xf32>, device 1> {cs.state = "b.m"}
// CHECK-SAME: %[[N:.*]]: !cs.placed<tensor<i32>, device 0> {cs.state = "count"}
// CHECK-SAME: !cs.placed<tensor<1000xf32>, device 0> {cs.updates = "b"}, !cs.placed<tensor<1000xf32>, device 1> {cs.updates = "b.m"}
// CHECK: %[[G:.*]]:4 = cs.fragment "backward" on 0
// CHECK-DAG: %[[GB:.*]] = cs.copy %[[G]]#1 : !cs.placed<tensor<1000xf32>, device 0> -> !cs.placed<tensor<1000xf32>, device 1>
// CHECK-DAG: %[[GC:.*]] = cs.copy %[[G]]#2 : !cs.placed<tensor<10xf32>, device 0> -> !cs.placed<tensor<10xf32>, device 2>
// CHECK-DAG: %[[GD:.*]] = cs.copy %[[G]]#3 : !cs.placed<tensor<500xf32>, device 0> -> !cs.placed<tensor<500xf32>, device 2>
// CHECK: cs.all_reduce "a" mean %[[G]]#0 : !cs.placed<tensor<1000000xf32>, device 0>
// CHECK: %[[RB:.*]] = cs.all_reduce "b" mean %[[GB]] : !cs.placed<tensor<1000xf32>, device 1>
// CHECK: cs.all_reduce "c" mean %[[GC]] : !cs.placed<tensor<10xf32>, device 2>
// CHECK: cs.all_reduce "d" mean %[[GD]] : !cs.placed<tensor<500xf32>, device 2>
// CHECK: cs.reduce "metric.loss" mean %{{.*}} to 0 : !cs.placed<tensor<f32>, device 0>
// CHECK: cs.fragment "update.a" on 0
// CHECK: %[[UB:.*]]:2 = cs.fragment "update.b" on 1 (%{{.*}}, %[[BM]], %[[RB]], %{{.*}}) deferred
// CHECK-NEXT: %[[UB0:.*]] = cs.copy %[[UB]]#0 : !cs.placed<tensor<1000xf32>, device 1> -> !cs.placed<tensor<1000xf32>, device 0>
// CHECK: cs.fragment "update.c" on 2
// CHECK: cs.fragment "update.d" on 2
// CHECK: return %{{.*}}, %[[UB0]], %[[UB]]#1,
func.func @step(%a: !a {cs.param = "a"}, %b: !b {cs.param = "b"}, %bm: !b {cs.state = "b.m"}, %c: !c {cs.param = "c"},
                %d: !d {cs.param = "d"}, %n: !n {cs.state = "count"}, %x: !c {cs.batch = "x"})
    -> (!a {cs.updates = "a"}, !b {cs.updates = "b"}, !b {cs.updates = "b.m"}, !c {cs.updates = "c"}, !d {cs.updates = "d"},
        !e {cs.metric = "loss"}) attributes {cs.step} {
  %l = cs.fragment "forward" on 0 (%a, %b, %c, %d, %x) cost <flops = 1, bytes = 1, ns = 0> : (!a, !b, !c, !d, !c) -> !e
  %ga, %gb, %gc, %gd = cs.fragment "backward" on 0 (%a, %b, %c, %d, %l) cost <flops = 1, bytes = 1, ns = 0> : (!a, !b, !c, !d, !e) -> (!a, !b, !c, !d)
  %ra = cs.all_reduce "a" mean %ga : !a
  %rb = cs.all_reduce "b" mean %gb : !b
  %rc = cs.all_reduce "c" mean %gc : !c
  %rd = cs.all_reduce "d" mean %gd : !d
  %rl = cs.reduce "metric.loss" mean %l to 0 : !e
  %a1 = cs.fragment "update.a" on 0 (%a, %ra) deferred cost <flops = 1, bytes = 1, ns = 0> : (!a, !a) -> !a
  %b1, %bm1 = cs.fragment "update.b" on 0 (%b, %bm, %rb, %n) deferred cost <flops = 1, bytes = 1, ns = 0> : (!b, !b, !b, !n) -> (!b, !b)
  %c1 = cs.fragment "update.c" on 0 (%c, %rc, %n) deferred cost <flops = 1, bytes = 1, ns = 0> : (!c, !c, !n) -> !c
  %d1 = cs.fragment "update.d" on 0 (%d, %rd) deferred cost <flops = 1, bytes = 1, ns = 0> : (!d, !d) -> !d
  return %a1, %b1, %bm1, %c1, %d1, %rl : !a, !b, !b, !c, !d, !e
}

// CHECK-LABEL: func.func @init(
// CHECK-SAME: !cs.placed<tensor<1000xf32>, device 1> {cs.updates = "b.m"}
// CHECK: %[[I:.*]]:2 = cs.fragment "init" on 0
// CHECK-NEXT: %[[M:.*]] = cs.copy %[[I]]#1 : !cs.placed<tensor<1000xf32>, device 0> -> !cs.placed<tensor<1000xf32>, device 1>
// CHECK-NEXT: return %[[I]]#0, %[[M]]
func.func @init() -> (!b {cs.updates = "b"}, !b {cs.updates = "b.m"}) {
  %b, %m = cs.fragment "init" on 0 () cost <flops = 1, bytes = 1, ns = 0> : () -> (!b, !b)
  return %b, %m : !b, !b
}
