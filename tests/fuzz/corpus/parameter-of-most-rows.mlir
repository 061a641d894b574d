// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Rows are counted up to the largest number: the end of the last block is no
// number of 64 bits.
func.func @step(%w: tensor<9223372036854775807x1xf32> {cs.param = "w"}, %x: tensor<9223372036854775807x1xf32> {cs.batch = "x"})
    -> (tensor<9223372036854775807x1xf32> {cs.updates = "w"}) attributes {cs.step} {
  %g = cs.gradient %x of "w" : tensor<9223372036854775807x1xf32>
  %n = arith.subf %w, %g : tensor<9223372036854775807x1xf32>
  return %n : tensor<9223372036854775807x1xf32>
}
