// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// internal error: memory of operand 0 of linalg.generic (a reduction) is overwritten before it is read
// values: 977119198802395906
// mode: nodes=1 devices=1 reduction=sum pipeline=cs-all-reduce-pipeline{reduction=sum schedule=solver copies=overlap}
func.func @step(%p0: tensor<5xf32> {cs.param = "p0"},
    %x0: tensor<5x5x3xf32> {cs.batch = "x0"},
    %x1: tensor<5xf32> {cs.batch = "x1"},
    %x2: tensor<5x3xf32> {cs.batch = "x2"})
    -> (tensor<f32> {cs.metric = "m2"}, tensor<f32> {cs.metric = "m0"}, tensor<f32> {cs.metric = "m1"}, tensor<5xf32> {cs.updates = "p0"}) attributes {cs.step} {
  %v0 = tensor.expand_shape %x0 [[0], [1], [2, 3]] output_shape [5, 5, 1, 3] : tensor<5x5x3xf32> into tensor<5x5x1x3xf32>
  %v1 = tensor.empty() : tensor<5xf32>
  %v2 = arith.constant 0.000000e+00 : f32
  %v3 = linalg.fill ins(%v2 : f32) outs(%v1 : tensor<5xf32>) -> tensor<5xf32>
  %v4 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d2, d1, d0)>, affine_map<(d0, d1, d2) -> (d1, d0)>, affine_map<(d0, d1, d2) -> (d2)>], iterator_types = ["reduction", "reduction", "parallel"]} ins(%x0, %x2 : tensor<5x5x3xf32>, tensor<5x3xf32>) outs(%v3 : tensor<5xf32>) {
  ^bb0(%v5: f32, %v6: f32, %v7: f32):
    %v8 = arith.mulf %v5, %v6 : f32
    %v9 = arith.addf %v7, %v8 : f32
    linalg.yield %v9 : f32
  } -> tensor<5xf32>
  %v10 = tensor.empty() : tensor<5x5x3xf32>
  %v11 = tensor.empty() : tensor<5x5x3xf32>
  %v12 = arith.constant 0.000000e+00 : f32
  %v13 = linalg.fill ins(%v12 : f32) outs(%v11 : tensor<5x5x3xf32>) -> tensor<5x5x3xf32>
  %v14:2 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d1)>, affine_map<(d0, d1, d2) -> (d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x0, %p0, %v4 : tensor<5x5x3xf32>, tensor<5xf32>, tensor<5xf32>) outs(%v10, %v13 : tensor<5x5x3xf32>, tensor<5x5x3xf32>) {
  ^bb0(%v15: f32, %v16: f32, %v17: f32, %v18: f32, %v19: f32):
    %v20 = linalg.index 0 : index
    %v21 = arith.index_cast %v20 : index to i32
    %v22 = arith.constant 7 : i32
    %v23 = arith.andi %v21, %v22 : i32
    %v24 = arith.sitofp %v23 : i32 to f32
    %v25 = math.expm1 %v24 : f32
    %v26 = math.ceil %v15 : f32
    %v27 = arith.constant 7 : i32
    %v28 = arith.andi %v21, %v27 : i32
    %v29 = arith.sitofp %v28 : i32 to f32
    %v30 = math.copysign %v19, %v15 : f32
    %v31 = arith.addf %v16, %v30 : f32
    linalg.yield %v26, %v31 : f32, f32
  } -> (tensor<5x5x3xf32>, tensor<5x5x3xf32>)
  %v32 = tensor.empty() : tensor<5x5xf32>
  %v33 = arith.constant -1.000000e+04 : f32
  %v34 = linalg.fill ins(%v33 : f32) outs(%v32 : tensor<5x5xf32>) -> tensor<5x5xf32>
  %v35 = tensor.empty() : tensor<5x5xi32>
  %v36 = arith.constant 0 : i32
  %v37 = linalg.fill ins(%v36 : i32) outs(%v35 : tensor<5x5xi32>) -> tensor<5x5xi32>
  %v38:2 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%v14#1 : tensor<5x5x3xf32>) outs(%v34, %v37 : tensor<5x5xf32>, tensor<5x5xi32>) {
  ^bb0(%v39: f32, %v40: f32, %v41: i32):
    %v42 = linalg.index 2 : index
    %v43 = arith.index_cast %v42 : index to i32
    %v44 = arith.cmpf ogt, %v39, %v40 : f32
    %v45 = arith.select %v44, %v39, %v40 : f32
    %v46 = arith.select %v44, %v43, %v41 : i32
    linalg.yield %v45, %v46 : f32, i32
  } -> (tensor<5x5xf32>, tensor<5x5xi32>)
  %v47 = tensor.empty() : tensor<f32>
  %v48 = arith.constant 0.000000e+00 : f32
  %v49 = linalg.fill ins(%v48 : f32) outs(%v47 : tensor<f32>) -> tensor<f32>
  %v50 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>], iterator_types = ["reduction"]} ins(%x1, %v4 : tensor<5xf32>, tensor<5xf32>) outs(%v49 : tensor<f32>) {
  ^bb0(%v51: f32, %v52: f32, %v53: f32):
    %v54 = arith.mulf %v51, %v52 : f32
    %v55 = arith.addf %v53, %v54 : f32
    linalg.yield %v55 : f32
  } -> tensor<f32>
  %v56 = math.tanh %v50 : tensor<f32>
  %v57 = math.absf %v56 : tensor<f32>
  %v60 = arith.constant 0.000000e+00 : f32
  %v61 = tensor.pad %v38#0 low[2, 1] high[0, 2] {
  ^bb0(%v58: index, %v59: index):
    tensor.yield %v60 : f32
  } : tensor<5x5xf32> to tensor<7x8xf32>
  %v62 = tensor.empty() : tensor<5x2xf32>
  %v63 = linalg.broadcast ins(%p0 : tensor<5xf32>) outs(%v62 : tensor<5x2xf32>) dimensions = [1]
  %v64 = tensor.extract_slice %v61[2, 3] [3, 5] [1, 1] : tensor<7x8xf32> to tensor<3x5xf32>
  %v65 = tensor.insert_slice %v64 into %v38#0[2, 0] [3, 5] [1, 1] : tensor<3x5xf32> into tensor<5x5xf32>
  %v66 = tensor.concat dim(0) %v38#0, %v65, %v38#0 : (tensor<5x5xf32>, tensor<5x5xf32>, tensor<5x5xf32>) -> tensor<15x5xf32>
  %v67 = tensor.concat dim(0) %x1, %p0, %x1 : (tensor<5xf32>, tensor<5xf32>, tensor<5xf32>) -> tensor<15xf32>
  %v68 = tensor.empty() : tensor<f32>
  %v69 = arith.constant 0.000000e+00 : f32
  %v70 = linalg.fill ins(%v69 : f32) outs(%v68 : tensor<f32>) -> tensor<f32>
  %v71 = linalg.reduce { arith.addf } ins(%v67 : tensor<15xf32>) outs(%v70 : tensor<f32>) dimensions = [0]
  %v72 = tensor.empty() : tensor<5xf32>
  %v73 = linalg.broadcast ins(%v71 : tensor<f32>) outs(%v72 : tensor<5xf32>) dimensions = [0]
  %v74 = arith.mulf %v73, %x1 : tensor<5xf32>
  %v75 = cs.gradient %v74 of "p0" : tensor<5xf32>
  %v76 = arith.constant dense<4.375000e-01> : tensor<5xf32>
  %v77 = arith.mulf %v75, %v76 : tensor<5xf32>
  %v78 = arith.subf %p0, %v77 : tensor<5xf32>
  %v79 = arith.constant 5.000000e-01 : f32
  %v80 = linalg.fill ins(%v79 : f32) outs(%v68 : tensor<f32>) -> tensor<f32>
  %v81 = linalg.reduce { arith.addf } ins(%v66 : tensor<15x5xf32>) outs(%v80 : tensor<f32>) dimensions = [0, 1]
  %v82 = arith.constant dense<5.611512e-02> : tensor<f32>
  %v83 = arith.mulf %v81, %v82 : tensor<f32>
  return %v56, %v56, %v83, %v78 : tensor<f32>, tensor<f32>, tensor<f32>, tensor<5xf32>
}
