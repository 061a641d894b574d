// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// internal error: memory of operand 0 of linalg.generic is overwritten before it is read
// values: 2076629538035901250
// mode: nodes=3 devices=1 reduction=sum pipeline=cs-all-reduce-pipeline{reduction=sum algorithm=ring copies=overlap spread-sums=true}
func.func @step(%p0: tensor<9x9xf32> {cs.param = "p0"},
    %p1: tensor<9x9xf32> {cs.param = "p1"},
    %p2: tensor<9x9xf32> {cs.param = "p2"},
    %s0: tensor<9x9xf32> {cs.state = "s0"},
    %x0: tensor<9x9xf32> {cs.batch = "x0"},
    %x1: tensor<9x9xi32> {cs.batch = "x1"})
    -> (tensor<9x9xf32> {cs.updates = "p2"}, tensor<9x9xf32> {cs.updates = "p1"}, tensor<9x9xf32> {cs.updates = "s0"}, tensor<9x9xf32> {cs.updates = "p0"}) attributes {cs.step} {
  %v0 = tensor.extract_slice %x0[3, 0] [5, 1] [1, 1] : tensor<9x9xf32> to tensor<5x1xf32>
  %v1 = tensor.insert_slice %v0 into %p2[0, 4] [5, 1] [2, 1] : tensor<5x1xf32> into tensor<9x9xf32>
  %v2 = tensor.empty() : tensor<9x9xf32>
  %v3 = arith.constant 0.000000e+00 : f32
  %v4 = linalg.fill ins(%v3 : f32) outs(%v2 : tensor<9x9xf32>) -> tensor<9x9xf32>
  %v5 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d1, d2)>], iterator_types = ["reduction", "parallel", "parallel"]} ins(%p2, %x1 : tensor<9x9xf32>, tensor<9x9xi32>) outs(%v4 : tensor<9x9xf32>) {
  ^bb0(%v6: f32, %v7: i32, %v8: f32):
    %v9 = arith.constant 7 : i32
    %v10 = arith.andi %v7, %v9 : i32
    %v11 = arith.sitofp %v10 : i32 to f32
    %v12 = arith.mulf %v6, %v11 : f32
    %v13 = arith.addf %v8, %v12 : f32
    linalg.yield %v13 : f32
  } -> tensor<9x9xf32>
  %v14 = math.tanh %v5 : tensor<9x9xf32>
  %v15 = tensor.extract_slice %v14[0, 3] [5, 5] [2, 1] : tensor<9x9xf32> to tensor<5x5xf32>
  %v16 = tensor.collapse_shape %x0 [[0, 1]] : tensor<9x9xf32> into tensor<81xf32>
  %v17 = tensor.empty() : tensor<9x9xf32>
  %v18 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v1 : tensor<9x9xf32>) outs(%v17 : tensor<9x9xf32>) {
  ^bb0(%v19: f32, %v20: f32):
    %v21 = linalg.index 1 : index
    %v22 = arith.index_cast %v21 : index to i32
    %v23 = arith.constant 7 : i32
    %v24 = arith.andi %v22, %v23 : i32
    %v25 = arith.sitofp %v24 : i32 to f32
    %v26 = arith.mulf %v25, %v25 : f32
    %v27 = arith.mulf %v26, %v19 : f32
    linalg.yield %v27 : f32
  } -> tensor<9x9xf32>
  %v28 = tensor.empty() : tensor<5xf32>
  %v29 = arith.constant -1.000000e+04 : f32
  %v30 = linalg.fill ins(%v29 : f32) outs(%v28 : tensor<5xf32>) -> tensor<5xf32>
  %v31 = linalg.reduce { arith.maximumf } ins(%v15 : tensor<5x5xf32>) outs(%v30 : tensor<5xf32>) dimensions = [1]
  %v32 = tensor.empty() : tensor<5x5xf32>
  %v33 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v31 : tensor<5xf32>) outs(%v32 : tensor<5x5xf32>) {
  ^bb0(%v34: f32, %v35: f32):
    linalg.yield %v34 : f32
  } -> tensor<5x5xf32>
  %v36 = arith.subf %v15, %v33 : tensor<5x5xf32>
  %v37 = math.exp %v36 : tensor<5x5xf32>
  %v38 = tensor.empty() : tensor<5xf32>
  %v39 = arith.constant 0.000000e+00 : f32
  %v40 = linalg.fill ins(%v39 : f32) outs(%v38 : tensor<5xf32>) -> tensor<5xf32>
  %v41 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%v37 : tensor<5x5xf32>) outs(%v40 : tensor<5xf32>) {
  ^bb0(%v42: f32, %v43: f32):
    %v44 = arith.addf %v42, %v43 : f32
    linalg.yield %v44 : f32
  } -> tensor<5xf32>
  %v45 = linalg.broadcast ins(%v41 : tensor<5xf32>) outs(%v32 : tensor<5x5xf32>) dimensions = [1]
  %v46 = arith.divf %v37, %v45 : tensor<5x5xf32>
  %v47 = tensor.extract_slice %v16[27] [54] [1] : tensor<81xf32> to tensor<54xf32>
  %v48 = tensor.extract_slice %v46[0, 0] [5, 3] [1, 2] : tensor<5x5xf32> to tensor<5x3xf32>
  %v49 = math.sin %v48 : tensor<5x3xf32>
  %v50 = tensor.empty() : tensor<9x9xf32>
  %v51 = arith.constant 5.000000e-01 : f32
  %v52 = linalg.fill ins(%v51 : f32) outs(%v50 : tensor<9x9xf32>) -> tensor<9x9xf32>
  %v53 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d1, d0)>, affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d1, d2)>], iterator_types = ["reduction", "parallel", "parallel"]} ins(%v18, %v1 : tensor<9x9xf32>, tensor<9x9xf32>) outs(%v52 : tensor<9x9xf32>) {
  ^bb0(%v54: f32, %v55: f32, %v56: f32):
    %v57 = arith.mulf %v54, %v55 : f32
    %v58 = arith.addf %v56, %v57 : f32
    linalg.yield %v58 : f32
  } -> tensor<9x9xf32>
  %v59 = tensor.empty() : tensor<f32>
  %v60 = arith.constant -1.000000e+04 : f32
  %v61 = linalg.fill ins(%v60 : f32) outs(%v59 : tensor<f32>) -> tensor<f32>
  %v62 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> ()>], iterator_types = ["reduction", "reduction"]} ins(%v49 : tensor<5x3xf32>) outs(%v61 : tensor<f32>) {
  ^bb0(%v63: f32, %v64: f32):
    %v65 = arith.maximumf %v63, %v64 : f32
    linalg.yield %v65 : f32
  } -> tensor<f32>
  %v66 = tensor.empty() : tensor<9x9xf32>
  %v67 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> ()>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v62 : tensor<f32>) outs(%v66 : tensor<9x9xf32>) {
  ^bb0(%v68: f32, %v69: f32):
    linalg.yield %v68 : f32
  } -> tensor<9x9xf32>
  %v70 = arith.mulf %v67, %v18 : tensor<9x9xf32>
  %v71 = tensor.empty() : tensor<9x9xf32>
  %v72 = arith.constant 0.000000e+00 : f32
  %v73 = linalg.fill ins(%v72 : f32) outs(%v71 : tensor<9x9xf32>) -> tensor<9x9xf32>
  %v74 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d1, d0)>, affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d1, d2)>], iterator_types = ["reduction", "parallel", "parallel"]} ins(%v18, %v14 : tensor<9x9xf32>, tensor<9x9xf32>) outs(%v73 : tensor<9x9xf32>) {
  ^bb0(%v75: f32, %v76: f32, %v77: f32):
    %v78 = arith.mulf %v75, %v76 : f32
    %v79 = arith.addf %v77, %v78 : f32
    linalg.yield %v79 : f32
  } -> tensor<9x9xf32>
  %v80 = cs.gradient %v53 of "p0" : tensor<9x9xf32>
  %v81 = cs.gradient %v70 of "p1" : tensor<9x9xf32>
  %v82 = cs.gradient %v74 of "p2" : tensor<9x9xf32>
  %v83 = tensor.empty() : tensor<9x9xf32>
  %v84 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%p0, %v80 : tensor<9x9xf32>, tensor<9x9xf32>) outs(%v83 : tensor<9x9xf32>) {
  ^bb0(%v85: f32, %v86: f32, %v87: f32):
    %v88 = math.floor %v86 : f32
    %v89 = arith.mulf %v88, %v88 : f32
    %v90 = arith.constant 5.000000e-01 : f32
    %v91 = arith.addf %v89, %v90 : f32
    %v92 = math.rsqrt %v91 : f32
    %v93 = arith.addf %v88, %v86 : f32
    %v94 = math.tanh %v93 : f32
    linalg.yield %v94 : f32
  } -> tensor<9x9xf32>
  %v95 = arith.constant dense<2.500000e-01> : tensor<9x9xf32>
  %v96 = arith.mulf %v81, %v95 : tensor<9x9xf32>
  %v97 = arith.subf %p1, %v96 : tensor<9x9xf32>
  %v98 = arith.constant dense<5.000000e-01> : tensor<9x9xf32>
  %v99 = arith.mulf %s0, %v98 : tensor<9x9xf32>
  %v100 = arith.addf %v99, %v82 : tensor<9x9xf32>
  %v101 = arith.constant dense<2.500000e-01> : tensor<9x9xf32>
  %v102 = arith.mulf %v100, %v101 : tensor<9x9xf32>
  %v103 = arith.subf %p2, %v102 : tensor<9x9xf32>
  return %v103, %v97, %v100, %v84 : tensor<9x9xf32>, tensor<9x9xf32>, tensor<9x9xf32>, tensor<9x9xf32>
}
