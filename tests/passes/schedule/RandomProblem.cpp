// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tests/passes/schedule/RandomProblem.h"

#include "tests/passes/schedule/Layers.h"

#include <map>
#include <random>

namespace commsched::schedule {

namespace {

class Random {
public:
  explicit Random(uint64_t seed) : engine(seed) {}
  /// From first to last, both included.
  int64_t operator()(int64_t first, int64_t last) {
    return first + static_cast<int64_t>(engine() % uint64_t(last - first + 1));
  }

private:
  std::mt19937_64 engine;
};

bool isForNextStep(const Problem &problem, const Message &message) {
  for (const Piece &piece : message.pieces)
    for (const Consumer &consumer :
         problem.communications[piece.communication].consumers)
      if (consumer.distance == 0)
        return false;
  return true;
}

} // namespace

Problem randomProblem(uint64_t seed, const RandomOptions &options) {
  Random random(seed);
  Problem problem;
  problem.name = "random" + std::to_string(seed);
  problem.streams = options.streams;
  for (unsigned i = 0; i < options.links; ++i)
    problem.links.push_back({"link" + std::to_string(i), kBytePerSlot});
  unsigned ops = static_cast<unsigned>(random(2, options.maxOps));
  for (unsigned i = 0; i < ops; ++i) {
    Op op;
    op.stream = static_cast<unsigned>(random(0, options.streams - 1));
    op.duration = random(1, 3);
    for (unsigned before = 0; before < i; ++before)
      if (random(0, 3) == 0)
        op.after.push_back(before);
    problem.ops.push_back(op);
  }
  // Kinds have their stages in common.
  std::vector<std::vector<Stage>> kinds(2);
  for (std::vector<Stage> &stages : kinds)
    for (int64_t i = random(1, options.links > 1 ? 2 : 1); i > 0; --i)
      stages.push_back({static_cast<unsigned>(random(0, options.links - 1)), 0,
                        random(0, options.maxOverhead),
                        random(0, options.maxLatency)});
  for (int64_t i = random(1, options.maxCommunications); i > 0; --i) {
    Communication communication;
    communication.bytes = random(1, options.maxBytes);
    communication.kind = static_cast<unsigned>(random(0, 1));
    communication.stages = kinds[communication.kind];
    for (Stage &stage : communication.stages) {
      stage.bytes = communication.bytes;
      if (options.maxUpdate)
        stage.update = random(0, options.maxUpdate);
    }
    unsigned producer = static_cast<unsigned>(random(0, ops - 1));
    communication.producers = {producer};
    if (random(0, 3) == 0)
      communication.producers.push_back(static_cast<unsigned>(random(0, producer)));
    for (int64_t j = random(0, 9) ? random(1, 2) : 0; j > 0; --j) {
      if (producer + 1 < ops && random(0, 2) == 0)
        communication.consumers.push_back(
            {static_cast<unsigned>(random(producer + 1, ops - 1)), 0});
      else
        communication.consumers.push_back(
            {static_cast<unsigned>(random(0, ops - 1)), 1});
    }
    problem.communications.push_back(communication);
  }
  if (options.tails) {
    Random tails(~seed);
    bool second = tails(0, 1);
    for (Communication &communication : problem.communications)
      if (communication.kind == 0 || second)
        communication.tail = tails(1, communication.bytes);
  }
  if (options.connections) {
    Random connections(~seed - 1);
    auto first = static_cast<unsigned>(connections(1, 2));
    unsigned ofKind[] = {first, connections(0, 3) ? 3 - first : static_cast<unsigned>(connections(0, 2))};
    for (Communication &communication : problem.communications)
      communication.connection = ofKind[communication.kind];
  }
  return problem;
}

Schedule randomSchedule(const Problem &problem, uint64_t seed, int64_t slice) {
  Random random(seed);
  Schedule schedule;
  schedule.order = programOrder(problem);
  for (size_t i = 0; i < problem.links.size(); ++i)
    schedule.credit.push_back(random(0, 2) ? random(0, 3 * slice) : kNoLimit);
  std::map<unsigned, size_t> last; // message, by kind
  for (unsigned i = 0; i < problem.communications.size(); ++i) {
    const Communication &communication = problem.communications[i];
    for (int64_t begin = 0; begin < communication.bytes; begin += slice) {
      Piece piece{i, begin, std::min(begin + slice, communication.bytes)};
      if (last.count(communication.kind) && random(0, 2) == 0) {
        // Without ops of the same step that wait for them, all can be together.
        Message &message = schedule.messages[last[communication.kind]];
        message.pieces.push_back(piece);
        if (isForNextStep(problem, message))
          continue;
        message.pieces.pop_back();
      }
      Message message;
      message.pieces = {piece};
      for (size_t stage = 0; stage < communication.stages.size(); ++stage)
        message.priorities.push_back(random(0, 2 * problem.ops.size()));
      last[communication.kind] = schedule.messages.size();
      schedule.messages.push_back(message);
    }
  }
  return schedule;
}

} // namespace commsched::schedule
