func.func @step(%w: tensor<4xf32> {cs.param = "w"}, %x: tensor<4xf32> {cs.batch = "x"})
    -> (tensor<4xf32> {cs.updates = "w"}) attributes {cs.step} {
  %g0 = cs.gradient %x of "w" : tensor<4xf32>
  %g1 = cs.gradient %g0 of "w" : tensor<4xf32>
  %new = arith.subf %w, %g1 : tensor<4xf32>
  return %new : tensor<4xf32>
}
