// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks of the operands of the kernels of ops/sparse.
#ifndef COMMSCHED_OPS_SPARSE_OPERANDS_H
#define COMMSCHED_OPS_SPARSE_OPERANDS_H

#include <cstdint>
#include <initializer_list>
#include <vector>

#include "absl/status/status.h"
#include "ops/base/kernel.h"

namespace commsched::ops::sparse {

// What an operand must be: f32, f16 or bf16, all of a kernel alike; i32 or i64,
// all alike; i64; f32; f16, bf16 or i8; f32; i32; f32 or a code.
enum class Is {
  kValue,
  kIndex,
  kCount,
  kScale,
  kCode,
  kState,
  kNumber,
  kWords
};

// The first dimension, and the second, if any; and the product of both.
int64_t Rows(const KernelOperand &operand);
int64_t Width(const KernelOperand &operand);
int64_t Elements(const KernelOperand &operand);

// Number and types of operands, dense ones of one or two dimensions; and that
// there are no other attributes than these, each of one value.
absl::Status CheckOperands(const KernelDesc &desc,
                           const std::vector<Is> &operands,
                           std::initializer_list<const char *> attributes);

// Operands that must have the same dimensions; one that must be [length];
// indices [n] with values [n] or [n, w].
absl::Status CheckSame(const KernelDesc &desc, size_t a, size_t b);
absl::Status CheckLength(const KernelDesc &desc, size_t operand,
                         int64_t length);
absl::Status CheckList(const KernelDesc &desc, size_t indices, size_t values);

// The value of an attribute, or `otherwise` if it is not there.
int64_t Attribute(const KernelDesc &desc, const char *name, int64_t otherwise);

}  // namespace commsched::ops::sparse

#endif  // COMMSCHED_OPS_SPARSE_OPERANDS_H
