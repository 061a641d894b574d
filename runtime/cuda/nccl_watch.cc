// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/cuda/nccl_watch.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"

namespace commsched::runtime::cuda {

void NcclWatch::Called(CollectiveName name, Time now) {
  open_.push_back({std::move(name), std::nullopt});
  calling_ = true;
  called_ = now;
}

void NcclWatch::Ready(size_t count, Time now) {
  ready_ = std::min(ready_ + count, open_.size());
  if (ready_ > 0 && !open_.front().since) open_.front().since = now;
}

void NcclWatch::Ended(size_t count, Time now) {
  count = std::min(count, open_.size());
  open_.erase(open_.begin(), open_.begin() + ptrdiff_t(count));
  ready_ -= std::min(ready_, count);
  if (ready_ > 0 && !open_.front().since) open_.front().since = now;
}

absl::Status NcclWatch::ErrorAt(const CollectiveName *name, absl::StatusCode code,
                                absl::string_view why) const {
  const std::string what =
      name == nullptr ? "no collective under way"
                      : absl::StrCat("collective \"", name->key, "\" of step ", name->step);
  return absl::Status(code, absl::StrCat("rank ", rank_, " of ", ranks_, ": ", what, ": ", why));
}

absl::Status NcclWatch::Error(absl::StatusCode code, absl::string_view why) const {
  return ErrorAt(open_.empty() ? nullptr : &open_.front().name, code, why);
}

namespace {
absl::StatusCode CodeOf(NcclResult says) {
  return says == NcclResult::kRemoteError || says == NcclResult::kSystemError
             ? absl::StatusCode::kUnavailable
             : absl::StatusCode::kInternal;
}
}  // namespace

absl::Status NcclWatch::Refused(NcclResult says, absl::string_view text) const {
  return ErrorAt(open_.empty() ? nullptr : &open_.back().name, CodeOf(says),
                 absl::StrCat("NCCL: ", text));
}

absl::Status NcclWatch::Check(NcclResult says, absl::string_view text, Time now) const {
  if (says != NcclResult::kSuccess && says != NcclResult::kInProgress)
    return Error(CodeOf(says), absl::StrCat("NCCL: ", text));
  const std::string deadline = absl::FormatDuration(absl::Nanoseconds(deadline_));
  if (!open_.empty() && open_.front().since && now - *open_.front().since >= deadline_)
    return Error(absl::StatusCode::kDeadlineExceeded, absl::StrCat("no progress for ", deadline));
  if (calling_ && now - called_ >= deadline_)
    return ErrorAt(&open_.back().name, absl::StatusCode::kDeadlineExceeded,
                   absl::StrCat("NCCL has not taken the call for ", deadline));
  return absl::OkStatus();
}

}  // namespace commsched::runtime::cuda
