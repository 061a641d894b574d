// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random changes, of which some make it worse for a while.

#include "passes/schedule/solver/Messages.h"
#include "passes/schedule/solver/Search.h"
#include "passes/schedule/solver/Twins.h"

#include <algorithm>
#include <random>

namespace commsched::schedule {

namespace {

class Changes {
public:
  Changes(const View &view, bool reorder) : view(view), twins(view.problem) {
    if (reorder)
      movable = deferrableOps(view);
  }

  // A few random changes; false if they came to nothing.
  bool apply(Schedule &schedule) {
    bool any = false;
    do {
      any |= applyOne(schedule);
    } while (below(3) == 0);
    return any;
  }

private:
  bool applyOne(Schedule &schedule) {
    switch (below(movable.empty() ? 7 : 10)) {
    case 0:
      return splitOne(schedule);
    case 1:
    case 2:
      return mergeTwo(schedule, /*cut=*/false);
    case 3:
      return mergeTwo(schedule, /*cut=*/true);
    case 4:
      return swapPriorities(schedule);
    case 5:
      return setPriorities(schedule);
    case 6:
      return changeCredit(schedule);
    default:
      return moveOp(schedule);
    }
  }

  size_t below(size_t count) { return generator() % count; }

  // Some eighths, say.
  static int64_t part(int64_t bytes, size_t some, unsigned count) {
    return static_cast<int64_t>(static_cast<__int128>(bytes) * static_cast<int64_t>(some) / count);
  }

  bool splitOne(Schedule &schedule) {
    size_t m = below(schedule.messages.size());
    const size_t eighths = below(8);
    bool any = false;
    const std::vector<size_t> changed = changedWith(schedule, m);
    for (auto twin = changed.rbegin(); twin != changed.rend(); ++twin) {
      Message first, second;
      if (!split(view, schedule.messages[*twin], 1 + part(messageBytes(schedule.messages[*twin]), eighths, 8), first, second))
        continue;
      schedule.messages[*twin] = std::move(first);
      schedule.messages.insert(schedule.messages.begin() + *twin + 1, std::move(second));
      any = true;
    }
    return any;
  }

  // Two near each other in one; or with their boundary elsewhere.
  bool mergeTwo(Schedule &schedule, bool cut) {
    std::vector<Message> &messages = schedule.messages;
    if (messages.size() < 2)
      return false;
    size_t m = below(messages.size() - 1);
    const size_t ahead = std::min(m + 1 + (below(4) ? 0 : below(4)), messages.size() - 1) - m;
    if (!compatible(view, messages[m], messages[m + ahead]))
      return false;
    const size_t sixteenths = cut ? below(16) : 0;
    bool any = false;
    const std::vector<size_t> changed = changedWith(schedule, m);
    for (auto twin = changed.rbegin(); twin != changed.rend(); ++twin)
      any |= mergeWith(messages, *twin, *twin + ahead, cut, sixteenths);
    return any;
  }

  bool mergeWith(std::vector<Message> &messages, size_t m, size_t other, bool cut, size_t sixteenths) {
    if (other >= messages.size() || !compatible(view, messages[m], messages[other]))
      return false;
    Message both = merge(messages[m], messages[other]);
    if (cut) {
      Message first, second;
      int64_t bytes = messageBytes(both);
      if (!split(view, both, 1 + part(bytes, sixteenths, 16), first, second))
        return false;
      first.priorities = messages[m].priorities;
      second.priorities = messages[other].priorities;
      messages[m] = std::move(first);
      messages[other] = std::move(second);
      return true;
    }
    messages[m] = std::move(both);
    messages.erase(messages.begin() + other);
    return true;
  }

  bool swapPriorities(Schedule &schedule) {
    size_t a = below(schedule.messages.size()), b = below(schedule.messages.size());
    const std::vector<int64_t> first = schedule.messages[a].priorities, second = schedule.messages[b].priorities;
    if (first == second || first.size() != second.size())
      return false;
    if (below(2)) {
      give(schedule, a, second);
      give(schedule, b, first);
      return true;
    }
    const size_t stageOfB = below(second.size()), stageOfA = below(first.size());
    std::vector<int64_t> newFirst = first, newSecond = second;
    std::swap(newFirst[stageOfA], newSecond[stageOfB]);
    give(schedule, a, newFirst);
    give(schedule, b, newSecond);
    return true;
  }

  void give(Schedule &schedule, size_t message, const std::vector<int64_t> &priorities) {
    for (size_t twin : changedWith(schedule, message))
      if (schedule.messages[twin].priorities.size() == priorities.size())
        schedule.messages[twin].priorities = priorities;
  }

  bool setPriorities(Schedule &schedule) {
    const size_t m = below(schedule.messages.size());
    Message message = schedule.messages[m];
    switch (below(4)) {
    case 0:
      prioritizeByConsumer(view, message);
      break;
    case 1:
      prioritizeByRelease(view, message);
      break;
    case 2:
      prioritizeLastStage(view, message);
      break;
    default: {
      // Any; steps overtake each other by as many ops as they have.
      auto range = static_cast<int64_t>(3 * view.problem.ops.size());
      int64_t urgency = static_cast<int64_t>(below(static_cast<size_t>(range)));
      if (below(2))
        message.priorities.assign(message.priorities.size(), urgency);
      else
        message.priorities[below(message.priorities.size())] = urgency;
    }
    }
    give(schedule, m, message.priorities);
    return true;
  }

  // None, as in the family of choices, or room for a few messages of some size.
  bool changeCredit(Schedule &schedule) {
    if (schedule.credit.empty())
      return false;
    schedule.barrier = false; // what it is good for, urgencies can do
    size_t link = below(schedule.credit.size());
    int64_t longest = 1;
    for (const Message &message : schedule.messages)
      longest = std::max(longest, messageBytes(message));
    size_t choice = below(10);
    int64_t some = 0, messages = 0, quarters = 0;
    if (choice >= 5) {
      some = messageBytes(schedule.messages[below(schedule.messages.size())]);
      messages = static_cast<int64_t>(below(4));
      quarters = static_cast<int64_t>(below(5));
    }
    // One for all links, where there are several: a program may have no other.
    bool all = schedule.credit.size() > 1 && below(2);
    for (size_t i = all ? 0 : link; i < (all ? schedule.credit.size() : link + 1); ++i) {
      std::vector<int64_t> credits =
          creditsToTry(view.problem, static_cast<unsigned>(i), longest);
      int64_t times = timesOnWire(view.problem, static_cast<unsigned>(i));
      auto onWire = [&](int64_t bytes) {
        return std::min(bytes, (int64_t{1} << 50) / times) * times;
      };
      int64_t covered = credits[1] - onWire(longest);
      schedule.credit[i] = choice < credits.size()
                               ? credits[choice]
                               : onWire(some) * messages + covered * quarters / 4;
    }
    return true;
  }

  // An op earlier or later on its stream.
  bool moveOp(Schedule &schedule) {
    unsigned op = movable[below(movable.size())];
    std::vector<unsigned> &stream = schedule.order[view.problem.ops[op].stream];
    std::vector<unsigned> before = stream;
    stream.erase(std::find(stream.begin(), stream.end(), op));
    stream.insert(stream.begin() + below(stream.size() + 1), op);
    if (!verify(view.problem, schedule))
      return true;
    stream = std::move(before);
    return false;
  }

  // What is changed with the message: as a rule its twins.
  std::vector<size_t> changedWith(const Schedule &schedule, size_t message) {
    if (!twins.any() || below(8) == 0)
      return {message};
    return twins.of(schedule, message);
  }

  const View &view;
  const Twins twins;
  std::vector<unsigned> movable;
  std::mt19937 generator{1}; // the same on every machine
};

} // namespace

// Threshold accepting (Dueck and Scheuer, 1990): what is not worse than the best
// by more than a threshold replaces the schedule at hand, and the threshold falls to
// nothing.
void anneal(Search &search, const View &view, unsigned tries, bool reorder) {
  if (!search.any || search.best.messages.empty())
    return;
  Changes changes(view, reorder);
  bool sameStep = false;
  for (const Communication &communication : view.problem.communications)
    for (const Consumer &consumer : communication.consumers)
      sameStep |= consumer.distance == 0;
  // A message more may be needed on the way to fewer bytes in another one's way.
  double oneMessage = 0;
  for (const Communication &communication : view.problem.communications)
    oneMessage =
        std::max(oneMessage, linkCost(view.problem, communication).overhead);
  Schedule current = search.best;
  for (unsigned i = 0; i < tries && !search.done(); ++i) {
    // From the best again, now and then.
    if (i % (tries / 4 + 1) == 0)
      current = search.best;
    Schedule other = current;
    other.name = "solver";
    if (!changes.apply(other))
      continue;
    // Messages that are allowed in the view's order of ops may not be in this one.
    if (sameStep && verify(view.problem, other))
      continue;
    double candidate = search.offer(other);
    double threshold = (0.005 * search.bestPeriod + oneMessage) *
                       static_cast<double>(tries - i) / tries;
    if (candidate > search.bestPeriod + threshold)
      continue;
    current = std::move(other);
  }
}

} // namespace commsched::schedule
