// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// crashes: Segmentation fault
// values: 11573749940888044927
// mode: nodes=2 devices=1 reduction=mean pipeline=cs-all-reduce-pipeline{reduction=mean}
func.func @step(%p0: tensor<2x9xf32> {cs.param = "p0"},
    %p1: tensor<2x9xf32> {cs.param = "p1"},
    %p2: tensor<2x2xf32> {cs.param = "p2"},
    %p3: tensor<2x9xf32> {cs.param = "p3"},
    %x0: tensor<2x2xf32> {cs.batch = "x0"})
    -> (tensor<2x9xf32> {cs.updates = "p0"}, tensor<2x9xf32> {cs.updates = "p1"}, tensor<2x2xf32> {cs.updates = "p2"}, tensor<2x9xf32> {cs.updates = "p3"}, tensor<f32> {cs.metric = "m0"}, tensor<f32> {cs.metric = "m1"}, tensor<f32> {cs.metric = "m2"}) attributes {cs.step} {
  %v0 = tensor.empty() : tensor<2xf32>
  %v1 = arith.constant 0.000000e+00 : f32
  %v2 = linalg.fill ins(%v1 : f32) outs(%v0 : tensor<2xf32>) -> tensor<2xf32>
  %v3 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>], iterator_types = ["reduction", "parallel"]} ins(%x0 : tensor<2x2xf32>) outs(%v2 : tensor<2xf32>) {
  ^bb0(%v4: f32, %v5: f32):
    %v6 = arith.addf %v4, %v5 : f32
    linalg.yield %v6 : f32
  } -> tensor<2xf32>
  %v7 = tensor.collapse_shape %x0 [[0, 1]] : tensor<2x2xf32> into tensor<4xf32>
  %v8 = arith.constant -1.000000e+04 : f32
  %v9 = linalg.fill ins(%v8 : f32) outs(%v0 : tensor<2xf32>) -> tensor<2xf32>
  %v10 = linalg.reduce { arith.maximumf } ins(%p3 : tensor<2x9xf32>) outs(%v9 : tensor<2xf32>) dimensions = [1]
  %v11 = tensor.empty() : tensor<2x9xf32>
  %v12 = linalg.broadcast ins(%v10 : tensor<2xf32>) outs(%v11 : tensor<2x9xf32>) dimensions = [1]
  %v13 = arith.subf %p3, %v12 : tensor<2x9xf32>
  %v14 = math.exp %v13 : tensor<2x9xf32>
  %v15 = tensor.empty() : tensor<2xf32>
  %v16 = arith.constant 0.000000e+00 : f32
  %v17 = linalg.fill ins(%v16 : f32) outs(%v15 : tensor<2xf32>) -> tensor<2xf32>
  %v18 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%v14 : tensor<2x9xf32>) outs(%v17 : tensor<2xf32>) {
  ^bb0(%v19: f32, %v20: f32):
    %v21 = arith.addf %v19, %v20 : f32
    linalg.yield %v21 : f32
  } -> tensor<2xf32>
  %v22 = tensor.empty() : tensor<2x9xf32>
  %v23 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v18 : tensor<2xf32>) outs(%v22 : tensor<2x9xf32>) {
  ^bb0(%v24: f32, %v25: f32):
    linalg.yield %v24 : f32
  } -> tensor<2x9xf32>
  %v26 = arith.divf %v14, %v23 : tensor<2x9xf32>
  %v27 = tensor.empty() : tensor<2xf32>
  %v28 = arith.constant -1.000000e+04 : f32
  %v29 = linalg.fill ins(%v28 : f32) outs(%v27 : tensor<2xf32>) -> tensor<2xf32>
  %v30 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%v26 : tensor<2x9xf32>) outs(%v29 : tensor<2xf32>) {
  ^bb0(%v31: f32, %v32: f32):
    %v33 = arith.maximumf %v31, %v32 : f32
    linalg.yield %v33 : f32
  } -> tensor<2xf32>
  %v34 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v30 : tensor<2xf32>) outs(%v22 : tensor<2x9xf32>) {
  ^bb0(%v35: f32, %v36: f32):
    linalg.yield %v35 : f32
  } -> tensor<2x9xf32>
  %v37 = arith.subf %v26, %v34 : tensor<2x9xf32>
  %v38 = math.exp %v37 : tensor<2x9xf32>
  %v39 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%v38 : tensor<2x9xf32>) outs(%v17 : tensor<2xf32>) {
  ^bb0(%v40: f32, %v41: f32):
    %v42 = arith.addf %v40, %v41 : f32
    linalg.yield %v42 : f32
  } -> tensor<2xf32>
  %v43 = tensor.empty() : tensor<2x9xf32>
  %v44 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v39 : tensor<2xf32>) outs(%v43 : tensor<2x9xf32>) {
  ^bb0(%v45: f32, %v46: f32):
    linalg.yield %v45 : f32
  } -> tensor<2x9xf32>
  %v47 = arith.divf %v38, %v44 : tensor<2x9xf32>
  %v48 = tensor.empty() : tensor<2x2xf32>
  %v49 = arith.constant 0.000000e+00 : f32
  %v50 = linalg.fill ins(%v49 : f32) outs(%v48 : tensor<2x2xf32>) -> tensor<2x2xf32>
  %v51 = linalg.matmul ins(%p2, %p2 : tensor<2x2xf32>, tensor<2x2xf32>) outs(%v50 : tensor<2x2xf32>) -> tensor<2x2xf32>
  %v52 = math.tanh %v51 : tensor<2x2xf32>
  %v53 = arith.fptosi %p3 : tensor<2x9xf32> to tensor<2x9xi32>
  %v54 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v52 : tensor<2x2xf32>) outs(%v48 : tensor<2x2xf32>) {
  ^bb0(%v55: f32, %v56: f32):
    %v57 = math.exp %v55 : f32
    linalg.yield %v57 : f32
  } -> tensor<2x2xf32>
  %v58 = arith.fptosi %v3 : tensor<2xf32> to tensor<2xi64>
  %v59 = tensor.concat dim(1) %v52, %v26 : (tensor<2x2xf32>, tensor<2x9xf32>) -> tensor<2x11xf32>
  %v60 = tensor.empty() : tensor<f32>
  %v61 = arith.constant -1.000000e+04 : f32
  %v62 = linalg.fill ins(%v61 : f32) outs(%v60 : tensor<f32>) -> tensor<f32>
  %v63 = linalg.reduce { arith.maximumf } ins(%v7 : tensor<4xf32>) outs(%v62 : tensor<f32>) dimensions = [0]
  %v64 = tensor.empty() : tensor<4xf32>
  %v65 = linalg.generic {indexing_maps = [affine_map<(d0) -> ()>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%v63 : tensor<f32>) outs(%v64 : tensor<4xf32>) {
  ^bb0(%v66: f32, %v67: f32):
    linalg.yield %v66 : f32
  } -> tensor<4xf32>
  %v68 = arith.subf %v7, %v65 : tensor<4xf32>
  %v69 = math.exp %v68 : tensor<4xf32>
  %v70 = tensor.empty() : tensor<f32>
  %v71 = arith.constant 0.000000e+00 : f32
  %v72 = linalg.fill ins(%v71 : f32) outs(%v70 : tensor<f32>) -> tensor<f32>
  %v73 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>], iterator_types = ["reduction"]} ins(%v69 : tensor<4xf32>) outs(%v72 : tensor<f32>) {
  ^bb0(%v74: f32, %v75: f32):
    %v76 = arith.addf %v74, %v75 : f32
    linalg.yield %v76 : f32
  } -> tensor<f32>
  %v77 = math.log %v73 : tensor<f32>
  %v78 = arith.addf %v77, %v63 : tensor<f32>
  %v79 = linalg.broadcast ins(%v73 : tensor<f32>) outs(%v64 : tensor<4xf32>) dimensions = [0]
  %v80 = arith.divf %v69, %v79 : tensor<4xf32>
  %v81 = tensor.empty() : tensor<2x2xf32>
  %v82:2 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%x0 : tensor<2x2xf32>) outs(%v48, %v81 : tensor<2x2xf32>, tensor<2x2xf32>) {
  ^bb0(%v83: f32, %v84: f32, %v85: f32):
    %v86 = arith.minimumf %v83, %v83 : f32
    %v87 = arith.mulf %v83, %v86 : f32
    %v88 = arith.maxnumf %v83, %v87 : f32
    %v89 = arith.cmpf oge, %v83, %v83 : f32
    %v90 = arith.constant 1.000000e+00 : f32
    %v91 = arith.select %v89, %v83, %v90 : f32
    %v92 = math.expm1 %v83 : f32
    %v93 = arith.addf %v91, %v83 : f32
    %v94 = arith.negf %v93 : f32
    linalg.yield %v88, %v94 : f32, f32
  } -> (tensor<2x2xf32>, tensor<2x2xf32>)
  %v95 = tensor.expand_shape %v52 [[0], [1, 2]] output_shape [2, 2, 1] : tensor<2x2xf32> into tensor<2x2x1xf32>
  %v96 = tensor.empty() : tensor<2x9xf32>
  %v97 = arith.constant 0.000000e+00 : f32
  %v98 = linalg.fill ins(%v97 : f32) outs(%v96 : tensor<2x9xf32>) -> tensor<2x9xf32>
  %v99 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d1, d0)>, affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d1, d2)>], iterator_types = ["reduction", "parallel", "parallel"]} ins(%v54, %v26 : tensor<2x2xf32>, tensor<2x9xf32>) outs(%v98 : tensor<2x9xf32>) {
  ^bb0(%v100: f32, %v101: f32, %v102: f32):
    %v103 = arith.mulf %v100, %v101 : f32
    %v104 = arith.addf %v102, %v103 : f32
    linalg.yield %v104 : f32
  } -> tensor<2x9xf32>
  %v105 = arith.mulf %p1, %p0 : tensor<2x9xf32>
  %v106 = tensor.extract_slice %v95[1, 0, 0] [1, 1, 1] [1, 2, 2] : tensor<2x2x1xf32> to tensor<1x1xf32>
  %v107 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d1, d0)>, affine_map<(d0, d1, d2) -> (d2, d0)>, affine_map<(d0, d1, d2) -> (d1, d2)>], iterator_types = ["reduction", "parallel", "parallel"]} ins(%v82#0, %v82#1 : tensor<2x2xf32>, tensor<2x2xf32>) outs(%v50 : tensor<2x2xf32>) {
  ^bb0(%v108: f32, %v109: f32, %v110: f32):
    %v111 = arith.mulf %v108, %v109 : f32
    %v112 = arith.addf %v110, %v111 : f32
    linalg.yield %v112 : f32
  } -> tensor<2x2xf32>
  %v113 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v82#0, %v82#0 : tensor<2x2xf32>, tensor<2x2xf32>) outs(%v82#1 : tensor<2x2xf32>) {
  ^bb0(%v114: f32, %v115: f32, %v116: f32):
    %v117 = arith.mulf %v116, %v115 : f32
    %v118 = math.erf %v115 : f32
    %v119 = arith.mulf %v114, %v114 : f32
    %v120 = math.expm1 %v114 : f32
    linalg.yield %v120 : f32
  } -> tensor<2x2xf32>
  %v121 = arith.constant 0.000000e+00 : f32
  %v122 = linalg.fill ins(%v121 : f32) outs(%v70 : tensor<f32>) -> tensor<f32>
  %v123 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>], iterator_types = ["reduction"]} ins(%v7 : tensor<4xf32>) outs(%v122 : tensor<f32>) {
  ^bb0(%v124: f32, %v125: f32):
    %v126 = arith.addf %v124, %v125 : f32
    linalg.yield %v126 : f32
  } -> tensor<f32>
  %v127 = tensor.empty() : tensor<2x9xf32>
  %v128 = linalg.broadcast ins(%v123 : tensor<f32>) outs(%v127 : tensor<2x9xf32>) dimensions = [0, 1]
  %v129 = arith.mulf %v128, %v47 : tensor<2x9xf32>
  %v130 = cs.gradient %v99 of "p0" : tensor<2x9xf32>
  %v131 = cs.gradient %v105 of "p1" : tensor<2x9xf32>
  %v132 = cs.gradient %v107 of "p2" : tensor<2x2xf32>
  %v133 = cs.gradient %v129 of "p3" : tensor<2x9xf32>
  %v134 = arith.constant dense<1.875000e-01> : tensor<2x9xf32>
  %v135 = arith.mulf %v130, %v134 : tensor<2x9xf32>
  %v136 = arith.subf %p0, %v135 : tensor<2x9xf32>
  %v137 = arith.constant dense<4.375000e-01> : tensor<2x9xf32>
  %v138 = arith.mulf %v131, %v137 : tensor<2x9xf32>
  %v139 = arith.subf %p1, %v138 : tensor<2x9xf32>
  %v140 = tensor.empty() : tensor<2x2xf32>
  %v141 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%p2, %v132 : tensor<2x2xf32>, tensor<2x2xf32>) outs(%v140 : tensor<2x2xf32>) {
  ^bb0(%v142: f32, %v143: f32, %v144: f32):
    %v145 = math.ceil %v142 : f32
    %v146 = arith.mulf %v145, %v145 : f32
    %v147 = arith.constant 5.000000e-01 : f32
    %v148 = arith.addf %v146, %v147 : f32
    %v149 = math.rsqrt %v148 : f32
    %v150 = math.fma %v145, %v142, %v143 : f32
    %v151 = math.tanh %v150 : f32
    linalg.yield %v151 : f32
  } -> tensor<2x2xf32>
  %v152 = arith.constant dense<3.125000e-01> : tensor<2x9xf32>
  %v153 = arith.mulf %v133, %v152 : tensor<2x9xf32>
  %v154 = arith.subf %p3, %v153 : tensor<2x9xf32>
  %v155 = tensor.empty() : tensor<f32>
  %v156 = arith.constant 0.000000e+00 : f32
  %v157 = linalg.fill ins(%v156 : f32) outs(%v155 : tensor<f32>) -> tensor<f32>
  %v158 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>], iterator_types = ["reduction"]} ins(%v3 : tensor<2xf32>) outs(%v157 : tensor<f32>) {
  ^bb0(%v159: f32, %v160: f32):
    %v161 = arith.addf %v159, %v160 : f32
    linalg.yield %v161 : f32
  } -> tensor<f32>
  %v162 = arith.constant dense<1.250000e-01> : tensor<f32>
  %v163 = arith.mulf %v158, %v162 : tensor<f32>
  %v164 = linalg.reduce { arith.addf } ins(%v106 : tensor<1x1xf32>) outs(%v157 : tensor<f32>) dimensions = [0, 1]
  %v165 = arith.constant dense<5.000000e-01> : tensor<f32>
  %v166 = arith.mulf %v164, %v165 : tensor<f32>
  %v167 = linalg.reduce { arith.addf } ins(%v129 : tensor<2x9xf32>) outs(%v157 : tensor<f32>) dimensions = [0, 1]
  %v168 = arith.constant dense<2.946278e-02> : tensor<f32>
  %v169 = arith.mulf %v167, %v168 : tensor<f32>
  return %v136, %v139, %v141, %v154, %v163, %v166, %v169 : tensor<2x9xf32>, tensor<2x9xf32>, tensor<2x2xf32>, tensor<2x9xf32>, tensor<f32>, tensor<f32>, tensor<f32>
}
