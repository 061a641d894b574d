// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Messages of coordinate lists in a plan's code: columns of a matrix of words.

// RUN: cs-translate --mlir-to-plan --print-stage=fuse %s -o %t 2>&1 | FileCheck %s
// RUN: cs-translate --plan-to-text %t | FileCheck %s --check-prefix=PLAN

// PLAN-NOT: #cs.coordinates

cs.cluster @lab nodes = 1 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>

!full = !cs.placed<tensor<4x6xi32, #cs.coordinates<tensor<4x8xf32>>>, device 0>
!flat = !cs.placed<tensor<4x6xi32, #cs.coordinates<tensor<32xf32>>>, device 0>
!half = !cs.placed<tensor<4x6xi32, #cs.coordinates<tensor<4x8xbf16>, counted>>, device 0>
func.func @step(%a: !full {cs.state = "a"}, %b: !flat {cs.state = "b"}, %c: !half {cs.state = "c"})
    -> (!full {cs.updates = "a"}, !flat {cs.updates = "b"}, !half {cs.updates = "c"}) attributes {cs.step} {
  // Rows 1 and 2, two times.
  // CHECK: func.func @frag_0(%{{.*}}: !llvm.ptr, %{{.*}}: memref<4x6xi32>, %{{.*}}: memref<4x6xi32>)
  // CHECK: tensor.extract_slice %[[M:.*]][1, 0] [2, 3] [1, 1] : tensor<4x6xi32> to tensor<2x3xi32>
  // CHECK: %[[I:.*]] = tensor.extract_slice %[[M]][1, 3] [2, 3] [1, 1] : tensor<4x6xi32> to tensor<2x3xi32>
  // CHECK: %[[A:.*]] = tensor.insert_slice %[[V:.*]] into %{{.*}}[0, 0] [2, 3] [1, 1] : tensor<2x3xi32> into tensor<4x6xi32>
  // CHECK: %[[B:.*]] = tensor.insert_slice %[[V]] into %[[A]][2, 0] [2, 3]
  // CHECK: %[[C:.*]] = tensor.insert_slice %[[I]] into %[[B]][0, 3] [2, 3]
  // CHECK: tensor.insert_slice %[[I]] into %[[C]][2, 3] [2, 3]
  %x = cs.fragment "full" on 0 (%a) : (!full) -> !full {
  ^bb0(%m: tensor<4x6xi32, #cs.coordinates<tensor<4x8xf32>>>):
    %v, %i = cs.unpack_lists %m from 1 : (tensor<4x6xi32, #cs.coordinates<tensor<4x8xf32>>>) -> (tensor<6xf32>, tensor<6xi32>)
    %s = arith.addf %v, %v : tensor<6xf32>
    %r = cs.pack_lists %s, %i times 2 : (tensor<6xf32>, tensor<6xi32>) -> tensor<4x6xi32, #cs.coordinates<tensor<4x8xf32>>>
    cs.return %r : tensor<4x6xi32, #cs.coordinates<tensor<4x8xf32>>>
  }
  // Lists of another tensor have the same code.
  %y = cs.fragment "flat" on 0 (%b) : (!flat) -> !flat {
  ^bb0(%m: tensor<4x6xi32, #cs.coordinates<tensor<32xf32>>>):
    %v, %i = cs.unpack_lists %m from 1 : (tensor<4x6xi32, #cs.coordinates<tensor<32xf32>>>) -> (tensor<6xf32>, tensor<6xi32>)
    %s = arith.addf %v, %v : tensor<6xf32>
    %r = cs.pack_lists %s, %i times 2 : (tensor<6xf32>, tensor<6xi32>) -> tensor<4x6xi32, #cs.coordinates<tensor<32xf32>>>
    cs.return %r : tensor<4x6xi32, #cs.coordinates<tensor<32xf32>>>
  }
  // Two words for three values; a constant is a message too, and one may be read where
  // it is made.
  // CHECK: func.func @frag_1(
  // CHECK: dense_resource<blob> : tensor<4x6xi32>
  // CHECK: cs.kernel "unpack_words" (%{{.*}}) into (%{{.*}}) {row = 3 : i64} : (tensor<8xi32>), (tensor<12xbf16>) -> tensor<12xbf16>
  // CHECK: cs.kernel "pack_words" (%{{.*}}) into (%{{.*}}) {row = 3 : i64} : (tensor<12xbf16>), (tensor<8xi32>) -> tensor<8xi32>
  // CHECK: cs.kernel "unpack_words"
  // CHECK: cs.kernel "pack_words"
  // CHECK-NOT: #cs.coordinates
  %z = cs.fragment "half" on 0 (%c) : (!half) -> !half {
  ^bb0(%m: tensor<4x6xi32, #cs.coordinates<tensor<4x8xbf16>, counted>>):
    %one = arith.constant dense<1> : tensor<4x6xi32, #cs.coordinates<tensor<4x8xbf16>, counted>>
    %blob = arith.constant dense_resource<blob> : tensor<4x6xi32, #cs.coordinates<tensor<4x8xbf16>, counted>>
    %t0 = arith.addi %m, %one : tensor<4x6xi32, #cs.coordinates<tensor<4x8xbf16>, counted>>
    %u = arith.addi %t0, %blob : tensor<4x6xi32, #cs.coordinates<tensor<4x8xbf16>, counted>>
    %v, %i, %n = cs.unpack_lists %u
        : (tensor<4x6xi32, #cs.coordinates<tensor<4x8xbf16>, counted>>) -> (tensor<12xbf16>, tensor<12xi32>, tensor<4xi32>)
    %s = arith.addf %v, %v : tensor<12xbf16>
    %r = cs.pack_lists %s, %i, %n
        : (tensor<12xbf16>, tensor<12xi32>, tensor<4xi32>) -> tensor<4x6xi32, #cs.coordinates<tensor<4x8xbf16>, counted>>
    %w, %j, %k = cs.unpack_lists %r
        : (tensor<4x6xi32, #cs.coordinates<tensor<4x8xbf16>, counted>>) -> (tensor<12xbf16>, tensor<12xi32>, tensor<4xi32>)
    %t = cs.pack_lists %w, %j, %k
        : (tensor<12xbf16>, tensor<12xi32>, tensor<4xi32>) -> tensor<4x6xi32, #cs.coordinates<tensor<4x8xbf16>, counted>>
    cs.return %t : tensor<4x6xi32, #cs.coordinates<tensor<4x8xbf16>, counted>>
  }
  return %x, %y, %z : !full, !flat, !half
}

{-# dialect_resources: { builtin: { blob: "0x04000000010000000100000001000000010000000100000001000000010000000100000001000000010000000100000001000000010000000100000001000000010000000100000001000000010000000100000001000000010000000100000001000000" } } #-}
