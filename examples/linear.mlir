// Linear regression by gradient descent, written by hand.
func.func @step(%w: tensor<8xf32> {cs.param = "w"}, %x: tensor<16x8xf32> {cs.batch = "x"},
                %y: tensor<16xf32> {cs.batch = "y"}) -> (tensor<8xf32> {cs.updates = "w"}) attributes {cs.step} {
  %zero = arith.constant 0.0 : f32
  %rate = arith.constant dense<0.00625> : tensor<8xf32>
  %e0 = tensor.empty() : tensor<16xf32>
  %z0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<16xf32>) -> tensor<16xf32>
  %p = linalg.matvec ins(%x, %w : tensor<16x8xf32>, tensor<8xf32>) outs(%z0 : tensor<16xf32>) -> tensor<16xf32>
  %d = arith.subf %p, %y : tensor<16xf32>
  %e1 = tensor.empty() : tensor<8xf32>
  %z1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<8xf32>) -> tensor<8xf32>
  %g = linalg.vecmat ins(%d, %x : tensor<16xf32>, tensor<16x8xf32>) outs(%z1 : tensor<8xf32>) -> tensor<8xf32>
  %g1 = cs.gradient %g of "w" : tensor<8xf32>
  %u = arith.mulf %g1, %rate : tensor<8xf32>
  %new = arith.subf %w, %u : tensor<8xf32>
  return %new : tensor<8xf32>
}
