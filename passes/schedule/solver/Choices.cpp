// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The family of schedules with one size of fusion, one size of slices, one rule of
// priority and one credit: searched one parameter at a time.

#include "passes/schedule/solver/Fusion.h"
#include "passes/schedule/solver/Partition.h"
#include "passes/schedule/solver/Search.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

namespace commsched::schedule {

namespace {

/// Bytes of tensors that a packet of a connection has, where that is least; 0 if there are none.
int64_t packetOfTensor(const Problem &problem) {
  int64_t packet = 0;
  for (const Communication &communication : problem.communications)
    for (const Stage &stage : communication.stages) {
      const Link &link = problem.links[stage.link];
      if (!link.byConnection || link.packetBytes == 0 || stage.bytes == 0)
        continue;
      auto own = static_cast<int64_t>(static_cast<__int128>(link.packetBytes) * communication.bytes / stage.bytes);
      packet = packet == 0 ? own : std::min(packet, own);
    }
  return packet;
}

class Family {
public:
  Family(Search &search, const View &view) : search(search), view(view) {
    int64_t largest = 1, total = 0;
    for (const Communication &communication : view.problem.communications) {
      total += communication.bytes;
      largest = std::max(largest, communication.bytes);
    }
    // From what would make so many slices that judging them takes too long, to
    // everything in one message; by factors of two.
    int64_t atMost = std::max<int64_t>(
        2 * view.problem.communications.size(),
        std::clamp<int64_t>(search.left / 64, 256, 50000));
    int64_t smallest = std::max<int64_t>(1, total / atMost);
    for (int64_t size = smallest; size < total; size *= 2)
      sizes.push_back(size);
    // What ends within a packet waits for the rest of it.
    if (int64_t packet = packetOfTensor(view.problem); packet > 0) {
      std::vector<int64_t> given = std::exchange(sizes, {});
      for (int64_t size : given)
        for (int64_t own : {size, size + size / 2}) {
          if (own > packet / 2)
            own = (own + packet / 2) / packet * packet;
          if (own < total && (sizes.empty() || sizes.back() < own))
            sizes.push_back(own);
        }
    }
    sizes.push_back(std::max(total, int64_t{1}));
    before.resize(view.problem.communications.size());
    std::vector<unsigned> byNeed(before.size());
    std::iota(byNeed.begin(), byNeed.end(), 0u);
    std::stable_sort(byNeed.begin(), byNeed.end(), [&](unsigned a, unsigned b) {
      return view.needed[a] < view.needed[b];
    });
    int64_t sum = 0;
    for (unsigned index : byNeed)
      before[index] = sum += view.problem.communications[index].bytes;
    double time = 0, bytes = 0;
    for (const Communication &communication : view.problem.communications) {
      time += linkCost(view.problem, communication).transfer;
      bytes += static_cast<double>(communication.bytes);
    }
    nanosecondsPerByte = bytes > 0 ? time / bytes : 0;
    stages = 1;
    for (const Communication &communication : view.problem.communications)
      stages = std::max(stages, communication.stages.size());
  }

  int count() const { return static_cast<int>(sizes.size()); }

  double period(Choice choice) {
    choice.fuse = std::clamp(choice.fuse, -1, count() - 1);
    choice.slice = std::clamp(choice.slice, 0, count() - 1);
    choice.credit = std::clamp(choice.credit, 0, 4);
    choice.growth = std::clamp(choice.growth, 0, kMostGrowth);
    if (auto known = tried.find(choice.key()); known != tried.end())
      return known->second;
    if (search.done())
      return 1e300;
    return tried[choice.key()] = search.offer(make(choice));
  }

  Schedule make(const Choice &choice) const {
    Schedule schedule = emptySchedule(view, "solver");
    int64_t longest = 1;
    for (const std::vector<unsigned> &kind : view.kinds)
      for (const std::vector<unsigned> &group :
           divide(view, kind, division(kind, choice))) {
        int64_t slice = INT64_MAX;
        for (unsigned index : group)
          slice = std::min(slice, limit(sizes[choice.slice], index, choice));
        for (Message &message : choice.whole ? cutFull(view, group, slice)
                                             : cutEvenly(view, group, slice)) {
          prioritize(message, choice.priority);
          int64_t bytes = 0;
          for (const Piece &piece : message.pieces)
            bytes += piece.end - piece.begin;
          longest = std::max(longest, bytes);
          schedule.messages.push_back(std::move(message));
        }
      }
    for (size_t link = 0; link < schedule.credit.size(); ++link)
      schedule.credit[link] = creditsToTry(view.problem, static_cast<unsigned>(link),
                                           longest)[choice.credit];
    return schedule;
  }

  size_t stages = 1;

  static constexpr int kMostGrowth = 7;

private:
  // What a message with this tensor may have at most.
  int64_t limit(int64_t size, unsigned index, const Choice &choice) const {
    if (choice.growth == 0)
      return size;
    return std::max(size, before[index] >> (kMostGrowth + 1 - choice.growth));
  }

  Division division(const std::vector<unsigned> &kind, const Choice &choice) const {
    if (choice.fuse < 0)
      return fuseBySize(view, kind, 1, 1);
    if (!choice.exact) {
      Division division;
      int64_t size = 0;
      for (unsigned i = 0; i < kind.size(); ++i) {
        if (size == 0)
          division.push_back(i);
        size += view.problem.communications[kind[i]].bytes;
        if (size >= limit(sizes[choice.fuse], kind[i], choice))
          size = 0;
      }
      return division;
    }
    return fuseExactly(fusionCosts(view, kind, /*withLatency=*/false),
                       static_cast<double>(sizes[choice.fuse]) * nanosecondsPerByte);
  }

  void prioritize(Message &message, Choice::Priority rule) const {
    switch (rule) {
    case Choice::Priority::Consumer:
      return prioritizeByConsumer(view, message);
    case Choice::Priority::LastStage:
      return prioritizeLastStage(view, message);
    case Choice::Priority::Release:
      return prioritizeByRelease(view, message);
    }
  }

  Search &search;
  const View &view;
  std::vector<int64_t> sizes;
  /// By communication: bytes of those needed before it, and its own.
  std::vector<int64_t> before;
  double nanosecondsPerByte = 0;
  std::map<decltype(Choice().key()), double> tried;
};

// Better neighbours of `choice`, one parameter at a time, until there is none.
double descend(Search &search, Family &family, Choice &choice) {
  double period = family.period(choice);
  for (bool better = true; better && !search.done();) {
    better = false;
    auto attempt = [&](Choice other) {
      double candidate = family.period(other);
      if (!(candidate < period))
        return false;
      period = candidate;
      choice = other;
      return better = true;
    };
    for (int Choice::*size : {&Choice::slice, &Choice::fuse})
      for (int step : {-1, 1, -2, 2}) {
        Choice other = choice;
        other.*size += step;
        // On, as long as it gets better.
        while (attempt(other) && !search.done())
          other.*size += step;
      }
    for (int step : {1, -1, 2, -2, 4}) {
      Choice other = choice;
      other.growth += step;
      attempt(other);
      // With smaller slices for what is needed first.
      other.slice -= 1;
      attempt(other);
      other.slice -= 1;
      attempt(other);
    }
    for (int credit : {4, 1, 2, 3, 0}) {
      Choice other = choice;
      other.credit = credit;
      attempt(other);
    }
    for (bool Choice::*flag : {&Choice::exact, &Choice::whole}) {
      Choice other = choice;
      other.*flag = !(other.*flag);
      attempt(other);
    }
    for (Choice::Priority rule : {Choice::Priority::Consumer,
                                  Choice::Priority::LastStage,
                                  Choice::Priority::Release}) {
      Choice other = choice;
      other.priority = rule;
      attempt(other);
    }
    Choice both = choice;
    ++both.slice, ++both.fuse;
    attempt(both);
    both = choice;
    --both.slice, --both.fuse;
    attempt(both);
  }
  return period;
}

} // namespace

void searchChoices(Search &search, const View &view, Choice &best, bool thorough) {
  if (view.problem.communications.empty())
    return;
  Family family(search, view);
  if (!thorough) {
    descend(search, family, best);
    return;
  }
  // A coarse grid, then downhill from its best points.
  std::vector<std::pair<double, Choice>> starts;
  int step = std::max(1, family.count() / 5);
  for (Choice::Priority rule : {Choice::Priority::Consumer, Choice::Priority::LastStage}) {
    if (rule == Choice::Priority::LastStage && family.stages < 2)
      continue;
    for (int slice = family.count() - 1; slice >= 0; slice -= step) {
      for (int fuse : {slice, slice - step, -1}) {
        Choice choice;
        choice.fuse = std::max(fuse, -1);
        choice.slice = slice;
        choice.credit = 1;
        choice.priority = rule;
        if (!search.done())
          starts.emplace_back(family.period(choice), choice);
      }
    }
  }
  std::stable_sort(starts.begin(), starts.end(),
                   [](const auto &a, const auto &b) { return a.first < b.first; });
  double bestPeriod = 1e300;
  // From few of them all that follows has more to try; a worse start may lead to a better end.
  const int64_t kept = search.left / 2;
  for (size_t i = 0; i < starts.size() && (i < 3 || search.left > kept) && !search.done(); ++i) {
    Choice choice = starts[i].second;
    double period = descend(search, family, choice);
    if (period < bestPeriod) {
      bestPeriod = period;
      best = choice;
    }
  }
}

} // namespace commsched::schedule
