// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the makers of fragments of sparse exchanges share. Internal to
// passes/sparse/.

#ifndef COMMSCHED_PASSES_SPARSE_FRAGMENTMAKER_H
#define COMMSCHED_PASSES_SPARSE_FRAGMENTMAKER_H

#include "ir/CsSparseOps.h"
#include "passes/sparse/Selection.h"

namespace commsched::sparse {

/// Makes a fragment on the device of its inputs: its type, its cost, and its body if
/// there is one.
class FragmentMaker {
public:
  FragmentMaker(const SelectionContext &context, llvm::StringRef label,
                mlir::ValueRange inputs, llvm::ArrayRef<mlir::RankedTensorType> results,
                int64_t flops, int64_t bytes, bool deferred)
      : FragmentMaker(context.builder, context.loc, label, inputs, results, flops, bytes,
                      deferred, context.withBody) {}
  FragmentMaker(mlir::OpBuilder &builder, mlir::Location loc, llvm::StringRef label,
                mlir::ValueRange inputs, llvm::ArrayRef<mlir::RankedTensorType> results,
                int64_t flops, int64_t bytes, bool deferred, bool withBody);
  bool hasBody() const { return body != nullptr; }
  mlir::BlockArgument argument(unsigned i) { return body->getArgument(i); }
  mlir::ValueRange arguments() { return body->getArguments(); }
  void finish(mlir::Location loc, mlir::ValueRange values);

  cs::FragmentOp fragment;
  mlir::OpBuilder inside;

private:
  mlir::Block *body = nullptr;
};

/// All lists of argument `i`, a message.
cs::UnpackListsOp unpack(const SelectionContext &context, FragmentMaker &maker, unsigned i);

/// What a fragment selects: of its argument 0, with what is kept, from argument 1 on,
/// as far as `kept` has it.
struct SelectedInside {
  cs::TopKOp top;
  Kept kept; // the new values
};
SelectedInside selectInside(const SelectionContext &context, FragmentMaker &maker,
                            const Kept &kept, int64_t ranks);

/// Its parts: `from` scaled as the rules want it, of so many ranks that select; what is
/// selected, in the fragment `label` at `in`, with the values of what is kept; and the
/// message of that, whose rounding goes to the residual.
mlir::Value clipped(mlir::OpBuilder &in, mlir::Location loc, mlir::Value from,
                    const SelectionRules &rules, int64_t ranks);
SelectedInside selectFrom(const SelectionContext &context, mlir::OpBuilder &in,
                          llvm::StringRef label, mlir::Value from, const Kept &own,
                          int64_t ranks);
mlir::Value packSelected(const SelectionContext &context, mlir::OpBuilder &in,
                         SelectedInside &selected);

/// How often the tensor's memory is read or written by that, apart from what is
/// selected.
int64_t passesOfSelection(const SelectionRules &rules, const Kept &kept);

} // namespace commsched::sparse

#endif // COMMSCHED_PASSES_SPARSE_FRAGMENTMAKER_H
