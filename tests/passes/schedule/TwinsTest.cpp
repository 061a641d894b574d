// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/schedule/solver/Twins.h"

#include "passes/schedule/solver/Search.h"
#include "passes/schedule/solver/Solve.h"
#include "tests/cases.h"
#include "tests/passes/schedule/Layers.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <map>
#include <random>

namespace commsched::schedule {
namespace {

/// Every tensor in blocks on all of some servers, or on one of them.
struct Blocks {
  Problem problem;
  Schedule schedule;
  std::vector<int> tags; ///< by message: the same for twins
};

Blocks drawBlocks(std::mt19937 &random) {
  Blocks d;
  const unsigned servers = 2 + random() % 5, ops = 1 + random() % 3;
  d.problem = layers(10, 10, std::vector<int64_t>(ops, 100));
  d.problem.communications.clear();
  std::vector<std::pair<Message, int>> messages;
  int tag = 0;
  auto add = [&](unsigned server, unsigned op, int64_t bytes) {
    Communication communication;
    communication.bytes = bytes;
    communication.producers = {ops + op};
    communication.consumers = {{op, 1}};
    communication.stages = {{0, bytes, 0, 0}};
    communication.kind = server;
    d.problem.communications.push_back(communication);
    return static_cast<unsigned>(d.problem.communications.size() - 1);
  };
  for (unsigned op = 0; op < ops; ++op) {
    // Larger first, so that they are told apart by size; blocks of one tensor by a little.
    int64_t bytes = 1'000'000 << random() % 3;
    for (unsigned tensor = 1 + random() % 3; tensor-- > 0; bytes /= 4) {
      const bool everywhere = random() % 3 != 0 || tensor > 0;
      const unsigned parts = 1 + random() % 4;
      const unsigned only = random() % servers;
      for (unsigned server = 0; server < servers; ++server) {
        if (!everywhere && server != only)
          continue;
        const int64_t own = bytes - random() % (bytes / 100);
        const unsigned index = add(server, op, own);
        for (unsigned part = 0; part < parts; ++part)
          messages.push_back({{{{index, own * part / parts, own * (part + 1) / parts}}, {0}}, tag + static_cast<int>(part)});
      }
      tag += static_cast<int>(parts);
    }
  }
  std::shuffle(messages.begin(), messages.end(), random);
  d.schedule.order = programOrder(d.problem);
  d.schedule.credit = {kNoLimit};
  for (auto &[message, own] : messages) {
    d.schedule.messages.push_back(message);
    d.tags.push_back(own);
  }
  return d;
}

TEST(TwinsTest, AreTheSamePartsOnOtherServers) {
  for (Cases cases = casesOf(300); cases.first < cases.end; ++cases.first) {
    SCOPED_TRACE(cases.first);
    std::mt19937 random(cases.first);
    const Blocks d = drawBlocks(random);
    const Twins twins(d.problem);
    for (size_t m = 0; m < d.tags.size(); ++m) {
      std::vector<size_t> expected;
      for (size_t other = 0; other < d.tags.size(); ++other)
        if (d.tags[other] == d.tags[m])
          expected.push_back(other);
      EXPECT_EQ(twins.of(d.schedule, m), twins.any() ? expected : std::vector<size_t>{m});
      for (size_t other = 0; twins.any() && other < d.tags.size(); ++other)
        EXPECT_EQ(twins.nameOf(d.schedule, m) == twins.nameOf(d.schedule, other), d.tags[m] == d.tags[other]);
    }
  }
}

TEST(TwinsTest, OneKindHasNone) {
  Problem problem = layers(10, 10, {100, 100, 200});
  EXPECT_FALSE(Twins(problem).any());
  EXPECT_EQ(Twins(problem).of(sliced(problem, 50, false), 3), std::vector<size_t>{3});
}

struct Steps {
  Problem one, several; ///< servers
};

/// With several all of them have the same to do.
Steps drawSteps(uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<int64_t> bytes(3 + random() % 6);
  for (int64_t &own : bytes)
    own = 1000 + random() % 100'000;
  Steps steps;
  steps.one = layers(5'000 + random() % 20'000, 5'000 + random() % 30'000, bytes, 2);
  for (Communication &communication : steps.one.communications)
    for (Stage &stage : communication.stages)
      stage.overhead = 1 + seed % 5 * 500;
  steps.several = steps.one;
  steps.several.links.clear();
  steps.several.communications.clear();
  const unsigned servers = 2 + random() % 7;
  for (unsigned server = 0; server < servers; ++server) {
    steps.several.links.insert(steps.several.links.end(), steps.one.links.begin(), steps.one.links.end());
    for (Communication communication : steps.one.communications) {
      communication.kind = server;
      for (Stage &stage : communication.stages)
        stage.link += 2 * server;
      steps.several.communications.push_back(communication);
    }
  }
  return steps;
}

/// What makes a step shorter is found on all servers at once: one after the other, none of the changes would. They are tried in
/// another order, so that single steps differ.
TEST(TwinsTest, SeveralServersAreSearchedAsOne) {
  Cases cases = casesOf(60);
  cases.end = std::max(cases.end, cases.first + 30); // for a mean
  double shorter[2] = {};
  for (uint32_t seed = cases.first; seed < cases.end; ++seed) {
    const Steps steps = drawSteps(seed);
    for (const Problem *problem : {&steps.one, &steps.several}) {
      Search search(*problem, 0, 1'000'000'000);
      const double first = search.offerAsIs(sliced(*problem, 1'000'000, false));
      searchLocally(search, View(*problem, programOrder(*problem)));
      shorter[problem == &steps.several] += 1 - search.bestPeriod / first;
    }
  }
  EXPECT_GT(shorter[0], 0);
  EXPECT_NEAR(shorter[1] / shorter[0], 1, 0.1);
}

TEST(TwinsTest, SeveralServersAreScheduledAsWellAsOne) {
  double sum = 0;
  Cases cases = casesOf(20);
  cases.end = std::max(cases.end, cases.first + 10); // for a mean
  for (uint32_t seed = cases.first; seed < cases.end; ++seed) {
    SCOPED_TRACE(seed);
    const Steps steps = drawSteps(seed);
    constexpr int64_t kEffort = 100;
    const auto servers = static_cast<int64_t>(steps.several.links.size() / 2);
    const double ratio = solve(steps.several, {.effort = kEffort * servers, .reorder = false}).evaluation.period /
                         solve(steps.one, {.effort = kEffort, .reorder = false}).evaluation.period;
    EXPECT_LE(ratio, 1.03);
    sum += ratio;
  }
  EXPECT_LE(sum / cases.count(), 1.005);
}

} // namespace
} // namespace commsched::schedule
