// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: %cs-opt --insert-dist-comm %s | FileCheck %s --implicit-check-not=@inner --implicit-check-not=@outer --implicit-check-not=@dead
// RUN: sed 's/call @both(%x)/call @dead(%x)/' %s > %t.marked.mlir
// RUN: not cs-opt --insert-dist-comm %t.marked.mlir 2>&1 | FileCheck %s --check-prefix=MARKED

// What the program's functions call is inlined, and goes if it is private and nobody else needs it. Other functions stay as
// they are, with what they call.
// MARKED: error: 'func.func' op has ops of cs, and no argument or result with an attribute of cs: it must be private, being called by others that have some

// CHECK: func.func private @declared(tensor<4xf32>)
func.func private @declared(tensor<4xf32>)

// CHECK: func.func private @unused
func.func private @unused(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

func.func private @inner(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = arith.mulf %x, %x : tensor<4xf32>
  return %y : tensor<4xf32>
}

func.func private @outer(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = func.call @inner(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %z = func.call @inner(%y) : (tensor<4xf32>) -> tensor<4xf32>
  return %z : tensor<4xf32>
}

// CHECK: func.func private @both
func.func private @both(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = arith.addf %x, %x : tensor<4xf32>
  return %y : tensor<4xf32>
}

// CHECK: func.func @step(
// CHECK-NOT: call
// CHECK: func.func @unrelated
// CHECK-NEXT: call @both
// CHECK-NEXT: call @declared
// CHECK-NEXT: return
func.func @step(%w: tensor<4xf32> {cs.param = "w"}, %x: tensor<4xf32> {cs.batch = "x"})
    -> (tensor<4xf32> {cs.updates = "w"}) attributes {cs.step} {
  %y = func.call @outer(%w) : (tensor<4xf32>) -> tensor<4xf32>
  %z = func.call @both(%y) : (tensor<4xf32>) -> tensor<4xf32>
  %g = arith.mulf %z, %x : tensor<4xf32>
  %g1 = cs.gradient %g of "w" : tensor<4xf32>
  %w1 = arith.subf %w, %g1 : tensor<4xf32>
  return %w1 : tensor<4xf32>
}

func.func @unrelated(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = func.call @both(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.call @declared(%y) : (tensor<4xf32>) -> ()
  return %y : tensor<4xf32>
}

func.func private @dead(%x: tensor<4xf32>) -> tensor<4xf32> {
  %g = cs.gradient %x of "w" : tensor<4xf32>
  return %g : tensor<4xf32>
}
