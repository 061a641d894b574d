// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/exchange.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/affine.h"

namespace commsched::runtime {
namespace {

struct ParsedSide {
  std::vector<std::pair<Affine, bool>> conditions;
  Affine begin, count, peer;
};

struct Transfer {
  int peer = -1;
  size_t begin = 0, bytes = 0;
};

absl::StatusOr<ParsedSide> ParseSide(const plan::Side &side) {
  ParsedSide parsed;
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

absl::StatusOr<Transfer> Evaluate(const ParsedSide &side, const char *what,
                                  int64_t chunks, const TensorInfo &type,
                                  int rank, int nodes, int64_t round) {
  auto bad = [&](absl::string_view why) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, " of rank ", rank, " in round ", round, ": ", why));
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
  if (*begin < 0 || *count < 0 || *begin > chunks || *count > chunks - *begin)
    return bad(absl::StrCat("parts must lie in 0..", chunks, ", got: ", *begin,
                            " + ", *count));
  if (*peer < 0 || *peer >= nodes || *peer == rank)
    return bad(absl::StrCat("peer must be another rank below ", nodes,
                            ", got: ", *peer));
  size_t unit = ops::ElementBytes(type.element);
  int64_t first = PartBegin(type.elements, chunks, *begin);
  int64_t last = PartBegin(type.elements, chunks, *begin + *count);
  // An empty part is no message, on either side.
  if (first == last) return transfer;
  transfer.peer = int(*peer);
  transfer.begin = size_t(first) * unit;
  transfer.bytes = size_t(last - first) * unit;
  return transfer;
}

absl::StatusOr<std::vector<Round>> Rounds(const plan::Phase &phase,
                                          const ParsedSide &send,
                                          const ParsedSide &recv,
                                          const TensorInfo &type, int rank,
                                          int nodes) {
  std::vector<Round> rounds(phase.rounds());
  for (uint32_t s = 0; s < phase.rounds(); ++s) {
    absl::StatusOr<Transfer> out =
        Evaluate(send, "send", phase.chunks(), type, rank, nodes, s);
    if (!out.ok()) return out.status();
    absl::StatusOr<Transfer> in =
        Evaluate(recv, "receive", phase.chunks(), type, rank, nodes, s);
    if (!in.ok()) return in.status();
    rounds[s] = {out->peer, in->peer,  out->begin,
                 out->bytes, in->begin, in->bytes};
  }
  return rounds;
}

absl::Status CheckPhase(const plan::Phase &phase, const TensorInfo &type) {
  if (phase.chunks() == 0 || phase.chunks() > (1u << 24))
    return absl::InvalidArgumentError(
        absl::StrCat("number of parts must be at least 1, got: ", phase.chunks()));
  if (phase.rounds() > kMaxRounds)
    return absl::InvalidArgumentError(absl::StrCat(
        "number of rounds must be at most ", kMaxRounds, ", got: ", phase.rounds()));
  if (phase.combine() < plan::REPLACE || phase.combine() > plan::MIN)
    return absl::InvalidArgumentError("unknown way to combine");
  if (phase.scale() != 0 && phase.scale() != 1 && !ops::IsFloat(type.element))
    return absl::InvalidArgumentError(
        absl::StrCat("a scale needs a floating-point element type, got: ",
                     ops::ElementName(type.element)));
  return absl::OkStatus();
}

}  // namespace

int64_t PartBegin(int64_t n, int64_t chunks, int64_t c) {
  return int64_t(static_cast<__int128>(c) * n / chunks);
}

absl::StatusOr<std::vector<Round>> EvaluatePhase(const plan::Phase &phase,
                                                 const TensorInfo &type,
                                                 int rank, int nodes) {
  if (absl::Status status = CheckPhase(phase, type); !status.ok())
    return status;
  absl::StatusOr<ParsedSide> send = ParseSide(phase.send());
  if (!send.ok()) return send.status();
  absl::StatusOr<ParsedSide> recv = ParseSide(phase.recv());
  if (!recv.ok()) return recv.status();
  return Rounds(phase, *send, *recv, type, rank, nodes);
}

absl::Status CheckPhaseMatches(const plan::Phase &phase,
                               const TensorInfo &type, int nodes) {
  std::vector<std::vector<Round>> ranks;
  for (int r = 0; r < nodes; ++r) {
    absl::StatusOr<std::vector<Round>> rounds =
        EvaluatePhase(phase, type, r, nodes);
    if (!rounds.ok()) return rounds.status();
    ranks.push_back(*std::move(rounds));
  }
  for (uint32_t s = 0; s < phase.rounds(); ++s)
    for (int r = 0; r < nodes; ++r) {
      const Round &mine = ranks[r][s];
      if (mine.send_peer >= 0) {
        const Round &peer = ranks[mine.send_peer][s];
        if (peer.recv_peer != r || peer.recv_bytes != mine.send_bytes)
          return absl::InvalidArgumentError(absl::StrCat(
              "in round ", s, " rank ", r, " sends ", mine.send_bytes,
              " bytes to rank ", mine.send_peer, ", which does not receive them"));
      }
      if (mine.recv_peer >= 0 && ranks[mine.recv_peer][s].send_peer != r)
        return absl::InvalidArgumentError(
            absl::StrCat("in round ", s, " rank ", r, " waits for rank ",
                         mine.recv_peer, ", which does not send to it"));
    }
  return absl::OkStatus();
}

}  // namespace commsched::runtime
