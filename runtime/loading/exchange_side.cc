// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/loading/exchange_side.h"

#include <optional>

#include "absl/strings/str_cat.h"

namespace commsched::runtime {

absl::StatusOr<ExchangeSide> ExchangeSide::Parse(const plan::Side &side) {
  ExchangeSide parsed;
  for (const plan::Constraint &c : side.condition()) {
    absl::StatusOr<Affine> expr = Affine::Parse(c.expr());
    if (!expr.ok()) return expr.status();
    parsed.conditions_.emplace_back(*std::move(expr), c.equality());
  }
  for (auto [target, source] : {std::pair{&parsed.begin_, &side.begin()},
                                std::pair{&parsed.count_, &side.count()},
                                std::pair{&parsed.peer_, &side.peer()}}) {
    absl::StatusOr<Affine> expr = Affine::Parse(*source);
    if (!expr.ok()) return expr.status();
    *target = *std::move(expr);
  }
  return parsed;
}

namespace {

absl::Status Bad(const char *what, int rank, int64_t round, absl::string_view why) {
  return absl::InvalidArgumentError(
      absl::StrCat(what, " of rank ", rank, " in round ", round, ": ", why));
}

absl::Status CheckParts(const char *what, int64_t chunks, int rank, int64_t round,
                        std::optional<int64_t> begin, std::optional<int64_t> count) {
  if (!begin || !count) return Bad(what, rank, round, "an expression overflows");
  if (*begin >= 0 && *count >= 0 && *begin <= chunks && *count <= chunks - *begin)
    return absl::OkStatus();
  return Bad(what, rank, round,
             absl::StrCat("parts must lie in 0..", chunks, ", got: ", *begin, " + ", *count));
}

}  // namespace

absl::StatusOr<Transfer> ExchangeSide::Evaluate(const char *what, int64_t chunks,
                                                int rank, const RankGroup &group,
                                                const RankGroup &peers,
                                                int64_t round) const {
  Transfer transfer;
  const int index = group.IndexOf(rank);
  if (index < 0) return transfer;
  for (const auto &[expr, equality] : conditions_) {
    std::optional<int64_t> value = expr.Evaluate(index, round);
    if (!value) return Bad(what, rank, round, "the condition overflows");
    if (equality ? *value != 0 : *value < 0) return transfer;
  }
  std::optional<int64_t> begin = begin_.Evaluate(index, round);
  std::optional<int64_t> count = count_.Evaluate(index, round);
  std::optional<int64_t> peer = peer_.Evaluate(index, round);
  if (absl::Status s = CheckParts(what, chunks, rank, round, begin, count); !s.ok()) return s;
  if (!peer) return Bad(what, rank, round, "an expression overflows");
  if (*peer < 0 || *peer >= peers.size() || peers.RankAt(int(*peer)) == rank)
    return Bad(what, rank, round,
               absl::StrCat("peer must be another ", peers.all() ? "rank" : "member",
                            " below ", peers.size(), ", got: ", *peer));
  if (*count != 0) transfer = {peers.RankAt(int(*peer)), *begin, *count};
  return transfer;
}

absl::StatusOr<Transfer> ExchangeSide::EvaluateAgain(const char *what, int64_t chunks,
                                                     int rank, const RankGroup &group,
                                                     int64_t round,
                                                     Transfer other) const {
  if (other.peer < 0) return other;
  std::optional<int64_t> begin = begin_.Evaluate(group.IndexOf(rank), round);
  if (absl::Status s = CheckParts(what, chunks, rank, round, begin, other.count); !s.ok())
    return s;
  other.begin = *begin;
  return other;
}

std::optional<int64_t> ExchangeSide::Turn(int64_t chunks) const {
  const auto turn = begin_.Turn();
  if (!turn || turn->second != chunks) return std::nullopt;
  return (turn->first % chunks + chunks) % chunks;
}

bool ExchangeSide::UsesRound() const {
  for (const auto &[expr, equality] : conditions_)
    if (expr.UsesRound()) return true;
  return count_.UsesRound() || peer_.UsesRound();
}

}  // namespace commsched::runtime
