// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// internal error: the plan's memory does not hold the value of slot "p3" when it is wanted
// values: 15236484503793720951
// mode: nodes=1 devices=2 link=1000:50000 reduction=mean pipeline=cs-all-reduce-pipeline{reduction=mean schedule=p3 algorithm=ring assign-devices=true copies=in-line combine=false}
func.func @step(%p0: tensor<4x9xf32> {cs.param = "p0"},
    %p1: tensor<4x9xf32> {cs.param = "p1"},
    %p2: tensor<4x9xf32> {cs.param = "p2"},
    %p3: tensor<4x9xf32> {cs.param = "p3"},
    %p4: tensor<4x9xf32> {cs.param = "p4"},
    %s0: tensor<4x9xi1> {cs.state = "s0"},
    %x0: tensor<9x9xf32> {cs.batch = "x0"},
    %x1: tensor<9xi32> {cs.batch = "x1"},
    %x2: tensor<9x9xf32> {cs.batch = "x2"})
    -> (tensor<4x9xf32> {cs.updates = "p0"}, tensor<4x9xf32> {cs.updates = "p1"}, tensor<4x9xf32> {cs.updates = "p2"}, tensor<4x9xf32> {cs.updates = "p3"}, tensor<4x9xf32> {cs.updates = "p4"}, tensor<f32> {cs.metric = "m0"}, tensor<f32> {cs.metric = "m1"}, tensor<f32> {cs.metric = "m2"}) attributes {cs.step} {
  %v0 = arith.cmpf ogt, %x2, %x0 : tensor<9x9xf32>
  %v1 = arith.constant dense<0.000000e+00> : tensor<9x9xf32>
  %v2 = arith.select %v0, %x2, %v1 : tensor<9x9xi1>, tensor<9x9xf32>
  %v3 = arith.muli %x1, %x1 : tensor<9xi32>
  %v4 = tensor.empty() : tensor<4x9xf32>
  %v5 = linalg.max ins(%p4, %p2 : tensor<4x9xf32>, tensor<4x9xf32>) outs(%v4 : tensor<4x9xf32>) -> tensor<4x9xf32>
  %v6 = arith.constant 0.000000e+00 : f32
  %v7 = linalg.fill ins(%v6 : f32) outs(%v4 : tensor<4x9xf32>) -> tensor<4x9xf32>
  %v8 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d1, d0)>, affine_map<(d0, d1, d2) -> (d2, d0)>, affine_map<(d0, d1, d2) -> (d1, d2)>], iterator_types = ["reduction", "parallel", "parallel"]} ins(%p1, %x0 : tensor<4x9xf32>, tensor<9x9xf32>) outs(%v7 : tensor<4x9xf32>) {
  ^bb0(%v9: f32, %v10: f32, %v11: f32):
    %v12 = arith.mulf %v9, %v10 : f32
    %v13 = arith.addf %v11, %v12 : f32
    linalg.yield %v13 : f32
  } -> tensor<4x9xf32>
  %v14 = tensor.expand_shape %v3 [[0, 1]] output_shape [3, 3] : tensor<9xi32> into tensor<3x3xi32>
  %v15 = arith.constant 0.000000e+00 : f32
  %v16 = linalg.fill ins(%v15 : f32) outs(%v4 : tensor<4x9xf32>) -> tensor<4x9xf32>
  %v17 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d1, d0)>, affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d1, d2)>], iterator_types = ["reduction", "parallel", "parallel"]} ins(%v5, %v2 : tensor<4x9xf32>, tensor<9x9xf32>) outs(%v16 : tensor<4x9xf32>) {
  ^bb0(%v18: f32, %v19: f32, %v20: f32):
    %v21 = arith.mulf %v18, %v19 : f32
    %v22 = arith.addf %v20, %v21 : f32
    linalg.yield %v22 : f32
  } -> tensor<4x9xf32>
  %v23 = arith.constant dense<5.555556e-02> : tensor<4x9xf32>
  %v24 = arith.mulf %v17, %v23 : tensor<4x9xf32>
  %v25 = cs.gradient %p1 of "p0" : tensor<4x9xf32>
  %v26 = cs.gradient %v8 of "p1" : tensor<4x9xf32>
  %v27 = cs.gradient %p3 of "p2" : tensor<4x9xf32>
  %v28 = cs.gradient %v24 of "p3" : tensor<4x9xf32>
  %v29 = cs.gradient %v24 of "p4" : tensor<4x9xf32>
  %v30 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v27, %v28 : tensor<4x9xf32>, tensor<4x9xf32>) outs(%v16 : tensor<4x9xf32>) {
  ^bb0(%v31: f32, %v32: f32, %v33: f32):
    %v34 = arith.mulf %v31, %v32 : f32
    %v35 = arith.addf %v33, %v34 : f32
    linalg.yield %v35 : f32
  } -> tensor<4x9xf32>
  %v36 = arith.constant dense<1.875000e-01> : tensor<4x9xf32>
  %v37 = arith.mulf %v26, %v36 : tensor<4x9xf32>
  %v38 = arith.subf %p1, %v37 : tensor<4x9xf32>
  %v39 = arith.constant dense<2.500000e-01> : tensor<4x9xf32>
  %v40 = arith.mulf %v27, %v39 : tensor<4x9xf32>
  %v41 = arith.subf %p2, %v40 : tensor<4x9xf32>
  %v42 = arith.constant dense<3.750000e-01> : tensor<4x9xf32>
  %v43 = arith.mulf %v29, %v42 : tensor<4x9xf32>
  %v44 = arith.subf %p4, %v43 : tensor<4x9xf32>
  %v45 = tensor.empty() : tensor<f32>
  %v46 = arith.constant 0.000000e+00 : f32
  %v47 = linalg.fill ins(%v46 : f32) outs(%v45 : tensor<f32>) -> tensor<f32>
  %v48 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> ()>], iterator_types = ["reduction", "reduction"]} ins(%x2 : tensor<9x9xf32>) outs(%v47 : tensor<f32>) {
  ^bb0(%v49: f32, %v50: f32):
    %v51 = arith.addf %v49, %v50 : f32
    linalg.yield %v51 : f32
  } -> tensor<f32>
  %v52 = arith.constant dense<5.555556e-02> : tensor<f32>
  %v53 = arith.mulf %v48, %v52 : tensor<f32>
  %v54 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> ()>], iterator_types = ["reduction", "reduction"]} ins(%p3 : tensor<4x9xf32>) outs(%v47 : tensor<f32>) {
  ^bb0(%v55: f32, %v56: f32):
    %v57 = arith.addf %v55, %v56 : f32
    linalg.yield %v57 : f32
  } -> tensor<f32>
  %v58 = arith.constant dense<8.333333e-02> : tensor<f32>
  %v59 = arith.mulf %v54, %v58 : tensor<f32>
  %v60 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> ()>], iterator_types = ["reduction", "reduction"]} ins(%p1 : tensor<4x9xf32>) outs(%v47 : tensor<f32>) {
  ^bb0(%v61: f32, %v62: f32):
    %v63 = arith.addf %v61, %v62 : f32
    linalg.yield %v63 : f32
  } -> tensor<f32>
  %v64 = arith.constant dense<8.333333e-02> : tensor<f32>
  %v65 = arith.mulf %v60, %v64 : tensor<f32>
  return %v30, %v38, %v41, %v27, %v44, %v53, %v59, %v65 : tensor<4x9xf32>, tensor<4x9xf32>, tensor<4x9xf32>, tensor<4x9xf32>, tensor<4x9xf32>, tensor<f32>, tensor<f32>, tensor<f32>
}
