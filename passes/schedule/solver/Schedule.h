// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A schedule: in which pieces, in which order and with how many bytes on the way
// a problem is run, and what becomes of it.

#ifndef COMMSCHED_PASSES_SCHEDULE_SOLVER_SCHEDULE_H
#define COMMSCHED_PASSES_SCHEDULE_SOLVER_SCHEDULE_H

#include "passes/schedule/solver/Problem.h"

#include <functional>

namespace commsched::schedule {

/// Bytes [begin, end) of the tensor of a communication.
struct Piece {
  unsigned communication = 0;
  int64_t begin = 0;
  int64_t end = 0;
  bool operator==(const Piece &) const = default;
};

/// What is sent at once. Ready when all its pieces are: their producers are done.
/// A piece has arrived when the message has, or before, by Communication::tail.
struct Message {
  std::vector<Piece> pieces; ///< of one kind
  /// By stage; smaller is more urgent, whichever step a message is of; of equal ones the earlier step
  /// goes first (plan/urgency.h). Natural numbers are positions of the consumer in the order of ops,
  /// those of the next step behind.
  std::vector<int64_t> priorities;
  /// Exclusive: while it is in its rounds, what is less urgent waits, but for at most so long for one of them; 0: it is not
  /// (plan/exclusive.h). Of links with connections (Connections.h); on others it makes no difference.
  Time exclusive = 0;
  bool operator==(const Message &) const = default;
};

/// Pieces cover each communication exactly once.
struct Schedule {
  std::string name; ///< of what made it: "fifo", "p3", ...
  /// By stream: its ops, in the order in which they run in every step.
  std::vector<std::vector<unsigned>> order;
  std::vector<Message> messages;
  /// By link: bytes that are given to it and not complete yet (or not sent yet, see
  /// Link) are at most so many, but one message always goes. What is given to a link stays in that
  /// order.
  std::vector<int64_t> credit;
  /// The first op of a step waits for all communication of the step before.
  bool barrier = false;
  bool operator==(const Schedule &) const = default;
};

/// What becomes of a schedule where a program is made of it that cannot have all
/// messages: another one, which takes about as long if it is applied again. None: the same.
using Applied = std::function<Schedule(Schedule)>;

constexpr int64_t kNoLimit = INT64_MAX;
constexpr int64_t kMaxPriority = int64_t{1} << 60; ///< and not less than minus this

/// The period of a schedule that never ends.
constexpr double kNever = 1e300;

/// Runs the schedule for as many steps as it takes until it repeats itself.
struct Evaluation {
  double period = 0;  ///< nanoseconds per step, for ever
  Time firstStep = 0; ///< until all ops of the first step are done
  /// By communication: nanoseconds per step for which a stream stands still only
  /// because this has not arrived (the last to arrive of what is waited for).
  std::vector<double> exposed;
  bool settled = true; ///< false: the period is an average of the later half of the steps
};

/// Bytes that ops hold at most at once (Op::extraBytes) in a step that runs in this
/// order, each op as soon as it can, with communication that takes no time.
/// Requires an order without cyclic waits.
int64_t peakBytes(const Problem &problem,
                  const std::vector<std::vector<unsigned>> &order);

/// The program order of each stream.
std::vector<std::vector<unsigned>> programOrder(const Problem &problem);

/// What is wrong with the schedule, or nothing. The text names the message, op or
/// link.
std::optional<std::string> verify(const Problem &problem, const Schedule &schedule);

/// Whether messages cost more than kMaxStepTime together, beside their bytes.
bool takesTooLong(const Problem &problem, const Schedule &schedule);

/// Requires that verify() finds nothing, but that the step takes too long: then the
/// period is kNever. Runs `maxSteps` steps at most. Where links have several connections, these share them (Connections.h).
Evaluation evaluate(const Problem &problem, const Schedule &schedule, unsigned maxSteps = 64);

} // namespace commsched::schedule

#endif // COMMSCHED_PASSES_SCHEDULE_SOLVER_SCHEDULE_H
