// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All-reduce by several algorithms against a direct sum.
#include "runtime/loading/exchange.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "runtime/loading/affine.h"
#include "tests/runtime/all_to_all.h"
#include "tests/runtime/test_util.h"

namespace commsched {
namespace {

using testing::BytesOf;
using testing::MutableBytesOf;
using testing::PlanBuilder;
using testing::operator+;
using testing::operator*;
using testing::operator%;
using testing::operator/;

enum Algorithm {
  kRing,
  kHalving,
  kDoubling
};

std::vector<plan::Phase> Phases(Algorithm algorithm, int nodes,
                                plan::Combine combine, double scale) {
  switch (algorithm) {
    case kRing:
      return testing::RingAllReduce(nodes, combine, scale);
    case kHalving:
      return testing::HalvingAllReduce(nodes, combine, scale);
    case kDoubling:
      return testing::DoublingAllReduce(nodes, combine);
  }
  return {};
}

// Sums a batch tensor over the ranks into slot "sum" of each.
template <typename T>
std::vector<std::vector<T>> Reduce(int nodes, int64_t size, plan::ElementType element,
                                   const std::vector<plan::Phase> &phases,
                                   const std::vector<T> &values) {
  PlanBuilder plan(nodes);
  uint32_t sum = plan.Slot("sum", element, {size});
  auto f = plan.Function("step");
  uint32_t x = f.Batch("x", element, {1, size});
  uint32_t out = f.Slot(true, sum, element, {size});
  uint32_t copy = f.Copy(x, out);
  f.Communicate("x", out, phases, {{copy}});
  auto session = testing::Open(plan);
  std::vector<std::vector<T>> results;
  if (session == nullptr) return results;
  runtime::GlobalBatch batch;
  batch.Set("x", BytesOf(values), nullptr);
  EXPECT_TRUE(session->Call(0, &batch).ok());
  absl::Status status = session->Drain();
  EXPECT_TRUE(status.ok()) << status;
  for (int r = 0; r < nodes; ++r) {
    std::vector<T> &result = results.emplace_back(size_t(size));
    EXPECT_TRUE(session->executor(size_t(r)).GetSlot(0, MutableBytesOf(result)).ok());
  }
  return results;
}

class AllReduceTest
    : public ::testing::TestWithParam<std::tuple<Algorithm, int, int64_t>> {};

TEST_P(AllReduceTest, GivesTheSumOnEveryRank) {
  auto [algorithm, nodes, size] = GetParam();
  if (algorithm == kDoubling && (nodes & (nodes - 1)) != 0) GTEST_SKIP();
  std::vector<float> values;
  for (int64_t i = 0; i < nodes * size; ++i) values.push_back(float((i * 7919) % 256));
  for (auto [combine, scale] :
       {std::pair{plan::SUM, 0.0}, {plan::SUM, 0.25}, {plan::MAX, 0.0}, {plan::MIN, 0.0}}) {
    if (algorithm == kDoubling && scale != 0) continue;
    if (nodes == 1 && scale != 0) continue;
    auto results = Reduce(nodes, size, plan::F32,
                          Phases(algorithm, nodes, combine, scale), values);
    ASSERT_EQ(results.size(), size_t(nodes));
    for (int64_t i = 0; i < size; ++i) {
      float want = values[size_t(i)];
      for (int r = 1; r < nodes; ++r) {
        float v = values[size_t(r * size + i)];
        want = combine == plan::SUM   ? want + v
               : combine == plan::MAX ? std::max(want, v)
                                      : std::min(want, v);
      }
      if (scale != 0) want *= float(scale);
      for (int r = 0; r < nodes; ++r)
        ASSERT_EQ(results[size_t(r)][size_t(i)], want)
            << "rank " << r << ", element " << i << ", combine " << combine;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, AllReduceTest,
                         ::testing::Combine(::testing::Values(kRing, kHalving, kDoubling),
                                            ::testing::Range(1, 8),
                                            ::testing::Values(1, 3, 64, 1001)));

// Parts of 2 and 4 MiB and one element: messages are cut into 4 and 5 slices.
TEST(SlicesTest, SlicesGiveTheSumOnEveryRank) {
  for (auto [algorithm, nodes, bytes] : {std::tuple{kRing, 2, 4 << 20},
                                         {kRing, 3, 13 << 20},
                                         {kDoubling, 2, 5 << 20},
                                         {kHalving, 4, 5 << 20}}) {
    const int64_t size = bytes / 4 + 1;
    std::vector<float> values;
    for (int64_t i = 0; i < nodes * size; ++i)
      values.push_back(float((i * 7919) % 65536));
    auto results = Reduce(nodes, size, plan::F32,
                          Phases(algorithm, nodes, plan::SUM, 0), values);
    ASSERT_EQ(results.size(), size_t(nodes));
    for (int64_t i = 0; i < size; ++i) {
      float want = 0;
      for (int r = 0; r < nodes; ++r) want += values[size_t(r * size + i)];
      for (int r = 0; r < nodes; ++r)
        ASSERT_EQ(results[size_t(r)][size_t(i)], want)
            << algorithm << ", rank " << r << ", element " << i;
    }
  }
}

// Parts land where they have another number; with 3 MiB each, in slices.
TEST(AllToAllTest, EveryRankGetsItsPartOfAllOthers) {
  for (auto [nodes, part] : {std::pair{2, 1}, {3, 7}, {4, 100}, {7, 33}, {3, 3 << 18}}) {
    const int64_t size = 2 * nodes * part;
    std::vector<int32_t> values;
    for (int64_t i = 0; i < nodes * size; ++i) values.push_back(int32_t(i));
    auto results = Reduce(nodes, size, plan::I32, {testing::AllToAll(nodes)}, values);
    ASSERT_EQ(results.size(), size_t(nodes));
    for (int r = 0; r < nodes; ++r)
      for (int64_t i = 0; i < size; ++i) {
        const int64_t sender = i / part - nodes;
        const int64_t want = sender < 0 || sender == r
                                 ? r * size + i
                                 : sender * size + r * part + i % part;
        ASSERT_EQ(results[size_t(r)][size_t(i)], want) << "rank " << r << ", element " << i;
      }
  }
}

TEST(SlicesTest, AreCutWhereEachRoundMovesOnePart) {
  auto slices = [](const std::vector<plan::Phase> &phases, size_t bytes) {
    plan::Communicate exchange;
    for (const plan::Phase &phase : phases) *exchange.add_phases() = phase;
    runtime::TensorInfo type{ops::Element::kF32, {int64_t(bytes / 4)}, int64_t(bytes / 4), bytes};
    return runtime::SlicesOf(exchange, type);
  };
  const auto ring = testing::RingAllReduce(4, plan::SUM, 0);
  EXPECT_EQ(slices(ring, 64), 1u);
  EXPECT_EQ(slices(ring, 4 << 20), 2u);
  EXPECT_EQ(slices(ring, 16 << 20), 4u);
  EXPECT_EQ(slices(ring, 256 << 20), 16u);
  EXPECT_EQ(slices(ring, size_t{1} << 36), 256u);
  // A round that moves two parts at once depends on several of the one before.
  EXPECT_EQ(slices(testing::HalvingAllReduce(4, plan::SUM, 0), 256 << 20), 1u);
  EXPECT_EQ(slices({}, 256 << 20), 1u);
}

TEST(SlicesTest, SlicesCoverWhatARoundMoves) {
  runtime::Round round;
  round.send_begin = 40, round.send_bytes = 4 * 1001;
  round.recv_begin = 8, round.recv_bytes = 12;
  size_t sent = round.send_begin, received = round.recv_begin;
  for (uint32_t s = 0; s < 7; ++s) {
    const runtime::Round part = runtime::SliceOf(round, 4, s, 7);
    EXPECT_EQ(part.send_begin, sent);
    EXPECT_EQ(part.recv_begin, received);
    EXPECT_EQ(part.send_bytes % 4, 0u);
    sent += part.send_bytes;
    received += part.recv_bytes;
  }
  EXPECT_EQ(sent, round.send_begin + round.send_bytes);
  EXPECT_EQ(received, round.recv_begin + round.recv_bytes);
}

TEST(AllReduceTypesTest, EveryElementType) {
  auto phases = testing::RingAllReduce(3, plan::SUM, 0);
  auto expect = [&](auto zero, plan::ElementType element, auto value, auto sum) {
    std::vector<decltype(zero)> values(15, value);
    for (const auto &result : Reduce(3, 5, element, phases, values))
      EXPECT_EQ(result, std::vector<decltype(zero)>(5, sum)) << element;
  };
  expect(double(), plan::F64, 1.5, 4.5);
  expect(float(), plan::F32, 1.5f, 4.5f);
  expect(uint16_t(), plan::F16, ops::FloatToHalf(1.5f), ops::FloatToHalf(4.5f));
  expect(uint16_t(), plan::BF16, ops::FloatToBFloat16(1.5f), ops::FloatToBFloat16(4.5f));
  expect(int64_t(), plan::I64, int64_t{1} << 40, int64_t{3} << 40);
  expect(int32_t(), plan::I32, 7, 21);
  expect(int8_t(), plan::I8, int8_t{-5}, int8_t{-15});
  expect(uint8_t(), plan::I1, uint8_t{1}, uint8_t{1});
}

TEST(PartTest, PartsCoverTheTensor) {
  for (int64_t n : {0, 1, 5, 64, 1001})
    for (int64_t chunks : {1, 3, 7, 64}) {
      EXPECT_EQ(runtime::PartBegin(n, chunks, 0), 0);
      EXPECT_EQ(runtime::PartBegin(n, chunks, chunks), n);
      for (int64_t c = 0; c < chunks; ++c)
        EXPECT_LE(runtime::PartBegin(n, chunks, c), runtime::PartBegin(n, chunks, c + 1));
    }
  EXPECT_EQ(runtime::PartBegin(int64_t{1} << 45, 1 << 20, 1 << 19), int64_t{1} << 44);
}

// The simulator counts on it that what overlaps in one round does so in all.
TEST(AffineTest, WhatTurnsGoesOnByAsMuchInEveryRound) {
  const plan::AffineExpr r = testing::Rank(), k = testing::RoundNumber();
  std::mt19937 random(1);
  const auto number = [&](int most) { return int64_t(random() % uint32_t(2 * most + 1)) - most; };
  int turning = 0;
  for (int i = 0; i < 2000; ++i) {
    const int64_t modulus = 1 + int64_t(random() % 9);
    plan::AffineExpr e = r * number(3) + k * number(3) + testing::Constant(number(9));
    const bool linear = random() % 2 == 0;
    if (!linear) e = e + (random() % 2 == 0 ? (k * number(2) + r) % 3 : k / 2) * number(2);
    e = e % modulus;
    auto affine = runtime::Affine::Parse(e);
    ASSERT_TRUE(affine.ok()) << affine.status();
    const auto turn = affine->Turn();
    ASSERT_TRUE(turn || !linear);
    if (!turn) continue;
    ++turning;
    EXPECT_EQ(turn->second, modulus);
    for (int64_t rank = 0; rank < 4; ++rank)
      for (int64_t round = 0; round < 12; ++round)
        ASSERT_EQ((*affine->Evaluate(rank, round + 1) - *affine->Evaluate(rank, round) -
                   turn->first) %
                      modulus,
                  0)
            << "expression " << i;
  }
  EXPECT_GT(turning, 1000);
  EXPECT_LT(turning, 2000);
}

TEST(AffineTest, RoundsToMinusInfinityAndRefusesNonsense) {
  auto value = [](const plan::AffineExpr &e, int64_t rank, int64_t round) {
    auto affine = runtime::Affine::Parse(e);
    EXPECT_TRUE(affine.ok());
    return affine->Evaluate(rank, round);
  };
  plan::AffineExpr r = testing::Rank(), s = testing::RoundNumber();
  EXPECT_EQ(value((r + s * -1) % 4, 1, 3), 2);
  EXPECT_EQ(value((r + s * -1) / 4, 1, 3), -1);
  plan::AffineExpr ceiling = r / 4;
  ceiling.set_op(plan::AffineExpr::CEILDIV);
  EXPECT_EQ(value(ceiling, 5, 0), 2);
  EXPECT_EQ(value(ceiling, -5, 0), -1);
  EXPECT_EQ(value(r % 0, 5, 0), std::nullopt);
  EXPECT_EQ(value(testing::Constant(INT64_MAX) + r, 1, 0), std::nullopt);
  EXPECT_EQ(value(r * INT64_MAX, 3, 0), std::nullopt);
  plan::AffineExpr deep = r;
  for (int i = 0; i < 60; ++i) deep = deep + r;
  EXPECT_FALSE(runtime::Affine::Parse(deep).ok());
  plan::AffineExpr half;
  half.set_op(plan::AffineExpr::ADD);
  EXPECT_FALSE(runtime::Affine::Parse(half).ok());
}

TEST(PhaseTest, OfAGroupIsThatOfItsMembers) {
  runtime::TensorInfo type{ops::Element::kF32, {9}, 9, 36};
  plan::Group group;
  for (uint32_t rank : {6, 1, 4}) group.add_ranks(rank);
  auto members = runtime::RankGroup::Parse(group, 8);
  ASSERT_TRUE(members.ok()) << members.status();
  EXPECT_EQ(members->IndexOf(4), 2);
  EXPECT_EQ(members->IndexOf(5), -1);
  EXPECT_EQ(members->IndexOf(8), -1);
  for (const plan::Phase &phase : testing::RingAllReduce(3, plan::SUM, 0)) {
    EXPECT_TRUE(runtime::CheckPhaseMatches(phase, type, *members).ok());
    for (int rank = 0; rank < 8; ++rank) {
      auto rounds = runtime::EvaluatePhase(phase, type, rank, *members);
      ASSERT_TRUE(rounds.ok()) << rounds.status();
      const int index = members->IndexOf(rank);
      if (index < 0) {
        for (const runtime::Round &round : *rounds) {
          EXPECT_EQ(round.send_peer, -1);
          EXPECT_EQ(round.recv_peer, -1);
        }
        continue;
      }
      auto alone = runtime::EvaluatePhase(phase, type, index, runtime::RankGroup(3));
      ASSERT_TRUE(alone.ok()) << alone.status();
      for (size_t s = 0; s < rounds->size(); ++s) {
        EXPECT_EQ((*rounds)[s].send_peer, members->RankAt((*alone)[s].send_peer));
        EXPECT_EQ((*rounds)[s].recv_peer, members->RankAt((*alone)[s].recv_peer));
        EXPECT_EQ((*rounds)[s].send_begin, (*alone)[s].send_begin);
        EXPECT_EQ((*rounds)[s].recv_begin, (*alone)[s].recv_begin);
      }
    }
  }
}

TEST(PhaseTest, RefusesWhatDoesNotMatch) {
  runtime::TensorInfo type{ops::Element::kF32, {8}, 8, 32};
  plan::Phase phase = testing::RingAllReduce(4, plan::SUM, 0)[0];
  EXPECT_TRUE(runtime::CheckPhaseMatches(phase, type, runtime::RankGroup(4)).ok());
  plan::Phase wrong = phase;
  *wrong.mutable_recv()->mutable_peer() = (testing::Rank() + testing::Constant(1)) % 4;
  EXPECT_THAT(std::string(runtime::CheckPhaseMatches(wrong, type, runtime::RankGroup(4)).message()),
              ::testing::HasSubstr("in round 0 rank 0 sends 8 bytes to rank 1"));
  wrong = phase;
  *wrong.mutable_send()->mutable_peer() = testing::Rank();
  EXPECT_THAT(std::string(runtime::EvaluatePhase(wrong, type, 2, runtime::RankGroup(4)).status().message()),
              ::testing::HasSubstr("peer must be another rank below 4, got: 2"));
  wrong = phase;
  *wrong.mutable_send()->mutable_count() = testing::Constant(5);
  EXPECT_THAT(std::string(runtime::EvaluatePhase(wrong, type, 2, runtime::RankGroup(4)).status().message()),
              ::testing::HasSubstr("parts must lie in 0..4"));
  wrong = phase;
  wrong.set_scale(0.5);
  runtime::TensorInfo whole{ops::Element::kI32, {8}, 8, 32};
  EXPECT_FALSE(runtime::EvaluatePhase(wrong, whole, 2, runtime::RankGroup(4)).ok());
}

}  // namespace
}  // namespace commsched
