// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The kernels of sparse gradients that plans may call (Plan.kernels). Operands
// are dense, row-major, in the order given: inputs, then outputs, which do not
// overlap unless it says so. T is f32, f16 or bf16, the same in one kernel; I
// is i32 or i64. Attributes are lists of one integer; those in [] may be left
// out.
//
// "top_k": input T [d]; values T [k], indices I [k].
//   [method] 0 exact, 1 histogram, 2 sampled, 3 MSTopK; [steps], [seed],
//   [stop_early]: ops/sparse/top_k.h. With [has_step] 1 the last input is the
//   number of the step, i32 [1], and the seed SeedOfStep of both; so in the two
//   kinds below that have these attributes.
// "top_k_feedback": gradient T [d], residual T [d]; values T [k], indices I [k],
//   new residual T [d], which may be the memory of the residual. Attributes as
//   above.
// "select_above": input T [d], threshold T [1]; values T [k], indices I [k],
//   count i64 [1]. Padding behind the first `count`: value 0, index -1.
// "select_above_feedback": gradient T [d], residual T [d], threshold T [1];
//   values T [k], indices I [k], count i64 [1], new residual T [d], which may
//   be the memory of the residual.
// "top_k_every": gradient T [d], residual T [d], state f32 [2]; values T [k],
//   indices I [k], new residual T [d], new state f32 [2]; the new ones may be
//   the memory of the old ones. every: 1 to 2^24; the other attributes as
//   above. In one of so many steps like "top_k_feedback", and in the others like
//   "select_above_feedback" with the threshold of that step: TopKEvery of
//   ops/sparse/top_k.h. The state is zero to begin with.
// "scatter_add": indices I [n], values T [n] or [n, w]; target T [d] or [d, w].
//   target = the sum of the entries, 0 elsewhere; with `accumulate`, added to
//   it. [denominator]: entries are divided by it.
// "scatter_clear": indices I [n]; target T [d] or [d, w]. Sets these elements
//   (rows) to 0, and leaves the others. `accumulate` must be set.
// "scatter_add_others": indices I [n], values T [n], others I [m]; target
//   T [d]. Adds the entries whose index is not in `others`. Both lists ascend,
//   padding anywhere. `accumulate` must be set.
// "merge_lists": indices I [n], values T [n] or [n, w]; indices I [n], values T
//   [n] or [n, w]. One entry for each index, ascending, then padding.
//   [denominator]: sums are divided by it.
// "merge_top_k": indices I [n], values T [n]; values T [k], indices I [k].
//   The k of largest magnitude after merging, then padding.
// "split_regions": indices I [k], values T [k], shifts I [n - 1]; values T
//   [n c], indices I [n c], counts I [n]. size: elements of the array. Cuts the
//   list into n regions, c entries of each at most: ops/sparse/regions.h.
// "balance_regions": indices I [n c], counts I [n], shifts I [n - 1]; new shifts
//   I [n - 1], which may be the memory of the shifts. size as above.
// "quantize": values T [n]; f16 or bf16 [n], or i8 [n] and scales f32
//   [ceil(n / block)]. [block]: elements of a scale; n without it.
// "dequantize": f16 or bf16 [n], or i8 [n] and scales f32; values T [n].
//   [block] as above.
// "pack_words": values T or i8 [n k]; words i32 [n w]. row: k. The bits of k values at
//   a time, in w words, as many as they need; bits behind the last are 0.
// "unpack_words": words i32 [n w]; values T or i8 [n k]. row as above.
//
// Index -1 is padding wherever a list is read. What Run returns:
// kInvalidArgument for elements to select from that are NaN or infinite, with
// their number and the first index; kOutOfRange for an index that lies outside.
#ifndef COMMSCHED_OPS_SPARSE_KERNELS_H
#define COMMSCHED_OPS_SPARSE_KERNELS_H

#include <map>
#include <string>

#include "ops/base/kernel.h"

namespace commsched::ops {

// The kinds above.
void AddSparseKernels(KernelFamilies *kinds);

}  // namespace commsched::ops

#endif  // COMMSCHED_OPS_SPARSE_KERNELS_H
