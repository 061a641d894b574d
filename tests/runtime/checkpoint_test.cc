// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/session/checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>

#include "runtime/data/sealed_file.h"
#include "tests/runtime/test_util.h"

namespace commsched {
namespace {

using testing::BytesOf;
using ::testing::HasSubstr;
using testing::MutableBytesOf;
using testing::TemporaryFolder;
using testing::Trainer;

TEST(CheckpointTest, ResumedTrainingIsBitwiseTheSame) {
  TemporaryFolder folder;
  std::string path = folder / "c.safetensors";
  std::vector<float> whole(testing::kTrainerSize), resumed(testing::kTrainerSize);
  {
    auto session = testing::Open(Trainer(3));
    testing::StartTrainer(session.get(), 0.3f);
    testing::RunTrainer(session.get(), 0, 7);
    ASSERT_TRUE(SaveCheckpoint(session.get(), path, 7).ok());
    testing::RunTrainer(session.get(), 7, 8);
    ASSERT_TRUE(session->GetSlot(0, MutableBytesOf(whole)).ok());
  }
  auto session = testing::Open(Trainer(3));
  auto step = LoadCheckpoint(session.get(), path);
  ASSERT_TRUE(step.ok()) << step.status();
  EXPECT_EQ(*step, 7u);
  testing::RunTrainer(session.get(), 7, 8);
  ASSERT_TRUE(session->GetSlot(0, MutableBytesOf(resumed)).ok());
  EXPECT_EQ(0, std::memcmp(whole.data(), resumed.data(), whole.size() * sizeof(float)));
}

TEST(CheckpointTest, NamesTheTensorThatIsWrong) {
  TemporaryFolder folder;
  std::string path = folder / "c.safetensors";
  auto session = testing::Open(Trainer(1));
  std::vector<float> w(testing::kTrainerSize);
  std::vector<int> n = {1};
  runtime::TensorInfo wt{
      ops::Element::kF32, {testing::kTrainerSize}, testing::kTrainerSize, w.size() * 4};
  runtime::TensorInfo nt{ops::Element::kI32, {}, 1, 4};
  std::map<std::string, std::string> metadata = {{"format", "commsched-checkpoint-1"},
                                                 {"step", "3"}};
  auto error = [&](std::vector<runtime::TensorToWrite> tensors) {
    EXPECT_TRUE(WriteSafetensors(path, tensors, metadata).ok());
    return std::string(LoadCheckpoint(session.get(), path).status().message());
  };
  EXPECT_EQ(error({{"w", wt, BytesOf(w)}, {"n", nt, BytesOf(n)}}), "");
  EXPECT_THAT(error({{"w", wt, BytesOf(w)}}), HasSubstr("tensor \"n\" is missing"));
  EXPECT_THAT(error({{"w", wt, BytesOf(w)}, {"n", nt, BytesOf(n)}, {"v", nt, BytesOf(n)}}),
              HasSubstr("tensor \"v\" is no parameter"));
  runtime::TensorInfo other = wt;
  other.shape = {10, 10};
  EXPECT_THAT(error({{"w", other, BytesOf(w)}, {"n", nt, BytesOf(n)}}),
              HasSubstr("tensor \"w\" must match f32[100], got: f32[10,10]"));
  other = wt;
  other.element = ops::Element::kI32;
  EXPECT_THAT(error({{"w", other, BytesOf(w)}, {"n", nt, BytesOf(n)}}),
              HasSubstr("must match f32[100], got: i32[100]"));
  metadata.clear();
  EXPECT_THAT(error({{"w", wt, BytesOf(w)}, {"n", nt, BytesOf(n)}}),
              HasSubstr("is no checkpoint"));
  EXPECT_THAT(std::string(LoadCheckpoint(session.get(), folder / "none").status().message()),
              HasSubstr("cannot be opened"));
}

// A bit of each byte of the file.
TEST(CheckpointTest, DamageIsNoticedWhereverItIs) {
  TemporaryFolder folder;
  std::string path = folder / "c";
  auto session = testing::Open(Trainer(1));
  testing::StartTrainer(session.get(), 1);
  ASSERT_TRUE(SaveCheckpoint(session.get(), path, 1).ok());
  std::ifstream in(path, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(in)), {});
  auto load = [&](const std::string &content) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << content;
    return LoadCheckpoint(session.get(), path).status();
  };
  ASSERT_TRUE(load(bytes).ok());
  for (size_t at = 0; at < bytes.size(); ++at) {
    std::string damaged = bytes;
    damaged[at] = char(damaged[at] ^ (1 << (at * 5 % 8)));
    absl::Status status = load(damaged);
    ASSERT_FALSE(status.ok()) << "bit " << at * 5 % 8 << " of byte " << at;
    ASSERT_THAT(std::string(status.message()), HasSubstr(path));
    ASSERT_EQ(status.message().find('\n'), absl::string_view::npos);
  }
  for (size_t size = 0; size < bytes.size(); size += 11)
    ASSERT_FALSE(load(bytes.substr(0, size)).ok()) << size << " bytes";
}

TEST(CheckpointTest, WhatHasNoElementsIsNoDamage) {
  TemporaryFolder folder;
  const std::vector<float> one = {1};
  const runtime::TensorInfo empty = {ops::Element::kF32, {0}, 0, 0};
  ASSERT_TRUE(runtime::WriteSealed(folder / "c",
                                   {{"a", {ops::Element::kF32, {1}, 1, 4}, BytesOf(one)},
                                    {"b", empty, {}},
                                    {"c", empty, {}}},
                                   {{"format", "test"}})
                  .ok());
  auto file = runtime::ReadSealed(folder / "c", {{"format", "test"}});
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_TRUE(file->Find("c", empty).ok());
}

TEST(CheckpointTest, OldFileStaysIfTheNewOneCannotBeWritten) {
  TemporaryFolder folder;
  auto session = testing::Open(Trainer(1));
  testing::StartTrainer(session.get(), 1);
  EXPECT_FALSE(SaveCheckpoint(session.get(), folder / "no/such/folder", 1).ok());
}

TEST(SafetensorsTest, ParametersOnly) {
  TemporaryFolder folder;
  auto session = testing::Open(Trainer(2));
  testing::StartTrainer(session.get(), 2.5f);
  ASSERT_TRUE(SaveParameters(session.get(), folder / "p").ok());
  auto file = runtime::ReadTensorFile(folder / "p");
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->tensors.size(), 1u);
  const runtime::StoredTensor &w = file->tensors.at("w");
  EXPECT_EQ(ToString(w.type), "f32[100]");
  float first;
  std::memcpy(&first, w.data.data(), 4);
  EXPECT_EQ(first, 2.5f);
}

TEST(SafetensorsTest, DamagedFilesGiveErrors) {
  TemporaryFolder folder;
  std::string path = folder / "c";
  auto session = testing::Open(Trainer(1));
  testing::StartTrainer(session.get(), 1);
  ASSERT_TRUE(SaveCheckpoint(session.get(), path, 1).ok());
  std::ifstream in(path, std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(in)), {});
  auto load = [&](const std::string &content) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << content;
    return LoadCheckpoint(session.get(), path).ok();
  };
  EXPECT_TRUE(load(bytes));
  for (size_t n = 0; n < bytes.size(); n += n < 300 ? 7 : 50)
    EXPECT_FALSE(load(bytes.substr(0, n)));
  uint32_t random = 1;
  for (int run = 0; run < 300; ++run) {
    std::string damaged = bytes;
    for (int i = 0; i < 2; ++i) {
      random = random * 1664525 + 1013904223;
      damaged[(random >> 8) % 300] = char(random >> 24);
    }
    load(damaged);  // may be fine by luck; must not crash
  }
}

}  // namespace
}  // namespace commsched
