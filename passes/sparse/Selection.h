// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Fragments that select from gradients, and that make gradients of selections.

#ifndef COMMSCHED_PASSES_SPARSE_SELECTION_H
#define COMMSCHED_PASSES_SPARSE_SELECTION_H

#include "ir/CsSparseOps.h"
#include "mlir/IR/Builders.h"
#include "passes/sparse/Correction.h"

namespace commsched::sparse {

/// Selected elements of one or several ranks travel as one tensor with the encoding
/// #cs.coordinates.
int64_t listsOf(mlir::Value message);

/// How ranks select, and what they keep.
struct SelectionRules {
  std::string select = "exact";         // cs.top_k's method
  int64_t samples = cs::kMsTopKSamples; // of mstopk, as the next two
  bool earlyStop = true;
  int64_t seed = 0;            // of the program; each selection draws from its own
  bool feedback = true;        // what is not selected is kept
  CorrectionRules correction;  // of what is selected from
  bool mask = true;            // with momentum alone: factor masking
  double clip = 0;             // bound of the norm times sqrt(ranks), if not 0
  std::string values = "same"; // valueTypes(): what they travel as
  double unsentRate = 0;       // of what is kept, in what gradients are computed at
  int64_t exactEvery = 1;      // steps that a threshold serves for; above 1, with feedback
};

/// What the fragments of one tensor have in common.
struct SelectionContext {
  mlir::OpBuilder &builder;
  mlir::Location loc;
  mlir::RankedTensorType type; // dense
  int64_t k;                   // selected
  mlir::Type values;           // what they travel as: the element type, or a narrower one
  const SelectionRules &rules;
  bool withBody; // else fragments have only a cost

  /// Where cs.top_k of the fragment `label` begins to draw.
  int64_t seedOf(llvm::StringRef label) const;

  /// Of lists of this tensor.
  mlir::RankedTensorType messageType(int64_t lists, int64_t entries, bool counted) const;
  int64_t messageBytes(int64_t lists, int64_t entries, bool counted) const;
};

/// What a rank keeps from step to step: null if the rules do not want it.
struct Kept {
  mlir::Value residual;
  Moments moments;
  mlir::Value threshold; // of cs.top_k
  mlir::Value step;      // of mstopk: its number

  llvm::SmallVector<mlir::Value, 6> present() const;
  /// `values` in place of those that are present, in their order.
  Kept with(mlir::ValueRange values) const;
};

/// Selects from `value`, of `ranks` that select of this tensor, and what is kept.
struct Selected {
  mlir::Value message;
  Kept kept;         // the new values
  mlir::Value twice; // the list, two times; null if not asked for
};
Selected selectTopK(const SelectionContext &context, llvm::StringRef label,
                    mlir::Value value, const Kept &kept, int64_t ranks, bool deferred,
                    bool twice = false);

/// Selects k again from the sum of the lists; `times` lists, all the same. Deferred.
mlir::Value mergeTopK(const SelectionContext &context, llvm::StringRef label,
                      mlir::Value message, int64_t times);

/// `rest` and what `own`, one list, has and `sent`, one list, has not. Deferred.
mlir::Value giveBack(const SelectionContext &context, llvm::StringRef label,
                     mlir::Value rest, mlir::Value own, mlir::Value sent);

/// The sum of the lists, divided by `over`; deferred.
mlir::Value scatterAdd(const SelectionContext &context, llvm::StringRef label,
                       mlir::Value message, int64_t over);

} // namespace commsched::sparse

#endif // COMMSCHED_PASSES_SPARSE_SELECTION_H
