// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/cs-run/server_links.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"

namespace commsched::run {
namespace {

using runtime::Clock;
using runtime::ParameterClient;

constexpr size_t kRoundTrips = 100;
// Blocks that must be on their way at once to keep a link busy.
constexpr size_t kEnough = 8;

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

// Pulls each of the blocks again and again for `seconds`, and at least
// three times. Without the first and the last quarter:
struct Flow {
  double messages = 0, bytes = 0, ns = 0;
};
absl::StatusOr<Flow> PullAll(ParameterClient *client, const std::vector<Block> &blocks,
                             double seconds, absl::Duration deadline) {
  auto over = std::make_shared<Completions>();
  const uint64_t version = client->first_step();
  size_t begun = 0;
  const auto pull = [&](size_t i) {
    const Block &block = blocks[i];
    ++begun;
    client->Pull(block.server, block.index, version,
                 absl::MakeSpan(*block.memory),
                 [over, memory = block.memory, i](absl::Status s) {
                   over->Add(i, std::move(s));
                 });
  };
  const Clock::time_point begin = Clock::now();
  const auto end = begin + std::chrono::nanoseconds(int64_t(seconds * 1e9));
  std::vector<Completions::One> all;
  for (size_t i = 0; i < blocks.size(); ++i) pull(i);
  while (all.size() < begun) {
    auto some = over->Next(deadline);
    if (!some.ok()) return some.status();
    for (const Completions::One &one : *some) {
      all.push_back(one);
      if (Clock::now() < end || begun < 3 * blocks.size()) pull(one.number);
    }
  }
  std::sort(all.begin(), all.end(),
            [](const Completions::One &a, const Completions::One &b) {
              return a.at < b.at;
            });
  Flow flow;
  // The last ones are no longer followed by others.
  const size_t first = all.size() / 4, last = all.size() - 1 - all.size() / 4;
  for (size_t i = first + 1; i <= last; ++i) {
    ++flow.messages;
    flow.bytes += double(blocks[all[i].number].bytes());
  }
  flow.ns = double(
      std::chrono::duration_cast<std::chrono::nanoseconds>(all[last].at - all[first].at)
          .count());
  if (flow.messages == 0) {
    flow.messages = 1;
    flow.bytes = double(blocks[all[0].number].bytes());
    flow.ns = double(
        std::chrono::duration_cast<std::chrono::nanoseconds>(all[0].at - begin).count());
  }
  flow.ns = std::max(flow.ns, 1.0);
  return flow;
}

absl::StatusOr<LinkCost> Measure(ParameterClient *client, const std::vector<Block> &blocks,
                                 absl::Duration deadline) {
  LinkCost cost;
  std::vector<int64_t> round_trips;
  const Clock::time_point begin = Clock::now();
  while (round_trips.size() < kRoundTrips &&
         (round_trips.size() < 5 || Clock::now() - begin < std::chrono::seconds(1))) {
    const Clock::time_point asked = Clock::now();
    auto over = std::make_shared<Completions>();
    const Block &block = blocks[0];
    client->Pull(block.server, block.index, client->first_step(),
                 absl::MakeSpan(*block.memory),
                 [over, memory = block.memory](absl::Status s) { over->Add(0, std::move(s)); });
    auto one = over->Next(deadline);
    if (!one.ok()) return one.status();
    round_trips.push_back(
        std::chrono::duration_cast<std::chrono::nanoseconds>((*one)[0].at - asked).count());
  }
  cost.round_trip_ns = Median(round_trips);
  // The smaller half, if it is much smaller, and the rest.
  size_t small = blocks.size() / 2;
  while (small > 0 && blocks[small - 1].bytes() * 8 > blocks.back().bytes()) --small;
  auto large = PullAll(client, {blocks.begin() + ptrdiff_t(small), blocks.end()}, 1, deadline);
  if (!large.ok()) return large.status();
  // One block alone leaves the link idle until it is asked for again.
  if (blocks.size() - small == 1)
    large->ns = std::max(large->ns / 8,
                         large->ns - large->messages * double(cost.round_trip_ns));
  double overhead = 0;
  if (small >= kEnough) {
    auto flow = PullAll(client, {blocks.begin(), blocks.begin() + ptrdiff_t(small)}, 0.5,
                        deadline);
    if (!flow.ok()) return flow.status();
    // Both satisfy ns = messages * overhead + bytes * (ns per byte).
    const double determinant = flow->messages * large->bytes - large->messages * flow->bytes;
    if (determinant > 0)
      overhead = (flow->ns * large->bytes - large->ns * flow->bytes) / determinant;
    overhead = std::clamp(overhead, 0.0, 0.9 * large->ns / large->messages);
  }
  const double per_byte = (large->ns - large->messages * overhead) / large->bytes;
  cost.overhead_ns = int64_t(overhead);
  cost.bits_per_second = std::max<int64_t>(1, int64_t(8e9 / per_byte));
  cost.latency_ns = std::max<int64_t>(
      0, (cost.round_trip_ns - int64_t(double(blocks[0].bytes()) * per_byte)) / 2 -
             cost.overhead_ns);
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
  auto slowdown = MeasureSlowdown(
      [] { return absl::OkStatus(); },
      [&] { return PullAll(client, blocks, 0.5, deadline).status(); });
  if (slowdown.ok()) return slowdown;
  return absl::Status(slowdown.status().code(),
                      absl::StrCat("measuring compute while communicating: ",
                                   slowdown.status().message()));
}

}  // namespace commsched::run
