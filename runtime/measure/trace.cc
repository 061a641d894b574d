// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/measure/trace.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "runtime/base/files.h"
#include "runtime/base/json.h"

namespace commsched::runtime {
namespace {

// A track as the viewer sees it. Spans of one track must nest, so messages
// that overlap on a link get lanes.
using TrackKey = std::tuple<int, TraceSpan::Track, int>;

bool IsLink(TraceSpan::Track track) {
  return track == TraceSpan::kSend || track == TraceSpan::kReceive;
}

std::string TrackName(TraceSpan::Track track, int peer) {
  const char *name = "";
  switch (track) {
    case TraceSpan::kCompute: name = "compute"; break;
    case TraceSpan::kCopyToHost: name = "copy to host"; break;
    case TraceSpan::kCopyToDevice: name = "copy to device"; break;
    case TraceSpan::kSend: name = "send to "; break;
    case TraceSpan::kReceive: name = "receive from "; break;
    case TraceSpan::kNccl: name = "NCCL"; break;
    case TraceSpan::kDeferred: name = "deferred compute"; break;
    case TraceSpan::kDeferredFirst: name = "deferred compute for messages"; break;
    case TraceSpan::kCopyToHostAgain: name = "copy to host again"; break;
    case TraceSpan::kCopyToDeviceFirst: name = "copy to device for messages"; break;
    case TraceSpan::kBatches: name = "batches to device"; break;
    case TraceSpan::kMetrics: name = "metrics to host"; break;
  }
  if (IsLink(track)) return absl::StrCat(name, peer);
  return peer == 0 ? name : absl::StrCat(name, " (device ", peer, ")");
}

}  // namespace

void TraceRecorder::Add(TraceSpan span) {
  if (!enabled()) return;
  MutexLock lock(&mu_);
  if (spans_.size() < kMaxSpans)
    spans_.push_back(std::move(span));
  else
    ++dropped_;
}

std::string TraceRecorder::ToJson() const {
  std::vector<TraceSpan> spans;
  uint64_t dropped;
  {
    MutexLock lock(&mu_);
    spans = spans_;
    dropped = dropped_;
  }
  std::stable_sort(spans.begin(), spans.end(),
                   [](const TraceSpan &a, const TraceSpan &b) {
                     return a.begin < b.begin;
                   });
  std::map<TrackKey, std::vector<Clock::time_point>> lanes;
  std::vector<size_t> lane_of(spans.size(), 0);
  for (size_t i = 0; i < spans.size(); ++i) {
    const TraceSpan &s = spans[i];
    auto &busy = lanes[{s.rank, s.track, s.peer}];
    size_t lane = 0;
    if (IsLink(s.track))
      while (lane < busy.size() && busy[lane] > s.begin) ++lane;
    if (lane == busy.size()) busy.emplace_back();
    busy[lane] = s.end;
    lane_of[i] = lane;
  }
  std::string out = "{\"displayTimeUnit\":\"ms\",\"otherData\":{\"dropped_spans\":";
  absl::StrAppend(&out, dropped, "},\"traceEvents\":[\n");
  std::map<TrackKey, int> ids;
  int next_id = 0, last_rank = -1;
  for (const auto &[key, busy] : lanes) {
    auto [rank, track, peer] = key;
    if (rank != last_rank)
      absl::StrAppend(&out, "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":", rank,
                      ",\"args\":{\"name\":\"rank ", rank, "\"}},\n");
    last_rank = rank;
    ids[key] = next_id;
    for (size_t lane = 0; lane < busy.size(); ++lane, ++next_id) {
      std::string name = TrackName(track, peer);
      if (lane != 0) absl::StrAppend(&name, " (", lane + 1, ")");
      absl::StrAppend(&out, "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":", rank,
                      ",\"tid\":", next_id, ",\"args\":{\"name\":\"", name, "\"}},\n",
                      "{\"ph\":\"M\",\"name\":\"thread_sort_index\",\"pid\":", rank,
                      ",\"tid\":", next_id, ",\"args\":{\"sort_index\":", next_id,
                      "}},\n");
    }
  }
  auto micros = [&](Clock::duration d) {
    return absl::StrFormat(
        "%.3f",
        double(std::chrono::duration_cast<std::chrono::nanoseconds>(d).count()) / 1e3);
  };
  for (size_t i = 0; i < spans.size(); ++i) {
    const TraceSpan &s = spans[i];
    absl::StrAppend(&out, "{\"ph\":\"X\",\"name\":", JsonQuote(s.name), ",\"cat\":\"",
                    s.category, "\",\"pid\":", s.rank, ",\"tid\":",
                    ids[{s.rank, s.track, s.peer}] + int(lane_of[i]));
    absl::StrAppend(&out, ",\"ts\":", micros(s.begin - origin_),
                    ",\"dur\":", micros(s.end - s.begin),
                    ",\"args\":{\"call\":", s.step);
    if (s.bytes != 0) absl::StrAppend(&out, ",\"bytes\":", s.bytes);
    absl::StrAppend(&out, "}}", i + 1 < spans.size() ? ",\n" : "\n");
  }
  return out + "]}\n";
}

absl::Status TraceRecorder::Write(const std::string &path) const {
  std::string json = ToJson();
  return WriteFileAtomically(path, {json});
}

}  // namespace commsched::runtime
