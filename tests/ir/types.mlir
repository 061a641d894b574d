// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: cs-opt --verify-roundtrip %s | FileCheck %s
// RUN: cs-opt --emit-bytecode %s | cs-opt | FileCheck %s
// RUN: cs-opt --mlir-print-op-generic %s | cs-opt | FileCheck %s

// CHECK: @elements(!cs.placed<tensor<f64>, device 0>, !cs.placed<tensor<1xf32>, device 1>, !cs.placed<tensor<2x3xf16>, device 2>, !cs.placed<tensor<0xbf16>, device 0>, !cs.placed<tensor<4xi64>, device 0>, !cs.placed<tensor<4xi32>, device 0>, !cs.placed<tensor<4xi8>, device 0>, !cs.placed<tensor<4xi1>, device 0 host>, !cs.future<!cs.placed<tensor<4xf32>, device 0>>)
func.func private @elements(
  !cs.placed<tensor<f64>, device 0>, !cs.placed<tensor<1xf32>, device 1>,
  !cs.placed<tensor<2x3xf16>, device 2>, !cs.placed<tensor<0xbf16>, device 0>,
  !cs.placed<tensor<4xi64>, device 0>, !cs.placed<tensor<4xi32>, device 0>,
  !cs.placed<tensor<4xi8>, device 0>, !cs.placed<tensor<4xi1>, device 0 host>,
  !cs.future<!cs.placed<tensor<4xf32>, device 0>>)
