// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/lower/WaitGraph.h"

#include <algorithm>

using namespace commsched;

std::vector<WaitGraph::Node> WaitGraph::findCycle() const {
  // Who waits for a node: edges sorted by the earlier node.
  std::vector<uint64_t> first(size_t(nodes) + 1, 0);
  std::vector<uint32_t> open(nodes, 0); // waits not yet fulfilled
  for (auto [later, earlier] : waits) {
    ++first[earlier + 1];
    ++open[later];
  }
  for (size_t i = 1; i < first.size(); ++i)
    first[i] += first[i - 1];
  std::vector<Node> laterOf(waits.size());
  std::vector<uint64_t> next(first.begin(), first.end() - 1);
  for (auto [later, earlier] : waits)
    laterOf[next[earlier]++] = later;

  // Take away whatever waits for nothing (Kahn 1962).
  std::vector<Node> ready;
  for (Node node = 0; node < nodes; ++node)
    if (open[node] == 0)
      ready.push_back(node);
  size_t done = 0;
  while (!ready.empty()) {
    Node node = ready.back();
    ready.pop_back();
    ++done;
    for (uint64_t i = first[node]; i < first[node + 1]; ++i)
      if (--open[laterOf[i]] == 0)
        ready.push_back(laterOf[i]);
  }
  if (done == nodes)
    return {};

  // All that is left waits for something that is left: follow that until it
  // repeats.
  constexpr Node kNone = ~Node(0);
  std::vector<Node> awaited(nodes, kNone);
  for (auto [later, earlier] : waits)
    if (open[later] > 0 && open[earlier] > 0 && awaited[later] == kNone)
      awaited[later] = earlier;
  Node node = 0;
  while (open[node] == 0)
    ++node;
  std::vector<Node> path;
  std::vector<bool> seen(nodes, false);
  for (; !seen[node]; node = awaited[node]) {
    seen[node] = true;
    path.push_back(node);
  }
  path.erase(path.begin(), std::find(path.begin(), path.end(), node));
  return path;
}
