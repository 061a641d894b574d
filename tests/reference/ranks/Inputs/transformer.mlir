// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// examples/transformer with 1 layer of width 8, 2 heads, a context of 6 and 12 words: Adam.
#map0 = affine_map<(d0, d1) -> (d0, d1)>
#map1 = affine_map<(d0, d1, d2) -> (d0, d1)>
#map2 = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#map3 = affine_map<(d0, d1, d2) -> (d1, d2)>
#map4 = affine_map<(d0, d1, d2) -> (d2)>
#map5 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d2, d1, d4)>
#map6 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d3, d1, d4)>
#map7 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>
#map8 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#map9 = affine_map<(d0, d1, d2, d3) -> (d2, d3)>
#map10 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>
#map11 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d4, d1, d2)>
#map12 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d3, d4)>
#map13 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d3, d1, d2)>
#map14 = affine_map<(d0, d1, d2) -> (d0, d2)>
#map15 = affine_map<() -> ()>
#map16 = affine_map<(d0) -> (d0)>
#map17 = affine_map<(d0, d1) -> ()>
#map18 = affine_map<(d0, d1, d2) -> (d2, d0)>
#map19 = affine_map<(d0, d1, d2) -> (d2, d1)>
#map20 = affine_map<(d0, d1, d2) -> (d1, d0)>
#map21 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d4, d3)>
#map22 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d4, d2)>
#map23 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d4, d1, d3)>
#map24 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d2, d1, d3)>
#map25 = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d4)>
#map26 = affine_map<(d0) -> ()>

func.func @step(
    %bytes: tensor<12x8xf32> {cs.param = "bytes"},
    %last.bias: tensor<8xf32> {cs.param = "last.bias"},
    %last.scale: tensor<8xf32> {cs.param = "last.scale"},
    %layer0.down: tensor<32x8xf32> {cs.param = "layer0.down"},
    %layer0.norm1.bias: tensor<8xf32> {cs.param = "layer0.norm1.bias"},
    %layer0.norm1.scale: tensor<8xf32> {cs.param = "layer0.norm1.scale"},
    %layer0.norm2.bias: tensor<8xf32> {cs.param = "layer0.norm2.bias"},
    %layer0.norm2.scale: tensor<8xf32> {cs.param = "layer0.norm2.scale"},
    %layer0.out: tensor<8x8xf32> {cs.param = "layer0.out"},
    %layer0.qkv: tensor<8x24xf32> {cs.param = "layer0.qkv"},
    %layer0.up: tensor<8x32xf32> {cs.param = "layer0.up"},
    %places: tensor<6x8xf32> {cs.param = "places"},
    %opt.0.count: tensor<i32> {cs.state = "opt.0.count"},
    %opt.0.mu.bytes: tensor<12x8xf32> {cs.state = "opt.0.mu.bytes"},
    %opt.0.mu.last.bias: tensor<8xf32> {cs.state = "opt.0.mu.last.bias"},
    %opt.0.mu.last.scale: tensor<8xf32> {cs.state = "opt.0.mu.last.scale"},
    %opt.0.mu.layer0.down: tensor<32x8xf32> {cs.state = "opt.0.mu.layer0.down"},
    %opt.0.mu.layer0.norm1.bias: tensor<8xf32> {cs.state = "opt.0.mu.layer0.norm1.bias"},
    %opt.0.mu.layer0.norm1.scale: tensor<8xf32> {cs.state = "opt.0.mu.layer0.norm1.scale"},
    %opt.0.mu.layer0.norm2.bias: tensor<8xf32> {cs.state = "opt.0.mu.layer0.norm2.bias"},
    %opt.0.mu.layer0.norm2.scale: tensor<8xf32> {cs.state = "opt.0.mu.layer0.norm2.scale"},
    %opt.0.mu.layer0.out: tensor<8x8xf32> {cs.state = "opt.0.mu.layer0.out"},
    %opt.0.mu.layer0.qkv: tensor<8x24xf32> {cs.state = "opt.0.mu.layer0.qkv"},
    %opt.0.mu.layer0.up: tensor<8x32xf32> {cs.state = "opt.0.mu.layer0.up"},
    %opt.0.mu.places: tensor<6x8xf32> {cs.state = "opt.0.mu.places"},
    %opt.0.nu.bytes: tensor<12x8xf32> {cs.state = "opt.0.nu.bytes"},
    %opt.0.nu.last.bias: tensor<8xf32> {cs.state = "opt.0.nu.last.bias"},
    %opt.0.nu.last.scale: tensor<8xf32> {cs.state = "opt.0.nu.last.scale"},
    %opt.0.nu.layer0.down: tensor<32x8xf32> {cs.state = "opt.0.nu.layer0.down"},
    %opt.0.nu.layer0.norm1.bias: tensor<8xf32> {cs.state = "opt.0.nu.layer0.norm1.bias"},
    %opt.0.nu.layer0.norm1.scale: tensor<8xf32> {cs.state = "opt.0.nu.layer0.norm1.scale"},
    %opt.0.nu.layer0.norm2.bias: tensor<8xf32> {cs.state = "opt.0.nu.layer0.norm2.bias"},
    %opt.0.nu.layer0.norm2.scale: tensor<8xf32> {cs.state = "opt.0.nu.layer0.norm2.scale"},
    %opt.0.nu.layer0.out: tensor<8x8xf32> {cs.state = "opt.0.nu.layer0.out"},
    %opt.0.nu.layer0.qkv: tensor<8x24xf32> {cs.state = "opt.0.nu.layer0.qkv"},
    %opt.0.nu.layer0.up: tensor<8x32xf32> {cs.state = "opt.0.nu.layer0.up"},
    %opt.0.nu.places: tensor<6x8xf32> {cs.state = "opt.0.nu.places"},
    %tokens: tensor<2x7xi32> {cs.batch = "tokens"}
  ) -> (
    tensor<12x8xf32> {cs.updates = "bytes"},
    tensor<8xf32> {cs.updates = "last.bias"},
    tensor<8xf32> {cs.updates = "last.scale"},
    tensor<32x8xf32> {cs.updates = "layer0.down"},
    tensor<8xf32> {cs.updates = "layer0.norm1.bias"},
    tensor<8xf32> {cs.updates = "layer0.norm1.scale"},
    tensor<8xf32> {cs.updates = "layer0.norm2.bias"},
    tensor<8xf32> {cs.updates = "layer0.norm2.scale"},
    tensor<8x8xf32> {cs.updates = "layer0.out"},
    tensor<8x24xf32> {cs.updates = "layer0.qkv"},
    tensor<8x32xf32> {cs.updates = "layer0.up"},
    tensor<6x8xf32> {cs.updates = "places"},
    tensor<i32> {cs.updates = "opt.0.count"},
    tensor<12x8xf32> {cs.updates = "opt.0.mu.bytes"},
    tensor<8xf32> {cs.updates = "opt.0.mu.last.bias"},
    tensor<8xf32> {cs.updates = "opt.0.mu.last.scale"},
    tensor<32x8xf32> {cs.updates = "opt.0.mu.layer0.down"},
    tensor<8xf32> {cs.updates = "opt.0.mu.layer0.norm1.bias"},
    tensor<8xf32> {cs.updates = "opt.0.mu.layer0.norm1.scale"},
    tensor<8xf32> {cs.updates = "opt.0.mu.layer0.norm2.bias"},
    tensor<8xf32> {cs.updates = "opt.0.mu.layer0.norm2.scale"},
    tensor<8x8xf32> {cs.updates = "opt.0.mu.layer0.out"},
    tensor<8x24xf32> {cs.updates = "opt.0.mu.layer0.qkv"},
    tensor<8x32xf32> {cs.updates = "opt.0.mu.layer0.up"},
    tensor<6x8xf32> {cs.updates = "opt.0.mu.places"},
    tensor<12x8xf32> {cs.updates = "opt.0.nu.bytes"},
    tensor<8xf32> {cs.updates = "opt.0.nu.last.bias"},
    tensor<8xf32> {cs.updates = "opt.0.nu.last.scale"},
    tensor<32x8xf32> {cs.updates = "opt.0.nu.layer0.down"},
    tensor<8xf32> {cs.updates = "opt.0.nu.layer0.norm1.bias"},
    tensor<8xf32> {cs.updates = "opt.0.nu.layer0.norm1.scale"},
    tensor<8xf32> {cs.updates = "opt.0.nu.layer0.norm2.bias"},
    tensor<8xf32> {cs.updates = "opt.0.nu.layer0.norm2.scale"},
    tensor<8x8xf32> {cs.updates = "opt.0.nu.layer0.out"},
    tensor<8x24xf32> {cs.updates = "opt.0.nu.layer0.qkv"},
    tensor<8x32xf32> {cs.updates = "opt.0.nu.layer0.up"},
    tensor<6x8xf32> {cs.updates = "opt.0.nu.places"},
    tensor<f32> {cs.metric = "loss"}
  ) attributes {cs.step, cs.global_batch = 8 : i64} {
  %0 = tensor.extract_slice %tokens[0, 0] [2, 6] [1, 1] : tensor<2x7xi32> to tensor<2x6xi32>
  %1 = tensor.empty() : tensor<2x6xi1>
  %2 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%0 : tensor<2x6xi32>) outs(%1 : tensor<2x6xi1>) {
  ^bb0(%in_0: i32, %out_0: i1):
    %b0 = arith.constant 0 : i32
    %b1 = arith.cmpi slt, %in_0, %b0 : i32
    linalg.yield %b1 : i1
  } -> tensor<2x6xi1>
  %3 = tensor.empty() : tensor<2x6xi32>
  %4 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%0 : tensor<2x6xi32>) outs(%3 : tensor<2x6xi32>) {
  ^bb0(%in_0: i32, %out_0: i32):
    %b0 = arith.constant 12 : i32
    %b1 = arith.addi %in_0, %b0 : i32
    linalg.yield %b1 : i32
  } -> tensor<2x6xi32>
  %5 = tensor.empty() : tensor<2x6xi32>
  %6 = linalg.generic {indexing_maps = [#map0, #map0, #map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%2, %4, %0 : tensor<2x6xi1>, tensor<2x6xi32>, tensor<2x6xi32>) outs(%5 : tensor<2x6xi32>) {
  ^bb0(%in_0: i1, %in_1: i32, %in_2: i32, %out_0: i32):
    %b0 = arith.select %in_0, %in_1, %in_2 : i32
    linalg.yield %b0 : i32
  } -> tensor<2x6xi32>
  %7 = tensor.empty() : tensor<2x6x8xf32>
  %8 = linalg.generic {indexing_maps = [#map1, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%6 : tensor<2x6xi32>) outs(%7 : tensor<2x6x8xf32>) {
  ^bb0(%in_0: i32, %out_0: f32):
    %b0 = arith.index_cast %in_0 : i32 to index
    %b1 = arith.constant 0 : index
    %b2 = arith.maxsi %b0, %b1 : index
    %b3 = arith.constant 11 : index
    %b4 = arith.minsi %b2, %b3 : index
    %b5 = linalg.index 2 : index
    %b6 = tensor.extract %bytes[%b4, %b5] : tensor<12x8xf32>
    linalg.yield %b6 : f32
  } -> tensor<2x6x8xf32>
  %9 = tensor.empty() : tensor<2x6x8xf32>
  %10 = linalg.generic {indexing_maps = [#map2, #map3, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%8, %places : tensor<2x6x8xf32>, tensor<6x8xf32>) outs(%9 : tensor<2x6x8xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<2x6x8xf32>
  %11 = arith.constant 0.000000e+00 : f32
  %12 = tensor.empty() : tensor<2x6xf32>
  %13 = linalg.fill ins(%11 : f32) outs(%12 : tensor<2x6xf32>) -> tensor<2x6xf32>
  %14 = linalg.generic {indexing_maps = [#map2, #map1], iterator_types = ["parallel", "parallel", "reduction"]} ins(%10 : tensor<2x6x8xf32>) outs(%13 : tensor<2x6xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.addf %out_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<2x6xf32>
  %15 = tensor.expand_shape %14 [[0], [1, 2]] output_shape [2, 6, 1] : tensor<2x6xf32> into tensor<2x6x1xf32>
  %16 = tensor.empty() : tensor<2x6x1xf32>
  %17 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%15 : tensor<2x6x1xf32>) outs(%16 : tensor<2x6x1xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 8.000000e+00 : f32
    %b1 = arith.divf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<2x6x1xf32>
  %18 = tensor.collapse_shape %17 [[0], [1, 2]] : tensor<2x6x1xf32> into tensor<2x6xf32>
  %19 = tensor.empty() : tensor<2x6x8xf32>
  %20 = linalg.generic {indexing_maps = [#map2, #map1, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%10, %18 : tensor<2x6x8xf32>, tensor<2x6xf32>) outs(%19 : tensor<2x6x8xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.subf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<2x6x8xf32>
  %21 = tensor.empty() : tensor<2x6x8xf32>
  %22 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%20 : tensor<2x6x8xf32>) outs(%21 : tensor<2x6x8xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<2x6x8xf32>
  %23 = tensor.empty() : tensor<2x6x8xf32>
  %24 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%20 : tensor<2x6x8xf32>) outs(%23 : tensor<2x6x8xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 2.000000e+00 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<2x6x8xf32>
  %25 = arith.constant 0.000000e+00 : f32
  %26 = tensor.empty() : tensor<2x6xf32>
  %27 = linalg.fill ins(%25 : f32) outs(%26 : tensor<2x6xf32>) -> tensor<2x6xf32>
  %28 = linalg.generic {indexing_maps = [#map2, #map1], iterator_types = ["parallel", "parallel", "reduction"]} ins(%22 : tensor<2x6x8xf32>) outs(%27 : tensor<2x6xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.addf %out_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<2x6xf32>
  %29 = tensor.expand_shape %28 [[0], [1, 2]] output_shape [2, 6, 1] : tensor<2x6xf32> into tensor<2x6x1xf32>
  %30 = tensor.empty() : tensor<2x6x1xf32>
  %31 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%29 : tensor<2x6x1xf32>) outs(%30 : tensor<2x6x1xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 8.000000e+00 : f32
    %b1 = arith.divf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<2x6x1xf32>
  %32 = tensor.collapse_shape %17 [[0], [1, 2]] : tensor<2x6x1xf32> into tensor<2x6xf32>
  %33 = tensor.empty() : tensor<2x6x8xf32>
  %34 = linalg.generic {indexing_maps = [#map2, #map1, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%10, %32 : tensor<2x6x8xf32>, tensor<2x6xf32>) outs(%33 : tensor<2x6x8xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.subf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<2x6x8xf32>
  %35 = tensor.empty() : tensor<2x6x1xf32>
  %36 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%31 : tensor<2x6x1xf32>) outs(%35 : tensor<2x6x1xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-05 : f32
    %b1 = arith.addf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<2x6x1xf32>
  %37 = tensor.empty() : tensor<2x6x1xf32>
  %38 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%36 : tensor<2x6x1xf32>) outs(%37 : tensor<2x6x1xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = math.rsqrt %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<2x6x1xf32>
  %39 = tensor.empty() : tensor<2x6x1xf32>
  %40 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%38, %36 : tensor<2x6x1xf32>, tensor<2x6x1xf32>) outs(%39 : tensor<2x6x1xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<2x6x1xf32>
  %41 = tensor.empty() : tensor<2x6x1xf32>
  %42 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%40 : tensor<2x6x1xf32>) outs(%41 : tensor<2x6x1xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant -5.000000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<2x6x1xf32>
  %43 = tensor.collapse_shape %38 [[0], [1, 2]] : tensor<2x6x1xf32> into tensor<2x6xf32>
  %44 = tensor.empty() : tensor<2x6x8xf32>
  %45 = linalg.generic {indexing_maps = [#map2, #map1, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%34, %43 : tensor<2x6x8xf32>, tensor<2x6xf32>) outs(%44 : tensor<2x6x8xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<2x6x8xf32>
  %46 = tensor.empty() : tensor<2x6x8xf32>
  %47 = linalg.generic {indexing_maps = [#map2, #map4, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%45, %layer0.norm1.scale : tensor<2x6x8xf32>, tensor<8xf32>) outs(%46 : tensor<2x6x8xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<2x6x8xf32>
  %48 = tensor.empty() : tensor<2x6x8xf32>
  %49 = linalg.generic {indexing_maps = [#map2, #map4, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%47, %layer0.norm1.bias : tensor<2x6x8xf32>, tensor<8xf32>) outs(%48 : tensor<2x6x8xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<2x6x8xf32>
  %50 = tensor.collapse_shape %49 [[0, 1], [2]] : tensor<2x6x8xf32> into tensor<12x8xf32>
  %51 = arith.constant 0.000000e+00 : f32
  %52 = tensor.empty() : tensor<12x24xf32>
  %53 = linalg.fill ins(%51 : f32) outs(%52 : tensor<12x24xf32>) -> tensor<12x24xf32>
  %54 = linalg.matmul ins(%50, %layer0.qkv : tensor<12x8xf32>, tensor<8x24xf32>) outs(%53 : tensor<12x24xf32>) -> tensor<12x24xf32>
  %55 = tensor.expand_shape %54 [[0, 1], [2, 3]] output_shape [2, 6, 6, 4] : tensor<12x24xf32> into tensor<2x6x6x4xf32>
  %56 = tensor.extract_slice %55[0, 0, 0, 0] [2, 6, 2, 4] [1, 1, 1, 1] : tensor<2x6x6x4xf32> to tensor<2x6x2x4xf32>
  %57 = tensor.extract_slice %55[0, 0, 2, 0] [2, 6, 2, 4] [1, 1, 1, 1] : tensor<2x6x6x4xf32> to tensor<2x6x2x4xf32>
  %58 = tensor.extract_slice %55[0, 0, 4, 0] [2, 6, 2, 4] [1, 1, 1, 1] : tensor<2x6x6x4xf32> to tensor<2x6x2x4xf32>
  %59 = arith.constant 0.000000e+00 : f32
  %60 = tensor.empty() : tensor<2x2x6x6xf32>
  %61 = linalg.fill ins(%59 : f32) outs(%60 : tensor<2x2x6x6xf32>) -> tensor<2x2x6x6xf32>
  %62 = linalg.generic {indexing_maps = [#map5, #map6, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%56, %57 : tensor<2x6x2x4xf32>, tensor<2x6x2x4xf32>) outs(%61 : tensor<2x2x6x6xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    %b1 = arith.addf %out_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<2x2x6x6xf32>
  %63 = tensor.empty() : tensor<2x2x6x6xf32>
  %64 = linalg.generic {indexing_maps = [#map8, #map8], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%62 : tensor<2x2x6x6xf32>) outs(%63 : tensor<2x2x6x6xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 2.000000e+00 : f32
    %b1 = arith.divf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<2x2x6x6xf32>
  %65 = tensor.empty() : tensor<6x6xi32>
  %66 = linalg.generic {indexing_maps = [#map0], iterator_types = ["parallel", "parallel"]} outs(%65 : tensor<6x6xi32>) {
  ^bb0(%out_0: i32):
    %b0 = linalg.index 0 : index
    %b1 = arith.index_cast %b0 : index to i32
    linalg.yield %b1 : i32
  } -> tensor<6x6xi32>
  %67 = tensor.empty() : tensor<6x6xi32>
  %68 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%66 : tensor<6x6xi32>) outs(%67 : tensor<6x6xi32>) {
  ^bb0(%in_0: i32, %out_0: i32):
    %b0 = arith.constant 0 : i32
    %b1 = arith.addi %in_0, %b0 : i32
    linalg.yield %b1 : i32
  } -> tensor<6x6xi32>
  %69 = tensor.empty() : tensor<6x6xi32>
  %70 = linalg.generic {indexing_maps = [#map0], iterator_types = ["parallel", "parallel"]} outs(%69 : tensor<6x6xi32>) {
  ^bb0(%out_0: i32):
    %b0 = linalg.index 1 : index
    %b1 = arith.index_cast %b0 : index to i32
    linalg.yield %b1 : i32
  } -> tensor<6x6xi32>
  %71 = tensor.empty() : tensor<6x6xi1>
  %72 = linalg.generic {indexing_maps = [#map0, #map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%68, %70 : tensor<6x6xi32>, tensor<6x6xi32>) outs(%71 : tensor<6x6xi1>) {
  ^bb0(%in_0: i32, %in_1: i32, %out_0: i1):
    %b0 = arith.cmpi sge, %in_0, %in_1 : i32
    linalg.yield %b0 : i1
  } -> tensor<6x6xi1>
  %73 = tensor.empty() : tensor<6x6xi1>
  %74 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%72 : tensor<6x6xi1>) outs(%73 : tensor<6x6xi1>) {
  ^bb0(%in_0: i1, %out_0: i1):
    %b0 = arith.constant true
    %b1 = arith.constant false
    %b2 = arith.select %in_0, %b0, %b1 : i1
    linalg.yield %b2 : i1
  } -> tensor<6x6xi1>
  %75 = tensor.empty() : tensor<2x2x6x6xf32>
  %76 = linalg.generic {indexing_maps = [#map9, #map8, #map8], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%74, %64 : tensor<6x6xi1>, tensor<2x2x6x6xf32>) outs(%75 : tensor<2x2x6x6xf32>) {
  ^bb0(%in_0: i1, %in_1: f32, %out_0: f32):
    %b0 = arith.constant -1.000000e+30 : f32
    %b1 = arith.select %in_0, %in_1, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<2x2x6x6xf32>
  %77 = arith.constant 0xFF800000 : f32
  %78 = tensor.empty() : tensor<2x2x6xf32>
  %79 = linalg.fill ins(%77 : f32) outs(%78 : tensor<2x2x6xf32>) -> tensor<2x2x6xf32>
  %80 = linalg.generic {indexing_maps = [#map8, #map10], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%76 : tensor<2x2x6x6xf32>) outs(%79 : tensor<2x2x6xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.maximumf %out_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<2x2x6xf32>
  %81 = tensor.empty() : tensor<2x2x6xf32>
  %82 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%80 : tensor<2x2x6xf32>) outs(%81 : tensor<2x2x6xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 0xFF800000 : f32
    %b1 = arith.maximumf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<2x2x6xf32>
  %83 = tensor.empty() : tensor<2x2x6x6xf32>
  %84 = linalg.generic {indexing_maps = [#map8, #map10, #map8], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%76, %82 : tensor<2x2x6x6xf32>, tensor<2x2x6xf32>) outs(%83 : tensor<2x2x6x6xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.subf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<2x2x6x6xf32>
  %85 = tensor.empty() : tensor<2x2x6x6xf32>
  %86 = linalg.generic {indexing_maps = [#map8, #map8], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%84 : tensor<2x2x6x6xf32>) outs(%85 : tensor<2x2x6x6xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = math.exp %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<2x2x6x6xf32>
  %87 = arith.constant 0.000000e+00 : f32
  %88 = tensor.empty() : tensor<2x2x6xf32>
  %89 = linalg.fill ins(%87 : f32) outs(%88 : tensor<2x2x6xf32>) -> tensor<2x2x6xf32>
  %90 = linalg.generic {indexing_maps = [#map8, #map10], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%86 : tensor<2x2x6x6xf32>) outs(%89 : tensor<2x2x6xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.addf %out_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<2x2x6xf32>
  %91 = tensor.expand_shape %90 [[0], [1], [2, 3]] output_shape [2, 2, 6, 1] : tensor<2x2x6xf32> into tensor<2x2x6x1xf32>
  %92 = tensor.empty() : tensor<2x2x6x6xf32>
  %93 = linalg.generic {indexing_maps = [#map8, #map10, #map8], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%86, %90 : tensor<2x2x6x6xf32>, tensor<2x2x6xf32>) outs(%92 : tensor<2x2x6x6xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<2x2x6x6xf32>
  %94 = tensor.empty() : tensor<2x2x6x1xf32>
  %95 = linalg.generic {indexing_maps = [#map8, #map8], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%91 : tensor<2x2x6x1xf32>) outs(%94 : tensor<2x2x6x1xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<2x2x6x1xf32>
  %96 = tensor.empty() : tensor<2x2x6x1xf32>
  %97 = linalg.generic {indexing_maps = [#map8, #map8], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%95 : tensor<2x2x6x1xf32>) outs(%96 : tensor<2x2x6x1xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e+00 : f32
    %b1 = arith.divf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<2x2x6x1xf32>
  %98 = arith.constant 0.000000e+00 : f32
  %99 = tensor.empty() : tensor<2x6x2x4xf32>
  %100 = linalg.fill ins(%98 : f32) outs(%99 : tensor<2x6x2x4xf32>) -> tensor<2x6x2x4xf32>
  %101 = linalg.generic {indexing_maps = [#map11, #map12, #map13], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%58, %93 : tensor<2x6x2x4xf32>, tensor<2x2x6x6xf32>) outs(%100 : tensor<2x6x2x4xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    %b1 = arith.addf %out_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<2x6x2x4xf32>
  %102 = tensor.collapse_shape %101 [[0, 1], [2, 3]] : tensor<2x6x2x4xf32> into tensor<12x8xf32>
  %103 = arith.constant 0.000000e+00 : f32
  %104 = tensor.empty() : tensor<12x8xf32>
  %105 = linalg.fill ins(%103 : f32) outs(%104 : tensor<12x8xf32>) -> tensor<12x8xf32>
  %106 = linalg.matmul ins(%102, %layer0.out : tensor<12x8xf32>, tensor<8x8xf32>) outs(%105 : tensor<12x8xf32>) -> tensor<12x8xf32>
  %107 = tensor.expand_shape %106 [[0, 1], [2]] output_shape [2, 6, 8] : tensor<12x8xf32> into tensor<2x6x8xf32>
  %108 = tensor.empty() : tensor<2x6x8xf32>
  %109 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%10, %107 : tensor<2x6x8xf32>, tensor<2x6x8xf32>) outs(%108 : tensor<2x6x8xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<2x6x8xf32>
  %110 = arith.constant 0.000000e+00 : f32
  %111 = tensor.empty() : tensor<2x6xf32>
  %112 = linalg.fill ins(%110 : f32) outs(%111 : tensor<2x6xf32>) -> tensor<2x6xf32>
  %113 = linalg.generic {indexing_maps = [#map2, #map1], iterator_types = ["parallel", "parallel", "reduction"]} ins(%109 : tensor<2x6x8xf32>) outs(%112 : tensor<2x6xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.addf %out_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<2x6xf32>
  %114 = tensor.expand_shape %113 [[0], [1, 2]] output_shape [2, 6, 1] : tensor<2x6xf32> into tensor<2x6x1xf32>
  %115 = tensor.empty() : tensor<2x6x1xf32>
  %116 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%114 : tensor<2x6x1xf32>) outs(%115 : tensor<2x6x1xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 8.000000e+00 : f32
    %b1 = arith.divf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<2x6x1xf32>
  %117 = tensor.collapse_shape %116 [[0], [1, 2]] : tensor<2x6x1xf32> into tensor<2x6xf32>
  %118 = tensor.empty() : tensor<2x6x8xf32>
  %119 = linalg.generic {indexing_maps = [#map2, #map1, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%109, %117 : tensor<2x6x8xf32>, tensor<2x6xf32>) outs(%118 : tensor<2x6x8xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.subf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<2x6x8xf32>
  %120 = tensor.empty() : tensor<2x6x8xf32>
  %121 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%119 : tensor<2x6x8xf32>) outs(%120 : tensor<2x6x8xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<2x6x8xf32>
  %122 = tensor.empty() : tensor<2x6x8xf32>
  %123 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%119 : tensor<2x6x8xf32>) outs(%122 : tensor<2x6x8xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 2.000000e+00 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<2x6x8xf32>
  %124 = arith.constant 0.000000e+00 : f32
  %125 = tensor.empty() : tensor<2x6xf32>
  %126 = linalg.fill ins(%124 : f32) outs(%125 : tensor<2x6xf32>) -> tensor<2x6xf32>
  %127 = linalg.generic {indexing_maps = [#map2, #map1], iterator_types = ["parallel", "parallel", "reduction"]} ins(%121 : tensor<2x6x8xf32>) outs(%126 : tensor<2x6xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.addf %out_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<2x6xf32>
  %128 = tensor.expand_shape %127 [[0], [1, 2]] output_shape [2, 6, 1] : tensor<2x6xf32> into tensor<2x6x1xf32>
  %129 = tensor.empty() : tensor<2x6x1xf32>
  %130 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%128 : tensor<2x6x1xf32>) outs(%129 : tensor<2x6x1xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 8.000000e+00 : f32
    %b1 = arith.divf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<2x6x1xf32>
  %131 = tensor.collapse_shape %116 [[0], [1, 2]] : tensor<2x6x1xf32> into tensor<2x6xf32>
  %132 = tensor.empty() : tensor<2x6x8xf32>
  %133 = linalg.generic {indexing_maps = [#map2, #map1, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%109, %131 : tensor<2x6x8xf32>, tensor<2x6xf32>) outs(%132 : tensor<2x6x8xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.subf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<2x6x8xf32>
  %134 = tensor.empty() : tensor<2x6x1xf32>
  %135 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%130 : tensor<2x6x1xf32>) outs(%134 : tensor<2x6x1xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-05 : f32
    %b1 = arith.addf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<2x6x1xf32>
  %136 = tensor.empty() : tensor<2x6x1xf32>
  %137 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%135 : tensor<2x6x1xf32>) outs(%136 : tensor<2x6x1xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = math.rsqrt %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<2x6x1xf32>
  %138 = tensor.empty() : tensor<2x6x1xf32>
  %139 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%137, %135 : tensor<2x6x1xf32>, tensor<2x6x1xf32>) outs(%138 : tensor<2x6x1xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<2x6x1xf32>
  %140 = tensor.empty() : tensor<2x6x1xf32>
  %141 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%139 : tensor<2x6x1xf32>) outs(%140 : tensor<2x6x1xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant -5.000000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<2x6x1xf32>
  %142 = tensor.collapse_shape %137 [[0], [1, 2]] : tensor<2x6x1xf32> into tensor<2x6xf32>
  %143 = tensor.empty() : tensor<2x6x8xf32>
  %144 = linalg.generic {indexing_maps = [#map2, #map1, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%133, %142 : tensor<2x6x8xf32>, tensor<2x6xf32>) outs(%143 : tensor<2x6x8xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<2x6x8xf32>
  %145 = tensor.empty() : tensor<2x6x8xf32>
  %146 = linalg.generic {indexing_maps = [#map2, #map4, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%144, %layer0.norm2.scale : tensor<2x6x8xf32>, tensor<8xf32>) outs(%145 : tensor<2x6x8xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<2x6x8xf32>
  %147 = tensor.empty() : tensor<2x6x8xf32>
  %148 = linalg.generic {indexing_maps = [#map2, #map4, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%146, %layer0.norm2.bias : tensor<2x6x8xf32>, tensor<8xf32>) outs(%147 : tensor<2x6x8xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<2x6x8xf32>
  %149 = tensor.collapse_shape %148 [[0, 1], [2]] : tensor<2x6x8xf32> into tensor<12x8xf32>
  %150 = arith.constant 0.000000e+00 : f32
  %151 = tensor.empty() : tensor<12x32xf32>
  %152 = linalg.fill ins(%150 : f32) outs(%151 : tensor<12x32xf32>) -> tensor<12x32xf32>
  %153 = linalg.matmul ins(%149, %layer0.up : tensor<12x8xf32>, tensor<8x32xf32>) outs(%152 : tensor<12x32xf32>) -> tensor<12x32xf32>
  %154 = tensor.expand_shape %153 [[0, 1], [2]] output_shape [2, 6, 32] : tensor<12x32xf32> into tensor<2x6x32xf32>
  %155 = tensor.empty() : tensor<2x6x32xf32>
  %156 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%154 : tensor<2x6x32xf32>) outs(%155 : tensor<2x6x32xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<2x6x32xf32>
  %157 = tensor.empty() : tensor<2x6x32xf32>
  %158 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%156, %154 : tensor<2x6x32xf32>, tensor<2x6x32xf32>) outs(%157 : tensor<2x6x32xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<2x6x32xf32>
  %159 = tensor.empty() : tensor<2x6x32xf32>
  %160 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%154 : tensor<2x6x32xf32>) outs(%159 : tensor<2x6x32xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<2x6x32xf32>
  %161 = tensor.empty() : tensor<2x6x32xf32>
  %162 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%160 : tensor<2x6x32xf32>) outs(%161 : tensor<2x6x32xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 3.000000e+00 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<2x6x32xf32>
  %163 = tensor.empty() : tensor<2x6x32xf32>
  %164 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%158 : tensor<2x6x32xf32>) outs(%163 : tensor<2x6x32xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 4.471500e-02 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<2x6x32xf32>
  %165 = tensor.empty() : tensor<2x6x32xf32>
  %166 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%154, %164 : tensor<2x6x32xf32>, tensor<2x6x32xf32>) outs(%165 : tensor<2x6x32xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<2x6x32xf32>
  %167 = tensor.empty() : tensor<2x6x32xf32>
  %168 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%166 : tensor<2x6x32xf32>) outs(%167 : tensor<2x6x32xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 7.978846e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<2x6x32xf32>
  %169 = tensor.empty() : tensor<2x6x32xf32>
  %170 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%168 : tensor<2x6x32xf32>) outs(%169 : tensor<2x6x32xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = math.tanh %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<2x6x32xf32>
  %171 = tensor.empty() : tensor<2x6x32xf32>
  %172 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%170 : tensor<2x6x32xf32>) outs(%171 : tensor<2x6x32xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e+00 : f32
    %b1 = arith.subf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<2x6x32xf32>
  %173 = tensor.empty() : tensor<2x6x32xf32>
  %174 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%170 : tensor<2x6x32xf32>) outs(%173 : tensor<2x6x32xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e+00 : f32
    %b1 = arith.addf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<2x6x32xf32>
  %175 = tensor.empty() : tensor<2x6x32xf32>
  %176 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%174 : tensor<2x6x32xf32>) outs(%175 : tensor<2x6x32xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 5.000000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<2x6x32xf32>
  %177 = tensor.empty() : tensor<2x6x32xf32>
  %178 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%154, %176 : tensor<2x6x32xf32>, tensor<2x6x32xf32>) outs(%177 : tensor<2x6x32xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<2x6x32xf32>
  %179 = tensor.collapse_shape %178 [[0, 1], [2]] : tensor<2x6x32xf32> into tensor<12x32xf32>
  %180 = arith.constant 0.000000e+00 : f32
  %181 = tensor.empty() : tensor<12x8xf32>
  %182 = linalg.fill ins(%180 : f32) outs(%181 : tensor<12x8xf32>) -> tensor<12x8xf32>
  %183 = linalg.matmul ins(%179, %layer0.down : tensor<12x32xf32>, tensor<32x8xf32>) outs(%182 : tensor<12x8xf32>) -> tensor<12x8xf32>
  %184 = tensor.expand_shape %183 [[0, 1], [2]] output_shape [2, 6, 8] : tensor<12x8xf32> into tensor<2x6x8xf32>
  %185 = tensor.empty() : tensor<2x6x8xf32>
  %186 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%109, %184 : tensor<2x6x8xf32>, tensor<2x6x8xf32>) outs(%185 : tensor<2x6x8xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<2x6x8xf32>
  %187 = arith.constant 0.000000e+00 : f32
  %188 = tensor.empty() : tensor<2x6xf32>
  %189 = linalg.fill ins(%187 : f32) outs(%188 : tensor<2x6xf32>) -> tensor<2x6xf32>
  %190 = linalg.generic {indexing_maps = [#map2, #map1], iterator_types = ["parallel", "parallel", "reduction"]} ins(%186 : tensor<2x6x8xf32>) outs(%189 : tensor<2x6xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.addf %out_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<2x6xf32>
  %191 = tensor.expand_shape %190 [[0], [1, 2]] output_shape [2, 6, 1] : tensor<2x6xf32> into tensor<2x6x1xf32>
  %192 = tensor.empty() : tensor<2x6x1xf32>
  %193 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%191 : tensor<2x6x1xf32>) outs(%192 : tensor<2x6x1xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 8.000000e+00 : f32
    %b1 = arith.divf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<2x6x1xf32>
  %194 = tensor.collapse_shape %193 [[0], [1, 2]] : tensor<2x6x1xf32> into tensor<2x6xf32>
  %195 = tensor.empty() : tensor<2x6x8xf32>
  %196 = linalg.generic {indexing_maps = [#map2, #map1, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%186, %194 : tensor<2x6x8xf32>, tensor<2x6xf32>) outs(%195 : tensor<2x6x8xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.subf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<2x6x8xf32>
  %197 = tensor.empty() : tensor<2x6x8xf32>
  %198 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%196 : tensor<2x6x8xf32>) outs(%197 : tensor<2x6x8xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<2x6x8xf32>
  %199 = tensor.empty() : tensor<2x6x8xf32>
  %200 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%196 : tensor<2x6x8xf32>) outs(%199 : tensor<2x6x8xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 2.000000e+00 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<2x6x8xf32>
  %201 = arith.constant 0.000000e+00 : f32
  %202 = tensor.empty() : tensor<2x6xf32>
  %203 = linalg.fill ins(%201 : f32) outs(%202 : tensor<2x6xf32>) -> tensor<2x6xf32>
  %204 = linalg.generic {indexing_maps = [#map2, #map1], iterator_types = ["parallel", "parallel", "reduction"]} ins(%198 : tensor<2x6x8xf32>) outs(%203 : tensor<2x6xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.addf %out_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<2x6xf32>
  %205 = tensor.expand_shape %204 [[0], [1, 2]] output_shape [2, 6, 1] : tensor<2x6xf32> into tensor<2x6x1xf32>
  %206 = tensor.empty() : tensor<2x6x1xf32>
  %207 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%205 : tensor<2x6x1xf32>) outs(%206 : tensor<2x6x1xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 8.000000e+00 : f32
    %b1 = arith.divf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<2x6x1xf32>
  %208 = tensor.collapse_shape %193 [[0], [1, 2]] : tensor<2x6x1xf32> into tensor<2x6xf32>
  %209 = tensor.empty() : tensor<2x6x8xf32>
  %210 = linalg.generic {indexing_maps = [#map2, #map1, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%186, %208 : tensor<2x6x8xf32>, tensor<2x6xf32>) outs(%209 : tensor<2x6x8xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.subf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<2x6x8xf32>
  %211 = tensor.empty() : tensor<2x6x1xf32>
  %212 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%207 : tensor<2x6x1xf32>) outs(%211 : tensor<2x6x1xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-05 : f32
    %b1 = arith.addf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<2x6x1xf32>
  %213 = tensor.empty() : tensor<2x6x1xf32>
  %214 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%212 : tensor<2x6x1xf32>) outs(%213 : tensor<2x6x1xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = math.rsqrt %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<2x6x1xf32>
  %215 = tensor.empty() : tensor<2x6x1xf32>
  %216 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%214, %212 : tensor<2x6x1xf32>, tensor<2x6x1xf32>) outs(%215 : tensor<2x6x1xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<2x6x1xf32>
  %217 = tensor.empty() : tensor<2x6x1xf32>
  %218 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%216 : tensor<2x6x1xf32>) outs(%217 : tensor<2x6x1xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant -5.000000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<2x6x1xf32>
  %219 = tensor.collapse_shape %214 [[0], [1, 2]] : tensor<2x6x1xf32> into tensor<2x6xf32>
  %220 = tensor.empty() : tensor<2x6x8xf32>
  %221 = linalg.generic {indexing_maps = [#map2, #map1, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%210, %219 : tensor<2x6x8xf32>, tensor<2x6xf32>) outs(%220 : tensor<2x6x8xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<2x6x8xf32>
  %222 = tensor.empty() : tensor<2x6x8xf32>
  %223 = linalg.generic {indexing_maps = [#map2, #map4, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%221, %last.scale : tensor<2x6x8xf32>, tensor<8xf32>) outs(%222 : tensor<2x6x8xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<2x6x8xf32>
  %224 = tensor.empty() : tensor<2x6x8xf32>
  %225 = linalg.generic {indexing_maps = [#map2, #map4, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%223, %last.bias : tensor<2x6x8xf32>, tensor<8xf32>) outs(%224 : tensor<2x6x8xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<2x6x8xf32>
  %226 = tensor.collapse_shape %225 [[0, 1], [2]] : tensor<2x6x8xf32> into tensor<12x8xf32>
  %227 = arith.constant 0.000000e+00 : f32
  %228 = tensor.empty() : tensor<12x12xf32>
  %229 = linalg.fill ins(%227 : f32) outs(%228 : tensor<12x12xf32>) -> tensor<12x12xf32>
  %230 = linalg.generic {indexing_maps = [#map14, #map3, #map1], iterator_types = ["parallel", "parallel", "reduction"]} ins(%226, %bytes : tensor<12x8xf32>, tensor<12x8xf32>) outs(%229 : tensor<12x12xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    %b1 = arith.addf %out_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<12x12xf32>
  %231 = tensor.expand_shape %230 [[0, 1], [2]] output_shape [2, 6, 12] : tensor<12x12xf32> into tensor<2x6x12xf32>
  %232 = tensor.extract_slice %tokens[0, 1] [2, 6] [1, 1] : tensor<2x7xi32> to tensor<2x6xi32>
  %233 = tensor.expand_shape %232 [[0], [1, 2]] output_shape [2, 6, 1] : tensor<2x6xi32> into tensor<2x6x1xi32>
  %234 = tensor.empty() : tensor<2x6x1xi1>
  %235 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%233 : tensor<2x6x1xi32>) outs(%234 : tensor<2x6x1xi1>) {
  ^bb0(%in_0: i32, %out_0: i1):
    %b0 = arith.constant 0 : i32
    %b1 = arith.cmpi slt, %in_0, %b0 : i32
    linalg.yield %b1 : i1
  } -> tensor<2x6x1xi1>
  %236 = tensor.empty() : tensor<2x6x1xi32>
  %237 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%233 : tensor<2x6x1xi32>) outs(%236 : tensor<2x6x1xi32>) {
  ^bb0(%in_0: i32, %out_0: i32):
    %b0 = arith.constant 12 : i32
    %b1 = arith.addi %in_0, %b0 : i32
    linalg.yield %b1 : i32
  } -> tensor<2x6x1xi32>
  %238 = tensor.empty() : tensor<2x6x1xi32>
  %239 = linalg.generic {indexing_maps = [#map2, #map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%235, %237, %233 : tensor<2x6x1xi1>, tensor<2x6x1xi32>, tensor<2x6x1xi32>) outs(%238 : tensor<2x6x1xi32>) {
  ^bb0(%in_0: i1, %in_1: i32, %in_2: i32, %out_0: i32):
    %b0 = arith.select %in_0, %in_1, %in_2 : i32
    linalg.yield %b0 : i32
  } -> tensor<2x6x1xi32>
  %240 = tensor.expand_shape %239 [[0], [1], [2, 3]] output_shape [2, 6, 1, 1] : tensor<2x6x1xi32> into tensor<2x6x1x1xi32>
  %241 = tensor.empty() : tensor<2x6x1x1xi1>
  %242 = linalg.generic {indexing_maps = [#map8, #map8], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%240 : tensor<2x6x1x1xi32>) outs(%241 : tensor<2x6x1x1xi1>) {
  ^bb0(%in_0: i32, %out_0: i1):
    %b0 = arith.constant 0 : i32
    %b1 = arith.cmpi sge, %in_0, %b0 : i32
    linalg.yield %b1 : i1
  } -> tensor<2x6x1x1xi1>
  %243 = tensor.empty() : tensor<2x6x1x1xi1>
  %244 = linalg.generic {indexing_maps = [#map8, #map8], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%240 : tensor<2x6x1x1xi32>) outs(%243 : tensor<2x6x1x1xi1>) {
  ^bb0(%in_0: i32, %out_0: i1):
    %b0 = arith.constant 11 : i32
    %b1 = arith.cmpi sle, %in_0, %b0 : i32
    linalg.yield %b1 : i1
  } -> tensor<2x6x1x1xi1>
  %245 = tensor.empty() : tensor<2x6x1x1xi1>
  %246 = linalg.generic {indexing_maps = [#map8, #map8, #map8], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%242, %244 : tensor<2x6x1x1xi1>, tensor<2x6x1x1xi1>) outs(%245 : tensor<2x6x1x1xi1>) {
  ^bb0(%in_0: i1, %in_1: i1, %out_0: i1):
    %b0 = arith.andi %in_0, %in_1 : i1
    linalg.yield %b0 : i1
  } -> tensor<2x6x1x1xi1>
  %247 = tensor.collapse_shape %246 [[0], [1], [2, 3]] : tensor<2x6x1x1xi1> into tensor<2x6x1xi1>
  %248 = tensor.empty() : tensor<2x6x1xf32>
  %249 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%239 : tensor<2x6x1xi32>) outs(%248 : tensor<2x6x1xf32>) {
  ^bb0(%in_0: i32, %out_0: f32):
    %b0 = linalg.index 0 : index
    %b1 = linalg.index 1 : index
    %b2 = arith.index_cast %in_0 : i32 to index
    %b3 = arith.constant 0 : index
    %b4 = arith.maxsi %b2, %b3 : index
    %b5 = arith.constant 11 : index
    %b6 = arith.minsi %b4, %b5 : index
    %b7 = tensor.extract %231[%b0, %b1, %b6] : tensor<2x6x12xf32>
    linalg.yield %b7 : f32
  } -> tensor<2x6x1xf32>
  %250 = tensor.empty() : tensor<2x6x1xf32>
  %251 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%247, %249 : tensor<2x6x1xi1>, tensor<2x6x1xf32>) outs(%250 : tensor<2x6x1xf32>) {
  ^bb0(%in_0: i1, %in_1: f32, %out_0: f32):
    %b0 = arith.constant 0x7FC00000 : f32
    %b1 = arith.select %in_0, %in_1, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<2x6x1xf32>
  %252 = tensor.empty() : tensor<i1>
  %253 = linalg.generic {indexing_maps = [#map15], iterator_types = []} outs(%252 : tensor<i1>) {
  ^bb0(%out_0: i1):
    %b0 = arith.constant 0 : i32
    %b1 = arith.cmpi slt, %b0, %b0 : i32
    linalg.yield %b1 : i1
  } -> tensor<i1>
  %254 = tensor.empty() : tensor<i32>
  %255 = linalg.generic {indexing_maps = [#map15], iterator_types = []} outs(%254 : tensor<i32>) {
  ^bb0(%out_0: i32):
    %b0 = arith.constant 0 : i32
    %b1 = arith.constant 1 : i32
    %b2 = arith.addi %b0, %b1 : i32
    linalg.yield %b2 : i32
  } -> tensor<i32>
  %256 = tensor.empty() : tensor<i32>
  %257 = linalg.generic {indexing_maps = [#map15, #map15, #map15], iterator_types = []} ins(%253, %255 : tensor<i1>, tensor<i32>) outs(%256 : tensor<i32>) {
  ^bb0(%in_0: i1, %in_1: i32, %out_0: i32):
    %b0 = arith.constant 0 : i32
    %b1 = arith.select %in_0, %in_1, %b0 : i32
    linalg.yield %b1 : i32
  } -> tensor<i32>
  %258 = tensor.expand_shape %257 [] output_shape [1] : tensor<i32> into tensor<1xi32>
  %259 = tensor.empty() : tensor<1xi1>
  %260 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%258 : tensor<1xi32>) outs(%259 : tensor<1xi1>) {
  ^bb0(%in_0: i32, %out_0: i1):
    %b0 = arith.constant 0 : i32
    %b1 = arith.cmpi sge, %in_0, %b0 : i32
    linalg.yield %b1 : i1
  } -> tensor<1xi1>
  %261 = tensor.empty() : tensor<1xi1>
  %262 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%258 : tensor<1xi32>) outs(%261 : tensor<1xi1>) {
  ^bb0(%in_0: i32, %out_0: i1):
    %b0 = arith.constant 0 : i32
    %b1 = arith.cmpi sle, %in_0, %b0 : i32
    linalg.yield %b1 : i1
  } -> tensor<1xi1>
  %263 = tensor.empty() : tensor<1xi1>
  %264 = linalg.generic {indexing_maps = [#map16, #map16, #map16], iterator_types = ["parallel"]} ins(%260, %262 : tensor<1xi1>, tensor<1xi1>) outs(%263 : tensor<1xi1>) {
  ^bb0(%in_0: i1, %in_1: i1, %out_0: i1):
    %b0 = arith.andi %in_0, %in_1 : i1
    linalg.yield %b0 : i1
  } -> tensor<1xi1>
  %265 = tensor.collapse_shape %264 [] : tensor<1xi1> into tensor<i1>
  %266 = tensor.empty() : tensor<2x6xf32>
  %267 = linalg.generic {indexing_maps = [#map17, #map0], iterator_types = ["parallel", "parallel"]} ins(%257 : tensor<i32>) outs(%266 : tensor<2x6xf32>) {
  ^bb0(%in_0: i32, %out_0: f32):
    %b0 = linalg.index 0 : index
    %b1 = linalg.index 1 : index
    %b2 = arith.constant 0 : index
    %b3 = tensor.extract %251[%b0, %b1, %b2] : tensor<2x6x1xf32>
    linalg.yield %b3 : f32
  } -> tensor<2x6xf32>
  %268 = tensor.empty() : tensor<2x6xf32>
  %269 = linalg.generic {indexing_maps = [#map17, #map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%265, %267 : tensor<i1>, tensor<2x6xf32>) outs(%268 : tensor<2x6xf32>) {
  ^bb0(%in_0: i1, %in_1: f32, %out_0: f32):
    %b0 = arith.constant 0x7FC00000 : f32
    %b1 = arith.select %in_0, %in_1, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<2x6xf32>
  %270 = arith.constant 0xFF800000 : f32
  %271 = tensor.empty() : tensor<2x6xf32>
  %272 = linalg.fill ins(%270 : f32) outs(%271 : tensor<2x6xf32>) -> tensor<2x6xf32>
  %273 = linalg.generic {indexing_maps = [#map2, #map1], iterator_types = ["parallel", "parallel", "reduction"]} ins(%231 : tensor<2x6x12xf32>) outs(%272 : tensor<2x6xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.maximumf %out_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<2x6xf32>
  %274 = tensor.empty() : tensor<2x6xf32>
  %275 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%273 : tensor<2x6xf32>) outs(%274 : tensor<2x6xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 0xFF800000 : f32
    %b1 = arith.maximumf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<2x6xf32>
  %276 = tensor.empty() : tensor<2x6xi1>
  %277 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%275 : tensor<2x6xf32>) outs(%276 : tensor<2x6xi1>) {
  ^bb0(%in_0: f32, %out_0: i1):
    %b0 = math.absf %in_0 : f32
    %b1 = arith.constant 0x7F800000 : f32
    %b2 = arith.cmpf olt, %b0, %b1 : f32
    linalg.yield %b2 : i1
  } -> tensor<2x6xi1>
  %278 = tensor.empty() : tensor<2x6xf32>
  %279 = linalg.generic {indexing_maps = [#map0, #map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%277, %275 : tensor<2x6xi1>, tensor<2x6xf32>) outs(%278 : tensor<2x6xf32>) {
  ^bb0(%in_0: i1, %in_1: f32, %out_0: f32):
    %b0 = arith.constant 0.000000e+00 : f32
    %b1 = arith.select %in_0, %in_1, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<2x6xf32>
  %280 = tensor.empty() : tensor<2x6x12xf32>
  %281 = linalg.generic {indexing_maps = [#map2, #map1, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%231, %279 : tensor<2x6x12xf32>, tensor<2x6xf32>) outs(%280 : tensor<2x6x12xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.subf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<2x6x12xf32>
  %282 = tensor.empty() : tensor<2x6x12xf32>
  %283 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%281 : tensor<2x6x12xf32>) outs(%282 : tensor<2x6x12xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = math.exp %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<2x6x12xf32>
  %284 = arith.constant 0.000000e+00 : f32
  %285 = tensor.empty() : tensor<2x6xf32>
  %286 = linalg.fill ins(%284 : f32) outs(%285 : tensor<2x6xf32>) -> tensor<2x6xf32>
  %287 = linalg.generic {indexing_maps = [#map2, #map1], iterator_types = ["parallel", "parallel", "reduction"]} ins(%283 : tensor<2x6x12xf32>) outs(%286 : tensor<2x6xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.addf %out_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<2x6xf32>
  %288 = tensor.empty() : tensor<2x6xf32>
  %289 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%287 : tensor<2x6xf32>) outs(%288 : tensor<2x6xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = math.absf %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<2x6xf32>
  %290 = tensor.empty() : tensor<2x6xi1>
  %291 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%287 : tensor<2x6xf32>) outs(%290 : tensor<2x6xi1>) {
  ^bb0(%in_0: f32, %out_0: i1):
    %b0 = arith.constant 0.000000e+00 : f32
    %b1 = arith.cmpf oge, %in_0, %b0 : f32
    linalg.yield %b1 : i1
  } -> tensor<2x6xi1>
  %292 = tensor.empty() : tensor<2x6xf32>
  %293 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%289 : tensor<2x6xf32>) outs(%292 : tensor<2x6xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = math.log %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<2x6xf32>
  %294 = tensor.empty() : tensor<2x6xf32>
  %295 = linalg.generic {indexing_maps = [#map0, #map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%293, %279 : tensor<2x6xf32>, tensor<2x6xf32>) outs(%294 : tensor<2x6xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<2x6xf32>
  %296 = tensor.empty() : tensor<2x6xf32>
  %297 = linalg.generic {indexing_maps = [#map0, #map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%295, %269 : tensor<2x6xf32>, tensor<2x6xf32>) outs(%296 : tensor<2x6xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.subf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<2x6xf32>
  %298 = arith.constant 0.000000e+00 : f32
  %299 = tensor.empty() : tensor<f32>
  %300 = linalg.fill ins(%298 : f32) outs(%299 : tensor<f32>) -> tensor<f32>
  %301 = linalg.generic {indexing_maps = [#map0, #map17], iterator_types = ["reduction", "reduction"]} ins(%297 : tensor<2x6xf32>) outs(%300 : tensor<f32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.addf %out_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<f32>
  %302 = tensor.empty() : tensor<f32>
  %303 = linalg.generic {indexing_maps = [#map15, #map15], iterator_types = []} ins(%301 : tensor<f32>) outs(%302 : tensor<f32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.200000e+01 : f32
    %b1 = arith.divf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<f32>
  %304 = tensor.empty() : tensor<f32>
  %305 = linalg.generic {indexing_maps = [#map15], iterator_types = []} outs(%304 : tensor<f32>) {
  ^bb0(%out_0: f32):
    %b0 = arith.constant 1.000000e+00 : f32
    %b1 = arith.constant 1.200000e+01 : f32
    %b2 = arith.divf %b0, %b1 : f32
    linalg.yield %b2 : f32
  } -> tensor<f32>
  %306 = tensor.empty() : tensor<2x6xf32>
  %307 = linalg.generic {indexing_maps = [#map17, #map0], iterator_types = ["parallel", "parallel"]} ins(%305 : tensor<f32>) outs(%306 : tensor<2x6xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.negf %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<2x6xf32>
  %308 = tensor.empty() : tensor<2x6xf32>
  %309 = linalg.generic {indexing_maps = [#map17, #map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%305, %289 : tensor<f32>, tensor<2x6xf32>) outs(%308 : tensor<2x6xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<2x6xf32>
  %310 = tensor.empty() : tensor<2x6xf32>
  %311 = linalg.generic {indexing_maps = [#map0, #map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%291, %309 : tensor<2x6xi1>, tensor<2x6xf32>) outs(%310 : tensor<2x6xf32>) {
  ^bb0(%in_0: i1, %in_1: f32, %out_0: f32):
    %b0 = arith.constant 0.000000e+00 : f32
    %b1 = arith.select %in_0, %b0, %in_1 : f32
    linalg.yield %b1 : f32
  } -> tensor<2x6xf32>
  %312 = tensor.empty() : tensor<2x6xf32>
  %313 = linalg.generic {indexing_maps = [#map0, #map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%291, %309 : tensor<2x6xi1>, tensor<2x6xf32>) outs(%312 : tensor<2x6xf32>) {
  ^bb0(%in_0: i1, %in_1: f32, %out_0: f32):
    %b0 = arith.constant 0.000000e+00 : f32
    %b1 = arith.select %in_0, %in_1, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<2x6xf32>
  %314 = tensor.empty() : tensor<2x6xf32>
  %315 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%311 : tensor<2x6xf32>) outs(%314 : tensor<2x6xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.negf %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<2x6xf32>
  %316 = tensor.empty() : tensor<2x6xf32>
  %317 = linalg.generic {indexing_maps = [#map0, #map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%313, %315 : tensor<2x6xf32>, tensor<2x6xf32>) outs(%316 : tensor<2x6xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<2x6xf32>
  %318 = tensor.empty() : tensor<2x6x12xf32>
  %319 = linalg.generic {indexing_maps = [#map1, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%317, %283 : tensor<2x6xf32>, tensor<2x6x12xf32>) outs(%318 : tensor<2x6x12xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<2x6x12xf32>
  %320 = arith.constant dense<0.000000e+00> : tensor<2x6x1xf32>
  %321 = tensor.expand_shape %307 [[0, 1], [2]] output_shape [1, 2, 6] : tensor<2x6xf32> into tensor<1x2x6xf32>
  %322 = tensor.expand_shape %257 [] output_shape [1] : tensor<i32> into tensor<1xi32>
  %323 = arith.constant 0 : index
  %324 = tensor.extract %322[%323] : tensor<1xi32>
  %325 = arith.index_cast %324 : i32 to index
  %326 = arith.constant 0 : index
  %327 = arith.cmpi ule, %325, %326 : index
  %328 = arith.constant 0 : index
  %329 = arith.maxsi %325, %328 : index
  %330 = arith.constant 0 : index
  %331 = arith.minsi %329, %330 : index
  %332 = tensor.extract_slice %320[0, 0, %331] [2, 6, 1] [1, 1, 1] : tensor<2x6x1xf32> to tensor<2x6xf32>
  %333 = tensor.extract_slice %321[%323, 0, 0] [1, 2, 6] [1, 1, 1] : tensor<1x2x6xf32> to tensor<2x6xf32>
  %334 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%333 : tensor<2x6xf32>) outs(%332 : tensor<2x6xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.addf %out_0, %in_0 : f32
    %b1 = arith.select %327, %b0, %out_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<2x6xf32>
  %335 = tensor.insert_slice %334 into %320[0, 0, %331] [2, 6, 1] [1, 1, 1] : tensor<2x6xf32> into tensor<2x6x1xf32>
  %336 = arith.constant dense<0.000000e+00> : tensor<2x6x12xf32>
  %337 = tensor.collapse_shape %335 [[0, 1, 2]] : tensor<2x6x1xf32> into tensor<12xf32>
  %338 = tensor.collapse_shape %239 [[0, 1, 2]] : tensor<2x6x1xi32> into tensor<12xi32>
  %339 = arith.constant 0 : index
  %340 = arith.constant 12 : index
  %341 = arith.constant 1 : index
  %342 = scf.for %r0 = %339 to %340 step %341 iter_args(%r1 = %336) -> (tensor<2x6x12xf32>) {
    %343 = arith.constant 6 : index
    %344 = arith.divui %r0, %343 : index
    %345 = arith.constant 2 : index
    %346 = arith.remui %344, %345 : index
    %347 = arith.constant 1 : index
    %348 = arith.divui %r0, %347 : index
    %349 = arith.constant 6 : index
    %350 = arith.remui %348, %349 : index
    %351 = tensor.extract %338[%r0] : tensor<12xi32>
    %352 = arith.index_cast %351 : i32 to index
    %353 = arith.constant 11 : index
    %354 = arith.cmpi ule, %352, %353 : index
    %355 = arith.constant 0 : index
    %356 = arith.maxsi %352, %355 : index
    %357 = arith.constant 11 : index
    %358 = arith.minsi %356, %357 : index
    %359 = tensor.extract_slice %r1[%346, %350, %358] [1, 1, 1] [1, 1, 1] : tensor<2x6x12xf32> to tensor<f32>
    %360 = tensor.extract_slice %337[%r0] [1] [1] : tensor<12xf32> to tensor<f32>
    %361 = linalg.generic {indexing_maps = [#map15, #map15], iterator_types = []} ins(%360 : tensor<f32>) outs(%359 : tensor<f32>) {
    ^bb0(%in_0: f32, %out_0: f32):
      %b0 = arith.addf %out_0, %in_0 : f32
      %b1 = arith.select %354, %b0, %out_0 : f32
      linalg.yield %b1 : f32
    } -> tensor<f32>
    %362 = tensor.insert_slice %361 into %r1[%346, %350, %358] [1, 1, 1] [1, 1, 1] : tensor<f32> into tensor<2x6x12xf32>
    scf.yield %362 : tensor<2x6x12xf32>
  }
  %363 = tensor.empty() : tensor<2x6x12xf32>
  %364 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%319, %342 : tensor<2x6x12xf32>, tensor<2x6x12xf32>) outs(%363 : tensor<2x6x12xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<2x6x12xf32>
  %365 = tensor.collapse_shape %364 [[0, 1], [2]] : tensor<2x6x12xf32> into tensor<12x12xf32>
  %366 = arith.constant 0.000000e+00 : f32
  %367 = tensor.empty() : tensor<12x8xf32>
  %368 = linalg.fill ins(%366 : f32) outs(%367 : tensor<12x8xf32>) -> tensor<12x8xf32>
  %369 = linalg.matmul ins(%365, %bytes : tensor<12x12xf32>, tensor<12x8xf32>) outs(%368 : tensor<12x8xf32>) -> tensor<12x8xf32>
  %370 = tensor.expand_shape %369 [[0, 1], [2]] output_shape [2, 6, 8] : tensor<12x8xf32> into tensor<2x6x8xf32>
  %371 = tensor.collapse_shape %364 [[0, 1], [2]] : tensor<2x6x12xf32> into tensor<12x12xf32>
  %372 = tensor.collapse_shape %225 [[0, 1], [2]] : tensor<2x6x8xf32> into tensor<12x8xf32>
  %373 = arith.constant 0.000000e+00 : f32
  %374 = tensor.empty() : tensor<12x8xf32>
  %375 = linalg.fill ins(%373 : f32) outs(%374 : tensor<12x8xf32>) -> tensor<12x8xf32>
  %376 = linalg.generic {indexing_maps = [#map18, #map19, #map1], iterator_types = ["parallel", "parallel", "reduction"]} ins(%371, %372 : tensor<12x12xf32>, tensor<12x8xf32>) outs(%375 : tensor<12x8xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    %b1 = arith.addf %out_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<12x8xf32>
  %377 = arith.constant 0.000000e+00 : f32
  %378 = tensor.empty() : tensor<8xf32>
  %379 = linalg.fill ins(%377 : f32) outs(%378 : tensor<8xf32>) -> tensor<8xf32>
  %380 = linalg.generic {indexing_maps = [#map2, #map4], iterator_types = ["reduction", "reduction", "parallel"]} ins(%370 : tensor<2x6x8xf32>) outs(%379 : tensor<8xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.addf %out_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<8xf32>
  %381 = tensor.empty() : tensor<2x6x8xf32>
  %382 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%221, %370 : tensor<2x6x8xf32>, tensor<2x6x8xf32>) outs(%381 : tensor<2x6x8xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<2x6x8xf32>
  %383 = arith.constant 0.000000e+00 : f32
  %384 = tensor.empty() : tensor<8xf32>
  %385 = linalg.fill ins(%383 : f32) outs(%384 : tensor<8xf32>) -> tensor<8xf32>
  %386 = linalg.generic {indexing_maps = [#map2, #map4], iterator_types = ["reduction", "reduction", "parallel"]} ins(%382 : tensor<2x6x8xf32>) outs(%385 : tensor<8xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.addf %out_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<8xf32>
  %387 = tensor.empty() : tensor<2x6x8xf32>
  %388 = linalg.generic {indexing_maps = [#map2, #map4, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%370, %last.scale : tensor<2x6x8xf32>, tensor<8xf32>) outs(%387 : tensor<2x6x8xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<2x6x8xf32>
  %389 = tensor.empty() : tensor<2x6x8xf32>
  %390 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%210, %388 : tensor<2x6x8xf32>, tensor<2x6x8xf32>) outs(%389 : tensor<2x6x8xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<2x6x8xf32>
  %391 = arith.constant 0.000000e+00 : f32
  %392 = tensor.empty() : tensor<2x6xf32>
  %393 = linalg.fill ins(%391 : f32) outs(%392 : tensor<2x6xf32>) -> tensor<2x6xf32>
  %394 = linalg.generic {indexing_maps = [#map2, #map1], iterator_types = ["parallel", "parallel", "reduction"]} ins(%390 : tensor<2x6x8xf32>) outs(%393 : tensor<2x6xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.addf %out_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<2x6xf32>
  %395 = tensor.expand_shape %394 [[0], [1, 2]] output_shape [2, 6, 1] : tensor<2x6xf32> into tensor<2x6x1xf32>
  %396 = tensor.collapse_shape %214 [[0], [1, 2]] : tensor<2x6x1xf32> into tensor<2x6xf32>
  %397 = tensor.empty() : tensor<2x6x8xf32>
  %398 = linalg.generic {indexing_maps = [#map2, #map1, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%388, %396 : tensor<2x6x8xf32>, tensor<2x6xf32>) outs(%397 : tensor<2x6x8xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<2x6x8xf32>
  %399 = tensor.empty() : tensor<2x6x1xf32>
  %400 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%395, %218 : tensor<2x6x1xf32>, tensor<2x6x1xf32>) outs(%399 : tensor<2x6x1xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<2x6x1xf32>
  %401 = tensor.empty() : tensor<2x6x8xf32>
  %402 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%398 : tensor<2x6x8xf32>) outs(%401 : tensor<2x6x8xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.negf %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<2x6x8xf32>
  %403 = arith.constant 0.000000e+00 : f32
  %404 = tensor.empty() : tensor<2x6xf32>
  %405 = linalg.fill ins(%403 : f32) outs(%404 : tensor<2x6xf32>) -> tensor<2x6xf32>
  %406 = linalg.generic {indexing_maps = [#map2, #map1], iterator_types = ["parallel", "parallel", "reduction"]} ins(%402 : tensor<2x6x8xf32>) outs(%405 : tensor<2x6xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.addf %out_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<2x6xf32>
  %407 = tensor.expand_shape %406 [[0], [1, 2]] output_shape [2, 6, 1] : tensor<2x6xf32> into tensor<2x6x1xf32>
  %408 = tensor.empty() : tensor<2x6x1xf32>
  %409 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%400 : tensor<2x6x1xf32>) outs(%408 : tensor<2x6x1xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 8.000000e+00 : f32
    %b1 = arith.divf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<2x6x1xf32>
  %410 = tensor.collapse_shape %409 [[0], [1, 2]] : tensor<2x6x1xf32> into tensor<2x6xf32>
  %411 = tensor.empty() : tensor<2x6x8xf32>
  %412 = linalg.generic {indexing_maps = [#map1, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%410, %200 : tensor<2x6xf32>, tensor<2x6x8xf32>) outs(%411 : tensor<2x6x8xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<2x6x8xf32>
  %413 = tensor.empty() : tensor<2x6x8xf32>
  %414 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%412 : tensor<2x6x8xf32>) outs(%413 : tensor<2x6x8xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.negf %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<2x6x8xf32>
  %415 = arith.constant 0.000000e+00 : f32
  %416 = tensor.empty() : tensor<2x6xf32>
  %417 = linalg.fill ins(%415 : f32) outs(%416 : tensor<2x6xf32>) -> tensor<2x6xf32>
  %418 = linalg.generic {indexing_maps = [#map2, #map1], iterator_types = ["parallel", "parallel", "reduction"]} ins(%414 : tensor<2x6x8xf32>) outs(%417 : tensor<2x6xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.addf %out_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<2x6xf32>
  %419 = tensor.expand_shape %418 [[0], [1, 2]] output_shape [2, 6, 1] : tensor<2x6xf32> into tensor<2x6x1xf32>
  %420 = tensor.empty() : tensor<2x6x8xf32>
  %421 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%398, %412 : tensor<2x6x8xf32>, tensor<2x6x8xf32>) outs(%420 : tensor<2x6x8xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<2x6x8xf32>
  %422 = tensor.empty() : tensor<2x6x1xf32>
  %423 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%407, %419 : tensor<2x6x1xf32>, tensor<2x6x1xf32>) outs(%422 : tensor<2x6x1xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<2x6x1xf32>
  %424 = tensor.empty() : tensor<2x6x1xf32>
  %425 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%423 : tensor<2x6x1xf32>) outs(%424 : tensor<2x6x1xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 8.000000e+00 : f32
    %b1 = arith.divf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<2x6x1xf32>
  %426 = tensor.collapse_shape %425 [[0], [1, 2]] : tensor<2x6x1xf32> into tensor<2x6xf32>
  %427 = tensor.empty() : tensor<2x6x8xf32>
  %428 = linalg.generic {indexing_maps = [#map2, #map1, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%421, %426 : tensor<2x6x8xf32>, tensor<2x6xf32>) outs(%427 : tensor<2x6x8xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<2x6x8xf32>
  %429 = tensor.collapse_shape %428 [[0, 1], [2]] : tensor<2x6x8xf32> into tensor<12x8xf32>
  %430 = tensor.collapse_shape %178 [[0, 1], [2]] : tensor<2x6x32xf32> into tensor<12x32xf32>
  %431 = arith.constant 0.000000e+00 : f32
  %432 = tensor.empty() : tensor<32x8xf32>
  %433 = linalg.fill ins(%431 : f32) outs(%432 : tensor<32x8xf32>) -> tensor<32x8xf32>
  %434 = linalg.generic {indexing_maps = [#map18, #map19, #map20], iterator_types = ["parallel", "parallel", "reduction"]} ins(%429, %430 : tensor<12x8xf32>, tensor<12x32xf32>) outs(%433 : tensor<32x8xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    %b1 = arith.addf %out_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<32x8xf32>
  %435 = tensor.collapse_shape %428 [[0, 1], [2]] : tensor<2x6x8xf32> into tensor<12x8xf32>
  %436 = arith.constant 0.000000e+00 : f32
  %437 = tensor.empty() : tensor<12x32xf32>
  %438 = linalg.fill ins(%436 : f32) outs(%437 : tensor<12x32xf32>) -> tensor<12x32xf32>
  %439 = linalg.generic {indexing_maps = [#map14, #map3, #map1], iterator_types = ["parallel", "parallel", "reduction"]} ins(%435, %layer0.down : tensor<12x8xf32>, tensor<32x8xf32>) outs(%438 : tensor<12x32xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    %b1 = arith.addf %out_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<12x32xf32>
  %440 = tensor.expand_shape %439 [[0, 1], [2]] output_shape [2, 6, 32] : tensor<12x32xf32> into tensor<2x6x32xf32>
  %441 = tensor.empty() : tensor<2x6x32xf32>
  %442 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%154, %440 : tensor<2x6x32xf32>, tensor<2x6x32xf32>) outs(%441 : tensor<2x6x32xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<2x6x32xf32>
  %443 = tensor.empty() : tensor<2x6x32xf32>
  %444 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%440, %176 : tensor<2x6x32xf32>, tensor<2x6x32xf32>) outs(%443 : tensor<2x6x32xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<2x6x32xf32>
  %445 = tensor.empty() : tensor<2x6x32xf32>
  %446 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%442 : tensor<2x6x32xf32>) outs(%445 : tensor<2x6x32xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 5.000000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<2x6x32xf32>
  %447 = tensor.empty() : tensor<2x6x32xf32>
  %448 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%446, %172 : tensor<2x6x32xf32>, tensor<2x6x32xf32>) outs(%447 : tensor<2x6x32xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<2x6x32xf32>
  %449 = tensor.empty() : tensor<2x6x32xf32>
  %450 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%448, %170 : tensor<2x6x32xf32>, tensor<2x6x32xf32>) outs(%449 : tensor<2x6x32xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<2x6x32xf32>
  %451 = tensor.empty() : tensor<2x6x32xf32>
  %452 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%448, %450 : tensor<2x6x32xf32>, tensor<2x6x32xf32>) outs(%451 : tensor<2x6x32xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<2x6x32xf32>
  %453 = tensor.empty() : tensor<2x6x32xf32>
  %454 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%452 : tensor<2x6x32xf32>) outs(%453 : tensor<2x6x32xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 7.978846e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<2x6x32xf32>
  %455 = tensor.empty() : tensor<2x6x32xf32>
  %456 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%444, %454 : tensor<2x6x32xf32>, tensor<2x6x32xf32>) outs(%455 : tensor<2x6x32xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<2x6x32xf32>
  %457 = tensor.empty() : tensor<2x6x32xf32>
  %458 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%454 : tensor<2x6x32xf32>) outs(%457 : tensor<2x6x32xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 4.471500e-02 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<2x6x32xf32>
  %459 = tensor.empty() : tensor<2x6x32xf32>
  %460 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%458, %162 : tensor<2x6x32xf32>, tensor<2x6x32xf32>) outs(%459 : tensor<2x6x32xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<2x6x32xf32>
  %461 = tensor.empty() : tensor<2x6x32xf32>
  %462 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%456, %460 : tensor<2x6x32xf32>, tensor<2x6x32xf32>) outs(%461 : tensor<2x6x32xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<2x6x32xf32>
  %463 = tensor.collapse_shape %462 [[0, 1], [2]] : tensor<2x6x32xf32> into tensor<12x32xf32>
  %464 = tensor.collapse_shape %148 [[0, 1], [2]] : tensor<2x6x8xf32> into tensor<12x8xf32>
  %465 = arith.constant 0.000000e+00 : f32
  %466 = tensor.empty() : tensor<8x32xf32>
  %467 = linalg.fill ins(%465 : f32) outs(%466 : tensor<8x32xf32>) -> tensor<8x32xf32>
  %468 = linalg.generic {indexing_maps = [#map18, #map19, #map20], iterator_types = ["parallel", "parallel", "reduction"]} ins(%463, %464 : tensor<12x32xf32>, tensor<12x8xf32>) outs(%467 : tensor<8x32xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    %b1 = arith.addf %out_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<8x32xf32>
  %469 = tensor.collapse_shape %462 [[0, 1], [2]] : tensor<2x6x32xf32> into tensor<12x32xf32>
  %470 = arith.constant 0.000000e+00 : f32
  %471 = tensor.empty() : tensor<12x8xf32>
  %472 = linalg.fill ins(%470 : f32) outs(%471 : tensor<12x8xf32>) -> tensor<12x8xf32>
  %473 = linalg.generic {indexing_maps = [#map14, #map3, #map1], iterator_types = ["parallel", "parallel", "reduction"]} ins(%469, %layer0.up : tensor<12x32xf32>, tensor<8x32xf32>) outs(%472 : tensor<12x8xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    %b1 = arith.addf %out_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<12x8xf32>
  %474 = tensor.expand_shape %473 [[0, 1], [2]] output_shape [2, 6, 8] : tensor<12x8xf32> into tensor<2x6x8xf32>
  %475 = arith.constant 0.000000e+00 : f32
  %476 = tensor.empty() : tensor<8xf32>
  %477 = linalg.fill ins(%475 : f32) outs(%476 : tensor<8xf32>) -> tensor<8xf32>
  %478 = linalg.generic {indexing_maps = [#map2, #map4], iterator_types = ["reduction", "reduction", "parallel"]} ins(%474 : tensor<2x6x8xf32>) outs(%477 : tensor<8xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.addf %out_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<8xf32>
  %479 = tensor.empty() : tensor<2x6x8xf32>
  %480 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%144, %474 : tensor<2x6x8xf32>, tensor<2x6x8xf32>) outs(%479 : tensor<2x6x8xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<2x6x8xf32>
  %481 = arith.constant 0.000000e+00 : f32
  %482 = tensor.empty() : tensor<8xf32>
  %483 = linalg.fill ins(%481 : f32) outs(%482 : tensor<8xf32>) -> tensor<8xf32>
  %484 = linalg.generic {indexing_maps = [#map2, #map4], iterator_types = ["reduction", "reduction", "parallel"]} ins(%480 : tensor<2x6x8xf32>) outs(%483 : tensor<8xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.addf %out_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<8xf32>
  %485 = tensor.empty() : tensor<2x6x8xf32>
  %486 = linalg.generic {indexing_maps = [#map2, #map4, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%474, %layer0.norm2.scale : tensor<2x6x8xf32>, tensor<8xf32>) outs(%485 : tensor<2x6x8xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<2x6x8xf32>
  %487 = tensor.empty() : tensor<2x6x8xf32>
  %488 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%133, %486 : tensor<2x6x8xf32>, tensor<2x6x8xf32>) outs(%487 : tensor<2x6x8xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<2x6x8xf32>
  %489 = arith.constant 0.000000e+00 : f32
  %490 = tensor.empty() : tensor<2x6xf32>
  %491 = linalg.fill ins(%489 : f32) outs(%490 : tensor<2x6xf32>) -> tensor<2x6xf32>
  %492 = linalg.generic {indexing_maps = [#map2, #map1], iterator_types = ["parallel", "parallel", "reduction"]} ins(%488 : tensor<2x6x8xf32>) outs(%491 : tensor<2x6xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.addf %out_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<2x6xf32>
  %493 = tensor.expand_shape %492 [[0], [1, 2]] output_shape [2, 6, 1] : tensor<2x6xf32> into tensor<2x6x1xf32>
  %494 = tensor.collapse_shape %137 [[0], [1, 2]] : tensor<2x6x1xf32> into tensor<2x6xf32>
  %495 = tensor.empty() : tensor<2x6x8xf32>
  %496 = linalg.generic {indexing_maps = [#map2, #map1, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%486, %494 : tensor<2x6x8xf32>, tensor<2x6xf32>) outs(%495 : tensor<2x6x8xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<2x6x8xf32>
  %497 = tensor.empty() : tensor<2x6x1xf32>
  %498 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%493, %141 : tensor<2x6x1xf32>, tensor<2x6x1xf32>) outs(%497 : tensor<2x6x1xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<2x6x1xf32>
  %499 = tensor.empty() : tensor<2x6x8xf32>
  %500 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%496 : tensor<2x6x8xf32>) outs(%499 : tensor<2x6x8xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.negf %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<2x6x8xf32>
  %501 = arith.constant 0.000000e+00 : f32
  %502 = tensor.empty() : tensor<2x6xf32>
  %503 = linalg.fill ins(%501 : f32) outs(%502 : tensor<2x6xf32>) -> tensor<2x6xf32>
  %504 = linalg.generic {indexing_maps = [#map2, #map1], iterator_types = ["parallel", "parallel", "reduction"]} ins(%500 : tensor<2x6x8xf32>) outs(%503 : tensor<2x6xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.addf %out_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<2x6xf32>
  %505 = tensor.expand_shape %504 [[0], [1, 2]] output_shape [2, 6, 1] : tensor<2x6xf32> into tensor<2x6x1xf32>
  %506 = tensor.empty() : tensor<2x6x8xf32>
  %507 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%428, %496 : tensor<2x6x8xf32>, tensor<2x6x8xf32>) outs(%506 : tensor<2x6x8xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<2x6x8xf32>
  %508 = tensor.empty() : tensor<2x6x1xf32>
  %509 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%498 : tensor<2x6x1xf32>) outs(%508 : tensor<2x6x1xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 8.000000e+00 : f32
    %b1 = arith.divf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<2x6x1xf32>
  %510 = tensor.collapse_shape %509 [[0], [1, 2]] : tensor<2x6x1xf32> into tensor<2x6xf32>
  %511 = tensor.empty() : tensor<2x6x8xf32>
  %512 = linalg.generic {indexing_maps = [#map1, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%510, %123 : tensor<2x6xf32>, tensor<2x6x8xf32>) outs(%511 : tensor<2x6x8xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<2x6x8xf32>
  %513 = tensor.empty() : tensor<2x6x8xf32>
  %514 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%512 : tensor<2x6x8xf32>) outs(%513 : tensor<2x6x8xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.negf %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<2x6x8xf32>
  %515 = arith.constant 0.000000e+00 : f32
  %516 = tensor.empty() : tensor<2x6xf32>
  %517 = linalg.fill ins(%515 : f32) outs(%516 : tensor<2x6xf32>) -> tensor<2x6xf32>
  %518 = linalg.generic {indexing_maps = [#map2, #map1], iterator_types = ["parallel", "parallel", "reduction"]} ins(%514 : tensor<2x6x8xf32>) outs(%517 : tensor<2x6xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.addf %out_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<2x6xf32>
  %519 = tensor.expand_shape %518 [[0], [1, 2]] output_shape [2, 6, 1] : tensor<2x6xf32> into tensor<2x6x1xf32>
  %520 = tensor.empty() : tensor<2x6x8xf32>
  %521 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%507, %512 : tensor<2x6x8xf32>, tensor<2x6x8xf32>) outs(%520 : tensor<2x6x8xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<2x6x8xf32>
  %522 = tensor.empty() : tensor<2x6x1xf32>
  %523 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%505, %519 : tensor<2x6x1xf32>, tensor<2x6x1xf32>) outs(%522 : tensor<2x6x1xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<2x6x1xf32>
  %524 = tensor.empty() : tensor<2x6x1xf32>
  %525 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%523 : tensor<2x6x1xf32>) outs(%524 : tensor<2x6x1xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 8.000000e+00 : f32
    %b1 = arith.divf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<2x6x1xf32>
  %526 = tensor.collapse_shape %525 [[0], [1, 2]] : tensor<2x6x1xf32> into tensor<2x6xf32>
  %527 = tensor.empty() : tensor<2x6x8xf32>
  %528 = linalg.generic {indexing_maps = [#map2, #map1, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%521, %526 : tensor<2x6x8xf32>, tensor<2x6xf32>) outs(%527 : tensor<2x6x8xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<2x6x8xf32>
  %529 = tensor.collapse_shape %528 [[0, 1], [2]] : tensor<2x6x8xf32> into tensor<12x8xf32>
  %530 = tensor.collapse_shape %101 [[0, 1], [2, 3]] : tensor<2x6x2x4xf32> into tensor<12x8xf32>
  %531 = arith.constant 0.000000e+00 : f32
  %532 = tensor.empty() : tensor<8x8xf32>
  %533 = linalg.fill ins(%531 : f32) outs(%532 : tensor<8x8xf32>) -> tensor<8x8xf32>
  %534 = linalg.generic {indexing_maps = [#map18, #map19, #map20], iterator_types = ["parallel", "parallel", "reduction"]} ins(%529, %530 : tensor<12x8xf32>, tensor<12x8xf32>) outs(%533 : tensor<8x8xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    %b1 = arith.addf %out_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<8x8xf32>
  %535 = tensor.collapse_shape %528 [[0, 1], [2]] : tensor<2x6x8xf32> into tensor<12x8xf32>
  %536 = arith.constant 0.000000e+00 : f32
  %537 = tensor.empty() : tensor<12x8xf32>
  %538 = linalg.fill ins(%536 : f32) outs(%537 : tensor<12x8xf32>) -> tensor<12x8xf32>
  %539 = linalg.generic {indexing_maps = [#map14, #map3, #map1], iterator_types = ["parallel", "parallel", "reduction"]} ins(%535, %layer0.out : tensor<12x8xf32>, tensor<8x8xf32>) outs(%538 : tensor<12x8xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    %b1 = arith.addf %out_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<12x8xf32>
  %540 = tensor.expand_shape %539 [[0, 1], [2, 3]] output_shape [2, 6, 2, 4] : tensor<12x8xf32> into tensor<2x6x2x4xf32>
  %541 = arith.constant 0.000000e+00 : f32
  %542 = tensor.empty() : tensor<2x2x6x6xf32>
  %543 = linalg.fill ins(%541 : f32) outs(%542 : tensor<2x2x6x6xf32>) -> tensor<2x2x6x6xf32>
  %544 = linalg.generic {indexing_maps = [#map5, #map6, #map7], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%540, %58 : tensor<2x6x2x4xf32>, tensor<2x6x2x4xf32>) outs(%543 : tensor<2x2x6x6xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    %b1 = arith.addf %out_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<2x2x6x6xf32>
  %545 = arith.constant 0.000000e+00 : f32
  %546 = tensor.empty() : tensor<2x6x2x4xf32>
  %547 = linalg.fill ins(%545 : f32) outs(%546 : tensor<2x6x2x4xf32>) -> tensor<2x6x2x4xf32>
  %548 = linalg.generic {indexing_maps = [#map11, #map21, #map13], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%540, %93 : tensor<2x6x2x4xf32>, tensor<2x2x6x6xf32>) outs(%547 : tensor<2x6x2x4xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    %b1 = arith.addf %out_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<2x6x2x4xf32>
  %549 = tensor.collapse_shape %97 [[0], [1], [2, 3]] : tensor<2x2x6x1xf32> into tensor<2x2x6xf32>
  %550 = tensor.empty() : tensor<2x2x6x6xf32>
  %551 = linalg.generic {indexing_maps = [#map8, #map10, #map8], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%544, %549 : tensor<2x2x6x6xf32>, tensor<2x2x6xf32>) outs(%550 : tensor<2x2x6x6xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<2x2x6x6xf32>
  %552 = tensor.empty() : tensor<2x2x6x6xf32>
  %553 = linalg.generic {indexing_maps = [#map8, #map8, #map8], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%551, %86 : tensor<2x2x6x6xf32>, tensor<2x2x6x6xf32>) outs(%552 : tensor<2x2x6x6xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<2x2x6x6xf32>
  %554 = arith.constant 0.000000e+00 : f32
  %555 = tensor.empty() : tensor<2x2x6xf32>
  %556 = linalg.fill ins(%554 : f32) outs(%555 : tensor<2x2x6xf32>) -> tensor<2x2x6xf32>
  %557 = linalg.generic {indexing_maps = [#map8, #map10], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%553 : tensor<2x2x6x6xf32>) outs(%556 : tensor<2x2x6xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.addf %out_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<2x2x6xf32>
  %558 = tensor.expand_shape %557 [[0], [1], [2, 3]] output_shape [2, 2, 6, 1] : tensor<2x2x6xf32> into tensor<2x2x6x1xf32>
  %559 = tensor.empty() : tensor<2x2x6x1xf32>
  %560 = linalg.generic {indexing_maps = [#map8, #map8], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%558 : tensor<2x2x6x1xf32>) outs(%559 : tensor<2x2x6x1xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.negf %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<2x2x6x1xf32>
  %561 = tensor.empty() : tensor<2x2x6x6xf32>
  %562 = linalg.generic {indexing_maps = [#map8, #map10, #map8], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%544, %90 : tensor<2x2x6x6xf32>, tensor<2x2x6xf32>) outs(%561 : tensor<2x2x6x6xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<2x2x6x6xf32>
  %563 = tensor.collapse_shape %560 [[0], [1], [2, 3]] : tensor<2x2x6x1xf32> into tensor<2x2x6xf32>
  %564 = tensor.empty() : tensor<2x2x6x6xf32>
  %565 = linalg.generic {indexing_maps = [#map8, #map10, #map8], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%562, %563 : tensor<2x2x6x6xf32>, tensor<2x2x6xf32>) outs(%564 : tensor<2x2x6x6xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<2x2x6x6xf32>
  %566 = tensor.empty() : tensor<2x2x6x6xf32>
  %567 = linalg.generic {indexing_maps = [#map8, #map8, #map8], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%565, %86 : tensor<2x2x6x6xf32>, tensor<2x2x6x6xf32>) outs(%566 : tensor<2x2x6x6xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<2x2x6x6xf32>
  %568 = tensor.empty() : tensor<2x2x6x6xf32>
  %569 = linalg.generic {indexing_maps = [#map9, #map8, #map8], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%74, %567 : tensor<6x6xi1>, tensor<2x2x6x6xf32>) outs(%568 : tensor<2x2x6x6xf32>) {
  ^bb0(%in_0: i1, %in_1: f32, %out_0: f32):
    %b0 = arith.constant 0.000000e+00 : f32
    %b1 = arith.select %in_0, %in_1, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<2x2x6x6xf32>
  %570 = tensor.empty() : tensor<2x2x6x6xf32>
  %571 = linalg.generic {indexing_maps = [#map8, #map8], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%569 : tensor<2x2x6x6xf32>) outs(%570 : tensor<2x2x6x6xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 2.000000e+00 : f32
    %b1 = arith.divf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<2x2x6x6xf32>
  %572 = arith.constant 0.000000e+00 : f32
  %573 = tensor.empty() : tensor<2x6x2x4xf32>
  %574 = linalg.fill ins(%572 : f32) outs(%573 : tensor<2x6x2x4xf32>) -> tensor<2x6x2x4xf32>
  %575 = linalg.generic {indexing_maps = [#map22, #map23, #map24], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%571, %56 : tensor<2x2x6x6xf32>, tensor<2x6x2x4xf32>) outs(%574 : tensor<2x6x2x4xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    %b1 = arith.addf %out_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<2x6x2x4xf32>
  %576 = arith.constant 0.000000e+00 : f32
  %577 = tensor.empty() : tensor<2x6x2x4xf32>
  %578 = linalg.fill ins(%576 : f32) outs(%577 : tensor<2x6x2x4xf32>) -> tensor<2x6x2x4xf32>
  %579 = linalg.generic {indexing_maps = [#map25, #map23, #map24], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%571, %57 : tensor<2x2x6x6xf32>, tensor<2x6x2x4xf32>) outs(%578 : tensor<2x6x2x4xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    %b1 = arith.addf %out_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<2x6x2x4xf32>
  %580 = tensor.empty() : tensor<2x6x6x4xf32>
  %581 = tensor.insert_slice %579 into %580[0, 0, 0, 0] [2, 6, 2, 4] [1, 1, 1, 1] : tensor<2x6x2x4xf32> into tensor<2x6x6x4xf32>
  %582 = tensor.insert_slice %575 into %581[0, 0, 2, 0] [2, 6, 2, 4] [1, 1, 1, 1] : tensor<2x6x2x4xf32> into tensor<2x6x6x4xf32>
  %583 = tensor.insert_slice %548 into %582[0, 0, 4, 0] [2, 6, 2, 4] [1, 1, 1, 1] : tensor<2x6x2x4xf32> into tensor<2x6x6x4xf32>
  %584 = tensor.collapse_shape %583 [[0, 1], [2, 3]] : tensor<2x6x6x4xf32> into tensor<12x24xf32>
  %585 = tensor.collapse_shape %49 [[0, 1], [2]] : tensor<2x6x8xf32> into tensor<12x8xf32>
  %586 = arith.constant 0.000000e+00 : f32
  %587 = tensor.empty() : tensor<8x24xf32>
  %588 = linalg.fill ins(%586 : f32) outs(%587 : tensor<8x24xf32>) -> tensor<8x24xf32>
  %589 = linalg.generic {indexing_maps = [#map18, #map19, #map20], iterator_types = ["parallel", "parallel", "reduction"]} ins(%584, %585 : tensor<12x24xf32>, tensor<12x8xf32>) outs(%588 : tensor<8x24xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    %b1 = arith.addf %out_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<8x24xf32>
  %590 = tensor.collapse_shape %583 [[0, 1], [2, 3]] : tensor<2x6x6x4xf32> into tensor<12x24xf32>
  %591 = arith.constant 0.000000e+00 : f32
  %592 = tensor.empty() : tensor<12x8xf32>
  %593 = linalg.fill ins(%591 : f32) outs(%592 : tensor<12x8xf32>) -> tensor<12x8xf32>
  %594 = linalg.generic {indexing_maps = [#map14, #map3, #map1], iterator_types = ["parallel", "parallel", "reduction"]} ins(%590, %layer0.qkv : tensor<12x24xf32>, tensor<8x24xf32>) outs(%593 : tensor<12x8xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    %b1 = arith.addf %out_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<12x8xf32>
  %595 = tensor.expand_shape %594 [[0, 1], [2]] output_shape [2, 6, 8] : tensor<12x8xf32> into tensor<2x6x8xf32>
  %596 = arith.constant 0.000000e+00 : f32
  %597 = tensor.empty() : tensor<8xf32>
  %598 = linalg.fill ins(%596 : f32) outs(%597 : tensor<8xf32>) -> tensor<8xf32>
  %599 = linalg.generic {indexing_maps = [#map2, #map4], iterator_types = ["reduction", "reduction", "parallel"]} ins(%595 : tensor<2x6x8xf32>) outs(%598 : tensor<8xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.addf %out_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<8xf32>
  %600 = tensor.empty() : tensor<2x6x8xf32>
  %601 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%45, %595 : tensor<2x6x8xf32>, tensor<2x6x8xf32>) outs(%600 : tensor<2x6x8xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<2x6x8xf32>
  %602 = arith.constant 0.000000e+00 : f32
  %603 = tensor.empty() : tensor<8xf32>
  %604 = linalg.fill ins(%602 : f32) outs(%603 : tensor<8xf32>) -> tensor<8xf32>
  %605 = linalg.generic {indexing_maps = [#map2, #map4], iterator_types = ["reduction", "reduction", "parallel"]} ins(%601 : tensor<2x6x8xf32>) outs(%604 : tensor<8xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.addf %out_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<8xf32>
  %606 = tensor.empty() : tensor<2x6x8xf32>
  %607 = linalg.generic {indexing_maps = [#map2, #map4, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%595, %layer0.norm1.scale : tensor<2x6x8xf32>, tensor<8xf32>) outs(%606 : tensor<2x6x8xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<2x6x8xf32>
  %608 = tensor.empty() : tensor<2x6x8xf32>
  %609 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%34, %607 : tensor<2x6x8xf32>, tensor<2x6x8xf32>) outs(%608 : tensor<2x6x8xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<2x6x8xf32>
  %610 = arith.constant 0.000000e+00 : f32
  %611 = tensor.empty() : tensor<2x6xf32>
  %612 = linalg.fill ins(%610 : f32) outs(%611 : tensor<2x6xf32>) -> tensor<2x6xf32>
  %613 = linalg.generic {indexing_maps = [#map2, #map1], iterator_types = ["parallel", "parallel", "reduction"]} ins(%609 : tensor<2x6x8xf32>) outs(%612 : tensor<2x6xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.addf %out_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<2x6xf32>
  %614 = tensor.expand_shape %613 [[0], [1, 2]] output_shape [2, 6, 1] : tensor<2x6xf32> into tensor<2x6x1xf32>
  %615 = tensor.collapse_shape %38 [[0], [1, 2]] : tensor<2x6x1xf32> into tensor<2x6xf32>
  %616 = tensor.empty() : tensor<2x6x8xf32>
  %617 = linalg.generic {indexing_maps = [#map2, #map1, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%607, %615 : tensor<2x6x8xf32>, tensor<2x6xf32>) outs(%616 : tensor<2x6x8xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<2x6x8xf32>
  %618 = tensor.empty() : tensor<2x6x1xf32>
  %619 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%614, %42 : tensor<2x6x1xf32>, tensor<2x6x1xf32>) outs(%618 : tensor<2x6x1xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<2x6x1xf32>
  %620 = tensor.empty() : tensor<2x6x8xf32>
  %621 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%617 : tensor<2x6x8xf32>) outs(%620 : tensor<2x6x8xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.negf %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<2x6x8xf32>
  %622 = arith.constant 0.000000e+00 : f32
  %623 = tensor.empty() : tensor<2x6xf32>
  %624 = linalg.fill ins(%622 : f32) outs(%623 : tensor<2x6xf32>) -> tensor<2x6xf32>
  %625 = linalg.generic {indexing_maps = [#map2, #map1], iterator_types = ["parallel", "parallel", "reduction"]} ins(%621 : tensor<2x6x8xf32>) outs(%624 : tensor<2x6xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.addf %out_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<2x6xf32>
  %626 = tensor.expand_shape %625 [[0], [1, 2]] output_shape [2, 6, 1] : tensor<2x6xf32> into tensor<2x6x1xf32>
  %627 = tensor.empty() : tensor<2x6x8xf32>
  %628 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%528, %617 : tensor<2x6x8xf32>, tensor<2x6x8xf32>) outs(%627 : tensor<2x6x8xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<2x6x8xf32>
  %629 = tensor.empty() : tensor<2x6x1xf32>
  %630 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%619 : tensor<2x6x1xf32>) outs(%629 : tensor<2x6x1xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 8.000000e+00 : f32
    %b1 = arith.divf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<2x6x1xf32>
  %631 = tensor.collapse_shape %630 [[0], [1, 2]] : tensor<2x6x1xf32> into tensor<2x6xf32>
  %632 = tensor.empty() : tensor<2x6x8xf32>
  %633 = linalg.generic {indexing_maps = [#map1, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%631, %24 : tensor<2x6xf32>, tensor<2x6x8xf32>) outs(%632 : tensor<2x6x8xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<2x6x8xf32>
  %634 = tensor.empty() : tensor<2x6x8xf32>
  %635 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%633 : tensor<2x6x8xf32>) outs(%634 : tensor<2x6x8xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.negf %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<2x6x8xf32>
  %636 = arith.constant 0.000000e+00 : f32
  %637 = tensor.empty() : tensor<2x6xf32>
  %638 = linalg.fill ins(%636 : f32) outs(%637 : tensor<2x6xf32>) -> tensor<2x6xf32>
  %639 = linalg.generic {indexing_maps = [#map2, #map1], iterator_types = ["parallel", "parallel", "reduction"]} ins(%635 : tensor<2x6x8xf32>) outs(%638 : tensor<2x6xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.addf %out_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<2x6xf32>
  %640 = tensor.expand_shape %639 [[0], [1, 2]] output_shape [2, 6, 1] : tensor<2x6xf32> into tensor<2x6x1xf32>
  %641 = tensor.empty() : tensor<2x6x8xf32>
  %642 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%628, %633 : tensor<2x6x8xf32>, tensor<2x6x8xf32>) outs(%641 : tensor<2x6x8xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<2x6x8xf32>
  %643 = tensor.empty() : tensor<2x6x1xf32>
  %644 = linalg.generic {indexing_maps = [#map2, #map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%626, %640 : tensor<2x6x1xf32>, tensor<2x6x1xf32>) outs(%643 : tensor<2x6x1xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<2x6x1xf32>
  %645 = tensor.empty() : tensor<2x6x1xf32>
  %646 = linalg.generic {indexing_maps = [#map2, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%644 : tensor<2x6x1xf32>) outs(%645 : tensor<2x6x1xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 8.000000e+00 : f32
    %b1 = arith.divf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<2x6x1xf32>
  %647 = tensor.collapse_shape %646 [[0], [1, 2]] : tensor<2x6x1xf32> into tensor<2x6xf32>
  %648 = tensor.empty() : tensor<2x6x8xf32>
  %649 = linalg.generic {indexing_maps = [#map2, #map1, #map2], iterator_types = ["parallel", "parallel", "parallel"]} ins(%642, %647 : tensor<2x6x8xf32>, tensor<2x6xf32>) outs(%648 : tensor<2x6x8xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<2x6x8xf32>
  %650 = arith.constant 0.000000e+00 : f32
  %651 = tensor.empty() : tensor<6x8xf32>
  %652 = linalg.fill ins(%650 : f32) outs(%651 : tensor<6x8xf32>) -> tensor<6x8xf32>
  %653 = linalg.generic {indexing_maps = [#map2, #map3], iterator_types = ["reduction", "parallel", "parallel"]} ins(%649 : tensor<2x6x8xf32>) outs(%652 : tensor<6x8xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.addf %out_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<6x8xf32>
  %654 = arith.constant dense<0.000000e+00> : tensor<12x8xf32>
  %655 = tensor.collapse_shape %649 [[0, 1], [2]] : tensor<2x6x8xf32> into tensor<12x8xf32>
  %656 = tensor.collapse_shape %6 [[0, 1]] : tensor<2x6xi32> into tensor<12xi32>
  %657 = arith.constant 0 : index
  %658 = arith.constant 12 : index
  %659 = arith.constant 1 : index
  %660 = scf.for %r2 = %657 to %658 step %659 iter_args(%r3 = %654) -> (tensor<12x8xf32>) {
    %661 = tensor.extract %656[%r2] : tensor<12xi32>
    %662 = arith.index_cast %661 : i32 to index
    %663 = arith.constant 11 : index
    %664 = arith.cmpi ule, %662, %663 : index
    %665 = arith.constant 0 : index
    %666 = arith.maxsi %662, %665 : index
    %667 = arith.constant 11 : index
    %668 = arith.minsi %666, %667 : index
    %669 = tensor.extract_slice %r3[%668, 0] [1, 8] [1, 1] : tensor<12x8xf32> to tensor<8xf32>
    %670 = tensor.extract_slice %655[%r2, 0] [1, 8] [1, 1] : tensor<12x8xf32> to tensor<8xf32>
    %671 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%670 : tensor<8xf32>) outs(%669 : tensor<8xf32>) {
    ^bb0(%in_0: f32, %out_0: f32):
      %b0 = arith.addf %out_0, %in_0 : f32
      %b1 = arith.select %664, %b0, %out_0 : f32
      linalg.yield %b1 : f32
    } -> tensor<8xf32>
    %672 = tensor.insert_slice %671 into %r3[%668, 0] [1, 8] [1, 1] : tensor<8xf32> into tensor<12x8xf32>
    scf.yield %672 : tensor<12x8xf32>
  }
  %673 = tensor.empty() : tensor<12x8xf32>
  %674 = linalg.generic {indexing_maps = [#map0, #map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%376, %660 : tensor<12x8xf32>, tensor<12x8xf32>) outs(%673 : tensor<12x8xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<12x8xf32>
  %675 = cs.gradient %674 of "bytes" : tensor<12x8xf32>
  %676 = cs.gradient %380 of "last.bias" : tensor<8xf32>
  %677 = cs.gradient %386 of "last.scale" : tensor<8xf32>
  %678 = cs.gradient %434 of "layer0.down" : tensor<32x8xf32>
  %679 = cs.gradient %599 of "layer0.norm1.bias" : tensor<8xf32>
  %680 = cs.gradient %605 of "layer0.norm1.scale" : tensor<8xf32>
  %681 = cs.gradient %478 of "layer0.norm2.bias" : tensor<8xf32>
  %682 = cs.gradient %484 of "layer0.norm2.scale" : tensor<8xf32>
  %683 = cs.gradient %534 of "layer0.out" : tensor<8x8xf32>
  %684 = cs.gradient %589 of "layer0.qkv" : tensor<8x24xf32>
  %685 = cs.gradient %468 of "layer0.up" : tensor<8x32xf32>
  %686 = cs.gradient %653 of "places" : tensor<6x8xf32>
  %687 = tensor.empty() : tensor<12x8xf32>
  %688 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%675 : tensor<12x8xf32>) outs(%687 : tensor<12x8xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<12x8xf32>
  %689 = tensor.empty() : tensor<12x8xf32>
  %690 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%opt.0.mu.bytes : tensor<12x8xf32>) outs(%689 : tensor<12x8xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 9.000000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<12x8xf32>
  %691 = tensor.empty() : tensor<12x8xf32>
  %692 = linalg.generic {indexing_maps = [#map0, #map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%688, %690 : tensor<12x8xf32>, tensor<12x8xf32>) outs(%691 : tensor<12x8xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<12x8xf32>
  %693 = tensor.empty() : tensor<8xf32>
  %694 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%676 : tensor<8xf32>) outs(%693 : tensor<8xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<8xf32>
  %695 = tensor.empty() : tensor<8xf32>
  %696 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%opt.0.mu.last.bias : tensor<8xf32>) outs(%695 : tensor<8xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 9.000000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<8xf32>
  %697 = tensor.empty() : tensor<8xf32>
  %698 = linalg.generic {indexing_maps = [#map16, #map16, #map16], iterator_types = ["parallel"]} ins(%694, %696 : tensor<8xf32>, tensor<8xf32>) outs(%697 : tensor<8xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<8xf32>
  %699 = tensor.empty() : tensor<8xf32>
  %700 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%677 : tensor<8xf32>) outs(%699 : tensor<8xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<8xf32>
  %701 = tensor.empty() : tensor<8xf32>
  %702 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%opt.0.mu.last.scale : tensor<8xf32>) outs(%701 : tensor<8xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 9.000000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<8xf32>
  %703 = tensor.empty() : tensor<8xf32>
  %704 = linalg.generic {indexing_maps = [#map16, #map16, #map16], iterator_types = ["parallel"]} ins(%700, %702 : tensor<8xf32>, tensor<8xf32>) outs(%703 : tensor<8xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<8xf32>
  %705 = tensor.empty() : tensor<32x8xf32>
  %706 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%678 : tensor<32x8xf32>) outs(%705 : tensor<32x8xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<32x8xf32>
  %707 = tensor.empty() : tensor<32x8xf32>
  %708 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%opt.0.mu.layer0.down : tensor<32x8xf32>) outs(%707 : tensor<32x8xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 9.000000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<32x8xf32>
  %709 = tensor.empty() : tensor<32x8xf32>
  %710 = linalg.generic {indexing_maps = [#map0, #map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%706, %708 : tensor<32x8xf32>, tensor<32x8xf32>) outs(%709 : tensor<32x8xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<32x8xf32>
  %711 = tensor.empty() : tensor<8xf32>
  %712 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%679 : tensor<8xf32>) outs(%711 : tensor<8xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<8xf32>
  %713 = tensor.empty() : tensor<8xf32>
  %714 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%opt.0.mu.layer0.norm1.bias : tensor<8xf32>) outs(%713 : tensor<8xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 9.000000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<8xf32>
  %715 = tensor.empty() : tensor<8xf32>
  %716 = linalg.generic {indexing_maps = [#map16, #map16, #map16], iterator_types = ["parallel"]} ins(%712, %714 : tensor<8xf32>, tensor<8xf32>) outs(%715 : tensor<8xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<8xf32>
  %717 = tensor.empty() : tensor<8xf32>
  %718 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%680 : tensor<8xf32>) outs(%717 : tensor<8xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<8xf32>
  %719 = tensor.empty() : tensor<8xf32>
  %720 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%opt.0.mu.layer0.norm1.scale : tensor<8xf32>) outs(%719 : tensor<8xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 9.000000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<8xf32>
  %721 = tensor.empty() : tensor<8xf32>
  %722 = linalg.generic {indexing_maps = [#map16, #map16, #map16], iterator_types = ["parallel"]} ins(%718, %720 : tensor<8xf32>, tensor<8xf32>) outs(%721 : tensor<8xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<8xf32>
  %723 = tensor.empty() : tensor<8xf32>
  %724 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%681 : tensor<8xf32>) outs(%723 : tensor<8xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<8xf32>
  %725 = tensor.empty() : tensor<8xf32>
  %726 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%opt.0.mu.layer0.norm2.bias : tensor<8xf32>) outs(%725 : tensor<8xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 9.000000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<8xf32>
  %727 = tensor.empty() : tensor<8xf32>
  %728 = linalg.generic {indexing_maps = [#map16, #map16, #map16], iterator_types = ["parallel"]} ins(%724, %726 : tensor<8xf32>, tensor<8xf32>) outs(%727 : tensor<8xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<8xf32>
  %729 = tensor.empty() : tensor<8xf32>
  %730 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%682 : tensor<8xf32>) outs(%729 : tensor<8xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<8xf32>
  %731 = tensor.empty() : tensor<8xf32>
  %732 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%opt.0.mu.layer0.norm2.scale : tensor<8xf32>) outs(%731 : tensor<8xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 9.000000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<8xf32>
  %733 = tensor.empty() : tensor<8xf32>
  %734 = linalg.generic {indexing_maps = [#map16, #map16, #map16], iterator_types = ["parallel"]} ins(%730, %732 : tensor<8xf32>, tensor<8xf32>) outs(%733 : tensor<8xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<8xf32>
  %735 = tensor.empty() : tensor<8x8xf32>
  %736 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%683 : tensor<8x8xf32>) outs(%735 : tensor<8x8xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<8x8xf32>
  %737 = tensor.empty() : tensor<8x8xf32>
  %738 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%opt.0.mu.layer0.out : tensor<8x8xf32>) outs(%737 : tensor<8x8xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 9.000000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<8x8xf32>
  %739 = tensor.empty() : tensor<8x8xf32>
  %740 = linalg.generic {indexing_maps = [#map0, #map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%736, %738 : tensor<8x8xf32>, tensor<8x8xf32>) outs(%739 : tensor<8x8xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<8x8xf32>
  %741 = tensor.empty() : tensor<8x24xf32>
  %742 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%684 : tensor<8x24xf32>) outs(%741 : tensor<8x24xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<8x24xf32>
  %743 = tensor.empty() : tensor<8x24xf32>
  %744 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%opt.0.mu.layer0.qkv : tensor<8x24xf32>) outs(%743 : tensor<8x24xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 9.000000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<8x24xf32>
  %745 = tensor.empty() : tensor<8x24xf32>
  %746 = linalg.generic {indexing_maps = [#map0, #map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%742, %744 : tensor<8x24xf32>, tensor<8x24xf32>) outs(%745 : tensor<8x24xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<8x24xf32>
  %747 = tensor.empty() : tensor<8x32xf32>
  %748 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%685 : tensor<8x32xf32>) outs(%747 : tensor<8x32xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<8x32xf32>
  %749 = tensor.empty() : tensor<8x32xf32>
  %750 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%opt.0.mu.layer0.up : tensor<8x32xf32>) outs(%749 : tensor<8x32xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 9.000000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<8x32xf32>
  %751 = tensor.empty() : tensor<8x32xf32>
  %752 = linalg.generic {indexing_maps = [#map0, #map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%748, %750 : tensor<8x32xf32>, tensor<8x32xf32>) outs(%751 : tensor<8x32xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<8x32xf32>
  %753 = tensor.empty() : tensor<6x8xf32>
  %754 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%686 : tensor<6x8xf32>) outs(%753 : tensor<6x8xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<6x8xf32>
  %755 = tensor.empty() : tensor<6x8xf32>
  %756 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%opt.0.mu.places : tensor<6x8xf32>) outs(%755 : tensor<6x8xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 9.000000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<6x8xf32>
  %757 = tensor.empty() : tensor<6x8xf32>
  %758 = linalg.generic {indexing_maps = [#map0, #map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%754, %756 : tensor<6x8xf32>, tensor<6x8xf32>) outs(%757 : tensor<6x8xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<6x8xf32>
  %759 = tensor.empty() : tensor<12x8xf32>
  %760 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%675 : tensor<12x8xf32>) outs(%759 : tensor<12x8xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<12x8xf32>
  %761 = tensor.empty() : tensor<12x8xf32>
  %762 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%760 : tensor<12x8xf32>) outs(%761 : tensor<12x8xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-03 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<12x8xf32>
  %763 = tensor.empty() : tensor<12x8xf32>
  %764 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%opt.0.nu.bytes : tensor<12x8xf32>) outs(%763 : tensor<12x8xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 9.990000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<12x8xf32>
  %765 = tensor.empty() : tensor<12x8xf32>
  %766 = linalg.generic {indexing_maps = [#map0, #map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%762, %764 : tensor<12x8xf32>, tensor<12x8xf32>) outs(%765 : tensor<12x8xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<12x8xf32>
  %767 = tensor.empty() : tensor<8xf32>
  %768 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%676 : tensor<8xf32>) outs(%767 : tensor<8xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<8xf32>
  %769 = tensor.empty() : tensor<8xf32>
  %770 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%768 : tensor<8xf32>) outs(%769 : tensor<8xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-03 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<8xf32>
  %771 = tensor.empty() : tensor<8xf32>
  %772 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%opt.0.nu.last.bias : tensor<8xf32>) outs(%771 : tensor<8xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 9.990000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<8xf32>
  %773 = tensor.empty() : tensor<8xf32>
  %774 = linalg.generic {indexing_maps = [#map16, #map16, #map16], iterator_types = ["parallel"]} ins(%770, %772 : tensor<8xf32>, tensor<8xf32>) outs(%773 : tensor<8xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<8xf32>
  %775 = tensor.empty() : tensor<8xf32>
  %776 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%677 : tensor<8xf32>) outs(%775 : tensor<8xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<8xf32>
  %777 = tensor.empty() : tensor<8xf32>
  %778 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%776 : tensor<8xf32>) outs(%777 : tensor<8xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-03 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<8xf32>
  %779 = tensor.empty() : tensor<8xf32>
  %780 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%opt.0.nu.last.scale : tensor<8xf32>) outs(%779 : tensor<8xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 9.990000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<8xf32>
  %781 = tensor.empty() : tensor<8xf32>
  %782 = linalg.generic {indexing_maps = [#map16, #map16, #map16], iterator_types = ["parallel"]} ins(%778, %780 : tensor<8xf32>, tensor<8xf32>) outs(%781 : tensor<8xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<8xf32>
  %783 = tensor.empty() : tensor<32x8xf32>
  %784 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%678 : tensor<32x8xf32>) outs(%783 : tensor<32x8xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<32x8xf32>
  %785 = tensor.empty() : tensor<32x8xf32>
  %786 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%784 : tensor<32x8xf32>) outs(%785 : tensor<32x8xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-03 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<32x8xf32>
  %787 = tensor.empty() : tensor<32x8xf32>
  %788 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%opt.0.nu.layer0.down : tensor<32x8xf32>) outs(%787 : tensor<32x8xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 9.990000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<32x8xf32>
  %789 = tensor.empty() : tensor<32x8xf32>
  %790 = linalg.generic {indexing_maps = [#map0, #map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%786, %788 : tensor<32x8xf32>, tensor<32x8xf32>) outs(%789 : tensor<32x8xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<32x8xf32>
  %791 = tensor.empty() : tensor<8xf32>
  %792 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%679 : tensor<8xf32>) outs(%791 : tensor<8xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<8xf32>
  %793 = tensor.empty() : tensor<8xf32>
  %794 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%792 : tensor<8xf32>) outs(%793 : tensor<8xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-03 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<8xf32>
  %795 = tensor.empty() : tensor<8xf32>
  %796 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%opt.0.nu.layer0.norm1.bias : tensor<8xf32>) outs(%795 : tensor<8xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 9.990000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<8xf32>
  %797 = tensor.empty() : tensor<8xf32>
  %798 = linalg.generic {indexing_maps = [#map16, #map16, #map16], iterator_types = ["parallel"]} ins(%794, %796 : tensor<8xf32>, tensor<8xf32>) outs(%797 : tensor<8xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<8xf32>
  %799 = tensor.empty() : tensor<8xf32>
  %800 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%680 : tensor<8xf32>) outs(%799 : tensor<8xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<8xf32>
  %801 = tensor.empty() : tensor<8xf32>
  %802 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%800 : tensor<8xf32>) outs(%801 : tensor<8xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-03 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<8xf32>
  %803 = tensor.empty() : tensor<8xf32>
  %804 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%opt.0.nu.layer0.norm1.scale : tensor<8xf32>) outs(%803 : tensor<8xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 9.990000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<8xf32>
  %805 = tensor.empty() : tensor<8xf32>
  %806 = linalg.generic {indexing_maps = [#map16, #map16, #map16], iterator_types = ["parallel"]} ins(%802, %804 : tensor<8xf32>, tensor<8xf32>) outs(%805 : tensor<8xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<8xf32>
  %807 = tensor.empty() : tensor<8xf32>
  %808 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%681 : tensor<8xf32>) outs(%807 : tensor<8xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<8xf32>
  %809 = tensor.empty() : tensor<8xf32>
  %810 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%808 : tensor<8xf32>) outs(%809 : tensor<8xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-03 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<8xf32>
  %811 = tensor.empty() : tensor<8xf32>
  %812 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%opt.0.nu.layer0.norm2.bias : tensor<8xf32>) outs(%811 : tensor<8xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 9.990000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<8xf32>
  %813 = tensor.empty() : tensor<8xf32>
  %814 = linalg.generic {indexing_maps = [#map16, #map16, #map16], iterator_types = ["parallel"]} ins(%810, %812 : tensor<8xf32>, tensor<8xf32>) outs(%813 : tensor<8xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<8xf32>
  %815 = tensor.empty() : tensor<8xf32>
  %816 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%682 : tensor<8xf32>) outs(%815 : tensor<8xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<8xf32>
  %817 = tensor.empty() : tensor<8xf32>
  %818 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%816 : tensor<8xf32>) outs(%817 : tensor<8xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-03 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<8xf32>
  %819 = tensor.empty() : tensor<8xf32>
  %820 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%opt.0.nu.layer0.norm2.scale : tensor<8xf32>) outs(%819 : tensor<8xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 9.990000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<8xf32>
  %821 = tensor.empty() : tensor<8xf32>
  %822 = linalg.generic {indexing_maps = [#map16, #map16, #map16], iterator_types = ["parallel"]} ins(%818, %820 : tensor<8xf32>, tensor<8xf32>) outs(%821 : tensor<8xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<8xf32>
  %823 = tensor.empty() : tensor<8x8xf32>
  %824 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%683 : tensor<8x8xf32>) outs(%823 : tensor<8x8xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<8x8xf32>
  %825 = tensor.empty() : tensor<8x8xf32>
  %826 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%824 : tensor<8x8xf32>) outs(%825 : tensor<8x8xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-03 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<8x8xf32>
  %827 = tensor.empty() : tensor<8x8xf32>
  %828 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%opt.0.nu.layer0.out : tensor<8x8xf32>) outs(%827 : tensor<8x8xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 9.990000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<8x8xf32>
  %829 = tensor.empty() : tensor<8x8xf32>
  %830 = linalg.generic {indexing_maps = [#map0, #map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%826, %828 : tensor<8x8xf32>, tensor<8x8xf32>) outs(%829 : tensor<8x8xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<8x8xf32>
  %831 = tensor.empty() : tensor<8x24xf32>
  %832 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%684 : tensor<8x24xf32>) outs(%831 : tensor<8x24xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<8x24xf32>
  %833 = tensor.empty() : tensor<8x24xf32>
  %834 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%832 : tensor<8x24xf32>) outs(%833 : tensor<8x24xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-03 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<8x24xf32>
  %835 = tensor.empty() : tensor<8x24xf32>
  %836 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%opt.0.nu.layer0.qkv : tensor<8x24xf32>) outs(%835 : tensor<8x24xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 9.990000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<8x24xf32>
  %837 = tensor.empty() : tensor<8x24xf32>
  %838 = linalg.generic {indexing_maps = [#map0, #map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%834, %836 : tensor<8x24xf32>, tensor<8x24xf32>) outs(%837 : tensor<8x24xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<8x24xf32>
  %839 = tensor.empty() : tensor<8x32xf32>
  %840 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%685 : tensor<8x32xf32>) outs(%839 : tensor<8x32xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<8x32xf32>
  %841 = tensor.empty() : tensor<8x32xf32>
  %842 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%840 : tensor<8x32xf32>) outs(%841 : tensor<8x32xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-03 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<8x32xf32>
  %843 = tensor.empty() : tensor<8x32xf32>
  %844 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%opt.0.nu.layer0.up : tensor<8x32xf32>) outs(%843 : tensor<8x32xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 9.990000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<8x32xf32>
  %845 = tensor.empty() : tensor<8x32xf32>
  %846 = linalg.generic {indexing_maps = [#map0, #map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%842, %844 : tensor<8x32xf32>, tensor<8x32xf32>) outs(%845 : tensor<8x32xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<8x32xf32>
  %847 = tensor.empty() : tensor<6x8xf32>
  %848 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%686 : tensor<6x8xf32>) outs(%847 : tensor<6x8xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<6x8xf32>
  %849 = tensor.empty() : tensor<6x8xf32>
  %850 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%848 : tensor<6x8xf32>) outs(%849 : tensor<6x8xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-03 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<6x8xf32>
  %851 = tensor.empty() : tensor<6x8xf32>
  %852 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%opt.0.nu.places : tensor<6x8xf32>) outs(%851 : tensor<6x8xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 9.990000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<6x8xf32>
  %853 = tensor.empty() : tensor<6x8xf32>
  %854 = linalg.generic {indexing_maps = [#map0, #map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%850, %852 : tensor<6x8xf32>, tensor<6x8xf32>) outs(%853 : tensor<6x8xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<6x8xf32>
  %855 = tensor.empty() : tensor<i1>
  %856 = linalg.generic {indexing_maps = [#map15, #map15], iterator_types = []} ins(%opt.0.count : tensor<i32>) outs(%855 : tensor<i1>) {
  ^bb0(%in_0: i32, %out_0: i1):
    %b0 = arith.constant 2147483647 : i32
    %b1 = arith.cmpi slt, %in_0, %b0 : i32
    linalg.yield %b1 : i1
  } -> tensor<i1>
  %857 = tensor.empty() : tensor<i32>
  %858 = linalg.generic {indexing_maps = [#map15, #map15], iterator_types = []} ins(%opt.0.count : tensor<i32>) outs(%857 : tensor<i32>) {
  ^bb0(%in_0: i32, %out_0: i32):
    %b0 = arith.constant 1 : i32
    %b1 = arith.addi %in_0, %b0 : i32
    linalg.yield %b1 : i32
  } -> tensor<i32>
  %859 = tensor.empty() : tensor<i32>
  %860 = linalg.generic {indexing_maps = [#map15, #map15, #map15], iterator_types = []} ins(%856, %858 : tensor<i1>, tensor<i32>) outs(%859 : tensor<i32>) {
  ^bb0(%in_0: i1, %in_1: i32, %out_0: i32):
    %b0 = arith.constant 2147483647 : i32
    %b1 = arith.select %in_0, %in_1, %b0 : i32
    linalg.yield %b1 : i32
  } -> tensor<i32>
  %861 = tensor.empty() : tensor<f32>
  %862 = linalg.generic {indexing_maps = [#map15, #map15], iterator_types = []} ins(%860 : tensor<i32>) outs(%861 : tensor<f32>) {
  ^bb0(%in_0: i32, %out_0: f32):
    %b0 = arith.sitofp %in_0 : i32 to f32
    linalg.yield %b0 : f32
  } -> tensor<f32>
  %863 = tensor.empty() : tensor<f32>
  %864 = linalg.generic {indexing_maps = [#map15, #map15], iterator_types = []} ins(%862 : tensor<f32>) outs(%863 : tensor<f32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 9.000000e-01 : f32
    %b1 = math.powf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<f32>
  %865 = tensor.empty() : tensor<f32>
  %866 = linalg.generic {indexing_maps = [#map15, #map15], iterator_types = []} ins(%864 : tensor<f32>) outs(%865 : tensor<f32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e+00 : f32
    %b1 = arith.subf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<f32>
  %867 = tensor.empty() : tensor<12x8xf32>
  %868 = linalg.generic {indexing_maps = [#map0, #map17, #map0], iterator_types = ["parallel", "parallel"]} ins(%692, %866 : tensor<12x8xf32>, tensor<f32>) outs(%867 : tensor<12x8xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<12x8xf32>
  %869 = tensor.empty() : tensor<8xf32>
  %870 = linalg.generic {indexing_maps = [#map16, #map26, #map16], iterator_types = ["parallel"]} ins(%698, %866 : tensor<8xf32>, tensor<f32>) outs(%869 : tensor<8xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<8xf32>
  %871 = tensor.empty() : tensor<8xf32>
  %872 = linalg.generic {indexing_maps = [#map16, #map26, #map16], iterator_types = ["parallel"]} ins(%704, %866 : tensor<8xf32>, tensor<f32>) outs(%871 : tensor<8xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<8xf32>
  %873 = tensor.empty() : tensor<32x8xf32>
  %874 = linalg.generic {indexing_maps = [#map0, #map17, #map0], iterator_types = ["parallel", "parallel"]} ins(%710, %866 : tensor<32x8xf32>, tensor<f32>) outs(%873 : tensor<32x8xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<32x8xf32>
  %875 = tensor.empty() : tensor<8xf32>
  %876 = linalg.generic {indexing_maps = [#map16, #map26, #map16], iterator_types = ["parallel"]} ins(%716, %866 : tensor<8xf32>, tensor<f32>) outs(%875 : tensor<8xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<8xf32>
  %877 = tensor.empty() : tensor<8xf32>
  %878 = linalg.generic {indexing_maps = [#map16, #map26, #map16], iterator_types = ["parallel"]} ins(%722, %866 : tensor<8xf32>, tensor<f32>) outs(%877 : tensor<8xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<8xf32>
  %879 = tensor.empty() : tensor<8xf32>
  %880 = linalg.generic {indexing_maps = [#map16, #map26, #map16], iterator_types = ["parallel"]} ins(%728, %866 : tensor<8xf32>, tensor<f32>) outs(%879 : tensor<8xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<8xf32>
  %881 = tensor.empty() : tensor<8xf32>
  %882 = linalg.generic {indexing_maps = [#map16, #map26, #map16], iterator_types = ["parallel"]} ins(%734, %866 : tensor<8xf32>, tensor<f32>) outs(%881 : tensor<8xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<8xf32>
  %883 = tensor.empty() : tensor<8x8xf32>
  %884 = linalg.generic {indexing_maps = [#map0, #map17, #map0], iterator_types = ["parallel", "parallel"]} ins(%740, %866 : tensor<8x8xf32>, tensor<f32>) outs(%883 : tensor<8x8xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<8x8xf32>
  %885 = tensor.empty() : tensor<8x24xf32>
  %886 = linalg.generic {indexing_maps = [#map0, #map17, #map0], iterator_types = ["parallel", "parallel"]} ins(%746, %866 : tensor<8x24xf32>, tensor<f32>) outs(%885 : tensor<8x24xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<8x24xf32>
  %887 = tensor.empty() : tensor<8x32xf32>
  %888 = linalg.generic {indexing_maps = [#map0, #map17, #map0], iterator_types = ["parallel", "parallel"]} ins(%752, %866 : tensor<8x32xf32>, tensor<f32>) outs(%887 : tensor<8x32xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<8x32xf32>
  %889 = tensor.empty() : tensor<6x8xf32>
  %890 = linalg.generic {indexing_maps = [#map0, #map17, #map0], iterator_types = ["parallel", "parallel"]} ins(%758, %866 : tensor<6x8xf32>, tensor<f32>) outs(%889 : tensor<6x8xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<6x8xf32>
  %891 = tensor.empty() : tensor<f32>
  %892 = linalg.generic {indexing_maps = [#map15, #map15], iterator_types = []} ins(%860 : tensor<i32>) outs(%891 : tensor<f32>) {
  ^bb0(%in_0: i32, %out_0: f32):
    %b0 = arith.sitofp %in_0 : i32 to f32
    linalg.yield %b0 : f32
  } -> tensor<f32>
  %893 = tensor.empty() : tensor<f32>
  %894 = linalg.generic {indexing_maps = [#map15, #map15], iterator_types = []} ins(%892 : tensor<f32>) outs(%893 : tensor<f32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 9.990000e-01 : f32
    %b1 = math.powf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<f32>
  %895 = tensor.empty() : tensor<f32>
  %896 = linalg.generic {indexing_maps = [#map15, #map15], iterator_types = []} ins(%894 : tensor<f32>) outs(%895 : tensor<f32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e+00 : f32
    %b1 = arith.subf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<f32>
  %897 = tensor.empty() : tensor<12x8xf32>
  %898 = linalg.generic {indexing_maps = [#map0, #map17, #map0], iterator_types = ["parallel", "parallel"]} ins(%766, %896 : tensor<12x8xf32>, tensor<f32>) outs(%897 : tensor<12x8xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<12x8xf32>
  %899 = tensor.empty() : tensor<8xf32>
  %900 = linalg.generic {indexing_maps = [#map16, #map26, #map16], iterator_types = ["parallel"]} ins(%774, %896 : tensor<8xf32>, tensor<f32>) outs(%899 : tensor<8xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<8xf32>
  %901 = tensor.empty() : tensor<8xf32>
  %902 = linalg.generic {indexing_maps = [#map16, #map26, #map16], iterator_types = ["parallel"]} ins(%782, %896 : tensor<8xf32>, tensor<f32>) outs(%901 : tensor<8xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<8xf32>
  %903 = tensor.empty() : tensor<32x8xf32>
  %904 = linalg.generic {indexing_maps = [#map0, #map17, #map0], iterator_types = ["parallel", "parallel"]} ins(%790, %896 : tensor<32x8xf32>, tensor<f32>) outs(%903 : tensor<32x8xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<32x8xf32>
  %905 = tensor.empty() : tensor<8xf32>
  %906 = linalg.generic {indexing_maps = [#map16, #map26, #map16], iterator_types = ["parallel"]} ins(%798, %896 : tensor<8xf32>, tensor<f32>) outs(%905 : tensor<8xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<8xf32>
  %907 = tensor.empty() : tensor<8xf32>
  %908 = linalg.generic {indexing_maps = [#map16, #map26, #map16], iterator_types = ["parallel"]} ins(%806, %896 : tensor<8xf32>, tensor<f32>) outs(%907 : tensor<8xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<8xf32>
  %909 = tensor.empty() : tensor<8xf32>
  %910 = linalg.generic {indexing_maps = [#map16, #map26, #map16], iterator_types = ["parallel"]} ins(%814, %896 : tensor<8xf32>, tensor<f32>) outs(%909 : tensor<8xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<8xf32>
  %911 = tensor.empty() : tensor<8xf32>
  %912 = linalg.generic {indexing_maps = [#map16, #map26, #map16], iterator_types = ["parallel"]} ins(%822, %896 : tensor<8xf32>, tensor<f32>) outs(%911 : tensor<8xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<8xf32>
  %913 = tensor.empty() : tensor<8x8xf32>
  %914 = linalg.generic {indexing_maps = [#map0, #map17, #map0], iterator_types = ["parallel", "parallel"]} ins(%830, %896 : tensor<8x8xf32>, tensor<f32>) outs(%913 : tensor<8x8xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<8x8xf32>
  %915 = tensor.empty() : tensor<8x24xf32>
  %916 = linalg.generic {indexing_maps = [#map0, #map17, #map0], iterator_types = ["parallel", "parallel"]} ins(%838, %896 : tensor<8x24xf32>, tensor<f32>) outs(%915 : tensor<8x24xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<8x24xf32>
  %917 = tensor.empty() : tensor<8x32xf32>
  %918 = linalg.generic {indexing_maps = [#map0, #map17, #map0], iterator_types = ["parallel", "parallel"]} ins(%846, %896 : tensor<8x32xf32>, tensor<f32>) outs(%917 : tensor<8x32xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<8x32xf32>
  %919 = tensor.empty() : tensor<6x8xf32>
  %920 = linalg.generic {indexing_maps = [#map0, #map17, #map0], iterator_types = ["parallel", "parallel"]} ins(%854, %896 : tensor<6x8xf32>, tensor<f32>) outs(%919 : tensor<6x8xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<6x8xf32>
  %921 = tensor.empty() : tensor<12x8xf32>
  %922 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%898 : tensor<12x8xf32>) outs(%921 : tensor<12x8xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 0.000000e+00 : f32
    %b1 = arith.addf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<12x8xf32>
  %923 = tensor.empty() : tensor<12x8xf32>
  %924 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%922 : tensor<12x8xf32>) outs(%923 : tensor<12x8xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = math.sqrt %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<12x8xf32>
  %925 = tensor.empty() : tensor<12x8xf32>
  %926 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%924 : tensor<12x8xf32>) outs(%925 : tensor<12x8xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-08 : f32
    %b1 = arith.addf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<12x8xf32>
  %927 = tensor.empty() : tensor<12x8xf32>
  %928 = linalg.generic {indexing_maps = [#map0, #map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%868, %926 : tensor<12x8xf32>, tensor<12x8xf32>) outs(%927 : tensor<12x8xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<12x8xf32>
  %929 = tensor.empty() : tensor<8xf32>
  %930 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%900 : tensor<8xf32>) outs(%929 : tensor<8xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 0.000000e+00 : f32
    %b1 = arith.addf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<8xf32>
  %931 = tensor.empty() : tensor<8xf32>
  %932 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%930 : tensor<8xf32>) outs(%931 : tensor<8xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = math.sqrt %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<8xf32>
  %933 = tensor.empty() : tensor<8xf32>
  %934 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%932 : tensor<8xf32>) outs(%933 : tensor<8xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-08 : f32
    %b1 = arith.addf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<8xf32>
  %935 = tensor.empty() : tensor<8xf32>
  %936 = linalg.generic {indexing_maps = [#map16, #map16, #map16], iterator_types = ["parallel"]} ins(%870, %934 : tensor<8xf32>, tensor<8xf32>) outs(%935 : tensor<8xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<8xf32>
  %937 = tensor.empty() : tensor<8xf32>
  %938 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%902 : tensor<8xf32>) outs(%937 : tensor<8xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 0.000000e+00 : f32
    %b1 = arith.addf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<8xf32>
  %939 = tensor.empty() : tensor<8xf32>
  %940 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%938 : tensor<8xf32>) outs(%939 : tensor<8xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = math.sqrt %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<8xf32>
  %941 = tensor.empty() : tensor<8xf32>
  %942 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%940 : tensor<8xf32>) outs(%941 : tensor<8xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-08 : f32
    %b1 = arith.addf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<8xf32>
  %943 = tensor.empty() : tensor<8xf32>
  %944 = linalg.generic {indexing_maps = [#map16, #map16, #map16], iterator_types = ["parallel"]} ins(%872, %942 : tensor<8xf32>, tensor<8xf32>) outs(%943 : tensor<8xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<8xf32>
  %945 = tensor.empty() : tensor<32x8xf32>
  %946 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%904 : tensor<32x8xf32>) outs(%945 : tensor<32x8xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 0.000000e+00 : f32
    %b1 = arith.addf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<32x8xf32>
  %947 = tensor.empty() : tensor<32x8xf32>
  %948 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%946 : tensor<32x8xf32>) outs(%947 : tensor<32x8xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = math.sqrt %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<32x8xf32>
  %949 = tensor.empty() : tensor<32x8xf32>
  %950 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%948 : tensor<32x8xf32>) outs(%949 : tensor<32x8xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-08 : f32
    %b1 = arith.addf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<32x8xf32>
  %951 = tensor.empty() : tensor<32x8xf32>
  %952 = linalg.generic {indexing_maps = [#map0, #map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%874, %950 : tensor<32x8xf32>, tensor<32x8xf32>) outs(%951 : tensor<32x8xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<32x8xf32>
  %953 = tensor.empty() : tensor<8xf32>
  %954 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%906 : tensor<8xf32>) outs(%953 : tensor<8xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 0.000000e+00 : f32
    %b1 = arith.addf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<8xf32>
  %955 = tensor.empty() : tensor<8xf32>
  %956 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%954 : tensor<8xf32>) outs(%955 : tensor<8xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = math.sqrt %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<8xf32>
  %957 = tensor.empty() : tensor<8xf32>
  %958 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%956 : tensor<8xf32>) outs(%957 : tensor<8xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-08 : f32
    %b1 = arith.addf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<8xf32>
  %959 = tensor.empty() : tensor<8xf32>
  %960 = linalg.generic {indexing_maps = [#map16, #map16, #map16], iterator_types = ["parallel"]} ins(%876, %958 : tensor<8xf32>, tensor<8xf32>) outs(%959 : tensor<8xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<8xf32>
  %961 = tensor.empty() : tensor<8xf32>
  %962 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%908 : tensor<8xf32>) outs(%961 : tensor<8xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 0.000000e+00 : f32
    %b1 = arith.addf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<8xf32>
  %963 = tensor.empty() : tensor<8xf32>
  %964 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%962 : tensor<8xf32>) outs(%963 : tensor<8xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = math.sqrt %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<8xf32>
  %965 = tensor.empty() : tensor<8xf32>
  %966 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%964 : tensor<8xf32>) outs(%965 : tensor<8xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-08 : f32
    %b1 = arith.addf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<8xf32>
  %967 = tensor.empty() : tensor<8xf32>
  %968 = linalg.generic {indexing_maps = [#map16, #map16, #map16], iterator_types = ["parallel"]} ins(%878, %966 : tensor<8xf32>, tensor<8xf32>) outs(%967 : tensor<8xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<8xf32>
  %969 = tensor.empty() : tensor<8xf32>
  %970 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%910 : tensor<8xf32>) outs(%969 : tensor<8xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 0.000000e+00 : f32
    %b1 = arith.addf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<8xf32>
  %971 = tensor.empty() : tensor<8xf32>
  %972 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%970 : tensor<8xf32>) outs(%971 : tensor<8xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = math.sqrt %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<8xf32>
  %973 = tensor.empty() : tensor<8xf32>
  %974 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%972 : tensor<8xf32>) outs(%973 : tensor<8xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-08 : f32
    %b1 = arith.addf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<8xf32>
  %975 = tensor.empty() : tensor<8xf32>
  %976 = linalg.generic {indexing_maps = [#map16, #map16, #map16], iterator_types = ["parallel"]} ins(%880, %974 : tensor<8xf32>, tensor<8xf32>) outs(%975 : tensor<8xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<8xf32>
  %977 = tensor.empty() : tensor<8xf32>
  %978 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%912 : tensor<8xf32>) outs(%977 : tensor<8xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 0.000000e+00 : f32
    %b1 = arith.addf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<8xf32>
  %979 = tensor.empty() : tensor<8xf32>
  %980 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%978 : tensor<8xf32>) outs(%979 : tensor<8xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = math.sqrt %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<8xf32>
  %981 = tensor.empty() : tensor<8xf32>
  %982 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%980 : tensor<8xf32>) outs(%981 : tensor<8xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-08 : f32
    %b1 = arith.addf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<8xf32>
  %983 = tensor.empty() : tensor<8xf32>
  %984 = linalg.generic {indexing_maps = [#map16, #map16, #map16], iterator_types = ["parallel"]} ins(%882, %982 : tensor<8xf32>, tensor<8xf32>) outs(%983 : tensor<8xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<8xf32>
  %985 = tensor.empty() : tensor<8x8xf32>
  %986 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%914 : tensor<8x8xf32>) outs(%985 : tensor<8x8xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 0.000000e+00 : f32
    %b1 = arith.addf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<8x8xf32>
  %987 = tensor.empty() : tensor<8x8xf32>
  %988 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%986 : tensor<8x8xf32>) outs(%987 : tensor<8x8xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = math.sqrt %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<8x8xf32>
  %989 = tensor.empty() : tensor<8x8xf32>
  %990 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%988 : tensor<8x8xf32>) outs(%989 : tensor<8x8xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-08 : f32
    %b1 = arith.addf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<8x8xf32>
  %991 = tensor.empty() : tensor<8x8xf32>
  %992 = linalg.generic {indexing_maps = [#map0, #map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%884, %990 : tensor<8x8xf32>, tensor<8x8xf32>) outs(%991 : tensor<8x8xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<8x8xf32>
  %993 = tensor.empty() : tensor<8x24xf32>
  %994 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%916 : tensor<8x24xf32>) outs(%993 : tensor<8x24xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 0.000000e+00 : f32
    %b1 = arith.addf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<8x24xf32>
  %995 = tensor.empty() : tensor<8x24xf32>
  %996 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%994 : tensor<8x24xf32>) outs(%995 : tensor<8x24xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = math.sqrt %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<8x24xf32>
  %997 = tensor.empty() : tensor<8x24xf32>
  %998 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%996 : tensor<8x24xf32>) outs(%997 : tensor<8x24xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-08 : f32
    %b1 = arith.addf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<8x24xf32>
  %999 = tensor.empty() : tensor<8x24xf32>
  %1000 = linalg.generic {indexing_maps = [#map0, #map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%886, %998 : tensor<8x24xf32>, tensor<8x24xf32>) outs(%999 : tensor<8x24xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<8x24xf32>
  %1001 = tensor.empty() : tensor<8x32xf32>
  %1002 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%918 : tensor<8x32xf32>) outs(%1001 : tensor<8x32xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 0.000000e+00 : f32
    %b1 = arith.addf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<8x32xf32>
  %1003 = tensor.empty() : tensor<8x32xf32>
  %1004 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%1002 : tensor<8x32xf32>) outs(%1003 : tensor<8x32xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = math.sqrt %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<8x32xf32>
  %1005 = tensor.empty() : tensor<8x32xf32>
  %1006 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%1004 : tensor<8x32xf32>) outs(%1005 : tensor<8x32xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-08 : f32
    %b1 = arith.addf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<8x32xf32>
  %1007 = tensor.empty() : tensor<8x32xf32>
  %1008 = linalg.generic {indexing_maps = [#map0, #map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%888, %1006 : tensor<8x32xf32>, tensor<8x32xf32>) outs(%1007 : tensor<8x32xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<8x32xf32>
  %1009 = tensor.empty() : tensor<6x8xf32>
  %1010 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%920 : tensor<6x8xf32>) outs(%1009 : tensor<6x8xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 0.000000e+00 : f32
    %b1 = arith.addf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<6x8xf32>
  %1011 = tensor.empty() : tensor<6x8xf32>
  %1012 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%1010 : tensor<6x8xf32>) outs(%1011 : tensor<6x8xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = math.sqrt %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<6x8xf32>
  %1013 = tensor.empty() : tensor<6x8xf32>
  %1014 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%1012 : tensor<6x8xf32>) outs(%1013 : tensor<6x8xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e-08 : f32
    %b1 = arith.addf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<6x8xf32>
  %1015 = tensor.empty() : tensor<6x8xf32>
  %1016 = linalg.generic {indexing_maps = [#map0, #map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%890, %1014 : tensor<6x8xf32>, tensor<6x8xf32>) outs(%1015 : tensor<6x8xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<6x8xf32>
  %1017 = tensor.empty() : tensor<12x8xf32>
  %1018 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%928 : tensor<12x8xf32>) outs(%1017 : tensor<12x8xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant -3.000000e-04 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<12x8xf32>
  %1019 = tensor.empty() : tensor<8xf32>
  %1020 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%936 : tensor<8xf32>) outs(%1019 : tensor<8xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant -3.000000e-04 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<8xf32>
  %1021 = tensor.empty() : tensor<8xf32>
  %1022 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%944 : tensor<8xf32>) outs(%1021 : tensor<8xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant -3.000000e-04 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<8xf32>
  %1023 = tensor.empty() : tensor<32x8xf32>
  %1024 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%952 : tensor<32x8xf32>) outs(%1023 : tensor<32x8xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant -3.000000e-04 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<32x8xf32>
  %1025 = tensor.empty() : tensor<8xf32>
  %1026 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%960 : tensor<8xf32>) outs(%1025 : tensor<8xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant -3.000000e-04 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<8xf32>
  %1027 = tensor.empty() : tensor<8xf32>
  %1028 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%968 : tensor<8xf32>) outs(%1027 : tensor<8xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant -3.000000e-04 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<8xf32>
  %1029 = tensor.empty() : tensor<8xf32>
  %1030 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%976 : tensor<8xf32>) outs(%1029 : tensor<8xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant -3.000000e-04 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<8xf32>
  %1031 = tensor.empty() : tensor<8xf32>
  %1032 = linalg.generic {indexing_maps = [#map16, #map16], iterator_types = ["parallel"]} ins(%984 : tensor<8xf32>) outs(%1031 : tensor<8xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant -3.000000e-04 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<8xf32>
  %1033 = tensor.empty() : tensor<8x8xf32>
  %1034 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%992 : tensor<8x8xf32>) outs(%1033 : tensor<8x8xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant -3.000000e-04 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<8x8xf32>
  %1035 = tensor.empty() : tensor<8x24xf32>
  %1036 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%1000 : tensor<8x24xf32>) outs(%1035 : tensor<8x24xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant -3.000000e-04 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<8x24xf32>
  %1037 = tensor.empty() : tensor<8x32xf32>
  %1038 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%1008 : tensor<8x32xf32>) outs(%1037 : tensor<8x32xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant -3.000000e-04 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<8x32xf32>
  %1039 = tensor.empty() : tensor<6x8xf32>
  %1040 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%1016 : tensor<6x8xf32>) outs(%1039 : tensor<6x8xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant -3.000000e-04 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<6x8xf32>
  %1041 = tensor.empty() : tensor<12x8xf32>
  %1042 = linalg.generic {indexing_maps = [#map0, #map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%bytes, %1018 : tensor<12x8xf32>, tensor<12x8xf32>) outs(%1041 : tensor<12x8xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<12x8xf32>
  %1043 = tensor.empty() : tensor<8xf32>
  %1044 = linalg.generic {indexing_maps = [#map16, #map16, #map16], iterator_types = ["parallel"]} ins(%last.bias, %1020 : tensor<8xf32>, tensor<8xf32>) outs(%1043 : tensor<8xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<8xf32>
  %1045 = tensor.empty() : tensor<8xf32>
  %1046 = linalg.generic {indexing_maps = [#map16, #map16, #map16], iterator_types = ["parallel"]} ins(%last.scale, %1022 : tensor<8xf32>, tensor<8xf32>) outs(%1045 : tensor<8xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<8xf32>
  %1047 = tensor.empty() : tensor<32x8xf32>
  %1048 = linalg.generic {indexing_maps = [#map0, #map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%layer0.down, %1024 : tensor<32x8xf32>, tensor<32x8xf32>) outs(%1047 : tensor<32x8xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<32x8xf32>
  %1049 = tensor.empty() : tensor<8xf32>
  %1050 = linalg.generic {indexing_maps = [#map16, #map16, #map16], iterator_types = ["parallel"]} ins(%layer0.norm1.bias, %1026 : tensor<8xf32>, tensor<8xf32>) outs(%1049 : tensor<8xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<8xf32>
  %1051 = tensor.empty() : tensor<8xf32>
  %1052 = linalg.generic {indexing_maps = [#map16, #map16, #map16], iterator_types = ["parallel"]} ins(%layer0.norm1.scale, %1028 : tensor<8xf32>, tensor<8xf32>) outs(%1051 : tensor<8xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<8xf32>
  %1053 = tensor.empty() : tensor<8xf32>
  %1054 = linalg.generic {indexing_maps = [#map16, #map16, #map16], iterator_types = ["parallel"]} ins(%layer0.norm2.bias, %1030 : tensor<8xf32>, tensor<8xf32>) outs(%1053 : tensor<8xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<8xf32>
  %1055 = tensor.empty() : tensor<8xf32>
  %1056 = linalg.generic {indexing_maps = [#map16, #map16, #map16], iterator_types = ["parallel"]} ins(%layer0.norm2.scale, %1032 : tensor<8xf32>, tensor<8xf32>) outs(%1055 : tensor<8xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<8xf32>
  %1057 = tensor.empty() : tensor<8x8xf32>
  %1058 = linalg.generic {indexing_maps = [#map0, #map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%layer0.out, %1034 : tensor<8x8xf32>, tensor<8x8xf32>) outs(%1057 : tensor<8x8xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<8x8xf32>
  %1059 = tensor.empty() : tensor<8x24xf32>
  %1060 = linalg.generic {indexing_maps = [#map0, #map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%layer0.qkv, %1036 : tensor<8x24xf32>, tensor<8x24xf32>) outs(%1059 : tensor<8x24xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<8x24xf32>
  %1061 = tensor.empty() : tensor<8x32xf32>
  %1062 = linalg.generic {indexing_maps = [#map0, #map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%layer0.up, %1038 : tensor<8x32xf32>, tensor<8x32xf32>) outs(%1061 : tensor<8x32xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<8x32xf32>
  %1063 = tensor.empty() : tensor<6x8xf32>
  %1064 = linalg.generic {indexing_maps = [#map0, #map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%places, %1040 : tensor<6x8xf32>, tensor<6x8xf32>) outs(%1063 : tensor<6x8xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<6x8xf32>
  return %1042, %1044, %1046, %1048, %1050, %1052, %1054, %1056, %1058, %1060, %1062, %1064, %860, %692, %698, %704, %710, %716, %722, %728, %734, %740, %746, %752, %758, %766, %774, %782, %790, %798, %806, %814, %822, %830, %838, %846, %854, %303 : tensor<12x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<32x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8x8xf32>, tensor<8x24xf32>, tensor<8x32xf32>, tensor<6x8xf32>, tensor<i32>, tensor<12x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<32x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8x8xf32>, tensor<8x24xf32>, tensor<8x32xf32>, tensor<6x8xf32>, tensor<12x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<32x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8x8xf32>, tensor<8x24xf32>, tensor<8x32xf32>, tensor<6x8xf32>, tensor<f32>
}
