// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/schedule/solver/Chains.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace commsched::schedule {

namespace {

class Chains {
public:
  Chains(const Problem &problem, const std::vector<Message> &messages)
      : problem(problem), tensors(problem.communications.size()),
        row(problem.communications.size()) {
    std::iota(row.begin(), row.end(), 0u);
    std::vector<std::vector<Share>> shares;
    for (const Message &message : messages) {
      shares.push_back(sharesOf(message));
      for (const Share &share : shares.back())
        ++tensors[share.tensor].messages;
    }
    for (size_t i = 0; i < messages.size(); ++i)
      add(messages[i], shares[i]);
  }

  std::vector<Message> cut(const std::vector<int64_t> &units);

private:
  enum class End {
    none,
    head,
    tail
  };
  /// So many bytes of a tensor, at an end of it where that matters.
  struct Share {
    unsigned tensor = 0;
    int64_t bytes = 0;
    End end = End::none;
  };
  struct Tensor {
    unsigned messages = 0; ///< that have a part of it
    bool headFree = true, tailFree = true;
  };
  struct Chain {
    std::vector<Share> shares;
    const Message *message;
  };

  /// In order of their first appearance.
  static std::vector<Share> sharesOf(const Message &message) {
    std::vector<std::pair<size_t, Share>> shares;
    for (const Piece &piece : message.pieces)
      shares.push_back({shares.size(), {piece.communication, piece.end - piece.begin}});
    std::stable_sort(shares.begin(), shares.end(), [](const auto &a, const auto &b) {
      return a.second.tensor < b.second.tensor;
    });
    std::vector<std::pair<size_t, Share>> joined;
    for (const auto &share : shares)
      if (!joined.empty() && joined.back().second.tensor == share.second.tensor)
        joined.back().second.bytes += share.second.bytes;
      else
        joined.push_back(share);
    std::sort(joined.begin(), joined.end(),
              [](const auto &a, const auto &b) { return a.first < b.first; });
    std::vector<Share> result;
    for (const auto &[index, share] : joined)
      result.push_back(share);
    return result;
  }

  void add(const Message &message, const std::vector<Share> &shares) {
    std::vector<Share> parts, wholes;
    for (const Share &share : shares)
      (tensors[share.tensor].messages > 1 ? parts : wholes).push_back(share);
    if (shares.size() == 1) {
      chains.push_back({shares, &message});
      return;
    }
    // The first one gives its tail, the last one its head; one alone what is free, if it
    // can as it stands.
    size_t left = parts.size(), right = parts.size();
    bool behind = parts.size() == 1 && shares.back().tensor == parts[0].tensor &&
                  tensors[parts[0].tensor].headFree;
    for (size_t i = 0; i < parts.size() && left == parts.size() && !behind; ++i)
      if (tensors[parts[i].tensor].tailFree)
        left = i;
    for (size_t i = parts.size(); i-- > 0 && right == parts.size();)
      if (i != left && tensors[parts[i].tensor].headFree)
        right = i;
    std::vector<Share> chain, rest;
    if (left < parts.size()) {
      parts[left].end = End::tail;
      tensors[parts[left].tensor].tailFree = false;
      chain.push_back(parts[left]);
    }
    chain.insert(chain.end(), wholes.begin(), wholes.end());
    if (right < parts.size()) {
      parts[right].end = End::head;
      tensors[parts[right].tensor].headFree = false;
      chain.push_back(parts[right]);
    }
    addChain(message, chain);
    for (size_t i = 0; i < parts.size(); ++i)
      if (i != left && i != right)
        chains.push_back({{parts[i]}, &message});
  }

  unsigned find(unsigned tensor) {
    while (row[tensor] != tensor)
      tensor = row[tensor] = row[row[tensor]];
    return tensor;
  }

  /// Each end of a tensor is in one message only, so a neighbour is free; but a row
  /// must not close to a ring.
  void addChain(const Message &message, const std::vector<Share> &shares) {
    std::vector<Share> current;
    for (const Share &share : shares) {
      if (!current.empty()) {
        unsigned before = find(current.back().tensor);
        unsigned here = find(share.tensor);
        if (before == here)
          chains.push_back({std::exchange(current, {}), &message});
        else
          row[here] = before;
      }
      current.push_back(share);
    }
    if (!current.empty())
      chains.push_back({std::move(current), &message});
  }

  const Problem &problem;
  std::vector<Tensor> tensors;
  std::vector<unsigned> row; // union-find: tensors that lie side by side
  std::vector<Chain> chains;
};

/// Gives each share its bytes: the head first, the tail last, others in order.
std::vector<Message> Chains::cut(const std::vector<int64_t> &units) {
  std::vector<int64_t> next(tensors.size());
  for (const Chain &chain : chains)
    for (const Share &share : chain.shares)
      if (share.end == End::head)
        next[share.tensor] = share.bytes;
  auto cutAt = [&](unsigned tensor, int64_t position) {
    bool inside = position < problem.communications[tensor].bytes;
    return position - (inside ? position % units[tensor] : 0);
  };
  std::vector<Message> messages;
  for (const Chain &chain : chains) {
    Message message{{}, chain.message->priorities};
    for (const Share &share : chain.shares) {
      int64_t begin = 0;
      if (share.end == End::tail)
        begin = problem.communications[share.tensor].bytes - share.bytes;
      else if (share.end == End::none)
        begin = std::exchange(next[share.tensor], next[share.tensor] + share.bytes);
      Piece piece{share.tensor, cutAt(share.tensor, begin),
                  cutAt(share.tensor, begin + share.bytes)};
      if (piece.begin < piece.end)
        message.pieces.push_back(piece);
    }
    if (!message.pieces.empty())
      messages.push_back(std::move(message));
  }
  return messages;
}

} // namespace

std::vector<Message> chainMessages(const Problem &problem,
                                   const std::vector<Message> &messages,
                                   const std::vector<int64_t> &units) {
  return Chains(problem, messages).cut(units);
}

} // namespace commsched::schedule
