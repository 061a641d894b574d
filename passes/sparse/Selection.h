// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Fragments that select from gradients, and that make gradients of selections.

#ifndef COMMSCHED_PASSES_SPARSE_SELECTION_H
#define COMMSCHED_PASSES_SPARSE_SELECTION_H

#include "ir/Cs.h"
#include "mlir/IR/Builders.h"

namespace commsched::sparse {

/// Selected elements of one or several ranks, as they travel: one tensor
/// <lists x 2k x i32> with the bits of k values, then k indices in each row; of
/// element types of another width two, <lists x k> each.
struct Message {
  llvm::SmallVector<mlir::Value, 2> parts;
  int64_t lists() const;
};

/// What the fragments of one tensor have in common.
struct SelectionContext {
  mlir::OpBuilder &builder;
  mlir::Location loc;
  mlir::RankedTensorType type; // dense
  int64_t k;                   // selected
  llvm::StringRef select;      // cs.top_k's method
  bool withBody;               // else fragments have only a cost

  bool isPacked() const { return type.getElementTypeBitWidth() == 32; }
  /// Names of the message's parts: `key`, or `key`.values and `key`.indices.
  llvm::SmallVector<std::string, 2> keysOf(llvm::StringRef key) const;
};

/// Selects from `value + residual`, on their device.
struct Selected {
  Message message;
  mlir::Value residual; // the new one
  Message twice;        // the list, two times; empty if not asked for
};
Selected selectTopK(const SelectionContext &context, llvm::StringRef label,
                    mlir::Value value, mlir::Value residual, bool deferred,
                    bool twice = false);

/// Selects k again from the sum of the lists; `times` lists, all the same. Deferred.
Message mergeTopK(const SelectionContext &context, llvm::StringRef label,
                  const Message &message, int64_t times);

/// `rest` and what `own`, one list, has and `sent`, one list, has not. Deferred.
mlir::Value giveBack(const SelectionContext &context, llvm::StringRef label,
                     mlir::Value rest, const Message &own, const Message &sent);

/// The sum of the lists, divided by `over`; deferred.
mlir::Value scatterAdd(const SelectionContext &context, llvm::StringRef label,
                       const Message &message, int64_t over);

} // namespace commsched::sparse

#endif // COMMSCHED_PASSES_SPARSE_SELECTION_H
