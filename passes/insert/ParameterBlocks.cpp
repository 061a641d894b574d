// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/insert/ParameterBlocks.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <queue>

#include "plan/fnv1a.h"
#include "llvm/Support/MathExtras.h"

using namespace commsched;

std::vector<int64_t> commsched::sliceRows(llvm::ArrayRef<int64_t> shape,
                                          int64_t servers,
                                          int64_t minElements,
                                          int64_t maxElements) {
  if (shape.empty())
    return {1};
  int64_t elements = 1;
  for (int64_t dim : shape)
    if (llvm::MulOverflow(elements, dim, elements))
      elements = std::numeric_limits<int64_t>::max();
  if (elements == 0)
    return {shape[0]};
  int64_t blocks =
      std::min(servers, std::max<int64_t>(1, elements / minElements));
  if (maxElements > 0) {
    int64_t most = std::max<int64_t>(1, maxElements / (elements / shape[0]));
    blocks = std::max(blocks, shape[0] / most + (shape[0] % most != 0));
  }
  // ceil(elements / blocks) elements, rounded up to whole rows.
  int64_t rows = shape[0] / blocks + (shape[0] % blocks != 0);
  std::vector<int64_t> result;
  for (int64_t begin = 0; begin < shape[0]; begin += result.back())
    result.push_back(std::min(rows, shape[0] - begin));
  return result;
}

std::optional<Placement> commsched::symbolizePlacement(llvm::StringRef name) {
  if (name == "balanced")
    return Placement::Balanced;
  if (name == "round-robin")
    return Placement::RoundRobin;
  if (name == "hash")
    return Placement::Hash;
  return std::nullopt;
}

std::vector<int64_t> commsched::placeUnits(llvm::ArrayRef<PlacedUnit> units,
                                           int64_t servers,
                                           Placement placement) {
  std::vector<int64_t> result(units.size());
  if (placement != Placement::Balanced) {
    for (size_t i = 0; i < units.size(); ++i)
      result[i] = (placement == Placement::Hash ? fnv1a(units[i].key) : i) %
                  static_cast<uint64_t>(servers);
    return result;
  }
  std::vector<size_t> order(units.size());
  std::iota(order.begin(), order.end(), size_t(0));
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return units[a].bytes > units[b].bytes;
  });
  // (bytes so far, server), the least first.
  using Load = std::pair<int64_t, int64_t>;
  std::priority_queue<Load, std::vector<Load>, std::greater<Load>> loads;
  // No more servers than units are ever taken.
  int64_t used =
      std::min<int64_t>(servers, static_cast<int64_t>(units.size()));
  for (int64_t server = 0; server < used; ++server)
    loads.push({0, server});
  for (size_t i : order) {
    auto [bytes, server] = loads.top();
    loads.pop();
    result[i] = server;
    loads.push({bytes + units[i].bytes, server});
  }
  return result;
}
