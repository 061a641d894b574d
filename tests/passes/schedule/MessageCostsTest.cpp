// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What messages cost at least, against every way to make them.

#include "passes/schedule/solver/MessageCosts.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <numeric>
#include <random>

namespace commsched::schedule {
namespace {

/// Tries all ways to put the units into messages.
class Messages {
public:
  Messages(const std::vector<Release> &releases, Time overhead) : overhead(overhead) {
    for (unsigned i = 0; i < releases.size(); ++i) {
      if (releases[i].whole)
        parts.push_back({releases[i].ready, releases[i].work});
      else
        parts.insert(parts.end(), static_cast<size_t>(releases[i].work),
                     {releases[i].ready, 1});
    }
    assign(0);
  }

  Time one = INT64_MAX, two = INT64_MAX;

private:
  struct Part {
    Time ready, work;
  };

  void assign(size_t index) {
    if (index == parts.size())
      return judge();
    for (size_t i = 0; i <= messages.size(); ++i) {
      if (i == messages.size())
        messages.push_back({0, 0});
      Part saved = messages[i];
      messages[i] = {std::max(saved.ready, parts[index].ready),
                     saved.work + parts[index].work};
      assign(index + 1);
      messages[i] = saved;
      if (saved.work == 0) {
        messages.pop_back();
        break;
      }
    }
  }

  // In every order on the first link, and on the second.
  void judge() {
    std::vector<size_t> order(messages.size());
    std::iota(order.begin(), order.end(), size_t{0});
    do {
      Time now = 0;
      std::vector<Time> arrived(messages.size());
      for (size_t i : order) {
        now = std::max(now, messages[i].ready) + overhead + messages[i].work;
        arrived[i] = now;
      }
      one = std::min(one, now);
      // Of many messages only in the same order, which is no worse.
      std::vector<size_t> second = order;
      if (messages.size() < 5)
        std::sort(second.begin(), second.end());
      do {
        now = 0;
        for (size_t i : second)
          now = std::max(now, arrived[i]) + overhead + messages[i].work;
        two = std::min(two, now);
      } while (messages.size() < 5 && std::next_permutation(second.begin(), second.end()));
    } while (std::next_permutation(order.begin(), order.end()));
  }

  Time overhead;
  std::vector<Part> parts, messages;
};

std::vector<Release> randomReleases(std::mt19937 &generator, bool whole) {
  std::vector<Release> releases;
  Time ready = 0;
  Time left = 6;
  while (left > 0) {
    ready += generator() % 5;
    Time work = 1 + generator() % 3;
    work = std::min(work, left);
    left -= work;
    releases.push_back({ready, work, whole && generator() % 3 == 0 ? work : 0});
  }
  return releases;
}

TEST(MessageCostsTest, OneLinkIsExact) {
  std::mt19937 generator(1);
  for (unsigned i = 0; i < 300; ++i) {
    std::vector<Release> releases = randomReleases(generator, false);
    Time overhead = generator() % 5;
    Messages all(releases, overhead);
    ASSERT_EQ(leastEnd(releases, overhead), all.one) << i;
  }
}

// Whole tensors: no division is better, so the least end is the same.
TEST(MessageCostsTest, OneLinkGainsNothingByDividing) {
  std::mt19937 generator(2);
  for (unsigned i = 0; i < 300; ++i) {
    std::vector<Release> releases = randomReleases(generator, true);
    Time overhead = generator() % 5;
    Messages all(releases, overhead);
    ASSERT_EQ(leastEnd(releases, overhead), all.one) << i;
  }
}

TEST(MessageCostsTest, TwoLinksAreNeverFaster) {
  std::mt19937 generator(3);
  unsigned exact = 0, compared = 300;
  for (unsigned i = 0; i < compared; ++i) {
    std::vector<Release> releases = randomReleases(generator, i % 2);
    Time overhead = 1 + generator() % 4;
    Messages all(releases, overhead);
    Time bound = leastEndOfTwo(releases, overhead);
    ASSERT_LE(bound, all.two) << i;
    exact += bound == all.two;
  }
  EXPECT_GT(exact, compared / 4);
}

TEST(MessageCostsTest, TwoLinksWithWorkOfOneTensor) {
  // Six units, each message costs 1: three messages of two, 4 + 6 + 2.
  EXPECT_EQ(leastEndOfTwo({{0, 6, 0}}, 1), 12);
  // In one piece: 2 (1 + 6).
  EXPECT_EQ(leastEndOfTwo({{0, 6, 6}}, 1), 14);
  EXPECT_EQ(leastEndOfTwo({{5, 6, 0}}, 0), 11);
  EXPECT_EQ(leastEndOfTwo({}, 3), 0);
}

} // namespace
} // namespace commsched::schedule
