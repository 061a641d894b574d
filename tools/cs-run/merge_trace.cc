// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/cs-run/merge_trace.h"

#include <unistd.h>

#include <cstdint>
#include <memory>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "runtime/base/files.h"

namespace commsched::run {
namespace {

// What TraceRecorder::ToJson writes around the events.
constexpr absl::string_view kBegin =
    "{\"displayTimeUnit\":\"ms\",\"otherData\":{\"dropped_spans\":";
constexpr absl::string_view kMiddle = "},\"traceEvents\":[\n";
constexpr absl::string_view kEnd = "]}\n";

absl::Status TakeApart(const std::string &path, absl::string_view text,
                       uint64_t *dropped, absl::string_view *events) {
  uint64_t number = 0;
  size_t middle = text.find(kMiddle);
  if (!absl::ConsumePrefix(&text, kBegin) || middle == text.npos ||
      !absl::SimpleAtoi(text.substr(0, middle - kBegin.size()), &number))
    return absl::DataLossError(absl::StrCat(path, ": is no trace of a rank"));
  text.remove_prefix(middle - kBegin.size() + kMiddle.size());
  if (!absl::ConsumeSuffix(&text, kEnd))
    return absl::DataLossError(absl::StrCat(path, ": is truncated"));
  absl::ConsumeSuffix(&text, "\n");
  *dropped += number;
  *events = text;
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<bool> MergeTraces(const std::vector<std::string> &ranks,
                                 const std::string &path, int servers) {
  const size_t first_server = ranks.size() - size_t(servers);
  std::vector<std::shared_ptr<const runtime::MappedFile>> files;
  std::vector<absl::string_view> events;
  uint64_t dropped = 0;
  std::string names;
  absl::Status status;
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    const std::string &file = ranks[rank];
    const bool exists = access(file.c_str(), F_OK) == 0;
    absl::StrAppend(
        &names, names.empty() ? "" : ",\n",
        "{\"ph\":\"M\",\"name\":\"process_sort_index\",\"pid\":", rank,
        ",\"args\":{\"sort_index\":", rank, "}}");
    if (!exists) {
      absl::StrAppend(&names, ",\n{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":", rank,
                      ",\"args\":{\"name\":\"",
                      rank < first_server
                          ? absl::StrCat("rank ", rank)
                          : absl::StrCat("server ", rank - first_server),
                      " (no trace)\"}}");
      continue;
    }
    absl::string_view text;
    auto mapped = runtime::MappedFile::Open(file);
    absl::Status taken = mapped.status();
    if (mapped.ok()) taken = TakeApart(file, (*mapped)->bytes(), &dropped, &text);
    unlink(file.c_str());
    if (status.ok()) status = taken;
    if (!taken.ok()) continue;
    files.push_back(*std::move(mapped));
    if (!text.empty()) events.push_back(text);
  }
  if (!status.ok()) return status;
  if (files.empty()) return false;
  const std::string begin = absl::StrCat(kBegin, dropped, kMiddle, names);
  std::vector<absl::string_view> pieces = {begin};
  for (absl::string_view of_rank : events) {
    pieces.push_back(",\n");
    pieces.push_back(of_rank);
  }
  pieces.push_back("\n");
  pieces.push_back(kEnd);
  if (absl::Status s = runtime::WriteFileAtomically(path, pieces); !s.ok()) return s;
  return true;
}

}  // namespace commsched::run
