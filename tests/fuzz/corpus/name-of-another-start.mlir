// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A name that one start uses and another defines, with another type.

cs.cluster @lab nodes = 4 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>

func.func @all_reduce(%v: !cs.placed<tensor<10xf32>, device 0>) -> !cs.placed<tensor<10xf32>, device 0> {
  %f = cs.start "w" (%v) : (!cs.placed<tensor<10xf32>, device 0>) -> !cs.future<!cs.placed<tensor<10xf32>, device 0>> {
  ^bb0(%x: !cs.placed<tensor<10xf32>, device 0>):
    %r = cs.all_reduce "w" mean %x : !cs.placed<tensor<10xf32>, device 0>
    cs.return %r : !cs.placed<tensor<10xf32>, device 0>
  }
  %r = cs.await %f : !cs.future<!cs.placed<tensor<10xf32>, device 0>>
  return %r : !cs.placed<tensor<10xf32>, device 0>
}

func.func @scatter_gather(%v: !cs.placed<tensor<8x3xi32>, device 0>) -> !cs.placed<tensor<8x3xi32>, device 0> {
  %f = cs.start "s" (%v) : (!cs.placed<tensor<8x3xi32>, device 0>) -> !cs.future<!cs.placed<tensor<2x3xi32>, device 0>> {
  ^bb0(%x: !cs.placed<tensor<8x3xi32>, device 0>):
    cs.return %r : !cs.placed<tensor<2x3xi32>, device 0>
  }
  %s = cs.await %f : !cs.future<!cs.placed<tensor<2x3xi32>, device 0>>
  %g = cs.start "g" (%s) : (!cs.placed<tensor<2x3xi32>, device 0>) -> !cs.future<!cs.placed<tensor<8x3xi32>, device 0>> {
  ^bb0(%x: !cs.placed<tensor<2x3xi32>, device 0>):
    %r = cs.all_gather "g" %x : !cs.placed<tensor<2x3xi32>, device 0> -> !cs.placed<tensor<8x3xi32>, device 0>
    cs.return %r : !cs.placed<tensor<8x3xi32>, device 0>
  }
  %r = cs.await %g : !cs.future<!cs.placed<tensor<8x3xi32>, device 0>>
  return %r : !cs.placed<tensor<8x3xi32>, device 0>
}

// Binomial trees, whatever the algorithm.
func.func @rooted(%v: !cs.placed<tensor<f64>, device 0>) -> (!cs.placed<tensor<f64>, device 0>, !cs.placed<tensor<f64>, device 0>) {
  %f = cs.start "r" (%v) : (!cs.placed<tensor<f64>, device 0>) -> !cs.future<!cs.placed<tensor<f64>, device 0>> {
  ^bb0(%x: !cs.placed<tensor<f64>, device 0>):
    %r = cs.reduce "r" sum %x to 3 : !cs.placed<tensor<f64>, device 0>
    cs.return %r : !cs.placed<tensor<f64>, device 0>
  }
  %g = cs.start "b" (%v) : (!cs.placed<tensor<f64>, device 0>) -> !cs.future<!cs.placed<tensor<f64>, device 0>> {
  ^bb0(%x: !cs.placed<tensor<f64>, device 0>):
    %r = cs.broadcast "b" %x from 1 : !cs.placed<tensor<f64>, device 0>
    cs.return %r : !cs.placed<tensor<f64>, device 0>
  }
  %r = cs.await %f : !cs.future<!cs.placed<tensor<f64>, device 0>>
  %s = cs.await %g : !cs.future<!cs.placed<tensor<f64>, device 0>>
  return %r, %s : !cs.placed<tensor<f64>, device 0>, !cs.placed<tensor<f64>, device 0>
}
