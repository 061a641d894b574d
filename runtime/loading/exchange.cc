// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/loading/exchange.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "plan/slices.h"
#include "runtime/loading/affine.h"
#include "runtime/loading/exchange_side.h"

namespace commsched::runtime {
namespace {

// The bytes of a transfer of a tensor in `chunks` parts.
struct Bytes {
  int peer = -1;
  size_t begin = 0, bytes = 0;
};

Bytes BytesOf(const Transfer &transfer, int64_t chunks, const TensorInfo &type,
              absl::Span<const int64_t> parts) {
  if (transfer.peer < 0) return {};
  const size_t unit = ops::ElementBytes(type.element);
  const int64_t first = ChunkBegin(parts, chunks, transfer.begin);
  const int64_t last = ChunkBegin(parts, chunks, transfer.begin + transfer.count);
  // An empty part is no message, on either side.
  if (first == last) return {};
  return {transfer.peer, size_t(first) * unit, size_t(last - first) * unit};
}

absl::StatusOr<std::vector<Round>> Rounds(const plan::Phase &phase,
                                          const ExchangeSide &send,
                                          const ExchangeSide &recv,
                                          const TensorInfo &type, int rank,
                                          const RankGroup &group,
                                          const RankGroup &peers,
                                          absl::Span<const int64_t> parts) {
  std::vector<Round> rounds(phase.rounds());
  for (uint32_t s = 0; s < phase.rounds(); ++s) {
    absl::StatusOr<Transfer> sent =
        send.Evaluate("send", phase.chunks(), rank, group, peers, s);
    if (!sent.ok()) return sent.status();
    absl::StatusOr<Transfer> received =
        recv.Evaluate("receive", phase.chunks(), rank, group, peers, s);
    if (!received.ok()) return received.status();
    const Bytes out = BytesOf(*sent, phase.chunks(), type, parts);
    const Bytes in = BytesOf(*received, phase.chunks(), type, parts);
    rounds[s] = {out.peer,
                 in.peer,
                 out.begin,
                 out.bytes,
                 in.begin,
                 in.bytes,
                 uint32_t(sent->begin),
                 uint32_t(sent->count),
                 uint32_t(received->begin),
                 uint32_t(received->count)};
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

absl::StatusOr<std::vector<Round>> EvaluatePhase(const plan::Phase &phase,
                                                 const TensorInfo &type, int rank,
                                                 const RankGroup &group) {
  return EvaluatePhase(phase, type, rank, group, group);
}

absl::StatusOr<std::vector<Round>> EvaluatePhase(const plan::Phase &phase,
                                                 const TensorInfo &type, int rank,
                                                 const RankGroup &group,
                                                 const RankGroup &peers,
                                                 absl::Span<const int64_t> parts) {
  if (absl::Status status = CheckPhase(phase, type); !status.ok())
    return status;
  absl::StatusOr<ExchangeSide> send = ExchangeSide::Parse(phase.send());
  if (!send.ok()) return send.status();
  absl::StatusOr<ExchangeSide> recv = ExchangeSide::Parse(phase.recv());
  if (!recv.ok()) return recv.status();
  const int64_t all[] = {type.elements};
  if (parts.empty()) parts = all;
  return Rounds(phase, *send, *recv, type, rank, group, peers, parts);
}

uint32_t SlicesOf(const plan::Communicate &exchange, const TensorInfo &type) {
  if (exchange.phases_size() == 0) return 1;
  const uint32_t chunks = exchange.phases(0).chunks();
  uint64_t rounds = 0;
  for (const plan::Phase &phase : exchange.phases()) {
    if (phase.chunks() != chunks) return 1;
    rounds += phase.rounds();
    for (const plan::Side *side : {&phase.send(), &phase.recv()}) {
      absl::StatusOr<Affine> count = Affine::Parse(side->count());
      if (!count.ok() || count->Constant() != 1) return 1;
    }
  }
  return chunks == 0 ? 1 : plan::SlicesOfPart(type.bytes / chunks, rounds);
}

namespace {

// What the members of a group do, by round.
class Members {
 public:
  static absl::StatusOr<Members> Of(const plan::Phase &phase, const TensorInfo &type,
                                    const RankGroup &group, const RankGroup &peers) {
    Members members(group);
    for (int i = 0; i < group.size(); ++i) {
      auto rounds = EvaluatePhase(phase, type, group.RankAt(i), group, peers);
      if (!rounds.ok()) return rounds.status();
      members.rounds_.push_back(*std::move(rounds));
    }
    return members;
  }
  // Of a rank that is a member.
  const Round &At(int rank, uint32_t round) const {
    return rounds_[size_t(group_.IndexOf(rank))][round];
  }

 private:
  explicit Members(const RankGroup &group) : group_(group) {}
  RankGroup group_;
  std::vector<std::vector<Round>> rounds_;  // by index
};

// In one round, of what members of `from` send and those of `to` receive.
absl::Status CheckRound(const Members &sends, const RankGroup &from,
                        const Members &receives, const RankGroup &to, uint32_t s) {
  for (int i = 0; i < from.size(); ++i) {
    const int r = from.RankAt(i);
    const Round &mine = sends.At(r, s);
    if (mine.send_peer < 0) continue;
    const Round &peer = receives.At(mine.send_peer, s);
    if (peer.recv_peer != r || peer.recv_bytes != mine.send_bytes)
      return absl::InvalidArgumentError(absl::StrCat(
          "in round ", s, " rank ", r, " sends ", mine.send_bytes, " bytes to rank ",
          mine.send_peer, ", which does not receive them"));
  }
  for (int i = 0; i < to.size(); ++i) {
    const int r = to.RankAt(i);
    const Round &mine = receives.At(r, s);
    if (mine.recv_peer >= 0 && sends.At(mine.recv_peer, s).send_peer != r)
      return absl::InvalidArgumentError(
          absl::StrCat("in round ", s, " rank ", r, " waits for rank ", mine.recv_peer,
                       ", which does not send to it"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckPhaseMatches(const plan::Phase &phase, const TensorInfo &type,
                               const RankGroup &group) {
  absl::StatusOr<Members> members = Members::Of(phase, type, group, group);
  if (!members.ok()) return members.status();
  for (uint32_t s = 0; s < phase.rounds(); ++s)
    if (absl::Status status = CheckRound(*members, group, *members, group, s); !status.ok())
      return status;
  return absl::OkStatus();
}

absl::Status CheckEndsMatch(const plan::Phase &sends, const RankGroup &from,
                            const plan::Phase &receives, const RankGroup &to,
                            const TensorInfo &type) {
  absl::StatusOr<Members> senders = Members::Of(sends, type, from, to);
  if (!senders.ok()) return senders.status();
  absl::StatusOr<Members> receivers = Members::Of(receives, type, to, from);
  if (!receivers.ok()) return receivers.status();
  return CheckRound(*senders, from, *receivers, to, 0);
}

}  // namespace commsched::runtime
