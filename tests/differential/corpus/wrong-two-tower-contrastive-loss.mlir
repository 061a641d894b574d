// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A contrastive loss of two towers, as JAX writes it with its gradients: the gradient of "c"
// was that of another tensor, which lay in the same memory.
// values: 5
// mode: nodes=1 devices=1 reduction=mean pipeline=cs-all-reduce-pipeline{}
// mode: nodes=2 devices=1 reduction=mean pipeline=cs-parameter-server-pipeline{servers=2 min-block-elements=16}
#map = affine_map<(d0, d1) -> (d0, d1)>
#map1 = affine_map<(d0, d1, d2) -> (d0, d2)>
#map2 = affine_map<(d0, d1, d2) -> (d2, d1)>
#map3 = affine_map<(d0, d1, d2) -> (d1, d0)>
#map4 = affine_map<(d0, d1) -> (d0)>
#map5 = affine_map<(d0) -> (d0)>
#map6 = affine_map<(d0) -> ()>
#map7 = affine_map<() -> ()>
#map8 = affine_map<(d0, d1, d2) -> (d1, d2)>
#map9 = affine_map<(d0, d1, d2) -> (d0, d1)>
#map10 = affine_map<(d0, d1, d2) -> (d2, d0)>
func.func @step(%arg0: tensor<16x16xf32> {cs.param = "a"}, %arg1: tensor<16x16xf32> {cs.param = "b"}, %arg2: tensor<16x16xf32> {cs.param = "c"}, %arg3: tensor<16x16xf32> {cs.param = "d"}, %arg4: tensor<8x2x16xf32> {cs.batch = "x"}) -> (tensor<16x16xf32> {cs.updates = "a"}, tensor<16x16xf32> {cs.updates = "b"}, tensor<16x16xf32> {cs.updates = "c"}, tensor<16x16xf32> {cs.updates = "d"}, tensor<f32> {cs.metric = "loss"}) attributes {cs.step} {
  %extracted_slice = tensor.extract_slice %arg4[0, 0, 0] [8, 1, 16] [1, 1, 1] : tensor<8x2x16xf32> to tensor<8x1x16xf32>
  %collapsed = tensor.collapse_shape %extracted_slice [[0], [1, 2]] : tensor<8x1x16xf32> into tensor<8x16xf32>
  %cst = arith.constant 0.000000e+00 : f32
  %0 = tensor.empty() : tensor<8x16xf32>
  %1 = linalg.fill ins(%cst : f32) outs(%0 : tensor<8x16xf32>) -> tensor<8x16xf32>
  %2 = linalg.matmul ins(%collapsed, %arg0 : tensor<8x16xf32>, tensor<16x16xf32>) outs(%1 : tensor<8x16xf32>) -> tensor<8x16xf32>
  %3 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%2 : tensor<8x16xf32>) outs(%0 : tensor<8x16xf32>) {
  ^bb0(%in: f32, %out: f32):
    %69 = math.tanh %in : f32
    linalg.yield %69 : f32
  } -> tensor<8x16xf32>
  %4 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%3 : tensor<8x16xf32>) outs(%0 : tensor<8x16xf32>) {
  ^bb0(%in: f32, %out: f32):
    %cst_3 = arith.constant 1.000000e+00 : f32
    %69 = arith.subf %cst_3, %in : f32
    linalg.yield %69 : f32
  } -> tensor<8x16xf32>
  %5 = linalg.matmul ins(%3, %arg1 : tensor<8x16xf32>, tensor<16x16xf32>) outs(%1 : tensor<8x16xf32>) -> tensor<8x16xf32>
  %extracted_slice_0 = tensor.extract_slice %arg4[0, 1, 0] [8, 1, 16] [1, 1, 1] : tensor<8x2x16xf32> to tensor<8x1x16xf32>
  %collapsed_1 = tensor.collapse_shape %extracted_slice_0 [[0], [1, 2]] : tensor<8x1x16xf32> into tensor<8x16xf32>
  %6 = linalg.matmul ins(%collapsed_1, %arg2 : tensor<8x16xf32>, tensor<16x16xf32>) outs(%1 : tensor<8x16xf32>) -> tensor<8x16xf32>
  %7 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%6 : tensor<8x16xf32>) outs(%0 : tensor<8x16xf32>) {
  ^bb0(%in: f32, %out: f32):
    %69 = math.tanh %in : f32
    linalg.yield %69 : f32
  } -> tensor<8x16xf32>
  %8 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%7 : tensor<8x16xf32>) outs(%0 : tensor<8x16xf32>) {
  ^bb0(%in: f32, %out: f32):
    %cst_3 = arith.constant 1.000000e+00 : f32
    %69 = arith.subf %cst_3, %in : f32
    linalg.yield %69 : f32
  } -> tensor<8x16xf32>
  %9 = tensor.empty() : tensor<16x8xf32>
  %10 = linalg.fill ins(%cst : f32) outs(%9 : tensor<16x8xf32>) -> tensor<16x8xf32>
  %11 = linalg.generic {indexing_maps = [#map1, #map2, #map3], iterator_types = ["parallel", "parallel", "reduction"]} ins(%7, %arg3 : tensor<8x16xf32>, tensor<16x16xf32>) outs(%10 : tensor<16x8xf32>) {
  ^bb0(%in: f32, %in_3: f32, %out: f32):
    %69 = arith.mulf %in, %in_3 : f32
    %70 = arith.addf %out, %69 : f32
    linalg.yield %70 : f32
  } -> tensor<16x8xf32>
  %12 = tensor.empty() : tensor<8x8xf32>
  %13 = linalg.fill ins(%cst : f32) outs(%12 : tensor<8x8xf32>) -> tensor<8x8xf32>
  %14 = linalg.matmul ins(%5, %11 : tensor<8x16xf32>, tensor<16x8xf32>) outs(%13 : tensor<8x8xf32>) -> tensor<8x8xf32>
  %cst_2 = arith.constant 0xFF800000 : f32
  %15 = tensor.empty() : tensor<8xf32>
  %16 = linalg.fill ins(%cst_2 : f32) outs(%15 : tensor<8xf32>) -> tensor<8xf32>
  %17 = linalg.generic {indexing_maps = [#map, #map4], iterator_types = ["parallel", "reduction"]} ins(%14 : tensor<8x8xf32>) outs(%16 : tensor<8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %69 = arith.maximumf %out, %in : f32
    linalg.yield %69 : f32
  } -> tensor<8xf32>
  %18 = linalg.generic {indexing_maps = [#map5, #map5], iterator_types = ["parallel"]} ins(%17 : tensor<8xf32>) outs(%15 : tensor<8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %69 = arith.maximumf %cst_2, %in : f32
    linalg.yield %69 : f32
  } -> tensor<8xf32>
  %19 = tensor.empty() : tensor<8xi1>
  %20 = linalg.generic {indexing_maps = [#map5, #map5], iterator_types = ["parallel"]} ins(%18 : tensor<8xf32>) outs(%19 : tensor<8xi1>) {
  ^bb0(%in: f32, %out: i1):
    %69 = math.absf %in : f32
    %cst_3 = arith.constant 0x7F800000 : f32
    %70 = arith.cmpf olt, %69, %cst_3 : f32
    linalg.yield %70 : i1
  } -> tensor<8xi1>
  %21 = linalg.generic {indexing_maps = [#map5, #map5, #map5], iterator_types = ["parallel"]} ins(%20, %18 : tensor<8xi1>, tensor<8xf32>) outs(%15 : tensor<8xf32>) {
  ^bb0(%in: i1, %in_3: f32, %out: f32):
    %69 = arith.select %in, %in_3, %cst : f32
    linalg.yield %69 : f32
  } -> tensor<8xf32>
  %22 = linalg.generic {indexing_maps = [#map, #map4, #map], iterator_types = ["parallel", "parallel"]} ins(%14, %21 : tensor<8x8xf32>, tensor<8xf32>) outs(%12 : tensor<8x8xf32>) {
  ^bb0(%in: f32, %in_3: f32, %out: f32):
    %69 = arith.subf %in, %in_3 : f32
    linalg.yield %69 : f32
  } -> tensor<8x8xf32>
  %23 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%22 : tensor<8x8xf32>) outs(%12 : tensor<8x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %69 = math.exp %in : f32
    linalg.yield %69 : f32
  } -> tensor<8x8xf32>
  %24 = linalg.fill ins(%cst : f32) outs(%15 : tensor<8xf32>) -> tensor<8xf32>
  %25 = linalg.generic {indexing_maps = [#map, #map4], iterator_types = ["parallel", "reduction"]} ins(%23 : tensor<8x8xf32>) outs(%24 : tensor<8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %69 = arith.addf %out, %in : f32
    linalg.yield %69 : f32
  } -> tensor<8xf32>
  %26 = linalg.generic {indexing_maps = [#map5, #map5], iterator_types = ["parallel"]} ins(%25 : tensor<8xf32>) outs(%15 : tensor<8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %69 = math.absf %in : f32
    linalg.yield %69 : f32
  } -> tensor<8xf32>
  %27 = linalg.generic {indexing_maps = [#map5, #map5], iterator_types = ["parallel"]} ins(%25 : tensor<8xf32>) outs(%19 : tensor<8xi1>) {
  ^bb0(%in: f32, %out: i1):
    %69 = arith.cmpf oge, %in, %cst : f32
    linalg.yield %69 : i1
  } -> tensor<8xi1>
  %28 = linalg.generic {indexing_maps = [#map5, #map5], iterator_types = ["parallel"]} ins(%26 : tensor<8xf32>) outs(%15 : tensor<8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %69 = math.log %in : f32
    linalg.yield %69 : f32
  } -> tensor<8xf32>
  %29 = linalg.generic {indexing_maps = [#map5, #map5, #map5], iterator_types = ["parallel"]} ins(%28, %21 : tensor<8xf32>, tensor<8xf32>) outs(%15 : tensor<8xf32>) {
  ^bb0(%in: f32, %in_3: f32, %out: f32):
    %69 = arith.addf %in, %in_3 : f32
    linalg.yield %69 : f32
  } -> tensor<8xf32>
  %30 = tensor.empty() : tensor<f32>
  %31 = linalg.fill ins(%cst : f32) outs(%30 : tensor<f32>) -> tensor<f32>
  %32 = linalg.generic {indexing_maps = [#map5, #map6], iterator_types = ["reduction"]} ins(%29 : tensor<8xf32>) outs(%31 : tensor<f32>) {
  ^bb0(%in: f32, %out: f32):
    %69 = arith.addf %out, %in : f32
    linalg.yield %69 : f32
  } -> tensor<f32>
  %33 = linalg.generic {indexing_maps = [#map7, #map7], iterator_types = []} ins(%32 : tensor<f32>) outs(%30 : tensor<f32>) {
  ^bb0(%in: f32, %out: f32):
    %cst_3 = arith.constant 8.000000e+00 : f32
    %69 = arith.divf %in, %cst_3 : f32
    linalg.yield %69 : f32
  } -> tensor<f32>
  %34 = linalg.generic {indexing_maps = [#map7], iterator_types = []} outs(%30 : tensor<f32>) {
  ^bb0(%out: f32):
    %cst_3 = arith.constant 1.000000e+00 : f32
    %cst_4 = arith.constant 8.000000e+00 : f32
    %69 = arith.divf %cst_3, %cst_4 : f32
    linalg.yield %69 : f32
  } -> tensor<f32>
  %35 = linalg.generic {indexing_maps = [#map6, #map5, #map5], iterator_types = ["parallel"]} ins(%34, %26 : tensor<f32>, tensor<8xf32>) outs(%15 : tensor<8xf32>) {
  ^bb0(%in: f32, %in_3: f32, %out: f32):
    %69 = arith.divf %in, %in_3 : f32
    linalg.yield %69 : f32
  } -> tensor<8xf32>
  %36 = linalg.generic {indexing_maps = [#map5, #map5, #map5], iterator_types = ["parallel"]} ins(%27, %35 : tensor<8xi1>, tensor<8xf32>) outs(%15 : tensor<8xf32>) {
  ^bb0(%in: i1, %in_3: f32, %out: f32):
    %69 = arith.select %in, %cst, %in_3 : f32
    linalg.yield %69 : f32
  } -> tensor<8xf32>
  %37 = linalg.generic {indexing_maps = [#map5, #map5, #map5], iterator_types = ["parallel"]} ins(%27, %35 : tensor<8xi1>, tensor<8xf32>) outs(%15 : tensor<8xf32>) {
  ^bb0(%in: i1, %in_3: f32, %out: f32):
    %69 = arith.select %in, %in_3, %cst : f32
    linalg.yield %69 : f32
  } -> tensor<8xf32>
  %38 = linalg.generic {indexing_maps = [#map5, #map5], iterator_types = ["parallel"]} ins(%36 : tensor<8xf32>) outs(%15 : tensor<8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %69 = arith.negf %in : f32
    linalg.yield %69 : f32
  } -> tensor<8xf32>
  %39 = linalg.generic {indexing_maps = [#map5, #map5, #map5], iterator_types = ["parallel"]} ins(%37, %38 : tensor<8xf32>, tensor<8xf32>) outs(%15 : tensor<8xf32>) {
  ^bb0(%in: f32, %in_3: f32, %out: f32):
    %69 = arith.addf %in, %in_3 : f32
    linalg.yield %69 : f32
  } -> tensor<8xf32>
  %40 = linalg.generic {indexing_maps = [#map4, #map, #map], iterator_types = ["parallel", "parallel"]} ins(%39, %23 : tensor<8xf32>, tensor<8x8xf32>) outs(%12 : tensor<8x8xf32>) {
  ^bb0(%in: f32, %in_3: f32, %out: f32):
    %69 = arith.mulf %in, %in_3 : f32
    linalg.yield %69 : f32
  } -> tensor<8x8xf32>
  %41 = linalg.generic {indexing_maps = [#map1, #map8, #map9], iterator_types = ["parallel", "parallel", "reduction"]} ins(%40, %11 : tensor<8x8xf32>, tensor<16x8xf32>) outs(%1 : tensor<8x16xf32>) {
  ^bb0(%in: f32, %in_3: f32, %out: f32):
    %69 = arith.mulf %in, %in_3 : f32
    %70 = arith.addf %out, %69 : f32
    linalg.yield %70 : f32
  } -> tensor<8x16xf32>
  %42 = linalg.generic {indexing_maps = [#map10, #map2, #map9], iterator_types = ["parallel", "parallel", "reduction"]} ins(%40, %5 : tensor<8x8xf32>, tensor<8x16xf32>) outs(%1 : tensor<8x16xf32>) {
  ^bb0(%in: f32, %in_3: f32, %out: f32):
    %69 = arith.mulf %in, %in_3 : f32
    %70 = arith.addf %out, %69 : f32
    linalg.yield %70 : f32
  } -> tensor<8x16xf32>
  %43 = tensor.empty() : tensor<16x16xf32>
  %44 = linalg.fill ins(%cst : f32) outs(%43 : tensor<16x16xf32>) -> tensor<16x16xf32>
  %45 = linalg.generic {indexing_maps = [#map10, #map2, #map3], iterator_types = ["parallel", "parallel", "reduction"]} ins(%42, %7 : tensor<8x16xf32>, tensor<8x16xf32>) outs(%44 : tensor<16x16xf32>) {
  ^bb0(%in: f32, %in_3: f32, %out: f32):
    %69 = arith.mulf %in, %in_3 : f32
    %70 = arith.addf %out, %69 : f32
    linalg.yield %70 : f32
  } -> tensor<16x16xf32>
  %46 = linalg.generic {indexing_maps = [#map1, #map8, #map9], iterator_types = ["parallel", "parallel", "reduction"]} ins(%42, %arg3 : tensor<8x16xf32>, tensor<16x16xf32>) outs(%1 : tensor<8x16xf32>) {
  ^bb0(%in: f32, %in_3: f32, %out: f32):
    %69 = arith.mulf %in, %in_3 : f32
    %70 = arith.addf %out, %69 : f32
    linalg.yield %70 : f32
  } -> tensor<8x16xf32>
  %47 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel", "parallel"]} ins(%46, %8 : tensor<8x16xf32>, tensor<8x16xf32>) outs(%0 : tensor<8x16xf32>) {
  ^bb0(%in: f32, %in_3: f32, %out: f32):
    %69 = arith.mulf %in, %in_3 : f32
    linalg.yield %69 : f32
  } -> tensor<8x16xf32>
  %48 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel", "parallel"]} ins(%47, %7 : tensor<8x16xf32>, tensor<8x16xf32>) outs(%0 : tensor<8x16xf32>) {
  ^bb0(%in: f32, %in_3: f32, %out: f32):
    %69 = arith.mulf %in, %in_3 : f32
    linalg.yield %69 : f32
  } -> tensor<8x16xf32>
  %49 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel", "parallel"]} ins(%47, %48 : tensor<8x16xf32>, tensor<8x16xf32>) outs(%0 : tensor<8x16xf32>) {
  ^bb0(%in: f32, %in_3: f32, %out: f32):
    %69 = arith.addf %in, %in_3 : f32
    linalg.yield %69 : f32
  } -> tensor<8x16xf32>
  %50 = linalg.generic {indexing_maps = [#map10, #map2, #map3], iterator_types = ["parallel", "parallel", "reduction"]} ins(%49, %collapsed_1 : tensor<8x16xf32>, tensor<8x16xf32>) outs(%44 : tensor<16x16xf32>) {
  ^bb0(%in: f32, %in_3: f32, %out: f32):
    %69 = arith.mulf %in, %in_3 : f32
    %70 = arith.addf %out, %69 : f32
    linalg.yield %70 : f32
  } -> tensor<16x16xf32>
  %51 = linalg.generic {indexing_maps = [#map10, #map2, #map3], iterator_types = ["parallel", "parallel", "reduction"]} ins(%41, %3 : tensor<8x16xf32>, tensor<8x16xf32>) outs(%44 : tensor<16x16xf32>) {
  ^bb0(%in: f32, %in_3: f32, %out: f32):
    %69 = arith.mulf %in, %in_3 : f32
    %70 = arith.addf %out, %69 : f32
    linalg.yield %70 : f32
  } -> tensor<16x16xf32>
  %52 = linalg.generic {indexing_maps = [#map1, #map8, #map9], iterator_types = ["parallel", "parallel", "reduction"]} ins(%41, %arg1 : tensor<8x16xf32>, tensor<16x16xf32>) outs(%1 : tensor<8x16xf32>) {
  ^bb0(%in: f32, %in_3: f32, %out: f32):
    %69 = arith.mulf %in, %in_3 : f32
    %70 = arith.addf %out, %69 : f32
    linalg.yield %70 : f32
  } -> tensor<8x16xf32>
  %53 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel", "parallel"]} ins(%52, %4 : tensor<8x16xf32>, tensor<8x16xf32>) outs(%0 : tensor<8x16xf32>) {
  ^bb0(%in: f32, %in_3: f32, %out: f32):
    %69 = arith.mulf %in, %in_3 : f32
    linalg.yield %69 : f32
  } -> tensor<8x16xf32>
  %54 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel", "parallel"]} ins(%53, %3 : tensor<8x16xf32>, tensor<8x16xf32>) outs(%0 : tensor<8x16xf32>) {
  ^bb0(%in: f32, %in_3: f32, %out: f32):
    %69 = arith.mulf %in, %in_3 : f32
    linalg.yield %69 : f32
  } -> tensor<8x16xf32>
  %55 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel", "parallel"]} ins(%53, %54 : tensor<8x16xf32>, tensor<8x16xf32>) outs(%0 : tensor<8x16xf32>) {
  ^bb0(%in: f32, %in_3: f32, %out: f32):
    %69 = arith.addf %in, %in_3 : f32
    linalg.yield %69 : f32
  } -> tensor<8x16xf32>
  %56 = linalg.generic {indexing_maps = [#map10, #map2, #map3], iterator_types = ["parallel", "parallel", "reduction"]} ins(%55, %collapsed : tensor<8x16xf32>, tensor<8x16xf32>) outs(%44 : tensor<16x16xf32>) {
  ^bb0(%in: f32, %in_3: f32, %out: f32):
    %69 = arith.mulf %in, %in_3 : f32
    %70 = arith.addf %out, %69 : f32
    linalg.yield %70 : f32
  } -> tensor<16x16xf32>
  %57 = cs.gradient %56 of "a" : tensor<16x16xf32>
  %58 = cs.gradient %51 of "b" : tensor<16x16xf32>
  %59 = cs.gradient %50 of "c" : tensor<16x16xf32>
  %60 = cs.gradient %45 of "d" : tensor<16x16xf32>
  %61 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%57 : tensor<16x16xf32>) outs(%43 : tensor<16x16xf32>) {
  ^bb0(%in: f32, %out: f32):
    %cst_3 = arith.constant 1.000000e-01 : f32
    %69 = arith.mulf %cst_3, %in : f32
    linalg.yield %69 : f32
  } -> tensor<16x16xf32>
  %62 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel", "parallel"]} ins(%arg0, %61 : tensor<16x16xf32>, tensor<16x16xf32>) outs(%43 : tensor<16x16xf32>) {
  ^bb0(%in: f32, %in_3: f32, %out: f32):
    %69 = arith.subf %in, %in_3 : f32
    linalg.yield %69 : f32
  } -> tensor<16x16xf32>
  %63 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%58 : tensor<16x16xf32>) outs(%43 : tensor<16x16xf32>) {
  ^bb0(%in: f32, %out: f32):
    %cst_3 = arith.constant 1.000000e-01 : f32
    %69 = arith.mulf %cst_3, %in : f32
    linalg.yield %69 : f32
  } -> tensor<16x16xf32>
  %64 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel", "parallel"]} ins(%arg1, %63 : tensor<16x16xf32>, tensor<16x16xf32>) outs(%43 : tensor<16x16xf32>) {
  ^bb0(%in: f32, %in_3: f32, %out: f32):
    %69 = arith.subf %in, %in_3 : f32
    linalg.yield %69 : f32
  } -> tensor<16x16xf32>
  %65 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%59 : tensor<16x16xf32>) outs(%43 : tensor<16x16xf32>) {
  ^bb0(%in: f32, %out: f32):
    %cst_3 = arith.constant 1.000000e-01 : f32
    %69 = arith.mulf %cst_3, %in : f32
    linalg.yield %69 : f32
  } -> tensor<16x16xf32>
  %66 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel", "parallel"]} ins(%arg2, %65 : tensor<16x16xf32>, tensor<16x16xf32>) outs(%43 : tensor<16x16xf32>) {
  ^bb0(%in: f32, %in_3: f32, %out: f32):
    %69 = arith.subf %in, %in_3 : f32
    linalg.yield %69 : f32
  } -> tensor<16x16xf32>
  %67 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%60 : tensor<16x16xf32>) outs(%43 : tensor<16x16xf32>) {
  ^bb0(%in: f32, %out: f32):
    %cst_3 = arith.constant 1.000000e-01 : f32
    %69 = arith.mulf %cst_3, %in : f32
    linalg.yield %69 : f32
  } -> tensor<16x16xf32>
  %68 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel", "parallel"]} ins(%arg3, %67 : tensor<16x16xf32>, tensor<16x16xf32>) outs(%43 : tensor<16x16xf32>) {
  ^bb0(%in: f32, %in_3: f32, %out: f32):
    %69 = arith.subf %in, %in_3 : f32
    linalg.yield %69 : f32
  } -> tensor<16x16xf32>
  return %62, %64, %66, %68, %33 : tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>, tensor<f32>
}
