// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How all ranks of a job change to another plan with the same call; docs/replanning.md
// has the protocol, and why it is right. Rank 0 leads; it is a member too.
//
// Not thread-safe.
#ifndef COMMSCHED_RUNTIME_CORE_PLAN_CHANGE_H
#define COMMSCHED_RUNTIME_CORE_PLAN_CHANGE_H

#include <cstdint>
#include <set>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace commsched::runtime::core {

// What rank 0 and another rank say to each other. Between two ranks these keep their order.
struct PlanMessage {
  enum Kind : uint32_t {
    kMeasure = 1,  // from rank 0: send what you have measured
    kMeasured,     // to rank 0
    kPrepare,      // from rank 0: a plan; value: its digest
    kPrepared,     // to rank 0; value: the digest
    kHold,         // from rank 0: how far will you go without hearing more? value: about so many ns of steps
    kHolding,      // to rank 0; value: the first call that will wait
    kSwitch,       // from rank 0; value: the first call of the new plan
    kForget,       // from rank 0: go on with the old plan
    kKept,         // from rank 0: the plan that runs stays, and no other comes
  };
  uint32_t kind = 0;
  uint64_t attempt = 0;
  uint64_t value = 0;
  bool refused = false;  // an answer: the rank cannot do what it was asked
};

// A rank, at the calls that it makes.
class PlanChange {
 public:
  enum class Turn {
    kOld,    // the call is made with the plan that runs
    kWait,   // it is not known yet
    kNew,    // it is the first of the plan that was prepared
    kMissed  // an earlier one was to be that: no rank may get here
  };

  // Of call `call`, the next one: no other is asked for before it is made. kNew is
  // returned once, and nothing is decided or held any more.
  Turn Next(uint64_t call);
  // What Next would say.
  Turn At(uint64_t call) const;
  // The rank waits before the call that is returned, unless it hears more before: `ahead`
  // calls after the next one.
  uint64_t Hold(uint64_t ahead);
  // From rank 0: the new plan begins with `call`.
  void Switch(uint64_t call) { first_new_ = call; }
  // Nothing is held any more. False if it is decided already that the new plan runs.
  bool Forget();
  // The first call of the new plan is known, and not made yet. Until it is, no other plan
  // can be prepared.
  bool decided() const { return first_new_ != kNever; }

 private:
  static constexpr uint64_t kNever = ~uint64_t{0};

  uint64_t next_ = 0;            // call
  uint64_t held_ = kNever;       // the first that waits
  uint64_t first_new_ = kNever;  // of the new plan
};

// Rank 0, at its questions. One attempt after the other; in each all ranks are asked the
// same three things, itself included.
class PlanChangeLeader {
 public:
  enum class Stage {
    kIdle,
    kMeasuring,  // asks for measurements
    kPlanning,   // has all of them; the caller makes a plan
    kPreparing,  // asks to prepare it
    kHolding,    // asks how far they go
    kDecided     // knows the first call
  };

  // `ranks`: those that answer, with rank 0.
  explicit PlanChangeLeader(std::set<int> ranks = {0}) : ranks_(std::move(ranks)) {}

  // These give what is to be said to all others, and that the caller does itself. Each but
  // the first follows when all have answered the one before.
  PlanMessage Measure(uint64_t attempt);
  PlanMessage Prepare(uint64_t digest);
  PlanMessage Hold(uint64_t ahead_ns);
  PlanMessage Switch() const { return {PlanMessage::kSwitch, attempt_, first_call_}; }
  // Ends the attempt, at any time before Switch.
  PlanMessage Forget();

  // The answer of a rank, and why if it is refused. Answers to attempts that were given up
  // may still come: they count for nothing. An error names the rank, and is the end of the
  // attempt.
  absl::Status Take(int rank, const PlanMessage &answer, absl::string_view why_refused = "");
  // Of one that has not answered in time; while it asks.
  absl::Status Late() const;

  Stage stage() const { return stage_; }
  // Somebody has not answered yet.
  bool asks() const { return !missing_.empty(); }

 private:
  PlanMessage Ask(Stage stage, PlanMessage::Kind question, uint64_t value);

  std::set<int> ranks_;
  Stage stage_ = Stage::kIdle;
  uint64_t attempt_ = 0, digest_ = 0;
  uint64_t first_call_ = 0;  // the largest that was heard
  uint32_t answer_ = 0;      // the kind that is awaited
  std::set<int> missing_;
};

}  // namespace commsched::runtime::core

#endif  // COMMSCHED_RUNTIME_CORE_PLAN_CHANGE_H
