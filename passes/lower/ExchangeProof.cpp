// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/lower/ExchangeProof.h"

#include "passes/lower/ExchangeAlgorithms.h"
#include "passes/lower/ExchangeSequence.h"
#include "llvm/Support/FormatVariadic.h"
#include <bitset>
#include <cmath>
#include <map>
#include <numeric>

using namespace mlir;
using namespace commsched;
using Phase = ExchangeSequence::Phase;

namespace {

constexpr int64_t kMostRanks = 256;
constexpr int64_t kMostParts = 4096;
constexpr int64_t kMostWork = int64_t(1) << 26;
using RankSet = std::bitset<kMostRanks>;

/// A symbolic value: how one part came to be. Equal numbers mean equal bits.
struct Symbol {
  RankSet ranks; // whose contributions are in it
  RankSet twice; // those that are in it more than once
  double factor = 1;
  unsigned combined = 0; // bit set of Combine
  bool known = true;     // false: unspecified content
  bool mixed = false;    // combines differently scaled values
};

/// All symbols, each once.
class Symbols {
public:
  int unspecified() {
    Symbol symbol;
    symbol.known = false;
    return add(symbol);
  }
  int contribution(int64_t rank) {
    Symbol symbol;
    symbol.ranks.set(rank);
    return add(symbol);
  }
  int combine(cs::Combine how, int own, int received) {
    if (how == cs::Combine::replace)
      return received;
    // Bitwise commutative: sums, maxima and minima of two numbers.
    std::tuple<unsigned, int, int> key(unsigned(how), std::min(own, received),
                                       std::max(own, received));
    auto [it, isNew] = combinations.try_emplace(key, 0);
    if (!isNew)
      return it->second;
    const Symbol &a = all[own], &b = all[received];
    Symbol symbol;
    symbol.ranks = a.ranks | b.ranks;
    symbol.twice = a.twice | b.twice | (a.ranks & b.ranks);
    symbol.factor = a.factor;
    symbol.combined = a.combined | b.combined | (1u << unsigned(how));
    symbol.known = a.known && b.known;
    symbol.mixed = a.mixed || b.mixed || a.factor != b.factor;
    return it->second = add(symbol);
  }
  int scale(int value, double by) {
    auto [it, isNew] = scaled.try_emplace({value, by}, 0);
    if (!isNew)
      return it->second;
    Symbol symbol = all[value];
    symbol.factor *= by;
    return it->second = add(symbol);
  }
  const Symbol &operator[](int value) const { return all[value]; }

private:
  int add(const Symbol &symbol) {
    all.push_back(symbol);
    return int(all.size()) - 1;
  }
  std::vector<Symbol> all;
  std::map<std::tuple<unsigned, int, int>, int> combinations;
  std::map<std::pair<int, double>, int> scaled;
};

/// The state of all ranks, in parts so fine that the parts of every phase are
/// made of them: part c of `chunks` is fine parts c L / chunks up to
/// (c + 1) L / chunks, exactly, for any number of elements.
class Simulation {
public:
  Simulation(const ExchangeSequence &sequence, const Collective &collective,
             int64_t fineParts)
      : sequence(sequence), collective(collective), fine(fineParts),
        state(sequence.ranks * fineParts) {
    if (collective.kind == CollectiveKind::allToAll) {
      // Every part of every rank is told from all others.
      for (int64_t rank = 0; rank < sequence.ranks; ++rank)
        for (int64_t part = 0; part < fine; ++part)
          at(rank, part) = symbols.contribution(rank);
      first = state;
      return;
    }
    int unspecified = symbols.unspecified();
    bool gather = collective.kind == CollectiveKind::allGather;
    for (int64_t rank = 0; rank < sequence.ranks; ++rank) {
      int own = symbols.contribution(rank);
      for (int64_t part = 0; part < fine; ++part)
        at(rank, part) = gather && ownerOf(part) != rank ? unspecified : own;
    }
  }

  /// False if that is too much work.
  bool run() {
    int64_t work = 0;
    for (size_t index = 0; index < sequence.of(0).size(); ++index) {
      int64_t rounds = sequence.of(0)[index].rounds;
      for (int64_t round = 0; round < rounds; ++round) {
        struct Message {
          int64_t rank, begin;
          SmallVector<int, 8> values;
        };
        std::vector<Message> messages;
        for (int64_t rank = 0; rank < sequence.ranks; ++rank) {
          const Phase &phase = sequence.of(rank)[index];
          ExchangeAction recv = *actionOf(phase.recv, rank, round);
          int64_t width = fine / phase.chunks;
          work += 1 + recv.count * width;
          if (work > kMostWork)
            return false;
          if (!recv.active)
            continue;
          Message message{rank, recv.begin * width, {}};
          int64_t from = recv.begin;
          if (sequence.moves)
            from = actionOf(sequence.of(recv.peer)[index].send, recv.peer, round)->begin;
          for (int64_t i = 0; i < recv.count * width; ++i)
            message.values.push_back(at(recv.peer, from * width + i));
          messages.push_back(std::move(message));
        }
        for (const Message &message : messages) {
          const Phase &phase = sequence.of(message.rank)[index];
          for (auto [i, value] : llvm::enumerate(message.values)) {
            int &own = at(message.rank, message.begin + i);
            own = symbols.combine(phase.combine, own, value);
            if (phase.scale != 0 && round + 1 == rounds)
              own = symbols.scale(own, phase.scale);
          }
        }
      }
    }
    return true;
  }

  std::optional<ExchangeFault> checkResult() {
    for (int64_t part = 0; part < fine; ++part)
      for (int64_t rank = 0; rank < sequence.ranks; ++rank)
        if (auto why = checkPart(rank, part))
          return ExchangeFault{
              sequence.of(0).size(),
              rank,
              {},
              llvm::formatv("the exchanges do not compute {0}: on rank {1}, "
                            "part {2} of {3} {4}",
                            stringify(collective.kind), name(rank), part, fine, *why)
                  .str()};
    return std::nullopt;
  }

private:
  int64_t name(int64_t rank) const { return sequence.members.rankAt(rank); }
  int &at(int64_t rank, int64_t part) { return state[rank * fine + part]; }
  int64_t ownerOf(int64_t part) const { return part * sequence.ranks / fine; }

  /// Whose contributions the part must have; nothing if it may be anything.
  std::optional<RankSet> wanted(int64_t rank, int64_t part) const {
    RankSet set;
    switch (collective.kind) {
    case CollectiveKind::broadcast:
      return set.set(collective.root);
    case CollectiveKind::allGather:
      return set.set(ownerOf(part));
    case CollectiveKind::reduce:
      if (rank != collective.root)
        return std::nullopt;
      break;
    case CollectiveKind::reduceScatter:
      if (rank != ownerOf(part))
        return std::nullopt;
      break;
    case CollectiveKind::allReduce:
    case CollectiveKind::allToAll: // in checkMoved
      break;
    }
    for (int64_t i = 0; i < sequence.ranks; ++i)
      set.set(i);
    return set;
  }

  /// Of all_to_all: the same part in the first half, that of its sender in the second.
  std::optional<std::string> checkMoved(int64_t rank, int64_t part) {
    int64_t half = fine / 2, width = half / sequence.ranks;
    int64_t from = rank, wanted = part;
    if (int64_t sender = (part - half) / width; part >= half && sender != rank) {
      from = sender;
      wanted = rank * width + (part - half) % width;
    }
    if (at(rank, part) == first[from * fine + wanted])
      return std::nullopt;
    return llvm::formatv("must be part {0} of rank {1}", wanted, name(from)).str();
  }

  std::optional<std::string> checkPart(int64_t rank, int64_t part) {
    if (collective.kind == CollectiveKind::allToAll)
      return checkMoved(rank, part);
    std::optional<RankSet> want = wanted(rank, part);
    if (!want)
      return std::nullopt;
    const Symbol &symbol = symbols[at(rank, part)];
    if (!symbol.known)
      return "has unspecified content in it";
    if (symbol.mixed)
      return "adds differently scaled values";
    bool reduces = collective.kind == CollectiveKind::allReduce ||
                   collective.kind == CollectiveKind::reduce ||
                   collective.kind == CollectiveKind::reduceScatter;
    for (int64_t i = 0; i < sequence.ranks; ++i) {
      if (want->test(i) && !symbol.ranks.test(i))
        return llvm::formatv("misses the contribution of rank {0}", name(i)).str();
      if (!want->test(i) && symbol.ranks.test(i))
        return llvm::formatv("must not have a contribution of rank {0}", name(i))
            .str();
      // Maxima and minima do not count.
      bool counts = collective.reduction == cs::Reduction::sum ||
                    collective.reduction == cs::Reduction::mean;
      if (counts && symbol.twice.test(i))
        return llvm::formatv("has the contribution of rank {0} more than once",
                             name(i))
            .str();
    }
    bool mean = reduces && collective.reduction == cs::Reduction::mean;
    double factor = mean ? 1.0 / double(sequence.ranks) : 1.0;
    if (std::abs(symbol.factor - factor) > 1e-12 * factor)
      return llvm::formatv("must be scaled by {0}, got: {1}", factor,
                           symbol.factor)
          .str();
    unsigned combine = unsigned(cs::Combine::sum);
    if (collective.reduction == cs::Reduction::max)
      combine = unsigned(cs::Combine::max);
    if (collective.reduction == cs::Reduction::min)
      combine = unsigned(cs::Combine::min);
    if (symbol.combined & ~(reduces ? 1u << combine : 0u))
      return llvm::formatv("is not combined by {0}",
                           cs::stringifyReduction(collective.reduction))
          .str();
    // All ranks that have this part have the same bits.
    if (collective.kind == CollectiveKind::allReduce &&
        at(rank, part) != at(0, part))
      return llvm::formatv("is combined in another order than on rank {0}", name(0)).str();
    return std::nullopt;
  }

  const ExchangeSequence &sequence;
  const Collective &collective;
  int64_t fine;
  Symbols symbols;
  std::vector<int> state; // [rank][fine part]
  std::vector<int> first; // of all_to_all: the state at first
};

} // namespace

std::optional<ExchangeFault>
commsched::proveCollective(const ExchangeSequence &sequence,
                           const Collective &collective, Proof &proof) {
  proof = Proof::tooLarge;
  if (sequence.ranks > kMostRanks)
    return std::nullopt;
  bool sharded = collective.kind == CollectiveKind::reduceScatter ||
                 collective.kind == CollectiveKind::allGather;
  int64_t fine = sharded ? sequence.ranks : 1;
  if (collective.kind == CollectiveKind::allToAll)
    fine = 2 * sequence.ranks;
  for (const Phase &phase : sequence.of(0)) {
    if (phase.chunks > kMostParts)
      return std::nullopt;
    fine = std::lcm(fine, phase.chunks);
    if (fine > kMostParts)
      return std::nullopt;
  }
  Simulation simulation(sequence, collective, fine);
  if (!simulation.run())
    return std::nullopt;
  proof = Proof::done;
  return simulation.checkResult();
}
