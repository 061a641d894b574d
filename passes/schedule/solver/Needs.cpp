// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/schedule/solver/Needs.h"

#include <algorithm>

namespace commsched::schedule {

std::vector<Need> firstNeeds(const Problem &problem,
                             const std::vector<std::vector<unsigned>> &order,
                             unsigned stream) {
  size_t count = problem.ops.size();
  std::vector<std::vector<unsigned>> next(count); // ops of the same step
  std::vector<unsigned> waits(count);
  std::vector<unsigned> positions(count);
  auto edge = [&](unsigned from, unsigned to) {
    next[from].push_back(to);
    ++waits[to];
  };
  for (const std::vector<unsigned> &ops : order)
    for (unsigned i = 0; i < ops.size(); ++i) {
      positions[ops[i]] = i;
      if (i)
        edge(ops[i - 1], ops[i]);
    }
  for (unsigned i = 0; i < count; ++i)
    for (unsigned before : problem.ops[i].after)
      edge(before, i);
  std::vector<std::vector<Consumer>> later(count); // .op: communication
  for (unsigned i = 0; i < problem.communications.size(); ++i)
    for (unsigned producer : problem.communications[i].producers) {
      later[producer].push_back({i, 0});
      for (const Consumer &consumer : problem.communications[i].consumers)
        if (consumer.distance == 0)
          edge(producer, consumer.op);
    }
  std::vector<unsigned> sorted;
  for (unsigned i = 0; i < count; ++i)
    if (waits[i] == 0)
      sorted.push_back(i);
  for (size_t i = 0; i < sorted.size(); ++i)
    for (unsigned user : next[sorted[i]])
      if (--waits[user] == 0)
        sorted.push_back(user);

  // Needs of ops, as seen `ahead` steps before: everything needs a step to be done
  // before the first op of the one after the next.
  std::vector<Need> communicationNeeds(problem.communications.size(), {2, 0});
  std::vector<Need> after(count, {2, 0}); // of ops of the next step, from this one
  std::vector<Need> needs(count, {2, 0});
  for (int pass = 0; pass < 2; ++pass) {
    for (size_t i = sorted.size(); i-- > 0;) {
      unsigned op = sorted[i];
      Need need{2, 0};
      if (problem.ops[op].stream == stream)
        need = {0, positions[op]};
      else {
        for (unsigned user : next[op])
          need = std::min(need, needs[user]);
        for (const Consumer &out : later[op])
          for (const Consumer &consumer : problem.communications[out.op].consumers)
            if (consumer.distance == 1)
              need = std::min(need, after[consumer.op]);
        // The stream's next step.
        if (pass == 1)
          need = std::min(need, after[order[problem.ops[op].stream].front()]);
      }
      needs[op] = need;
    }
    for (size_t i = 0; i < count; ++i)
      after[i] = std::min<Need>({needs[i].distance + 1, needs[i].position}, {2, 0});
  }
  for (size_t i = 0; i < problem.communications.size(); ++i)
    for (const Consumer &consumer : problem.communications[i].consumers)
      communicationNeeds[i] =
          std::min(communicationNeeds[i],
                   consumer.distance ? after[consumer.op] : needs[consumer.op]);
  return communicationNeeds;
}

} // namespace commsched::schedule
