// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/schedule/Chains.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace commsched::schedule {

namespace {

class Chains {
public:
  Chains(const Problem &problem, const std::vector<int64_t> &units)
      : problem(problem), units(units), row(problem.communications.size()) {
    std::iota(row.begin(), row.end(), 0u);
  }

  void add(const Message &message) {
    std::vector<Piece> tails, wholes, heads;
    for (const Piece &piece : gather(message)) {
      if (piece.begin == 0 && piece.end == bytesOf(piece))
        wholes.push_back(piece);
      else if (piece.end == bytesOf(piece))
        tails.push_back(piece);
      else if (piece.begin == 0)
        heads.push_back(piece);
      else
        emit(message, {piece});
    }
    // One tail and one head have a place in the chain.
    std::vector<Piece> chain;
    if (!tails.empty())
      chain.push_back(tails.front());
    chain.insert(chain.end(), wholes.begin(), wholes.end());
    if (!heads.empty())
      chain.push_back(heads.front());
    addChain(message, chain);
    for (size_t i = 1; i < tails.size(); ++i)
      emit(message, {tails[i]});
    for (size_t i = 1; i < heads.size(); ++i)
      emit(message, {heads[i]});
  }

  std::vector<Message> result;

private:
  int64_t bytesOf(const Piece &piece) const {
    return problem.communications[piece.communication].bytes;
  }

  int64_t cutAt(unsigned communication, int64_t position) const {
    if (position == problem.communications[communication].bytes)
      return position;
    return position - position % units[communication];
  }

  /// The pieces with their cuts moved, those that touch joined, in order of their
  /// first appearance; none is empty.
  std::vector<Piece> gather(const Message &message) const {
    std::vector<std::pair<size_t, Piece>> sorted;
    for (const Piece &piece : message.pieces)
      sorted.emplace_back(sorted.size(), piece);
    std::sort(sorted.begin(), sorted.end(), [](const auto &a, const auto &b) {
      return std::pair(a.second.communication, a.second.begin) <
             std::pair(b.second.communication, b.second.begin);
    });
    std::vector<std::pair<size_t, Piece>> joined;
    for (auto [index, piece] : sorted) {
      piece.begin = cutAt(piece.communication, piece.begin);
      piece.end = cutAt(piece.communication, piece.end);
      if (piece.begin == piece.end)
        continue;
      if (!joined.empty() &&
          joined.back().second.communication == piece.communication &&
          joined.back().second.end == piece.begin) {
        joined.back().second.end = piece.end;
        joined.back().first = std::min(joined.back().first, index);
      } else {
        joined.emplace_back(index, piece);
      }
    }
    std::sort(joined.begin(), joined.end(),
              [](const auto &a, const auto &b) { return a.first < b.first; });
    std::vector<Piece> pieces;
    for (const auto &[index, piece] : joined)
      pieces.push_back(piece);
    return pieces;
  }

  unsigned find(unsigned communication) {
    while (row[communication] != communication)
      communication = row[communication] = row[row[communication]];
    return communication;
  }

  /// Each end of a tensor is in one message only, so a neighbour is free; but a row
  /// must not close to a ring.
  void addChain(const Message &message, const std::vector<Piece> &chain) {
    std::vector<Piece> current;
    for (const Piece &piece : chain) {
      if (!current.empty()) {
        unsigned before = find(current.back().communication);
        unsigned here = find(piece.communication);
        if (before == here)
          emit(message, std::exchange(current, {}));
        else
          row[here] = before;
      }
      current.push_back(piece);
    }
    if (!current.empty())
      emit(message, std::move(current));
  }

  void emit(const Message &message, std::vector<Piece> pieces) {
    result.push_back({std::move(pieces), message.priorities});
  }

  const Problem &problem;
  const std::vector<int64_t> &units;
  std::vector<unsigned> row; // union-find: tensors that lie side by side
};

} // namespace

std::vector<Message> chainMessages(const Problem &problem,
                                   const std::vector<Message> &messages,
                                   const std::vector<int64_t> &units) {
  Chains chains(problem, units);
  for (const Message &message : messages)
    chains.add(message);
  return std::move(chains.result);
}

} // namespace commsched::schedule
