// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Divisions of a sequence of tensors into messages.

#include "passes/schedule/solver/Fusion.h"

#include <algorithm>
#include <deque>

namespace commsched::schedule {

FusionCosts fusionCosts(const View &view, const std::vector<unsigned> &kind,
                        bool withLatency) {
  FusionCosts costs;
  for (unsigned index : kind) {
    LinkCost cost = linkCost(view.problem, view.problem.communications[index]);
    costs.ready.push_back(static_cast<double>(view.release[index]));
    costs.transfer.push_back(cost.transfer);
    costs.perMessage =
        std::max(costs.perMessage, cost.overhead + (withLatency ? cost.latency : 0.0));
  }
  return costs;
}

double finish(const FusionCosts &costs, const Division &division) {
  double now = 0;
  for (size_t m = 0; m < division.size(); ++m) {
    size_t end = m + 1 < division.size() ? division[m + 1] : costs.ready.size();
    double bytes = 0;
    for (size_t i = division[m]; i < end; ++i)
      bytes += costs.transfer[i];
    now = std::max(now, costs.ready[end - 1]) + costs.perMessage + bytes;
  }
  return now;
}

Division fuseExactly(const FusionCosts &costs, double most) {
  size_t count = costs.ready.size();
  std::vector<double> done(count + 1, 0), before(count + 1, 0);
  std::vector<unsigned> begin(count + 1, 0);
  for (size_t i = 0; i < count; ++i)
    before[i + 1] = before[i] + costs.transfer[i];
  // Of the a behind the link's idle time: increasing a with increasing
  // done[a] - before[a].
  std::deque<size_t> window;
  size_t entered = 0; // a < entered were put into the window
  size_t idle = 0;    // the last a with done[a] <= ready(b)
  size_t first = 0;   // the first a that `most` allows
  for (size_t b = 1; b <= count; ++b) {
    double ready = costs.ready[b - 1];
    while (first + 1 < b && before[b] - before[first] > most)
      ++first;
    for (; entered < b; ++entered) {
      while (!window.empty() && done[window.back()] - before[window.back()] >=
                                    done[entered] - before[entered])
        window.pop_back();
      window.push_back(entered);
    }
    while (idle + 1 < b && done[idle + 1] <= ready)
      ++idle;
    while (!window.empty() &&
           (window.front() < first || done[window.front()] <= ready))
      window.pop_front();
    double best = -1;
    if (idle >= first && done[idle] <= ready) {
      best = ready + costs.perMessage + (before[b] - before[idle]);
      begin[b] = static_cast<unsigned>(idle);
    }
    if (!window.empty()) {
      size_t a = window.front();
      double other = done[a] + costs.perMessage + (before[b] - before[a]);
      if (best < 0 || other < best) {
        best = other;
        begin[b] = static_cast<unsigned>(a);
      }
    }
    done[b] = best;
  }
  Division division;
  for (size_t b = count; b > 0; b = begin[b])
    division.push_back(begin[b]);
  std::reverse(division.begin(), division.end());
  return division;
}

Division fuseGreedily(const FusionCosts &costs) {
  Division division;
  double now = 0; // when the messages before are through
  double bytes = 0;
  bool open = false;
  for (size_t i = 0; i < costs.ready.size(); ++i) {
    if (!open)
      division.push_back(static_cast<unsigned>(i));
    open = true;
    bytes += costs.transfer[i];
    double start = std::max(now, costs.ready[i]);
    if (i + 1 < costs.ready.size() && costs.ready[i + 1] - start < costs.perMessage)
      continue;
    now = start + costs.perMessage + bytes;
    bytes = 0;
    open = false;
  }
  return division;
}

Division fuseBySize(const View &view, const std::vector<unsigned> &kind, int64_t bytes,
                    int64_t firstBytes) {
  Division division;
  int64_t limit = firstBytes;
  int64_t size = 0;
  bool open = false;
  for (size_t i = 0; i < kind.size(); ++i) {
    if (!open)
      division.push_back(static_cast<unsigned>(i));
    open = true;
    size += view.problem.communications[kind[i]].bytes;
    if (size < limit)
      continue;
    open = false;
    size = 0;
    limit = bytes;
  }
  return division;
}

Division fuseUpTo(const View &view, const std::vector<unsigned> &kind, int64_t bytes,
                  bool fromLast) {
  Division division;
  auto count = static_cast<unsigned>(kind.size());
  int64_t size = 0;
  for (unsigned i = 0; i < count; ++i) {
    unsigned place = fromLast ? count - 1 - i : i;
    int64_t tensor = view.problem.communications[kind[place]].bytes;
    // Where a message begins, of two neighbours in one order or the other.
    if (i == 0 || tensor > bytes - size) {
      if (i || !fromLast)
        division.push_back(fromLast ? place + 1 : place);
      size = 0;
    }
    size += tensor;
  }
  if (fromLast && count) {
    division.push_back(0);
    std::reverse(division.begin(), division.end());
  }
  return division;
}

std::vector<std::vector<unsigned>> divide(const View &view,
                                          const std::vector<unsigned> &kind,
                                          const Division &division) {
  std::vector<std::vector<unsigned>> groups;
  for (size_t m = 0; m < division.size(); ++m) {
    size_t end = m + 1 < division.size() ? division[m + 1] : kind.size();
    int64_t needed = INT64_MAX, produced = -1;
    for (size_t i = division[m]; i < end; ++i) {
      unsigned tensor = kind[i];
      needed = std::min(needed, view.needed[tensor]);
      produced = std::max(produced, view.produced[tensor]);
      if (i == division[m] || produced >= needed) {
        groups.emplace_back();
        needed = view.needed[tensor];
        produced = view.produced[tensor];
      }
      groups.back().push_back(tensor);
    }
  }
  return groups;
}

} // namespace commsched::schedule
