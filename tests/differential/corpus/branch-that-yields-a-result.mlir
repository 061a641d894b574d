// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// internal error: what this does to memory is not known to the check of memory
// values: 17774592422415892260
// mode: nodes=2 devices=1 reduction=mean pipeline=cs-all-reduce-pipeline{reduction=mean schedule=tictac algorithm=halving-doubling}
func.func @step(%p0: tensor<f32> {cs.param = "p0"},
    %p1: tensor<f64> {cs.param = "p1"},
    %s0: tensor<70x70x9xf32> {cs.state = "s0"},
    %s1: tensor<f32> {cs.state = "s1"},
    %x0: tensor<70x9xf32> {cs.batch = "x0"})
    -> (tensor<f32> {cs.metric = "m0"}, tensor<f64> {cs.updates = "p1"}, tensor<f32> {cs.updates = "p0"}) attributes {cs.step} {
  %v0 = tensor.empty() : tensor<70xf32>
  %v1 = arith.constant 0.000000e+00 : f32
  %v2 = linalg.fill ins(%v1 : f32) outs(%v0 : tensor<70xf32>) -> tensor<70xf32>
  %v3 = linalg.reduce { arith.addf } ins(%x0 : tensor<70x9xf32>) outs(%v2 : tensor<70xf32>) dimensions = [1]
  %v4 = tensor.empty() : tensor<70x4x4x3xf32>
  %v5 = linalg.broadcast ins(%v3 : tensor<70xf32>) outs(%v4 : tensor<70x4x4x3xf32>) dimensions = [1, 2, 3]
  %v6 = tensor.empty() : tensor<f32>
  %v7 = arith.constant 0.000000e+00 : f32
  %v8 = linalg.fill ins(%v7 : f32) outs(%v6 : tensor<f32>) -> tensor<f32>
  %v9 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> ()>], iterator_types = ["reduction", "reduction"]} ins(%x0 : tensor<70x9xf32>) outs(%v8 : tensor<f32>) {
  ^bb0(%v10: f32, %v11: f32):
    %v12 = arith.addf %v10, %v11 : f32
    linalg.yield %v12 : f32
  } -> tensor<f32>
  %v13 = arith.constant dense<1.992048e-02> : tensor<f32>
  %v14 = arith.mulf %v9, %v13 : tensor<f32>
  %v15 = tensor.empty() : tensor<3x2x3x2xf32>
  %v16 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> ()>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%v14 : tensor<f32>) outs(%v15 : tensor<3x2x3x2xf32>) {
  ^bb0(%v17: f32, %v18: f32):
    linalg.yield %v17 : f32
  } -> tensor<3x2x3x2xf32>
  %v19 = tensor.empty() : tensor<70x2x2x2xf32>
  %v20 = arith.constant 0.000000e+00 : f32
  %v21 = linalg.fill ins(%v20 : f32) outs(%v19 : tensor<70x2x2x2xf32>) -> tensor<70x2x2x2xf32>
  %v22 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1 * 1 + d4, d2 * 2 + d5, d6)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d4, d5, d6, d3)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%v5, %v16 : tensor<70x4x4x3xf32>, tensor<3x2x3x2xf32>) outs(%v21 : tensor<70x2x2x2xf32>) {
  ^bb0(%v23: f32, %v24: f32, %v25: f32):
    %v26 = arith.mulf %v23, %v24 : f32
    %v27 = arith.addf %v25, %v26 : f32
    linalg.yield %v27 : f32
  } -> tensor<70x2x2x2xf32>
  %v28 = math.tanh %v22 : tensor<70x2x2x2xf32>
  %v29 = tensor.empty() : tensor<70xf32>
  %v30 = arith.constant -1.000000e+04 : f32
  %v31 = linalg.fill ins(%v30 : f32) outs(%v29 : tensor<70xf32>) -> tensor<70xf32>
  %v32 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%x0 : tensor<70x9xf32>) outs(%v31 : tensor<70xf32>) {
  ^bb0(%v33: f32, %v34: f32):
    %v35 = arith.maximumf %v33, %v34 : f32
    linalg.yield %v35 : f32
  } -> tensor<70xf32>
  %v36 = tensor.empty() : tensor<70x9xf32>
  %v37 = linalg.broadcast ins(%v32 : tensor<70xf32>) outs(%v36 : tensor<70x9xf32>) dimensions = [1]
  %v38 = arith.subf %x0, %v37 : tensor<70x9xf32>
  %v39 = math.exp %v38 : tensor<70x9xf32>
  %v40 = tensor.empty() : tensor<70xf32>
  %v41 = arith.constant 0.000000e+00 : f32
  %v42 = linalg.fill ins(%v41 : f32) outs(%v40 : tensor<70xf32>) -> tensor<70xf32>
  %v43 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%v39 : tensor<70x9xf32>) outs(%v42 : tensor<70xf32>) {
  ^bb0(%v44: f32, %v45: f32):
    %v46 = arith.addf %v44, %v45 : f32
    linalg.yield %v46 : f32
  } -> tensor<70xf32>
  %v47 = math.log %v43 : tensor<70xf32>
  %v48 = arith.addf %v47, %v32 : tensor<70xf32>
  %v49 = linalg.broadcast ins(%v43 : tensor<70xf32>) outs(%v36 : tensor<70x9xf32>) dimensions = [1]
  %v50 = arith.divf %v39, %v49 : tensor<70x9xf32>
  %v51 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> ()>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d3, d2)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%v28, %s1 : tensor<70x2x2x2xf32>, tensor<f32>) outs(%v19 : tensor<70x2x2x2xf32>) {
  ^bb0(%v52: f32, %v53: f32, %v54: f32):
    %v55 = arith.addf %v53, %v53 : f32
    %v56 = math.expm1 %v55 : f32
    linalg.yield %v56 : f32
  } -> tensor<70x2x2x2xf32>
  %v57 = arith.constant 40 : index
  %v58 = arith.constant 0 : index
  %v59 = arith.constant 1 : index
  %v60 = arith.constant 1 : index
  %v61 = tensor.extract %v51[%v57, %v58, %v59, %v60] : tensor<70x2x2x2xf32>
  %v62 = arith.constant 2.500000e-01 : f32
  %v63 = arith.cmpf ogt, %v61, %v62 : f32
  %v64:2 = scf.if %v63 -> (tensor<f64>, tensor<f64>) {
    %v65 = arith.mulf %p1, %p1 : tensor<f64>
    %v66 = math.tanh %v65 : tensor<f64>
    %v67 = arith.mulf %p1, %p1 : tensor<f64>
    %v68 = math.tanh %v67 : tensor<f64>
    scf.yield %v66, %v68 : tensor<f64>, tensor<f64>
  } else {
    %v69 = arith.mulf %p1, %p1 : tensor<f64>
    %v70 = math.tanh %v69 : tensor<f64>
    %v71 = arith.mulf %p1, %p1 : tensor<f64>
    %v72 = math.tanh %v71 : tensor<f64>
    scf.yield %v70, %v72 : tensor<f64>, tensor<f64>
  }
  %v73 = arith.constant 41 : index
  %v74 = arith.constant 0 : index
  %v75 = arith.constant 0 : index
  %v76 = arith.constant 0 : index
  %v77 = tensor.extract %v28[%v73, %v74, %v75, %v76] : tensor<70x2x2x2xf32>
  %v78 = arith.constant 2.500000e-01 : f32
  %v79 = arith.cmpf ogt, %v77, %v78 : f32
  %v80:2 = scf.if %v79 -> (tensor<70xf32>, tensor<70xf32>) {
    %v81 = tensor.empty() : tensor<9x9xf32>
    %v82 = arith.constant 5.000000e-01 : f32
    %v83 = linalg.fill ins(%v82 : f32) outs(%v81 : tensor<9x9xf32>) -> tensor<9x9xf32>
    %v84 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d1, d2)>], iterator_types = ["reduction", "parallel", "parallel"]} ins(%v50, %v50 : tensor<70x9xf32>, tensor<70x9xf32>) outs(%v83 : tensor<9x9xf32>) {
    ^bb0(%v85: f32, %v86: f32, %v87: f32):
      %v88 = arith.mulf %v85, %v86 : f32
      %v89 = arith.addf %v87, %v88 : f32
      linalg.yield %v89 : f32
    } -> tensor<9x9xf32>
    %v90 = math.tanh %v84 : tensor<9x9xf32>
    %v91 = arith.constant 1.000000e+04 : f32
    %v92 = linalg.fill ins(%v91 : f32) outs(%v40 : tensor<70xf32>) -> tensor<70xf32>
    %v93 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0)>], iterator_types = ["parallel", "reduction", "reduction", "reduction"]} ins(%v51 : tensor<70x2x2x2xf32>) outs(%v92 : tensor<70xf32>) {
    ^bb0(%v94: f32, %v95: f32):
      %v96 = arith.minimumf %v94, %v95 : f32
      linalg.yield %v96 : f32
    } -> tensor<70xf32>
    %v97 = arith.addf %v48, %v93 : tensor<70xf32>
    %v98 = math.tanh %v97 : tensor<70xf32>
    %v99 = arith.addf %v48, %v48 : tensor<70xf32>
    %v100 = math.tanh %v99 : tensor<70xf32>
    scf.yield %v98, %v100 : tensor<70xf32>, tensor<70xf32>
  } else {
    scf.yield %v48, %v48 : tensor<70xf32>, tensor<70xf32>
  }
  %v101 = tensor.extract_slice %v80#0[48] [14] [1] : tensor<70xf32> to tensor<14xf32>
  %v102 = tensor.insert_slice %v101 into %v80#0[18] [14] [1] : tensor<14xf32> into tensor<70xf32>
  %v103 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>], iterator_types = ["reduction"]} ins(%v102, %v80#1 : tensor<70xf32>, tensor<70xf32>) outs(%v8 : tensor<f32>) {
  ^bb0(%v104: f32, %v105: f32, %v106: f32):
    %v107 = arith.mulf %v104, %v105 : f32
    %v108 = arith.addf %v106, %v107 : f32
    linalg.yield %v108 : f32
  } -> tensor<f32>
  %v109 = math.tanh %v103 : tensor<f32>
  %v110 = cs.gradient %v109 of "p0" : tensor<f32>
  %v111 = cs.gradient %p1 of "p1" : tensor<f64>
  %v112 = arith.addf %v110, %p0 : tensor<f32>
  %v113 = tensor.empty() : tensor<f64>
  %v114 = linalg.generic {indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = []} ins(%p1, %v111 : tensor<f64>, tensor<f64>) outs(%v113 : tensor<f64>) {
  ^bb0(%v115: f64, %v116: f64, %v117: f64):
    %v118 = arith.mulf %v116, %v116 : f64
    %v119 = arith.constant 5.000000e-01 : f64
    %v120 = arith.addf %v118, %v119 : f64
    %v121 = math.rsqrt %v120 : f64
    %v122 = arith.mulf %v116, %v116 : f64
    %v123 = arith.constant 5.000000e-01 : f64
    %v124 = arith.addf %v122, %v123 : f64
    %v125 = arith.divf %v115, %v124 : f64
    %v126 = arith.addf %v125, %v125 : f64
    %v127 = math.tanh %v126 : f64
    linalg.yield %v127 : f64
  } -> tensor<f64>
  %v128 = tensor.empty() : tensor<f32>
  %v129 = arith.constant 5.000000e-01 : f32
  %v130 = linalg.fill ins(%v129 : f32) outs(%v128 : tensor<f32>) -> tensor<f32>
  %v131 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>], iterator_types = ["reduction"]} ins(%v102 : tensor<70xf32>) outs(%v130 : tensor<f32>) {
  ^bb0(%v132: f32, %v133: f32):
    %v134 = arith.addf %v132, %v133 : f32
    linalg.yield %v134 : f32
  } -> tensor<f32>
  %v135 = arith.constant dense<1.188128e-02> : tensor<f32>
  %v136 = arith.mulf %v131, %v135 : tensor<f32>
  return %v136, %v114, %v112 : tensor<f32>, tensor<f64>, tensor<f32>
}
