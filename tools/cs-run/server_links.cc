// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/cs-run/server_links.h"

#include <time.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"

namespace commsched::run {
namespace {

using calibration::Completions;
using calibration::LinkCost;
using calibration::Median;
using calibration::Slowdown;
using calibration::Source;
using runtime::Clock;
using runtime::ParameterClient;

constexpr size_t kRoundTrips = 100;
// Blocks that must be on their way at once to keep a link busy, and their size if
// a message is to be mostly overhead.
constexpr size_t kEnough = 8;
constexpr size_t kSmall = size_t{16} << 10;
// Of those, and seconds of each. What else the machine does makes some longer.
constexpr int kFlows = 5;
constexpr double kFlowSeconds = 0.1;

struct Block {
  int server = 0;
  uint32_t index = 0;
  // Of its value, which late callbacks may still write to.
  std::shared_ptr<std::vector<std::byte>> memory;
  size_t bytes() const { return memory->size(); }
};

// Rows of tables are pulled in another way.
std::vector<Block> BlocksOf(const runtime::ServersProgram &servers, int server) {
  std::vector<Block> blocks;
  const auto &all = servers.servers[size_t(server)].blocks;
  for (uint32_t b = 0; b < all.size(); ++b)
    if (!all[b].of_rows() && all[b].value.bytes != 0)
      blocks.push_back({server, b,
                        std::make_shared<std::vector<std::byte>>(all[b].value.bytes)});
  std::sort(blocks.begin(), blocks.end(), [](const Block &a, const Block &b) {
    return std::pair(a.bytes(), a.index) < std::pair(b.bytes(), b.index);
  });
  return blocks;
}

// Pulls all blocks at once, and each again as soon as it is there, for `seconds`.
// What it gives is without the first and the last quarter:
struct Flow {
  double messages = 0, bytes = 0, ns = 1;
  // Of all of it: what this process's threads took on processors.
  double all_messages = 0, all_bytes = 0, processor_ns = 0;
};

double ProcessorNs() {
  timespec time;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return 1e9 * double(time.tv_sec) + double(time.tv_nsec);
}

absl::StatusOr<Flow> PullAll(ParameterClient *client, const std::vector<Block> &blocks,
                             double seconds, absl::Duration deadline) {
  auto over = std::make_shared<Completions>();
  const uint64_t version = client->first_step();
  size_t begun = 0;
  const auto pull = [&](size_t i) {
    const Block &block = blocks[i];
    ++begun;
    client->Pull(block.server, block.index, version, absl::MakeSpan(*block.memory),
                 [over, memory = block.memory, i](absl::Status s) {
                   over->Add(i, std::move(s));
                 });
  };
  const auto end =
      Clock::now() + std::chrono::nanoseconds(int64_t(seconds * 1e9));
  std::vector<Completions::One> all;
  Flow flow;
  const double processors = ProcessorNs();
  for (size_t i = 0; i < blocks.size(); ++i) pull(i);
  while (all.size() < begun) {
    auto some = over->Next(deadline);
    if (!some.ok()) return some.status();
    for (const Completions::One &one : *some) {
      all.push_back(one);
      if (Clock::now() < end || begun < 3 * blocks.size()) pull(one.number);
    }
  }
  flow.processor_ns = ProcessorNs() - processors;
  for (const Completions::One &one : all) flow.all_bytes += double(blocks[one.number].bytes());
  flow.all_messages = double(all.size());
  std::stable_sort(all.begin(), all.end(),
                   [](const Completions::One &a, const Completions::One &b) {
                     return a.at < b.at;
                   });
  const size_t first = all.size() / 4, last = all.size() - 1 - all.size() / 4;
  for (size_t i = first + 1; i <= last; ++i) {
    ++flow.messages;
    flow.bytes += double(blocks[all[i].number].bytes());
  }
  if (flow.messages > 0)
    flow.ns = std::max(
        1.0, double(std::chrono::duration_cast<std::chrono::nanoseconds>(
                        all[last].at - all[first].at)
                        .count()));
  return flow;
}

// Nanoseconds of a pull, one after the other: the median.
absl::StatusOr<int64_t> RoundTrip(ParameterClient *client, const Block &block,
                                  double seconds, absl::Duration deadline) {
  std::vector<int64_t> times;
  const Clock::time_point begin = Clock::now();
  const auto end = begin + std::chrono::nanoseconds(int64_t(seconds * 1e9));
  while (times.size() < kRoundTrips && (times.size() < 5 || Clock::now() < end)) {
    const Clock::time_point asked = Clock::now();
    auto over = std::make_shared<Completions>();
    client->Pull(block.server, block.index, client->first_step(),
                 absl::MakeSpan(*block.memory),
                 [over, memory = block.memory](absl::Status s) { over->Add(0, std::move(s)); });
    auto one = over->Next(deadline);
    if (!one.ok()) return one.status();
    times.push_back(
        std::chrono::duration_cast<std::chrono::nanoseconds>((*one)[0].at - asked).count());
  }
  // The first ones find a link that has rested, which is faster for a moment.
  times.erase(times.begin(), times.begin() + ptrdiff_t(times.size() / 4));
  return Median(std::move(times));
}

absl::StatusOr<LinkCost> Measure(ParameterClient *client, const std::vector<Block> &blocks,
                                 absl::Duration deadline) {
  LinkCost cost;
  const Block &smallest = blocks.front(), &largest = blocks.back();
  auto round_trip = RoundTrip(client, smallest, 1, deadline);
  if (!round_trip.ok()) return round_trip.status();
  cost.round_trip_ns = *round_trip;
  // One pull after the other: servers answer the most urgent first, so that of
  // several at once one may wait for long.
  auto longer = RoundTrip(client, largest, 2, deadline);
  if (!longer.ok()) return longer.status();
  // Of blocks that hardly differ, the whole time.
  const bool differ = largest.bytes() >= 2 * smallest.bytes() && *longer > *round_trip;
  const double per_byte =
      differ ? double(*longer - *round_trip) / double(largest.bytes() - smallest.bytes())
             : double(*longer) / double(largest.bytes());
  std::vector<Block> small, large;
  for (const Block &block : blocks) {
    if (block.bytes() <= kSmall) small.push_back(block);
    if (2 * block.bytes() > largest.bytes()) large.push_back(block);
  }
  std::optional<double> overhead, processor, processor_of_byte;
  const auto least = [](std::optional<double> *least, double took) { *least = std::min(least->value_or(took), took); };
  if (differ && small.size() >= kEnough)
    for (int i = 0; i < kFlows; ++i) {
      auto flow = PullAll(client, large, kFlowSeconds, deadline);
      if (!flow.ok()) return flow.status();
      least(&processor_of_byte, flow->processor_ns / flow->all_bytes);
    }
  for (int i = 0; differ && small.size() >= kEnough && i < kFlows; ++i) {
    auto flow = PullAll(client, small, kFlowSeconds, deadline);
    if (!flow.ok()) return flow.status();
    if (flow->messages == 0) continue;
    least(&overhead, (flow->ns - flow->bytes * per_byte) / flow->messages);
    least(&processor, (flow->processor_ns - flow->all_bytes * *processor_of_byte) / flow->all_messages);
  }
  if (processor) cost.processor_ns = std::max<int64_t>(0, int64_t(*processor));
  cost.overhead_ns = std::max<int64_t>(0, int64_t(overhead.value_or(0)));
  cost.bits_per_second = std::max<int64_t>(1, int64_t(8e9 / per_byte));
  const auto sending =
      differ ? int64_t(double(smallest.bytes()) * per_byte) : *round_trip;
  cost.latency_ns = std::max<int64_t>(
      0, (cost.round_trip_ns - sending) / 2 - cost.overhead_ns);
  return cost;
}

absl::Status Named(int server, const absl::Status &status) {
  return absl::Status(status.code(), absl::StrCat("measuring the link from server ",
                                                  server, ": ", status.message()));
}

}  // namespace

absl::StatusOr<LinkCost> MeasureServerLink(ParameterClient *client,
                                           const runtime::ServersProgram &servers,
                                           int server, absl::Duration deadline) {
  const std::vector<Block> blocks = BlocksOf(servers, server);
  if (blocks.empty())
    return Named(server, absl::FailedPreconditionError(
                             "it has no block that is pulled as a whole"));
  auto cost = Measure(client, blocks, deadline);
  if (!cost.ok()) return Named(server, cost.status());
  return cost;
}

absl::StatusOr<Slowdown> MeasureServerSlowdown(ParameterClient *client,
                                               const runtime::ServersProgram &servers,
                                               absl::Duration deadline) {
  std::vector<Block> blocks;
  for (size_t server = 0; server < servers.servers.size(); ++server)
    for (Block &block : BlocksOf(servers, int(server))) blocks.push_back(std::move(block));
  auto slowdown = calibration::MeasureSlowdown(
      [] { return absl::OkStatus(); },
      [&] { return PullAll(client, blocks, 0.5, deadline).status(); });
  if (slowdown.ok()) return slowdown;
  return absl::Status(slowdown.status().code(),
                      absl::StrCat("measuring compute while communicating: ",
                                   slowdown.status().message()));
}

}  // namespace commsched::run
