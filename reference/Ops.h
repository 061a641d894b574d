// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tables of ops, one function for each subject; and what an interpreter keeps.

#ifndef COMMSCHED_REFERENCE_OPS_H
#define COMMSCHED_REFERENCE_OPS_H

#include "reference/Payload.h"

namespace commsched::reference {

using OpTable = llvm::StringMap<OpFunction>;
void addControlOps(OpTable &table);
void addTensorOps(OpTable &table);
void addCsOps(OpTable &table);
void addSelectionOps(OpTable &table);
void addListOps(OpTable &table);
void addStructuredOps(OpTable &table);

/// Of linalg ops by their maps and regions; of ops with a scalarBuilder on tensors,
/// element by element.
llvm::LogicalResult evaluateStructured(OpContext &context);
llvm::LogicalResult evaluateElementwise(OpContext &context);

/// Of a list of one rank, `list` of `listType`, the tensor that has its values where it says,
/// and else zeros. Errors are those of `at`.
llvm::FailureOr<ArrayPtr> spreadList(mlir::Operation *at, const Array &list,
                                     mlir::RankedTensorType listType,
                                     mlir::RankedTensorType dense);

/// What is known of a block: after which op a value is not needed, and whether it is
/// needed by regions of that op.
struct BlockUses {
  struct LastUse {
    mlir::Value value;
    bool inRegion;
  };
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<LastUse, 2>> lastUses;
};

struct Interpreter::Cache {
  llvm::DenseMap<mlir::Operation *, std::unique_ptr<Payload>> payloads;
  llvm::DenseMap<mlir::Block *, std::unique_ptr<BlockUses>> uses;

  /// Null after an error.
  Payload *payloadOf(mlir::Operation *op, mlir::Block &block, unsigned firstSum);
  Payload *payloadOf(mlir::Operation *op);
};

/// Visits all points of a space in row-major order.
template <typename Visit>
void forEachPoint(llvm::ArrayRef<int64_t> shape, Visit visit) {
  for (int64_t size : shape)
    if (size == 0)
      return;
  llvm::SmallVector<int64_t> at(shape.size(), 0);
  while (true) {
    visit(llvm::ArrayRef<int64_t>(at));
    size_t d = shape.size();
    while (d > 0 && ++at[d - 1] == shape[d - 1])
      at[--d] = 0;
    if (d == 0)
      return;
  }
}
/// Of row-major elements.
inline llvm::SmallVector<int64_t> stridesOf(llvm::ArrayRef<int64_t> shape) {
  llvm::SmallVector<int64_t> strides(shape.size(), 1);
  for (size_t d = shape.size(); d > 1; --d)
    strides[d - 2] = strides[d - 1] * shape[d - 1];
  return strides;
}
/// Fails with an error at the op of `context` if an element of operand `i` was never
/// written.
llvm::LogicalResult checkWritten(OpContext &context, unsigned i);

} // namespace commsched::reference

#endif // COMMSCHED_REFERENCE_OPS_H
