// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What options of --lower-sparse-comm may be, by themselves and beside each other, and what they say.

#ifndef COMMSCHED_PASSES_SPARSE_OPTIONS_H
#define COMMSCHED_PASSES_SPARSE_OPTIONS_H

#include "passes/sparse/Passes.h"
#include "passes/sparse/Selection.h"

namespace commsched::sparse {

/// What is wrong with them; empty: nothing. Those of which Policy is made, it checks itself.
std::string checkOptions(const LowerSparseCommOptions &options);

/// One that was given and is of selections only; empty: none.
llvm::StringRef optionOfSelections(const LowerSparseCommOptions &options);

SelectionRules rulesOfSelection(const LowerSparseCommOptions &options);

/// Those that say what stands in the place of the optimizer's moments; empty: nothing does.
std::string textOfCorrection(const LowerSparseCommOptions &options);

/// All digits that tell it from others.
std::string textOf(double value);

} // namespace commsched::sparse

#endif // COMMSCHED_PASSES_SPARSE_OPTIONS_H
