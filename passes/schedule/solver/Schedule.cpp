// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/schedule/solver/Schedule.h"

#include "plan/exclusive.h"

#include <algorithm>

namespace commsched::schedule {

namespace {

using Error = std::optional<std::string>;

Error verifyOrder(const Problem &problem, const Schedule &schedule) {
  if (schedule.order.size() != problem.streams)
    return "the schedule must order " + std::to_string(problem.streams) +
           " streams, got: " + std::to_string(schedule.order.size());
  std::vector<bool> seen(problem.ops.size());
  size_t count = 0;
  for (size_t stream = 0; stream < schedule.order.size(); ++stream) {
    for (unsigned op : schedule.order[stream]) {
      if (op >= problem.ops.size())
        return "there is no op " + std::to_string(op);
      if (problem.ops[op].stream != stream)
        return "op " + std::to_string(op) + " must be on stream " +
               std::to_string(problem.ops[op].stream) +
               ", got: " + std::to_string(stream);
      if (seen[op])
        return "op " + std::to_string(op) + " runs twice";
      seen[op] = true;
      ++count;
    }
  }
  if (count != problem.ops.size())
    return "op " +
           std::to_string(std::find(seen.begin(), seen.end(), false) - seen.begin()) +
           " does not run";
  return std::nullopt;
}

Error verifyMessage(const Problem &problem, const Message &message,
                    const std::string &name) {
  if (message.pieces.empty())
    return name + " is empty";
  for (const Piece &piece : message.pieces) {
    if (piece.communication >= problem.communications.size())
      return name + ": there is no communication " +
             std::to_string(piece.communication);
    const Communication &communication =
        problem.communications[piece.communication];
    if (piece.begin < 0 || piece.begin >= piece.end ||
        piece.end > communication.bytes)
      return name + ": bytes [" + std::to_string(piece.begin) + ", " +
             std::to_string(piece.end) + ") are not part of communication " +
             std::to_string(piece.communication);
    if (!communication.divisible &&
        (piece.begin != 0 || piece.end != communication.bytes))
      return name + ": communication " + std::to_string(piece.communication) +
             " must not be divided";
    const Communication &first =
        problem.communications[message.pieces.front().communication];
    if (communication.kind != first.kind)
      return name + ": pieces must be of one kind, got: " +
             std::to_string(first.kind) + " and " +
             std::to_string(communication.kind);
  }
  size_t stages = problem.communications[message.pieces.front().communication]
                      .stages.size();
  if (message.priorities.size() != stages)
    return name + " must have " + std::to_string(stages) +
           " priorities, got: " + std::to_string(message.priorities.size());
  // Small enough that steps can be counted into them.
  for (int64_t priority : message.priorities)
    if (priority < -kMaxPriority || priority > kMaxPriority)
      return name + ": priority is out of range: " + std::to_string(priority);
  if (message.exclusive < 0 || message.exclusive > plan::kMostPatience)
    return name + ": exclusive must be 0 to " + std::to_string(plan::kMostPatience) + " ns, got: " + std::to_string(message.exclusive);
  return std::nullopt;
}

Error verifyMessages(const Problem &problem, const Schedule &schedule) {
  std::vector<Piece> pieces;
  for (size_t i = 0; i < schedule.messages.size(); ++i) {
    const Message &message = schedule.messages[i];
    if (Error error =
            verifyMessage(problem, message, "message " + std::to_string(i)))
      return error;
    pieces.insert(pieces.end(), message.pieces.begin(), message.pieces.end());
  }
  std::sort(pieces.begin(), pieces.end(), [](const Piece &a, const Piece &b) {
    return a.communication != b.communication ? a.communication < b.communication
                                              : a.begin < b.begin;
  });
  size_t next = 0;
  for (size_t i = 0; i < problem.communications.size(); ++i) {
    int64_t position = 0;
    for (; next < pieces.size() && pieces[next].communication == i; ++next) {
      if (pieces[next].begin != position)
        return "bytes from " +
               std::to_string(std::min(position, pieces[next].begin)) +
               " of communication " + std::to_string(i) +
               " must be sent exactly once";
      position = pieces[next].end;
    }
    if (position != problem.communications[i].bytes)
      return "bytes from " + std::to_string(position) + " of communication " +
             std::to_string(i) + " must be sent exactly once";
  }
  return std::nullopt;
}

/// Runs a step with communication that takes no time: ops in the order in which
/// they start, or fewer where some wait for each other. Messages, where given,
/// wait for the producers of all their pieces.
std::vector<unsigned> startOrder(const Problem &problem,
                                 const std::vector<std::vector<unsigned>> &order,
                                 const std::vector<Message> *messages) {
  size_t numOps = problem.ops.size();
  size_t numCommunications = problem.communications.size();
  size_t numMessages = messages ? messages->size() : numCommunications;
  // Nodes: ops, messages, communications.
  std::vector<std::vector<unsigned>> next(numOps + numMessages + numCommunications);
  std::vector<unsigned> waits(next.size());
  auto edge = [&](size_t from, size_t to) {
    next[from].push_back(static_cast<unsigned>(to));
    ++waits[to];
  };
  for (const std::vector<unsigned> &stream : order)
    for (size_t i = 1; i < stream.size(); ++i)
      edge(stream[i - 1], stream[i]);
  for (size_t i = 0; i < numOps; ++i)
    for (unsigned before : problem.ops[i].after)
      edge(before, i);
  for (size_t i = 0; i < numMessages; ++i) {
    auto add = [&](unsigned communication) {
      for (unsigned producer : problem.communications[communication].producers)
        edge(producer, numOps + i);
      edge(numOps + i, numOps + numMessages + communication);
    };
    if (!messages)
      add(static_cast<unsigned>(i));
    else
      for (const Piece &piece : (*messages)[i].pieces)
        add(piece.communication);
  }
  for (size_t i = 0; i < numCommunications; ++i)
    for (const Consumer &consumer : problem.communications[i].consumers)
      if (consumer.distance == 0)
        edge(numOps + numMessages + i, consumer.op);

  std::vector<Time> ready(next.size());
  std::vector<unsigned> done;
  for (size_t i = 0; i < next.size(); ++i)
    if (waits[i] == 0)
      done.push_back(static_cast<unsigned>(i));
  for (size_t i = 0; i < done.size(); ++i) {
    unsigned node = done[i];
    Time end = ready[node] + (node < numOps ? problem.ops[node].duration : 0);
    for (unsigned user : next[node]) {
      ready[user] = std::max(ready[user], end);
      if (--waits[user] == 0)
        done.push_back(user);
    }
  }
  std::vector<unsigned> ops;
  for (unsigned node : done)
    if (node < numOps)
      ops.push_back(node);
  // Stable, and `done` is a topological order: ops without duration stay in it.
  std::stable_sort(ops.begin(), ops.end(),
                   [&](unsigned a, unsigned b) { return ready[a] < ready[b]; });
  return ops;
}

int64_t peakOf(const Problem &problem, const std::vector<unsigned> &ops) {
  std::vector<unsigned> users(problem.ops.size());
  for (const Op &op : problem.ops)
    for (unsigned before : op.after)
      ++users[before];
  std::vector<bool> unused(users.size());
  for (size_t i = 0; i < users.size(); ++i)
    unused[i] = users[i] == 0;
  int64_t held = 0, peak = 0;
  for (unsigned op : ops) {
    held += problem.ops[op].extraBytes;
    peak = std::max(peak, held);
    for (unsigned before : problem.ops[op].after)
      if (--users[before] == 0)
        held -= problem.ops[before].extraBytes;
    if (unused[op])
      held -= problem.ops[op].extraBytes;
  }
  return peak;
}

} // namespace

std::vector<std::vector<unsigned>> programOrder(const Problem &problem) {
  std::vector<std::vector<unsigned>> order(problem.streams);
  for (size_t i = 0; i < problem.ops.size(); ++i)
    order[problem.ops[i].stream].push_back(static_cast<unsigned>(i));
  return order;
}

int64_t peakBytes(const Problem &problem,
                  const std::vector<std::vector<unsigned>> &order) {
  return peakOf(problem, startOrder(problem, order, nullptr));
}

bool takesTooLong(const Problem &problem, const Schedule &schedule) {
  __int128 total = 0;
  for (const Communication &communication : problem.communications)
    for (const Stage &stage : communication.stages)
      total += stage.update;
  for (const Message &message : schedule.messages)
    for (const Stage &stage :
         problem.communications[message.pieces.front().communication].stages)
      // Bytes are rounded up, and so are parts of updates.
      total += stage.overhead + stage.latency + 1 + static_cast<Time>(message.pieces.size());
  return total > kMaxStepTime;
}

std::optional<std::string> verify(const Problem &problem,
                                  const Schedule &schedule) {
  if (Error error = verifyOrder(problem, schedule))
    return error;
  if (Error error = verifyMessages(problem, schedule))
    return error;
  if (takesTooLong(problem, schedule))
    return "the step takes too long to be counted in nanoseconds, with " +
           std::to_string(schedule.messages.size()) + " messages";
  if (schedule.credit.size() != problem.links.size())
    return "the schedule must have a credit for each of " +
           std::to_string(problem.links.size()) +
           " links, got: " + std::to_string(schedule.credit.size());
  for (size_t i = 0; i < schedule.credit.size(); ++i)
    if (schedule.credit[i] < 0)
      return "credit of link " + std::to_string(i) +
             " must not be negative, got: " + std::to_string(schedule.credit[i]);
  std::vector<unsigned> ops =
      startOrder(problem, schedule.order, &schedule.messages);
  if (ops.size() != problem.ops.size()) {
    std::sort(ops.begin(), ops.end());
    size_t missing = 0;
    while (missing < ops.size() && ops[missing] == missing)
      ++missing;
    return "op " + std::to_string(missing) + " waits for itself";
  }
  if (problem.memoryLimit) {
    int64_t limit = peakBytes(problem, programOrder(problem));
    limit = *problem.memoryLimit > INT64_MAX - limit ? INT64_MAX
                                                     : limit + *problem.memoryLimit;
    int64_t peak = peakBytes(problem, schedule.order);
    if (peak > limit)
      return "the order must hold at most " + std::to_string(limit) +
             " bytes, got: " + std::to_string(peak);
  }
  return std::nullopt;
}

} // namespace commsched::schedule
