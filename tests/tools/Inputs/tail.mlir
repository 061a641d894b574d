// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

cs.problem @tail {
  %l = cs.problem.link "l" bytes_per_second 1000000000
  %f = cs.problem.compute "f" ns 3000 shared_ns 2000
  %w = cs.problem.communication "w" bytes 4000 from (%f) to (next %f) through (%l bytes 2000, %l bytes 2000) tail 2000
}
