// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/schedule/solver/Arrivals.h"

#include "passes/schedule/solver/Order.h"

#include <algorithm>
#include <tuple>

namespace commsched::schedule {

namespace {

int64_t sizeOf(const Piece &piece) { return piece.end - piece.begin; }

/// Of bytes [begin, end) of `bytes`, in `ways` stretches that come at once: what of a
/// stretch comes behind the last of them, times `bytes`.
__int128 restOf(int64_t begin, int64_t end, int64_t bytes, int64_t ways) {
  auto way = [&](int64_t byte) { return static_cast<__int128>(byte) * ways / bytes; };
  // The end of a stretch is in it.
  if (way(begin) != way(end - 1))
    return 0;
  return (way(begin) + 1) * bytes - static_cast<__int128>(end) * ways;
}

/// What arrives when, in this order of sizes: by piece, what restOf() says.
std::vector<__int128> restsOf(const std::vector<int64_t> &sizes, int64_t ways) {
  int64_t bytes = 0, at = 0;
  for (int64_t size : sizes)
    bytes += size;
  std::vector<__int128> rests;
  for (int64_t size : sizes) {
    rests.push_back(restOf(at, at + size, bytes, ways));
    at += size;
  }
  return rests;
}

/// Those at the places of whole tensors in this order.
std::vector<Piece> place(const std::vector<Piece> &pieces,
                         const std::vector<size_t> &places,
                         const std::vector<Piece> &wholes) {
  std::vector<Piece> result = pieces;
  for (size_t i = 0; i < places.size(); ++i)
    result[places[i]] = wholes[i];
  return result;
}

class Arranger {
public:
  explicit Arranger(const View &view) : view(view) {}

  void arrange(Message &message) const {
    const Communication &first = communicationOf(message.pieces.front());
    if (message.pieces.size() < 2 || first.tail.bytes == 0)
      return;
    std::vector<size_t> places;
    std::vector<Piece> wholes;
    for (size_t i = 0; i < message.pieces.size(); ++i)
      if (sizeOf(message.pieces[i]) == communicationOf(message.pieces[i]).bytes) {
        places.push_back(i);
        wholes.push_back(message.pieces[i]);
      }
    std::stable_sort(wholes.begin(), wholes.end(),
                     [&](const Piece &a, const Piece &b) { return need(a) < need(b); });
    std::vector<Piece> best = place(message.pieces, places, wholes);
    // Spread over the stretches: each gets what comes next as long as it is the shortest.
    unsigned ways = first.tail.ways;
    if (ways > 1 && wholes.size() > 2) {
      std::vector<std::vector<Piece>> stretches(
          std::min<size_t>(ways, wholes.size()));
      std::vector<int64_t> bytes(stretches.size());
      for (const Piece &piece : wholes) {
        size_t shortest = std::min_element(bytes.begin(), bytes.end()) - bytes.begin();
        stretches[shortest].push_back(piece);
        bytes[shortest] += sizeOf(piece);
      }
      std::vector<Piece> spread;
      for (const std::vector<Piece> &stretch : stretches)
        spread.insert(spread.end(), stretch.begin(), stretch.end());
      spread = place(message.pieces, places, spread);
      if (isBetter(spread, best, ways))
        best = std::move(spread);
    }
    message.pieces = std::move(best);
  }

private:
  const Communication &communicationOf(const Piece &piece) const {
    return view.problem.communications[piece.communication];
  }
  int64_t need(const Piece &piece) const { return view.needed[piece.communication]; }

  /// Whether what is needed first arrives earlier; of what does at once, the next.
  bool isBetter(const std::vector<Piece> &a, const std::vector<Piece> &b,
                unsigned ways) const {
    auto byNeed = [&](const std::vector<Piece> &pieces) {
      std::vector<int64_t> sizes;
      for (const Piece &piece : pieces)
        sizes.push_back(sizeOf(piece));
      std::vector<__int128> rests = restsOf(sizes, ways);
      std::vector<std::tuple<int64_t, unsigned, __int128>> list;
      for (size_t i = 0; i < pieces.size(); ++i)
        list.emplace_back(need(pieces[i]), pieces[i].communication, rests[i]);
      std::sort(list.begin(), list.end());
      return list;
    };
    auto ours = byNeed(a), theirs = byNeed(b);
    for (size_t i = 0; i < ours.size(); ++i)
      if (std::get<2>(ours[i]) != std::get<2>(theirs[i]))
        return std::get<2>(ours[i]) > std::get<2>(theirs[i]);
    return false;
  }

  const View &view;
};

} // namespace

std::vector<Time> leadsOf(const Problem &problem, const Message &message) {
  const Communication &first = problem.communications[message.pieces.front().communication];
  std::vector<Time> leads(message.pieces.size());
  if (first.tail.bytes == 0 || message.pieces.size() < 2)
    return leads;
  std::vector<int64_t> sizes;
  int64_t bytes = 0, tail = 0;
  for (const Piece &piece : message.pieces) {
    const Communication &own = problem.communications[piece.communication];
    sizes.push_back(sizeOf(piece));
    bytes += sizes.back();
    tail += stageBytes(own, {own.stages.back().link, own.tail.bytes, 0, 0}, piece.begin,
                       piece.end);
  }
  std::vector<__int128> rests = restsOf(sizes, first.tail.ways);
  __int128 whole = static_cast<__int128>(tail) * 1'000'000'000 /
                   problem.links[first.stages.back().link].bytesPerSecond;
  for (size_t i = 0; i < leads.size(); ++i)
    leads[i] = static_cast<Time>(whole * rests[i] / bytes);
  return leads;
}

bool hasTails(const Problem &problem) {
  return std::any_of(problem.communications.begin(), problem.communications.end(),
                     [](const Communication &own) { return own.tail.bytes > 0; });
}

void arrangePieces(const Problem &problem, Schedule &schedule) {
  if (!hasTails(problem))
    return;
  View view(problem, schedule.order);
  Arranger arranger(view);
  for (Message &message : schedule.messages)
    arranger.arrange(message);
}

} // namespace commsched::schedule
