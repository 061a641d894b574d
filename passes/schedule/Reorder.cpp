// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Orders of compute: which gradients of weights to compute late.

#include "passes/schedule/Search.h"

#include <algorithm>

namespace commsched::schedule {

// After the idea of out-of-order backpropagation (Oh et al., EuroSys 2022): no op of
// the step waits for the gradient of a weight, only its communication does. Such
// ops can be left until the end of their stream: then the gradients between layers,
// and the first layers' gradients of weights, come earlier.
std::vector<Order> ordersToTry(const View &view) {
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
  std::vector<unsigned> leaves; // the most urgent first
  for (unsigned op = 0; op < problem.ops.size(); ++op)
    if (!needed[op] && urgency[op] != INT64_MAX)
      leaves.push_back(op);
  std::stable_sort(leaves.begin(), leaves.end(), [&](unsigned a, unsigned b) {
    return urgency[a] < urgency[b];
  });
  std::vector<Order> orders;
  if (leaves.size() < 2)
    return orders;
  // The `count` most urgent ones last, the most urgent of them first.
  auto defer = [&](size_t count) {
    std::vector<bool> deferred(problem.ops.size(), false);
    for (size_t i = 0; i < count; ++i)
      deferred[leaves[i]] = true;
    Order order = view.order;
    for (std::vector<unsigned> &stream : order)
      stream.erase(std::remove_if(stream.begin(), stream.end(),
                                  [&](unsigned op) { return deferred[op]; }),
                   stream.end());
    for (size_t i = 0; i < count; ++i)
      order[problem.ops[leaves[i]].stream].push_back(leaves[i]);
    if (computeTimes(problem, order).valid)
      orders.push_back(std::move(order));
  };
  for (size_t count = 2; count < leaves.size(); count = count * 3 / 2 + 1)
    defer(count);
  defer(leaves.size());
  return orders;
}

} // namespace commsched::schedule
