// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: %cs-opt --expand-collectives=algorithm=ring --verify-distributed %s | FileCheck %s --check-prefixes=CHECK,RING
// RUN: %cs-opt --expand-collectives=algorithm=halving-doubling --verify-distributed %s | FileCheck %s --check-prefixes=CHECK,HALVING

// RING-DAG: #[[RIGHT:.+]] = affine_map<(d0, d1) -> ((d0 + 1) mod 4)>
// RING-DAG: #[[LEFT:.+]] = affine_map<(d0, d1) -> ((d0 - 1) mod 4)>
// RING-DAG: #[[PART:.+]] = affine_map<(d0, d1) -> ((d0 - d1) mod 4, 1)>
// RING-DAG: #[[BEFORE:.+]] = affine_map<(d0, d1) -> ((d0 - d1 - 1) mod 4, 1)>
// RING-DAG: #[[BEFORE2:.+]] = affine_map<(d0, d1) -> ((d0 - d1 - 2) mod 4, 1)>
// RING-DAG: #[[AFTER:.+]] = affine_map<(d0, d1) -> ((d0 - d1 + 1) mod 4, 1)>
// HALVING-DAG: #[[AT2:.+]] = affine_map<(d0, d1) -> (d0 - ((d0 floordiv 2) mod 2) * 4 + 2)>
// HALVING-DAG: #[[OWN2:.+]] = affine_map<(d0, d1) -> ((d0 floordiv 2) * 2, 2)>
// HALVING-DAG: #[[OTHER2:.+]] = affine_map<(d0, d1) -> ((d0 floordiv 2) * 2 - ((d0 floordiv 2) mod 2) * 4 + 2, 2)>
// HALVING-DAG: #[[AT1:.+]] = affine_map<(d0, d1) -> (d0 - (d0 mod 2) * 2 + 1)>
// HALVING-DAG: #[[OWN1:.+]] = affine_map<(d0, d1) -> (d0, 1)>
// HALVING-DAG: #[[OTHER1:.+]] = affine_map<(d0, d1) -> (d0 - (d0 mod 2) * 2 + 1, 1)>
// CHECK-DAG: #[[ALL:.+]] = affine_map<(d0, d1) -> (0, 1)>

cs.cluster @lab nodes = 4 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>

// CHECK-LABEL: func.func @all_reduce
func.func @all_reduce(%v: !cs.placed<tensor<10xf32>, device 0>) -> !cs.placed<tensor<10xf32>, device 0> {
  // CHECK: cs.start "w" (%{{.*}}) {{.*}} attributes {cs.collective = "all_reduce", cs.reduction = "mean"}
  // CHECK-NEXT: ^bb0(%[[V:.+]]: !cs.placed<tensor<10xf32>, device 0>):
  // RING-NEXT: %[[P0:.+]] = cs.exchange %[[V]] chunks 4 rounds 3 sum scale 2.500000e-01 send <parts #[[PART]] to #[[RIGHT]]> recv <parts #[[BEFORE]] to #[[LEFT]]> :
  // RING-NEXT: %[[P:.+]] = cs.exchange %[[P0]] chunks 4 rounds 3 replace send <parts #[[AFTER]] to #[[RIGHT]]> recv <parts #[[PART]] to #[[LEFT]]> :
  // HALVING-NEXT: %[[P0:.+]] = cs.exchange %[[V]] chunks 4 rounds 1 sum send <parts #[[OTHER2]] to #[[AT2]]> recv <parts #[[OWN2]] to #[[AT2]]> :
  // HALVING-NEXT: %[[P1:.+]] = cs.exchange %[[P0]] chunks 4 rounds 1 sum scale 2.500000e-01 send <parts #[[OTHER1]] to #[[AT1]]> recv <parts #[[OWN1]] to #[[AT1]]> :
  // HALVING-NEXT: %[[P2:.+]] = cs.exchange %[[P1]] chunks 4 rounds 1 replace send <parts #[[OWN1]] to #[[AT1]]> recv <parts #[[OTHER1]] to #[[AT1]]> :
  // HALVING-NEXT: %[[P:.+]] = cs.exchange %[[P2]] chunks 4 rounds 1 replace send <parts #[[OWN2]] to #[[AT2]]> recv <parts #[[OTHER2]] to #[[AT2]]> :
  // CHECK-NEXT: cs.return %[[P]]
  %f = cs.start "w" (%v) : (!cs.placed<tensor<10xf32>, device 0>) -> !cs.future<!cs.placed<tensor<10xf32>, device 0>> {
  ^bb0(%x: !cs.placed<tensor<10xf32>, device 0>):
    %r = cs.all_reduce "w" mean %x : !cs.placed<tensor<10xf32>, device 0>
    cs.return %r : !cs.placed<tensor<10xf32>, device 0>
  }
  %r = cs.await %f : !cs.future<!cs.placed<tensor<10xf32>, device 0>>
  return %r : !cs.placed<tensor<10xf32>, device 0>
}

// CHECK-LABEL: func.func @scatter_gather
func.func @scatter_gather(%v: !cs.placed<tensor<8x3xi32>, device 0>) -> !cs.placed<tensor<8x3xi32>, device 0> {
  // CHECK: attributes {cs.collective = "reduce_scatter", cs.reduction = "max"}
  // RING: %[[P:.+]] = cs.exchange %{{.*}} chunks 4 rounds 3 max send <parts #[[BEFORE]] to #[[RIGHT]]> recv <parts #[[BEFORE2]] to #[[LEFT]]> :
  // HALVING-COUNT-1: cs.exchange %{{.*}} chunks 4 rounds 1 max
  // HALVING: %[[P:.+]] = cs.exchange %{{.*}} chunks 4 rounds 1 max send <parts #[[OTHER1]] to #[[AT1]]> recv <parts #[[OWN1]] to #[[AT1]]> :
  // CHECK-NEXT: %[[S:.+]] = cs.shard %[[P]] : !cs.placed<tensor<8x3xi32>, device 0> -> !cs.placed<tensor<2x3xi32>, device 0>
  // CHECK-NEXT: cs.return %[[S]]
  %f = cs.start "s" (%v) : (!cs.placed<tensor<8x3xi32>, device 0>) -> !cs.future<!cs.placed<tensor<2x3xi32>, device 0>> {
  ^bb0(%x: !cs.placed<tensor<8x3xi32>, device 0>):
    %r = cs.reduce_scatter "s" max %x : !cs.placed<tensor<8x3xi32>, device 0> -> !cs.placed<tensor<2x3xi32>, device 0>
    cs.return %r : !cs.placed<tensor<2x3xi32>, device 0>
  }
  %s = cs.await %f : !cs.future<!cs.placed<tensor<2x3xi32>, device 0>>
  // CHECK: attributes {cs.collective = "all_gather"}
  // CHECK: %[[U:.+]] = cs.unshard %{{.*}} : !cs.placed<tensor<2x3xi32>, device 0> -> !cs.placed<tensor<8x3xi32>, device 0>
  // RING-NEXT: %[[G:.+]] = cs.exchange %[[U]] chunks 4 rounds 3 replace send <parts #[[PART]] to #[[RIGHT]]> recv <parts #[[BEFORE]] to #[[LEFT]]> :
  // HALVING-NEXT: cs.exchange %[[U]] chunks 4 rounds 1 replace
  // HALVING-NEXT: %[[G:.+]] = cs.exchange %{{.*}} chunks 4 rounds 1 replace
  // CHECK-NEXT: cs.return %[[G]]
  %g = cs.start "g" (%s) : (!cs.placed<tensor<2x3xi32>, device 0>) -> !cs.future<!cs.placed<tensor<8x3xi32>, device 0>> {
  ^bb0(%x: !cs.placed<tensor<2x3xi32>, device 0>):
    %r = cs.all_gather "g" %x : !cs.placed<tensor<2x3xi32>, device 0> -> !cs.placed<tensor<8x3xi32>, device 0>
    cs.return %r : !cs.placed<tensor<8x3xi32>, device 0>
  }
  %r = cs.await %g : !cs.future<!cs.placed<tensor<8x3xi32>, device 0>>
  return %r : !cs.placed<tensor<8x3xi32>, device 0>
}

// Binomial trees, whatever the algorithm.
// CHECK-LABEL: func.func @rooted
func.func @rooted(%v: !cs.placed<tensor<f64>, device 0>) -> (!cs.placed<tensor<f64>, device 0>, !cs.placed<tensor<f64>, device 0>) {
  // CHECK: attributes {cs.collective = "reduce", cs.reduction = "sum", cs.root = 3 : i64}
  // CHECK: cs.exchange %{{.*}} chunks 1 rounds 1 sum send <parts #[[ALL]] to #{{.+}} when zero #{{.+}}> recv <parts #[[ALL]] to #{{.+}} when zero #{{.+}} nonnegative #{{.+}}> :
  // CHECK-NEXT: cs.exchange %{{.*}} chunks 1 rounds 1 sum
  // CHECK-NEXT: cs.return
  %f = cs.start "r" (%v) : (!cs.placed<tensor<f64>, device 0>) -> !cs.future<!cs.placed<tensor<f64>, device 0>> {
  ^bb0(%x: !cs.placed<tensor<f64>, device 0>):
    %r = cs.reduce "r" sum %x to 3 : !cs.placed<tensor<f64>, device 0>
    cs.return %r : !cs.placed<tensor<f64>, device 0>
  }
  // CHECK: attributes {cs.collective = "broadcast", cs.root = 1 : i64}
  // CHECK: cs.exchange %{{.*}} chunks 1 rounds 1 replace
  // CHECK-NEXT: cs.exchange %{{.*}} chunks 1 rounds 1 replace
  // CHECK-NEXT: cs.return
  %g = cs.start "b" (%v) : (!cs.placed<tensor<f64>, device 0>) -> !cs.future<!cs.placed<tensor<f64>, device 0>> {
  ^bb0(%x: !cs.placed<tensor<f64>, device 0>):
    %r = cs.broadcast "b" %x from 1 : !cs.placed<tensor<f64>, device 0>
    cs.return %r : !cs.placed<tensor<f64>, device 0>
  }
  %r = cs.await %f : !cs.future<!cs.placed<tensor<f64>, device 0>>
  %s = cs.await %g : !cs.future<!cs.placed<tensor<f64>, device 0>>
  return %r, %s : !cs.placed<tensor<f64>, device 0>, !cs.placed<tensor<f64>, device 0>
}
