// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parameter servers whose trainers push lists of elements.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <random>

#include "tests/runtime/single_server.h"

namespace commsched::server_lists {
namespace {

using namespace testing::single_server;
using ::testing::HasSubstr;
using testing::kBias;
using testing::LoadError;
using testing::PlanBuilder;
using testing::ServerPlanOptions;

using Single = testing::single_server::Server;
constexpr int kEntries = 3;

// A list, and what it is of all of the gradient.
struct List {
  std::vector<int> indices;
  Floats values;
  Floats Message() const {
    Floats message = values;
    for (int index : indices) {
      float bits = 0;
      std::memcpy(&bits, &index, sizeof bits);
      message.push_back(bits);
    }
    return message;
  }
};

// Of ascending elements, some of the places padding; values whose sums are rounded.
List RandomList(std::mt19937_64 *random) {
  List list;
  for (int i = 0; i < kBias && int(list.indices.size()) < kEntries; ++i)
    if ((*random)() % 2 == 0) list.indices.push_back(i);
  list.indices.resize(kEntries, -1);
  for (int index : list.indices)
    list.values.push_back(index < 0 ? 0.0f : 1.0f / float(1 + (*random)() % 997));
  return list;
}

void UpdateB(const std::vector<List> &lists, Floats *b) {
  Floats sum(kBias, 0.0f);
  for (const List &list : lists)
    for (size_t i = 0; i < list.indices.size(); ++i)
      if (list.indices[i] >= 0) sum[size_t(list.indices[i])] += list.values[i];
  for (size_t i = 0; i < sum.size(); ++i) {
    if (lists.size() > 1) sum[i] *= float(1.0 / double(lists.size()));
    (*b)[i] = (*b)[i] - sum[i] * 0.25f;
  }
}

TEST(ServerListsTest, AreAddedInTheOrderOfRanksWhateverTheOrderOfArrival) {
  constexpr int kTrainers = 3;
  std::mt19937_64 random(5);
  Single server({.trainers = kTrainers, .lists = kEntries});
  server.Start();
  Floats b(kBias, 2.0f);
  for (int step = 0; step < 20; ++step) {
    std::vector<List> lists;
    std::vector<int> order;
    for (int t = 0; t < kTrainers; ++t) {
      lists.push_back(RandomList(&random));
      order.insert(order.begin() + long(random() % (order.size() + 1)), t);
    }
    for (int t : order) {
      ASSERT_TRUE(server.Push(t, kW, step).ok());
      ASSERT_TRUE(server.Push(t, kB, step, lists[size_t(t)].Message()).ok());
    }
    UpdateB(lists, &b);
    EXPECT_EQ(*server.Pull(0, kB, step + 1), b);
  }
}

// Saved with a list in the sum, and one of the next step that waits.
TEST(ServerListsTest, RestoredServerGoesOnBitwiseTheSame) {
  testing::TemporaryFolder folder;
  const std::string path = folder / "server";
  std::mt19937_64 random(6);
  std::vector<std::vector<List>> lists;
  Floats b(kBias, 2.0f);
  for (int step = 0; step < 3; ++step) {
    lists.push_back({RandomList(&random), RandomList(&random)});
    UpdateB(lists.back(), &b);
  }
  const auto push = [&](Single &server, int t, int step) {
    return server.Push(t, kB, step, lists[size_t(step)][size_t(t)].Message());
  };
  {
    Single server({.lists = kEntries});
    server.Start();
    server.Push(0, kW, 0).IgnoreError(), server.Push(1, kW, 0).IgnoreError();
    ASSERT_TRUE(push(server, 0, 0).ok() && push(server, 1, 0).ok());
    ASSERT_TRUE(push(server, 0, 1).ok() && push(server, 0, 2).ok());
    ASSERT_TRUE(server->Save(path).ok());
  }
  Single server({.lists = kEntries});
  const absl::Status restored = server->Restore(path);
  ASSERT_TRUE(restored.ok()) << restored;
  EXPECT_THAT(server->taken(0).next, ::testing::ElementsAre(1, 3));
  server.Join();
  for (int step : {1, 2}) {
    for (int t : {0, 1}) ASSERT_TRUE(server.Push(t, kW, step).ok());
    ASSERT_TRUE(push(server, 1, step).ok());
  }
  EXPECT_EQ(*server.Pull(1, kB, 3), b);
}

TEST(ServerListsTest, WrongMessagesAreRefused) {
  Single server({.trainers = 1, .lists = kEntries});
  server.Start();
  EXPECT_THAT(server.Push(0, kB, 0, Floats(kBias, 1.0f)).ToString(),
              HasSubstr("block \"b\": push of trainer 0 in step 0: must have 24 bytes, got: 28"));
  server.Push(0, kB, 0, List{{0, 3, kBias}, {1, 1, 1}}.Message()).IgnoreError();
  EXPECT_THAT(server.Pull(0, kB, 1).status().ToString(),
              HasSubstr("server 1: block \"b\": "));
  EXPECT_EQ(server.failures(), 1);
}

std::string ErrorAfter(std::function<void(plan::Plan &)> change) {
  PlanBuilder plan = testing::ServerPlan({.lists = kEntries});
  change(plan.proto());
  return LoadError(plan.Bytes());
}

TEST(ServerListsTest, WrongPlansAreRefused) {
  EXPECT_EQ(ErrorAfter([](plan::Plan &) {}), "");
  const auto lists = [](plan::Plan &p) {
    return p.mutable_parameter_servers()->mutable_servers(1)->mutable_blocks(1)->mutable_lists();
  };
  EXPECT_THAT(ErrorAfter([](plan::Plan &p) {
                p.set_required_features(uint64_t{1} << plan::FEATURE_PARAMETER_SERVER);
              }),
              HasSubstr("server 1: block 1 \"b\": has lists, which the plan's required features "
                        "do not say"));
  EXPECT_THAT(ErrorAfter([](plan::Plan &p) {
                p.mutable_parameter_servers()->set_mode(plan::ParameterServers::ASYNC);
              }),
              HasSubstr("lists need the synchronous mode"));
  EXPECT_THAT(ErrorAfter([&](plan::Plan &p) { lists(p)->set_entries(0); }),
              HasSubstr("lists must have 1 to 7 entries, got: 0"));
  EXPECT_THAT(ErrorAfter([&](plan::Plan &p) { lists(p)->set_entries(8); }),
              HasSubstr("lists must have 1 to 7 entries, got: 8"));
  EXPECT_THAT(ErrorAfter([&](plan::Plan &p) { lists(p)->set_values(plan::I32); }),
              HasSubstr("values of lists of f32[7] must be as wide as its elements, or narrower, "
                        "got: i32[]"));
  EXPECT_THAT(ErrorAfter([&](plan::Plan &p) { lists(p)->set_values(plan::I8); }),
              HasSubstr("must match i32[1,5] of the server, got: i32[1,6]"));
  EXPECT_THAT(ErrorAfter([&](plan::Plan &p) {
                p.mutable_parameter_servers()->mutable_servers(1)->mutable_blocks(1)->clear_lists();
              }),
              HasSubstr("must match f32[7] of the server, got: i32[1,6]"));
}

}  // namespace
}  // namespace commsched::server_lists
