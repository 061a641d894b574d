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
#map21 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d3, d5)>
#map22 = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d3, d4, d5)>
#map23 = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d6, d0 + d4, d1 + d5, d2)>
#map24 = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d6, d4, d5, d3)>
#map25 = affine_map<(d0, d1, d2, d3) -> (-d0 + 2, -d1 + 2, d2, d3)>
#map26 = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d4, d5, d3, d6)>

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
    %b0 = arith.constant 0.000000e+00 : f32
    %b1 = arith.maximumf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<16x8x8x16xf32> loc(#loc3)
  %17 = tensor.empty() : tensor<16x8x8x16xi1>
  %18 = linalg.generic {indexing_maps = [#map6, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%14 : tensor<16x8x8x16xf32>) outs(%17 : tensor<16x8x8x16xi1>) {
  ^bb0(%in_0: f32, %out_0: i1):
    %b0 = arith.constant 0.000000e+00 : f32
    %b1 = arith.cmpf ogt, %in_0, %b0 : f32
    linalg.yield %b1 : i1
  } -> tensor<16x8x8x16xi1> loc(#loc3)
  %19 = arith.constant 0.000000e+00 : f32
  %20 = tensor.pad %16 low[0, 1, 1, 0] high[0, 1, 1, 0] {
  ^bb0(%pad_0: index, %pad_1: index, %pad_2: index, %pad_3: index):
    tensor.yield %19 : f32
  } : tensor<16x8x8x16xf32> to tensor<16x10x10x16xf32>
  %21 = arith.constant 0.000000e+00 : f32
  %22 = tensor.empty() : tensor<16x8x8x32xf32>
  %23 = linalg.fill ins(%21 : f32) outs(%22 : tensor<16x8x8x32xf32>) -> tensor<16x8x8x32xf32>
  %24 = linalg.generic {indexing_maps = [#map3, #map4, #map5], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%20, %conv2.w : tensor<16x10x10x16xf32>, tensor<3x3x16x32xf32>) outs(%23 : tensor<16x8x8x32xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    %b1 = arith.addf %out_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<16x8x8x32xf32> loc(#loc1)
  %25 = tensor.empty() : tensor<16x8x8x32xf32>
  %26 = linalg.generic {indexing_maps = [#map6, #map7, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%24, %conv2.b : tensor<16x8x8x32xf32>, tensor<32xf32>) outs(%25 : tensor<16x8x8x32xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<16x8x8x32xf32> loc(#loc2)
  %27 = tensor.empty() : tensor<16x8x8x32xf32>
  %28 = linalg.generic {indexing_maps = [#map6, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%26 : tensor<16x8x8x32xf32>) outs(%27 : tensor<16x8x8x32xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 0.000000e+00 : f32
    %b1 = arith.maximumf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<16x8x8x32xf32> loc(#loc3)
  %29 = tensor.empty() : tensor<16x8x8x32xi1>
  %30 = linalg.generic {indexing_maps = [#map6, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%26 : tensor<16x8x8x32xf32>) outs(%29 : tensor<16x8x8x32xi1>) {
  ^bb0(%in_0: f32, %out_0: i1):
    %b0 = arith.constant 0.000000e+00 : f32
    %b1 = arith.cmpf ogt, %in_0, %b0 : f32
    linalg.yield %b1 : i1
  } -> tensor<16x8x8x32xi1> loc(#loc3)
  %31 = arith.constant 0xFF800000 : f32
  %32 = tensor.empty() : tensor<16x4x4x32xf32>
  %33 = linalg.fill ins(%31 : f32) outs(%32 : tensor<16x4x4x32xf32>) -> tensor<16x4x4x32xf32>
  %34 = tensor.empty() : tensor<2x2xf32>
  %35 = linalg.generic {indexing_maps = [#map8, #map9, #map10], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction"]} ins(%28, %34 : tensor<16x8x8x32xf32>, tensor<2x2xf32>) outs(%33 : tensor<16x4x4x32xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.maximumf %out_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<16x4x4x32xf32> loc(#loc4)
  %36 = tensor.collapse_shape %35 [[0], [1, 2, 3]] : tensor<16x4x4x32xf32> into tensor<16x512xf32>
  %37 = arith.constant 0.000000e+00 : f32
  %38 = tensor.empty() : tensor<16x10xf32>
  %39 = linalg.fill ins(%37 : f32) outs(%38 : tensor<16x10xf32>) -> tensor<16x10xf32>
  %40 = linalg.matmul ins(%36, %dense.w : tensor<16x512xf32>, tensor<512x10xf32>) outs(%39 : tensor<16x10xf32>) -> tensor<16x10xf32> loc(#loc5)
  %41 = tensor.empty() : tensor<16x10xf32>
  %42 = linalg.generic {indexing_maps = [#map0, #map2, #map0], iterator_types = ["parallel", "parallel"]} ins(%40, %dense.b : tensor<16x10xf32>, tensor<10xf32>) outs(%41 : tensor<16x10xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<16x10xf32> loc(#loc5)
  %43 = arith.constant 0xFF800000 : f32
  %44 = tensor.empty() : tensor<16xf32>
  %45 = linalg.fill ins(%43 : f32) outs(%44 : tensor<16xf32>) -> tensor<16xf32>
  %46 = linalg.generic {indexing_maps = [#map0, #map1], iterator_types = ["parallel", "reduction"]} ins(%42 : tensor<16x10xf32>) outs(%45 : tensor<16xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.maximumf %out_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<16xf32> loc(#loc6)
  %47 = tensor.empty() : tensor<16xf32>
  %48 = linalg.generic {indexing_maps = [#map11, #map11], iterator_types = ["parallel"]} ins(%46 : tensor<16xf32>) outs(%47 : tensor<16xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 0xFF800000 : f32
    %b1 = arith.maximumf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<16xf32> loc(#loc6)
  %49 = tensor.empty() : tensor<16x10xf32>
  %50 = linalg.generic {indexing_maps = [#map0, #map1, #map0], iterator_types = ["parallel", "parallel"]} ins(%42, %48 : tensor<16x10xf32>, tensor<16xf32>) outs(%49 : tensor<16x10xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.subf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<16x10xf32> loc(#loc6)
  %51 = tensor.empty() : tensor<16x10xf32>
  %52 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%50 : tensor<16x10xf32>) outs(%51 : tensor<16x10xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = math.exp %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<16x10xf32> loc(#loc6)
  %53 = arith.constant 0.000000e+00 : f32
  %54 = tensor.empty() : tensor<16xf32>
  %55 = linalg.fill ins(%53 : f32) outs(%54 : tensor<16xf32>) -> tensor<16xf32>
  %56 = linalg.generic {indexing_maps = [#map0, #map1], iterator_types = ["parallel", "reduction"]} ins(%52 : tensor<16x10xf32>) outs(%55 : tensor<16xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.addf %out_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<16xf32> loc(#loc6)
  %57 = tensor.expand_shape %56 [[0, 1]] output_shape [16, 1] : tensor<16xf32> into tensor<16x1xf32>
  %58 = tensor.empty() : tensor<16x1xf32>
  %59 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%57 : tensor<16x1xf32>) outs(%58 : tensor<16x1xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = math.log %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<16x1xf32> loc(#loc6)
  %60 = tensor.collapse_shape %59 [[0, 1]] : tensor<16x1xf32> into tensor<16xf32>
  %61 = tensor.empty() : tensor<16x10xf32>
  %62 = linalg.generic {indexing_maps = [#map0, #map1, #map0], iterator_types = ["parallel", "parallel"]} ins(%50, %60 : tensor<16x10xf32>, tensor<16xf32>) outs(%61 : tensor<16x10xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.subf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<16x10xf32> loc(#loc6)
  %63 = tensor.empty() : tensor<16x10xf32>
  %64 = linalg.generic {indexing_maps = [#map0, #map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%6, %62 : tensor<16x10xf32>, tensor<16x10xf32>) outs(%63 : tensor<16x10xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<16x10xf32> loc(#loc0)
  %65 = arith.constant 0.000000e+00 : f32
  %66 = tensor.empty() : tensor<16xf32>
  %67 = linalg.fill ins(%65 : f32) outs(%66 : tensor<16xf32>) -> tensor<16xf32>
  %68 = linalg.generic {indexing_maps = [#map0, #map1], iterator_types = ["parallel", "reduction"]} ins(%64 : tensor<16x10xf32>) outs(%67 : tensor<16xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.addf %out_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<16xf32> loc(#loc7)
  %69 = arith.constant 0.000000e+00 : f32
  %70 = tensor.empty() : tensor<f32>
  %71 = linalg.fill ins(%69 : f32) outs(%70 : tensor<f32>) -> tensor<f32>
  %72 = linalg.generic {indexing_maps = [#map11, #map12], iterator_types = ["reduction"]} ins(%68 : tensor<16xf32>) outs(%71 : tensor<f32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.addf %out_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<f32> loc(#loc7)
  %73 = tensor.empty() : tensor<f32>
  %74 = linalg.generic {indexing_maps = [#map13, #map13], iterator_types = []} ins(%72 : tensor<f32>) outs(%73 : tensor<f32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.600000e+01 : f32
    %b1 = arith.divf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<f32> loc(#loc7)
  %75 = tensor.empty() : tensor<f32>
  %76 = linalg.generic {indexing_maps = [#map13, #map13], iterator_types = []} ins(%74 : tensor<f32>) outs(%75 : tensor<f32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.negf %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<f32> loc(#loc8)
  %77 = tensor.empty() : tensor<f32>
  %78 = linalg.generic {indexing_maps = [#map13], iterator_types = []} outs(%77 : tensor<f32>) {
  ^bb0(%out_0: f32):
    %b0 = arith.constant 1.000000e+00 : f32
    %b1 = arith.negf %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<f32> loc(#loc8)
  %79 = tensor.empty() : tensor<f32>
  %80 = linalg.generic {indexing_maps = [#map13, #map13], iterator_types = []} ins(%78 : tensor<f32>) outs(%79 : tensor<f32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 1.600000e+01 : f32
    %b1 = arith.divf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<f32> loc(#loc7)
  %81 = tensor.empty() : tensor<16x10xf32>
  %82 = linalg.generic {indexing_maps = [#map0, #map14, #map0], iterator_types = ["parallel", "parallel"]} ins(%6, %80 : tensor<16x10xf32>, tensor<f32>) outs(%81 : tensor<16x10xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<16x10xf32> loc(#loc0)
  %83 = tensor.empty() : tensor<16x10xf32>
  %84 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%82 : tensor<16x10xf32>) outs(%83 : tensor<16x10xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.negf %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<16x10xf32> loc(#loc6)
  %85 = arith.constant 0.000000e+00 : f32
  %86 = tensor.empty() : tensor<16xf32>
  %87 = linalg.fill ins(%85 : f32) outs(%86 : tensor<16xf32>) -> tensor<16xf32>
  %88 = linalg.generic {indexing_maps = [#map0, #map1], iterator_types = ["parallel", "reduction"]} ins(%84 : tensor<16x10xf32>) outs(%87 : tensor<16xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.addf %out_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<16xf32> loc(#loc6)
  %89 = tensor.expand_shape %88 [[0, 1]] output_shape [16, 1] : tensor<16xf32> into tensor<16x1xf32>
  %90 = tensor.empty() : tensor<16x1xf32>
  %91 = linalg.generic {indexing_maps = [#map0, #map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%89, %57 : tensor<16x1xf32>, tensor<16x1xf32>) outs(%90 : tensor<16x1xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.divf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<16x1xf32> loc(#loc6)
  %92 = tensor.collapse_shape %91 [[0, 1]] : tensor<16x1xf32> into tensor<16xf32>
  %93 = tensor.empty() : tensor<16x10xf32>
  %94 = linalg.generic {indexing_maps = [#map1, #map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%92, %52 : tensor<16xf32>, tensor<16x10xf32>) outs(%93 : tensor<16x10xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<16x10xf32> loc(#loc6)
  %95 = tensor.empty() : tensor<16x10xf32>
  %96 = linalg.generic {indexing_maps = [#map0, #map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%82, %94 : tensor<16x10xf32>, tensor<16x10xf32>) outs(%95 : tensor<16x10xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<16x10xf32> loc(#loc6)
  %97 = arith.constant 0.000000e+00 : f32
  %98 = tensor.empty() : tensor<10xf32>
  %99 = linalg.fill ins(%97 : f32) outs(%98 : tensor<10xf32>) -> tensor<10xf32>
  %100 = linalg.generic {indexing_maps = [#map0, #map2], iterator_types = ["reduction", "parallel"]} ins(%96 : tensor<16x10xf32>) outs(%99 : tensor<10xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.addf %out_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<10xf32> loc(#loc5)
  %101 = arith.constant 0.000000e+00 : f32
  %102 = tensor.empty() : tensor<512x10xf32>
  %103 = linalg.fill ins(%101 : f32) outs(%102 : tensor<512x10xf32>) -> tensor<512x10xf32>
  %104 = linalg.generic {indexing_maps = [#map15, #map16, #map17], iterator_types = ["parallel", "parallel", "reduction"]} ins(%96, %36 : tensor<16x10xf32>, tensor<16x512xf32>) outs(%103 : tensor<512x10xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    %b1 = arith.addf %out_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<512x10xf32> loc(#loc5)
  %105 = arith.constant 0.000000e+00 : f32
  %106 = tensor.empty() : tensor<16x512xf32>
  %107 = linalg.fill ins(%105 : f32) outs(%106 : tensor<16x512xf32>) -> tensor<16x512xf32>
  %108 = linalg.generic {indexing_maps = [#map18, #map19, #map20], iterator_types = ["parallel", "parallel", "reduction"]} ins(%96, %dense.w : tensor<16x10xf32>, tensor<512x10xf32>) outs(%107 : tensor<16x512xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    %b1 = arith.addf %out_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<16x512xf32> loc(#loc5)
  %109 = tensor.expand_shape %108 [[0], [1, 2, 3]] output_shape [16, 4, 4, 32] : tensor<16x512xf32> into tensor<16x4x4x32xf32>
  %110 = arith.constant 0xFF800000 : f32
  %111 = tensor.empty() : tensor<2x2xf32>
  %112 = tensor.empty() : tensor<16x4x4x32xf32>
  %113 = linalg.fill ins(%110 : f32) outs(%112 : tensor<16x4x4x32xf32>) -> tensor<16x4x4x32xf32>
  %114 = arith.constant -1 : i32
  %115 = tensor.empty() : tensor<16x4x4x32xi32>
  %116 = linalg.fill ins(%114 : i32) outs(%115 : tensor<16x4x4x32xi32>) -> tensor<16x4x4x32xi32>
  %117:2 = linalg.generic {indexing_maps = [#map8, #map9, #map10, #map10], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction"]} ins(%28, %111 : tensor<16x8x8x32xf32>, tensor<2x2xf32>) outs(%113, %116 : tensor<16x4x4x32xf32>, tensor<16x4x4x32xi32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32, %out_1: i32):
    %b0 = arith.cmpf oge, %out_0, %in_0 : f32
    %b1 = arith.constant 0 : i32
    %b2 = arith.cmpi sge, %out_1, %b1 : i32
    %b3 = arith.andi %b0, %b2 : i1
    %b4 = linalg.index 4 : index
    %b5 = linalg.index 5 : index
    %b6 = arith.constant 2 : index
    %b7 = arith.muli %b4, %b6 : index
    %b8 = arith.addi %b7, %b5 : index
    %b9 = arith.index_cast %b8 : index to i32
    %b10 = arith.select %b3, %out_0, %in_0 : f32
    %b11 = arith.select %b3, %out_1, %b9 : i32
    linalg.yield %b10, %b11 : f32, i32
  } -> (tensor<16x4x4x32xf32>, tensor<16x4x4x32xi32>) loc(#loc4)
  %118 = arith.constant 0.000000e+00 : f32
  %119 = tensor.empty() : tensor<16x4x2x4x2x32xf32>
  %120 = linalg.generic {indexing_maps = [#map21, #map21, #map22], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "parallel"]} ins(%117#1, %109 : tensor<16x4x4x32xi32>, tensor<16x4x4x32xf32>) outs(%119 : tensor<16x4x2x4x2x32xf32>) {
  ^bb0(%in_0: i32, %in_1: f32, %out_0: f32):
    %b0 = linalg.index 2 : index
    %b1 = linalg.index 4 : index
    %b2 = arith.constant 2 : index
    %b3 = arith.muli %b0, %b2 : index
    %b4 = arith.addi %b3, %b1 : index
    %b5 = arith.index_cast %b4 : index to i32
    %b6 = arith.cmpi eq, %in_0, %b5 : i32
    %b7 = arith.addf %118, %in_1 : f32
    %b8 = arith.select %b6, %b7, %118 : f32
    linalg.yield %b8 : f32
  } -> tensor<16x4x2x4x2x32xf32> loc(#loc4)
  %121 = tensor.collapse_shape %120 [[0], [1, 2], [3, 4], [5]] : tensor<16x4x2x4x2x32xf32> into tensor<16x8x8x32xf32>
  %122 = tensor.empty() : tensor<16x8x8x32xf32>
  %123 = linalg.generic {indexing_maps = [#map6, #map6, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%30, %121 : tensor<16x8x8x32xi1>, tensor<16x8x8x32xf32>) outs(%122 : tensor<16x8x8x32xf32>) {
  ^bb0(%in_0: i1, %in_1: f32, %out_0: f32):
    %b0 = arith.constant 0.000000e+00 : f32
    %b1 = arith.select %in_0, %in_1, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<16x8x8x32xf32> loc(#loc3)
  %124 = arith.constant 0.000000e+00 : f32
  %125 = tensor.empty() : tensor<32xf32>
  %126 = linalg.fill ins(%124 : f32) outs(%125 : tensor<32xf32>) -> tensor<32xf32>
  %127 = linalg.generic {indexing_maps = [#map6, #map7], iterator_types = ["reduction", "reduction", "reduction", "parallel"]} ins(%123 : tensor<16x8x8x32xf32>) outs(%126 : tensor<32xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.addf %out_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<32xf32> loc(#loc2)
  %128 = arith.constant 0.000000e+00 : f32
  %129 = tensor.pad %16 low[0, 1, 1, 0] high[0, 1, 1, 0] {
  ^bb0(%pad_0: index, %pad_1: index, %pad_2: index, %pad_3: index):
    tensor.yield %128 : f32
  } : tensor<16x8x8x16xf32> to tensor<16x10x10x16xf32>
  %130 = arith.constant 0.000000e+00 : f32
  %131 = tensor.empty() : tensor<3x3x16x32xf32>
  %132 = linalg.fill ins(%130 : f32) outs(%131 : tensor<3x3x16x32xf32>) -> tensor<3x3x16x32xf32>
  %133 = linalg.generic {indexing_maps = [#map23, #map24, #map5], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%129, %123 : tensor<16x10x10x16xf32>, tensor<16x8x8x32xf32>) outs(%132 : tensor<3x3x16x32xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    %b1 = arith.addf %out_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<3x3x16x32xf32> loc(#loc1)
  %134 = tensor.empty() : tensor<3x3x16x32xf32>
  %135 = linalg.generic {indexing_maps = [#map25, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%conv2.w : tensor<3x3x16x32xf32>) outs(%134 : tensor<3x3x16x32xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    linalg.yield %in_0 : f32
  } -> tensor<3x3x16x32xf32> loc(#loc1)
  %136 = arith.constant 0.000000e+00 : f32
  %137 = tensor.pad %123 low[0, 1, 1, 0] high[0, 1, 1, 0] {
  ^bb0(%pad_0: index, %pad_1: index, %pad_2: index, %pad_3: index):
    tensor.yield %136 : f32
  } : tensor<16x8x8x32xf32> to tensor<16x10x10x32xf32>
  %138 = arith.constant 0.000000e+00 : f32
  %139 = tensor.empty() : tensor<16x8x8x16xf32>
  %140 = linalg.fill ins(%138 : f32) outs(%139 : tensor<16x8x8x16xf32>) -> tensor<16x8x8x16xf32>
  %141 = linalg.generic {indexing_maps = [#map3, #map26, #map5], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%137, %135 : tensor<16x10x10x32xf32>, tensor<3x3x16x32xf32>) outs(%140 : tensor<16x8x8x16xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    %b1 = arith.addf %out_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<16x8x8x16xf32> loc(#loc1)
  %142 = tensor.empty() : tensor<16x8x8x16xf32>
  %143 = linalg.generic {indexing_maps = [#map6, #map6, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%18, %141 : tensor<16x8x8x16xi1>, tensor<16x8x8x16xf32>) outs(%142 : tensor<16x8x8x16xf32>) {
  ^bb0(%in_0: i1, %in_1: f32, %out_0: f32):
    %b0 = arith.constant 0.000000e+00 : f32
    %b1 = arith.select %in_0, %in_1, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<16x8x8x16xf32> loc(#loc3)
  %144 = arith.constant 0.000000e+00 : f32
  %145 = tensor.empty() : tensor<16xf32>
  %146 = linalg.fill ins(%144 : f32) outs(%145 : tensor<16xf32>) -> tensor<16xf32>
  %147 = linalg.generic {indexing_maps = [#map6, #map7], iterator_types = ["reduction", "reduction", "reduction", "parallel"]} ins(%143 : tensor<16x8x8x16xf32>) outs(%146 : tensor<16xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.addf %out_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<16xf32> loc(#loc2)
  %148 = arith.constant 0.000000e+00 : f32
  %149 = tensor.pad %x low[0, 1, 1, 0] high[0, 1, 1, 0] {
  ^bb0(%pad_0: index, %pad_1: index, %pad_2: index, %pad_3: index):
    tensor.yield %148 : f32
  } : tensor<16x8x8x1xf32> to tensor<16x10x10x1xf32>
  %150 = arith.constant 0.000000e+00 : f32
  %151 = tensor.empty() : tensor<3x3x1x16xf32>
  %152 = linalg.fill ins(%150 : f32) outs(%151 : tensor<3x3x1x16xf32>) -> tensor<3x3x1x16xf32>
  %153 = linalg.generic {indexing_maps = [#map23, #map24, #map5], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%149, %143 : tensor<16x10x10x1xf32>, tensor<16x8x8x16xf32>) outs(%152 : tensor<3x3x1x16xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    %b1 = arith.addf %out_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<3x3x1x16xf32> loc(#loc1)
  %154 = cs.gradient %147 of "conv1.b" : tensor<16xf32> loc(#loc9)
  %155 = cs.gradient %153 of "conv1.w" : tensor<3x3x1x16xf32> loc(#loc9)
  %156 = cs.gradient %127 of "conv2.b" : tensor<32xf32> loc(#loc9)
  %157 = cs.gradient %133 of "conv2.w" : tensor<3x3x16x32xf32> loc(#loc9)
  %158 = cs.gradient %100 of "dense.b" : tensor<10xf32> loc(#loc9)
  %159 = cs.gradient %104 of "dense.w" : tensor<512x10xf32> loc(#loc9)
  %160 = tensor.empty() : tensor<16xf32>
  %161 = linalg.generic {indexing_maps = [#map11, #map11], iterator_types = ["parallel"]} ins(%momentum.conv1.b : tensor<16xf32>) outs(%160 : tensor<16xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 9.000000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<16xf32> loc(#loc10)
  %162 = tensor.empty() : tensor<16xf32>
  %163 = linalg.generic {indexing_maps = [#map11, #map11, #map11], iterator_types = ["parallel"]} ins(%161, %154 : tensor<16xf32>, tensor<16xf32>) outs(%162 : tensor<16xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<16xf32> loc(#loc10)
  %164 = tensor.empty() : tensor<3x3x1x16xf32>
  %165 = linalg.generic {indexing_maps = [#map6, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%momentum.conv1.w : tensor<3x3x1x16xf32>) outs(%164 : tensor<3x3x1x16xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 9.000000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<3x3x1x16xf32> loc(#loc10)
  %166 = tensor.empty() : tensor<3x3x1x16xf32>
  %167 = linalg.generic {indexing_maps = [#map6, #map6, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%165, %155 : tensor<3x3x1x16xf32>, tensor<3x3x1x16xf32>) outs(%166 : tensor<3x3x1x16xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<3x3x1x16xf32> loc(#loc10)
  %168 = tensor.empty() : tensor<32xf32>
  %169 = linalg.generic {indexing_maps = [#map11, #map11], iterator_types = ["parallel"]} ins(%momentum.conv2.b : tensor<32xf32>) outs(%168 : tensor<32xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 9.000000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<32xf32> loc(#loc10)
  %170 = tensor.empty() : tensor<32xf32>
  %171 = linalg.generic {indexing_maps = [#map11, #map11, #map11], iterator_types = ["parallel"]} ins(%169, %156 : tensor<32xf32>, tensor<32xf32>) outs(%170 : tensor<32xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<32xf32> loc(#loc10)
  %172 = tensor.empty() : tensor<3x3x16x32xf32>
  %173 = linalg.generic {indexing_maps = [#map6, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%momentum.conv2.w : tensor<3x3x16x32xf32>) outs(%172 : tensor<3x3x16x32xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 9.000000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<3x3x16x32xf32> loc(#loc10)
  %174 = tensor.empty() : tensor<3x3x16x32xf32>
  %175 = linalg.generic {indexing_maps = [#map6, #map6, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%173, %157 : tensor<3x3x16x32xf32>, tensor<3x3x16x32xf32>) outs(%174 : tensor<3x3x16x32xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<3x3x16x32xf32> loc(#loc10)
  %176 = tensor.empty() : tensor<10xf32>
  %177 = linalg.generic {indexing_maps = [#map11, #map11], iterator_types = ["parallel"]} ins(%momentum.dense.b : tensor<10xf32>) outs(%176 : tensor<10xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 9.000000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<10xf32> loc(#loc10)
  %178 = tensor.empty() : tensor<10xf32>
  %179 = linalg.generic {indexing_maps = [#map11, #map11, #map11], iterator_types = ["parallel"]} ins(%177, %158 : tensor<10xf32>, tensor<10xf32>) outs(%178 : tensor<10xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<10xf32> loc(#loc10)
  %180 = tensor.empty() : tensor<512x10xf32>
  %181 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%momentum.dense.w : tensor<512x10xf32>) outs(%180 : tensor<512x10xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 9.000000e-01 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<512x10xf32> loc(#loc10)
  %182 = tensor.empty() : tensor<512x10xf32>
  %183 = linalg.generic {indexing_maps = [#map0, #map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%181, %159 : tensor<512x10xf32>, tensor<512x10xf32>) outs(%182 : tensor<512x10xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<512x10xf32> loc(#loc10)
  %184 = tensor.empty() : tensor<16xf32>
  %185 = linalg.generic {indexing_maps = [#map11, #map11], iterator_types = ["parallel"]} ins(%163 : tensor<16xf32>) outs(%184 : tensor<16xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 5.000000e-02 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<16xf32> loc(#loc11)
  %186 = tensor.empty() : tensor<16xf32>
  %187 = linalg.generic {indexing_maps = [#map11, #map11, #map11], iterator_types = ["parallel"]} ins(%conv1.b, %185 : tensor<16xf32>, tensor<16xf32>) outs(%186 : tensor<16xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.subf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<16xf32> loc(#loc12)
  %188 = tensor.empty() : tensor<3x3x1x16xf32>
  %189 = linalg.generic {indexing_maps = [#map6, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%167 : tensor<3x3x1x16xf32>) outs(%188 : tensor<3x3x1x16xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 5.000000e-02 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<3x3x1x16xf32> loc(#loc11)
  %190 = tensor.empty() : tensor<3x3x1x16xf32>
  %191 = linalg.generic {indexing_maps = [#map6, #map6, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%conv1.w, %189 : tensor<3x3x1x16xf32>, tensor<3x3x1x16xf32>) outs(%190 : tensor<3x3x1x16xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.subf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<3x3x1x16xf32> loc(#loc12)
  %192 = tensor.empty() : tensor<32xf32>
  %193 = linalg.generic {indexing_maps = [#map11, #map11], iterator_types = ["parallel"]} ins(%171 : tensor<32xf32>) outs(%192 : tensor<32xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 5.000000e-02 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<32xf32> loc(#loc11)
  %194 = tensor.empty() : tensor<32xf32>
  %195 = linalg.generic {indexing_maps = [#map11, #map11, #map11], iterator_types = ["parallel"]} ins(%conv2.b, %193 : tensor<32xf32>, tensor<32xf32>) outs(%194 : tensor<32xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.subf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<32xf32> loc(#loc12)
  %196 = tensor.empty() : tensor<3x3x16x32xf32>
  %197 = linalg.generic {indexing_maps = [#map6, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%175 : tensor<3x3x16x32xf32>) outs(%196 : tensor<3x3x16x32xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 5.000000e-02 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<3x3x16x32xf32> loc(#loc11)
  %198 = tensor.empty() : tensor<3x3x16x32xf32>
  %199 = linalg.generic {indexing_maps = [#map6, #map6, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%conv2.w, %197 : tensor<3x3x16x32xf32>, tensor<3x3x16x32xf32>) outs(%198 : tensor<3x3x16x32xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.subf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<3x3x16x32xf32> loc(#loc12)
  %200 = tensor.empty() : tensor<10xf32>
  %201 = linalg.generic {indexing_maps = [#map11, #map11], iterator_types = ["parallel"]} ins(%179 : tensor<10xf32>) outs(%200 : tensor<10xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 5.000000e-02 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<10xf32> loc(#loc11)
  %202 = tensor.empty() : tensor<10xf32>
  %203 = linalg.generic {indexing_maps = [#map11, #map11, #map11], iterator_types = ["parallel"]} ins(%dense.b, %201 : tensor<10xf32>, tensor<10xf32>) outs(%202 : tensor<10xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.subf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<10xf32> loc(#loc12)
  %204 = tensor.empty() : tensor<512x10xf32>
  %205 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%183 : tensor<512x10xf32>) outs(%204 : tensor<512x10xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 5.000000e-02 : f32
    %b1 = arith.mulf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<512x10xf32> loc(#loc11)
  %206 = tensor.empty() : tensor<512x10xf32>
  %207 = linalg.generic {indexing_maps = [#map0, #map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%dense.w, %205 : tensor<512x10xf32>, tensor<512x10xf32>) outs(%206 : tensor<512x10xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.subf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<512x10xf32> loc(#loc12)
  return %187, %191, %195, %199, %203, %207, %163, %167, %171, %175, %179, %183, %76 : tensor<16xf32>, tensor<3x3x1x16xf32>, tensor<32xf32>, tensor<3x3x16x32xf32>, tensor<10xf32>, tensor<512x10xf32>, tensor<16xf32>, tensor<3x3x1x16xf32>, tensor<32xf32>, tensor<3x3x16x32xf32>, tensor<10xf32>, tensor<512x10xf32>, tensor<f32>
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
    %b0 = arith.constant 0.000000e+00 : f32
    %b1 = arith.maximumf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<90x8x8x16xf32> loc(#loc3)
  %10 = arith.constant 0.000000e+00 : f32
  %11 = tensor.pad %9 low[0, 1, 1, 0] high[0, 1, 1, 0] {
  ^bb0(%pad_0: index, %pad_1: index, %pad_2: index, %pad_3: index):
    tensor.yield %10 : f32
  } : tensor<90x8x8x16xf32> to tensor<90x10x10x16xf32>
  %12 = arith.constant 0.000000e+00 : f32
  %13 = tensor.empty() : tensor<90x8x8x32xf32>
  %14 = linalg.fill ins(%12 : f32) outs(%13 : tensor<90x8x8x32xf32>) -> tensor<90x8x8x32xf32>
  %15 = linalg.generic {indexing_maps = [#map3, #map4, #map5], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%11, %conv2.w : tensor<90x10x10x16xf32>, tensor<3x3x16x32xf32>) outs(%14 : tensor<90x8x8x32xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    %b1 = arith.addf %out_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<90x8x8x32xf32> loc(#loc1)
  %16 = tensor.empty() : tensor<90x8x8x32xf32>
  %17 = linalg.generic {indexing_maps = [#map6, #map7, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%15, %conv2.b : tensor<90x8x8x32xf32>, tensor<32xf32>) outs(%16 : tensor<90x8x8x32xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<90x8x8x32xf32> loc(#loc2)
  %18 = tensor.empty() : tensor<90x8x8x32xf32>
  %19 = linalg.generic {indexing_maps = [#map6, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%17 : tensor<90x8x8x32xf32>) outs(%18 : tensor<90x8x8x32xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 0.000000e+00 : f32
    %b1 = arith.maximumf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<90x8x8x32xf32> loc(#loc3)
  %20 = arith.constant 0xFF800000 : f32
  %21 = tensor.empty() : tensor<90x4x4x32xf32>
  %22 = linalg.fill ins(%20 : f32) outs(%21 : tensor<90x4x4x32xf32>) -> tensor<90x4x4x32xf32>
  %23 = tensor.empty() : tensor<2x2xf32>
  %24 = linalg.generic {indexing_maps = [#map8, #map9, #map10], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction"]} ins(%19, %23 : tensor<90x8x8x32xf32>, tensor<2x2xf32>) outs(%22 : tensor<90x4x4x32xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.maximumf %out_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<90x4x4x32xf32> loc(#loc4)
  %25 = tensor.collapse_shape %24 [[0], [1, 2, 3]] : tensor<90x4x4x32xf32> into tensor<90x512xf32>
  %26 = arith.constant 0.000000e+00 : f32
  %27 = tensor.empty() : tensor<90x10xf32>
  %28 = linalg.fill ins(%26 : f32) outs(%27 : tensor<90x10xf32>) -> tensor<90x10xf32>
  %29 = linalg.matmul ins(%25, %dense.w : tensor<90x512xf32>, tensor<512x10xf32>) outs(%28 : tensor<90x10xf32>) -> tensor<90x10xf32> loc(#loc5)
  %30 = tensor.empty() : tensor<90x10xf32>
  %31 = linalg.generic {indexing_maps = [#map0, #map2, #map0], iterator_types = ["parallel", "parallel"]} ins(%29, %dense.b : tensor<90x10xf32>, tensor<10xf32>) outs(%30 : tensor<90x10xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<90x10xf32> loc(#loc5)
  %32 = tensor.empty() : tensor<90x10xi32>
  %33 = linalg.generic {indexing_maps = [#map0], iterator_types = ["parallel", "parallel"]} outs(%32 : tensor<90x10xi32>) {
  ^bb0(%out_0: i32):
    %b0 = linalg.index 1 : index
    %b1 = arith.index_cast %b0 : index to i32
    linalg.yield %b1 : i32
  } -> tensor<90x10xi32> loc(#loc13)
  %34 = arith.constant 0xFF800000 : f32
  %35 = tensor.empty() : tensor<90xf32>
  %36 = linalg.fill ins(%34 : f32) outs(%35 : tensor<90xf32>) -> tensor<90xf32>
  %37 = arith.constant 0 : i32
  %38 = tensor.empty() : tensor<90xi32>
  %39 = linalg.fill ins(%37 : i32) outs(%38 : tensor<90xi32>) -> tensor<90xi32>
  %40:2 = linalg.generic {indexing_maps = [#map0, #map0, #map1, #map1], iterator_types = ["parallel", "reduction"]} ins(%31, %33 : tensor<90x10xf32>, tensor<90x10xi32>) outs(%36, %39 : tensor<90xf32>, tensor<90xi32>) {
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
  %41 = tensor.empty() : tensor<90xi1>
  %42 = linalg.generic {indexing_maps = [#map11, #map11, #map11], iterator_types = ["parallel"]} ins(%40#1, %y : tensor<90xi32>, tensor<90xi32>) outs(%41 : tensor<90xi1>) {
  ^bb0(%in_0: i32, %in_1: i32, %out_0: i1):
    %b0 = arith.cmpi eq, %in_0, %in_1 : i32
    linalg.yield %b0 : i1
  } -> tensor<90xi1> loc(#loc13)
  %43 = tensor.empty() : tensor<90xf32>
  %44 = linalg.generic {indexing_maps = [#map11, #map11], iterator_types = ["parallel"]} ins(%42 : tensor<90xi1>) outs(%43 : tensor<90xf32>) {
  ^bb0(%in_0: i1, %out_0: f32):
    %b0 = arith.uitofp %in_0 : i1 to f32
    linalg.yield %b0 : f32
  } -> tensor<90xf32> loc(#loc14)
  %45 = arith.constant 0.000000e+00 : f32
  %46 = tensor.empty() : tensor<f32>
  %47 = linalg.fill ins(%45 : f32) outs(%46 : tensor<f32>) -> tensor<f32>
  %48 = linalg.generic {indexing_maps = [#map11, #map12], iterator_types = ["reduction"]} ins(%44 : tensor<90xf32>) outs(%47 : tensor<f32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.addf %out_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<f32> loc(#loc14)
  %49 = tensor.empty() : tensor<f32>
  %50 = linalg.generic {indexing_maps = [#map13, #map13], iterator_types = []} ins(%48 : tensor<f32>) outs(%49 : tensor<f32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 9.000000e+01 : f32
    %b1 = arith.divf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<f32> loc(#loc14)
  %51 = tensor.empty() : tensor<1x10xi32>
  %52 = linalg.generic {indexing_maps = [#map0], iterator_types = ["parallel", "parallel"]} outs(%51 : tensor<1x10xi32>) {
  ^bb0(%out_0: i32):
    %b0 = linalg.index 1 : index
    %b1 = arith.index_cast %b0 : index to i32
    linalg.yield %b1 : i32
  } -> tensor<1x10xi32> loc(#loc0)
  %53 = tensor.collapse_shape %52 [[0, 1]] : tensor<1x10xi32> into tensor<10xi32>
  %54 = tensor.empty() : tensor<90x10xi1>
  %55 = linalg.generic {indexing_maps = [#map1, #map2, #map0], iterator_types = ["parallel", "parallel"]} ins(%y, %53 : tensor<90xi32>, tensor<10xi32>) outs(%54 : tensor<90x10xi1>) {
  ^bb0(%in_0: i32, %in_1: i32, %out_0: i1):
    %b0 = arith.cmpi eq, %in_0, %in_1 : i32
    linalg.yield %b0 : i1
  } -> tensor<90x10xi1> loc(#loc0)
  %56 = tensor.empty() : tensor<90x10xf32>
  %57 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%55 : tensor<90x10xi1>) outs(%56 : tensor<90x10xf32>) {
  ^bb0(%in_0: i1, %out_0: f32):
    %b0 = arith.uitofp %in_0 : i1 to f32
    linalg.yield %b0 : f32
  } -> tensor<90x10xf32> loc(#loc0)
  %58 = arith.constant 0.000000e+00 : f32
  %59 = tensor.pad %x low[0, 1, 1, 0] high[0, 1, 1, 0] {
  ^bb0(%pad_0: index, %pad_1: index, %pad_2: index, %pad_3: index):
    tensor.yield %58 : f32
  } : tensor<90x8x8x1xf32> to tensor<90x10x10x1xf32>
  %60 = arith.constant 0.000000e+00 : f32
  %61 = tensor.empty() : tensor<90x8x8x16xf32>
  %62 = linalg.fill ins(%60 : f32) outs(%61 : tensor<90x8x8x16xf32>) -> tensor<90x8x8x16xf32>
  %63 = linalg.generic {indexing_maps = [#map3, #map4, #map5], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%59, %conv1.w : tensor<90x10x10x1xf32>, tensor<3x3x1x16xf32>) outs(%62 : tensor<90x8x8x16xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    %b1 = arith.addf %out_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<90x8x8x16xf32> loc(#loc1)
  %64 = tensor.empty() : tensor<90x8x8x16xf32>
  %65 = linalg.generic {indexing_maps = [#map6, #map7, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%63, %conv1.b : tensor<90x8x8x16xf32>, tensor<16xf32>) outs(%64 : tensor<90x8x8x16xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<90x8x8x16xf32> loc(#loc2)
  %66 = tensor.empty() : tensor<90x8x8x16xf32>
  %67 = linalg.generic {indexing_maps = [#map6, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%65 : tensor<90x8x8x16xf32>) outs(%66 : tensor<90x8x8x16xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 0.000000e+00 : f32
    %b1 = arith.maximumf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<90x8x8x16xf32> loc(#loc3)
  %68 = arith.constant 0.000000e+00 : f32
  %69 = tensor.pad %67 low[0, 1, 1, 0] high[0, 1, 1, 0] {
  ^bb0(%pad_0: index, %pad_1: index, %pad_2: index, %pad_3: index):
    tensor.yield %68 : f32
  } : tensor<90x8x8x16xf32> to tensor<90x10x10x16xf32>
  %70 = arith.constant 0.000000e+00 : f32
  %71 = tensor.empty() : tensor<90x8x8x32xf32>
  %72 = linalg.fill ins(%70 : f32) outs(%71 : tensor<90x8x8x32xf32>) -> tensor<90x8x8x32xf32>
  %73 = linalg.generic {indexing_maps = [#map3, #map4, #map5], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%69, %conv2.w : tensor<90x10x10x16xf32>, tensor<3x3x16x32xf32>) outs(%72 : tensor<90x8x8x32xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    %b1 = arith.addf %out_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<90x8x8x32xf32> loc(#loc1)
  %74 = tensor.empty() : tensor<90x8x8x32xf32>
  %75 = linalg.generic {indexing_maps = [#map6, #map7, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%73, %conv2.b : tensor<90x8x8x32xf32>, tensor<32xf32>) outs(%74 : tensor<90x8x8x32xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<90x8x8x32xf32> loc(#loc2)
  %76 = tensor.empty() : tensor<90x8x8x32xf32>
  %77 = linalg.generic {indexing_maps = [#map6, #map6], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%75 : tensor<90x8x8x32xf32>) outs(%76 : tensor<90x8x8x32xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 0.000000e+00 : f32
    %b1 = arith.maximumf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<90x8x8x32xf32> loc(#loc3)
  %78 = arith.constant 0xFF800000 : f32
  %79 = tensor.empty() : tensor<90x4x4x32xf32>
  %80 = linalg.fill ins(%78 : f32) outs(%79 : tensor<90x4x4x32xf32>) -> tensor<90x4x4x32xf32>
  %81 = tensor.empty() : tensor<2x2xf32>
  %82 = linalg.generic {indexing_maps = [#map8, #map9, #map10], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction"]} ins(%77, %81 : tensor<90x8x8x32xf32>, tensor<2x2xf32>) outs(%80 : tensor<90x4x4x32xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.maximumf %out_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<90x4x4x32xf32> loc(#loc4)
  %83 = tensor.collapse_shape %82 [[0], [1, 2, 3]] : tensor<90x4x4x32xf32> into tensor<90x512xf32>
  %84 = arith.constant 0.000000e+00 : f32
  %85 = tensor.empty() : tensor<90x10xf32>
  %86 = linalg.fill ins(%84 : f32) outs(%85 : tensor<90x10xf32>) -> tensor<90x10xf32>
  %87 = linalg.matmul ins(%83, %dense.w : tensor<90x512xf32>, tensor<512x10xf32>) outs(%86 : tensor<90x10xf32>) -> tensor<90x10xf32> loc(#loc5)
  %88 = tensor.empty() : tensor<90x10xf32>
  %89 = linalg.generic {indexing_maps = [#map0, #map2, #map0], iterator_types = ["parallel", "parallel"]} ins(%87, %dense.b : tensor<90x10xf32>, tensor<10xf32>) outs(%88 : tensor<90x10xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.addf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<90x10xf32> loc(#loc5)
  %90 = arith.constant 0xFF800000 : f32
  %91 = tensor.empty() : tensor<90xf32>
  %92 = linalg.fill ins(%90 : f32) outs(%91 : tensor<90xf32>) -> tensor<90xf32>
  %93 = linalg.generic {indexing_maps = [#map0, #map1], iterator_types = ["parallel", "reduction"]} ins(%89 : tensor<90x10xf32>) outs(%92 : tensor<90xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.maximumf %out_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<90xf32> loc(#loc6)
  %94 = tensor.empty() : tensor<90xf32>
  %95 = linalg.generic {indexing_maps = [#map11, #map11], iterator_types = ["parallel"]} ins(%93 : tensor<90xf32>) outs(%94 : tensor<90xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 0xFF800000 : f32
    %b1 = arith.maximumf %b0, %in_0 : f32
    linalg.yield %b1 : f32
  } -> tensor<90xf32> loc(#loc6)
  %96 = tensor.empty() : tensor<90x10xf32>
  %97 = linalg.generic {indexing_maps = [#map0, #map1, #map0], iterator_types = ["parallel", "parallel"]} ins(%89, %95 : tensor<90x10xf32>, tensor<90xf32>) outs(%96 : tensor<90x10xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.subf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<90x10xf32> loc(#loc6)
  %98 = tensor.empty() : tensor<90x10xf32>
  %99 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%97 : tensor<90x10xf32>) outs(%98 : tensor<90x10xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = math.exp %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<90x10xf32> loc(#loc6)
  %100 = arith.constant 0.000000e+00 : f32
  %101 = tensor.empty() : tensor<90xf32>
  %102 = linalg.fill ins(%100 : f32) outs(%101 : tensor<90xf32>) -> tensor<90xf32>
  %103 = linalg.generic {indexing_maps = [#map0, #map1], iterator_types = ["parallel", "reduction"]} ins(%99 : tensor<90x10xf32>) outs(%102 : tensor<90xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.addf %out_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<90xf32> loc(#loc6)
  %104 = tensor.expand_shape %103 [[0, 1]] output_shape [90, 1] : tensor<90xf32> into tensor<90x1xf32>
  %105 = tensor.empty() : tensor<90x1xf32>
  %106 = linalg.generic {indexing_maps = [#map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%104 : tensor<90x1xf32>) outs(%105 : tensor<90x1xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = math.log %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<90x1xf32> loc(#loc6)
  %107 = tensor.collapse_shape %106 [[0, 1]] : tensor<90x1xf32> into tensor<90xf32>
  %108 = tensor.empty() : tensor<90x10xf32>
  %109 = linalg.generic {indexing_maps = [#map0, #map1, #map0], iterator_types = ["parallel", "parallel"]} ins(%97, %107 : tensor<90x10xf32>, tensor<90xf32>) outs(%108 : tensor<90x10xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.subf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<90x10xf32> loc(#loc6)
  %110 = tensor.empty() : tensor<90x10xf32>
  %111 = linalg.generic {indexing_maps = [#map0, #map0, #map0], iterator_types = ["parallel", "parallel"]} ins(%57, %109 : tensor<90x10xf32>, tensor<90x10xf32>) outs(%110 : tensor<90x10xf32>) {
  ^bb0(%in_0: f32, %in_1: f32, %out_0: f32):
    %b0 = arith.mulf %in_0, %in_1 : f32
    linalg.yield %b0 : f32
  } -> tensor<90x10xf32> loc(#loc0)
  %112 = arith.constant 0.000000e+00 : f32
  %113 = tensor.empty() : tensor<90xf32>
  %114 = linalg.fill ins(%112 : f32) outs(%113 : tensor<90xf32>) -> tensor<90xf32>
  %115 = linalg.generic {indexing_maps = [#map0, #map1], iterator_types = ["parallel", "reduction"]} ins(%111 : tensor<90x10xf32>) outs(%114 : tensor<90xf32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.addf %out_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<90xf32> loc(#loc7)
  %116 = arith.constant 0.000000e+00 : f32
  %117 = tensor.empty() : tensor<f32>
  %118 = linalg.fill ins(%116 : f32) outs(%117 : tensor<f32>) -> tensor<f32>
  %119 = linalg.generic {indexing_maps = [#map11, #map12], iterator_types = ["reduction"]} ins(%115 : tensor<90xf32>) outs(%118 : tensor<f32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.addf %out_0, %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<f32> loc(#loc7)
  %120 = tensor.empty() : tensor<f32>
  %121 = linalg.generic {indexing_maps = [#map13, #map13], iterator_types = []} ins(%119 : tensor<f32>) outs(%120 : tensor<f32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.constant 9.000000e+01 : f32
    %b1 = arith.divf %in_0, %b0 : f32
    linalg.yield %b1 : f32
  } -> tensor<f32> loc(#loc7)
  %122 = tensor.empty() : tensor<f32>
  %123 = linalg.generic {indexing_maps = [#map13, #map13], iterator_types = []} ins(%121 : tensor<f32>) outs(%122 : tensor<f32>) {
  ^bb0(%in_0: f32, %out_0: f32):
    %b0 = arith.negf %in_0 : f32
    linalg.yield %b0 : f32
  } -> tensor<f32> loc(#loc8)
  return %50, %123 : tensor<f32>, tensor<f32>
}
#loc0 = loc("examples/digits/digits.py":39:13)
#loc1 = loc("examples/digits/digits.py":28:8)
#loc2 = loc("examples/digits/digits.py":29:23)
#loc3 = loc("examples/digits/digits.py":29:11)
#loc4 = loc("examples/digits/digits.py":34:8)
#loc5 = loc("examples/digits/digits.py":35:11)
#loc6 = loc("examples/digits/digits.py":39:37)
#loc7 = loc("examples/digits/digits.py":40:12)
#loc8 = loc("examples/digits/digits.py":40:11)
#loc9 = loc("examples/digits/digits.py":44:19)
#loc10 = loc("examples/digits/digits.py":45:41)
#loc11 = loc("examples/digits/digits.py":46:43)
#loc12 = loc("examples/digits/digits.py":46:39)
#loc13 = loc("examples/digits/digits.py":51:12)
#loc14 = loc("examples/digits/digits.py":52:24)
