// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/measure/profile.h"

#include <gmock/gmock.h>
#include <google/protobuf/struct.pb.h>
#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/runtime/test_util.h"

namespace commsched {
namespace {

using google::protobuf::Struct;
using runtime::ProfileRecorder;
using ::testing::HasSubstr;

Struct Parse(const std::string &text) {
  Struct json;
  EXPECT_TRUE(google::protobuf::util::JsonStringToMessage(text, &json).ok()) << text;
  return json;
}

// A program of one function with a delay of each label.
runtime::Program Labels(int rank, const std::vector<std::string> &labels) {
  runtime::Program program;
  program.rank = rank;
  program.module_name = "m";
  program.functions.resize(1);
  program.functions[0].name = "step";
  program.functions[0].is_step = true;
  for (const std::string &label : labels) {
    runtime::InstructionProgram instruction;
    instruction.kind = runtime::InstructionProgram::kDelay;
    instruction.name = label;
    program.functions[0].instructions.push_back(instruction);
  }
  return program;
}

TEST(ProfileTest, HasMediansOfWhatCameAfterWarmingUp) {
  ProfileRecorder profile;
  const runtime::Program program = Labels(1, {"a \"quoted\"", "b"});
  for (uint64_t i = 0; i < ProfileRecorder::kWarmUp; ++i) {
    profile.Add(program, 0, 0, 1'000'000, false);
    EXPECT_EQ(profile.ToJson().status().code(), absl::StatusCode::kFailedPrecondition);
  }
  for (int ns : {40, 10, 30, 20}) profile.Add(program, 0, 0, ns, ns >= 30);
  Struct json = Parse(*profile.ToJson());
  EXPECT_EQ(json.fields().at("version").number_value(), 1);
  EXPECT_EQ(json.fields().at("module").string_value(), "m");
  const auto &processes = json.fields().at("processes").list_value();
  ASSERT_EQ(processes.values_size(), 1);
  const auto &process = processes.values(0).struct_value().fields();
  EXPECT_EQ(process.at("role").string_value(), "worker");
  EXPECT_EQ(process.at("index").number_value(), 1);
  const auto &step =
      process.at("functions").list_value().values(0).struct_value().fields();
  ASSERT_EQ(step.at("fragments").list_value().values_size(), 1);  // "b" never ran
  const auto &a = step.at("fragments").list_value().values(0).struct_value().fields();
  EXPECT_EQ(a.at("label").string_value(), "a \"quoted\"");
  EXPECT_EQ(a.at("count").number_value(), 4);
  EXPECT_EQ(a.at("median_ns").number_value(), 20);
  EXPECT_EQ(a.at("min_ns").number_value(), 10);
  EXPECT_EQ(a.at("max_ns").number_value(), 40);
  EXPECT_EQ(a.at("quiet_count").number_value(), 2);
  EXPECT_EQ(a.at("quiet_median_ns").number_value(), 10);
}

TEST(ProfileTest, ForgetsAllButTheLastMeasurements) {
  ProfileRecorder profile;
  const runtime::Program program = Labels(0, {"a"});
  for (size_t i = 0; i < ProfileRecorder::kKept; ++i) profile.Add(program, 0, 0, 5, true);
  for (size_t i = 0; i < ProfileRecorder::kKept; ++i) profile.Add(program, 0, 0, 9, true);
  const std::string text = *profile.ToJson();
  EXPECT_THAT(text, HasSubstr("\"median_ns\":9,\"min_ns\":5,\"max_ns\":9,\"quiet_count\":0}"));
}

TEST(ProfileTest, FilesOfSeveralProcessesBecomeOne) {
  testing::TemporaryFolder folder;
  std::vector<std::string> files;
  for (int rank = 0; rank < 3; ++rank) {
    ProfileRecorder profile;
    const runtime::Program program = Labels(rank, {"a", "b"});
    for (int i = 0; i < 10; ++i)
      for (uint32_t label : {0u, 1u}) profile.Add(program, 0, label, i + rank, true);
    files.push_back(folder / std::to_string(rank));
    ASSERT_TRUE(profile.Write(files.back()).ok());
  }
  ASSERT_TRUE(runtime::MergeProfiles(files, folder / "all.json").ok());
  std::ifstream all(folder / "all.json");
  Struct json = Parse(std::string(std::istreambuf_iterator<char>(all), {}));
  EXPECT_EQ(json.fields().at("processes").list_value().values_size(), 3);
  EXPECT_FALSE(std::ifstream(files[0]).good()) << "parts must be gone";
  std::ofstream(folder / "wrong") << "{}";
  EXPECT_THAT(runtime::MergeProfiles({folder / "wrong"}, folder / "x.json").message(),
              HasSubstr("is no profile"));
}

TEST(ProfileTest, HasEveryRankOfASession) {
  ProfileRecorder profile;
  runtime::SessionOptions options;
  options.profile = &profile;
  auto session = testing::Open(testing::Trainer(3), options);
  ASSERT_NE(session, nullptr);
  testing::StartTrainer(session.get(), 1);
  testing::RunTrainer(session.get(), 0, 8);
  ASSERT_TRUE(session->Drain().ok());
  session.reset();
  Struct json = Parse(*profile.ToJson());
  const auto &processes = json.fields().at("processes").list_value();
  ASSERT_EQ(processes.values_size(), 3);
  for (const auto &process : processes.values()) {
    const auto &functions = process.struct_value().fields().at("functions").list_value();
    ASSERT_EQ(functions.values_size(), 1);  // eval is no step
    const auto &fragments =
        functions.values(0).struct_value().fields().at("fragments").list_value();
    ASSERT_EQ(fragments.values_size(), 3);  // sum, copy, add
    for (const auto &fragment : fragments.values()) {
      const auto &f = fragment.struct_value().fields();
      EXPECT_EQ(f.at("count").number_value(), 5);
      EXPECT_GT(f.at("median_ns").number_value(), 0);
      EXPECT_LE(f.at("min_ns").number_value(), f.at("median_ns").number_value());
      EXPECT_GE(f.at("max_ns").number_value(), f.at("median_ns").number_value());
      EXPECT_LE(f.at("quiet_count").number_value(), 5);
    }
  }
}

}  // namespace
}  // namespace commsched
