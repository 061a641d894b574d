// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What the reference interpreter refuses, each in a module of its own.
// RUN: rm -rf %t && split-file %s %t
// RUN: not cs-opt --interpret=1 %t/unwritten.mlir 2>&1 | FileCheck %t/unwritten.mlir
// RUN: not cs-opt --interpret=1 %t/returned.mlir 2>&1 | FileCheck %t/returned.mlir
// RUN: not cs-opt --interpret=1 %t/unknown.mlir 2>&1 | FileCheck %t/unknown.mlir
// RUN: not cs-opt --interpret=1 %t/payload.mlir 2>&1 | FileCheck %t/payload.mlir
// RUN: not cs-opt --interpret=1 %t/outside.mlir 2>&1 | FileCheck %t/outside.mlir
// RUN: not cs-opt --interpret=1 %t/zero.mlir 2>&1 | FileCheck %t/zero.mlir
// RUN: not cs-opt --interpret=1 %t/fast.mlir 2>&1 | FileCheck %t/fast.mlir
// RUN: not cs-opt --interpret=1 %t/profiled.mlir 2>&1 | FileCheck %t/profiled.mlir
// RUN: not cs-opt --interpret=1 %t/density.mlir 2>&1 | FileCheck %t/density.mlir
// RUN: not cs-opt --interpret=1 %t/value.mlir 2>&1 | FileCheck %t/value.mlir
// RUN: not cs-opt --interpret=1 %t/nothing.mlir 2>&1 | FileCheck %t/nothing.mlir
// RUN: not cs-opt --interpret=1 %t/fast.mlir --interpret-values=%t/none 2>&1 | FileCheck %s --check-prefix=FILE
// FILE: error: --interpret: {{.*}}none: No such file or directory

//--- unwritten.mlir
func.func @f() -> (tensor<2xf32> {cs.metric = "m"}) attributes {cs.step} {
  %e = tensor.empty() : tensor<2xf32>
  // CHECK: error: 'arith.negf' op reads an element that was never written
  %n = arith.negf %e : tensor<2xf32>
  return %n : tensor<2xf32>
}

//--- returned.mlir
func.func @f() -> (tensor<2xf32> {cs.metric = "m"}) attributes {cs.step} {
  %e = tensor.empty() : tensor<2xf32>
  // CHECK: error: 'func.return' op returns an element that was never written
  return %e : tensor<2xf32>
}

//--- unknown.mlir
func.func @f() -> (tensor<2xf32> {cs.metric = "m"}) attributes {cs.step} {
  %c = arith.constant dense<1.0> : tensor<2xf32>
  %i = arith.constant dense<[[0], [1]]> : tensor<2x1xindex>
  // CHECK: error: 'tensor.gather' op is not known to the reference
  %g = tensor.gather %c[%i] gather_dims([0]) : (tensor<2xf32>, tensor<2x1xindex>) -> tensor<2xf32>
  return %g : tensor<2xf32>
}

//--- payload.mlir
func.func @f() -> (tensor<2xf32> {cs.metric = "m"}) attributes {cs.step} {
  %c = arith.constant dense<1.0> : tensor<2xf32>
  %m = linalg.map ins(%c : tensor<2xf32>) outs(%c : tensor<2xf32>)
    (%a: f32, %o: f32) {
      %t = arith.constant true
      // CHECK: error: 'scf.if' op is not known to the reference
      %r = scf.if %t -> f32 {
        scf.yield %a : f32
      } else {
        scf.yield %a : f32
      }
      linalg.yield %r : f32
    }
  return %m : tensor<2xf32>
}

//--- outside.mlir
func.func @f() -> (tensor<f32> {cs.metric = "m"}) attributes {cs.step} {
  %c = arith.constant dense<1.0> : tensor<2xf32>
  %i = arith.constant 2 : index
  // CHECK: error: 'tensor.extract' op goes outside of its tensor
  %x = tensor.extract %c[%i] : tensor<2xf32>
  %r = tensor.from_elements %x : tensor<f32>
  return %r : tensor<f32>
}

//--- zero.mlir
func.func @f() -> (tensor<2xf32> {cs.metric = "m"}) attributes {cs.step} {
  %a = arith.constant dense<1> : tensor<2xi32>
  %b = arith.constant dense<[1, 0]> : tensor<2xi32>
  // CHECK: error: 'arith.divsi' op divides by zero
  %d = arith.divsi %a, %b : tensor<2xi32>
  %r = arith.sitofp %d : tensor<2xi32> to tensor<2xf32>
  return %r : tensor<2xf32>
}

//--- fast.mlir
func.func @f() -> (tensor<2xf32> {cs.metric = "m"}) attributes {cs.step} {
  %a = arith.constant dense<1.0> : tensor<2xf32>
  // CHECK: error: 'arith.addf' op has fast-math flags that the reference does not know
  %r = arith.addf %a, %a fastmath<nnan> : tensor<2xf32>
  return %r : tensor<2xf32>
}

//--- profiled.mlir
func.func @f() -> (tensor<2xf32> {cs.metric = "m"}) attributes {cs.step} {
  // CHECK: error: 'cs.profiled' op computes nothing that is known
  %r = cs.profiled "l" () cost <flops = 0, bytes = 0, ns = 1> : () -> tensor<2xf32>
  return %r : tensor<2xf32>
}

//--- density.mlir
func.func @f() -> (tensor<2xf32> {cs.metric = "m"}) attributes {cs.step} {
  %a = arith.constant dense<1.0> : tensor<2xf32>
  // CHECK: error: 'cs.gradient' op has cs.density, which changes what the step means
  %g = cs.gradient %a of "w" {cs.density = 0.1 : f64} : tensor<2xf32>
  return %g : tensor<2xf32>
}

//--- value.mlir
// CHECK: error: 'func.func' op has no value of "w"
func.func @f(%w: tensor<2xf32> {cs.param = "w"}) -> (tensor<2xf32> {cs.updates = "w"}) attributes {cs.step} {
  return %w : tensor<2xf32>
}

//--- nothing.mlir
// CHECK: error: 'builtin.module' op has no function with cs.step
func.func @f() {
  return
}
