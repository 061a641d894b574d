// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// An encoding that is asked whether it fits an element type that is not there.
func.func private @rank(tensor<, #cs.coordinates<tensor<8xf32>>>)
