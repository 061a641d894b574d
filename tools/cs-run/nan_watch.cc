// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/cs-run/nan_watch.h"

#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/data/nan_check.h"

namespace commsched::run {

absl::Status NanWatch::Say(const std::string &text) {
  said_ = true;
  if (stop_) return absl::DataLossError(text);
  say_(text);
  return absl::OkStatus();
}

absl::Status NanWatch::Check(uint64_t step, const Metrics &metrics, runtime::Dataset *data) {
  if (said_) return absl::OkStatus();
  for (const auto &[name, value] : metrics) {
    if (!std::isnan(value)) continue;
    std::string text = absl::StrCat("step ", step, ": metric \"", name, "\" is nan");
    std::string where = data == nullptr ? "" : data->NanIn(step - 1);
    if (where.empty()) {
      absl::StatusOr<std::string> found = InValues();
      if (!found.ok()) return found.status();
      where = *found;
    }
    return Say(where.empty() ? text : absl::StrCat(text, ": ", where));
  }
  return absl::OkStatus();
}

absl::Status NanWatch::CheckValues(uint64_t step, bool *found) {
  absl::StatusOr<std::string> where = InValues();
  if (!where.ok()) return where.status();
  *found = !where->empty();
  if (!*found || said_) return absl::OkStatus();
  return Say(absl::StrCat("after step ", step, ": ", *where));
}

absl::StatusOr<std::string> NanWatch::InValues() {
  const std::vector<runtime::ValueInfo> &values = session_->values();
  std::vector<std::byte> bytes;
  for (uint32_t v = 0; v < values.size(); ++v) {
    const runtime::ValueInfo &value = values[v];
    if (!ops::IsFloat(value.type.element) || value.of_rows || value.per_rank) continue;
    bytes.resize(value.type.bytes);
    absl::Status got = session_->GetValue(v, absl::MakeSpan(bytes));
    if (got.code() == absl::StatusCode::kFailedPrecondition) continue;  // elsewhere
    if (!got.ok()) return got;
    if (runtime::FirstNan(value.type.element, bytes))
      return absl::StrCat(value.is_param ? "parameter" : "state", " \"", value.name,
                          "\" has a nan");
  }
  return std::string();
}

}  // namespace commsched::run
