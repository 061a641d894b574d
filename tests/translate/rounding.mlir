// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// To the nearest even number is how fragments round: who says so gets the same plan. Others are refused (invalid.mlir).

// RUN: cs-translate --mlir-to-plan -o %t.said < %s
// RUN: sed 's/ to_nearest_even//' %s | cs-translate --mlir-to-plan -o %t.not
// RUN: cmp %t.said %t.not

cs.cluster @lab nodes = 1 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
!t = !cs.placed<tensor<8xf32>, device 0>
func.func @step(%w: !t {cs.param = "w"}) -> (!t {cs.updates = "w"}) attributes {cs.step} {
  %n = cs.fragment "f" on 0 (%w) : (!t) -> !t {
  ^bb0(%x: tensor<8xf32>):
    %a = arith.truncf %x to_nearest_even : tensor<8xf32> to tensor<8xbf16>
    %b = arith.extf %a : tensor<8xbf16> to tensor<8xf32>
    %c = arith.truncf %b to_nearest_even : tensor<8xf32> to tensor<8xf16>
    %d = arith.extf %c : tensor<8xf16> to tensor<8xf32>
    cs.return %d : tensor<8xf32>
  }
  return %n : !t
}
