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
using runtime::PhaseProgram;
using runtime::ProgressEngine;

enum Algorithm {
  kRing,
  kHalving,
  kDoubling
};

// Phases of a sum over `nodes` ranks, as one of them sees them.
std::vector<PhaseProgram> Phases(Algorithm algorithm, int nodes, int rank,
                                 const std::vector<int64_t> &parts) {
  std::vector<PhaseProgram> phases;
  const auto add = [&](ops::Combine combine, int chunks) {
    phases.push_back({combine, 0, {}, 0, uint32_t(chunks)});
  };
  const auto round = [&](int to, int send, int from, int receive, int count) {
    const int chunks = int(phases.back().chunks);
    const auto at = [&](int chunk) {
      return size_t(runtime::ChunkBegin(parts, chunks, chunk)) * sizeof(float);
    };
    phases.back().rounds.push_back({to, from, at(send), at(send + count) - at(send),
                                    at(receive), at(receive + count) - at(receive),
                                    uint32_t(send), uint32_t(count), uint32_t(receive),
                                    uint32_t(count)});
  };
  const int next = (rank + 1) % nodes, before = (rank + nodes - 1) % nodes;
  if (algorithm == kRing) {
    for (bool gathers : {false, true}) {
      add(gathers ? ops::Combine::kReplace : ops::Combine::kSum, nodes);
      for (int s = 0; s < nodes - 1; ++s) {
        const int own = (rank - s + 2 * nodes + (gathers ? 1 : 0)) % nodes;
        round(next, own, before, (own + nodes - 1) % nodes, 1);
      }
    }
    return phases;
  }
  for (int d = nodes / 2; d >= 1; d /= 2) {
    const int peer = rank ^ d;
    add(ops::Combine::kSum, algorithm == kDoubling ? 1 : nodes);
    if (algorithm == kDoubling)
      round(peer, 0, peer, 0, 1);
    else
      round(peer, peer / d * d, peer, rank / d * d, d);
  }
  for (int d = 1; d < nodes && algorithm == kHalving; d *= 2) {
    add(ops::Combine::kReplace, nodes);
    round(rank ^ d, rank / d * d, rank ^ d, (rank ^ d) / d * d, d);
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
    std::vector<int64_t> elements(parts.begin(), parts.end());
    c.phases = Phases(algorithm, transport->nodes(), transport->rank(), elements);
    c.slices = slices;
    for (size_t own : parts) c.parts.push_back({own * sizeof(float), {}, {}});
    for (uint32_t slice = 0; slice < slices; ++slice) {
      std::vector<runtime::Landing<size_t>> landings;
      for (const PhaseProgram &phase : c.phases)
        for (const runtime::Round &r : phase.rounds) {
          runtime::Landing<size_t> &landing = landings.emplace_back();
          size_t at = 0;
          for (const runtime::Segment &segment :
               SegmentsOf(c, phase.chunks, r.recv_chunk, r.recv_chunks, slice))
            landing.ends.emplace_back(segment.part, at += segment.bytes);
        }
      c.part_ends.push_back(runtime::PartEnds(parts.size(), landings));
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
