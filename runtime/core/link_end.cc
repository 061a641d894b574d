// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/core/link_end.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace commsched::runtime::core {
namespace {

// Of an abort on the wire, whose text is a reason of the sender, or names who had it.
constexpr absl::StatusCode kOwn = absl::StatusCode::kCancelled,
                           kPassedOn = absl::StatusCode::kAborted;

}  // namespace

absl::Status LinkEnd::Named(absl::StatusCode code, absl::string_view what) const {
  return absl::Status(code, absl::StrCat(peer_, ": ", what));
}

LinkEnd::Outcome LinkEnd::End(absl::Status why, Report report, Outcome::Word say,
                              absl::Status tell) {
  if (!failure_.ok()) return {};
  failure_ = std::move(why);
  report_ = report == Report::kIfWanted;
  return {.fails = true,
          .report = report == Report::kNow,
          .say = say,
          .why = absl::Status(tell.code(), tell.message().substr(0, kMaxAbortText))};
}

LinkEnd::Outcome LinkEnd::Abort(const absl::Status &why) {
  const auto code = why.code() == absl::StatusCode::kAborted ? kPassedOn : kOwn;
  return End(absl::CancelledError("this rank has aborted"), Report::kNever, Outcome::kAbort,
             absl::Status(code, why.message()));
}

LinkEnd::Outcome LinkEnd::Close() {
  report_ = false;
  return End(absl::CancelledError("the transport is closed"), Report::kNever,
             Outcome::kGoodbye);
}

LinkEnd::Outcome LinkEnd::Breach(const absl::Status &what) {
  return End(Named(what.code(), what.message()), Report::kNow, Outcome::kAbort, what);
}

LinkEnd::Outcome LinkEnd::TakeGoodbye(bool pending) {
  if (heard_) return {};
  heard_ = goodbye_ = true;
  return End(Named(absl::StatusCode::kFailedPrecondition,
                   "has finished, but something is still wanted of it"),
             pending ? Report::kNow : Report::kIfWanted, Outcome::kGoodbye);
}

LinkEnd::Outcome LinkEnd::TakeAbort(uint32_t wire, absl::string_view text) {
  if (heard_) return {};
  heard_ = true;
  const auto code = static_cast<absl::StatusCode>(wire);
  const bool breach =
      code == absl::StatusCode::kInvalidArgument || code == absl::StatusCode::kDataLoss;
  // Other codes have a meaning of their own on this side.
  absl::Status why = breach              ? Named(code, text)
                     : code == kPassedOn ? absl::AbortedError(text)
                                         : Named(absl::StatusCode::kAborted,
                                                 absl::StrCat("aborted: ", text));
  return End(std::move(why), Report::kNow, Outcome::kGoodbye);
}

LinkEnd::Outcome LinkEnd::Lost(absl::string_view why) {
  heard_ = true;
  return End(Named(absl::StatusCode::kUnavailable,
                   absl::StrCat(kConnectionLost, why.empty() ? "" : ": ", why)),
             Report::kNow, Outcome::kNone);
}

bool LinkEnd::WantedAfter() { return std::exchange(report_, false); }

}  // namespace commsched::runtime::core
