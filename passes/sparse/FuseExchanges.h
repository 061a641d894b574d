// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef COMMSCHED_PASSES_SPARSE_FUSEEXCHANGES_H
#define COMMSCHED_PASSES_SPARSE_FUSEEXCHANGES_H

#include "ir/Cs.h"

namespace commsched::sparse {

/// Whether exchanges like it can be joined: cs.all_gather, and cs.pair_exchange and
/// cs.all_to_all of rows.
bool isFusable(mlir::Operation *op);

/// Bytes up to which joining messages pays: what a link carries while it would wait
/// for one more.
int64_t fusionBytes(cs::LinkAttr link);

/// Joins exchanges of one kind, device and number of rows, neighbours in the order of
/// the block, until a message has `bytes`: their rows side by side in a fragment
/// `join.<key>`, one exchange `<key>+<others>`, and what each would have brought from
/// a fragment `cut.<key>`. `exchanges` are of one block, in its order, and fusable.
/// `tell` learns of each exchange that is made, and the keys that it is in place of.
using TellFused =
    llvm::function_ref<void(mlir::Operation *made, llvm::ArrayRef<llvm::StringRef> keys)>;
void fuseExchanges(llvm::ArrayRef<mlir::Operation *> exchanges, int64_t bytes,
                   TellFused tell);

} // namespace commsched::sparse

#endif // COMMSCHED_PASSES_SPARSE_FUSEEXCHANGES_H
