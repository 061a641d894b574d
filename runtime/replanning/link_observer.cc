// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/replanning/link_observer.h"

#include <algorithm>
#include <chrono>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/json.h"

namespace commsched::runtime {
namespace {

double Median(std::vector<double> values) {
  auto middle = values.begin() + std::ptrdiff_t((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

LinkObserver::LinkObserver(int rank, int nodes, uint64_t window)
    : rank_(rank), window_(window) {
  for (int i = 0; i < nodes; ++i) peers_.push_back(std::make_unique<Peer>());
}

void LinkObserver::Begin(int peer, Clock::time_point at) {
  Peer &from = *peers_[size_t(peer)];
  if (from.awaited++ != 0) return;
  from.since = at;
  from.before = from.bytes.load(std::memory_order_relaxed);
}

void LinkObserver::End(int peer, uint64_t call, Clock::time_point at) {
  Peer &from = *peers_[size_t(peer)];
  const uint64_t bytes = from.bytes.load(std::memory_order_relaxed);
  Period period;
  period.call = call;
  period.bytes = bytes - from.before;
  period.ns =
      std::chrono::duration_cast<std::chrono::nanoseconds>(at - from.since).count();
  if (--from.awaited != 0) {
    if (period.bytes < kEnoughBytes) return;
    from.since = at;
    from.before = bytes;
  }
  if (period.bytes < kLeastBytes || period.ns <= 0) return;
  MutexLock lock(&mu_);
  from.periods.push_back(period);
  while (from.periods.front().call + window_ <= call) from.periods.pop_front();
}

// Medians, not sums: a period in which this machine was busy is an outlier. The
// rate is that of the larger half, less what a period costs; that is what is
// left of the smaller half. A few rounds of the two settle.
std::optional<LinkObserver::Link> LinkObserver::Fit(std::vector<Period> periods) {
  if (periods.size() < kLeastPeriods) return std::nullopt;
  std::sort(periods.begin(), periods.end(), [](const Period &a, const Period &b) {
    return a.bytes != b.bytes ? a.bytes < b.bytes : a.ns < b.ns;
  });
  const size_t half = periods.size() / 2;
  const bool alike = periods[half / 2].bytes * 2 > periods[half + half / 2].bytes;
  double fixed = 0, ns_per_byte = 0;
  for (int round = 0; round < 8; ++round) {
    std::vector<double> slopes, rests;
    for (size_t i = half; i < periods.size(); ++i)
      slopes.push_back(std::max(0.1 * double(periods[i].ns), double(periods[i].ns) - fixed) /
                       double(periods[i].bytes));
    ns_per_byte = Median(std::move(slopes));
    if (alike) break;  // sizes do not tell the two apart
    for (size_t i = 0; i < half; ++i)
      rests.push_back(std::max(0.0, double(periods[i].ns) -
                                        ns_per_byte * double(periods[i].bytes)));
    fixed = Median(std::move(rests));
  }
  Link link;
  link.bits_per_second = std::max<int64_t>(1, int64_t(8e9 / ns_per_byte));
  link.fixed_ns = int64_t(fixed);
  return link;
}

std::vector<LinkObserver::Link> LinkObserver::Links() const {
  std::vector<Link> links;
  MutexLock lock(&mu_);
  for (size_t peer = 0; peer < peers_.size(); ++peer) {
    const auto &periods = peers_[peer]->periods;
    std::optional<Link> link = Fit({periods.begin(), periods.end()});
    if (!link) continue;
    link->from = int(peer);
    link->to = rank_;
    links.push_back(*link);
  }
  return links;
}

std::string CalibrationJson(const std::string &module, const std::string &transport,
                            int ranks,
                            const std::vector<LinkObserver::Link> &links) {
  std::vector<std::string> lines;
  for (const LinkObserver::Link &link : links)
    lines.push_back(absl::StrCat(
        " {\"from\":\"rank ", link.from, "\",\"to\":\"rank ", link.to,
        "\",\"latency_ns\":0,\"overhead_ns\":", link.fixed_ns,
        ",\"bits_per_s\":", link.bits_per_second,
        ",\"round_trip_ns\":", 2 * link.fixed_ns, "}"));
  return absl::StrCat(
      "{\"format\":\"commsched calibration\",\"version\":1,\"module\":",
      JsonQuote(module), ",\"transport\":\"", transport, "\",\"ranks\":", ranks,
      ",\"servers\":0,\n\"links\":[\n", absl::StrJoin(lines, ",\n"),
      "\n],\n\"exchanges\":[\n],\n\"compute\":[\n]}\n");
}

}  // namespace commsched::runtime
