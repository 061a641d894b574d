// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tests/runtime/cuda/orders.h"

namespace commsched::runtime::cuda {
namespace {

bool Overlap(const std::vector<Range> &as, const std::vector<Range> &bs) {
  for (const Range &a : as) {
    for (const Range &b : bs) {
      if (a.memory == b.memory && a.begin < b.begin + b.bytes && b.begin < a.begin + a.bytes)
        return true;
    }
  }
  return false;
}

}  // namespace

std::vector<OrderedPair> Conflicts(const StepGraph &graph) {
  std::vector<OrderedPair> found;
  const auto ops = uint32_t(graph.ops.size());
  for (uint32_t a = 0; a < ops; ++a) {
    for (uint32_t b = 0; b < ops; ++b) {
      const Op &x = graph.ops[a], &y = graph.ops[b];
      if (!Overlap(x.writes, y.writes) && !Overlap(x.writes, y.reads) &&
          !Overlap(x.reads, y.writes))
        continue;
      for (uint64_t first = 0; first < kRoundsOfOrders; ++first) {
        for (uint64_t second = first; second < kRoundsOfOrders; ++second) {
          if (first < second || a < b) found.push_back({{a, first}, {b, second}});
        }
      }
    }
  }
  return found;
}

Orders::Orders(const StepGraph &graph) : graph_(graph), ops_(graph.ops.size()) {
  const uint64_t all = ops_ * kRoundsOfOrders;
  words_ = all / 64 + 1;
  reaches_.assign(all * words_, 0);
  for (uint64_t i = 0; i < all; ++i) {
    for (uint64_t j = i + 1; j < all; ++j) {
      if (graph.ops[i % ops_].lane == graph.ops[j % ops_].lane) Set(i, j);
    }
  }
}

// Later ones first: what they reach is known.
void Orders::Close() {
  const uint64_t all = ops_ * kRoundsOfOrders;
  for (uint64_t i = all; i-- > 0;) {
    for (uint64_t j = i + 1; j < all; ++j) {
      if (!Reaches(i, j)) continue;
      for (uint64_t word = 0; word < words_; ++word)
        reaches_[i * words_ + word] |= reaches_[j * words_ + word];
    }
  }
}

Orders Orders::Asked(const StepGraph &graph) {
  Orders orders(graph);
  for (const auto &[first, second] : Conflicts(graph)) orders.Add(first, second);
  for (uint32_t op = 0; op < orders.ops_; ++op) {
    for (const Dependence &on : graph.ops[op].after) {
      for (uint64_t round = on.previous ? 1 : 0; round < kRoundsOfOrders; ++round)
        orders.Add({on.op, round - (on.previous ? 1 : 0)}, {op, round});
    }
  }
  orders.Close();
  return orders;
}

Orders Orders::Given(const StepGraph &graph, const IssuePlan &plan) {
  Orders orders(graph);
  for (uint32_t op = 0; op < orders.ops_; ++op) {
    for (const Dependence &on : plan.ops[op].waits) {
      for (uint64_t round = on.previous ? 1 : 0; round < kRoundsOfOrders; ++round)
        orders.Add({on.op, round - (on.previous ? 1 : 0)}, {op, round});
    }
  }
  orders.Close();
  return orders;
}

bool Orders::Has(const OpOfRound &first, const OpOfRound &second) const {
  return Reaches(Index(first), Index(second));
}

std::set<OrderedPair> Orders::Direct() const {
  std::set<OrderedPair> direct;
  const uint64_t all = ops_ * kRoundsOfOrders;
  for (uint64_t i = 0; i < all; ++i) {
    for (uint64_t j = i + 1; j < all; ++j) {
      if (!Reaches(i, j) || graph_.ops[i % ops_].lane == graph_.ops[j % ops_].lane) continue;
      bool between = false;
      for (uint64_t k = i + 1; k < j && !between; ++k) between = Reaches(i, k) && Reaches(k, j);
      if (!between) direct.insert({At(i), At(j)});
    }
  }
  return direct;
}

}  // namespace commsched::runtime::cuda
