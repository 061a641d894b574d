// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: %cs-opt %s | FileCheck %s
// RUN: %cs-opt %s --mlir-print-op-generic | %cs-opt | FileCheck %s

// CHECK-LABEL: func.func @pack(
// CHECK-SAME: -> tensor<1x6xi32, #cs.coordinates<tensor<4x8xf32>>>
func.func @pack(%v: tensor<3xf32>, %i: tensor<3xi32>) -> tensor<1x6xi32, #cs.coordinates<tensor<4x8xf32>>> {
  // CHECK: %[[M:.*]] = cs.pack_lists %{{.*}}, %{{.*}} : (tensor<3xf32>, tensor<3xi32>) -> tensor<1x6xi32, #cs.coordinates<tensor<4x8xf32>>>
  %m = cs.pack_lists %v, %i : (tensor<3xf32>, tensor<3xi32>) -> tensor<1x6xi32, #cs.coordinates<tensor<4x8xf32>>>
  // CHECK: cs.pack_lists %{{.*}}, %{{.*}} times 2 : (tensor<3xf32>, tensor<3xi32>) -> tensor<2x6xi32, #cs.coordinates<tensor<4x8xf32>>>
  %n = cs.pack_lists %v, %i times 2 : (tensor<3xf32>, tensor<3xi32>) -> tensor<2x6xi32, #cs.coordinates<tensor<4x8xf32>>>
  // CHECK: return %[[M]]
  return %m : tensor<1x6xi32, #cs.coordinates<tensor<4x8xf32>>>
}

// Four lists of two.
// CHECK-LABEL: func.func @rounded
func.func @rounded(%v: tensor<6xf32>, %i: tensor<6xi32>, %n: tensor<2xi32>) {
  // CHECK: %{{.*}}, %{{.*}} = cs.pack_lists %{{.*}}, %{{.*}} : (tensor<6xf32>, tensor<6xi32>) -> (tensor<2x5xi32, #cs.coordinates<tensor<4x8xf32>, i8>>, tensor<6xf32>)
  %a, %e = cs.pack_lists %v, %i : (tensor<6xf32>, tensor<6xi32>) -> (tensor<2x5xi32, #cs.coordinates<tensor<4x8xf32>, i8>>, tensor<6xf32>)
  // CHECK: cs.pack_lists %{{.*}}, %{{.*}}, %{{.*}} : (tensor<6xf32>, tensor<6xi32>, tensor<2xi32>) -> tensor<2x6xi32, #cs.coordinates<tensor<4x8xf32>, bf16, counted>>
  %b = cs.pack_lists %v, %i, %n : (tensor<6xf32>, tensor<6xi32>, tensor<2xi32>) -> tensor<2x6xi32, #cs.coordinates<tensor<4x8xf32>, bf16, counted>>
  // The type of the tensor need not be said.
  // CHECK: cs.unpack_lists %{{.*}} : (tensor<1x6xi32, #cs.coordinates<tensor<4x8xf32>>>) -> (tensor<3xf32>, tensor<3xi32>)
  %m = arith.constant dense<0> : tensor<1x6xi32, #cs.coordinates<tensor<4x8xf32>, f32>>
  %r, %j = cs.unpack_lists %m : (tensor<1x6xi32, #cs.coordinates<tensor<4x8xf32>, f32>>) -> (tensor<3xf32>, tensor<3xi32>)
  return
}

// CHECK-LABEL: func.func @counted
func.func @counted(%v: tensor<8xf32>, %i: tensor<8xi32>, %n: tensor<4xi32>) {
  // CHECK: cs.pack_lists %{{.*}}, %{{.*}}, %{{.*}} times 2 : (tensor<8xf32>, tensor<8xi32>, tensor<4xi32>) -> tensor<8x5xi32, #cs.coordinates<tensor<4x8xf32>, counted>>
  %m = cs.pack_lists %v, %i, %n times 2
      : (tensor<8xf32>, tensor<8xi32>, tensor<4xi32>) -> tensor<8x5xi32, #cs.coordinates<tensor<4x8xf32>, counted>>
  // CHECK: cs.unpack_lists %{{.*}} from 4 : (tensor<8x5xi32, #cs.coordinates<tensor<4x8xf32>, counted>>) -> (tensor<8xf32>, tensor<8xi32>, tensor<4xi32>)
  %a, %b, %c = cs.unpack_lists %m from 4
      : (tensor<8x5xi32, #cs.coordinates<tensor<4x8xf32>, counted>>) -> (tensor<8xf32>, tensor<8xi32>, tensor<4xi32>)
  return
}

// Two values of 16 bits a word: of one value 1 word, of two 1, of three 2.
// CHECK-LABEL: func.func @halves
func.func @halves(%a: tensor<2x2xi32, #cs.coordinates<tensor<8xf16>>>, %b: tensor<2x3xi32, #cs.coordinates<tensor<8xf16>>>,
                  %c: tensor<2x6xi32, #cs.coordinates<tensor<8xbf16>, counted>>) {
  // CHECK: -> (tensor<2xf16>, tensor<2xi32>)
  %v, %i = cs.unpack_lists %a : (tensor<2x2xi32, #cs.coordinates<tensor<8xf16>>>) -> (tensor<2xf16>, tensor<2xi32>)
  // CHECK: -> (tensor<4xf16>, tensor<4xi32>)
  %w, %j = cs.unpack_lists %b : (tensor<2x3xi32, #cs.coordinates<tensor<8xf16>>>) -> (tensor<4xf16>, tensor<4xi32>)
  // CHECK: -> (tensor<6xbf16>, tensor<6xi32>, tensor<2xi32>)
  %x, %k, %n = cs.unpack_lists %c
      : (tensor<2x6xi32, #cs.coordinates<tensor<8xbf16>, counted>>) -> (tensor<6xbf16>, tensor<6xi32>, tensor<2xi32>)
  return
}

// As many elements as there are.
// CHECK-LABEL: func.func private @whole(tensor<1x16xi32, #cs.coordinates<tensor<8xf32>>>)
func.func private @whole(tensor<1x16xi32, #cs.coordinates<tensor<8xf32>>>)

// What moves messages leaves them what they are.
!own = !cs.placed<tensor<2x6xi32, #cs.coordinates<tensor<4x8xf32>>>, device 0>
// CHECK-LABEL: func.func @moved
func.func @moved(%m: !own) -> !cs.placed<tensor<8x6xi32, #cs.coordinates<tensor<4x8xf32>>>, device 1> {
  // CHECK: cs.pair_exchange "w.round0" %{{.*}} distance 1 : !cs.placed<tensor<2x6xi32, #cs.coordinates<tensor<4x8xf32>>>, device 0>
  %p = cs.pair_exchange "w.round0" %m distance 1 : !own
  // CHECK: cs.all_to_all "w.split" %{{.*}} : !cs.placed<tensor<2x6xi32, #cs.coordinates<tensor<4x8xf32>>>, device 0>
  %a = cs.all_to_all "w.split" %p : !own
  // CHECK: cs.concat %{{.*}}, %{{.*}} : !cs.placed<tensor<2x6xi32, #cs.coordinates<tensor<4x8xf32>>>, device 0>, !cs.placed<tensor<2x6xi32, #cs.coordinates<tensor<4x8xf32>>>, device 0>
  %c = cs.concat %p, %a : !own, !own
  // CHECK: cs.all_gather "w" %{{.*}} : !cs.placed<tensor<4x6xi32, #cs.coordinates<tensor<4x8xf32>>>, device 0> -> !cs.placed<tensor<8x6xi32, #cs.coordinates<tensor<4x8xf32>>>, device 0>
  %g = cs.all_gather "w" %c : !cs.placed<tensor<4x6xi32, #cs.coordinates<tensor<4x8xf32>>>, device 0>
      -> !cs.placed<tensor<8x6xi32, #cs.coordinates<tensor<4x8xf32>>>, device 0>
  // CHECK: cs.copy %{{.*}} : {{.*}} -> !cs.placed<tensor<8x6xi32, #cs.coordinates<tensor<4x8xf32>>>, device 1>
  %d = cs.copy %g : !cs.placed<tensor<8x6xi32, #cs.coordinates<tensor<4x8xf32>>>, device 0>
      -> !cs.placed<tensor<8x6xi32, #cs.coordinates<tensor<4x8xf32>>>, device 1>
  return %d : !cs.placed<tensor<8x6xi32, #cs.coordinates<tensor<4x8xf32>>>, device 1>
}

// Lists go back to the tensor that they are of.
// CHECK-LABEL: func.func @same
func.func @same(%m: tensor<2x6xi32, #cs.coordinates<tensor<4x8xf32>>>, %r: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %v, %i = cs.unpack_lists %m : (tensor<2x6xi32, #cs.coordinates<tensor<4x8xf32>>>) -> (tensor<6xf32>, tensor<6xi32>)
  %a, %b = cs.merge_top_k %v, %i : (tensor<6xf32>, tensor<6xi32>) -> (tensor<3xf32>, tensor<3xi32>)
  %n = cs.pack_lists %a, %b : (tensor<3xf32>, tensor<3xi32>) -> tensor<1x6xi32, #cs.coordinates<tensor<4x8xf32>>>
  %c = cs.scatter_clear %r, %b : tensor<4x8xf32>, tensor<3xi32>
  // CHECK: cs.scatter_add
  %d = cs.scatter_add %v, %i except %b into %c : (tensor<6xf32>, tensor<6xi32>, tensor<3xi32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %d : tensor<4x8xf32>
}

// In a graph region lists may come out of lists that are below them.
// CHECK-LABEL: module @graph
module @graph {
  // CHECK: cs.merge_top_k
  %a, %b = cs.merge_top_k %c, %d : (tensor<3xf32>, tensor<3xi32>) -> (tensor<3xf32>, tensor<3xi32>)
  %c, %d = cs.merge_top_k %a, %b : (tensor<3xf32>, tensor<3xi32>) -> (tensor<3xf32>, tensor<3xi32>)
  // CHECK: cs.scatter_add
  %e = cs.scatter_add %c, %d : (tensor<3xf32>, tensor<3xi32>) -> tensor<8xf32>
}
