// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A directed graph of what waits for what, and its cycles.

#ifndef COMMSCHED_PASSES_LOWER_WAITGRAPH_H
#define COMMSCHED_PASSES_LOWER_WAITGRAPH_H

#include <cstdint>
#include <utility>
#include <vector>

namespace commsched {

class WaitGraph {
public:
  using Node = uint32_t;

  explicit WaitGraph(Node nodes) : nodes(nodes) {}

  /// `later` happens only after `earlier`.
  void addWait(Node later, Node earlier) { waits.push_back({later, earlier}); }

  /// The nodes of a cycle, each waiting for the next and the last for the
  /// first; empty if there is none. Linear in nodes and waits; of several
  /// cycles always the same one.
  std::vector<Node> findCycle() const;

private:
  Node nodes;
  std::vector<std::pair<Node, Node>> waits; // (later, earlier)
};

} // namespace commsched

#endif // COMMSCHED_PASSES_LOWER_WAITGRAPH_H
