// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the parts of the solver share: the best schedule so far, and how much may
// still be tried.

#ifndef COMMSCHED_PASSES_SCHEDULE_SOLVER_SEARCH_H
#define COMMSCHED_PASSES_SCHEDULE_SOLVER_SEARCH_H

#include "passes/schedule/solver/Connections.h"
#include "passes/schedule/solver/Order.h"

#include <map>
#include <tuple>

namespace commsched::schedule {

class Search {
public:
  /// Stops below `target` (a period that none can beat), or when `effort` messages
  /// were simulated.
  Search(const Problem &problem, double target, int64_t effort, Applied applied = {})
      : problem(problem), run(problem), target(target), left(effort), applied(std::move(applied)), given(effort) {}

  /// Evaluates the schedule as it is when applied, keeps that if it is the best so far,
  /// and returns its period.
  double offer(Schedule schedule);
  /// The same of what applied() has made.
  double offerAsIs(Schedule schedule);
  struct Kept {
    double period;
    Schedule schedule;
  };
  /// Of those offered, the best of about as many messages each, with fewer than the best of all and at most
  /// `times` as long; fewest messages first.
  std::vector<Kept> withFewerMessages(double times) const;
  /// The best of another search of the same problem, which had `left` from this one.
  void take(Search &&other);
  bool done() const { return left <= 0 || (any && bestPeriod <= target); }
  bool perfect() const { return any && bestPeriod <= target; }
  /// How many schedules with so many messages may still be tried.
  int64_t tries(size_t messages) const;

  const Problem &problem;
  Connections run;
  double target;
  int64_t left;
  Applied applied;
  bool any = false;
  Schedule best;
  Evaluation evaluation;
  double bestPeriod = 0;
  unsigned evaluations = 0;

private:
  void keepWithFewerMessages(double period, const Schedule &schedule);

  int64_t given;            ///< of `left`, at first
  std::map<int, Kept> kept; ///< by half the powers of two of the number of messages
};

/// How often a byte of a tensor is on the link, of the one for which that is most.
int64_t timesOnWire(const Problem &problem, unsigned link);

/// Sizes of credit worth trying for messages with about so many bytes of tensors: one
/// message, what covers the latency, a few messages, any.
std::vector<int64_t> creditsToTry(const Problem &problem, unsigned link,
                                  int64_t message);

/// A family of schedules, searched by its parameters.
struct Choice {
  enum class Priority {
    Consumer,
    LastStage,
    Release
  };
  int fuse = 0;  ///< fused up to so many bytes: index into sizes
  int slice = 0; ///< cut from so many bytes on: index into sizes
  /// 0, or: what is needed late may be in larger messages, in proportion to the bytes
  /// that are needed before it; each one doubles the proportion.
  int growth = 0;
  bool exact = false; ///< fused by the exact recursion instead of by size
  bool whole = false; ///< slices across tensors of a message keep full size
  Priority priority = Priority::Consumer;
  int credit = 0; ///< index into creditsToTry; the last is no limit

  auto key() const {
    return std::tuple(fuse, slice, growth, exact, whole, static_cast<int>(priority), credit);
  }
};

/// Searches the family around good starting points; the best goes to `search`.
void searchChoices(Search &search, const View &view, Choice &best, bool thorough);

/// Merges and splits messages of the best schedule, and changes their priorities.
void searchLocally(Search &search, const View &view);

/// Random changes of messages, priorities, credit and, if wanted, order of ops.
void anneal(Search &search, const View &view, unsigned tries, bool reorder);

/// Ops whose results only the communication of later steps needs, such as gradients
/// of weights; those first whose tensors are needed first.
std::vector<unsigned> deferrableOps(const View &view);

/// Orders of ops worth trying instead of the program's: gradients that the next step
/// needs first are computed earlier, those it needs late are left for last.
std::vector<Order> ordersToTry(const View &view);

} // namespace commsched::schedule

#endif // COMMSCHED_PASSES_SCHEDULE_SOLVER_SEARCH_H
