// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which tensors share a message, taken in order of release.

#ifndef COMMSCHED_PASSES_SCHEDULE_SOLVER_FUSION_H
#define COMMSCHED_PASSES_SCHEDULE_SOLVER_FUSION_H

#include "passes/schedule/solver/Order.h"

namespace commsched::schedule {

/// Tensors on one link that serves them in this order.
struct FusionCosts {
  std::vector<double> ready;    ///< when each is there, not decreasing
  std::vector<double> transfer; ///< time that each needs on the link
  double perMessage = 0;        ///< time that each message needs in addition
};
FusionCosts fusionCosts(const View &view, const std::vector<unsigned> &kind,
                        bool withLatency);

/// Where the messages of a division begin (the first is 0).
using Division = std::vector<unsigned>;

/// When the last message is through.
double finish(const FusionCosts &costs, const Division &division);

/// The division into consecutive tensors that is through first: the exact
/// recursion
///   F(b) = min over a < b of max(F(a), ready(b)) + perMessage + transfer(a..b)
/// in linear time, since F and ready do not decrease: of the a with
/// F(a) <= ready(b) the last is best, and among the others F(a) - transfer(0..a)
/// decides, the minimum over a window that only moves forward.
/// Messages of several tensors have a transfer time of `most` at most.
Division fuseExactly(const FusionCosts &costs, double most);

/// MG-WFBP's greedy merging (Shi et al., INFOCOM 2019, algorithm 1): a tensor
/// joins the next one if that is ready less than the cost of a message after this
/// one could be sent.
Division fuseGreedily(const FusionCosts &costs);

/// Messages are closed when they have `bytes` or more; the first one when it has
/// `firstBytes`.
Division fuseBySize(const View &view, const std::vector<unsigned> &kind, int64_t bytes,
                    int64_t firstBytes);

/// Messages of several tensors have at most `bytes`, and tensors are joined as long as
/// they fit: from the first one on or, if `fromLast`, from the last.
Division fuseUpTo(const View &view, const std::vector<unsigned> &kind, int64_t bytes,
                  bool fromLast = false);

/// The members of each message. Where an op of the same step needs one tensor before
/// another is produced, they cannot share a message: it is divided there.
std::vector<std::vector<unsigned>> divide(const View &view,
                                          const std::vector<unsigned> &kind,
                                          const Division &division);

} // namespace commsched::schedule

#endif // COMMSCHED_PASSES_SCHEDULE_SOLVER_FUSION_H
