// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/simulator/exchange_shape.h"

#include <optional>

#include "absl/strings/str_cat.h"

namespace commsched::runtime::simulator {

absl::StatusOr<ExchangeShape::Side> ExchangeShape::ParseSide(
    const plan::Side &side) {
  Side parsed;
  for (const plan::Constraint &c : side.condition()) {
    absl::StatusOr<Affine> expr = Affine::Parse(c.expr());
    if (!expr.ok()) return expr.status();
    parsed.conditions.emplace_back(*std::move(expr), c.equality());
  }
  for (auto [target, source] : {std::pair{&parsed.begin, &side.begin()},
                                std::pair{&parsed.count, &side.count()},
                                std::pair{&parsed.peer, &side.peer()}}) {
    absl::StatusOr<Affine> expr = Affine::Parse(*source);
    if (!expr.ok()) return expr.status();
    *target = *std::move(expr);
  }
  return parsed;
}

bool ExchangeShape::FixedSide(const Side &side) {
  for (const auto &[expr, equality] : side.conditions)
    if (expr.UsesRound()) return false;
  return !side.count.UsesRound() && !side.peer.UsesRound();
}

absl::StatusOr<ExchangeShape> ExchangeShape::Parse(const plan::Phase &phase) {
  ExchangeShape shape;
  shape.chunks_ = phase.chunks();
  shape.rounds_ = phase.rounds();
  absl::StatusOr<Side> send = ParseSide(phase.send());
  if (!send.ok()) return send.status();
  absl::StatusOr<Side> recv = ParseSide(phase.recv());
  if (!recv.ok()) return recv.status();
  shape.send_ = *std::move(send);
  shape.recv_ = *std::move(recv);
  shape.fixed_ = FixedSide(shape.send_) && FixedSide(shape.recv_);
  return shape;
}

absl::StatusOr<Transfer> ExchangeShape::Evaluate(const Side &side,
                                                 const char *what, int rank,
                                                 int nodes,
                                                 int64_t round) const {
  const auto bad = [&](absl::string_view why) {
    return absl::InvalidArgumentError(absl::StrCat(
        what, " of rank ", rank, " in round ", round, ": ", why));
  };
  Transfer transfer;
  for (const auto &[expr, equality] : side.conditions) {
    std::optional<int64_t> value = expr.Evaluate(rank, round);
    if (!value) return bad("the condition overflows");
    if (equality ? *value != 0 : *value < 0) return transfer;
  }
  std::optional<int64_t> begin = side.begin.Evaluate(rank, round);
  std::optional<int64_t> count = side.count.Evaluate(rank, round);
  std::optional<int64_t> peer = side.peer.Evaluate(rank, round);
  if (!begin || !count || !peer) return bad("an expression overflows");
  if (*begin < 0 || *count < 0 || *begin > chunks_ || *count > chunks_ - *begin)
    return bad(absl::StrCat("parts must lie in 0..", chunks_, ", got: ", *begin,
                            " + ", *count));
  if (*peer < 0 || *peer >= nodes || *peer == rank)
    return bad(absl::StrCat("peer must be another rank below ", nodes,
                            ", got: ", *peer));
  if (*count == 0) return transfer;
  transfer.peer = int(*peer);
  transfer.begin = *begin;
  transfer.count = *count;
  return transfer;
}

}  // namespace commsched::runtime::simulator
