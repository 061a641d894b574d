// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/lower/ExchangeMessages.h"

#include "passes/lower/ExchangeSequence.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace commsched;
using Action = ExchangeAction;
using Phase = ExchangeSequence::Phase;

namespace {

std::string parts(const Action &action) {
  return llvm::formatv("parts {0} to {1}", action.begin,
                       action.begin + action.count)
      .str();
}

/// Checks one rank and round of a phase.
class MessageCheck {
public:
  MessageCheck(const ExchangeSequence &sequence, size_t phase)
      : sequence(sequence), phase(phase) {}

  std::optional<ExchangeFault> check(int64_t rank, int64_t round) {
    const Phase &own = sequence.of(rank)[phase];
    std::optional<Action> send = actionOf(own.send, rank, round);
    std::optional<Action> recv = actionOf(own.recv, rank, round);
    if (!send || !recv)
      return fault(rank, {},
                   llvm::formatv("expressions overflow for rank {0} in round "
                                 "{1}",
                                 name(rank), round));
    if (auto found = checkSide(own, *send, "send", rank, round))
      return found;
    if (auto found = checkSide(own, *recv, "receive", rank, round))
      return found;
    // The same parts both ways are kept apart until all have been sent, and are
    // combined then.
    const bool swaps = send->begin == recv->begin && send->count == recv->count &&
                       own.combine != cs::Combine::replace;
    if (!swaps && send->active && recv->active && send->count > 0 &&
        recv->count > 0 && send->begin < recv->begin + recv->count &&
        recv->begin < send->begin + send->count)
      return fault(
          rank, {},
          llvm::formatv("rank {0} sends and receives part {1} in round {2}, so "
                        "that what it sends depends on timing",
                        name(rank), std::max(send->begin, recv->begin), round));
    if (send->active) {
      auto there =
          actionOf(sequence.of(send->peer)[phase].recv, send->peer, round);
      if (auto found = compare(*send, there, "sends", "to", "receive",
                               "receives", "from", rank, round))
        return found;
    }
    if (recv->active) {
      auto there =
          actionOf(sequence.of(recv->peer)[phase].send, recv->peer, round);
      if (auto found = compare(*recv, there, "receives", "from", "send",
                               "sends", "to", rank, round))
        return found;
    }
    return std::nullopt;
  }

private:
  /// What a rank is called; of a number that is none, the number.
  int64_t name(int64_t rank) const {
    return rank >= 0 && rank < sequence.ranks ? sequence.members.rankAt(rank) : rank;
  }

  ExchangeFault fault(int64_t rank, std::optional<int64_t> other,
                      const llvm::formatv_object_base &message) {
    return {phase, rank, other, message.str()};
  }

  std::optional<ExchangeFault> checkSide(const Phase &own, const Action &action,
                                         StringRef verb, int64_t rank,
                                         int64_t round) {
    if (!action.active)
      return std::nullopt;
    if (action.peer < 0 || action.peer >= sequence.ranks)
      return fault(rank, {},
                   llvm::formatv("{0} peer of rank {1} in round {2} must be a "
                                 "{3} from 0 to {4}, got: {5}",
                                 verb, name(rank), round,
                                 sequence.members.areAll() ? "rank" : "member",
                                 sequence.ranks - 1, action.peer));
    if (action.peer == rank)
      return fault(rank, {},
                   llvm::formatv("{0} peer of rank {1} in round {2} must be "
                                 "another rank, got: itself",
                                 verb, name(rank), round));
    if (action.begin < 0 || action.count < 0 || action.begin > own.chunks ||
        action.count > own.chunks - action.begin)
      return fault(rank, {},
                   llvm::formatv("{0} parts of rank {1} in round {2} must lie "
                                 "in 0 to {3}, got: {4} from {5} on",
                                 verb, name(rank), round, own.chunks, action.count,
                                 action.begin));
    return std::nullopt;
  }

  std::optional<ExchangeFault>
  compare(const Action &own, const std::optional<Action> &there,
          StringRef ownVerb, StringRef ownWord, StringRef verb,
          StringRef thirdPerson, StringRef word, int64_t rank, int64_t round) {
    if (!there)
      return std::nullopt; // reported for that rank
    if (there->active && there->peer == rank &&
        (sequence.moves || there->begin == own.begin) && there->count == own.count)
      return std::nullopt; // almost always: format nothing for it
    std::string what =
        llvm::formatv("rank {0} {1} {2} {3} rank {4} in round {5}, ", name(rank),
                      ownVerb, parts(own), ownWord, name(own.peer), round)
            .str();
    if (!there->active)
      return fault(rank, own.peer,
                   llvm::formatv("{0}which does not {1}", what, verb));
    if (there->peer != rank)
      return fault(rank, own.peer,
                   llvm::formatv("{0}which {1} {2} rank {3}", what, thirdPerson,
                                 word, name(there->peer)));
    return fault(
        rank, own.peer,
        llvm::formatv("{0}which {1} {2}", what, thirdPerson, parts(*there)));
  }

  const ExchangeSequence &sequence;
  size_t phase;
};

/// About this many (rank, round) pairs of all phases together are checked.
constexpr int64_t kMostPairs = int64_t(1) << 20;

} // namespace

std::optional<ExchangeFault>
commsched::checkMessages(const ExchangeSequence &sequence, bool &sampled) {
  auto phases = static_cast<int64_t>(sequence.of(0).size());
  for (int64_t phase = 0; phase < phases; ++phase) {
    MessageCheck check(sequence, phase);
    int64_t rounds = sequence.of(0)[phase].rounds;
    // What many phases leave unused does not matter: only large numbers of
    // ranks and rounds get there.
    int64_t most = std::max<int64_t>(64, phases <= 2 ? kMostPairs
                                                     : 2 * kMostPairs / phases);
    // Rounds are thinned out first, then ranks; first and last always stay.
    int64_t ranks = std::min(sequence.ranks, most);
    int64_t pickedRounds = std::min(rounds, std::max<int64_t>(2, most / ranks));
    sampled |= ranks != sequence.ranks || pickedRounds != rounds;
    auto pick = [](int64_t i, int64_t picked, int64_t all) {
      if (picked == all)
        return i;
      return static_cast<int64_t>(static_cast<__int128>(i) * (all - 1) /
                                  (picked - 1));
    };
    for (int64_t i = 0; i < pickedRounds; ++i)
      for (int64_t k = 0; k < ranks; ++k)
        if (auto fault = check.check(pick(k, ranks, sequence.ranks),
                                     pick(i, pickedRounds, rounds)))
          return fault;
  }
  return std::nullopt;
}
