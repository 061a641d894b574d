// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/schedule/solver/RelaxedLinks.h"
#include "passes/schedule/solver/Needs.h"

#include <algorithm>
#include <set>

namespace commsched::schedule {

/// Latencies and overheads differ between kinds; so many classes of them are told
/// apart on a link.
static constexpr size_t kMaxClasses = 4;

void addItems(const Problem &problem, const std::vector<std::vector<unsigned>> &order,
              unsigned stream, Time unit, std::vector<Item> &items,
              std::vector<QueueCosts> &costs) {
  std::vector<Need> needs = firstNeeds(problem, order, stream);
  using Costs = std::pair<Time, Time>; // after the link, overhead on it
  struct Visit {
    unsigned communication;
    Time head, work;
    Costs costs;
  };
  auto work = [&](const Stage &stage) {
    return static_cast<Time>(static_cast<__int128>(stage.bytes) * 1'000'000'000 * unit /
                             problem.links[stage.link].bytesPerSecond);
  };
  std::vector<std::vector<Visit>> visits(problem.links.size());
  for (unsigned i = 0; i < problem.communications.size(); ++i) {
    const std::vector<Stage> &stages = problem.communications[i].stages;
    Time tail = 0, head = 0;
    for (const Stage &stage : stages)
      tail += stage.overhead + stage.latency;
    for (const Stage &stage : stages) {
      tail -= stage.overhead;
      visits[stage.link].push_back(
          {i, head * unit, work(stage), {tail, stage.overhead}});
      tail -= stage.latency;
      head += stage.overhead + stage.latency;
    }
  }
  for (const std::vector<Visit> &visitsOfLink : visits) {
    if (visitsOfLink.empty())
      continue;
    std::set<Costs> classes;
    Costs least = visitsOfLink.front().costs;
    for (const Visit &visit : visitsOfLink) {
      classes.insert(visit.costs);
      least = {std::min(least.first, visit.costs.first),
               std::min(least.second, visit.costs.second)};
    }
    std::vector<Costs> chosen(classes.begin(), classes.end());
    while (chosen.size() > kMaxClasses) { // every other one, and the last
      std::vector<Costs> fewer;
      for (size_t i = 0; i < chosen.size(); ++i)
        if (i % 2 || i + 1 == chosen.size())
          fewer.push_back(chosen[i]);
      chosen = fewer;
    }
    if (std::find(chosen.begin(), chosen.end(), least) == chosen.end())
      chosen.push_back(least);
    for (const Costs &floor : chosen) {
      unsigned queue = static_cast<unsigned>(costs.size());
      costs.push_back({stream, (floor.first + floor.second) * unit});
      for (const Visit &visit : visitsOfLink) {
        if (visit.costs.first < floor.first || visit.costs.second < floor.second)
          continue;
        Need need = needs[visit.communication];
        items.push_back({visit.communication, queue, visit.head, visit.work,
                         order[stream][need.position], need.distance});
      }
    }
  }
}

} // namespace commsched::schedule
