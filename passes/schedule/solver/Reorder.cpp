// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Orders of compute: which gradients of weights to compute late.

#include "passes/schedule/solver/Search.h"

#include <algorithm>

namespace commsched::schedule {

// After the idea of out-of-order backpropagation (Oh et al., EuroSys 2022): no op of
// the step waits for the gradient of a weight, only its communication does. Such
// ops can be left until the end of their stream: then the gradients between layers,
// and the first layers' gradients of weights, come earlier.
std::vector<unsigned> deferrableOps(const View &view) {
  const Problem &problem = view.problem;
  int64_t ops = static_cast<int64_t>(problem.ops.size());
  std::vector<bool> needed(problem.ops.size(), false);
  std::vector<int64_t> urgency(problem.ops.size(), INT64_MAX);
  for (const Op &op : problem.ops)
    for (unsigned before : op.after)
      needed[before] = true;
  for (size_t i = 0; i < problem.communications.size(); ++i)
    for (unsigned producer : problem.communications[i].producers) {
      urgency[producer] = std::min(urgency[producer], view.needed[i]);
      if (view.needed[i] < ops)
        needed[producer] = true;
    }
  std::vector<unsigned> leaves;
  for (unsigned op = 0; op < problem.ops.size(); ++op)
    if (!needed[op] && urgency[op] != INT64_MAX)
      leaves.push_back(op);
  std::stable_sort(leaves.begin(), leaves.end(), [&](unsigned a, unsigned b) {
    return urgency[a] < urgency[b];
  });
  return leaves;
}

std::vector<Order> ordersToTry(const View &view) {
  const Problem &problem = view.problem;
  std::vector<unsigned> leaves = deferrableOps(view); // the most urgent first
  std::vector<Order> orders;
  if (leaves.size() < 2)
    return orders;
  // These ops last, in this order.
  auto defer = [&](const std::vector<unsigned> &ops) {
    std::vector<bool> deferred(problem.ops.size(), false);
    for (unsigned op : ops)
      deferred[op] = true;
    Order order = view.order;
    for (std::vector<unsigned> &stream : order)
      stream.erase(std::remove_if(stream.begin(), stream.end(),
                                  [&](unsigned op) { return deferred[op]; }),
                   stream.end());
    for (unsigned op : ops)
      order[problem.ops[op].stream].push_back(op);
    if (computeTimes(problem, order).valid)
      orders.push_back(std::move(order));
  };
  for (size_t count = 2; count < leaves.size(); count = count * 3 / 2 + 1)
    defer({leaves.begin(), leaves.begin() + static_cast<std::ptrdiff_t>(count)});
  defer(leaves);
  // Where links are what is short, they should have much to send early: what brings
  // few bytes for its time is left for last.
  std::vector<double> gain(problem.ops.size(), 0);
  for (const Communication &communication : problem.communications)
    for (unsigned producer : communication.producers)
      gain[producer] += static_cast<double>(communication.bytes) /
                        static_cast<double>(problem.ops[producer].duration + 1);
  std::vector<unsigned> byGain = leaves;
  std::stable_sort(byGain.begin(), byGain.end(),
                   [&](unsigned a, unsigned b) { return gain[a] < gain[b]; });
  for (size_t eighths = 1; eighths <= 8; ++eighths) {
    std::vector<bool> chosen(problem.ops.size(), false);
    size_t count = std::max<size_t>(1, byGain.size() * eighths / 8);
    for (size_t i = 0; i < count; ++i)
      chosen[byGain[i]] = true;
    std::vector<unsigned> urgentFirst, richFirst;
    for (unsigned op : leaves)
      if (chosen[op])
        urgentFirst.push_back(op);
    for (size_t i = count; i-- > 0;)
      richFirst.push_back(byGain[i]);
    defer(urgentFirst);
    defer(richFirst);
  }
  return orders;
}

} // namespace commsched::schedule
