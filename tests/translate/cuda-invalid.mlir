// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: cs-translate --mlir-to-cuda --split-input-file --verify-diagnostics %s

!v = !cs.placed<tensor<4xf32>, device 0>
func.func @sine(%x: !v {cs.state = "x"}) -> (!v {cs.updates = "y"}) {
  %r = cs.fragment "f" on 0 (%x) : (!v) -> !v {
  ^bb0(%a: tensor<4xf32>):
    // expected-error @below {{function 'sinf' has no polynomial: on CUDA devices it needs libdevice, which --libdevice names}}
    %b = math.sin %a : tensor<4xf32>
    cs.return %b : tensor<4xf32>
  }
  return %r : !v
}

// -----

// expected-error @below {{has no cs.fragment with a body}}
module {
}
