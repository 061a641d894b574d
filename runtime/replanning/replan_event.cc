// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/replanning/replan_event.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "runtime/base/json.h"

namespace commsched::runtime {
namespace {

const char *NameOf(ReplanEvent::Kind kind) {
  switch (kind) {
    case ReplanEvent::kBegun:
      return "begun";
    case ReplanEvent::kDecided:
      return "decided";
    case ReplanEvent::kSwitched:
      return "switched";
    case ReplanEvent::kUnchanged:
      return "unchanged";
    case ReplanEvent::kKept:
      return "kept";
    case ReplanEvent::kGivenUp:
      break;
  }
  return "given up";
}

}  // namespace

std::string ToJson(const ReplanEvent &event) {
  auto ms = [](absl::Duration d) { return JsonNumber(absl::ToDoubleMilliseconds(d)); };
  std::string json = absl::StrCat("{\"kind\":\"", NameOf(event.kind),
                                  "\",\"attempt\":", event.attempt);
  if (event.digest != 0) {
    if (event.kind != ReplanEvent::kKept) absl::StrAppend(&json, ",\"call\":", event.call);
    absl::StrAppend(&json, ",\"plan\":\"", absl::StrFormat("%016x", event.digest), "\"");
  }
  if (event.kind == ReplanEvent::kDecided)
    absl::StrAppend(&json, ",\"planned_ms\":", ms(event.planned));
  if (event.kind == ReplanEvent::kSwitched)
    absl::StrAppend(&json, ",\"held_ms\":", ms(event.held),
                    ",\"drained_ms\":", ms(event.drained),
                    ",\"moved_ms\":", ms(event.moved));
  return absl::StrCat(json, ",\"text\":", JsonQuote(event.text), "}");
}

}  // namespace commsched::runtime
