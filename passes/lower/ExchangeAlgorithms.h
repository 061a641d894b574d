// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Collectives as sequences of exchanges, for any number of ranks, and what they
// take by the latency and bandwidth of a link.

#ifndef COMMSCHED_PASSES_LOWER_EXCHANGEALGORITHMS_H
#define COMMSCHED_PASSES_LOWER_EXCHANGEALGORITHMS_H

#include "ir/Cs.h"
#include "llvm/ADT/SmallVector.h"

namespace commsched {

enum class CollectiveKind {
  allReduce,
  reduce,
  broadcast,
  reduceScatter,
  allGather,
  allToAll
};

enum class ExchangeAlgorithm {
  ring,
  halvingDoubling,
  recursiveDoubling,
  tree,
  pairwise
};

llvm::StringRef stringify(CollectiveKind kind);
llvm::StringRef stringify(ExchangeAlgorithm algorithm);

/// The attributes of one cs.exchange.
struct ExchangePhase {
  int64_t chunks;
  int64_t rounds;
  cs::Combine combine;
  bool scaled; // by 1 / ranks
  cs::SideAttr send;
  cs::SideAttr recv;
};

struct Collective {
  CollectiveKind kind;
  cs::Reduction reduction = cs::Reduction::sum; // of reductions
  int64_t root = 0;                             // of reduce and broadcast
};

/// True if `algorithm` can do `kind` with this number of ranks.
bool isApplicable(ExchangeAlgorithm algorithm, CollectiveKind kind,
                  int64_t ranks);

/// The exchanges of `collective` over the whole tensor. For reduce_scatter rank
/// r ends with part r of `ranks` parts; for all_gather it begins with it. The tensor of
/// all_to_all has two halves: parts to send, parts received. Empty for one rank.
/// `algorithm` must be applicable.
///
/// Ring: Patarasu, Yuan, "Bandwidth optimal all-reduce algorithms", JPDC 2009.
/// Halving/doubling, recursive doubling, binomial trees, pairwise exchange: Thakur, Rabenseifner,
/// Gropp, "Optimization of collective communication operations in MPICH", IJHPCA 2005.
llvm::SmallVector<ExchangePhase> buildExchanges(mlir::MLIRContext *context,
                                                const Collective &collective,
                                                ExchangeAlgorithm algorithm,
                                                int64_t ranks);

/// Nanoseconds that the exchanges of a tensor of `bytes` bytes take; of all_to_all, with
/// one half of `bytes` bytes. Combining is counted where it cannot overlap receiving. The
/// runtime cuts long messages around a ring into slices (plan/slices.h), of which one
/// hides the latency of another.
double predictNanoseconds(CollectiveKind kind, ExchangeAlgorithm algorithm,
                          int64_t ranks, int64_t bytes, cs::LinkAttr link);

/// Of a collective that a ring can do: what is taken where --expand-collectives has this
/// `algorithm`, and the nanoseconds that it was chosen by; negative for what cannot be.
struct ExchangeChoice {
  ExchangeAlgorithm chosen = ExchangeAlgorithm::ring;
  double ring = -1, halving = -1, doubling = -1;
};
ExchangeChoice chooseExchanges(llvm::StringRef algorithm, const Collective &collective,
                               int64_t ranks, int64_t bytes, cs::LinkAttr link);

} // namespace commsched

#endif // COMMSCHED_PASSES_LOWER_EXCHANGEALGORITHMS_H
