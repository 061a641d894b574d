// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Schedules for costs that will not be exactly those given.

#ifndef COMMSCHED_PASSES_SCHEDULE_SOLVER_ROBUST_H
#define COMMSCHED_PASSES_SCHEDULE_SOLVER_ROBUST_H

#include "passes/schedule/solver/Connections.h"
#include "passes/schedule/solver/Order.h"

#include <optional>

namespace commsched::schedule {

/// What costs may turn out to be: as given; compute that varies from op to op; links
/// that are slower; messages that take longer to arrive and cost more, as on hosts
/// whose processors are busy. All of them as it is run, where a link has several connections.
class Variations {
public:
  explicit Variations(const Problem &problem);

  /// The mean over the variations of the period over what it is bounded by, and costOfMessages()
  /// over the bound; or nothing, if that is certainly above `limit`. The period as given, as it is run, is
  /// `nominal`.
  std::optional<double> judge(const Schedule &schedule, double nominal,
                              double limit) const;
  /// hiddenCost() of all messages.
  double costOfMessages(const Schedule &schedule) const {
    return ofMessage * static_cast<double>(schedule.messages.size());
  }
  /// With the costs as given.
  Evaluation evaluateAsGiven(const Schedule &schedule) const { return problems.front().evaluate(schedule); }
  /// How many schedules are simulated for one.
  size_t size() const { return problems.size(); }

private:
  std::vector<Connections> problems; ///< that of costs as given first
  std::vector<double> bounds;        ///< of all; that of costs as given first
  double ofMessage;                  ///< hiddenCost()
};

/// A schedule that is good in the variations too: of `schedules`, of each of them with
/// priorities by the first consumer and with more credit, and of equal slices with the
/// order of `schedules.front()`. Its period is at most `most` nanoseconds with the costs as
/// given, as it is run; if that holds for none, it is `schedules.front()`. Simulates about `effort`
/// messages. `evaluation`, that of `schedules.front()`, becomes that of the result, which is as it is
/// when applied.
Schedule mostRobust(const View &view, const Variations &variations,
                    std::vector<Schedule> schedules, double most, int64_t effort,
                    Evaluation &evaluation, const Applied &applied = {});

} // namespace commsched::schedule

#endif // COMMSCHED_PASSES_SCHEDULE_SOLVER_ROBUST_H
