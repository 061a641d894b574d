// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A batch that nothing uses stays on device 0, and is of as many samples as the others are.
// REQUIRES: compiler
// RUN: rm -rf %t && mkdir %t
// RUN: %python -c "import numpy as np; from safetensors.numpy import save_file as save; save({'x': np.arange(8, dtype=np.float32), 'y': np.zeros((8, 3), np.float32)}, '%t/x'); save({'w': np.zeros(2, np.float32)}, '%t/v')"
// RUN: cs-opt --interpret=1 --interpret-workers=4 --interpret-values=%t/v --interpret-batches=%t/x %s | FileCheck %s
// RUN: cs-opt --insert-dist-comm --replicate-devices --interpret=1 --interpret-values=%t/v --interpret-batches=%t/x %s | FileCheck %s
// CHECK: step 1  mean 3.5

cs.cluster @lab nodes = 2 devices = 2 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>

func.func @step(%w: tensor<2xf32> {cs.param = "w"}, %x: tensor<2xf32> {cs.batch = "x"}, %y: tensor<2x3xf32> {cs.batch = "y"})
    -> (tensor<2xf32> {cs.updates = "w"}, tensor<f32> {cs.metric = "mean"}) attributes {cs.step} {
  %zero = arith.constant dense<0.0> : tensor<f32>
  %half = arith.constant dense<0.5> : tensor<f32>
  %sum = linalg.reduce { arith.addf } ins(%x : tensor<2xf32>) outs(%zero : tensor<f32>) dimensions = [0]
  %mean = arith.mulf %sum, %half : tensor<f32>
  %g = cs.gradient %x of "w" : tensor<2xf32>
  %w1 = arith.subf %w, %g : tensor<2xf32>
  return %w1, %mean : tensor<2xf32>, tensor<f32>
}
