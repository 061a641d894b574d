// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/schedule/solver/MessageCosts.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>

namespace commsched::schedule {

namespace {

/// Kinds that are looked at by themselves, and pairs of links; those with most bytes.
constexpr size_t kMaxKinds = 4;
/// Communications that are looked at per step, about.
constexpr size_t kMaxVisits = size_t{1} << 18;

Time workOf(const Problem &problem, const Stage &stage, Time unit) {
  return static_cast<Time>(static_cast<__int128>(stage.bytes) * 1'000'000'000 * unit /
                           problem.links[stage.link].bytesPerSecond);
}

/// Least of n overhead + max(work / n, whole) for natural n; convex in n.
Time leastSplit(Time work, Time whole, Time overhead) {
  if (work <= 0 || overhead <= 0)
    return whole;
  auto most = static_cast<Time>(
      std::sqrt(static_cast<double>(work) / static_cast<double>(overhead)));
  if (whole > 0)
    most = std::min(most, work / whole);
  Time least = INT64_MAX;
  for (Time n = std::max<Time>(most - 1, 1); n <= most + 2; ++n)
    least = std::min(least, n * overhead + std::max(work / n, whole));
  return least;
}

} // namespace

Time leastEnd(const std::vector<Release> &releases, Time overhead) {
  // end[b]: of the first b; its messages are known, as in fuseExactly().
  size_t count = releases.size();
  std::vector<Time> end(count + 1), before(count + 1);
  for (size_t i = 0; i < count; ++i)
    before[i + 1] = before[i] + releases[i].work;
  std::deque<size_t> window; // increasing, with increasing end - before
  size_t entered = 0, idle = 0;
  for (size_t b = 1; b <= count; ++b) {
    Time ready = releases[b - 1].ready;
    for (; entered < b; ++entered) {
      while (!window.empty() && end[window.back()] - before[window.back()] >=
                                    end[entered] - before[entered])
        window.pop_back();
      window.push_back(entered);
    }
    while (idle + 1 < b && end[idle + 1] <= ready)
      ++idle;
    while (!window.empty() && end[window.front()] <= ready)
      window.pop_front();
    Time best = INT64_MAX;
    if (end[idle] <= ready)
      best = ready + overhead + before[b] - before[idle];
    if (!window.empty()) {
      size_t a = window.front();
      best = std::min(best, end[a] + overhead + before[b] - before[a]);
    }
    end[b] = best;
  }
  return end[count];
}

Time leastEndOfTwo(const std::vector<Release> &releases, Time overhead) {
  Time end = 0, work = 0, whole = 0;
  for (size_t i = releases.size(); i-- > 0;) {
    work += releases[i].work;
    whole = std::max(whole, releases[i].whole);
    // Of those that come at once, all together say most.
    if (i > 0 && releases[i - 1].ready == releases[i].ready)
      continue;
    end = std::max(end, releases[i].ready + overhead + work +
                            leastSplit(work, whole, overhead));
  }
  return end;
}

MessageCosts::MessageCosts(const Problem &problem,
                           const std::vector<std::vector<unsigned>> &order,
                           unsigned stream, Time unit)
    : needs(firstNeeds(problem, order, stream)), useful(order[stream].size()) {
  std::map<unsigned, int64_t> bytes; // by kind
  bool costs = false;
  for (const Communication &communication : problem.communications) {
    bytes[communication.kind] += communication.bytes;
    for (const Stage &stage : communication.stages)
      costs |= stage.overhead > 0;
    costs |= !communication.divisible;
  }
  if (!costs || useful.empty())
    return;
  for (unsigned link = 0; link < problem.links.size(); ++link)
    addLink(problem, link, std::nullopt, unit);
  std::vector<unsigned> kinds;
  for (const auto &[kind, size] : bytes)
    kinds.push_back(kind);
  std::stable_sort(kinds.begin(), kinds.end(),
                   [&](unsigned a, unsigned b) { return bytes[a] > bytes[b]; });
  kinds.resize(std::min(kinds.size(), kMaxKinds));
  for (unsigned kind : kinds) {
    if (bytes.size() > 1)
      for (unsigned link = 0; link < problem.links.size(); ++link)
        addLink(problem, link, kind, unit);
  }
  addPairs(problem, unit);
  // Ops that are the first to need something; evenly spread, if too many.
  std::vector<unsigned> positions;
  for (const Need &need : needs)
    positions.push_back(need.position);
  std::sort(positions.begin(), positions.end());
  positions.erase(std::unique(positions.begin(), positions.end()), positions.end());
  size_t most = std::max<size_t>(4, kMaxVisits / (2 * needs.size() * groups.size() + 1));
  size_t count = std::min(positions.size(), most);
  for (size_t i = 1; i <= count; ++i)
    useful[positions[positions.size() * i / count - 1]] = true;
}

/// All visits of a communication to the link as one.
void MessageCosts::addLink(const Problem &problem, unsigned link,
                           std::optional<unsigned> kind, Time unit) {
  Group group;
  group.overhead = group.tail = INT64_MAX;
  group.visits.resize(problem.communications.size());
  for (size_t i = 0; i < problem.communications.size(); ++i) {
    const Communication &communication = problem.communications[i];
    if (kind && communication.kind != *kind)
      continue;
    Visit &visit = group.visits[i];
    Time head = 0, overhead = 0, tail = 0;
    for (const Stage &stage : communication.stages) {
      if (stage.link == link) {
        if (visit.work < 0)
          visit = {head, 0, 0};
        visit.work += workOf(problem, stage, unit);
        overhead += stage.overhead;
        tail = stage.latency;
      } else {
        tail += stage.overhead + stage.latency;
      }
      head += (stage.overhead + stage.latency) * unit;
    }
    if (visit.work < 0)
      continue;
    group.overhead = std::min(group.overhead, overhead * unit);
    group.tail = std::min(group.tail, tail * unit);
  }
  if (group.overhead != INT64_MAX)
    groups.push_back(std::move(group));
}

/// Two stages in turn on two links: all communications that go so, whatever their kinds. That messages are of one kind
/// each makes them more, never fewer.
void MessageCosts::addPairs(const Problem &problem, Time unit) {
  struct Pair {
    Group group;
    __int128 work = 0;
  };
  std::map<std::pair<unsigned, unsigned>, Pair> pairs; // by the links
  for (size_t i = 0; i < problem.communications.size(); ++i) {
    const Communication &communication = problem.communications[i];
    const std::vector<Stage> &stages = communication.stages;
    Time head = 0, tail = 0;
    for (const Stage &stage : stages)
      tail += stage.overhead + stage.latency;
    for (size_t first = 0; first + 1 < stages.size(); ++first) {
      const Stage &a = stages[first], &b = stages[first + 1];
      // From the first of them to the end; what a message occupies links for is counted with them.
      const Time behind = tail - a.overhead - b.overhead;
      tail -= a.overhead + a.latency;
      if (a.link != b.link) {
        auto [known, isNew] = pairs.try_emplace({a.link, b.link});
        Group &group = known->second.group;
        if (isNew) {
          group.two = true;
          group.overhead = group.tail = INT64_MAX;
          group.visits.resize(problem.communications.size());
        }
        if (group.visits[i].work < 0) {
          Time work = std::min(workOf(problem, a, unit), workOf(problem, b, unit));
          group.visits[i] = {head, work, communication.divisible ? 0 : work};
          group.overhead = std::min(group.overhead, std::min(a.overhead, b.overhead) * unit);
          group.tail = std::min(group.tail, behind * unit);
          known->second.work += work;
        }
      }
      head += (a.overhead + a.latency) * unit;
    }
  }
  std::vector<Pair *> most;
  for (auto &[links, pair] : pairs)
    most.push_back(&pair);
  std::stable_sort(most.begin(), most.end(), [](const Pair *a, const Pair *b) { return a->work > b->work; });
  for (size_t i = 0; i < std::min(most.size(), kMaxKinds); ++i)
    groups.push_back(std::move(most[i]->group));
}

Time MessageCosts::earliest(uint64_t step, unsigned position,
                            const std::vector<const Produced *> &steps) const {
  Time result = 0;
  std::vector<Release> releases;
  for (const Group &group : groups) {
    releases.clear();
    for (const Produced *produced : steps) {
      if (produced->step + 2 < step)
        continue;
      for (auto [communication, time] : produced->communications) {
        const Visit &visit = group.visits[communication];
        const Need &need = needs[communication];
        if (visit.work < 0 ||
            std::pair(produced->step + need.distance, need.position) >
                std::pair(step, position))
          continue;
        releases.push_back({time + visit.head, visit.work, visit.whole});
      }
    }
    if (releases.empty())
      continue;
    auto earlier = [](const Release &a, const Release &b) { return a.ready < b.ready; };
    if (!std::is_sorted(releases.begin(), releases.end(), earlier))
      std::stable_sort(releases.begin(), releases.end(), earlier);
    result = std::max(result,
                      group.tail + (group.two ? leastEndOfTwo(releases, group.overhead)
                                              : leastEnd(releases, group.overhead)));
  }
  return result;
}

} // namespace commsched::schedule
