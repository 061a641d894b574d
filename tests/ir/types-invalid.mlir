// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: cs-opt --split-input-file --verify-diagnostics %s

// expected-error @+1 {{placed tensor must have a static shape, got: 'tensor<?xf32>'}}
func.func private @f(!cs.placed<tensor<?xf32>, device 0>)

// -----

// expected-error @+1 {{element type must be one of f64, f32, f16, bf16, i64, i32, i8, i1, got: 'i16'}}
func.func private @f(!cs.placed<tensor<4xi16>, device 0>)

// -----

// expected-error @+1 {{placed tensor must not have an encoding}}
func.func private @f(!cs.placed<tensor<4xf32, "sparse">, device 0>)

// -----

// expected-error @+1 {{invalid kind of type specified}}
func.func private @f(!cs.placed<vector<4xf32>, device 0>)

// -----

// expected-error @+1 {{expected 'device'}}
func.func private @f(!cs.placed<tensor<4xf32>, host>)
