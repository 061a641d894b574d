// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/schedule/solver/Coarsen.h"

#include "passes/schedule/solver/Messages.h"
#include "passes/schedule/solver/Search.h"

#include <algorithm>
#include <tuple>

namespace commsched::schedule {

namespace {

class Coarsener {
public:
  Coarsener(const View &view, Schedule schedule, Evaluation &evaluation, double most,
            int64_t effort, const Applied &applied)
      : view(view), schedule(std::move(schedule)), evaluation(evaluation), most(most),
        left(effort), applied(applied) {}

  Schedule run() {
    Schedule given = schedule;
    sort();
    // Of two that are equally urgent, the one that comes first counts as more so.
    Schedule sorted = schedule;
    if (!good(sorted))
      schedule = std::move(given);
    while (left > 0 && halve())
      ;
    while (left > 0 && mergeBetween(0, schedule.messages.size()))
      ;
    return std::move(schedule);
  }

private:
  // What is released together side by side, and parts of a tensor in their order.
  void sort() {
    auto key = [&](const Message &message) {
      int64_t produced = -1;
      for (const Piece &piece : message.pieces)
        produced = std::max(produced, view.produced[piece.communication]);
      const Piece &last = message.pieces.back();
      return std::tuple(view.problem.communications[last.communication].kind, produced,
                        last.communication, last.begin);
    };
    std::stable_sort(schedule.messages.begin(), schedule.messages.end(),
                     [&](const Message &a, const Message &b) { return key(a) < key(b); });
  }

  // Keeps what is good enough, with the credit as it was or the least one that is.
  bool accept(std::vector<Message> messages) {
    Schedule other = schedule;
    other.messages = std::move(messages);
    if (good(other))
      return true;
    int64_t longest = 1;
    for (const Message &message : other.messages)
      longest = std::max(longest, messageBytes(message));
    for (size_t which : {1, 2, 4}) {
      Schedule wider = other;
      for (unsigned link = 0; link < wider.credit.size(); ++link)
        wider.credit[link] =
            std::max(schedule.credit[link],
                     creditsToTry(view.problem, link, longest)[which]);
      if (wider.credit != other.credit && good(wider))
        return true;
    }
    return false;
  }

  bool good(Schedule &other) {
    if (applied)
      other = applied(std::move(other));
    if (other.messages.size() > schedule.messages.size())
      return false;
    for (const Message &message : other.messages)
      left -= static_cast<int64_t>(message.priorities.size());
    left -= static_cast<int64_t>(view.problem.ops.size() + view.problem.streams - 1);
    Evaluation result = evaluate(view.problem, other);
    if (!(result.period <= most))
      return false;
    evaluation = std::move(result);
    schedule = std::move(other);
    return true;
  }

  // The messages with every two neighbours in [begin, end) merged that can be.
  std::vector<Message> merged(size_t begin, size_t end) const {
    const std::vector<Message> &all = schedule.messages;
    std::vector<Message> result(all.begin(), all.begin() + begin);
    for (size_t i = begin; i < end; ++i)
      if (i + 1 < end && compatible(view, all[i], all[i + 1])) {
        result.push_back(merge(all[i], all[i + 1]));
        ++i;
      } else {
        result.push_back(all[i]);
      }
    result.insert(result.end(), all.begin() + end, all.end());
    return result;
  }

  bool halve() {
    size_t before = schedule.messages.size();
    std::vector<Message> messages = merged(0, before);
    return messages.size() < before && accept(std::move(messages)) &&
           schedule.messages.size() < before;
  }

  // Merges neighbours in the range; if that is too much, in each of its halves. The
  // later half first, so that places before it stay as they are.
  bool mergeBetween(size_t begin, size_t end) {
    end = std::min(end, schedule.messages.size()); // fewer, as they are applied
    if (end < begin + 2 || left <= 0)
      return false;
    size_t before = schedule.messages.size();
    std::vector<Message> messages = merged(begin, end);
    if (messages.size() == before)
      return false;
    if (accept(std::move(messages)))
      return schedule.messages.size() < before;
    if (end - begin == 2)
      return false;
    // The halves share a message, or neighbours across the middle stay apart.
    size_t middle = begin + (end - begin + 1) / 2;
    bool any = mergeBetween(middle - (end - begin > 3 ? 1 : 0), end);
    return mergeBetween(begin, middle) || any;
  }

  const View &view;
  Schedule schedule;
  Evaluation &evaluation;
  double most;
  int64_t left;
  const Applied &applied;
};

} // namespace

Schedule coarsen(const View &view, Schedule schedule, Evaluation &evaluation,
                 double most, int64_t effort, const Applied &applied) {
  return Coarsener(view, std::move(schedule), evaluation, most, effort, applied).run();
}

} // namespace commsched::schedule
