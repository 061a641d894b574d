// The dialect and the passes work in the stock mlir-opt.
// RUN: mlir-opt --load-dialect-plugin=%plugin --load-pass-plugin=%plugin --pass-pipeline="builtin.module(insert-dist-comm)" %s | FileCheck %s
// RUN: mlir-opt --load-dialect-plugin=%plugin --load-pass-plugin=%plugin --pass-pipeline="builtin.module(cs-all-reduce-pipeline)" %s | FileCheck %s --check-prefix=PIPELINE
// RUN: not mlir-opt --load-dialect-plugin=%plugin --load-pass-plugin=%plugin --pass-pipeline="builtin.module(insert-dist-comm)" %S/Inputs/twice.mlir 2>&1 | FileCheck %s --check-prefix=TWICE

cs.cluster @pair nodes = 2 devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>

// CHECK-LABEL: func.func @step
// CHECK: cs.fragment
// CHECK: cs.all_reduce "w" mean %{{.*}} : !cs.placed<tensor<4xf32>, device 0>
// CHECK-NOT: cs.gradient
// CHECK-NOT: cs.all_reduce
// PIPELINE-LABEL: func.func @step
// PIPELINE: cs.start "w"
// PIPELINE: cs.exchange
// PIPELINE: cs.await
func.func @step(%w: tensor<4xf32> {cs.param = "w"}, %x: tensor<4x4xf32> {cs.batch = "x"})
    -> (tensor<4xf32> {cs.updates = "w"}) attributes {cs.step} {
  %zero = arith.constant dense<0.0> : tensor<4xf32>
  %sum = linalg.reduce ins(%x : tensor<4x4xf32>) outs(%zero : tensor<4xf32>) dimensions = [0]
    (%in: f32, %acc: f32) {
      %s = arith.addf %in, %acc : f32
      linalg.yield %s : f32
    }
  %g = cs.gradient %sum of "w" : tensor<4xf32>
  %new = arith.subf %w, %g : tensor<4xf32>
  return %new : tensor<4xf32>
}

// TWICE: error: {{.*}}"w"
