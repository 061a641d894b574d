// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Convolutions on CUDA devices have operands that are dense in one order, and as much padding behind as in front:
// other operands are copied by kernels, other padding is memory.
// RUN: cs-translate --mlir-to-cuda %s | FileCheck %s
// On CPUs nothing is copied.
// RUN: sed 's/kind = cuda/kind = cpu/' %s | cs-translate --mlir-to-plan -o %t.plan
// RUN: cs-translate --plan-to-text %t.plan | FileCheck %s --check-prefix=CPU

// Channels last; the weights lie as H, W, I, O. Padding of one on each side is the kernel's.
// CHECK: library kernel 0 {kind: "convolution_forward"
// CHECK-SAME: dims: 2 dims: 8 dims: 10 dims: 10 strides: 800 strides: 1 strides: 80 strides: 8 }
// CHECK-SAME: dims: 16 dims: 8 dims: 3 dims: 3 strides: 72 strides: 1 strides: 24 strides: 8 }
// CHECK-SAME: dims: 2 dims: 16 dims: 10 dims: 10 strides: 1600 strides: 1 strides: 160 strides: 16 }
// CHECK-SAME: key: "pad_high" value { values: 1 values: 1 }
// CHECK-SAME: key: "pad_low" value { values: 1 values: 1 }
// One row behind alone: a source of 11 x 11.
// CHECK: library kernel 1 {kind: "convolution_forward"
// CHECK-SAME: dims: 2 dims: 8 dims: 11 dims: 11 strides: 968 strides: 1 strides: 88 strides: 8 }
// CHECK-SAME: dims: 16 dims: 8 dims: 3 dims: 3 strides: 72 strides: 1 strides: 24 strides: 8 }
// CHECK-SAME: key: "pad_high" value { values: 0 values: 0 }
// CHECK-SAME: key: "pad_low" value { values: 0 values: 0 }
// CHECK-SAME: key: "strides" value { values: 2 values: 2 }
// Channels first.
// CHECK: library kernel 2 {kind: "convolution_forward"
// CHECK-SAME: dims: 2 dims: 8 dims: 10 dims: 10 strides: 800 strides: 100 strides: 10 strides: 1 }
// CHECK-SAME: dims: 16 dims: 8 dims: 3 dims: 3 strides: 72 strides: 9 strides: 3 strides: 1 }
// CHECK-SAME: dims: 2 dims: 16 dims: 8 dims: 8 strides: 1024 strides: 64 strides: 8 strides: 1 }

// CHECK: fragment frag_0 "same"
// CHECK-NEXT:   launch {{nest_[0-9]+}} grid {{[0-9]+}} block 256 shared 0 (input 1 + 0, scratch + [[W:[0-9]+]])
// CHECK-NEXT:   library 0 (input 0 + 0, scratch + [[W]], output 0 + 0)
// CHECK: fragment frag_1 "strided"
// CHECK:   library 1 (scratch + {{[0-9]+}}, scratch + {{[0-9]+}}, output 0 + 0)
// CHECK: fragment frag_2 "first"
// CHECK-NEXT:   library 2 (input 0 + 0, input 1 + 0, output 0 + 0)

// CPU: kind: "convolution_forward"
// CPU: strides: [1, 16, 384, 128]
// CPU: values: [1, 1]

cs.cluster @one nodes = 1 devices = 1 device = <kind = cuda, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>

!x = !cs.placed<tensor<2x10x10x8xf32>, device 0>
!w = !cs.placed<tensor<3x3x8x16xf32>, device 0>
!y = !cs.placed<tensor<2x10x10x16xf32>, device 0>
!z = !cs.placed<tensor<2x5x5x16xf32>, device 0>
!cx = !cs.placed<tensor<2x8x10x10xf32>, device 0>
!cw = !cs.placed<tensor<16x8x3x3xf32>, device 0>
!cy = !cs.placed<tensor<2x16x8x8xf32>, device 0>
func.func @f(%x: !x {cs.state = "x"}, %w: !w {cs.state = "w"}, %cx: !cx {cs.state = "cx"}, %cw: !cw {cs.state = "cw"})
    -> (!y {cs.updates = "y"}, !z {cs.updates = "z"}, !cy {cs.updates = "cy"}) {
  %y = cs.fragment "same" on 0 (%x, %w) : (!x, !w) -> !y {
  ^bb0(%a: tensor<2x10x10x8xf32>, %b: tensor<3x3x8x16xf32>):
    %zero = arith.constant 0.0 : f32
    %p = tensor.pad %a low[0, 1, 1, 0] high[0, 1, 1, 0] {
    ^bb1(%i: index, %j: index, %k: index, %l: index):
      tensor.yield %zero : f32
    } : tensor<2x10x10x8xf32> to tensor<2x12x12x8xf32>
    %e = tensor.empty() : tensor<2x10x10x16xf32>
    %o = linalg.fill ins(%zero : f32) outs(%e : tensor<2x10x10x16xf32>) -> tensor<2x10x10x16xf32>
    %r = linalg.conv_2d_nhwc_hwcf ins(%p, %b : tensor<2x12x12x8xf32>, tensor<3x3x8x16xf32>) outs(%o : tensor<2x10x10x16xf32>) -> tensor<2x10x10x16xf32>
    cs.return %r : tensor<2x10x10x16xf32>
  }
  %z = cs.fragment "strided" on 0 (%x, %w) : (!x, !w) -> !z {
  ^bb0(%a: tensor<2x10x10x8xf32>, %b: tensor<3x3x8x16xf32>):
    %zero = arith.constant 0.0 : f32
    %p = tensor.pad %a low[0, 0, 0, 0] high[0, 1, 1, 0] {
    ^bb1(%i: index, %j: index, %k: index, %l: index):
      tensor.yield %zero : f32
    } : tensor<2x10x10x8xf32> to tensor<2x11x11x8xf32>
    %e = tensor.empty() : tensor<2x5x5x16xf32>
    %o = linalg.fill ins(%zero : f32) outs(%e : tensor<2x5x5x16xf32>) -> tensor<2x5x5x16xf32>
    %r = linalg.conv_2d_nhwc_hwcf {strides = dense<2> : tensor<2xi64>} ins(%p, %b : tensor<2x11x11x8xf32>, tensor<3x3x8x16xf32>) outs(%o : tensor<2x5x5x16xf32>) -> tensor<2x5x5x16xf32>
    cs.return %r : tensor<2x5x5x16xf32>
  }
  %c = cs.fragment "first" on 0 (%cx, %cw) : (!cx, !cw) -> !cy {
  ^bb0(%a: tensor<2x8x10x10xf32>, %b: tensor<16x8x3x3xf32>):
    %zero = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<2x16x8x8xf32>
    %o = linalg.fill ins(%zero : f32) outs(%e : tensor<2x16x8x8xf32>) -> tensor<2x16x8x8xf32>
    %r = linalg.conv_2d_nchw_fchw ins(%a, %b : tensor<2x8x10x10xf32>, tensor<16x8x3x3xf32>) outs(%o : tensor<2x16x8x8xf32>) -> tensor<2x16x8x8xf32>
    cs.return %r : tensor<2x16x8x8xf32>
  }
  return %y, %z, %c : !y, !z, !cy
}
