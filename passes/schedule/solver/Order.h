// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What can be read off a problem without running it: orders of ops, when
// gradients are there if nothing waits for communication, and who needs them.

#ifndef COMMSCHED_PASSES_SCHEDULE_SOLVER_ORDER_H
#define COMMSCHED_PASSES_SCHEDULE_SOLVER_ORDER_H

#include "passes/schedule/solver/Problem.h"
#include "passes/schedule/solver/Schedule.h"

namespace commsched::schedule {

using Order = std::vector<std::vector<unsigned>>;

/// A step whose communication takes no time.
struct ComputeTimes {
  std::vector<Time> start, end;  ///< by op
  std::vector<int64_t> position; ///< by op: rank by start, ties as the program
  Time span = 0;                 ///< until all ops are done
  bool valid = true;             ///< false: the order contradicts the dependences
};
ComputeTimes computeTimes(const Problem &problem, const Order &order);

/// The view of a problem that policies decide on, for one order of its ops.
struct View {
  View(const Problem &problem, Order order);

  const Problem &problem;
  Order order;
  ComputeTimes times;
  std::vector<Time> release;     ///< by communication: its producers are done
  std::vector<int64_t> produced; ///< by communication: position of its last producer
  /// By communication: position of the first op that needs it; plus the number of
  /// ops for each step between.
  std::vector<int64_t> needed;
  /// Communications in order of release, those of each kind for themselves. Of
  /// those released at once, the ones needed last come first, as in a backward
  /// pass.
  std::vector<std::vector<unsigned>> kinds;
};

/// What one message of this communication costs on the link that it uses longest,
/// if it had that link for itself.
struct LinkCost {
  double overhead = 0; ///< nanoseconds per message, without latency
  double latency = 0;  ///< nanoseconds per message
  double transfer = 0; ///< nanoseconds for the bytes of the whole tensor
};
LinkCost linkCost(const Problem &problem, const Communication &communication);

/// Nanoseconds of processors that a message is taken to cost though a busy link hides what it costs there: a tenth of that, and
/// 2 us at least for each of its rounds.
/// No evaluation has it.
double hiddenCost(const Problem &problem);

/// A message of whole communications.
Message wholeMessage(const View &view, const std::vector<unsigned> &communications);

/// Position of the first op that needs a part of it (View::needed).
int64_t firstNeed(const View &view, const Message &message);

/// Priorities by the first consumer, in every stage.
void prioritizeByConsumer(const View &view, Message &message);
/// Priorities by release, in every stage: first come, first served.
void prioritizeByRelease(const View &view, Message &message);
/// The first stages by release, the last one by consumer.
void prioritizeLastStage(const View &view, Message &message);

/// A schedule without messages, with no limit of credit.
Schedule emptySchedule(const View &view, std::string name);

} // namespace commsched::schedule

#endif // COMMSCHED_PASSES_SCHEDULE_SOLVER_ORDER_H
