// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/session/rank_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "runtime/session/checkpoint.h"
#include "tests/cases.h"
#include "tests/runtime/test_util.h"

namespace commsched {
namespace {

using runtime::RankStatePath;
using ::testing::AllOf;
using testing::BytesOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::MutableBytesOf;
using testing::PlanBuilder;
using testing::TemporaryFolder;

// Every step, a rank's own e becomes its part of the batch; w is there for all.
PlanBuilder OwnState(int nodes) {
  PlanBuilder plan(nodes);
  plan.Slot("w", plan::F32, {2});
  uint32_t e = plan.Slot("e", plan::F32, {2}, false);
  plan.proto().mutable_slots(int(e))->set_per_rank(true);
  plan.proto().set_required_features(plan.proto().required_features() |
                                     uint64_t{1} << plan::FEATURE_SPARSE);
  auto f = plan.Function("step");
  uint32_t x = f.Batch("x", plan::F32, {1, 2});
  uint32_t next = f.Slot(true, e, plan::F32, {2});
  f.Copy(x, next, {{0, 1}});
  f.proto()->set_global_batch(uint64_t(nodes));
  return plan;
}

void Step(runtime::Session *session, float first) {
  auto x = std::make_shared<std::vector<float>>();
  for (int i = 0; i < 2 * session->image().nodes(); ++i) x->push_back(first + float(i));
  runtime::GlobalBatch batch;
  batch.Set("x", BytesOf(*x), x);
  auto call = session->Call(0, &batch);
  ASSERT_TRUE(call.ok()) << call.status();
}

std::vector<float> Own(runtime::Session *session, size_t rank) {
  std::vector<float> value(2);
  EXPECT_TRUE(session->executor(rank).GetSlot(1, MutableBytesOf(value)).ok());
  return value;
}

TEST(RankStateTest, EveryRankGetsItsOwn) {
  TemporaryFolder folder;
  std::string path = folder / "c";
  {
    auto session = testing::Open(OwnState(3));
    EXPECT_TRUE(runtime::HasRankState(*session));
    Step(session.get(), 10);
    ASSERT_TRUE(SaveCheckpoint(session.get(), path, 1).ok());
  }
  auto session = testing::Open(OwnState(3));
  EXPECT_THAT(Own(session.get(), 2), ElementsAre(0, 0));  // to begin with
  auto step = LoadCheckpoint(session.get(), path);
  ASSERT_TRUE(step.ok()) << step.status();
  EXPECT_EQ(*step, 1u);
  EXPECT_THAT(Own(session.get(), 0), ElementsAre(10, 11));
  EXPECT_THAT(Own(session.get(), 1), ElementsAre(12, 13));
  EXPECT_THAT(Own(session.get(), 2), ElementsAre(14, 15));
  // The checkpoint itself has what all share.
  auto file = runtime::ReadSafetensors(path);
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(file->tensors.size(), 1u);
  EXPECT_EQ(file->metadata["ranks"], "3");
}

TEST(RankStateTest, OtherNumbersOfRanksGetTheMean) {
  TemporaryFolder folder;
  std::string path = folder / "c";
  {
    auto session = testing::Open(OwnState(4));
    Step(session.get(), 1);
    ASSERT_TRUE(SaveCheckpoint(session.get(), path, 1).ok());
  }
  auto session = testing::Open(OwnState(2));
  ASSERT_TRUE(LoadCheckpoint(session.get(), path).ok());
  EXPECT_THAT(Own(session.get(), 0), ElementsAre(4, 5));
  EXPECT_THAT(Own(session.get(), 1), ElementsAre(4, 5));
}

// w is sparse, then dense beside another one that is sparse, then sparse again.
TEST(RankStateTest, WhatIsNotSentYetStaysForWhenItCanBe) {
  TemporaryFolder folder;
  const auto plan = [](int nodes, const char *residual, const char *velocity) {
    PlanBuilder plan = OwnState(nodes);
    plan.proto().mutable_slots(1)->set_name(residual);
    plan.proto().mutable_slots(int(plan.Slot(velocity, plan::F32, {2}, false)))->set_per_rank(true);
    return plan;
  };
  const auto as_rank_state = [&](runtime::Session *session, const char *file) {
    return SaveRankState(session, folder / file, 1);
  };
  {
    auto session = testing::Open(plan(4, "w.residual", "w.velocity"));
    Step(session.get(), 1);
    ASSERT_TRUE(as_rank_state(session.get(), "a").ok());
  }
  for (int nodes : {4, 2}) {
    {
      auto session = testing::Open(plan(nodes, "b.residual", "b.velocity"));
      ASSERT_TRUE(LoadRankState(session.get(), folder / "a", 1, 4, /*complete=*/false).ok());
      EXPECT_THAT(Own(session.get(), 1), ElementsAre(0, 0));
      Step(session.get(), 20);
      ASSERT_TRUE(as_rank_state(session.get(), "b").ok());
    }
    auto file = runtime::ReadSafetensors(RankStatePath(folder / "b", 1, 1));
    ASSERT_TRUE(file.ok()) << file.status();
    EXPECT_EQ(file->tensors.size(), 3u);  // a velocity is no debt
    auto session = testing::Open(plan(nodes, "w.residual", "w.velocity"));
    ASSERT_TRUE(LoadRankState(session.get(), folder / "b", 1, nodes, /*complete=*/false).ok());
    if (nodes == 4)
      EXPECT_THAT(Own(session.get(), 1), ElementsAre(3, 4));
    else
      EXPECT_THAT(Own(session.get(), 1), ElementsAre(4, 5));  // the mean of all four
    // What the other file had does not stay.
    ASSERT_TRUE(LoadRankState(session.get(), folder / "a", 1, 4, /*complete=*/false).ok());
    ASSERT_TRUE(as_rank_state(session.get(), "c").ok());
    file = runtime::ReadSafetensors(RankStatePath(folder / "c", 1, 1));
    ASSERT_TRUE(file.ok()) << file.status();
    EXPECT_EQ(file->tensors.size(), 2u);
  }
}

TEST(RankStateTest, RanksMustHaveTheSameThatIsNotSentYet) {
  TemporaryFolder folder;
  for (int64_t elements : {2, 3}) {
    PlanBuilder plan = OwnState(4);
    plan.proto().mutable_slots(int(plan.Slot("w.residual", plan::F32, {elements}, false)))->set_per_rank(true);
    auto session = testing::Open(plan);
    ASSERT_TRUE(SaveRankState(session.get(), folder / std::to_string(elements), 1).ok());
  }
  std::filesystem::copy_file(RankStatePath(folder / "3", 1, 1), RankStatePath(folder / "2", 1, 1),
                             std::filesystem::copy_options::overwrite_existing);
  auto session = testing::Open(OwnState(2));
  EXPECT_THAT(std::string(LoadRankState(session.get(), folder / "2", 1, 4, /*complete=*/false).message()),
              AllOf(HasSubstr("rank1"), HasSubstr("w.residual")));
}

// Of a shape that depends on the number of ranks, too.
TEST(RankStateTest, OtherNumbersOfRanksBeginWithZeroIntegers) {
  TemporaryFolder folder;
  std::string path = folder / "c";
  const auto own = [](int nodes) {
    PlanBuilder plan = OwnState(nodes);
    uint32_t i = plan.Slot("i", plan::I32, {nodes - 1}, false);
    plan.proto().mutable_slots(int(i))->set_per_rank(true);
    return plan;
  };
  std::vector<int32_t> four = {1, 2, 3}, two = {5};
  {
    auto session = testing::Open(own(4));
    Step(session.get(), 1);
    for (size_t r = 0; r < 4; ++r)
      ASSERT_TRUE(session->executor(r).SetSlot(2, MutableBytesOf(four)).ok());
    ASSERT_TRUE(SaveCheckpoint(session.get(), path, 1).ok());
  }
  {
    auto session = testing::Open(own(4));
    ASSERT_TRUE(LoadCheckpoint(session.get(), path).ok());
    four = {0, 0, 0};
    ASSERT_TRUE(session->executor(3).GetSlot(2, MutableBytesOf(four)).ok());
    EXPECT_THAT(four, ElementsAre(1, 2, 3));
  }
  auto session = testing::Open(own(2));
  ASSERT_TRUE(session->executor(1).SetSlot(2, MutableBytesOf(two)).ok());
  absl::StatusOr<uint64_t> step = LoadCheckpoint(session.get(), path);
  ASSERT_TRUE(step.ok()) << step.status();
  EXPECT_THAT(Own(session.get(), 1), ElementsAre(4, 5));
  ASSERT_TRUE(session->executor(1).GetSlot(2, MutableBytesOf(two)).ok());
  EXPECT_THAT(two, ElementsAre(0));
}

// State of a node of a gradient of so many rows, in pieces as a method has it.
struct Pieces {
  int nodes = 2, rows = 6;
  std::string kind;  // "", "device", "shard", "mean"
  int devices = 1;

  std::vector<std::pair<std::string, int>> All() const {  // with their rows
    std::vector<std::pair<std::string, int>> all;
    for (int d = 0; d < (kind == "device" || kind == "shard" ? devices : 1); ++d) {
      std::string suffix = kind == "shard" ? ".shard" + std::to_string(d) : kind == "mean" ? ".mean"
                                                                                           : "";
      if (kind == "device" && d > 0) suffix = ".device" + std::to_string(d);
      all.push_back({"w.velocity" + suffix, kind == "shard" ? rows * (d + 1) / devices - rows * d / devices : rows});
    }
    return all;
  }

  std::unique_ptr<runtime::Session> Open() const {
    PlanBuilder plan(nodes);
    plan.Slot("w", plan::F32, {rows, 2});
    for (const auto &[name, own] : All())
      plan.proto().mutable_slots(int(plan.Slot(name, plan::F32, {own, 2}, false)))->set_per_rank(true);
    plan.proto().set_required_features(plan.proto().required_features() | uint64_t{1} << plan::FEATURE_SPARSE);
    plan.Function("step").Slot(false, 0, plan::F32, {rows, 2});
    return testing::Open(plan);
  }

  // Of each rank, as the node's.
  std::vector<std::vector<float>> NodesOf(runtime::Session *session) const {
    std::vector<std::vector<float>> of_all;
    for (size_t r = 0; r < size_t(nodes); ++r) {
      std::vector<float> node(kind == "shard" ? 0 : size_t(2 * rows));
      uint32_t slot = 1;
      for (const auto &[name, own] : All()) {
        std::vector<float> piece(size_t(2 * own));
        EXPECT_TRUE(session->executor(r).GetSlot(slot++, MutableBytesOf(piece)).ok());
        if (kind == "shard")
          node.insert(node.end(), piece.begin(), piece.end());
        else
          for (size_t e = 0; e < piece.size(); ++e) node[e] += piece[e] / float(All().size());
      }
      of_all.push_back(node);
    }
    return of_all;
  }
};

// Whatever pieces a job goes on with, each node has what it had, or, where all must have the same or there are others, the mean.
TEST(RankStateTest, PiecesArePutTogetherAnew) {
  const char *kinds[] = {"", "device", "shard", "mean"};
  const Cases cases = casesOf(40);
  for (uint32_t seed = cases.first; seed < cases.end; ++seed) {
    std::mt19937 random(seed);
    const auto drawn = [&](int rows) {
      Pieces pieces;
      pieces.rows = rows;
      pieces.nodes = random() % 2 ? 2 : 4;
      pieces.devices = random() % 2 ? 2 : 4;
      pieces.kind = kinds[random() % 4];
      return pieces;
    };
    const int rows = 4 + int(random() % 5);
    const Pieces before = drawn(rows), after = drawn(rows);
    SCOPED_TRACE(std::to_string(seed) + ": from '" + before.kind + "' to '" + after.kind + "'");
    TemporaryFolder folder;
    std::vector<std::vector<float>> saved, got;
    {
      auto session = before.Open();
      for (size_t r = 0; r < size_t(before.nodes); ++r)
        for (uint32_t slot = 1; slot <= before.All().size(); ++slot) {
          std::vector<float> value(size_t(2 * before.All()[slot - 1].second));
          std::mt19937 values(before.kind == "mean" ? seed : uint32_t(random()));
          for (float &v : value) v = float(int(values() % 64)) - 32;
          ASSERT_TRUE(session->executor(r).SetSlot(slot, MutableBytesOf(value)).ok());
        }
      saved = before.NodesOf(session.get());
      ASSERT_TRUE(SaveCheckpoint(session.get(), folder / "c", 1).ok());
    }
    auto session = after.Open();
    auto step = LoadCheckpoint(session.get(), folder / "c");
    ASSERT_TRUE(step.ok()) << step.status();
    got = after.NodesOf(session.get());
    std::vector<float> mean(size_t(2 * rows));
    for (const auto &node : saved)
      for (size_t e = 0; e < mean.size(); ++e) mean[e] += node[e] / float(saved.size());
    const bool own = before.nodes == after.nodes && after.kind != "mean";
    for (size_t r = 0; r < got.size(); ++r) EXPECT_EQ(got[r], own ? saved[r] : mean) << "rank " << r;
  }
}

TEST(RankStateTest, TheFilesOfTheStepBeforeStay) {
  TemporaryFolder folder;
  std::string path = folder / "c";
  auto session = testing::Open(OwnState(2));
  for (uint64_t step = 1; step <= 3; ++step) {
    Step(session.get(), float(step));
    ASSERT_TRUE(SaveCheckpoint(session.get(), path, step).ok());
  }
  for (int rank = 0; rank < 2; ++rank) {
    EXPECT_FALSE(std::filesystem::exists(RankStatePath(path, 1, rank)));
    EXPECT_TRUE(std::filesystem::exists(RankStatePath(path, 2, rank)));
    EXPECT_TRUE(std::filesystem::exists(RankStatePath(path, 3, rank)));
  }
}

// The checkpoint before, given by its own name, whether the one behind it is whole or not.
TEST(RankStateTest, TheOneBeforeMayBeGivenByItsName) {
  TemporaryFolder folder;
  const std::string path = folder / "c", before = path + ".step1";
  {
    auto session = testing::Open(OwnState(2));
    Step(session.get(), 10);
    ASSERT_TRUE(SaveCheckpoint(session.get(), path, 1).ok());
    std::filesystem::copy_file(path, folder / "kept");
    Step(session.get(), 20);
    ASSERT_TRUE(SaveCheckpoint(session.get(), path, 2).ok());
  }
  for (const bool whole : {true, false}) {
    if (!std::filesystem::exists(before)) std::filesystem::copy_file(folder / "kept", before);
    if (!whole) std::filesystem::remove(RankStatePath(path, 2, 1));
    EXPECT_EQ(runtime::SavedName(before), path);
    EXPECT_EQ(runtime::SavedName(path), path);
    EXPECT_EQ(runtime::WholeCheckpoint(before), before);
    auto session = testing::Open(OwnState(2));
    auto step = LoadCheckpoint(session.get(), before);
    ASSERT_TRUE(step.ok()) << step.status();
    EXPECT_EQ(*step, 1u);
    EXPECT_THAT(Own(session.get(), 0), ElementsAre(10, 11));
    EXPECT_THAT(Own(session.get(), 1), ElementsAre(12, 13));
  }
  // Without what belongs to it, it is refused by the name that was given.
  std::filesystem::remove(RankStatePath(path, 1, 1));
  auto session = testing::Open(OwnState(2));
  EXPECT_THAT(std::string(LoadCheckpoint(session.get(), before).status().message()),
              ::testing::AllOf(HasSubstr(before + ": not all ranks have written what belongs to it"),
                               HasSubstr(RankStatePath(path, 1, 1))));
}

// One that was saved under such a name keeps it.
TEST(RankStateTest, ANameLikeThatOfTheOneBefore) {
  TemporaryFolder folder;
  const std::string path = folder / "c.step1";
  auto session = testing::Open(OwnState(2));
  Step(session.get(), 10);
  ASSERT_TRUE(SaveCheckpoint(session.get(), path, 1).ok());
  EXPECT_EQ(runtime::SavedName(path), path);
  auto other = testing::Open(OwnState(2));
  ASSERT_TRUE(LoadCheckpoint(other.get(), path).ok());
  EXPECT_THAT(Own(other.get(), 1), ElementsAre(12, 13));
}

// Of the same steps, where one job begins in the place of another, and all ranks are killed when some have written.
TEST(RankStateTest, WhatAnotherJobHasLeftBelongsToNoCheckpoint) {
  for (int rank = 0; rank < 2; ++rank) {
    TemporaryFolder folder;
    const std::string path = folder / "c";
    const auto saved = [&](uint64_t job, uint64_t step) {
      runtime::SessionOptions options;
      options.run_digest = job;
      auto session = testing::Open(OwnState(2), options);
      Step(session.get(), float(10 * job + step));
      ASSERT_TRUE(SaveCheckpoint(session.get(), path, step).ok());
    };
    saved(1, 1);
    saved(1, 2);
    std::filesystem::copy_file(RankStatePath(path, 2, rank), folder / "left");
    saved(2, 1);
    std::filesystem::copy_file(path, folder / "before");
    saved(2, 2);
    EXPECT_EQ(runtime::WholeCheckpoint(path), path);
    std::filesystem::rename(folder / "left", RankStatePath(path, 2, rank));
    auto session = testing::Open(OwnState(2));
    EXPECT_THAT(std::string(LoadCheckpoint(session.get(), path).status().message()),
                HasSubstr(RankStatePath(path, 2, rank) + ": is of another job"));
    std::filesystem::rename(folder / "before", path + ".step1");
    EXPECT_EQ(runtime::WholeCheckpoint(path), path + ".step1");
    auto step = LoadCheckpoint(session.get(), path);
    ASSERT_TRUE(step.ok()) << step.status();
    EXPECT_EQ(*step, 1u);
    EXPECT_THAT(Own(session.get(), 1), ElementsAre(23, 24));
  }
}

TEST(RankStateTest, NamesWhatIsWrong) {
  TemporaryFolder folder;
  std::string path = folder / "c";
  auto session = testing::Open(OwnState(2));
  ASSERT_TRUE(SaveCheckpoint(session.get(), path, 1).ok());
  auto error = [&] { return std::string(LoadCheckpoint(session.get(), path).status().message()); };
  EXPECT_EQ(error(), "");
  std::filesystem::copy_file(RankStatePath(path, 1, 0), RankStatePath(path, 1, 1),
                             std::filesystem::copy_options::overwrite_existing);
  EXPECT_THAT(error(), HasSubstr(".rank1: rank must match 1, got: 0"));
  std::filesystem::remove(RankStatePath(path, 1, 1));
  EXPECT_THAT(error(), HasSubstr(".step1.rank1"));
  std::ofstream(RankStatePath(path, 1, 1)) << "nothing of use";
  EXPECT_NE(error(), "");
}

TEST(RankStateTest, OfAPlanWithoutItBeginsAtZero) {
  TemporaryFolder folder;
  std::string path = folder / "c";
  {
    PlanBuilder dense = OwnState(2);
    dense.proto().mutable_slots()->RemoveLast();
    dense.proto().clear_functions();
    auto f = dense.Function("step");
    f.Slot(false, 0, plan::F32, {2});
    auto session = testing::Open(dense);
    EXPECT_FALSE(runtime::HasRankState(*session));
    ASSERT_TRUE(SaveCheckpoint(session.get(), path, 5).ok());
  }
  auto session = testing::Open(OwnState(2));
  auto step = LoadCheckpoint(session.get(), path);
  ASSERT_TRUE(step.ok()) << step.status();
  EXPECT_THAT(Own(session.get(), 1), ElementsAre(0, 0));
}

TEST(RankStateTest, ParametersAreTheSameEverywhere) {
  PlanBuilder plan = OwnState(2);
  plan.proto().mutable_slots(1)->set_kind(plan::Slot::PARAM);
  EXPECT_THAT(testing::LoadError(plan.Bytes()),
              HasSubstr("slot 1 \"e\": a parameter must be the same on all ranks"));
}

}  // namespace
}  // namespace commsched
