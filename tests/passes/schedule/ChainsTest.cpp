// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Messages whose pieces can lie side by side, and policies by name.

#include "passes/schedule/solver/Chains.h"
#include "passes/schedule/solver/Policy.h"
#include "tests/passes/schedule/Layers.h"
#include "tests/passes/schedule/LittleEffort.h"
#include "tests/passes/schedule/RandomLayers.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace commsched::schedule {
namespace {

std::string text(const std::vector<Message> &messages) {
  std::string out;
  for (const Message &message : messages) {
    out += out.empty() ? "" : " | ";
    for (const Piece &piece : message.pieces)
      out += std::to_string(piece.communication) + "[" +
             std::to_string(piece.begin) + "," + std::to_string(piece.end) + ")";
  }
  return out;
}

std::vector<Message> messagesOf(std::vector<std::vector<Piece>> pieces) {
  std::vector<Message> messages;
  for (std::vector<Piece> &own : pieces)
    messages.push_back({std::move(own), {static_cast<int64_t>(messages.size())}});
  return messages;
}

class ChainsTest : public testing::Test {
protected:
  Problem problem = layers(1, 1, {100, 100, 100});
  std::string chained(std::vector<std::vector<Piece>> pieces, int64_t unit = 1) {
    return text(chainMessages(problem, messagesOf(std::move(pieces)),
                              std::vector<int64_t>(3, unit)));
  }
};

TEST_F(ChainsTest, KeepsWhatFits) {
  EXPECT_EQ(chained({{{0, 0, 100}}, {{1, 0, 100}, {2, 0, 100}}}),
            "0[0,100) | 1[0,100)2[0,100)");
  EXPECT_EQ(chained({{{0, 0, 60}}, {{0, 60, 100}, {1, 0, 100}, {2, 0, 10}}, {{2, 10, 100}}}),
            "0[0,60) | 0[60,100)1[0,100)2[0,10) | 2[10,100)");
}

TEST_F(ChainsTest, ChoosesTheBytesThatFit) {
  // The head of 0 and the tail of 2 are named, but each has another end as well.
  EXPECT_EQ(chained({{{0, 0, 40}, {1, 0, 100}, {2, 90, 100}}, {{0, 40, 100}}, {{2, 0, 90}}}),
            "0[60,100)1[0,100)2[0,10) | 0[0,60) | 2[10,100)");
  // A piece from the middle; alone with a whole tensor it stays on its side.
  EXPECT_EQ(chained({{{0, 20, 30}, {1, 0, 100}}, {{0, 0, 20}, {0, 30, 100}}, {{2, 0, 100}}}),
            "0[90,100)1[0,100) | 0[0,90) | 2[0,100)");
  EXPECT_EQ(chained({{{1, 0, 100}, {0, 20, 30}}, {{0, 0, 20}, {0, 30, 100}}, {{2, 0, 100}}}),
            "1[0,100)0[0,10) | 0[10,100) | 2[0,100)");
}

TEST_F(ChainsTest, SendsTheRestAlone) {
  // Three tensors of which each has more.
  EXPECT_EQ(chained({{{0, 50, 100}, {1, 50, 100}, {2, 30, 60}},
                     {{0, 0, 50}},
                     {{1, 0, 50}},
                     {{2, 0, 30}},
                     {{2, 60, 100}}}),
            "0[50,100)2[0,30) | 1[0,50) | 0[0,50) | 1[50,100) | 2[30,60) | 2[60,100)");
}

TEST_F(ChainsTest, MakesNoRing) {
  EXPECT_EQ(chained({{{0, 50, 100}, {1, 0, 50}}, {{1, 50, 100}, {0, 0, 50}}, {{2, 0, 100}}}),
            "0[50,100)1[0,50) | 1[50,100) | 0[0,50) | 2[0,100)");
}

TEST_F(ChainsTest, JoinsPiecesThatTouch) {
  EXPECT_EQ(chained({{{0, 0, 30}, {1, 0, 100}, {0, 30, 100}}, {{2, 0, 100}}}),
            "0[0,100)1[0,100) | 2[0,100)");
}

TEST_F(ChainsTest, CutsAtUnits) {
  EXPECT_EQ(chained({{{0, 0, 33}}, {{0, 33, 100}}, {{1, 0, 7}}, {{1, 7, 100}}, {{2, 0, 100}}}, 8),
            "0[0,32) | 0[32,100) | 1[0,100) | 2[0,100)");
}

/// Random divisions into messages: the result covers the same bytes, and each tensor
/// has one neighbour on each side at most, without rings.
TEST(Chains, RandomMessages) {
  std::mt19937 random(7);
  auto below = [&](unsigned n) { return static_cast<unsigned>(random() % n); };
  for (int trial = 0; trial < 500; ++trial) {
    unsigned tensors = 2 + below(8);
    std::vector<int64_t> bytes;
    for (unsigned i = 0; i < tensors; ++i)
      bytes.push_back(1 + below(200));
    Problem problem = layers(1, 1, bytes);
    std::vector<Message> messages(1 + below(tensors + 3));
    for (unsigned i = 0; i < tensors; ++i)
      for (int64_t begin = 0; begin < bytes[i];) {
        int64_t end = std::min<int64_t>(bytes[i], begin + 1 + below(150));
        messages[below(messages.size())].pieces.push_back({i, begin, end});
        begin = end;
      }
    std::erase_if(messages, [](const Message &m) { return m.pieces.empty(); });
    for (Message &message : messages)
      message.priorities = {0};
    Schedule schedule;
    schedule.order = programOrder(problem);
    schedule.credit = {kNoLimit};
    schedule.messages = chainMessages(problem, messages, std::vector<int64_t>(tensors, 16));
    std::optional<std::string> error = verify(problem, schedule);
    // Fusing across the program may wait for itself nowhere here: consumers are of
    // the next step.
    ASSERT_FALSE(error) << *error;
    std::map<unsigned, unsigned> next, before;
    for (const Message &message : schedule.messages)
      for (size_t i = 0; i + 1 < message.pieces.size(); ++i) {
        const Piece &left = message.pieces[i], &right = message.pieces[i + 1];
        ASSERT_EQ(left.end, bytes[left.communication]);
        ASSERT_EQ(right.begin, 0);
        ASSERT_TRUE(next.emplace(left.communication, right.communication).second);
        ASSERT_TRUE(before.emplace(right.communication, left.communication).second);
      }
    for (unsigned i = 0; i < tensors; ++i) {
      unsigned at = i, length = 0;
      for (auto it = next.find(at); it != next.end(); it = next.find(at = it->second))
        ASSERT_LE(++length, tensors) << "a ring";
    }
  }
}

// What a program can hold is what counts: with chains of whole units, the solution is
// one, its period is that of the chains, and no policy's chains take less.
TEST(Policy, JudgesSchedulesAsTheyAreApplied) {
  for (uint32_t seed = 0; seed < 20; ++seed) {
    Problem problem = randomLayers(seed);
    const std::vector<int64_t> units(problem.communications.size(), 64);
    SolverOptions options = little();
    options.applied = [&](Schedule schedule) {
      schedule.messages = chainMessages(problem, schedule.messages, units);
      return schedule;
    };
    Solution solution = runPolicy(problem, "solver", options);
    ASSERT_EQ(verify(problem, solution.schedule), std::nullopt) << seed;
    // Cuts may move by less than a unit.
    EXPECT_NEAR(evaluate(problem, options.applied(solution.schedule)).period,
                solution.evaluation.period, 0.02 * solution.evaluation.period)
        << seed;
    EXPECT_EQ(evaluate(problem, solution.schedule).period, solution.evaluation.period) << seed;
    Solution fastest = solve(problem, options);
    for (const auto &[name, period] : fastest.baselines) {
      Solution other = runPolicy(problem, name, options);
      EXPECT_LE(fastest.evaluation.period, other.evaluation.period) << seed << " " << name;
      // Those that it is compared with are as published.
      SolverOptions free = options;
      free.applied = {};
      EXPECT_EQ(period, runPolicy(problem, name, free).evaluation.period) << seed << " " << name;
    }
  }
}

TEST(Policy, Names) {
  EXPECT_TRUE(isPolicy("solver"));
  EXPECT_TRUE(isPolicy("latency-hiding"));
  EXPECT_FALSE(isPolicy("none"));
  EXPECT_EQ(listPolicies().rfind("solver, fifo, wfbp", 0), 0u) << listPolicies();
}

TEST(Policy, RunsEach) {
  Problem problem = layers(2, 2, {3, 6, 3}, 2);
  for (const char *name : {"solver", "fifo", "p3", "dear"}) {
    Solution solution = runPolicy(problem, name);
    EXPECT_FALSE(verify(problem, solution.schedule)) << name;
    EXPECT_EQ(solution.evaluation.period, evaluate(problem, solution.schedule).period);
    EXPECT_GE(solution.evaluation.period, solution.bound.period) << name;
    EXPECT_GE(solution.bound.period, solution.anyOrderBound.period) << name;
  }
  // One message for each tensor, first come, first served.
  EXPECT_EQ(runPolicy(problem, "fifo").schedule.messages.size(), 3u);
}

} // namespace
} // namespace commsched::schedule
