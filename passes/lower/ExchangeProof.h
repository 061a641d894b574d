// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A proof that a sequence of exchanges of all ranks computes a collective.

#ifndef COMMSCHED_PASSES_LOWER_EXCHANGEPROOF_H
#define COMMSCHED_PASSES_LOWER_EXCHANGEPROOF_H

#include <optional>

namespace commsched {

struct Collective;
struct ExchangeFault;
struct ExchangeSequence;

enum class Proof {
  done,
  tooLarge
};

/// Runs the exchanges on symbols: which ranks' contributions each part holds,
/// how often, scaled by what, and in which order they were combined. A fault if
/// the result is not that of `collective`. The messages must match. Takes up to
/// 256 ranks.
std::optional<ExchangeFault> proveCollective(const ExchangeSequence &sequence,
                                             const Collective &collective,
                                             Proof &proof);

} // namespace commsched

#endif // COMMSCHED_PASSES_LOWER_EXCHANGEPROOF_H
