// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/schedule/solver/Twins.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

namespace commsched::schedule {

Twins::Twins(const Problem &problem) : problem(problem), tensor(problem.communications.size()) {
  const std::vector<Communication> &all = problem.communications;
  std::vector<unsigned> largest(all.size());
  std::iota(largest.begin(), largest.end(), 0u);
  std::stable_sort(largest.begin(), largest.end(), [&](unsigned a, unsigned b) { return all[a].bytes > all[b].bytes; });
  using Ends = std::pair<std::vector<unsigned>, std::vector<std::pair<unsigned, unsigned>>>;
  std::map<Ends, std::map<unsigned, unsigned>> counts; // by kind
  std::map<std::pair<Ends, unsigned>, unsigned> tensors;
  for (unsigned i : largest) {
    Ends ends{all[i].producers, {}};
    for (const Consumer &consumer : all[i].consumers)
      ends.second.push_back({consumer.op, consumer.distance});
    const unsigned before = counts[ends][all[i].kind]++;
    auto [known, isNew] = tensors.try_emplace({std::move(ends), before}, static_cast<unsigned>(tensors.size()));
    several |= !isNew;
    tensor[i] = known->second;
  }
}

std::pair<unsigned, size_t> Twins::nameOf(const Schedule &schedule, size_t message) const {
  const Piece &own = schedule.messages[message].pieces.front();
  size_t before = 0;
  for (const Message &other : schedule.messages)
    for (const Piece &piece : other.pieces)
      before += piece.communication == own.communication && piece.begin < own.begin;
  return {tensor[own.communication], before};
}

std::vector<size_t> Twins::of(const Schedule &schedule, size_t message) const {
  if (!several)
    return {message};
  const std::vector<Piece> &pieces = schedule.messages[message].pieces;
  const unsigned own = tensor[pieces.front().communication];
  // By communication and where they begin: the messages, and whether it is with their first piece.
  std::vector<std::tuple<unsigned, int64_t, size_t, bool>> parts;
  for (size_t m = 0; m < schedule.messages.size(); ++m)
    for (const Piece &piece : schedule.messages[m].pieces)
      if (tensor[piece.communication] == own)
        parts.push_back({piece.communication, piece.begin, m, &piece == schedule.messages[m].pieces.data()});
  std::sort(parts.begin(), parts.end());
  auto begins = [&](size_t i) { return i == 0 || std::get<0>(parts[i - 1]) != std::get<0>(parts[i]); };
  size_t number = 0;
  for (size_t i = 0, at = 0; i < parts.size(); ++i, ++at) {
    if (begins(i))
      at = 0;
    if (std::get<2>(parts[i]) == message && std::get<3>(parts[i]))
      number = at;
  }
  std::vector<size_t> alike;
  for (size_t i = 0, at = 0; i < parts.size(); ++i, ++at) {
    if (begins(i))
      at = 0;
    const auto [communication, begin, other, first] = parts[i];
    if (at == number && first &&
        std::equal(pieces.begin(), pieces.end(), schedule.messages[other].pieces.begin(), schedule.messages[other].pieces.end(),
                   [&](const Piece &a, const Piece &b) { return tensor[a.communication] == tensor[b.communication]; }))
      alike.push_back(other);
  }
  std::sort(alike.begin(), alike.end());
  return alike;
}

} // namespace commsched::schedule
