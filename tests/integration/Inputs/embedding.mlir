// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A bag-of-words model: the mean of 4 word vectors, a dense layer, squared
// loss. Trained with adam. Made by embedding.py.
func.func @step(%table: tensor<1000x16xf32> {cs.param = "table", cs.row_sparse},
                %w: tensor<16xf32> {cs.param = "w"},
                %table.m: tensor<1000x16xf32> {cs.state = "table.m"},
                %table.v: tensor<1000x16xf32> {cs.state = "table.v"},
                %w.m: tensor<16xf32> {cs.state = "w.m"},
                %w.v: tensor<16xf32> {cs.state = "w.v"},
                %count: tensor<f32> {cs.state = "count"},
                %words: tensor<8x4xi32> {cs.batch = "words"},
                %y: tensor<8xf32> {cs.batch = "y"})
    -> (tensor<1000x16xf32> {cs.updates = "table"},
        tensor<16xf32> {cs.updates = "w"},
        tensor<1000x16xf32> {cs.updates = "table.m"},
        tensor<1000x16xf32> {cs.updates = "table.v"},
        tensor<16xf32> {cs.updates = "w.m"},
        tensor<16xf32> {cs.updates = "w.v"},
        tensor<f32> {cs.updates = "count"},
        tensor<f32> {cs.metric = "loss"})
    attributes {cs.step} {
  %zero = arith.constant 0.0 : f32
  %ids = tensor.collapse_shape %words [[0, 1]] : tensor<8x4xi32> into tensor<32xi32>
  %e = cs.lookup %table, %ids : (tensor<1000x16xf32>, tensor<32xi32>) -> tensor<32x16xf32>
  %e3 = tensor.expand_shape %e [[0, 1], [2]] output_shape [8, 4, 16]
      : tensor<32x16xf32> into tensor<8x4x16xf32>
  %b0 = tensor.empty() : tensor<8x16xf32>
  %b1 = linalg.fill ins(%zero : f32) outs(%b0 : tensor<8x16xf32>) -> tensor<8x16xf32>
  %sum = linalg.reduce ins(%e3 : tensor<8x4x16xf32>) outs(%b1 : tensor<8x16xf32>) dimensions = [1]
      (%a: f32, %b: f32) { %s = arith.addf %a, %b : f32 linalg.yield %s : f32 }
  %share = arith.constant dense<0.25> : tensor<8x16xf32>
  %bag = arith.mulf %sum, %share : tensor<8x16xf32>
  %p0 = tensor.empty() : tensor<8xf32>
  %p1 = linalg.fill ins(%zero : f32) outs(%p0 : tensor<8xf32>) -> tensor<8xf32>
  %p = linalg.matvec ins(%bag, %w : tensor<8x16xf32>, tensor<16xf32>) outs(%p1 : tensor<8xf32>) -> tensor<8xf32>
  %d = arith.subf %p, %y : tensor<8xf32>
  %dd = arith.mulf %d, %d : tensor<8xf32>
  %l0 = tensor.empty() : tensor<f32>
  %l1 = linalg.fill ins(%zero : f32) outs(%l0 : tensor<f32>) -> tensor<f32>
  %l2 = linalg.reduce ins(%dd : tensor<8xf32>) outs(%l1 : tensor<f32>) dimensions = [0]
      (%a: f32, %b: f32) { %s = arith.addf %a, %b : f32 linalg.yield %s : f32 }
  %half = arith.constant dense<0.0625> : tensor<f32>
  %loss = arith.mulf %l2, %half : tensor<f32>
  %mean = arith.constant dense<0.125> : tensor<8xf32>
  %dp = arith.mulf %d, %mean : tensor<8xf32>
  %g0 = tensor.empty() : tensor<16xf32>
  %g1 = linalg.fill ins(%zero : f32) outs(%g0 : tensor<16xf32>) -> tensor<16xf32>
  %dw = linalg.vecmat ins(%dp, %bag : tensor<8xf32>, tensor<8x16xf32>) outs(%g1 : tensor<16xf32>) -> tensor<16xf32>
  %gw = cs.gradient %dw of "w" : tensor<16xf32>
  %part = arith.constant 0.25 : f32
  %de0 = tensor.empty() : tensor<8x4x16xf32>
  %de3 = linalg.generic {indexing_maps = [affine_map<(i, k, j) -> (i)>, affine_map<(i, k, j) -> (j)>, affine_map<(i, k, j) -> (i, k, j)>],
                         iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%dp, %w : tensor<8xf32>, tensor<16xf32>) outs(%de0 : tensor<8x4x16xf32>) {
  ^bb0(%x: f32, %q: f32, %o: f32):
    %xq = arith.mulf %x, %q : f32
    %r = arith.mulf %xq, %part : f32
    linalg.yield %r : f32
  } -> tensor<8x4x16xf32>
  %de = tensor.collapse_shape %de3 [[0, 1], [2]] : tensor<8x4x16xf32> into tensor<32x16xf32>
  %dtable = cs.segment_sum %ids, %de : (tensor<32xi32>, tensor<32x16xf32>) -> tensor<1000x16xf32>
  %gtable = cs.gradient %dtable of "table" : tensor<1000x16xf32>
  %one = arith.constant dense<1.0> : tensor<f32>
  %count.new = arith.addf %count, %one : tensor<f32>
  %beta1 = arith.constant dense<0.9> : tensor<f32>
  %beta2 = arith.constant dense<0.999> : tensor<f32>
  %beta1t = math.powf %beta1, %count.new : tensor<f32>
  %beta2t = math.powf %beta2, %count.new : tensor<f32>
  %c1 = arith.subf %one, %beta1t : tensor<f32>
  %c2 = arith.subf %one, %beta2t : tensor<f32>
  %table_1 = arith.constant dense<5.00000000e-02> : tensor<1000x16xf32>
  %table_2 = arith.constant dense<9.00000000e-01> : tensor<1000x16xf32>
  %table_3 = arith.mulf %table.m, %table_2 : tensor<1000x16xf32>
  %table_4 = arith.constant dense<1.00000000e-01> : tensor<1000x16xf32>
  %table_5 = arith.mulf %gtable, %table_4 : tensor<1000x16xf32>
  %table.m.new = arith.addf %table_3, %table_5 : tensor<1000x16xf32>
  %table_7 = arith.mulf %gtable, %gtable : tensor<1000x16xf32>
  %table_8 = arith.constant dense<9.99000000e-01> : tensor<1000x16xf32>
  %table_9 = arith.mulf %table.v, %table_8 : tensor<1000x16xf32>
  %table_10 = arith.constant dense<1.00000000e-03> : tensor<1000x16xf32>
  %table_11 = arith.mulf %table_7, %table_10 : tensor<1000x16xf32>
  %table.v.new = arith.addf %table_9, %table_11 : tensor<1000x16xf32>
  %table_13 = tensor.empty() : tensor<1000x16xf32>
  %table_c1 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> ()>, affine_map<(d0, d1) -> (d0, d1)>],
      iterator_types = ["parallel", "parallel"]} ins(%c1 : tensor<f32>) outs(%table_13 : tensor<1000x16xf32>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  } -> tensor<1000x16xf32>
  %table_14 = arith.divf %table.m.new, %table_c1 : tensor<1000x16xf32>
  %table_15 = tensor.empty() : tensor<1000x16xf32>
  %table_c2 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> ()>, affine_map<(d0, d1) -> (d0, d1)>],
      iterator_types = ["parallel", "parallel"]} ins(%c2 : tensor<f32>) outs(%table_15 : tensor<1000x16xf32>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  } -> tensor<1000x16xf32>
  %table_16 = arith.divf %table.v.new, %table_c2 : tensor<1000x16xf32>
  %table_17 = math.sqrt %table_16 : tensor<1000x16xf32>
  %table_18 = arith.constant dense<1.00000000e-08> : tensor<1000x16xf32>
  %table_19 = arith.addf %table_17, %table_18 : tensor<1000x16xf32>
  %table_20 = arith.mulf %table_14, %table_1 : tensor<1000x16xf32>
  %table_21 = arith.divf %table_20, %table_19 : tensor<1000x16xf32>
  %table.new = arith.subf %table, %table_21 : tensor<1000x16xf32>
  %w_1 = arith.constant dense<5.00000000e-02> : tensor<16xf32>
  %w_2 = arith.constant dense<9.00000000e-01> : tensor<16xf32>
  %w_3 = arith.mulf %w.m, %w_2 : tensor<16xf32>
  %w_4 = arith.constant dense<1.00000000e-01> : tensor<16xf32>
  %w_5 = arith.mulf %gw, %w_4 : tensor<16xf32>
  %w.m.new = arith.addf %w_3, %w_5 : tensor<16xf32>
  %w_7 = arith.mulf %gw, %gw : tensor<16xf32>
  %w_8 = arith.constant dense<9.99000000e-01> : tensor<16xf32>
  %w_9 = arith.mulf %w.v, %w_8 : tensor<16xf32>
  %w_10 = arith.constant dense<1.00000000e-03> : tensor<16xf32>
  %w_11 = arith.mulf %w_7, %w_10 : tensor<16xf32>
  %w.v.new = arith.addf %w_9, %w_11 : tensor<16xf32>
  %w_13 = tensor.empty() : tensor<16xf32>
  %w_c1 = linalg.generic {indexing_maps = [affine_map<(d0) -> ()>, affine_map<(d0) -> (d0)>],
      iterator_types = ["parallel"]} ins(%c1 : tensor<f32>) outs(%w_13 : tensor<16xf32>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  } -> tensor<16xf32>
  %w_14 = arith.divf %w.m.new, %w_c1 : tensor<16xf32>
  %w_15 = tensor.empty() : tensor<16xf32>
  %w_c2 = linalg.generic {indexing_maps = [affine_map<(d0) -> ()>, affine_map<(d0) -> (d0)>],
      iterator_types = ["parallel"]} ins(%c2 : tensor<f32>) outs(%w_15 : tensor<16xf32>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  } -> tensor<16xf32>
  %w_16 = arith.divf %w.v.new, %w_c2 : tensor<16xf32>
  %w_17 = math.sqrt %w_16 : tensor<16xf32>
  %w_18 = arith.constant dense<1.00000000e-08> : tensor<16xf32>
  %w_19 = arith.addf %w_17, %w_18 : tensor<16xf32>
  %w_20 = arith.mulf %w_14, %w_1 : tensor<16xf32>
  %w_21 = arith.divf %w_20, %w_19 : tensor<16xf32>
  %w.new = arith.subf %w, %w_21 : tensor<16xf32>
  return %table.new, %w.new, %table.m.new, %table.v.new, %w.m.new, %w.v.new, %count.new, %loss : tensor<1000x16xf32>, tensor<16xf32>, tensor<1000x16xf32>, tensor<1000x16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<f32>, tensor<f32>
}
