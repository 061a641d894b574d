// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Proofs about a sequence of exchanges of all ranks: that messages match, and
// that together they compute a collective.

#ifndef COMMSCHED_PASSES_LOWER_EXCHANGEPROOF_H
#define COMMSCHED_PASSES_LOWER_EXCHANGEPROOF_H

#include "ir/Cs.h"
#include "passes/lower/ExchangeAlgorithms.h"
#include "llvm/ADT/SmallVector.h"
#include <optional>
#include <string>

namespace commsched {

/// The exchanges of one communication, of all ranks. All programs have the same
/// number of phases, and phases agree in chunks, rounds and combine.
struct ExchangeSequence {
  struct Phase {
    int64_t chunks;
    int64_t rounds;
    cs::Combine combine;
    double scale; // 0: none
    cs::SideAttr send;
    cs::SideAttr recv;
  };
  using Program = llvm::SmallVector<Phase>;

  int64_t ranks;
  llvm::SmallVector<Program> programs; // one for all ranks, or one per rank

  const Program &of(int64_t rank) const {
    return programs.size() == 1 ? programs.front() : programs[rank];
  }
};

/// What is wrong, and with whose exchange.
struct ExchangeFault {
  size_t phase; // the number of phases: not of a single one
  int64_t rank;
  std::optional<int64_t> other; // the peer, if it has a part in it
  std::string message;
};

/// Checks for every rank and round that peers and parts exist, that what is
/// sent is what is received, and that no rank sends and receives a part at
/// once. `sampled` is set if there were too many to check all of them.
std::optional<ExchangeFault> checkMessages(const ExchangeSequence &sequence,
                                           bool &sampled);

enum class Proof { done, tooLarge };

/// Runs the exchanges on symbols: which ranks' contributions each part holds,
/// how often, scaled by what, and in which order they were combined. A fault if
/// the result is not that of `collective`. The messages must match. Takes up to
/// 256 ranks.
std::optional<ExchangeFault> proveCollective(const ExchangeSequence &sequence,
                                             const Collective &collective,
                                             Proof &proof);

} // namespace commsched

#endif // COMMSCHED_PASSES_LOWER_EXCHANGEPROOF_H
