// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whether the messages of a sequence of exchanges match.

#ifndef COMMSCHED_PASSES_LOWER_EXCHANGEMESSAGES_H
#define COMMSCHED_PASSES_LOWER_EXCHANGEMESSAGES_H

#include <optional>

namespace commsched {

struct ExchangeFault;
struct ExchangeSequence;

/// Checks for every rank and round that peers and parts exist, that what is
/// sent is what is received (as many parts, if they move), and that no rank sends and receives a
/// part at once. `sampled` is set if there were too many to check all of them.
std::optional<ExchangeFault> checkMessages(const ExchangeSequence &sequence,
                                           bool &sampled);

} // namespace commsched

#endif // COMMSCHED_PASSES_LOWER_EXCHANGEMESSAGES_H
