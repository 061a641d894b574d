// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Collectives without a plan: random ones beside what they are to come to, each rank in an
// order of its own, and how they end where ranks differ or go.
#include "runtime/posts/posts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "runtime/transport/in_process_transport.h"
#include "tests/cases.h"

namespace commsched::runtime {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

using Values = std::vector<double>;

// What each rank does with its group.
void AsRanks(int size, const std::function<void(Posts *)> &rank_does,
             absl::Duration deadline = absl::Seconds(60)) {
  auto hub = MakeInProcessHub(size);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank)
    threads.emplace_back([&, rank] {
      auto relay = std::make_shared<PeerFailureRelay>();
      TransportOptions options;
      options.rank = rank;
      options.nodes = size;
      options.on_peer_failure = [relay](int peer, const absl::Status &why) { relay->Report(peer, why); };
      auto transport = ConnectInProcess(hub, std::move(options));
      ASSERT_TRUE(transport.ok()) << transport.status();
      Posts posts({rank, size}, *std::move(transport), relay, deadline);
      rank_does(&posts);
    });
  for (std::thread &thread : threads) thread.join();
}

absl::Status Done(Posts *posts, uint64_t number) {
  while (true) {
    auto done = posts->Wait(number, absl::Seconds(1));
    if (!done.ok()) return done.status();
    if (*done) return absl::OkStatus();
  }
}

// A collective as all ranks know it: integers that all types hold.
struct Case {
  Post post;
  std::vector<Values> inputs;                 // by rank
  std::vector<std::vector<uint64_t>> counts;  // of all-to-all: from, to

  static Case Random(int number, int size, std::mt19937 &random) {
    static constexpr ops::Element kElements[] = {ops::Element::kF64, ops::Element::kF32, ops::Element::kF16,
                                                 ops::Element::kBF16, ops::Element::kI64, ops::Element::kI32,
                                                 ops::Element::kI8};
    static constexpr size_t kSizes[] = {0, 1, 2, 7, 64, 1000, 5003, 40001, 300007};
    Case c;
    c.post.key = "key " + std::to_string(number);
    const int kinds[] = {Post::kAllReduce, Post::kReduceScatter, Post::kAllGather, Post::kBroadcast, Post::kAllToAll,
                         Post::kBarrier};
    c.post.kind = Post::Kind(kinds[random() % 6]);
    c.post.element = kElements[random() % 7];
    c.post.combine = ops::Combine(1 + random() % 3);
    c.post.mean = c.post.kind <= Post::kReduceScatter && ops::IsFloat(c.post.element) &&
                  c.post.combine == ops::Combine::kSum && random() % 2 == 0;
    c.post.priority = int(random() % 5) - 2;
    c.post.peer = int(random() % size_t(size));
    c.post.count = kSizes[random() % (size > 4 ? 7 : 9)];
    c.counts.assign(size_t(size), std::vector<uint64_t>(size_t(size)));
    for (auto &row : c.counts)
      for (uint64_t &count : row) count = random() % 3 == 0 ? 0 : random() % 400;
    for (int rank = 0; rank < size; ++rank) {
      uint64_t count = c.post.count;
      if (c.post.kind == Post::kReduceScatter) count *= uint64_t(size);
      if (c.post.kind == Post::kAllToAll) {
        count = 0;
        for (uint64_t n : c.counts[size_t(rank)]) count += n;
      }
      Values values(count);
      for (double &value : values) value = double(random() % 15) - 7;
      c.inputs.push_back(std::move(values));
    }
    return c;
  }

  double Combined(size_t at) const {
    double all = inputs[0][at];
    for (size_t rank = 1; rank < inputs.size(); ++rank) {
      const double x = inputs[rank][at];
      all = post.combine == ops::Combine::kSum ? all + x : post.combine == ops::Combine::kMax ? std::max(all, x)
                                                                                              : std::min(all, x);
    }
    return post.mean ? all / double(inputs.size()) : all;
  }

  Values Expected(int rank) const {
    const size_t size = inputs.size(), own = size_t(rank), count = post.count;
    Values all;
    switch (post.kind) {
      case Post::kAllReduce:
      case Post::kReduceScatter: {
        const size_t first = post.kind == Post::kAllReduce ? 0 : own * count;
        for (size_t i = 0; i < count; ++i) all.push_back(Combined(first + i));
        break;
      }
      case Post::kAllGather:
        for (const Values &values : inputs) all.insert(all.end(), values.begin(), values.end());
        break;
      case Post::kBroadcast:
        return inputs[size_t(post.peer)];
      case Post::kAllToAll:
        for (size_t from = 0; from < size; ++from) {
          size_t begin = 0;
          for (size_t to = 0; to < own; ++to) begin += counts[from][to];
          const auto at = inputs[from].begin() + int64_t(begin);
          all.insert(all.end(), at, at + int64_t(counts[from][own]));
        }
        break;
      default:
        break;
    }
    return all;
  }
};

void Write(ops::Element element, const Values &values, std::byte *to) {
  for (size_t i = 0; i < values.size(); ++i) {
    const double x = values[i];
    const auto put = [&](auto value) { std::memcpy(to + i * sizeof(value), &value, sizeof(value)); };
    switch (element) {
      case ops::Element::kF64:
        put(x);
        break;
      case ops::Element::kF32:
        put(float(x));
        break;
      case ops::Element::kF16:
        put(ops::FloatToHalf(float(x)));
        break;
      case ops::Element::kBF16:
        put(ops::FloatToBFloat16(float(x)));
        break;
      case ops::Element::kI64:
        put(int64_t(x));
        break;
      case ops::Element::kI32:
        put(int32_t(x));
        break;
      default:
        put(int8_t(x));
    }
  }
}

// Memory of one case on one rank.
struct Own {
  std::vector<std::byte> input, output;
  uint64_t number = 0;

  void Begin(const Case &c, Posts *posts, bool in_place) {
    const int rank = posts->place().rank;
    const size_t unit = ops::ElementBytes(c.post.element);
    const Values &values = c.inputs[size_t(rank)];
    input.resize(values.size() * unit + 1);
    Write(c.post.element, values, input.data());
    output.resize(c.Expected(rank).size() * unit + 1, std::byte{0x55});
    Post post = c.post;
    post.input = input.data();
    post.output = output.data();
    if (post.kind == Post::kBroadcast || (post.kind == Post::kAllReduce && in_place)) {
      output = input;
      post.input = nullptr;
      post.output = output.data();
    }
    if (post.kind == Post::kAllToAll) {
      post.send_counts = c.counts[size_t(rank)];
      for (const auto &row : c.counts) post.receive_counts.push_back(row[size_t(rank)]);
    }
    auto begun = posts->Begin(post);
    ASSERT_TRUE(begun.ok()) << begun.status();
    number = *begun;
  }

  void Check(const Case &c, int rank) const {
    const Values expected = c.Expected(rank);
    const size_t unit = ops::ElementBytes(c.post.element);
    // A third of an integer is rounded; in 16 bits once more.
    const bool half = unit == 2 && ops::IsFloat(c.post.element);
    for (size_t i = 0; i < expected.size(); ++i)
      ASSERT_NEAR(ops::ReadElement(c.post.element, output.data() + i * unit), expected[i],
                  c.post.mean ? (half ? 0.05 : 1e-5) : 0)
          << KindName(c.post.kind) << " of " << c.post.count << " " << ops::ElementName(c.post.element) << ", element "
          << i << " on rank " << rank << " of " << c.inputs.size();
    std::vector<std::byte> before(input.size());
    Write(c.post.element, c.inputs[size_t(rank)], before.data());
    before.back() = input.back();
    EXPECT_EQ(before, input) << KindName(c.post.kind) << " has changed its input";
  }
};

TEST(PostsTest, RandomOnesInAnyOrder) {
  const Cases cases = casesOf(40);
  for (uint32_t seed = cases.first; seed < cases.end; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const int size = 1 + int(seed % 8);
    std::vector<Case> all;
    for (int i = 0; i < 12; ++i) all.push_back(Case::Random(i / 2 * 2, size, random));  // two of each key
    AsRanks(size, [&](Posts *posts) {
      std::mt19937 own_random(seed * 100 + uint32_t(posts->place().rank));
      std::vector<Own> own(all.size());
      // Those of one key in order, the keys in any.
      std::vector<size_t> order(all.size() / 2);
      for (size_t i = 0; i < order.size(); ++i) order[i] = i;
      std::shuffle(order.begin(), order.end(), own_random);
      for (size_t i : order)
        for (size_t j : {2 * i, 2 * i + 1}) own[j].Begin(all[j], posts, own_random() % 2 == 0);
      std::shuffle(order.begin(), order.end(), own_random);
      for (size_t i : order)
        for (size_t j : {2 * i + 1, 2 * i}) {
          const absl::Status status = Done(posts, own[j].number);
          ASSERT_TRUE(status.ok()) << status;
          own[j].Check(all[j], posts->place().rank);
        }
    });
  }
}

// Each is given out once, when it is complete; none while another rank has not posted.
TEST(PostsTest, AnyOfSeveral) {
  const Cases cases = casesOf(8);
  for (uint32_t seed = cases.first; seed < cases.end; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const int size = 2 + int(seed % 3);
    std::vector<Case> all;
    for (int i = 0; i < 10; ++i) all.push_back(Case::Random(i, size, random));
    AsRanks(size, [&](Posts *posts) {
      const int rank = posts->place().rank;
      std::mt19937 own_random(seed * 100 + uint32_t(rank));
      std::vector<Own> own(all.size());
      std::vector<float> held(10, float(rank));
      const auto begin_held = [&] {
        Post post;
        post.key = "held";
        post.output = reinterpret_cast<std::byte *>(held.data());
        post.count = held.size();
        auto begun = posts->Begin(post);
        ASSERT_TRUE(begun.ok()) << begun.status();
        own.emplace_back().number = *begun;
      };
      std::vector<size_t> order(all.size());
      for (size_t i = 0; i < order.size(); ++i) order[i] = i;
      std::shuffle(order.begin(), order.end(), own_random);
      if (rank != 0) begin_held();
      for (size_t i : order) own[i].Begin(all[i], posts, own_random() % 2 == 0);
      while (!order.empty()) {
        std::shuffle(order.begin(), order.end(), own_random);
        std::vector<uint64_t> numbers;
        for (size_t i : order) numbers.push_back(own[i].number);
        auto done = posts->WaitAny(numbers, absl::Seconds(60));
        ASSERT_TRUE(done.ok() && done->has_value()) << done.status();
        const size_t i = order[**done];
        own[i].Check(all[i], rank);
        EXPECT_FALSE(posts->WaitAny({own[i].number}, absl::ZeroDuration()).ok());  // it is forgotten
        order.erase(order.begin() + int64_t(**done));
      }
      if (rank == 0) {
        begin_held();
      } else {
        auto none = posts->WaitAny({own.back().number}, absl::ZeroDuration());
        ASSERT_TRUE(none.ok()) << none.status();
        if (none->has_value()) return;  // rank 0 was faster
      }
      ASSERT_TRUE(Done(posts, own.back().number).ok());
      EXPECT_EQ(held[9], float(size * (size - 1) / 2));
    });
  }
}

Post Sum(const std::string &key, std::vector<float> *values) {
  Post post;
  post.key = key;
  post.output = reinterpret_cast<std::byte *>(values->data());
  post.count = values->size();
  return post;
}

TEST(PostsTest, SumsHaveTheSameBitsOnAllRanks) {
  for (int size : {3, 4, 5, 8}) {
    std::vector<std::vector<float>> results(static_cast<size_t>(size));
    for (size_t count : {9u, 20000u}) {
      AsRanks(size, [&](Posts *posts) {
        std::mt19937 random(uint32_t(posts->place().rank));
        std::vector<float> values(count);
        for (float &value : values) value = std::normal_distribution<float>()(random);
        auto number = posts->Begin(Sum("w", &values));
        ASSERT_TRUE(number.ok() && Done(posts, *number).ok());
        results[size_t(posts->place().rank)] = values;
      });
      for (const auto &result : results) EXPECT_EQ(result, results[0]);
    }
  }
}

TEST(PostsTest, MessagesOfTwoRanks) {
  AsRanks(3, [](Posts *posts) {
    const int rank = posts->place().rank;
    std::vector<float> values(1000, float(rank));
    Post post = Sum("p", &values);
    post.key = rank == 0 ? "unused" : "1 to 2";
    if (rank == 0) return;
    post.kind = rank == 1 ? Post::kSend : Post::kReceive;
    post.peer = 3 - rank;
    post.input = post.output;
    auto number = posts->Begin(post);
    ASSERT_TRUE(number.ok() && Done(posts, *number).ok());
    EXPECT_EQ(values[999], 1.0f);
  });
}

// What ranks differ in is an error of all that wait, which names key and peer.
TEST(PostsTest, WhatDiffersIsAnErrorOfAll) {
  const auto differs = [](int size, const std::function<void(Post *)> &change, const std::string &says) {
    // After an error memory stays until the ranks are gone.
    std::vector<std::vector<float>> all_values(size_t(size), std::vector<float>(1000));
    std::vector<std::vector<float>> all_parts(size_t(size), std::vector<float>(1000 * size_t(size)));
    AsRanks(size, [&](Posts *posts) {
      std::vector<float> &values = all_values[size_t(posts->place().rank)];
      std::vector<float> &parts = all_parts[size_t(posts->place().rank)];
      Post post = Sum("layer.weight", &values);
      post.input = nullptr;
      if (posts->place().rank == 1) change(&post);
      if (post.kind == Post::kAllGather) {
        post.input = post.output;
        post.output = reinterpret_cast<std::byte *>(parts.data());
      }
      auto number = posts->Begin(post);
      const absl::Status status = number.ok() ? Done(posts, *number) : number.status();
      EXPECT_THAT(std::string(status.message()),
                  AllOf(HasSubstr("\"layer.weight\""), HasSubstr("peer "), HasSubstr(says)));
    });
  };
  differs(2, [](Post *post) { post->count = 900; }, "all_reduce (sum) of 900 f32");
  differs(3, [](Post *post) { post->count = 900; }, "all_reduce (sum) of 900 f32");
  differs(2, [](Post *post) { post->element = ops::Element::kI32; }, "all_reduce (sum) of 1000 i32");
  differs(2, [](Post *post) { post->mean = true; }, "all_reduce (mean) of 1000 f32");
  differs(4, [](Post *post) { post->kind = Post::kBroadcast; }, "broadcast of 1000 f32 from rank 0");
  differs(2, [](Post *post) { post->kind = Post::kAllGather; }, "all_gather of 1000 f32");
}

TEST(PostsTest, APeerThatDoesNotPost) {
  std::vector<std::vector<float>> all_values(2, std::vector<float>(10));
  AsRanks(
      2,
      [&](Posts *posts) {
        std::vector<float> &values = all_values[size_t(posts->place().rank)];
        auto number = posts->Begin(Sum(posts->place().rank == 0 ? "a" : "b", &values));
        const absl::Status status = number.ok() ? Done(posts, *number) : number.status();
        EXPECT_THAT(std::string(status.message()), HasSubstr("peer "));
        EXPECT_THAT(std::string(status.message()), HasSubstr("no progress within 1s"));
        // And so ends what comes after it.
        EXPECT_FALSE(posts->Begin(Sum("c", &values)).ok());
      },
      absl::Seconds(1));
}

TEST(PostsTest, APeerThatGoes) {
  std::vector<float> values(10);
  AsRanks(2, [&](Posts *posts) {
    if (posts->place().rank == 1) return;
    auto number = posts->Begin(Sum("w", &values));
    const absl::Status status = number.ok() ? Done(posts, *number) : number.status();
    EXPECT_THAT(std::string(status.message()), AllOf(HasSubstr("all_reduce \"w\""), HasSubstr("peer 1")));
  });
}

TEST(PostsTest, WhatMakesNoSenseSpoilsNothing) {
  Posts posts({0, 1}, nullptr, nullptr, absl::Seconds(1));
  std::vector<float> values(10, 2.0f);
  const auto refused = [&](const std::function<void(Post *)> &change) {
    Post post = Sum("w", &values);
    change(&post);
    return std::string(posts.Begin(post).status().message());
  };
  EXPECT_THAT(refused([](Post *p) { p->key = ""; }), HasSubstr("key must not be empty"));
  EXPECT_THAT(refused([](Post *p) { p->output = nullptr; }), HasSubstr("memory"));
  EXPECT_THAT(refused([](Post *p) { p->count = uint64_t{1} << 60; }), HasSubstr("too many elements"));
  EXPECT_THAT(refused([](Post *p) { p->kind = Post::kBroadcast, p->peer = 1; }), HasSubstr("below size 1"));
  EXPECT_THAT(refused([](Post *p) { p->kind = Post::kReceive; }), HasSubstr("another one"));
  EXPECT_THAT(refused([](Post *p) { p->mean = true, p->element = ops::Element::kI32; }), HasSubstr("floating-point"));
  EXPECT_FALSE(posts.Wait(77, absl::ZeroDuration()).ok());
  EXPECT_THAT(std::string(posts.WaitAny({}, absl::ZeroDuration()).status().message()), HasSubstr("one or more, got: none"));
  auto number = posts.Begin(Sum("w", &values));
  ASSERT_TRUE(number.ok() && Done(&posts, *number).ok());
  EXPECT_EQ(values[9], 2.0f);
}

}  // namespace
}  // namespace commsched::runtime
