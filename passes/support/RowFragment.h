// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Fragments that act row by row: row i of the results depends on row i of some inputs
// and on the whole of the others.

#ifndef COMMSCHED_PASSES_SUPPORT_ROWFRAGMENT_H
#define COMMSCHED_PASSES_SUPPORT_ROWFRAGMENT_H

#include "ir/Cs.h"
#include "mlir/IR/Builders.h"

namespace commsched {

/// How a fragment of whose results some rows are wanted needs an input.
struct RowUse {
  bool whole = false;  ///< all of it
  bool byRows = false; ///< the same rows
};

/// By input of `fragment`; nothing if its results do not have the same rows, or, without a
/// body, if it does not say what it is (cs.by_rows).
std::optional<llvm::SmallVector<RowUse>> rowUses(cs::FragmentOp fragment);

/// The fragment for rows [begin, end) of its results, made by `builder`. `inputs` are
/// its inputs, where `isCut` says so only these rows of them: none that it needs whole.
/// Requires rowUses().
cs::FragmentOp cutFragment(mlir::OpBuilder &builder, cs::FragmentOp fragment,
                           llvm::StringRef label, int64_t begin, int64_t end,
                           mlir::ValueRange inputs, llvm::ArrayRef<bool> isCut);

/// `type` with `rows` rows of dimension 0.
cs::PlacedType withRows(cs::PlacedType type, int64_t rows);

} // namespace commsched

#endif // COMMSCHED_PASSES_SUPPORT_ROWFRAGMENT_H
