// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The exchanges of one communication as all ranks run them.

#ifndef COMMSCHED_PASSES_LOWER_EXCHANGESEQUENCE_H
#define COMMSCHED_PASSES_LOWER_EXCHANGESEQUENCE_H

#include "ir/CsGroups.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>
#include <optional>
#include <string>

namespace commsched {

/// The exchanges of one communication, of all its ranks, which are numbered as the
/// collective numbers them. All programs have the same number of phases, and phases
/// agree in chunks, rounds and combine.
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
  cs::Members members;                 // what the ranks are called in errors
  /// Parts may get other numbers where they are received (all_to_all).
  bool moves = false;

  const Program &of(int64_t rank) const {
    return programs.size() == 1 ? programs.front() : programs[rank];
  }
};

/// What is wrong, and with whose exchange, by number.
struct ExchangeFault {
  size_t phase; // the number of phases: not of a single one
  int64_t rank;
  std::optional<int64_t> other; // the peer, if it has a part in it
  std::string message;
};

/// What one side of a rank does in a round.
struct ExchangeAction {
  bool active = false;
  int64_t begin = 0, count = 0, peer = 0;
};

/// Nothing if an expression has no value.
std::optional<ExchangeAction> actionOf(cs::SideAttr side, int64_t rank,
                                       int64_t round);

} // namespace commsched

#endif // COMMSCHED_PASSES_LOWER_EXCHANGESEQUENCE_H
