// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Two ops started from one fill, which lay in the memory of a result: it was overwritten
// before the other was read.
// values: 7509378185614619786
// mode: nodes=1 devices=1 reduction=mean pipeline=cs-parameter-server-pipeline{reduction=mean schedule=tictac servers=3 min-block-elements=8192 max-block-elements=8192}
// mode: nodes=1 devices=1 reduction=mean pipeline=cs-all-reduce-pipeline{}
// mode: nodes=4 devices=1 reduction=mean pipeline=cs-all-reduce-pipeline{schedule=priority}
func.func @step(%p0: tensor<1x1xf32> {cs.param = "p0"},
    %p1: tensor<1x1xf32> {cs.param = "p1"},
    %s0: tensor<f32> {cs.state = "s0"},
    %x0: tensor<1x1xf32> {cs.batch = "x0"},
    %x1: tensor<1x1xf32> {cs.batch = "x1"},
    %x2: tensor<1xi1> {cs.batch = "x2"})
    -> (tensor<1x1xf32> {cs.updates = "p0"}, tensor<1x1xf32> {cs.updates = "p1"}, tensor<f32> {cs.updates = "s0"}, tensor<f32> {cs.metric = "m0"}, tensor<f32> {cs.metric = "m1"}) attributes {cs.step} {
  %v0 = tensor.insert_slice %x1 into %p1[0, 0] [1, 1] [1, 2] : tensor<1x1xf32> into tensor<1x1xf32>
  %v1 = tensor.empty() : tensor<1x1xf32>
  %v2 = linalg.transpose ins(%p1 : tensor<1x1xf32>) outs(%v1 : tensor<1x1xf32>) permutation = [1, 0]
  %v3 = tensor.concat dim(0) %v0, %v0 : (tensor<1x1xf32>, tensor<1x1xf32>) -> tensor<2x1xf32>
  %v4 = tensor.insert_slice %x0 into %p1[0, 0] [1, 1] [1, 2] : tensor<1x1xf32> into tensor<1x1xf32>
  %v5 = tensor.concat dim(1) %x0, %p1, %v2 : (tensor<1x1xf32>, tensor<1x1xf32>, tensor<1x1xf32>) -> tensor<1x3xf32>
  %v6 = tensor.collapse_shape %v3 [[0, 1]] : tensor<2x1xf32> into tensor<2xf32>
  %v7 = tensor.empty() : tensor<1x3xf32>
  %v8 = arith.constant 0.000000e+00 : f32
  %v9 = linalg.fill ins(%v8 : f32) outs(%v7 : tensor<1x3xf32>) -> tensor<1x3xf32>
  %v10 = tensor.empty() : tensor<1x1xf32>
  %v11 = linalg.transpose ins(%v0 : tensor<1x1xf32>) outs(%v10 : tensor<1x1xf32>) permutation = [1, 0]
  %v12 = linalg.matmul ins(%v11, %v5 : tensor<1x1xf32>, tensor<1x3xf32>) outs(%v9 : tensor<1x3xf32>) -> tensor<1x3xf32>
  %v13 = math.tanh %v12 : tensor<1x3xf32>
  %v14 = tensor.expand_shape %v6 [[0, 1]] output_shape [1, 2] : tensor<2xf32> into tensor<1x2xf32>
  %v15 = tensor.empty() : tensor<f32>
  %v16 = arith.constant 1.000000e+04 : f32
  %v17 = linalg.fill ins(%v16 : f32) outs(%v15 : tensor<f32>) -> tensor<f32>
  %v18 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> ()>], iterator_types = ["reduction", "reduction"]} ins(%p0 : tensor<1x1xf32>) outs(%v17 : tensor<f32>) {
  ^bb0(%v19: f32, %v20: f32):
    %v21 = arith.minimumf %v19, %v20 : f32
    linalg.yield %v21 : f32
  } -> tensor<f32>
  %v22 = tensor.empty() : tensor<1x1xf32>
  %v23 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%p1, %v4, %x0 : tensor<1x1xf32>, tensor<1x1xf32>, tensor<1x1xf32>) outs(%v22 : tensor<1x1xf32>) {
  ^bb0(%v24: f32, %v25: f32, %v26: f32, %v27: f32):
    %v28 = arith.mulf %v25, %v25 : f32
    %v29 = arith.constant 5.000000e-01 : f32
    %v30 = arith.addf %v28, %v29 : f32
    %v31 = math.log %v30 : f32
    linalg.yield %v31 : f32
  } -> tensor<1x1xf32>
  %v32 = tensor.empty() : tensor<3x1xf32>
  %v33 = arith.constant 0.000000e+00 : f32
  %v34 = linalg.fill ins(%v33 : f32) outs(%v32 : tensor<3x1xf32>) -> tensor<3x1xf32>
  %v35 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d2, d0)>, affine_map<(d0, d1, d2) -> (d1, d2)>], iterator_types = ["reduction", "parallel", "parallel"]} ins(%v5, %v2 : tensor<1x3xf32>, tensor<1x1xf32>) outs(%v34 : tensor<3x1xf32>) {
  ^bb0(%v36: f32, %v37: f32, %v38: f32):
    %v39 = arith.mulf %v36, %v37 : f32
    %v40 = arith.addf %v38, %v39 : f32
    linalg.yield %v40 : f32
  } -> tensor<3x1xf32>
  %v41 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v5 : tensor<1x3xf32>) outs(%v7 : tensor<1x3xf32>) {
  ^bb0(%v42: f32, %v43: f32):
    %v44 = math.exp %v42 : f32
    %v45 = math.fma %v44, %v44, %v42 : f32
    %v46 = math.erf %v45 : f32
    linalg.yield %v46 : f32
  } -> tensor<1x3xf32>
  %v47 = tensor.empty() : tensor<1x1xf32>
  %v48 = arith.constant 0.000000e+00 : f32
  %v49 = linalg.fill ins(%v48 : f32) outs(%v47 : tensor<1x1xf32>) -> tensor<1x1xf32>
  %v50 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x1, %p1 : tensor<1x1xf32>, tensor<1x1xf32>) outs(%v49 : tensor<1x1xf32>) {
  ^bb0(%v51: f32, %v52: f32, %v53: f32):
    %v54 = arith.mulf %v51, %v52 : f32
    %v55 = arith.addf %v53, %v54 : f32
    linalg.yield %v55 : f32
  } -> tensor<1x1xf32>
  %v56 = tensor.empty() : tensor<1x1xf32>
  %v57 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v50 : tensor<1x1xf32>) outs(%v56 : tensor<1x1xf32>) {
  ^bb0(%v58: f32, %v59: f32):
    %v60 = math.tanh %v58 : f32
    linalg.yield %v60 : f32
  } -> tensor<1x1xf32>
  %v61 = tensor.empty() : tensor<1x1xf32>
  %v62 = arith.constant 0.000000e+00 : f32
  %v63 = linalg.fill ins(%v62 : f32) outs(%v61 : tensor<1x1xf32>) -> tensor<1x1xf32>
  %v64 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%v57, %p1 : tensor<1x1xf32>, tensor<1x1xf32>) outs(%v63 : tensor<1x1xf32>) {
  ^bb0(%v65: f32, %v66: f32, %v67: f32):
    %v68 = arith.mulf %v65, %v66 : f32
    %v69 = arith.addf %v67, %v68 : f32
    linalg.yield %v69 : f32
  } -> tensor<1x1xf32>
  %v70 = tensor.empty() : tensor<1x1xf32>
  %v71 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v64 : tensor<1x1xf32>) outs(%v70 : tensor<1x1xf32>) {
  ^bb0(%v72: f32, %v73: f32):
    %v74 = math.tanh %v72 : f32
    linalg.yield %v74 : f32
  } -> tensor<1x1xf32>
  %v75 = tensor.empty() : tensor<3x1xf32>
  %v76 = arith.constant 0.000000e+00 : f32
  %v77 = linalg.fill ins(%v76 : f32) outs(%v75 : tensor<3x1xf32>) -> tensor<3x1xf32>
  %v78 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%v35, %p1 : tensor<3x1xf32>, tensor<1x1xf32>) outs(%v77 : tensor<3x1xf32>) {
  ^bb0(%v79: f32, %v80: f32, %v81: f32):
    %v82 = arith.mulf %v79, %v80 : f32
    %v83 = arith.addf %v81, %v82 : f32
    linalg.yield %v83 : f32
  } -> tensor<3x1xf32>
  %v84 = tensor.empty() : tensor<3x1xf32>
  %v85 = arith.constant 0.000000e+00 : f32
  %v86 = linalg.fill ins(%v85 : f32) outs(%v84 : tensor<3x1xf32>) -> tensor<3x1xf32>
  %v87 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%v78, %p0 : tensor<3x1xf32>, tensor<1x1xf32>) outs(%v86 : tensor<3x1xf32>) {
  ^bb0(%v88: f32, %v89: f32, %v90: f32):
    %v91 = arith.mulf %v88, %v89 : f32
    %v92 = arith.addf %v90, %v91 : f32
    linalg.yield %v92 : f32
  } -> tensor<3x1xf32>
  %v93 = tensor.empty() : tensor<3x1xf32>
  %v94 = arith.constant 0.000000e+00 : f32
  %v95 = linalg.fill ins(%v94 : f32) outs(%v93 : tensor<3x1xf32>) -> tensor<3x1xf32>
  %v96 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%v87, %p0 : tensor<3x1xf32>, tensor<1x1xf32>) outs(%v95 : tensor<3x1xf32>) {
  ^bb0(%v97: f32, %v98: f32, %v99: f32):
    %v100 = arith.mulf %v97, %v98 : f32
    %v101 = arith.addf %v99, %v100 : f32
    linalg.yield %v101 : f32
  } -> tensor<3x1xf32>
  %v102 = tensor.empty() : tensor<1x3xf32>
  %v103 = arith.constant 0.000000e+00 : f32
  %v104 = linalg.fill ins(%v103 : f32) outs(%v102 : tensor<1x3xf32>) -> tensor<1x3xf32>
  %v105 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%v71, %v96 : tensor<1x1xf32>, tensor<3x1xf32>) outs(%v104 : tensor<1x3xf32>) {
  ^bb0(%v106: f32, %v107: f32, %v108: f32):
    %v109 = arith.mulf %v106, %v107 : f32
    %v110 = arith.addf %v108, %v109 : f32
    linalg.yield %v110 : f32
  } -> tensor<1x3xf32>
  %v111 = tensor.empty() : tensor<1xf32>
  %v112 = arith.constant -1.000000e+04 : f32
  %v113 = linalg.fill ins(%v112 : f32) outs(%v111 : tensor<1xf32>) -> tensor<1xf32>
  %v114 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%v105 : tensor<1x3xf32>) outs(%v113 : tensor<1xf32>) {
  ^bb0(%v115: f32, %v116: f32):
    %v117 = arith.maximumf %v116, %v115 : f32
    linalg.yield %v117 : f32
  } -> tensor<1xf32>
  %v118 = tensor.empty() : tensor<1x3xf32>
  %v119 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v105, %v114 : tensor<1x3xf32>, tensor<1xf32>) outs(%v118 : tensor<1x3xf32>) {
  ^bb0(%v120: f32, %v121: f32, %v122: f32):
    %v123 = arith.subf %v120, %v121 : f32
    %v124 = math.exp %v123 : f32
    linalg.yield %v124 : f32
  } -> tensor<1x3xf32>
  %v125 = tensor.empty() : tensor<1xf32>
  %v126 = arith.constant 0.000000e+00 : f32
  %v127 = linalg.fill ins(%v126 : f32) outs(%v125 : tensor<1xf32>) -> tensor<1xf32>
  %v128 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%v119 : tensor<1x3xf32>) outs(%v127 : tensor<1xf32>) {
  ^bb0(%v129: f32, %v130: f32):
    %v131 = arith.addf %v130, %v129 : f32
    linalg.yield %v131 : f32
  } -> tensor<1xf32>
  %v132 = tensor.empty() : tensor<1x3xf32>
  %v133 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v119, %v128 : tensor<1x3xf32>, tensor<1xf32>) outs(%v132 : tensor<1x3xf32>) {
  ^bb0(%v134: f32, %v135: f32, %v136: f32):
    %v137 = arith.divf %v134, %v135 : f32
    linalg.yield %v137 : f32
  } -> tensor<1x3xf32>
  %v138 = tensor.empty() : tensor<1x1xf32>
  %v139 = arith.constant 0.000000e+00 : f32
  %v140 = linalg.fill ins(%v139 : f32) outs(%v138 : tensor<1x1xf32>) -> tensor<1x1xf32>
  %v141 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%v133, %v96 : tensor<1x3xf32>, tensor<3x1xf32>) outs(%v140 : tensor<1x1xf32>) {
  ^bb0(%v142: f32, %v143: f32, %v144: f32):
    %v145 = arith.mulf %v142, %v143 : f32
    %v146 = arith.addf %v144, %v145 : f32
    linalg.yield %v146 : f32
  } -> tensor<1x1xf32>
  %v147 = tensor.empty() : tensor<1x1xf32>
  %v148 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v141, %v71 : tensor<1x1xf32>, tensor<1x1xf32>) outs(%v147 : tensor<1x1xf32>) {
  ^bb0(%v149: f32, %v150: f32, %v151: f32):
    %v152 = arith.mulf %v150, %v150 : f32
    %v153 = arith.constant 1.000000e+00 : f32
    %v154 = arith.subf %v153, %v152 : f32
    %v155 = arith.mulf %v149, %v154 : f32
    linalg.yield %v155 : f32
  } -> tensor<1x1xf32>
  %v156 = tensor.empty() : tensor<1x1xf32>
  %v157 = arith.constant 0.000000e+00 : f32
  %v158 = linalg.fill ins(%v157 : f32) outs(%v156 : tensor<1x1xf32>) -> tensor<1x1xf32>
  %v159 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d2, d0)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%v57, %v148 : tensor<1x1xf32>, tensor<1x1xf32>) outs(%v158 : tensor<1x1xf32>) {
  ^bb0(%v160: f32, %v161: f32, %v162: f32):
    %v163 = arith.mulf %v160, %v161 : f32
    %v164 = arith.addf %v162, %v163 : f32
    linalg.yield %v164 : f32
  } -> tensor<1x1xf32>
  %v165 = tensor.empty() : tensor<1x1xf32>
  %v166 = arith.constant 0.000000e+00 : f32
  %v167 = linalg.fill ins(%v166 : f32) outs(%v165 : tensor<1x1xf32>) -> tensor<1x1xf32>
  %v168 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%v148, %p1 : tensor<1x1xf32>, tensor<1x1xf32>) outs(%v167 : tensor<1x1xf32>) {
  ^bb0(%v169: f32, %v170: f32, %v171: f32):
    %v172 = arith.mulf %v169, %v170 : f32
    %v173 = arith.addf %v171, %v172 : f32
    linalg.yield %v173 : f32
  } -> tensor<1x1xf32>
  %v174 = tensor.empty() : tensor<1x1xf32>
  %v175 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v168, %v57 : tensor<1x1xf32>, tensor<1x1xf32>) outs(%v174 : tensor<1x1xf32>) {
  ^bb0(%v176: f32, %v177: f32, %v178: f32):
    %v179 = arith.mulf %v177, %v177 : f32
    %v180 = arith.constant 1.000000e+00 : f32
    %v181 = arith.subf %v180, %v179 : f32
    %v182 = arith.mulf %v176, %v181 : f32
    linalg.yield %v182 : f32
  } -> tensor<1x1xf32>
  %v183 = tensor.empty() : tensor<1x1xf32>
  %v184 = arith.constant 0.000000e+00 : f32
  %v185 = linalg.fill ins(%v184 : f32) outs(%v183 : tensor<1x1xf32>) -> tensor<1x1xf32>
  %v186 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d2, d0)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x1, %v175 : tensor<1x1xf32>, tensor<1x1xf32>) outs(%v185 : tensor<1x1xf32>) {
  ^bb0(%v187: f32, %v188: f32, %v189: f32):
    %v190 = arith.mulf %v187, %v188 : f32
    %v191 = arith.addf %v189, %v190 : f32
    linalg.yield %v191 : f32
  } -> tensor<1x1xf32>
  %v192 = tensor.empty() : tensor<1x1xf32>
  %v193 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v159, %v186 : tensor<1x1xf32>, tensor<1x1xf32>) outs(%v192 : tensor<1x1xf32>) {
  ^bb0(%v194: f32, %v195: f32, %v196: f32):
    %v197 = arith.addf %v194, %v195 : f32
    linalg.yield %v197 : f32
  } -> tensor<1x1xf32>
  %v198 = tensor.empty() : tensor<3x1xf32>
  %v199 = arith.constant 0.000000e+00 : f32
  %v200 = linalg.fill ins(%v199 : f32) outs(%v198 : tensor<3x1xf32>) -> tensor<3x1xf32>
  %v201 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d2, d0)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%v133, %v71 : tensor<1x3xf32>, tensor<1x1xf32>) outs(%v200 : tensor<3x1xf32>) {
  ^bb0(%v202: f32, %v203: f32, %v204: f32):
    %v205 = arith.mulf %v202, %v203 : f32
    %v206 = arith.addf %v204, %v205 : f32
    linalg.yield %v206 : f32
  } -> tensor<3x1xf32>
  %v207 = tensor.empty() : tensor<1x1xf32>
  %v208 = arith.constant 0.000000e+00 : f32
  %v209 = linalg.fill ins(%v208 : f32) outs(%v207 : tensor<1x1xf32>) -> tensor<1x1xf32>
  %v210 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d2, d0)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%v87, %v201 : tensor<3x1xf32>, tensor<3x1xf32>) outs(%v209 : tensor<1x1xf32>) {
  ^bb0(%v211: f32, %v212: f32, %v213: f32):
    %v214 = arith.mulf %v211, %v212 : f32
    %v215 = arith.addf %v213, %v214 : f32
    linalg.yield %v215 : f32
  } -> tensor<1x1xf32>
  %v216 = tensor.empty() : tensor<3x1xf32>
  %v217 = arith.constant 0.000000e+00 : f32
  %v218 = linalg.fill ins(%v217 : f32) outs(%v216 : tensor<3x1xf32>) -> tensor<3x1xf32>
  %v219 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%v201, %p0 : tensor<3x1xf32>, tensor<1x1xf32>) outs(%v218 : tensor<3x1xf32>) {
  ^bb0(%v220: f32, %v221: f32, %v222: f32):
    %v223 = arith.mulf %v220, %v221 : f32
    %v224 = arith.addf %v222, %v223 : f32
    linalg.yield %v224 : f32
  } -> tensor<3x1xf32>
  %v225 = tensor.empty() : tensor<1x1xf32>
  %v226 = arith.constant 0.000000e+00 : f32
  %v227 = linalg.fill ins(%v226 : f32) outs(%v225 : tensor<1x1xf32>) -> tensor<1x1xf32>
  %v228 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d2, d0)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%v78, %v219 : tensor<3x1xf32>, tensor<3x1xf32>) outs(%v227 : tensor<1x1xf32>) {
  ^bb0(%v229: f32, %v230: f32, %v231: f32):
    %v232 = arith.mulf %v229, %v230 : f32
    %v233 = arith.addf %v231, %v232 : f32
    linalg.yield %v233 : f32
  } -> tensor<1x1xf32>
  %v234 = tensor.empty() : tensor<1x1xf32>
  %v235 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v210, %v228 : tensor<1x1xf32>, tensor<1x1xf32>) outs(%v234 : tensor<1x1xf32>) {
  ^bb0(%v236: f32, %v237: f32, %v238: f32):
    %v239 = arith.addf %v236, %v237 : f32
    linalg.yield %v239 : f32
  } -> tensor<1x1xf32>
  %v240 = tensor.empty() : tensor<3x1xf32>
  %v241 = arith.constant 0.000000e+00 : f32
  %v242 = linalg.fill ins(%v241 : f32) outs(%v240 : tensor<3x1xf32>) -> tensor<3x1xf32>
  %v243 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%v219, %p0 : tensor<3x1xf32>, tensor<1x1xf32>) outs(%v242 : tensor<3x1xf32>) {
  ^bb0(%v244: f32, %v245: f32, %v246: f32):
    %v247 = arith.mulf %v244, %v245 : f32
    %v248 = arith.addf %v246, %v247 : f32
    linalg.yield %v248 : f32
  } -> tensor<3x1xf32>
  %v249 = tensor.empty() : tensor<1x1xf32>
  %v250 = arith.constant 0.000000e+00 : f32
  %v251 = linalg.fill ins(%v250 : f32) outs(%v249 : tensor<1x1xf32>) -> tensor<1x1xf32>
  %v252 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d2, d0)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%v35, %v243 : tensor<3x1xf32>, tensor<3x1xf32>) outs(%v251 : tensor<1x1xf32>) {
  ^bb0(%v253: f32, %v254: f32, %v255: f32):
    %v256 = arith.mulf %v253, %v254 : f32
    %v257 = arith.addf %v255, %v256 : f32
    linalg.yield %v257 : f32
  } -> tensor<1x1xf32>
  %v258 = tensor.empty() : tensor<1x1xf32>
  %v259 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v193, %v252 : tensor<1x1xf32>, tensor<1x1xf32>) outs(%v258 : tensor<1x1xf32>) {
  ^bb0(%v260: f32, %v261: f32, %v262: f32):
    %v263 = arith.addf %v260, %v261 : f32
    linalg.yield %v263 : f32
  } -> tensor<1x1xf32>
  %v264 = tensor.extract_slice %v128[0] [1] [1] : tensor<1xf32> to tensor<f32>
  %v265 = tensor.empty() : tensor<f32>
  %v266 = arith.constant -1.000000e+04 : f32
  %v267 = linalg.fill ins(%v266 : f32) outs(%v265 : tensor<f32>) -> tensor<f32>
  %v268 = tensor.empty() : tensor<i32>
  %v269 = arith.constant 0 : i32
  %v270 = linalg.fill ins(%v269 : i32) outs(%v268 : tensor<i32>) -> tensor<i32>
  %v271:2 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>, affine_map<(d0) -> ()>], iterator_types = ["reduction"]} ins(%v128 : tensor<1xf32>) outs(%v267, %v270 : tensor<f32>, tensor<i32>) {
  ^bb0(%v272: f32, %v273: f32, %v274: i32):
    %v275 = linalg.index 0 : index
    %v276 = arith.index_cast %v275 : index to i32
    %v277 = arith.cmpf ogt, %v272, %v273 : f32
    %v278 = arith.select %v277, %v272, %v273 : f32
    %v279 = arith.select %v277, %v276, %v274 : i32
    linalg.yield %v278, %v279 : f32, i32
  } -> (tensor<f32>, tensor<i32>)
  %v280 = cs.gradient %v235 of "p0" : tensor<1x1xf32>
  %v281 = cs.gradient %v259 of "p1" : tensor<1x1xf32>
  %v282 = arith.constant dense<5.000000e-01> : tensor<1x1xf32>
  %v283 = arith.mulf %v280, %v282 : tensor<1x1xf32>
  %v284 = arith.subf %p0, %v283 : tensor<1x1xf32>
  %v285 = arith.constant dense<3.750000e-01> : tensor<1x1xf32>
  %v286 = arith.mulf %v281, %v285 : tensor<1x1xf32>
  %v287 = arith.subf %p1, %v286 : tensor<1x1xf32>
  %v288 = arith.constant 0.000000e+00 : f32
  %v289 = linalg.fill ins(%v288 : f32) outs(%v265 : tensor<f32>) -> tensor<f32>
  %v290 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> ()>], iterator_types = ["reduction", "reduction"]} ins(%p1, %v23 : tensor<1x1xf32>, tensor<1x1xf32>) outs(%v289 : tensor<f32>) {
  ^bb0(%v291: f32, %v292: f32, %v293: f32):
    %v294 = arith.mulf %v291, %v292 : f32
    %v295 = arith.addf %v293, %v294 : f32
    linalg.yield %v295 : f32
  } -> tensor<f32>
  %v296 = math.tanh %v290 : tensor<f32>
  %v297 = arith.addf %s0, %v296 : tensor<f32>
  %v298 = arith.constant dense<5.000000e-01> : tensor<f32>
  %v299 = arith.mulf %v297, %v298 : tensor<f32>
  %v300 = linalg.reduce { arith.addf } ins(%v57 : tensor<1x1xf32>) outs(%v18 : tensor<f32>) dimensions = [0, 1]
  %v301 = arith.constant dense<3.333333e-01> : tensor<f32>
  %v302 = arith.mulf %v300, %v301 : tensor<f32>
  return %v284, %v287, %v299, %v271#0, %v302 : tensor<1x1xf32>, tensor<1x1xf32>, tensor<f32>, tensor<f32>, tensor<f32>
}
