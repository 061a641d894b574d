// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parts of an exchange over the transport: each is released once, in the order in which
// its bytes come, and not before all of them are there.
#include <algorithm>
#include <cstring>
#include <random>

#include "runtime/execute/progress_engine.h"
#include "tests/conformance/conformance.h"

namespace commsched::conformance {
namespace {

using runtime::CommunicateProgram;
using runtime::InstructionProgram;
using runtime::PartBegin;
using runtime::PhaseProgram;
using runtime::ProgressEngine;

enum Algorithm {
  kRing,
  kHalving,
  kDoubling
};

// Phases of a sum over `nodes` ranks, as one of them sees them.
std::vector<PhaseProgram> Phases(Algorithm algorithm, int nodes, int rank, int64_t elements) {
  std::vector<PhaseProgram> phases;
  const auto at = [&](int64_t chunks, int64_t chunk) {
    return size_t(PartBegin(elements, chunks, chunk)) * sizeof(float);
  };
  const auto add = [&](ops::Combine combine) {
    phases.push_back({combine, 0, {}, 0});
  };
  const auto round = [&](int64_t chunks, int to, int64_t send, int from, int64_t receive,
                         int64_t count) {
    phases.back().rounds.push_back({to, from, at(chunks, send),
                                    at(chunks, send + count) - at(chunks, send),
                                    at(chunks, receive),
                                    at(chunks, receive + count) - at(chunks, receive)});
  };
  const int next = (rank + 1) % nodes, before = (rank + nodes - 1) % nodes;
  if (algorithm == kRing) {
    for (bool gathers : {false, true}) {
      add(gathers ? ops::Combine::kReplace : ops::Combine::kSum);
      for (int s = 0; s < nodes - 1; ++s) {
        const int own = (rank - s + 2 * nodes + (gathers ? 1 : 0)) % nodes;
        round(nodes, next, own, before, (own + nodes - 1) % nodes, 1);
      }
    }
    return phases;
  }
  for (int d = nodes / 2; d >= 1; d /= 2) {
    add(ops::Combine::kSum);
    const int peer = rank ^ d;
    if (algorithm == kDoubling)
      round(1, peer, 0, peer, 0, 1);
    else
      round(nodes, peer, peer / d * d, peer, rank / d * d, d);
  }
  for (int d = 1; d < nodes && algorithm == kHalving; d *= 2) {
    add(ops::Combine::kReplace);
    round(nodes, rank ^ d, rank / d * d, rank ^ d, (rank ^ d) / d * d, d);
  }
  return phases;
}

// A rank that sums `memory` with the others', and looks at each part when it is there.
class SummingRank final : public ProgressEngine::Host {
 public:
  SummingRank(Transport *transport, Algorithm algorithm, uint32_t slices,
              const std::vector<size_t> &parts, const std::vector<float> &sum)
      : memory_(sum.size()), sum_(sum) {
    instruction_.kind = InstructionProgram::kCommunicate;
    CommunicateProgram &c = instruction_.communicate;
    c.phases = Phases(algorithm, transport->nodes(), transport->rank(), int64_t(sum.size()));
    c.slices = slices;
    for (size_t elements : parts) c.parts.push_back({elements * sizeof(float), {}, {}});
    std::vector<size_t> bytes;
    for (const auto &part : c.parts) bytes.push_back(part.bytes);
    for (uint32_t slice = 0; slice < slices; ++slice) {
      std::vector<runtime::Landing<size_t>> landings;
      for (const PhaseProgram &phase : c.phases)
        for (const runtime::Round &all : phase.rounds) {
          const runtime::Round r = runtime::SliceOf(all, sizeof(float), slice, slices);
          landings.push_back({r.recv_begin, r.recv_bytes, false});
        }
      c.part_ends.push_back(runtime::PartEnds(bytes, landings));
    }
    // What it is to be, times the rank plus one, over the sum of those.
    const int nodes = transport->nodes();
    for (size_t i = 0; i < sum.size(); ++i)
      memory_[i] = sum[i] * float(transport->rank() + 1) / float(nodes * (nodes + 1) / 2);
    engine_ = std::make_unique<ProgressEngine>(transport->rank(), transport, nullptr, nullptr,
                                               this, nullptr, absl::Minutes(2));
    ProgressEngine::Request request;
    request.instruction = &instruction_;
    request.call = uint64_t(algorithm);
    request.buffer = reinterpret_cast<std::byte *>(memory_.data());
    engine_->Start(request);
  }

  void PartDone(void *, uint32_t, uint32_t part) override {
    size_t begin = 0;
    const CommunicateProgram &c = instruction_.communicate;
    for (uint32_t p = 0; p < part; ++p) begin += c.parts[p].bytes / sizeof(float);
    // Others may be on their way into the rest.
    EXPECT_EQ(std::memcmp(memory_.data() + begin, sum_.data() + begin, c.parts[part].bytes), 0)
        << "part " << part;
    released_.push_back(part);
  }
  void CommunicationDone(void *, uint32_t) override {
    const CommunicateProgram &c = instruction_.communicate;
    if (c.slices == 1) {
      std::vector<uint32_t> order;
      for (const auto &end : c.part_ends[0]) order.push_back(end.part);
      EXPECT_EQ(released_, order);
    }
    std::sort(released_.begin(), released_.end());
    EXPECT_EQ(released_.size(), c.parts.size());
    EXPECT_TRUE(std::adjacent_find(released_.begin(), released_.end()) == released_.end());
    EXPECT_TRUE(memory_ == sum_);
    done_.done()(absl::OkStatus());
  }
  void CommunicationFailed(const absl::Status &why) override { done_.done()(why); }
  bool Computing() const override { return true; }
  absl::Status Wait() const { return done_.Wait(); }

 private:
  InstructionProgram instruction_;
  std::vector<float> memory_;
  const std::vector<float> sum_;
  std::vector<uint32_t> released_;  // of the engine's thread
  Result done_;
  std::unique_ptr<ProgressEngine> engine_;
};

void ReleaseParts(const std::vector<std::unique_ptr<Transport>> &ranks) {
  ASSERT_GE(ranks.size(), 2u);
  const int nodes = int(ranks.size());
  std::vector<std::unique_ptr<SummingRank>> summing;  // longer than the connections
  for (Algorithm algorithm : {kRing, kHalving, kDoubling}) {
    if (algorithm != kRing && nodes == 3) continue;
    std::mt19937_64 random(uint64_t(10 * nodes + algorithm));
    std::vector<size_t> parts;
    size_t elements = 0;
    // Long ones are cut into packets.
    for (int n = 2 + int(random() % 5); n > 0; --n) {
      parts.push_back(1 + random() % (n == 1 ? 700000 : 90000));
      elements += parts.back();
    }
    // Whole numbers whose shares are too: the order of sums does not matter.
    const auto share = uint64_t(nodes * (nodes + 1) / 2);
    std::vector<float> sum;
    for (size_t i = 0; i < elements; ++i) sum.push_back(float(random() % 1000 * share));
    const uint32_t slices = algorithm == kRing ? uint32_t(1 + random() % 3) : 1;
    for (auto &rank : ranks)
      summing.push_back(
          std::make_unique<SummingRank>(rank.get(), algorithm, slices, parts, sum));
    for (auto &rank : summing) EXPECT_TRUE(rank->Wait().ok()) << rank->Wait();
  }
  for (auto &rank : ranks) rank->Close();
}

TEST_P(ConformanceTest, PartsAreReleasedWhenTheyAreThere) {
  Start(2);
  ReleaseParts(ranks_);
}
TEST_P(ConformanceTest, PartsAreReleasedAroundARing) {
  Start(3);
  ReleaseParts(ranks_);
}
TEST_P(ConformanceTest, PartsAreReleasedOfSeveralPhases) {
  Start(4);
  ReleaseParts(ranks_);
}

}  // namespace
}  // namespace commsched::conformance
