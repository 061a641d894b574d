// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// internal error: what this does to memory is not known to the check of memory
// values: 9524095448405039747
// mode: nodes=4 devices=1 reduction=mean pipeline=cs-all-reduce-pipeline{reduction=mean schedule=p3 copies=in-line}
func.func @step(%p0: tensor<7x7xf32> {cs.param = "p0"},
    %p1: tensor<7x7xf32> {cs.param = "p1"},
    %p2: tensor<7x7xf32> {cs.param = "p2"},
    %p3: tensor<7x7xf32> {cs.param = "p3"},
    %x0: tensor<7x7xf32> {cs.batch = "x0"},
    %x1: tensor<7x7xf32> {cs.batch = "x1"})
    -> (tensor<7x7xf32> {cs.updates = "p0"}, tensor<7x7xf32> {cs.updates = "p1"}, tensor<7x7xf32> {cs.updates = "p3"}, tensor<f32> {cs.metric = "m0"}, tensor<f32> {cs.metric = "m1"}) attributes {cs.step} {
  %v0 = tensor.extract_slice %x1[3, 0] [2, 7] [2, 1] : tensor<7x7xf32> to tensor<2x7xf32>
  %v1 = tensor.empty() : tensor<7x7xf32>
  %v2 = linalg.transpose ins(%p1 : tensor<7x7xf32>) outs(%v1 : tensor<7x7xf32>) permutation = [1, 0]
  %v3 = arith.constant 4 : index
  %v4 = arith.constant 1 : index
  %v5 = tensor.extract %v2[%v3, %v4] : tensor<7x7xf32>
  %v6 = arith.constant 2.500000e-01 : f32
  %v7 = arith.cmpf ogt, %v5, %v6 : f32
  %v8 = scf.if %v7 -> (tensor<7x7xf32>) {
    %v9 = tensor.empty() : tensor<7x7xf32>
    %v10 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%x1, %p2 : tensor<7x7xf32>, tensor<7x7xf32>) outs(%v9 : tensor<7x7xf32>) {
    ^bb0(%v11: f32, %v12: f32, %v13: f32):
      %v14 = arith.constant 5.000000e-01 : f32
      %v15 = arith.mulf %v12, %v14 : f32
      %v16 = arith.constant 7.500000e-01 : f32
      %v17 = arith.mulf %v15, %v16 : f32
      linalg.yield %v17 : f32
    } -> tensor<7x7xf32>
    %v18 = tensor.empty() : tensor<7x7xf32>
    %v19 = linalg.transpose ins(%v10 : tensor<7x7xf32>) outs(%v18 : tensor<7x7xf32>) permutation = [0, 1]
    %v20 = arith.addf %p3, %v2 : tensor<7x7xf32>
    %v21 = math.tanh %v20 : tensor<7x7xf32>
    scf.yield %v21 : tensor<7x7xf32>
  } else {
    %v22 = arith.subf %p3, %p3 : tensor<7x7xf32>
    %v23 = math.tanh %v22 : tensor<7x7xf32>
    scf.yield %v23 : tensor<7x7xf32>
  }
  %v24 = linalg.transpose ins(%v8 : tensor<7x7xf32>) outs(%v1 : tensor<7x7xf32>) permutation = [1, 0]
  %v25 = linalg.matmul ins(%v24, %v8 : tensor<7x7xf32>, tensor<7x7xf32>) outs(%v8 : tensor<7x7xf32>) -> tensor<7x7xf32>
  %v26 = arith.constant dense<1.127853e-02> : tensor<7x7xf32>
  %v27 = arith.mulf %v25, %v26 : tensor<7x7xf32>
  %v28 = arith.constant 0.000000e+00 : f32
  %v29 = linalg.fill ins(%v28 : f32) outs(%v1 : tensor<7x7xf32>) -> tensor<7x7xf32>
  %v30 = linalg.matmul indexing_maps = [affine_map<(m, n, k) -> (k, m)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] ins(%x0, %v27 : tensor<7x7xf32>, tensor<7x7xf32>) outs(%v29 : tensor<7x7xf32>) -> tensor<7x7xf32>
  %v31 = tensor.empty() : tensor<7x7xf32>
  %v32 = arith.constant 0.000000e+00 : f32
  %v33 = linalg.fill ins(%v32 : f32) outs(%v31 : tensor<7x7xf32>) -> tensor<7x7xf32>
  %v34 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x1, %p1 : tensor<7x7xf32>, tensor<7x7xf32>) outs(%v33 : tensor<7x7xf32>) {
  ^bb0(%v35: f32, %v36: f32, %v37: f32):
    %v38 = arith.mulf %v35, %v36 : f32
    %v39 = arith.addf %v37, %v38 : f32
    linalg.yield %v39 : f32
  } -> tensor<7x7xf32>
  %v40 = tensor.empty() : tensor<7x7xf32>
  %v41 = arith.constant 0.000000e+00 : f32
  %v42 = linalg.fill ins(%v41 : f32) outs(%v40 : tensor<7x7xf32>) -> tensor<7x7xf32>
  %v43 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%v34, %p0 : tensor<7x7xf32>, tensor<7x7xf32>) outs(%v42 : tensor<7x7xf32>) {
  ^bb0(%v44: f32, %v45: f32, %v46: f32):
    %v47 = arith.mulf %v44, %v45 : f32
    %v48 = arith.addf %v46, %v47 : f32
    linalg.yield %v48 : f32
  } -> tensor<7x7xf32>
  %v49 = tensor.empty() : tensor<7x7xf32>
  %v50 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v43 : tensor<7x7xf32>) outs(%v49 : tensor<7x7xf32>) {
  ^bb0(%v51: f32, %v52: f32):
    %v53 = math.tanh %v51 : f32
    linalg.yield %v53 : f32
  } -> tensor<7x7xf32>
  %v54 = tensor.empty() : tensor<7x7xf32>
  %v55 = arith.constant 0.000000e+00 : f32
  %v56 = linalg.fill ins(%v55 : f32) outs(%v54 : tensor<7x7xf32>) -> tensor<7x7xf32>
  %v57 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%v34, %p0 : tensor<7x7xf32>, tensor<7x7xf32>) outs(%v56 : tensor<7x7xf32>) {
  ^bb0(%v58: f32, %v59: f32, %v60: f32):
    %v61 = arith.mulf %v58, %v59 : f32
    %v62 = arith.addf %v60, %v61 : f32
    linalg.yield %v62 : f32
  } -> tensor<7x7xf32>
  %v63 = tensor.empty() : tensor<7x7xf32>
  %v64 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v57 : tensor<7x7xf32>) outs(%v63 : tensor<7x7xf32>) {
  ^bb0(%v65: f32, %v66: f32):
    %v67 = math.tanh %v65 : f32
    linalg.yield %v67 : f32
  } -> tensor<7x7xf32>
  %v68 = tensor.empty() : tensor<7x7xf32>
  %v69 = arith.constant 0.000000e+00 : f32
  %v70 = linalg.fill ins(%v69 : f32) outs(%v68 : tensor<7x7xf32>) -> tensor<7x7xf32>
  %v71 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%v50, %v64 : tensor<7x7xf32>, tensor<7x7xf32>) outs(%v70 : tensor<7x7xf32>) {
  ^bb0(%v72: f32, %v73: f32, %v74: f32):
    %v75 = arith.mulf %v72, %v73 : f32
    %v76 = arith.addf %v74, %v75 : f32
    linalg.yield %v76 : f32
  } -> tensor<7x7xf32>
  %v77 = tensor.empty() : tensor<7xf32>
  %v78 = arith.constant -1.000000e+04 : f32
  %v79 = linalg.fill ins(%v78 : f32) outs(%v77 : tensor<7xf32>) -> tensor<7xf32>
  %v80 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%v71 : tensor<7x7xf32>) outs(%v79 : tensor<7xf32>) {
  ^bb0(%v81: f32, %v82: f32):
    %v83 = arith.maximumf %v82, %v81 : f32
    linalg.yield %v83 : f32
  } -> tensor<7xf32>
  %v84 = tensor.empty() : tensor<7x7xf32>
  %v85 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v71, %v80 : tensor<7x7xf32>, tensor<7xf32>) outs(%v84 : tensor<7x7xf32>) {
  ^bb0(%v86: f32, %v87: f32, %v88: f32):
    %v89 = arith.subf %v86, %v87 : f32
    %v90 = math.exp %v89 : f32
    linalg.yield %v90 : f32
  } -> tensor<7x7xf32>
  %v91 = tensor.empty() : tensor<7xf32>
  %v92 = arith.constant 0.000000e+00 : f32
  %v93 = linalg.fill ins(%v92 : f32) outs(%v91 : tensor<7xf32>) -> tensor<7xf32>
  %v94 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%v85 : tensor<7x7xf32>) outs(%v93 : tensor<7xf32>) {
  ^bb0(%v95: f32, %v96: f32):
    %v97 = arith.addf %v96, %v95 : f32
    linalg.yield %v97 : f32
  } -> tensor<7xf32>
  %v98 = tensor.empty() : tensor<7x7xf32>
  %v99 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v85, %v94 : tensor<7x7xf32>, tensor<7xf32>) outs(%v98 : tensor<7x7xf32>) {
  ^bb0(%v100: f32, %v101: f32, %v102: f32):
    %v103 = arith.divf %v100, %v101 : f32
    linalg.yield %v103 : f32
  } -> tensor<7x7xf32>
  %v104 = tensor.empty() : tensor<7x7xf32>
  %v105 = arith.constant 0.000000e+00 : f32
  %v106 = linalg.fill ins(%v105 : f32) outs(%v104 : tensor<7x7xf32>) -> tensor<7x7xf32>
  %v107 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%v99, %v64 : tensor<7x7xf32>, tensor<7x7xf32>) outs(%v106 : tensor<7x7xf32>) {
  ^bb0(%v108: f32, %v109: f32, %v110: f32):
    %v111 = arith.mulf %v108, %v109 : f32
    %v112 = arith.addf %v110, %v111 : f32
    linalg.yield %v112 : f32
  } -> tensor<7x7xf32>
  %v113 = tensor.empty() : tensor<7x7xf32>
  %v114 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v107, %v50 : tensor<7x7xf32>, tensor<7x7xf32>) outs(%v113 : tensor<7x7xf32>) {
  ^bb0(%v115: f32, %v116: f32, %v117: f32):
    %v118 = arith.mulf %v116, %v116 : f32
    %v119 = arith.constant 1.000000e+00 : f32
    %v120 = arith.subf %v119, %v118 : f32
    %v121 = arith.mulf %v115, %v120 : f32
    linalg.yield %v121 : f32
  } -> tensor<7x7xf32>
  %v122 = tensor.empty() : tensor<7x7xf32>
  %v123 = arith.constant 0.000000e+00 : f32
  %v124 = linalg.fill ins(%v123 : f32) outs(%v122 : tensor<7x7xf32>) -> tensor<7x7xf32>
  %v125 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d2, d0)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%v34, %v114 : tensor<7x7xf32>, tensor<7x7xf32>) outs(%v124 : tensor<7x7xf32>) {
  ^bb0(%v126: f32, %v127: f32, %v128: f32):
    %v129 = arith.mulf %v126, %v127 : f32
    %v130 = arith.addf %v128, %v129 : f32
    linalg.yield %v130 : f32
  } -> tensor<7x7xf32>
  %v131 = tensor.empty() : tensor<7x7xf32>
  %v132 = arith.constant 0.000000e+00 : f32
  %v133 = linalg.fill ins(%v132 : f32) outs(%v131 : tensor<7x7xf32>) -> tensor<7x7xf32>
  %v134 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%v114, %p0 : tensor<7x7xf32>, tensor<7x7xf32>) outs(%v133 : tensor<7x7xf32>) {
  ^bb0(%v135: f32, %v136: f32, %v137: f32):
    %v138 = arith.mulf %v135, %v136 : f32
    %v139 = arith.addf %v137, %v138 : f32
    linalg.yield %v139 : f32
  } -> tensor<7x7xf32>
  %v140 = tensor.empty() : tensor<7x7xf32>
  %v141 = arith.constant 0.000000e+00 : f32
  %v142 = linalg.fill ins(%v141 : f32) outs(%v140 : tensor<7x7xf32>) -> tensor<7x7xf32>
  %v143 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d2, d0)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x1, %v134 : tensor<7x7xf32>, tensor<7x7xf32>) outs(%v142 : tensor<7x7xf32>) {
  ^bb0(%v144: f32, %v145: f32, %v146: f32):
    %v147 = arith.mulf %v144, %v145 : f32
    %v148 = arith.addf %v146, %v147 : f32
    linalg.yield %v148 : f32
  } -> tensor<7x7xf32>
  %v149 = tensor.empty() : tensor<7x7xf32>
  %v150 = arith.constant 0.000000e+00 : f32
  %v151 = linalg.fill ins(%v150 : f32) outs(%v149 : tensor<7x7xf32>) -> tensor<7x7xf32>
  %v152 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d2, d0)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%v99, %v50 : tensor<7x7xf32>, tensor<7x7xf32>) outs(%v151 : tensor<7x7xf32>) {
  ^bb0(%v153: f32, %v154: f32, %v155: f32):
    %v156 = arith.mulf %v153, %v154 : f32
    %v157 = arith.addf %v155, %v156 : f32
    linalg.yield %v157 : f32
  } -> tensor<7x7xf32>
  %v158 = tensor.empty() : tensor<7x7xf32>
  %v159 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v152, %v64 : tensor<7x7xf32>, tensor<7x7xf32>) outs(%v158 : tensor<7x7xf32>) {
  ^bb0(%v160: f32, %v161: f32, %v162: f32):
    %v163 = arith.mulf %v161, %v161 : f32
    %v164 = arith.constant 1.000000e+00 : f32
    %v165 = arith.subf %v164, %v163 : f32
    %v166 = arith.mulf %v160, %v165 : f32
    linalg.yield %v166 : f32
  } -> tensor<7x7xf32>
  %v167 = tensor.empty() : tensor<7x7xf32>
  %v168 = arith.constant 0.000000e+00 : f32
  %v169 = linalg.fill ins(%v168 : f32) outs(%v167 : tensor<7x7xf32>) -> tensor<7x7xf32>
  %v170 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d2, d0)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%v34, %v159 : tensor<7x7xf32>, tensor<7x7xf32>) outs(%v169 : tensor<7x7xf32>) {
  ^bb0(%v171: f32, %v172: f32, %v173: f32):
    %v174 = arith.mulf %v171, %v172 : f32
    %v175 = arith.addf %v173, %v174 : f32
    linalg.yield %v175 : f32
  } -> tensor<7x7xf32>
  %v176 = tensor.empty() : tensor<7x7xf32>
  %v177 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%v125, %v170 : tensor<7x7xf32>, tensor<7x7xf32>) outs(%v176 : tensor<7x7xf32>) {
  ^bb0(%v178: f32, %v179: f32, %v180: f32):
    %v181 = arith.addf %v178, %v179 : f32
    linalg.yield %v181 : f32
  } -> tensor<7x7xf32>
  %v182 = arith.constant 0 : index
  %v183 = arith.constant 0 : index
  %v184 = arith.constant 2 : index
  %v185 = scf.for %v186 = %v182 to %v183 step %v184 iter_args(%v187 = %p1) -> (tensor<7x7xf32>) {
    %v188 = arith.addf %x1, %p1 : tensor<7x7xf32>
    %v189 = arith.maximumf %v187, %x1 : tensor<7x7xf32>
    %v190 = math.tanh %v189 : tensor<7x7xf32>
    scf.yield %v190 : tensor<7x7xf32>
  }
  %v191 = tensor.empty() : tensor<7xf32>
  %v192 = arith.constant -1.000000e+04 : f32
  %v193 = linalg.fill ins(%v192 : f32) outs(%v191 : tensor<7xf32>) -> tensor<7xf32>
  %v194 = linalg.reduce { arith.maximumf } ins(%v0 : tensor<2x7xf32>) outs(%v193 : tensor<7xf32>) dimensions = [0]
  %v195 = tensor.empty() : tensor<7x7xf32>
  %v196 = linalg.broadcast ins(%v194 : tensor<7xf32>) outs(%v195 : tensor<7x7xf32>) dimensions = [1]
  %v197 = arith.mulf %v196, %v30 : tensor<7x7xf32>
  %v198 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d1, d2)>], iterator_types = ["reduction", "parallel", "parallel"]} ins(%v27, %p1 : tensor<7x7xf32>, tensor<7x7xf32>) outs(%v29 : tensor<7x7xf32>) {
  ^bb0(%v199: f32, %v200: f32, %v201: f32):
    %v202 = arith.mulf %v199, %v200 : f32
    %v203 = arith.addf %v201, %v202 : f32
    linalg.yield %v203 : f32
  } -> tensor<7x7xf32>
  %v204 = cs.gradient %v177 of "p0" : tensor<7x7xf32>
  %v205 = cs.gradient %v143 of "p1" : tensor<7x7xf32>
  %v206 = cs.gradient %v197 of "p2" : tensor<7x7xf32>
  %v207 = cs.gradient %v198 of "p3" : tensor<7x7xf32>
  %v208 = arith.constant dense<2.500000e-01> : tensor<7x7xf32>
  %v209 = arith.constant dense<2.500000e-01> : tensor<7x7xf32>
  %v210 = arith.mulf %v205, %v209 : tensor<7x7xf32>
  %v211 = arith.subf %p1, %v210 : tensor<7x7xf32>
  %v212 = tensor.empty() : tensor<f32>
  %v213 = arith.constant 5.000000e-01 : f32
  %v214 = linalg.fill ins(%v213 : f32) outs(%v212 : tensor<f32>) -> tensor<f32>
  %v215 = linalg.reduce { arith.addf } ins(%v34 : tensor<7x7xf32>) outs(%v214 : tensor<f32>) dimensions = [0, 1]
  %v216 = arith.constant dense<3.508772e-02> : tensor<f32>
  %v217 = arith.mulf %v215, %v216 : tensor<f32>
  %v218 = arith.constant 0.000000e+00 : f32
  %v219 = linalg.fill ins(%v218 : f32) outs(%v212 : tensor<f32>) -> tensor<f32>
  %v220 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> ()>], iterator_types = ["reduction", "reduction"]} ins(%v27 : tensor<7x7xf32>) outs(%v219 : tensor<f32>) {
  ^bb0(%v221: f32, %v222: f32):
    %v223 = arith.addf %v221, %v222 : f32
    linalg.yield %v223 : f32
  } -> tensor<f32>
  %v224 = arith.constant dense<7.142857e-02> : tensor<f32>
  %v225 = arith.mulf %v220, %v224 : tensor<f32>
  return %v208, %v211, %v207, %v217, %v225 : tensor<7x7xf32>, tensor<7x7xf32>, tensor<7x7xf32>, tensor<f32>, tensor<f32>
}
