// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/schedule/Turns.h"

#include "passes/schedule/Apply.h"
#include "passes/schedule/solver/Connections.h"
#include "passes/schedule/solver/Timeline.h"

#include "llvm/ADT/STLExtras.h"
#include <map>
#include <utility>

using namespace mlir;
using namespace commsched;

namespace {

/// Of a step of the schedule that is like all later ones.
class Begins {
public:
  Begins(schedule::Problem problem, schedule::Schedule schedule) {
    // Turns are one order of what goes to all servers: of a link that has one queue for them, and sends one message after the other.
    for (auto [link, credit] : llvm::zip_equal(problem.links, schedule.credit))
      if (link.byConnection) {
        credit = 1;
        link.packetBytes = link.aheadBytes = 0;
        link.byConnection = false;
      }
    schedule::Timeline timeline = schedule::traceSchedule(problem, schedule);
    for (const schedule::Timeline::Transfer &transfer : timeline.transfers)
      if (transfer.step == timeline.firstStep)
        begins.try_emplace({transfer.message, transfer.stage}, transfer.begin);
  }

  /// When the message is first sent there.
  schedule::Time of(size_t message, unsigned stage) const {
    auto found = begins.find({static_cast<unsigned>(message), stage});
    return found == begins.end() ? INT64_MAX : found->second;
  }

private:
  std::map<std::pair<unsigned, unsigned>, schedule::Time> begins; // by message and stage
};

} // namespace

void commsched::addTurns(const StepProblem &step, const schedule::Schedule &schedule,
                         std::vector<StartRequest> &requests) {
  Begins begins(step.problem, schedule);
  std::vector<std::pair<schedule::Time, size_t>> order; // and the request
  for (auto [i, message] : llvm::enumerate(schedule.messages)) {
    const StepProblem::Part &part = step.partOf(message);
    order.emplace_back(begins.of(i, part.firstStage), order.size());
    if (part.pull)
      order.emplace_back(begins.of(i, part.lastStage), order.size());
  }
  llvm::sort(order);
  for (auto [turn, entry] : llvm::enumerate(order))
    requests[entry.second].turn = static_cast<int64_t>(turn);
}

/// A push whose value is for the next step.
static bool isForNextStep(const StepProblem &step, const schedule::Message &message) {
  return step.partOf(message).pull && llvm::all_of(message.pieces, [&](const schedule::Piece &piece) {
           const auto &consumers = step.problem.communications[piece.communication].consumers;
           return !consumers.empty() &&
                  llvm::all_of(consumers, [](const auto &consumer) { return consumer.distance == 1; });
         });
}

/// No run keeps up with its problem: connections share a link, and messages wait for threads. What is
/// behind then would have its turn before what became urgent meanwhile, as the gradient of an embedding
/// does at the end, and the next step waits for both. With links that are a twentieth slower urgent
/// pushes have their turns before what may still be there by then; they do not wait for it if it is not.
static schedule::Problem withSlowerLinks(schedule::Problem problem) {
  for (schedule::Link &link : problem.links)
    link.bytesPerSecond -= link.bytesPerSecond / 20;
  return problem;
}

schedule::Schedule commsched::pushInTurn(const StepProblem &step, schedule::Schedule schedule) {
  std::vector<size_t> pushes;
  for (size_t i = 0; i < schedule.messages.size(); ++i)
    if (isForNextStep(step, schedule.messages[i]))
      pushes.push_back(i);
  if (pushes.empty())
    return schedule;
  // Between what is needed before the end of its step and what is needed behind all of the next one.
  schedule::Schedule inTurn = schedule;
  auto ops = static_cast<int64_t>(step.problem.ops.size());
  for (schedule::Message &message : inTurn.messages)
    if (int64_t &own = message.priorities[step.partOf(message).firstStage];
        !isForNextStep(step, message) && own >= ops)
      own += static_cast<int64_t>(pushes.size());
  Begins begins(withSlowerLinks(step.problem), asWritten(step, schedule));
  std::vector<std::pair<schedule::Time, size_t>> order; // and the message
  for (size_t push : pushes)
    order.emplace_back(begins.of(push, step.partOf(schedule.messages[push]).firstStage), push);
  llvm::sort(order);
  for (auto [turn, entry] : llvm::enumerate(order)) {
    schedule::Message &message = inTurn.messages[entry.second];
    message.priorities[step.partOf(message).firstStage] = ops + static_cast<int64_t>(turn);
  }
  const schedule::Connections run(step.problem);
  auto periodOf = [&](const schedule::Schedule &each) {
    return run.evaluate(asWritten(step, each)).period;
  };
  return periodOf(inTurn) <= periodOf(schedule) ? inTurn : schedule;
}
