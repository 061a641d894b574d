// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/schedule/solver/Deferred.h"

#include <algorithm>
#include <map>
#include <set>

namespace commsched::schedule {

namespace {

class Elimination {
public:
  Elimination(const Problem &given, const std::vector<std::vector<unsigned>> &givenOrder)
      : problem(given), order(givenOrder), after(given.ops.size()), users(given.ops.size()),
        produced(given.ops.size()), consumed(given.ops.size()), gone(given.ops.size(), false),
        position(given.ops.size()) {
    for (unsigned i = 0; i < problem.ops.size(); ++i)
      for (unsigned before : problem.ops[i].after) {
        after[i].insert(before);
        users[before].insert(i);
      }
    for (unsigned i = 0; i < problem.communications.size(); ++i) {
      for (unsigned producer : problem.communications[i].producers)
        produced[producer].insert(i);
      for (const Consumer &consumer : problem.communications[i].consumers)
        consumed[consumer.op].insert({i, consumer.distance});
    }
    for (const std::vector<unsigned> &ops : order)
      for (unsigned i = 0; i < ops.size(); ++i)
        position[ops[i]] = i;
  }

  OrderedProblem run() {
    // What waits for an op comes after it, so users that are deferred have been looked at.
    for (unsigned i = static_cast<unsigned>(problem.ops.size()); i-- > 0;)
      if (problem.ops[i].deferred)
        remove(i);
    return build();
  }

private:
  void remove(unsigned op) {
    if (!produced[op].empty() && (!consumed[op].empty() || after[op].empty())) {
      problem.ops[op].stream = problem.streams++;
      order.push_back({op});
      position[op] = 0;
      return;
    }
    gone[op] = true;
    // Those behind the first one of a stream come after it.
    std::map<unsigned, unsigned> firsts;
    for (unsigned user : users[op]) {
      auto [first, isNew] = firsts.try_emplace(problem.ops[user].stream, user);
      if (!isNew && position[user] < position[first->second])
        first->second = user;
      after[user].erase(op);
    }
    for (unsigned before : after[op]) {
      users[before].erase(op);
      for (auto [stream, user] : firsts) {
        users[before].insert(user);
        after[user].insert(before);
      }
      for (unsigned communication : produced[op])
        produced[before].insert(communication);
    }
    for (auto [stream, user] : firsts)
      consumed[user].insert(consumed[op].begin(), consumed[op].end());
  }

  OrderedProblem build() {
    std::vector<unsigned> number(problem.ops.size());
    OrderedProblem result;
    result.problem = problem;
    std::vector<Op> &ops = result.problem.ops;
    ops.clear();
    for (unsigned i = 0; i < problem.ops.size(); ++i) {
      if (gone[i])
        continue;
      number[i] = static_cast<unsigned>(ops.size());
      ops.push_back(problem.ops[i]);
      ops.back().after.clear();
      for (unsigned before : after[i])
        ops.back().after.push_back(number[before]);
    }
    std::vector<Communication> &communications = result.problem.communications;
    for (Communication &communication : communications) {
      communication.producers.clear();
      communication.consumers.clear();
    }
    for (unsigned i = 0; i < problem.ops.size(); ++i) {
      if (gone[i])
        continue;
      for (unsigned communication : produced[i])
        communications[communication].producers.push_back(number[i]);
      for (auto [communication, distance] : consumed[i])
        communications[communication].consumers.push_back({number[i], distance});
    }
    for (unsigned stream = 0; stream < order.size(); ++stream) {
      std::vector<unsigned> &kept = result.order.emplace_back();
      for (unsigned op : order[stream])
        if (!gone[op] && problem.ops[op].stream == stream)
          kept.push_back(number[op]);
    }
    return result;
  }

  Problem problem;
  std::vector<std::vector<unsigned>> order;
  std::vector<std::set<unsigned>> after, users;                  // by op: ops
  std::vector<std::set<unsigned>> produced;                      // by op: communications
  std::vector<std::set<std::pair<unsigned, unsigned>>> consumed; // and distances
  std::vector<bool> gone;
  std::vector<unsigned> position;
};

} // namespace

OrderedProblem withoutDeferred(const Problem &problem,
                               const std::vector<std::vector<unsigned>> &order) {
  if (std::none_of(problem.ops.begin(), problem.ops.end(),
                   [](const Op &op) { return op.deferred; }))
    return {problem, order};
  return Elimination(problem, order).run();
}

} // namespace commsched::schedule
