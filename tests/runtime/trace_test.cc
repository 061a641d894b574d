// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/measure/trace.h"

#include <gmock/gmock.h>
#include <google/protobuf/struct.pb.h>
#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "tests/runtime/test_util.h"

namespace commsched {
namespace {

TEST(TraceTest, ShowsComputeAndLinksOfEveryRank) {
  runtime::TraceRecorder trace;
  auto session = testing::Open(testing::Trainer(3), {absl::Seconds(30), &trace});
  ASSERT_NE(session, nullptr);
  testing::StartTrainer(session.get(), 1);
  testing::RunTrainer(session.get(), 0, 5);
  ASSERT_TRUE(session->Drain().ok());
  session.reset();
  google::protobuf::Struct json;
  ASSERT_TRUE(google::protobuf::util::JsonStringToMessage(trace.ToJson(), &json).ok());
  std::set<std::string> tracks, names;
  std::map<std::pair<int, int>, double> end;  // of the last span of a track
  std::map<std::string, int> count;
  for (const auto &value : json.fields().at("traceEvents").list_value().values()) {
    const auto &e = value.struct_value().fields();
    if (e.at("name").string_value() == "thread_name")
      tracks.insert(e.at("args").struct_value().fields().at("name").string_value());
    if (e.at("ph").string_value() != "X") continue;
    ++count[e.at("cat").string_value()];
    names.insert(e.at("name").string_value());
    std::pair<int, int> track = {int(e.at("pid").number_value()), int(e.at("tid").number_value())};
    double begin = e.at("ts").number_value();
    EXPECT_GE(begin, end[track] - 0.002) << "spans of a track overlap";
    end[track] = begin + e.at("dur").number_value();
  }
  EXPECT_THAT(tracks, ::testing::IsSupersetOf({"compute", "send to 1", "receive from 2"}));
  EXPECT_THAT(names, ::testing::IsSupersetOf({"sum", "add", "copy", "w"}));
  EXPECT_EQ(count["compute"], 3 * 5 * 3);
  // A ring of 3 has 4 rounds; each message is sent and received.
  EXPECT_EQ(count["message"], 3 * 5 * 4 * 2);
}

TEST(TraceTest, AnEmptyTraceAndStrangeNamesAreStillJson) {
  runtime::TraceRecorder trace;
  google::protobuf::Struct json;
  EXPECT_TRUE(google::protobuf::util::JsonStringToMessage(trace.ToJson(), &json).ok());
  runtime::TraceSpan span;
  span.name = "a \"b\" \\ \n \x01";
  span.category = "compute";
  trace.Add(span);
  trace.Enable(false);
  trace.Add(span);
  ASSERT_TRUE(google::protobuf::util::JsonStringToMessage(trace.ToJson(), &json).ok());
  int spans = 0;
  for (const auto &value : json.fields().at("traceEvents").list_value().values())
    if (value.struct_value().fields().at("ph").string_value() == "X") {
      ++spans;
      EXPECT_EQ(value.struct_value().fields().at("name").string_value(), span.name);
    }
  EXPECT_EQ(spans, 1);
}

}  // namespace
}  // namespace commsched
