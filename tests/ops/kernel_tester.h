// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs a kernel and the plain loops on the same random operands.
#ifndef COMMSCHED_TESTS_OPS_KERNEL_TESTER_H
#define COMMSCHED_TESTS_OPS_KERNEL_TESTER_H

#include <string>
#include <vector>

#include "ops/registry.h"

namespace commsched::testing {

ops::KernelOperand Operand(ops::Element element, std::vector<int64_t> dims,
                           std::vector<int64_t> strides);
// Row-major.
ops::KernelOperand Dense(ops::Element element, std::vector<int64_t> dims);
// Dense in memory with the dimensions in the order `order`, outermost first.
ops::KernelOperand Permuted(ops::Element element, std::vector<int64_t> dims,
                            std::vector<int> order);

struct Comparison {
  std::string implementation;
  // Largest difference, divided by the largest magnitude of the result.
  double error = 0;
  // Whether anything outside of the output's elements was written.
  bool damaged = false;
};

// Makes the kernel with MakeKernel and with the reference, runs both twice.
// Fails the test if it cannot be made.
Comparison Compare(const ops::KernelDesc &desc);

}  // namespace commsched::testing

#endif  // COMMSCHED_TESTS_OPS_KERNEL_TESTER_H
