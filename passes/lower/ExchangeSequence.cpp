// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/lower/ExchangeSequence.h"

#include "passes/lower/AffineEval.h"

using namespace commsched;

std::optional<ExchangeAction> commsched::actionOf(cs::SideAttr side,
                                                  int64_t rank, int64_t round) {
  std::optional<bool> active = contains(side.getWhen(), rank, round);
  if (!active)
    return std::nullopt;
  if (!*active)
    return ExchangeAction();
  auto begin = evaluate(side.getParts().getResult(0), rank, round);
  auto count = evaluate(side.getParts().getResult(1), rank, round);
  auto peer = evaluate(side.getPeer().getResult(0), rank, round);
  if (!begin || !count || !peer)
    return std::nullopt;
  return ExchangeAction{true, *begin, *count, *peer};
}
