// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/schedule/solver/Problem.h"

#include <algorithm>
#include <map>

namespace commsched::schedule {

namespace {

using Error = std::optional<std::string>;

/// Sums of bytes stay below this: of tensors, on links, and held by ops.
constexpr int64_t kMaxStepBytes = int64_t{1} << 60;
constexpr unsigned kMaxStreams = 4096;
/// A connection's, of as many nodes as send at once.
constexpr int64_t kMaxPacketBytes = int64_t{1} << 40;
static constexpr unsigned kMaxPeers = 30; // of 2^30 ranks
static constexpr unsigned kMaxRounds = 1024;

std::string quoted(const char *what, const std::string &name, size_t index) {
  std::string text = std::string(what) + " " + std::to_string(index);
  return name.empty() ? text : text + " ('" + name + "')";
}

Error checkOps(const Problem &problem, Time &total) {
  int64_t held = 0;
  for (size_t i = 0; i < problem.ops.size(); ++i) {
    const Op &op = problem.ops[i];
    std::string name = quoted("op", op.name, i);
    if (op.stream >= problem.streams)
      return name + ": stream must be less than " +
             std::to_string(problem.streams) + ", got: " + std::to_string(op.stream);
    if (op.duration < 0)
      return name + ": duration must not be negative, got: " +
             std::to_string(op.duration);
    if (op.extraBytes < 0)
      return name + ": bytes must not be negative, got: " +
             std::to_string(op.extraBytes);
    if (op.extraBytes > kMaxStepBytes - held)
      return name + ": ops hold more bytes than can be counted";
    held += op.extraBytes;
    for (unsigned before : op.after)
      if (before >= i)
        return name + ": waits for op " + std::to_string(before) +
               ", which does not come before it";
    if (op.shared < 0 || op.shared > op.duration)
      return name + ": what it shares must be 0 to its duration";
    if (op.avoidable < 0 || op.avoidable > op.duration)
      return name + ": what is avoidable must be 0 to its duration";
    if (op.duration > kMaxStepTime - total)
      return name + ": the step takes too long to be counted in nanoseconds";
    total += op.duration;
  }
  return std::nullopt;
}

Error checkStages(const Problem &problem, const Communication &communication,
                  const std::string &name, Time &total, int64_t &bytes) {
  if (communication.stages.empty())
    return name + ": must have a stage";
  for (const Stage &stage : communication.stages) {
    if (stage.link >= problem.links.size())
      return name + ": link must be less than " +
             std::to_string(problem.links.size()) +
             ", got: " + std::to_string(stage.link);
    if (stage.bytes < 0 || stage.overhead < 0 || stage.latency < 0 || stage.update < 0)
      return name + ": bytes, overhead, latency and update of a stage must not be negative";
    if (stage.avoidableOverhead < 0 || stage.avoidableOverhead > stage.overhead ||
        stage.avoidableLatency < 0 || stage.avoidableLatency > stage.latency ||
        stage.avoidableBytes < 0 || stage.avoidableBytes > stage.bytes ||
        stage.avoidableUpdate < 0 || stage.avoidableUpdate > stage.update)
      return name + ": what is avoidable must be 0 to the overhead, latency, bytes or update that it is of";
    if (stage.bytes > kMaxStepBytes - bytes)
      return name + ": links carry more bytes in a step than can be counted";
    bytes += stage.bytes;
    __int128 time = static_cast<__int128>(stage.bytes) * 1'000'000'000 /
                        problem.links[stage.link].bytesPerSecond +
                    stage.overhead + stage.latency + stage.update;
    if (time > kMaxStepTime - total)
      return name + ": the step takes too long to be counted in nanoseconds";
    total += static_cast<Time>(time);
  }
  return std::nullopt;
}

Error checkCommunication(const Problem &problem, size_t index, Time &total,
                         int64_t &onLinks) {
  const Communication &communication = problem.communications[index];
  std::string name = quoted("communication", communication.name, index);
  if (communication.bytes <= 0)
    return name + ": bytes must be positive, got: " +
           std::to_string(communication.bytes);
  if (communication.producers.empty())
    return name + ": must have a producer";
  unsigned last = 0;
  for (unsigned producer : communication.producers) {
    if (producer >= problem.ops.size())
      return name + ": there is no op " + std::to_string(producer);
    last = std::max(last, producer);
  }
  for (const Consumer &consumer : communication.consumers) {
    if (consumer.op >= problem.ops.size())
      return name + ": there is no op " + std::to_string(consumer.op);
    if (consumer.distance > 1)
      return name + ": distance must be 0 or 1, got: " +
             std::to_string(consumer.distance);
    if (consumer.distance == 0 && consumer.op <= last)
      return name + ": op " + std::to_string(consumer.op) +
             " of the same step waits for it, but does not come after its producers";
  }
  if (Error error = checkStages(problem, communication, name, total, onLinks))
    return error;
  if (communication.tail < 0 || communication.tail > communication.stages.back().bytes)
    return name + ": tail must be 0 to " +
           std::to_string(communication.stages.back().bytes) +
           " bytes, those of the last stage, got: " + std::to_string(communication.tail);
  return std::nullopt;
}

/// Communications of one kind cost the same per message, and go the same way.
bool sameCosts(const Communication &a, const Communication &b) {
  if (a.stages.size() != b.stages.size() || (a.tail == 0) != (b.tail == 0) || a.connection != b.connection)
    return false;
  for (size_t i = 0; i < a.stages.size(); ++i)
    if (a.stages[i].link != b.stages[i].link ||
        a.stages[i].overhead != b.stages[i].overhead ||
        a.stages[i].latency != b.stages[i].latency ||
        a.stages[i].avoidableOverhead != b.stages[i].avoidableOverhead ||
        a.stages[i].avoidableLatency != b.stages[i].avoidableLatency)
      return false;
  return true;
}

} // namespace

Time transferTime(const Link &link, int64_t bytes) {
  __int128 units = static_cast<__int128>(bytes) * 1'000'000'000;
  return static_cast<Time>((units + link.bytesPerSecond - 1) / link.bytesPerSecond);
}

int64_t stageBytes(const Communication &communication, const Stage &stage,
                   int64_t begin, int64_t end) {
  auto upTo = [&](int64_t position) {
    return static_cast<int64_t>(static_cast<__int128>(stage.bytes) * position /
                                communication.bytes);
  };
  return upTo(end) - upTo(begin);
}

Time updateShare(Time update, int64_t part, int64_t bytes) {
  return static_cast<Time>((static_cast<__int128>(update) * part + bytes - 1) / bytes);
}

Problem withLeastUpdates(Problem problem) {
  // A message has one piece at least, of any communication of its kind.
  std::map<unsigned, std::vector<Time>> least; // by kind and stage
  for (const Communication &communication : problem.communications) {
    auto [known, isNew] = least.try_emplace(communication.kind);
    if (isNew)
      known->second.assign(communication.stages.size(), INT64_MAX);
    for (size_t i = 0; i < communication.stages.size(); ++i)
      known->second[i] = std::min(
          known->second[i], communication.divisible ? 0 : communication.stages[i].update - communication.stages[i].avoidableUpdate);
  }
  for (Communication &communication : problem.communications)
    for (size_t i = 0; i < communication.stages.size(); ++i) {
      communication.stages[i].latency += least[communication.kind][i];
      communication.stages[i].update = communication.stages[i].avoidableUpdate = 0;
    }
  return problem;
}

std::optional<std::string> check(const Problem &problem) {
  if (problem.streams == 0)
    return "the problem must have a stream";
  if (problem.streams > kMaxStreams)
    return "the problem must have at most " + std::to_string(kMaxStreams) +
           " streams, got: " + std::to_string(problem.streams);
  if (problem.ops.empty())
    return "the problem must have an op";
  for (size_t i = 0; i < problem.links.size(); ++i) {
    const Link &link = problem.links[i];
    if (link.bytesPerSecond <= 0)
      return quoted("link", link.name, i) + ": bytes per second must be positive, got: " +
             std::to_string(link.bytesPerSecond);
    for (int64_t bytes : {link.packetBytes, link.aheadBytes})
      if (bytes < 0 || bytes > kMaxPacketBytes)
        return quoted("link", link.name, i) + ": bytes of packets, and taken ahead, must be 0 to " +
               std::to_string(kMaxPacketBytes) + ", got: " + std::to_string(bytes);
      else if (bytes / link.bytesPerSecond >= kMaxStepTime / 1'000'000'000)
        return quoted("link", link.name, i) + ": packets take longer than can be counted";
    if (link.peers < 1 || link.peers > kMaxPeers)
      return quoted("link", link.name, i) + ": peers must be 1 to " + std::to_string(kMaxPeers) +
             ", got: " + std::to_string(link.peers);
    if (link.onceBytes < 0)
      return quoted("link", link.name, i) + ": what is sent once must not be negative, got: " + std::to_string(link.onceBytes);
    if (link.rounds < 1 || link.rounds > kMaxRounds)
      return quoted("link", link.name, i) + ": rounds must be 1 to " + std::to_string(kMaxRounds) +
             ", got: " + std::to_string(link.rounds);
    if (link.peers > 1 && link.byConnection)
      return quoted("link", link.name, i) + ": peers must be 1 on a link of connections, got: " + std::to_string(link.peers);
    if (link.rounds > 1 && (link.byConnection || link.peers > 1))
      return quoted("link", link.name, i) + ": rounds must be 1 on a link of " + (link.byConnection ? "connections" : "several peers") +
             ", got: " + std::to_string(link.rounds);
  }
  if (problem.memoryLimit && *problem.memoryLimit < 0)
    return "the memory limit must not be negative, got: " +
           std::to_string(*problem.memoryLimit);
  if (problem.stepsApart && *problem.stepsApart < 1)
    return "of the steps of nodes apart at least 1 must be one that sends, got: " + std::to_string(*problem.stepsApart);
  Time total = 0;
  if (Error error = checkOps(problem, total))
    return error;
  int64_t bytes = 0, onLinks = 0;
  std::map<unsigned, size_t> firstOfKind;
  for (size_t i = 0; i < problem.communications.size(); ++i) {
    if (Error error = checkCommunication(problem, i, total, onLinks))
      return error;
    const Communication &communication = problem.communications[i];
    if (communication.bytes > kMaxStepBytes - bytes)
      return quoted("communication", communication.name, i) +
             ": the step has more bytes than can be counted";
    bytes += communication.bytes;
    size_t first = firstOfKind.emplace(communication.kind, i).first->second;
    if (!sameCosts(communication, problem.communications[first]))
      return quoted("communication", communication.name, i) +
             ": stages must have links and costs per message of communication " +
             std::to_string(first) + ", which is of the same kind";
  }
  return std::nullopt;
}

} // namespace commsched::schedule
