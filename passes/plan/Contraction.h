// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What kind of contraction a linalg.generic is.

#ifndef COMMSCHED_PASSES_PLAN_CONTRACTION_H
#define COMMSCHED_PASSES_PLAN_CONTRACTION_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

#include <array>
#include <optional>

namespace commsched::planexport {

/// out += in0 * in1.
bool isMultiplyAdd(mlir::linalg::GenericOp op);

/// A loop by the operands (0, 1: inputs, 2: output) whose maps name it, alone
/// or in a sum.
struct LoopUse {
  std::array<bool, 3> in{};
  unsigned mask() const { return in[0] | in[1] << 1 | in[2] << 2; }
};

/// A window: dimension `result` of the large operand is
/// `coefficient[0] * loop[0] + coefficient[1] * loop[1]`.
struct Window {
  unsigned result;
  std::array<unsigned, 2> loop;
  std::array<int64_t, 2> coefficient;
};

struct ContractionInfo {
  llvm::SmallVector<LoopUse> loops;
  /// Index of the operand with the windows, and them; -1 and none for a
  /// matrix product.
  int large = -1;
  llvm::SmallVector<Window> windows;
};

/// The structure of a multiply-add, unless it is neither a matrix product nor
/// a convolution.
std::optional<ContractionInfo> analyseContraction(mlir::linalg::GenericOp op);

/// "matmul" or "convolution" if a library kernel should run it: both element
/// types known to the kernels, and enough work.
std::optional<llvm::StringRef> kernelFamily(mlir::linalg::GenericOp op);

} // namespace commsched::planexport

#endif // COMMSCHED_PASSES_PLAN_CONTRACTION_H
