// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/core/greeting.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace commsched::runtime::core {
namespace {

std::string Differs(const char *what, uint64_t own, uint64_t theirs) {
  return absl::StrCat(what, " must match ", own, ", got: ", theirs);
}

// What holds whoever speaks first. Of another protocol nothing else is understood, and of
// another membership nothing else has to fit.
Verdict Compare(const Greeting &own, const Greeting &theirs) {
  if (own.protocol != theirs.protocol)
    return {Verdict::kRefused, Differs("protocol version", own.protocol, theirs.protocol)};
  if (own.epoch != theirs.epoch)
    return {theirs.epoch < own.epoch ? Verdict::kEarlier : Verdict::kLater,
            Differs("membership epoch", own.epoch, theirs.epoch)};
  if (own.nodes != theirs.nodes)
    return {Verdict::kRefused,
            Differs("number of nodes", uint64_t(own.nodes), uint64_t(theirs.nodes))};
  if (own.plan_digest == Greeting::kAnyPlan || theirs.plan_digest == Greeting::kAnyPlan) return {};
  if (own.plan_digest != theirs.plan_digest)
    return {Verdict::kRefused, absl::StrFormat("plan digest must match %016x, got: %016x",
                                               own.plan_digest, theirs.plan_digest)};
  return {};
}

Verdict Refused(std::string why) { return {Verdict::kRefused, std::move(why)}; }

Verdict OfPartner(bool partner) {
  if (partner) return {};
  return Refused(
      "there is no connection with it in this plan: all ranks must have the same options");
}

}  // namespace

Verdict JudgeCaller(const Greeting &own, const Greeting &theirs, bool partner) {
  Verdict verdict = Compare(own, theirs);
  if (verdict.kind != Verdict::kWelcome) return verdict;
  if (theirs.to != own.rank)
    return Refused(absl::StrFormat("rank at this address must match %d, got: %d", own.rank,
                                   theirs.to));
  if (theirs.rank >= own.nodes || theirs.rank <= own.rank)
    return Refused(absl::StrFormat("rank that dials must be in [%d, %d), got: %d",
                                   own.rank + 1, own.nodes, theirs.rank));
  return OfPartner(partner);
}

Verdict JudgeCalled(const Greeting &own, const Greeting &theirs) {
  Verdict verdict = Compare(own, theirs);
  if (verdict.kind == Verdict::kWelcome && theirs.rank != own.to)
    return Refused(absl::StrFormat("rank at this address must match %d, got: %d", own.to,
                                   theirs.rank));
  return verdict;
}

Verdict JudgeEqual(const Greeting &own, const Greeting &theirs, bool partner) {
  Verdict verdict = Compare(own, theirs);
  return verdict.kind == Verdict::kWelcome ? OfPartner(partner) : verdict;
}

}  // namespace commsched::runtime::core
