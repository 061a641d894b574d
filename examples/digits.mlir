// The digits net: made by examples/digits/make.py with JAX 0.10.2.
#map0 = affine_map<(d0, d1) -> (d0, d1)>
#map1 = affine_map<(d0, d1) -> (d0)>
#map2 = affine_map<(d0, d1) -> (d1)>
#map3 = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1 + d4, d2 + d5, d6)>
#map4 = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d4, d5, d6, d3)>
#map5 = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d2, d3)>
#map6 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#map7 = affine_map<(d0, d1, d2, d3) -> (d3)>
#map8 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1 * 2 + d4, d2 * 2 + d5, d3)>
#map9 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d4, d5)>
#map10 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d3)>
#map11 = affine_map<(d0) -> (d0)>
#map12 = affine_map<(d0) -> ()>
#map13 = affine_map<() -> ()>
#map14 = affine_map<(d0, d1) -> ()>
#map15 = affine_map<(d0, d1, d2) -> (d2, d0)>
#map16 = affine_map<(d0, d1, d2) -> (d2, d1)>
#map17 = affine_map<(d0, d1, d2) -> (d1, d0)>
#map18 = affine_map<(d0, d1, d2) -> (d0, d2)>
#map19 = affine_map<(d0, d1, d2) -> (d1, d2)>
#map20 = affine_map<(d0, d1, d2) -> (d0, d1)>
#map21 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1 + d4, d2 + d5, d3)>
#map22 = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d6, d0 + d4, d1 + d5, d2)>
#map23 = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d6, d4, d5, d3)>
#map24 = affine_map<(d0, d1, d2, d3) -> (-d0 + 2, -d1 + 2, d2, d3)>
#map25 = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d4, d5, d3, d6)>

func.func @step(
    %conv1.b: tensor<16xf32> {cs.param = "conv1.b"},
    %conv1.w: tensor<3x3x1x16xf32> {cs.param = "conv1.w"},
    %conv2.b: tensor<32xf32> {cs.param = "conv2.b"},
    %conv2.w: tensor<3x3x16x32xf32> {cs.param = "conv2.w"},
    %dense.b: tensor<10xf32> {cs.param = "dense.b"},
    %dense.w: tensor<512x10xf32> {cs.param = "dense.w"},
    %momentum.conv1.b: tensor<16xf32> {cs.state = "momentum.conv1.b"},
    %momentum.conv1.w: tensor<3x3x1x16xf32> {cs.state = "momentum.conv1.w"},
    %momentum.conv2.b: tensor<32xf32> {cs.state = "momentum.conv2.b"},
    %momentum.conv2.w: tensor<3x3x16x32xf32> {cs.state = "momentum.conv2.w"},
    %momentum.dense.b: tensor<10xf32> {cs.state = "momentum.dense.b"},
    %momentum.dense.w: tensor<512x10xf32> {cs.state = "momentum.dense.w"},
    %x: tensor<16x8x8x1xf32> {cs.batch = "x"},
    %y: tensor<16xi32> {cs.batch = "y"}
  ) -> (
    tensor<16xf32> {cs.updates = "conv1.b"},
    tensor<3x3x1x16xf32> {cs.updates = "conv1.w"},
    tensor<32xf32> {cs.updates = "conv2.b"},
    tensor<3x3x16x32xf32> {cs.updates = "conv2.w"},
    tensor<10xf32> {cs.updates = "dense.b"},
    tensor<512x10xf32> {cs.updates = "dense.w"},
    tensor<16xf32> {cs.updates = "momentum.conv1.b"},
    tensor<3x3x1x16xf32> {cs.updates = "momentum.conv1.w"},
    tensor<32xf32> {cs.updates = "momentum.conv2.b"},
    tensor<3x3x16x32xf32> {cs.updates = "momentum.conv2.w"},
    tensor<10xf32> {cs.updates = "momentum.dense.b"},
    tensor<512x10xf32> {cs.updates = "momentum.dense.w"},
    tensor<f32> {cs.metric = "loss"}
  ) attributes {cs.step, cs.global_batch = 64 : i64} {
  %0 = tensor.empty() : tensor<1x10xi32>
  %1 = linalg.generic {indexing_maps = [#map0], iterator_types = ["parallel", "parallel"]} outs(%0 : tensor<1x10xi32>) {
  ^bb0(%out_0: i32):
    %b0 = linalg.index 1 : index
    %b1 = arith.index_cast %b0 : index to i32
    linalg.yield %b1 : i32
  } -> tensor<1x10xi32> loc(#loc0)
  %2 = tensor.collapse_shape %1 [[0, 1]] : tensor<1x10xi32> into tensor<10xi32>
  %3 = tensor.empty() : tensor<16x10xi1>
  %4 = linalg.generic {indexing_maps = [#map1, #map2, #map0], iterator_types = ["parallel", "parallel"]} ins(%y, %2 : tensor<16xi32>, tensor<10xi32>) outs(%3 : tensor<16x10xi1>) {
  ^bb0(%in_0: i32, %in_1: i32, %out_0: i1):
    %b0 = arith.cmpi eq, %in_0, %in_1 : i32
    linalg.yield %b0 : i1
  } -> tensor<16x10xi1> loc(#loc0)
  %5 = tensor.empty() : tensor<16x10xf32>
  %6 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%4 : tensor<16x10xi1>) outs(%5 : tensor<16x10xf32>) {
  ^bb0(%in_0: i1, %out_0: f32):
    %b0 = arith.uitofp %in_0 : i1 to f32
    linalg.yield %b0 : f32
  } -> tensor<16x10xf32> loc(#loc0)
  %7 = arith.constant 0.000000e+00 : f32
  %8 = tensor.pad %x low[0, 1, 1, 0] high[0, 1, 1, 0] {
  ^bb0(%pad_0: index, %pad_1: index, %pad_2: index, %pad_3: index):
    tensor.yield %7 : f32
  } : tensor<16x8x8x1xf32> to tensor<16x10x10x1xf32>
  %9 = arith.constant 0.000000e+00 : f32
  %10 = tensor.empty() : tensor<16x8x8x16xf32>
  %11 = linalg.fill ins(%9 : f32) outs(%10 : tensor<16x8x8x16xf32>) -> tensor<16x8x8x16xf32>
  %12 = linalg.generic {indexing_maps = [#map3, #map4, #map5], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%8, %conv1.w : tensor<16x10x10x1xf32>, tensor<3x3x1x16xf32>) outs(%11 : tensor<16x8x8x16xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    %b1 = arith.addf %out_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<16x8x8x16xf32> loc(#loc1)
  %13 = tensor.empty() : tensor<16x8x8x16xf32>
  %14 = linalg.generic {indexing_maps = [#map6, #map7, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%12, %conv1.b : tensor<16x8x8x16xf32>, tensor<16xf32>) outs(%13 : tensor<16x8x8x16xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<16x8x8x16xf32> loc(#loc2)
  %15 = tensor.empty() : tensor<16x8x8x16xf32>
  %16 = linalg.generic {indexing_maps = [#map6, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%14 : tensor<16x8x8x16xf32>) outs(%15 : tensor<16x8x8x16xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.negf %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<16x8x8x16xf32> loc(#loc3)
  %17 = tensor.empty() : tensor<16x8x8x16xf32>
  %18 = linalg.generic {indexing_maps = [#map6, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%16 : tensor<16x8x8x16xf32>) outs(%17 : tensor<16x8x8x16xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = math.exp %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<16x8x8x16xf32> loc(#loc3)
  %19 = tensor.empty() : tensor<16x8x8x16xf32>
  %20 = linalg.generic {indexing_maps = [#map6, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%18 : tensor<16x8x8x16xf32>) outs(%19 : tensor<16x8x8x16xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e+00 : f32
    %b1 = arith.addf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<16x8x8x16xf32> loc(#loc3)
  %21 = tensor.empty() : tensor<16x8x8x16xf32>
  %22 = linalg.generic {indexing_maps = [#map6, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%20 : tensor<16x8x8x16xf32>) outs(%21 : tensor<16x8x8x16xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e+00 : f32
    %b1 = arith.divf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<16x8x8x16xf32> loc(#loc3)
  %23 = tensor.empty() : tensor<16x8x8x16xf32>
  %24 = linalg.generic {indexing_maps = [#map6, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%22 : tensor<16x8x8x16xf32>) outs(%23 : tensor<16x8x8x16xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e+00 : f32
    %b1 = arith.subf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<16x8x8x16xf32> loc(#loc3)
  %25 = tensor.empty() : tensor<16x8x8x16xf32>
  %26 = linalg.generic {indexing_maps = [#map6, #map6, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%22, %24 : tensor<16x8x8x16xf32>, tensor<16x8x8x16xf32>) outs(%25 : tensor<16x8x8x16xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<16x8x8x16xf32> loc(#loc3)
  %27 = tensor.empty() : tensor<16x8x8x16xf32>
  %28 = linalg.generic {indexing_maps = [#map6, #map6, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%14, %22 : tensor<16x8x8x16xf32>, tensor<16x8x8x16xf32>) outs(%27 : tensor<16x8x8x16xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<16x8x8x16xf32> loc(#loc3)
  %29 = arith.constant 0.000000e+00 : f32
  %30 = tensor.pad %28 low[0, 1, 1, 0] high[0, 1, 1, 0] {
  ^bb0(%pad_0: index, %pad_1: index, %pad_2: index, %pad_3: index):
    tensor.yield %29 : f32
  } : tensor<16x8x8x16xf32> to tensor<16x10x10x16xf32>
  %31 = arith.constant 0.000000e+00 : f32
  %32 = tensor.empty() : tensor<16x8x8x32xf32>
  %33 = linalg.fill ins(%31 : f32) outs(%32 : tensor<16x8x8x32xf32>) -> tensor<16x8x8x32xf32>
  %34 = linalg.generic {indexing_maps = [#map3, #map4, #map5], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%30, %conv2.w : tensor<16x10x10x16xf32>, tensor<3x3x16x32xf32>) outs(%33 : tensor<16x8x8x32xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    %b1 = arith.addf %out_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<16x8x8x32xf32> loc(#loc1)
  %35 = tensor.empty() : tensor<16x8x8x32xf32>
  %36 = linalg.generic {indexing_maps = [#map6, #map7, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%34, %conv2.b : tensor<16x8x8x32xf32>, tensor<32xf32>) outs(%35 : tensor<16x8x8x32xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<16x8x8x32xf32> loc(#loc2)
  %37 = tensor.empty() : tensor<16x8x8x32xf32>
  %38 = linalg.generic {indexing_maps = [#map6, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%36 : tensor<16x8x8x32xf32>) outs(%37 : tensor<16x8x8x32xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.negf %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<16x8x8x32xf32> loc(#loc3)
  %39 = tensor.empty() : tensor<16x8x8x32xf32>
  %40 = linalg.generic {indexing_maps = [#map6, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%38 : tensor<16x8x8x32xf32>) outs(%39 : tensor<16x8x8x32xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = math.exp %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<16x8x8x32xf32> loc(#loc3)
  %41 = tensor.empty() : tensor<16x8x8x32xf32>
  %42 = linalg.generic {indexing_maps = [#map6, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%40 : tensor<16x8x8x32xf32>) outs(%41 : tensor<16x8x8x32xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e+00 : f32
    %b1 = arith.addf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<16x8x8x32xf32> loc(#loc3)
  %43 = tensor.empty() : tensor<16x8x8x32xf32>
  %44 = linalg.generic {indexing_maps = [#map6, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%42 : tensor<16x8x8x32xf32>) outs(%43 : tensor<16x8x8x32xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e+00 : f32
    %b1 = arith.divf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<16x8x8x32xf32> loc(#loc3)
  %45 = tensor.empty() : tensor<16x8x8x32xf32>
  %46 = linalg.generic {indexing_maps = [#map6, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%44 : tensor<16x8x8x32xf32>) outs(%45 : tensor<16x8x8x32xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e+00 : f32
    %b1 = arith.subf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<16x8x8x32xf32> loc(#loc3)
  %47 = tensor.empty() : tensor<16x8x8x32xf32>
  %48 = linalg.generic {indexing_maps = [#map6, #map6, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%44, %46 : tensor<16x8x8x32xf32>, tensor<16x8x8x32xf32>) outs(%47 : tensor<16x8x8x32xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<16x8x8x32xf32> loc(#loc3)
  %49 = tensor.empty() : tensor<16x8x8x32xf32>
  %50 = linalg.generic {indexing_maps = [#map6, #map6, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%36, %44 : tensor<16x8x8x32xf32>, tensor<16x8x8x32xf32>) outs(%49 : tensor<16x8x8x32xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<16x8x8x32xf32> loc(#loc3)
  %51 = arith.constant 0.000000e+00 : f32
  %52 = tensor.empty() : tensor<16x4x4x32xf32>
  %53 = linalg.fill ins(%51 : f32) outs(%52 : tensor<16x4x4x32xf32>) -> tensor<16x4x4x32xf32>
  %54 = tensor.empty() : tensor<2x2xf32>
  %55 = linalg.generic {indexing_maps = [#map8, #map9, #map10], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction"]} ins(%50, %54 : tensor<16x8x8x32xf32>, tensor<2x2xf32>) outs(%53 : tensor<16x4x4x32xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %out_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<16x4x4x32xf32> loc(#loc4)
  %56 = tensor.empty() : tensor<16x4x4x32xf32>
  %57 = linalg.generic {indexing_maps = [#map6, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%55 : tensor<16x4x4x32xf32>) outs(%56 : tensor<16x4x4x32xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 4.000000e+00 : f32
    %b1 = arith.divf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<16x4x4x32xf32> loc(#loc4)
  %58 = tensor.collapse_shape %57 [[0], [1, 2, 3]] : tensor<16x4x4x32xf32> into tensor<16x512xf32>
  %59 = arith.constant 0.000000e+00 : f32
  %60 = tensor.empty() : tensor<16x10xf32>
  %61 = linalg.fill ins(%59 : f32) outs(%60 : tensor<16x10xf32>) -> tensor<16x10xf32>
  %62 = linalg.matmul ins(%58, %dense.w : tensor<16x512xf32>, tensor<512x10xf32>) outs(%61 : tensor<16x10xf32>) -> tensor<16x10xf32> loc(#loc5)
  %63 = tensor.empty() : tensor<16x10xf32>
  %64 = linalg.generic {indexing_maps = [#map0, #map2, #map0], iterator_types = ["parallel", "parallel"]} ins(%62, %dense.b : tensor<16x10xf32>, tensor<10xf32>) outs(%63 : tensor<16x10xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<16x10xf32> loc(#loc5)
  %65 = arith.constant 0xFF800000 : f32
  %66 = tensor.empty() : tensor<16xf32>
  %67 = linalg.fill ins(%65 : f32) outs(%66 : tensor<16xf32>) -> tensor<16xf32>
  %68 = linalg.generic {indexing_maps = [#map0, #map1], iterator_types = ["parallel", "reduction"]} ins(%64 : tensor<16x10xf32>) outs(%67 : tensor<16xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.maximumf %out_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<16xf32> loc(#loc6)
  %69 = tensor.empty() : tensor<16xf32>
  %70 = linalg.generic {indexing_maps = [#map11, #map11], iterator_types = ["parallel"]} ins(%68 : tensor<16xf32>) outs(%69 : tensor<16xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 0xFF800000 : f32
    %b1 = arith.maximumf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<16xf32> loc(#loc6)
  %71 = tensor.empty() : tensor<16x10xf32>
  %72 = linalg.generic {indexing_maps = [#map0, #map1, #map0], iterator_types = ["parallel", "parallel"]} ins(%64, %70 : tensor<16x10xf32>, tensor<16xf32>) outs(%71 : tensor<16x10xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.subf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<16x10xf32> loc(#loc6)
  %73 = tensor.empty() : tensor<16x10xf32>
  %74 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%72 : tensor<16x10xf32>) outs(%73 : tensor<16x10xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = math.exp %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<16x10xf32> loc(#loc6)
  %75 = arith.constant 0.000000e+00 : f32
  %76 = tensor.empty() : tensor<16xf32>
  %77 = linalg.fill ins(%75 : f32) outs(%76 : tensor<16xf32>) -> tensor<16xf32>
  %78 = linalg.generic {indexing_maps = [#map0, #map1], iterator_types = ["parallel", "reduction"]} ins(%74 : tensor<16x10xf32>) outs(%77 : tensor<16xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.addf %out_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<16xf32> loc(#loc6)
  %79 = tensor.expand_shape %78 [[0, 1]] output_shape [16, 1] : tensor<16xf32> into tensor<16x1xf32>
  %80 = tensor.empty() : tensor<16x1xf32>
  %81 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%79 : tensor<16x1xf32>) outs(%80 : tensor<16x1xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = math.log %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<16x1xf32> loc(#loc6)
  %82 = tensor.collapse_shape %81 [[0, 1]] : tensor<16x1xf32> into tensor<16xf32>
  %83 = tensor.empty() : tensor<16x10xf32>
  %84 = linalg.generic {indexing_maps = [#map0, #map1, #map0], iterator_types = ["parallel", "parallel"]} ins(%72, %82 : tensor<16x10xf32>, tensor<16xf32>) outs(%83 : tensor<16x10xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.subf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<16x10xf32> loc(#loc6)
  %85 = tensor.empty() : tensor<16x10xf32>
  %86 = linalg.generic {indexing_maps = [#map0, #map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%6, %84 : tensor<16x10xf32>, tensor<16x10xf32>) outs(%85 : tensor<16x10xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<16x10xf32> loc(#loc0)
  %87 = arith.constant 0.000000e+00 : f32
  %88 = tensor.empty() : tensor<16xf32>
  %89 = linalg.fill ins(%87 : f32) outs(%88 : tensor<16xf32>) -> tensor<16xf32>
  %90 = linalg.generic {indexing_maps = [#map0, #map1], iterator_types = ["parallel", "reduction"]} ins(%86 : tensor<16x10xf32>) outs(%89 : tensor<16xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.addf %out_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<16xf32> loc(#loc7)
  %91 = arith.constant 0.000000e+00 : f32
  %92 = tensor.empty() : tensor<f32>
  %93 = linalg.fill ins(%91 : f32) outs(%92 : tensor<f32>) -> tensor<f32>
  %94 = linalg.generic {indexing_maps = [#map11, #map12], iterator_types = ["reduction"]} ins(%90 : tensor<16xf32>) outs(%93 : tensor<f32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.addf %out_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<f32> loc(#loc7)
  %95 = tensor.empty() : tensor<f32>
  %96 = linalg.generic {indexing_maps = [#map13, #map13], iterator_types = []} ins(%94 : tensor<f32>) outs(%95 : tensor<f32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.600000e+01 : f32
    %b1 = arith.divf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<f32> loc(#loc7)
  %97 = tensor.empty() : tensor<f32>
  %98 = linalg.generic {indexing_maps = [#map13, #map13], iterator_types = []} ins(%96 : tensor<f32>) outs(%97 : tensor<f32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.negf %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<f32> loc(#loc8)
  %99 = tensor.empty() : tensor<f32>
  %100 = linalg.generic {indexing_maps = [#map13], iterator_types = []} outs(%99 : tensor<f32>) {
  ^bb0(%out_0: f32):
    %b0 = arith.constant 1.000000e+00 : f32
    %b1 = arith.negf %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<f32> loc(#loc8)
  %101 = tensor.empty() : tensor<f32>
  %102 = linalg.generic {indexing_maps = [#map13, #map13], iterator_types = []} ins(%100 : tensor<f32>) outs(%101 : tensor<f32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.600000e+01 : f32
    %b1 = arith.divf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<f32> loc(#loc7)
  %103 = tensor.empty() : tensor<16x10xf32>
  %104 = linalg.generic {indexing_maps = [#map0, #map14, #map0], iterator_types = ["parallel", "parallel"]} ins(%6, %102 : tensor<16x10xf32>, tensor<f32>) outs(%103 : tensor<16x10xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<16x10xf32> loc(#loc0)
  %105 = tensor.empty() : tensor<16x10xf32>
  %106 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%104 : tensor<16x10xf32>) outs(%105 : tensor<16x10xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.negf %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<16x10xf32> loc(#loc6)
  %107 = arith.constant 0.000000e+00 : f32
  %108 = tensor.empty() : tensor<16xf32>
  %109 = linalg.fill ins(%107 : f32) outs(%108 : tensor<16xf32>) -> tensor<16xf32>
  %110 = linalg.generic {indexing_maps = [#map0, #map1], iterator_types = ["parallel", "reduction"]} ins(%106 : tensor<16x10xf32>) outs(%109 : tensor<16xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.addf %out_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<16xf32> loc(#loc6)
  %111 = tensor.expand_shape %110 [[0, 1]] output_shape [16, 1] : tensor<16xf32> into tensor<16x1xf32>
  %112 = tensor.empty() : tensor<16x1xf32>
  %113 = linalg.generic {indexing_maps = [#map0, #map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%111, %79 : tensor<16x1xf32>, tensor<16x1xf32>) outs(%112 : tensor<16x1xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<16x1xf32> loc(#loc6)
  %114 = tensor.collapse_shape %113 [[0, 1]] : tensor<16x1xf32> into tensor<16xf32>
  %115 = tensor.empty() : tensor<16x10xf32>
  %116 = linalg.generic {indexing_maps = [#map1, #map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%114, %74 : tensor<16xf32>, tensor<16x10xf32>) outs(%115 : tensor<16x10xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<16x10xf32> loc(#loc6)
  %117 = tensor.empty() : tensor<16x10xf32>
  %118 = linalg.generic {indexing_maps = [#map0, #map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%104, %116 : tensor<16x10xf32>, tensor<16x10xf32>) outs(%117 : tensor<16x10xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<16x10xf32> loc(#loc6)
  %119 = arith.constant 0.000000e+00 : f32
  %120 = tensor.empty() : tensor<10xf32>
  %121 = linalg.fill ins(%119 : f32) outs(%120 : tensor<10xf32>) -> tensor<10xf32>
  %122 = linalg.generic {indexing_maps = [#map0, #map2], iterator_types = ["reduction", "parallel"]} ins(%118 : tensor<16x10xf32>) outs(%121 : tensor<10xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.addf %out_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<10xf32> loc(#loc5)
  %123 = arith.constant 0.000000e+00 : f32
  %124 = tensor.empty() : tensor<512x10xf32>
  %125 = linalg.fill ins(%123 : f32) outs(%124 : tensor<512x10xf32>) -> tensor<512x10xf32>
  %126 = linalg.generic {indexing_maps = [#map15, #map16, #map17], iterator_types = ["parallel", "parallel", "reduction"]} ins(%118, %58 : tensor<16x10xf32>, tensor<16x512xf32>) outs(%125 : tensor<512x10xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    %b1 = arith.addf %out_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<512x10xf32> loc(#loc5)
  %127 = arith.constant 0.000000e+00 : f32
  %128 = tensor.empty() : tensor<16x512xf32>
  %129 = linalg.fill ins(%127 : f32) outs(%128 : tensor<16x512xf32>) -> tensor<16x512xf32>
  %130 = linalg.generic {indexing_maps = [#map18, #map19, #map20], iterator_types = ["parallel", "parallel", "reduction"]} ins(%118, %dense.w : tensor<16x10xf32>, tensor<512x10xf32>) outs(%129 : tensor<16x512xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    %b1 = arith.addf %out_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<16x512xf32> loc(#loc5)
  %131 = tensor.expand_shape %130 [[0], [1, 2, 3]] output_shape [16, 4, 4, 32] : tensor<16x512xf32> into tensor<16x4x4x32xf32>
  %132 = tensor.empty() : tensor<16x4x4x32xf32>
  %133 = linalg.generic {indexing_maps = [#map6, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%131 : tensor<16x4x4x32xf32>) outs(%132 : tensor<16x4x4x32xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 4.000000e+00 : f32
    %b1 = arith.divf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<16x4x4x32xf32> loc(#loc4)
  %134 = arith.constant 0.000000e+00 : f32
  %135 = tensor.empty() : tensor<16x7x7x32xf32>
  %136 = linalg.fill ins(%134 : f32) outs(%135 : tensor<16x7x7x32xf32>) -> tensor<16x7x7x32xf32>
  %137 = tensor.insert_slice %133 into %136[0, 0, 0, 0] [16, 4, 4, 32] [1, 2, 2, 1] : tensor<16x4x4x32xf32> into tensor<16x7x7x32xf32>
  %138 = tensor.pad %137 low[0, 1, 1, 0] high[0, 1, 1, 0] {
  ^bb0(%pad_0: index, %pad_1: index, %pad_2: index, %pad_3: index):
    tensor.yield %134 : f32
  } : tensor<16x7x7x32xf32> to tensor<16x9x9x32xf32>
  %139 = arith.constant 0.000000e+00 : f32
  %140 = tensor.empty() : tensor<16x8x8x32xf32>
  %141 = linalg.fill ins(%139 : f32) outs(%140 : tensor<16x8x8x32xf32>) -> tensor<16x8x8x32xf32>
  %142 = tensor.empty() : tensor<2x2xf32>
  %143 = linalg.generic {indexing_maps = [#map21, #map9, #map10], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction"]} ins(%138, %142 : tensor<16x9x9x32xf32>, tensor<2x2xf32>) outs(%141 : tensor<16x8x8x32xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %out_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<16x8x8x32xf32> loc(#loc4)
  %144 = tensor.empty() : tensor<16x8x8x32xf32>
  %145 = linalg.generic {indexing_maps = [#map6, #map6, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%36, %143 : tensor<16x8x8x32xf32>, tensor<16x8x8x32xf32>) outs(%144 : tensor<16x8x8x32xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<16x8x8x32xf32> loc(#loc3)
  %146 = tensor.empty() : tensor<16x8x8x32xf32>
  %147 = linalg.generic {indexing_maps = [#map6, #map6, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%143, %44 : tensor<16x8x8x32xf32>, tensor<16x8x8x32xf32>) outs(%146 : tensor<16x8x8x32xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<16x8x8x32xf32> loc(#loc3)
  %148 = tensor.empty() : tensor<16x8x8x32xf32>
  %149 = linalg.generic {indexing_maps = [#map6, #map6, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%145, %48 : tensor<16x8x8x32xf32>, tensor<16x8x8x32xf32>) outs(%148 : tensor<16x8x8x32xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<16x8x8x32xf32> loc(#loc3)
  %150 = tensor.empty() : tensor<16x8x8x32xf32>
  %151 = linalg.generic {indexing_maps = [#map6, #map6, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%147, %149 : tensor<16x8x8x32xf32>, tensor<16x8x8x32xf32>) outs(%150 : tensor<16x8x8x32xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<16x8x8x32xf32> loc(#loc3)
  %152 = arith.constant 0.000000e+00 : f32
  %153 = tensor.empty() : tensor<32xf32>
  %154 = linalg.fill ins(%152 : f32) outs(%153 : tensor<32xf32>) -> tensor<32xf32>
  %155 = linalg.generic {indexing_maps = [#map6, #map7], iterator_types = ["reduction", "reduction", "reduction", "parallel"]} ins(%151 : tensor<16x8x8x32xf32>) outs(%154 : tensor<32xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.addf %out_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<32xf32> loc(#loc2)
  %156 = arith.constant 0.000000e+00 : f32
  %157 = tensor.pad %28 low[0, 1, 1, 0] high[0, 1, 1, 0] {
  ^bb0(%pad_0: index, %pad_1: index, %pad_2: index, %pad_3: index):
    tensor.yield %156 : f32
  } : tensor<16x8x8x16xf32> to tensor<16x10x10x16xf32>
  %158 = arith.constant 0.000000e+00 : f32
  %159 = tensor.empty() : tensor<3x3x16x32xf32>
  %160 = linalg.fill ins(%158 : f32) outs(%159 : tensor<3x3x16x32xf32>) -> tensor<3x3x16x32xf32>
  %161 = linalg.generic {indexing_maps = [#map22, #map23, #map5], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%157, %151 : tensor<16x10x10x16xf32>, tensor<16x8x8x32xf32>) outs(%160 : tensor<3x3x16x32xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    %b1 = arith.addf %out_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<3x3x16x32xf32> loc(#loc1)
  %162 = tensor.empty() : tensor<3x3x16x32xf32>
  %163 = linalg.generic {indexing_maps = [#map24, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%conv2.w : tensor<3x3x16x32xf32>) outs(%162 : tensor<3x3x16x32xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    linalg.yield %in_0 : f32
  } -> tensor<3x3x16x32xf32> loc(#loc1)
  %164 = arith.constant 0.000000e+00 : f32
  %165 = tensor.pad %151 low[0, 1, 1, 0] high[0, 1, 1, 0] {
  ^bb0(%pad_0: index, %pad_1: index, %pad_2: index, %pad_3: index):
    tensor.yield %164 : f32
  } : tensor<16x8x8x32xf32> to tensor<16x10x10x32xf32>
  %166 = arith.constant 0.000000e+00 : f32
  %167 = tensor.empty() : tensor<16x8x8x16xf32>
  %168 = linalg.fill ins(%166 : f32) outs(%167 : tensor<16x8x8x16xf32>) -> tensor<16x8x8x16xf32>
  %169 = linalg.generic {indexing_maps = [#map3, #map25, #map5], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%165, %163 : tensor<16x10x10x32xf32>, tensor<3x3x16x32xf32>) outs(%168 : tensor<16x8x8x16xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    %b1 = arith.addf %out_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<16x8x8x16xf32> loc(#loc1)
  %170 = tensor.empty() : tensor<16x8x8x16xf32>
  %171 = linalg.generic {indexing_maps = [#map6, #map6, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%14, %169 : tensor<16x8x8x16xf32>, tensor<16x8x8x16xf32>) outs(%170 : tensor<16x8x8x16xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<16x8x8x16xf32> loc(#loc3)
  %172 = tensor.empty() : tensor<16x8x8x16xf32>
  %173 = linalg.generic {indexing_maps = [#map6, #map6, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%169, %22 : tensor<16x8x8x16xf32>, tensor<16x8x8x16xf32>) outs(%172 : tensor<16x8x8x16xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<16x8x8x16xf32> loc(#loc3)
  %174 = tensor.empty() : tensor<16x8x8x16xf32>
  %175 = linalg.generic {indexing_maps = [#map6, #map6, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%171, %26 : tensor<16x8x8x16xf32>, tensor<16x8x8x16xf32>) outs(%174 : tensor<16x8x8x16xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<16x8x8x16xf32> loc(#loc3)
  %176 = tensor.empty() : tensor<16x8x8x16xf32>
  %177 = linalg.generic {indexing_maps = [#map6, #map6, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%173, %175 : tensor<16x8x8x16xf32>, tensor<16x8x8x16xf32>) outs(%176 : tensor<16x8x8x16xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<16x8x8x16xf32> loc(#loc3)
  %178 = arith.constant 0.000000e+00 : f32
  %179 = tensor.empty() : tensor<16xf32>
  %180 = linalg.fill ins(%178 : f32) outs(%179 : tensor<16xf32>) -> tensor<16xf32>
  %181 = linalg.generic {indexing_maps = [#map6, #map7], iterator_types = ["reduction", "reduction", "reduction", "parallel"]} ins(%177 : tensor<16x8x8x16xf32>) outs(%180 : tensor<16xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.addf %out_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<16xf32> loc(#loc2)
  %182 = arith.constant 0.000000e+00 : f32
  %183 = tensor.pad %x low[0, 1, 1, 0] high[0, 1, 1, 0] {
  ^bb0(%pad_0: index, %pad_1: index, %pad_2: index, %pad_3: index):
    tensor.yield %182 : f32
  } : tensor<16x8x8x1xf32> to tensor<16x10x10x1xf32>
  %184 = arith.constant 0.000000e+00 : f32
  %185 = tensor.empty() : tensor<3x3x1x16xf32>
  %186 = linalg.fill ins(%184 : f32) outs(%185 : tensor<3x3x1x16xf32>) -> tensor<3x3x1x16xf32>
  %187 = linalg.generic {indexing_maps = [#map22, #map23, #map5], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%183, %177 : tensor<16x10x10x1xf32>, tensor<16x8x8x16xf32>) outs(%186 : tensor<3x3x1x16xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    %b1 = arith.addf %out_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<3x3x1x16xf32> loc(#loc1)
  %188 = cs.gradient %181 of "conv1.b" : tensor<16xf32> loc(#loc9)
  %189 = cs.gradient %187 of "conv1.w" : tensor<3x3x1x16xf32> loc(#loc9)
  %190 = cs.gradient %155 of "conv2.b" : tensor<32xf32> loc(#loc9)
  %191 = cs.gradient %161 of "conv2.w" : tensor<3x3x16x32xf32> loc(#loc9)
  %192 = cs.gradient %122 of "dense.b" : tensor<10xf32> loc(#loc9)
  %193 = cs.gradient %126 of "dense.w" : tensor<512x10xf32> loc(#loc9)
  %194 = tensor.empty() : tensor<16xf32>
  %195 = linalg.generic {indexing_maps = [#map11, #map11], iterator_types = ["parallel"]} ins(%momentum.conv1.b : tensor<16xf32>) outs(%194 : tensor<16xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 9.000000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<16xf32> loc(#loc10)
  %196 = tensor.empty() : tensor<16xf32>
  %197 = linalg.generic {indexing_maps = [#map11, #map11, #map11], iterator_types = ["parallel"]} ins(%195, %188 : tensor<16xf32>, tensor<16xf32>) outs(%196 : tensor<16xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<16xf32> loc(#loc10)
  %198 = tensor.empty() : tensor<3x3x1x16xf32>
  %199 = linalg.generic {indexing_maps = [#map6, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%momentum.conv1.w : tensor<3x3x1x16xf32>) outs(%198 : tensor<3x3x1x16xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 9.000000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<3x3x1x16xf32> loc(#loc10)
  %200 = tensor.empty() : tensor<3x3x1x16xf32>
  %201 = linalg.generic {indexing_maps = [#map6, #map6, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%199, %189 : tensor<3x3x1x16xf32>, tensor<3x3x1x16xf32>) outs(%200 : tensor<3x3x1x16xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<3x3x1x16xf32> loc(#loc10)
  %202 = tensor.empty() : tensor<32xf32>
  %203 = linalg.generic {indexing_maps = [#map11, #map11], iterator_types = ["parallel"]} ins(%momentum.conv2.b : tensor<32xf32>) outs(%202 : tensor<32xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 9.000000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<32xf32> loc(#loc10)
  %204 = tensor.empty() : tensor<32xf32>
  %205 = linalg.generic {indexing_maps = [#map11, #map11, #map11], iterator_types = ["parallel"]} ins(%203, %190 : tensor<32xf32>, tensor<32xf32>) outs(%204 : tensor<32xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<32xf32> loc(#loc10)
  %206 = tensor.empty() : tensor<3x3x16x32xf32>
  %207 = linalg.generic {indexing_maps = [#map6, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%momentum.conv2.w : tensor<3x3x16x32xf32>) outs(%206 : tensor<3x3x16x32xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 9.000000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<3x3x16x32xf32> loc(#loc10)
  %208 = tensor.empty() : tensor<3x3x16x32xf32>
  %209 = linalg.generic {indexing_maps = [#map6, #map6, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%207, %191 : tensor<3x3x16x32xf32>, tensor<3x3x16x32xf32>) outs(%208 : tensor<3x3x16x32xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<3x3x16x32xf32> loc(#loc10)
  %210 = tensor.empty() : tensor<10xf32>
  %211 = linalg.generic {indexing_maps = [#map11, #map11], iterator_types = ["parallel"]} ins(%momentum.dense.b : tensor<10xf32>) outs(%210 : tensor<10xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 9.000000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<10xf32> loc(#loc10)
  %212 = tensor.empty() : tensor<10xf32>
  %213 = linalg.generic {indexing_maps = [#map11, #map11, #map11], iterator_types = ["parallel"]} ins(%211, %192 : tensor<10xf32>, tensor<10xf32>) outs(%212 : tensor<10xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<10xf32> loc(#loc10)
  %214 = tensor.empty() : tensor<512x10xf32>
  %215 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%momentum.dense.w : tensor<512x10xf32>) outs(%214 : tensor<512x10xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 9.000000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<512x10xf32> loc(#loc10)
  %216 = tensor.empty() : tensor<512x10xf32>
  %217 = linalg.generic {indexing_maps = [#map0, #map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%215, %193 : tensor<512x10xf32>, tensor<512x10xf32>) outs(%216 : tensor<512x10xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<512x10xf32> loc(#loc10)
  %218 = tensor.empty() : tensor<16xf32>
  %219 = linalg.generic {indexing_maps = [#map11, #map11], iterator_types = ["parallel"]} ins(%197 : tensor<16xf32>) outs(%218 : tensor<16xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 5.000000e-02 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<16xf32> loc(#loc11)
  %220 = tensor.empty() : tensor<16xf32>
  %221 = linalg.generic {indexing_maps = [#map11, #map11, #map11], iterator_types = ["parallel"]} ins(%conv1.b, %219 : tensor<16xf32>, tensor<16xf32>) outs(%220 : tensor<16xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.subf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<16xf32> loc(#loc12)
  %222 = tensor.empty() : tensor<3x3x1x16xf32>
  %223 = linalg.generic {indexing_maps = [#map6, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%201 : tensor<3x3x1x16xf32>) outs(%222 : tensor<3x3x1x16xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 5.000000e-02 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<3x3x1x16xf32> loc(#loc11)
  %224 = tensor.empty() : tensor<3x3x1x16xf32>
  %225 = linalg.generic {indexing_maps = [#map6, #map6, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%conv1.w, %223 : tensor<3x3x1x16xf32>, tensor<3x3x1x16xf32>) outs(%224 : tensor<3x3x1x16xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.subf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<3x3x1x16xf32> loc(#loc12)
  %226 = tensor.empty() : tensor<32xf32>
  %227 = linalg.generic {indexing_maps = [#map11, #map11], iterator_types = ["parallel"]} ins(%205 : tensor<32xf32>) outs(%226 : tensor<32xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 5.000000e-02 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<32xf32> loc(#loc11)
  %228 = tensor.empty() : tensor<32xf32>
  %229 = linalg.generic {indexing_maps = [#map11, #map11, #map11], iterator_types = ["parallel"]} ins(%conv2.b, %227 : tensor<32xf32>, tensor<32xf32>) outs(%228 : tensor<32xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.subf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<32xf32> loc(#loc12)
  %230 = tensor.empty() : tensor<3x3x16x32xf32>
  %231 = linalg.generic {indexing_maps = [#map6, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%209 : tensor<3x3x16x32xf32>) outs(%230 : tensor<3x3x16x32xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 5.000000e-02 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<3x3x16x32xf32> loc(#loc11)
  %232 = tensor.empty() : tensor<3x3x16x32xf32>
  %233 = linalg.generic {indexing_maps = [#map6, #map6, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%conv2.w, %231 : tensor<3x3x16x32xf32>, tensor<3x3x16x32xf32>) outs(%232 : tensor<3x3x16x32xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.subf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<3x3x16x32xf32> loc(#loc12)
  %234 = tensor.empty() : tensor<10xf32>
  %235 = linalg.generic {indexing_maps = [#map11, #map11], iterator_types = ["parallel"]} ins(%213 : tensor<10xf32>) outs(%234 : tensor<10xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 5.000000e-02 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<10xf32> loc(#loc11)
  %236 = tensor.empty() : tensor<10xf32>
  %237 = linalg.generic {indexing_maps = [#map11, #map11, #map11], iterator_types = ["parallel"]} ins(%dense.b, %235 : tensor<10xf32>, tensor<10xf32>) outs(%236 : tensor<10xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.subf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<10xf32> loc(#loc12)
  %238 = tensor.empty() : tensor<512x10xf32>
  %239 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%217 : tensor<512x10xf32>) outs(%238 : tensor<512x10xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 5.000000e-02 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<512x10xf32> loc(#loc11)
  %240 = tensor.empty() : tensor<512x10xf32>
  %241 = linalg.generic {indexing_maps = [#map0, #map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%dense.w, %239 : tensor<512x10xf32>, tensor<512x10xf32>) outs(%240 : tensor<512x10xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.subf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<512x10xf32> loc(#loc12)
  return %221, %225, %229, %233, %237, %241, %197, %201, %205, %209, %213, %217, %98 : tensor<16xf32>, tensor<3x3x1x16xf32>, tensor<32xf32>, tensor<3x3x16x32xf32>, tensor<10xf32>, tensor<512x10xf32>, tensor<16xf32>, tensor<3x3x1x16xf32>, tensor<32xf32>, tensor<3x3x16x32xf32>, tensor<10xf32>, tensor<512x10xf32>, tensor<f32>
}

func.func @eval(
    %conv1.b: tensor<16xf32> {cs.param = "conv1.b"},
    %conv1.w: tensor<3x3x1x16xf32> {cs.param = "conv1.w"},
    %conv2.b: tensor<32xf32> {cs.param = "conv2.b"},
    %conv2.w: tensor<3x3x16x32xf32> {cs.param = "conv2.w"},
    %dense.b: tensor<10xf32> {cs.param = "dense.b"},
    %dense.w: tensor<512x10xf32> {cs.param = "dense.w"},
    %x: tensor<90x8x8x1xf32> {cs.batch = "x"},
    %y: tensor<90xi32> {cs.batch = "y"}
  ) -> (
    tensor<f32> {cs.metric = "accuracy"},
    tensor<f32> {cs.metric = "loss"}
  ) attributes {cs.global_batch = 360 : i64} {
  %0 = arith.constant 0.000000e+00 : f32
  %1 = tensor.pad %x low[0, 1, 1, 0] high[0, 1, 1, 0] {
  ^bb0(%pad_0: index, %pad_1: index, %pad_2: index, %pad_3: index):
    tensor.yield %0 : f32
  } : tensor<90x8x8x1xf32> to tensor<90x10x10x1xf32>
  %2 = arith.constant 0.000000e+00 : f32
  %3 = tensor.empty() : tensor<90x8x8x16xf32>
  %4 = linalg.fill ins(%2 : f32) outs(%3 : tensor<90x8x8x16xf32>) -> tensor<90x8x8x16xf32>
  %5 = linalg.generic {indexing_maps = [#map3, #map4, #map5], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%1, %conv1.w : tensor<90x10x10x1xf32>, tensor<3x3x1x16xf32>) outs(%4 : tensor<90x8x8x16xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    %b1 = arith.addf %out_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<90x8x8x16xf32> loc(#loc1)
  %6 = tensor.empty() : tensor<90x8x8x16xf32>
  %7 = linalg.generic {indexing_maps = [#map6, #map7, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%5, %conv1.b : tensor<90x8x8x16xf32>, tensor<16xf32>) outs(%6 : tensor<90x8x8x16xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<90x8x8x16xf32> loc(#loc2)
  %8 = tensor.empty() : tensor<90x8x8x16xf32>
  %9 = linalg.generic {indexing_maps = [#map6, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%7 : tensor<90x8x8x16xf32>) outs(%8 : tensor<90x8x8x16xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.negf %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<90x8x8x16xf32> loc(#loc3)
  %10 = tensor.empty() : tensor<90x8x8x16xf32>
  %11 = linalg.generic {indexing_maps = [#map6, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%9 : tensor<90x8x8x16xf32>) outs(%10 : tensor<90x8x8x16xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = math.exp %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<90x8x8x16xf32> loc(#loc3)
  %12 = tensor.empty() : tensor<90x8x8x16xf32>
  %13 = linalg.generic {indexing_maps = [#map6, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%11 : tensor<90x8x8x16xf32>) outs(%12 : tensor<90x8x8x16xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e+00 : f32
    %b1 = arith.addf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<90x8x8x16xf32> loc(#loc3)
  %14 = tensor.empty() : tensor<90x8x8x16xf32>
  %15 = linalg.generic {indexing_maps = [#map6, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%13 : tensor<90x8x8x16xf32>) outs(%14 : tensor<90x8x8x16xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e+00 : f32
    %b1 = arith.divf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<90x8x8x16xf32> loc(#loc3)
  %16 = tensor.empty() : tensor<90x8x8x16xf32>
  %17 = linalg.generic {indexing_maps = [#map6, #map6, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%7, %15 : tensor<90x8x8x16xf32>, tensor<90x8x8x16xf32>) outs(%16 : tensor<90x8x8x16xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<90x8x8x16xf32> loc(#loc3)
  %18 = arith.constant 0.000000e+00 : f32
  %19 = tensor.pad %17 low[0, 1, 1, 0] high[0, 1, 1, 0] {
  ^bb0(%pad_0: index, %pad_1: index, %pad_2: index, %pad_3: index):
    tensor.yield %18 : f32
  } : tensor<90x8x8x16xf32> to tensor<90x10x10x16xf32>
  %20 = arith.constant 0.000000e+00 : f32
  %21 = tensor.empty() : tensor<90x8x8x32xf32>
  %22 = linalg.fill ins(%20 : f32) outs(%21 : tensor<90x8x8x32xf32>) -> tensor<90x8x8x32xf32>
  %23 = linalg.generic {indexing_maps = [#map3, #map4, #map5], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%19, %conv2.w : tensor<90x10x10x16xf32>, tensor<3x3x16x32xf32>) outs(%22 : tensor<90x8x8x32xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    %b1 = arith.addf %out_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<90x8x8x32xf32> loc(#loc1)
  %24 = tensor.empty() : tensor<90x8x8x32xf32>
  %25 = linalg.generic {indexing_maps = [#map6, #map7, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%23, %conv2.b : tensor<90x8x8x32xf32>, tensor<32xf32>) outs(%24 : tensor<90x8x8x32xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<90x8x8x32xf32> loc(#loc2)
  %26 = tensor.empty() : tensor<90x8x8x32xf32>
  %27 = linalg.generic {indexing_maps = [#map6, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%25 : tensor<90x8x8x32xf32>) outs(%26 : tensor<90x8x8x32xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.negf %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<90x8x8x32xf32> loc(#loc3)
  %28 = tensor.empty() : tensor<90x8x8x32xf32>
  %29 = linalg.generic {indexing_maps = [#map6, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%27 : tensor<90x8x8x32xf32>) outs(%28 : tensor<90x8x8x32xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = math.exp %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<90x8x8x32xf32> loc(#loc3)
  %30 = tensor.empty() : tensor<90x8x8x32xf32>
  %31 = linalg.generic {indexing_maps = [#map6, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%29 : tensor<90x8x8x32xf32>) outs(%30 : tensor<90x8x8x32xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e+00 : f32
    %b1 = arith.addf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<90x8x8x32xf32> loc(#loc3)
  %32 = tensor.empty() : tensor<90x8x8x32xf32>
  %33 = linalg.generic {indexing_maps = [#map6, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%31 : tensor<90x8x8x32xf32>) outs(%32 : tensor<90x8x8x32xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e+00 : f32
    %b1 = arith.divf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<90x8x8x32xf32> loc(#loc3)
  %34 = tensor.empty() : tensor<90x8x8x32xf32>
  %35 = linalg.generic {indexing_maps = [#map6, #map6, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%25, %33 : tensor<90x8x8x32xf32>, tensor<90x8x8x32xf32>) outs(%34 : tensor<90x8x8x32xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<90x8x8x32xf32> loc(#loc3)
  %36 = arith.constant 0.000000e+00 : f32
  %37 = tensor.empty() : tensor<90x4x4x32xf32>
  %38 = linalg.fill ins(%36 : f32) outs(%37 : tensor<90x4x4x32xf32>) -> tensor<90x4x4x32xf32>
  %39 = tensor.empty() : tensor<2x2xf32>
  %40 = linalg.generic {indexing_maps = [#map8, #map9, #map10], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction"]} ins(%35, %39 : tensor<90x8x8x32xf32>, tensor<2x2xf32>) outs(%38 : tensor<90x4x4x32xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %out_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<90x4x4x32xf32> loc(#loc4)
  %41 = tensor.empty() : tensor<90x4x4x32xf32>
  %42 = linalg.generic {indexing_maps = [#map6, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%40 : tensor<90x4x4x32xf32>) outs(%41 : tensor<90x4x4x32xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 4.000000e+00 : f32
    %b1 = arith.divf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<90x4x4x32xf32> loc(#loc4)
  %43 = tensor.collapse_shape %42 [[0], [1, 2, 3]] : tensor<90x4x4x32xf32> into tensor<90x512xf32>
  %44 = arith.constant 0.000000e+00 : f32
  %45 = tensor.empty() : tensor<90x10xf32>
  %46 = linalg.fill ins(%44 : f32) outs(%45 : tensor<90x10xf32>) -> tensor<90x10xf32>
  %47 = linalg.matmul ins(%43, %dense.w : tensor<90x512xf32>, tensor<512x10xf32>) outs(%46 : tensor<90x10xf32>) -> tensor<90x10xf32> loc(#loc5)
  %48 = tensor.empty() : tensor<90x10xf32>
  %49 = linalg.generic {indexing_maps = [#map0, #map2, #map0], iterator_types = ["parallel", "parallel"]} ins(%47, %dense.b : tensor<90x10xf32>, tensor<10xf32>) outs(%48 : tensor<90x10xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<90x10xf32> loc(#loc5)
  %50 = tensor.empty() : tensor<90x10xi32>
  %51 = linalg.generic {indexing_maps = [#map0], iterator_types = ["parallel", "parallel"]} outs(%50 : tensor<90x10xi32>) {
  ^bb0(%out_0: i32):
    %b0 = linalg.index 1 : index
    %b1 = arith.index_cast %b0 : index to i32
    linalg.yield %b1 : i32
  } -> tensor<90x10xi32> loc(#loc13)
  %52 = arith.constant 0xFF800000 : f32
  %53 = tensor.empty() : tensor<90xf32>
  %54 = linalg.fill ins(%52 : f32) outs(%53 : tensor<90xf32>) -> tensor<90xf32>
  %55 = arith.constant 0 : i32
  %56 = tensor.empty() : tensor<90xi32>
  %57 = linalg.fill ins(%55 : i32) outs(%56 : tensor<90xi32>) -> tensor<90xi32>
  %58:2 = linalg.generic {indexing_maps = [#map0, #map0, #map1, #map1], iterator_types = ["parallel", "reduction"]} ins(%49, %51 : tensor<90x10xf32>, tensor<90x10xi32>) outs(%54, %57 : tensor<90xf32>, tensor<90xi32>) {
  ^bb0(%in_0: f32, %in_1: i32, %out_0: f32, %out_1: i32):
    %b0 = arith.cmpf ogt, %out_0, %in_0 : f32
    %b1 = arith.cmpf une, %out_0, %out_0 : f32
    %b2 = arith.ori %b0, %b1 : i1
    %b3 = arith.cmpf oeq, %out_0, %in_0 : f32
    %b4 = arith.cmpi slt, %out_1, %in_1 : i32
    %b5 = arith.andi %b3, %b4 : i1
    %b6 = arith.ori %b2, %b5 : i1
    %b7 = arith.select %b2, %out_0, %in_0 : f32
    %b8 = arith.select %b6, %out_1, %in_1 : i32
    linalg.yield %b7, %b8 : f32, i32
  } -> (tensor<90xf32>, tensor<90xi32>) loc(#loc13)
  %59 = tensor.empty() : tensor<90xi1>
  %60 = linalg.generic {indexing_maps = [#map11, #map11, #map11], iterator_types = ["parallel"]} ins(%58#1, %y : tensor<90xi32>, tensor<90xi32>) outs(%59 : tensor<90xi1>) {
  ^bb0(%in_0: i32, %in_1: i32, %out_0: i1):
    %b0 = arith.cmpi eq, %in_0, %in_1 : i32
    linalg.yield %b0 : i1
  } -> tensor<90xi1> loc(#loc13)
  %61 = tensor.empty() : tensor<90xf32>
  %62 = linalg.generic {indexing_maps = [#map11, #map11], iterator_types = ["parallel"]} ins(%60 : tensor<90xi1>) outs(%61 : tensor<90xf32>) {
  ^bb0(%in_0: i1, %out_0: f32):
    %b0 = arith.uitofp %in_0 : i1 to f32
    linalg.yield %b0 : f32
  } -> tensor<90xf32> loc(#loc14)
  %63 = arith.constant 0.000000e+00 : f32
  %64 = tensor.empty() : tensor<f32>
  %65 = linalg.fill ins(%63 : f32) outs(%64 : tensor<f32>) -> tensor<f32>
  %66 = linalg.generic {indexing_maps = [#map11, #map12], iterator_types = ["reduction"]} ins(%62 : tensor<90xf32>) outs(%65 : tensor<f32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.addf %out_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<f32> loc(#loc14)
  %67 = tensor.empty() : tensor<f32>
  %68 = linalg.generic {indexing_maps = [#map13, #map13], iterator_types = []} ins(%66 : tensor<f32>) outs(%67 : tensor<f32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 9.000000e+01 : f32
    %b1 = arith.divf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<f32> loc(#loc14)
  %69 = tensor.empty() : tensor<1x10xi32>
  %70 = linalg.generic {indexing_maps = [#map0], iterator_types = ["parallel", "parallel"]} outs(%69 : tensor<1x10xi32>) {
  ^bb0(%out_0: i32):
    %b0 = linalg.index 1 : index
    %b1 = arith.index_cast %b0 : index to i32
    linalg.yield %b1 : i32
  } -> tensor<1x10xi32> loc(#loc0)
  %71 = tensor.collapse_shape %70 [[0, 1]] : tensor<1x10xi32> into tensor<10xi32>
  %72 = tensor.empty() : tensor<90x10xi1>
  %73 = linalg.generic {indexing_maps = [#map1, #map2, #map0], iterator_types = ["parallel", "parallel"]} ins(%y, %71 : tensor<90xi32>, tensor<10xi32>) outs(%72 : tensor<90x10xi1>) {
  ^bb0(%in_0: i32, %in_1: i32, %out_0: i1):
    %b0 = arith.cmpi eq, %in_0, %in_1 : i32
    linalg.yield %b0 : i1
  } -> tensor<90x10xi1> loc(#loc0)
  %74 = tensor.empty() : tensor<90x10xf32>
  %75 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%73 : tensor<90x10xi1>) outs(%74 : tensor<90x10xf32>) {
  ^bb0(%in_0: i1, %out_0: f32):
    %b0 = arith.uitofp %in_0 : i1 to f32
    linalg.yield %b0 : f32
  } -> tensor<90x10xf32> loc(#loc0)
  %76 = arith.constant 0.000000e+00 : f32
  %77 = tensor.pad %x low[0, 1, 1, 0] high[0, 1, 1, 0] {
  ^bb0(%pad_0: index, %pad_1: index, %pad_2: index, %pad_3: index):
    tensor.yield %76 : f32
  } : tensor<90x8x8x1xf32> to tensor<90x10x10x1xf32>
  %78 = arith.constant 0.000000e+00 : f32
  %79 = tensor.empty() : tensor<90x8x8x16xf32>
  %80 = linalg.fill ins(%78 : f32) outs(%79 : tensor<90x8x8x16xf32>) -> tensor<90x8x8x16xf32>
  %81 = linalg.generic {indexing_maps = [#map3, #map4, #map5], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%77, %conv1.w : tensor<90x10x10x1xf32>, tensor<3x3x1x16xf32>) outs(%80 : tensor<90x8x8x16xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    %b1 = arith.addf %out_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<90x8x8x16xf32> loc(#loc1)
  %82 = tensor.empty() : tensor<90x8x8x16xf32>
  %83 = linalg.generic {indexing_maps = [#map6, #map7, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%81, %conv1.b : tensor<90x8x8x16xf32>, tensor<16xf32>) outs(%82 : tensor<90x8x8x16xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<90x8x8x16xf32> loc(#loc2)
  %84 = tensor.empty() : tensor<90x8x8x16xf32>
  %85 = linalg.generic {indexing_maps = [#map6, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%83 : tensor<90x8x8x16xf32>) outs(%84 : tensor<90x8x8x16xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.negf %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<90x8x8x16xf32> loc(#loc3)
  %86 = tensor.empty() : tensor<90x8x8x16xf32>
  %87 = linalg.generic {indexing_maps = [#map6, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%85 : tensor<90x8x8x16xf32>) outs(%86 : tensor<90x8x8x16xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = math.exp %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<90x8x8x16xf32> loc(#loc3)
  %88 = tensor.empty() : tensor<90x8x8x16xf32>
  %89 = linalg.generic {indexing_maps = [#map6, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%87 : tensor<90x8x8x16xf32>) outs(%88 : tensor<90x8x8x16xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e+00 : f32
    %b1 = arith.addf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<90x8x8x16xf32> loc(#loc3)
  %90 = tensor.empty() : tensor<90x8x8x16xf32>
  %91 = linalg.generic {indexing_maps = [#map6, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%89 : tensor<90x8x8x16xf32>) outs(%90 : tensor<90x8x8x16xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e+00 : f32
    %b1 = arith.divf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<90x8x8x16xf32> loc(#loc3)
  %92 = tensor.empty() : tensor<90x8x8x16xf32>
  %93 = linalg.generic {indexing_maps = [#map6, #map6, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%83, %91 : tensor<90x8x8x16xf32>, tensor<90x8x8x16xf32>) outs(%92 : tensor<90x8x8x16xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<90x8x8x16xf32> loc(#loc3)
  %94 = arith.constant 0.000000e+00 : f32
  %95 = tensor.pad %93 low[0, 1, 1, 0] high[0, 1, 1, 0] {
  ^bb0(%pad_0: index, %pad_1: index, %pad_2: index, %pad_3: index):
    tensor.yield %94 : f32
  } : tensor<90x8x8x16xf32> to tensor<90x10x10x16xf32>
  %96 = arith.constant 0.000000e+00 : f32
  %97 = tensor.empty() : tensor<90x8x8x32xf32>
  %98 = linalg.fill ins(%96 : f32) outs(%97 : tensor<90x8x8x32xf32>) -> tensor<90x8x8x32xf32>
  %99 = linalg.generic {indexing_maps = [#map3, #map4, #map5], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%95, %conv2.w : tensor<90x10x10x16xf32>, tensor<3x3x16x32xf32>) outs(%98 : tensor<90x8x8x32xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    %b1 = arith.addf %out_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<90x8x8x32xf32> loc(#loc1)
  %100 = tensor.empty() : tensor<90x8x8x32xf32>
  %101 = linalg.generic {indexing_maps = [#map6, #map7, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%99, %conv2.b : tensor<90x8x8x32xf32>, tensor<32xf32>) outs(%100 : tensor<90x8x8x32xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<90x8x8x32xf32> loc(#loc2)
  %102 = tensor.empty() : tensor<90x8x8x32xf32>
  %103 = linalg.generic {indexing_maps = [#map6, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%101 : tensor<90x8x8x32xf32>) outs(%102 : tensor<90x8x8x32xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.negf %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<90x8x8x32xf32> loc(#loc3)
  %104 = tensor.empty() : tensor<90x8x8x32xf32>
  %105 = linalg.generic {indexing_maps = [#map6, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%103 : tensor<90x8x8x32xf32>) outs(%104 : tensor<90x8x8x32xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = math.exp %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<90x8x8x32xf32> loc(#loc3)
  %106 = tensor.empty() : tensor<90x8x8x32xf32>
  %107 = linalg.generic {indexing_maps = [#map6, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%105 : tensor<90x8x8x32xf32>) outs(%106 : tensor<90x8x8x32xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e+00 : f32
    %b1 = arith.addf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<90x8x8x32xf32> loc(#loc3)
  %108 = tensor.empty() : tensor<90x8x8x32xf32>
  %109 = linalg.generic {indexing_maps = [#map6, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%107 : tensor<90x8x8x32xf32>) outs(%108 : tensor<90x8x8x32xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.000000e+00 : f32
    %b1 = arith.divf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<90x8x8x32xf32> loc(#loc3)
  %110 = tensor.empty() : tensor<90x8x8x32xf32>
  %111 = linalg.generic {indexing_maps = [#map6, #map6, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%101, %109 : tensor<90x8x8x32xf32>, tensor<90x8x8x32xf32>) outs(%110 : tensor<90x8x8x32xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<90x8x8x32xf32> loc(#loc3)
  %112 = arith.constant 0.000000e+00 : f32
  %113 = tensor.empty() : tensor<90x4x4x32xf32>
  %114 = linalg.fill ins(%112 : f32) outs(%113 : tensor<90x4x4x32xf32>) -> tensor<90x4x4x32xf32>
  %115 = tensor.empty() : tensor<2x2xf32>
  %116 = linalg.generic {indexing_maps = [#map8, #map9, #map10], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction"]} ins(%111, %115 : tensor<90x8x8x32xf32>, tensor<2x2xf32>) outs(%114 : tensor<90x4x4x32xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %out_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<90x4x4x32xf32> loc(#loc4)
  %117 = tensor.empty() : tensor<90x4x4x32xf32>
  %118 = linalg.generic {indexing_maps = [#map6, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%116 : tensor<90x4x4x32xf32>) outs(%117 : tensor<90x4x4x32xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 4.000000e+00 : f32
    %b1 = arith.divf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<90x4x4x32xf32> loc(#loc4)
  %119 = tensor.collapse_shape %118 [[0], [1, 2, 3]] : tensor<90x4x4x32xf32> into tensor<90x512xf32>
  %120 = arith.constant 0.000000e+00 : f32
  %121 = tensor.empty() : tensor<90x10xf32>
  %122 = linalg.fill ins(%120 : f32) outs(%121 : tensor<90x10xf32>) -> tensor<90x10xf32>
  %123 = linalg.matmul ins(%119, %dense.w : tensor<90x512xf32>, tensor<512x10xf32>) outs(%122 : tensor<90x10xf32>) -> tensor<90x10xf32> loc(#loc5)
  %124 = tensor.empty() : tensor<90x10xf32>
  %125 = linalg.generic {indexing_maps = [#map0, #map2, #map0], iterator_types = ["parallel", "parallel"]} ins(%123, %dense.b : tensor<90x10xf32>, tensor<10xf32>) outs(%124 : tensor<90x10xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<90x10xf32> loc(#loc5)
  %126 = arith.constant 0xFF800000 : f32
  %127 = tensor.empty() : tensor<90xf32>
  %128 = linalg.fill ins(%126 : f32) outs(%127 : tensor<90xf32>) -> tensor<90xf32>
  %129 = linalg.generic {indexing_maps = [#map0, #map1], iterator_types = ["parallel", "reduction"]} ins(%125 : tensor<90x10xf32>) outs(%128 : tensor<90xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.maximumf %out_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<90xf32> loc(#loc6)
  %130 = tensor.empty() : tensor<90xf32>
  %131 = linalg.generic {indexing_maps = [#map11, #map11], iterator_types = ["parallel"]} ins(%129 : tensor<90xf32>) outs(%130 : tensor<90xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 0xFF800000 : f32
    %b1 = arith.maximumf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<90xf32> loc(#loc6)
  %132 = tensor.empty() : tensor<90x10xf32>
  %133 = linalg.generic {indexing_maps = [#map0, #map1, #map0], iterator_types = ["parallel", "parallel"]} ins(%125, %131 : tensor<90x10xf32>, tensor<90xf32>) outs(%132 : tensor<90x10xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.subf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<90x10xf32> loc(#loc6)
  %134 = tensor.empty() : tensor<90x10xf32>
  %135 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%133 : tensor<90x10xf32>) outs(%134 : tensor<90x10xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = math.exp %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<90x10xf32> loc(#loc6)
  %136 = arith.constant 0.000000e+00 : f32
  %137 = tensor.empty() : tensor<90xf32>
  %138 = linalg.fill ins(%136 : f32) outs(%137 : tensor<90xf32>) -> tensor<90xf32>
  %139 = linalg.generic {indexing_maps = [#map0, #map1], iterator_types = ["parallel", "reduction"]} ins(%135 : tensor<90x10xf32>) outs(%138 : tensor<90xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.addf %out_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<90xf32> loc(#loc6)
  %140 = tensor.expand_shape %139 [[0, 1]] output_shape [90, 1] : tensor<90xf32> into tensor<90x1xf32>
  %141 = tensor.empty() : tensor<90x1xf32>
  %142 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%140 : tensor<90x1xf32>) outs(%141 : tensor<90x1xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = math.log %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<90x1xf32> loc(#loc6)
  %143 = tensor.collapse_shape %142 [[0, 1]] : tensor<90x1xf32> into tensor<90xf32>
  %144 = tensor.empty() : tensor<90x10xf32>
  %145 = linalg.generic {indexing_maps = [#map0, #map1, #map0], iterator_types = ["parallel", "parallel"]} ins(%133, %143 : tensor<90x10xf32>, tensor<90xf32>) outs(%144 : tensor<90x10xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.subf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<90x10xf32> loc(#loc6)
  %146 = tensor.empty() : tensor<90x10xf32>
  %147 = linalg.generic {indexing_maps = [#map0, #map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%75, %145 : tensor<90x10xf32>, tensor<90x10xf32>) outs(%146 : tensor<90x10xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<90x10xf32> loc(#loc0)
  %148 = arith.constant 0.000000e+00 : f32
  %149 = tensor.empty() : tensor<90xf32>
  %150 = linalg.fill ins(%148 : f32) outs(%149 : tensor<90xf32>) -> tensor<90xf32>
  %151 = linalg.generic {indexing_maps = [#map0, #map1], iterator_types = ["parallel", "reduction"]} ins(%147 : tensor<90x10xf32>) outs(%150 : tensor<90xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.addf %out_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<90xf32> loc(#loc7)
  %152 = arith.constant 0.000000e+00 : f32
  %153 = tensor.empty() : tensor<f32>
  %154 = linalg.fill ins(%152 : f32) outs(%153 : tensor<f32>) -> tensor<f32>
  %155 = linalg.generic {indexing_maps = [#map11, #map12], iterator_types = ["reduction"]} ins(%151 : tensor<90xf32>) outs(%154 : tensor<f32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.addf %out_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<f32> loc(#loc7)
  %156 = tensor.empty() : tensor<f32>
  %157 = linalg.generic {indexing_maps = [#map13, #map13], iterator_types = []} ins(%155 : tensor<f32>) outs(%156 : tensor<f32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 9.000000e+01 : f32
    %b1 = arith.divf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<f32> loc(#loc7)
  %158 = tensor.empty() : tensor<f32>
  %159 = linalg.generic {indexing_maps = [#map13, #map13], iterator_types = []} ins(%157 : tensor<f32>) outs(%158 : tensor<f32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.negf %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<f32> loc(#loc8)
  return %68, %159 : tensor<f32>, tensor<f32>
}
#loc0 = loc("examples/digits/digits.py":41:13)
#loc1 = loc("examples/digits/digits.py":30:8)
#loc2 = loc("examples/digits/digits.py":31:23)
#loc3 = loc("examples/digits/digits.py":31:11)
#loc4 = loc("examples/digits/digits.py":36:8)
#loc5 = loc("examples/digits/digits.py":37:11)
#loc6 = loc("examples/digits/digits.py":41:37)
#loc7 = loc("examples/digits/digits.py":42:12)
#loc8 = loc("examples/digits/digits.py":42:11)
#loc9 = loc("examples/digits/digits.py":46:19)
#loc10 = loc("examples/digits/digits.py":47:41)
#loc11 = loc("examples/digits/digits.py":48:43)
#loc12 = loc("examples/digits/digits.py":48:39)
#loc13 = loc("examples/digits/digits.py":53:12)
#loc14 = loc("examples/digits/digits.py":54:24)
