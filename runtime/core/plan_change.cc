// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/core/plan_change.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace commsched::runtime::core {

PlanChange::Turn PlanChange::At(uint64_t call) const {
  if (call > first_new_) return Turn::kMissed;
  if (call == first_new_) return Turn::kNew;
  if (decided()) return Turn::kOld;
  return call < held_ ? Turn::kOld : Turn::kWait;
}

PlanChange::Turn PlanChange::Next(uint64_t call) {
  const Turn turn = At(call);
  if (turn == Turn::kWait || turn == Turn::kMissed) return turn;
  next_ = call + 1;
  if (turn == Turn::kNew) held_ = first_new_ = kNever;
  return turn;
}

uint64_t PlanChange::Hold(uint64_t ahead) { return held_ = next_ + ahead; }

bool PlanChange::Forget() {
  if (decided()) return false;
  held_ = kNever;
  return true;
}

PlanMessage PlanChangeLeader::Ask(Stage stage, PlanMessage::Kind question, uint64_t value) {
  stage_ = stage;
  answer_ = question + 1;
  missing_ = ranks_;
  return {question, attempt_, value};
}

PlanMessage PlanChangeLeader::Measure(uint64_t attempt) {
  attempt_ = attempt;
  return Ask(Stage::kMeasuring, PlanMessage::kMeasure, 0);
}

PlanMessage PlanChangeLeader::Prepare(uint64_t digest) {
  digest_ = digest;
  return Ask(Stage::kPreparing, PlanMessage::kPrepare, digest);
}

// No rank has made, or will make before it hears of it, the call that is the last that any
// of them waits before.
PlanMessage PlanChangeLeader::Hold(uint64_t ahead_ns) {
  first_call_ = 0;
  return Ask(Stage::kHolding, PlanMessage::kHold, ahead_ns);
}

PlanMessage PlanChangeLeader::Forget() {
  stage_ = Stage::kIdle;
  missing_.clear();
  return {PlanMessage::kForget, attempt_, 0};
}

absl::Status PlanChangeLeader::Take(int rank, const PlanMessage &answer,
                                    absl::string_view why_refused) {
  if (answer.attempt < attempt_ || stage_ == Stage::kIdle) return absl::OkStatus();
  if (answer.attempt != attempt_ || answer.kind != answer_ || missing_.count(rank) == 0)
    return absl::DataLossError(absl::StrCat("rank ", rank, ": answer must be of kind ", answer_,
                                            " to attempt ", attempt_, ", got: kind ", answer.kind,
                                            " to attempt ", answer.attempt));
  if (answer.refused)
    return absl::FailedPreconditionError(absl::StrCat("rank ", rank, ": ", why_refused));
  if (answer.kind == PlanMessage::kPrepared && answer.value != digest_)
    return absl::DataLossError(
        absl::StrFormat("rank %d: digest of the plan must match %016x, got: %016x", rank, digest_,
                        answer.value));
  if (answer.kind == PlanMessage::kHolding) first_call_ = std::max(first_call_, answer.value);
  missing_.erase(rank);
  if (!missing_.empty()) return absl::OkStatus();
  if (stage_ == Stage::kMeasuring) stage_ = Stage::kPlanning;
  if (stage_ == Stage::kHolding) stage_ = Stage::kDecided;
  return absl::OkStatus();
}

absl::Status PlanChangeLeader::Late() const {
  return absl::DeadlineExceededError(absl::StrCat("rank ", *missing_.begin(), " does not answer"));
}

}  // namespace commsched::runtime::core
