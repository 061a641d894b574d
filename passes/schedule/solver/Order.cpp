// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Orders of ops, and what follows from them.

#include "passes/schedule/solver/Order.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace commsched::schedule {

ComputeTimes computeTimes(const Problem &problem, const Order &order) {
  size_t count = problem.ops.size();
  ComputeTimes times;
  times.start.assign(count, 0);
  times.end.assign(count, 0);
  times.position.assign(count, 0);
  // An op waits for those in `after`, for the one before it on its stream, and
  // for the producers of what it consumes in the same step.
  std::vector<std::vector<unsigned>> successors(count);
  std::vector<unsigned> waiting(count, 0);
  auto edge = [&](unsigned from, unsigned to) {
    successors[from].push_back(to);
    ++waiting[to];
  };
  for (unsigned op = 0; op < count; ++op)
    for (unsigned before : problem.ops[op].after)
      edge(before, op);
  for (const std::vector<unsigned> &stream : order)
    for (size_t i = 1; i < stream.size(); ++i)
      edge(stream[i - 1], stream[i]);
  for (const Communication &communication : problem.communications)
    for (const Consumer &consumer : communication.consumers)
      if (consumer.distance == 0)
        for (unsigned producer : communication.producers)
          edge(producer, consumer.op);
  std::vector<unsigned> done;
  done.reserve(count);
  for (unsigned op = 0; op < count; ++op)
    if (waiting[op] == 0)
      done.push_back(op);
  for (size_t next = 0; next < done.size(); ++next) {
    unsigned op = done[next];
    times.end[op] = times.start[op] + problem.ops[op].duration;
    times.span = std::max(times.span, times.end[op]);
    for (unsigned successor : successors[op]) {
      times.start[successor] = std::max(times.start[successor], times.end[op]);
      if (--waiting[successor] == 0)
        done.push_back(successor);
    }
  }
  times.valid = done.size() == count;
  // `done` is topological: of ops that take no time, those that wait come later.
  std::stable_sort(done.begin(), done.end(), [&](unsigned a, unsigned b) {
    return times.start[a] < times.start[b];
  });
  for (size_t i = 0; i < done.size(); ++i)
    times.position[done[i]] = static_cast<int64_t>(i);
  return times;
}

View::View(const Problem &problem, Order chosen)
    : problem(problem), order(std::move(chosen)), times(computeTimes(problem, order)) {
  int64_t ops = static_cast<int64_t>(problem.ops.size());
  for (const Communication &communication : problem.communications) {
    Time ready = 0;
    int64_t last = 0;
    for (unsigned producer : communication.producers) {
      ready = std::max(ready, times.end[producer]);
      last = std::max(last, times.position[producer]);
    }
    release.push_back(ready);
    produced.push_back(last);
    int64_t first = 2 * ops;
    for (const Consumer &consumer : communication.consumers)
      first = std::min(first, times.position[consumer.op] + ops * consumer.distance);
    needed.push_back(first);
  }
  std::vector<unsigned> sorted(problem.communications.size());
  std::iota(sorted.begin(), sorted.end(), 0u);
  std::stable_sort(sorted.begin(), sorted.end(), [&](unsigned a, unsigned b) {
    if (release[a] != release[b])
      return release[a] < release[b];
    if (produced[a] != produced[b])
      return produced[a] < produced[b];
    return needed[a] > needed[b];
  });
  std::map<unsigned, std::vector<unsigned>> byKind;
  for (unsigned communication : sorted)
    byKind[problem.communications[communication].kind].push_back(communication);
  for (auto &[kind, members] : byKind)
    kinds.push_back(std::move(members));
}

LinkCost linkCost(const Problem &problem, const Communication &communication) {
  LinkCost best;
  for (const Stage &stage : communication.stages) {
    LinkCost cost;
    for (const Stage &other : communication.stages) {
      if (other.link != stage.link)
        continue;
      cost.overhead += static_cast<double>(other.overhead);
      cost.latency += static_cast<double>(other.latency);
      cost.transfer += static_cast<double>(other.bytes) * 1e9 /
                       static_cast<double>(problem.links[other.link].bytesPerSecond);
    }
    if (cost.overhead + cost.transfer >= best.overhead + best.transfer)
      best = cost;
  }
  return best;
}

double hiddenCost(const Problem &problem) {
  // A calibration may find nothing that one of many messages costs.
  constexpr double kLeastOfRound = 2000;
  double cost = 0;
  for (const Communication &communication : problem.communications) {
    double rounds = 0;
    for (const Stage &stage : communication.stages)
      if (const Link &link = problem.links[stage.link]; !link.byConnection && (link.packetBytes || link.peers > 1 || link.rounds > 1))
        rounds += std::max(link.peers, link.rounds);
    cost = std::max({cost, linkCost(problem, communication).overhead / 10, rounds * kLeastOfRound});
  }
  return cost;
}

Message wholeMessage(const View &view, const std::vector<unsigned> &communications) {
  Message message;
  for (unsigned communication : communications)
    message.pieces.push_back(
        {communication, 0, view.problem.communications[communication].bytes});
  return message;
}

static size_t stageCount(const View &view, const Message &message) {
  return view.problem.communications[message.pieces.front().communication]
      .stages.size();
}

int64_t firstNeed(const View &view, const Message &message) {
  int64_t first = INT64_MAX;
  for (const Piece &piece : message.pieces)
    first = std::min(first, view.needed[piece.communication]);
  return first;
}

void prioritizeByConsumer(const View &view, Message &message) {
  message.priorities.assign(stageCount(view, message), firstNeed(view, message));
}

void prioritizeByRelease(const View &view, Message &message) {
  int64_t last = 0;
  for (const Piece &piece : message.pieces)
    last = std::max(last, view.produced[piece.communication]);
  message.priorities.assign(stageCount(view, message), last);
}

void prioritizeLastStage(const View &view, Message &message) {
  prioritizeByConsumer(view, message);
  int64_t first = message.priorities.back();
  prioritizeByRelease(view, message);
  message.priorities.back() = first;
}

Schedule emptySchedule(const View &view, std::string name) {
  Schedule schedule;
  schedule.name = std::move(name);
  schedule.order = view.order;
  schedule.credit.assign(view.problem.links.size(), kNoLimit);
  return schedule;
}

} // namespace commsched::schedule
