// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/measure/link_observer.h"

#include <algorithm>
#include <chrono>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/base/json.h"

namespace commsched::runtime {
namespace {

constexpr int64_t kTogetherNs = 100'000;
constexpr uint64_t kShort = 16 << 10;
constexpr int64_t kMostFixedNs = 200'000;

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

void LinkObserver::Arrived(int peer, uint64_t call, Clock::time_point at) {
  Peer &from = *peers_[size_t(peer)];
  const uint64_t bytes = from.bytes.load(std::memory_order_relaxed);
  Period period;
  period.call = call;
  period.bytes = bytes - from.before;
  period.ns =
      std::chrono::duration_cast<std::chrono::nanoseconds>(at - from.since).count();
  const bool first = from.arrivals == 0;
  // What comes in one packet is there at once: its bytes go with the next.
  if (!first && period.ns < kTogetherNs) return;
  from.arrivals = 1;
  from.since = at;
  from.before = bytes;
  if (first) return;
  MutexLock lock(&mu_);
  from.periods.push_back(period);
  while (from.periods.front().call + window_ <= call) from.periods.pop_front();
}

std::optional<LinkObserver::Link> LinkObserver::Fit(const std::vector<Period> &periods) {
  uint64_t all = 0;
  for (const Period &period : periods) all += period.bytes;
  const uint64_t enough = std::clamp(all / 32, kLeastBytes, kMostBytes);
  std::vector<double> rates;  // bytes in a nanosecond
  uint64_t bytes = 0;
  int64_t ns = 0;
  for (const Period &period : periods) {
    bytes += period.bytes;
    ns += period.ns;
    if (bytes < enough) continue;
    rates.push_back(double(bytes) / double(ns));
    bytes = 0;
    ns = 0;
  }
  if (rates.size() < kLeastStretches) return std::nullopt;
  std::sort(rates.begin(), rates.end());
  // Without the fastest few: a burst that was stored on the way.
  const double fast = rates[rates.size() * 9 / 10];
  std::vector<double> busy;
  for (double rate : rates)
    if (rate >= fast / 2) busy.push_back(rate);
  const double rate = Median(std::move(busy));
  std::vector<double> rests;
  for (const Period &period : periods)
    if (period.bytes <= kShort)
      rests.push_back(std::max(0.0, double(period.ns) - double(period.bytes) / rate));
  Link link;
  link.bits_per_second = std::max<int64_t>(1, int64_t(8e9 * rate));
  if (!rests.empty())
    link.fixed_ns = std::min(kMostFixedNs, int64_t(Median(std::move(rests))));
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
