// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which of several plans of one program is kept, by what their steps take in a run: docs/replanning.md.
//
// Not thread-safe.
#ifndef COMMSCHED_RUNTIME_CORE_PLAN_TRIALS_H
#define COMMSCHED_RUNTIME_CORE_PLAN_TRIALS_H

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace commsched::runtime::core {

// One plan is held, at first the first one, and is challenged by each other in order. The two run in turns, and what counts is
// how far one turn is from the one before it, of the other plan: a machine that is slower for a while is so for
// both, and is seen in one difference only. Of all differences it is the median, so that a disturbed turn or two tell nothing.
// A challenger that is clearly behind both turns around its first is given up then, others have two turns at least, and as many more as it takes
// until it is known whether they gain `kLeastPermille`, up to `kMostTurns`; they are held then if they gain that, and more than half
// the error: whoever is held of plans that are as fast makes no difference, and waiting for more than that keeps plans that are behind
// (tests/runtime/core/plan_trials_test.cc).
class PlanTrials {
 public:
  static constexpr int kMostTurns = 4;  // of a challenger
  static constexpr int64_t kLeastPermille = 1;
  static constexpr double kErrors = 1.4;          // standard ones: few plans that are equal differ by more
  static constexpr int64_t kClearlyPercent = 25;  // behind

  // At least one.
  explicit PlanTrials(size_t plans) : plans_(plans) {}

  // A turn of plan `plan`, which was to be the next (the first plan's comes first): its steps took `step_ns`, with a standard
  // error of `error_ns`, as far as is known. Both are at least 0.
  void Measured(size_t plan, int64_t step_ns, int64_t error_ns);
  // The same of the last turn that was measured, which went on meanwhile; of no effect if that is another plan's.
  void MeasuredLonger(size_t plan, int64_t step_ns, int64_t error_ns);
  // The plan cannot run: it is not tried again, nor kept. `running` does.
  void Refused(size_t plan, size_t running);

  // The plan of the next turn; nothing once it is known which one is kept.
  std::optional<size_t> Next() const;
  // The one that is kept; while there is a next one, the one that is held.
  size_t Kept() const { return held_; }
  // What steps of a plan took: the lower median of its turns; 0 without any.
  int64_t StepNs(size_t plan) const;
  bool refused(size_t plan) const { return plans_[plan].refused; }

 private:
  struct Plan {
    std::vector<int64_t> turns;  // ns of a step
    bool refused = false;
  };
  struct Turn {
    size_t plan;
    int64_t step_ns, error_ns;
  };
  enum class Verdict {
    kUnknown,
    kLoses,
    kWins
  };
  Verdict Judge() const;
  // A challenge is over: who is held, and who challenges next.
  void Settle(Verdict verdict);
  void Challenge();

  std::vector<Plan> plans_;
  size_t held_ = 0;
  std::optional<size_t> challenger_;  // none: there is no further one, or the first plan has had no turn
  size_t challenged_ = 0;             // by so many, with the challenger, in order
  std::vector<Turn> turns_;           // of the challenge, of the one that is held and the challenger in turn
};

}  // namespace commsched::runtime::core

#endif  // COMMSCHED_RUNTIME_CORE_PLAN_TRIALS_H
