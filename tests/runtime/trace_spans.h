// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a trace says, read back from its JSON.
#ifndef COMMSCHED_TESTS_RUNTIME_TRACE_SPANS_H
#define COMMSCHED_TESTS_RUNTIME_TRACE_SPANS_H

#include <google/protobuf/struct.pb.h>
#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "runtime/measure/trace.h"

namespace commsched::testing {

struct Span {
  int rank;
  std::string track, name, category;
  double begin, end;  // microseconds
};

// In the order in which they began.
inline std::vector<Span> SpansOf(const runtime::TraceRecorder &trace) {
  google::protobuf::Struct json;
  EXPECT_TRUE(google::protobuf::util::JsonStringToMessage(trace.ToJson(), &json).ok());
  std::map<std::pair<int, int>, std::string> tracks;
  std::vector<Span> spans;
  for (const auto &value : json.fields().at("traceEvents").list_value().values()) {
    const auto &e = value.struct_value().fields();
    int rank = int(e.at("pid").number_value());
    std::string name = e.at("name").string_value();
    auto tid = [&] { return int(e.at("tid").number_value()); };
    if (name == "thread_name")
      tracks[{rank, tid()}] =
          e.at("args").struct_value().fields().at("name").string_value();
    if (e.at("ph").string_value() != "X") continue;
    double begin = e.at("ts").number_value();
    spans.push_back({rank, tracks[{rank, tid()}], name, e.at("cat").string_value(), begin,
                     begin + e.at("dur").number_value()});
  }
  return spans;
}

}  // namespace commsched::testing

#endif  // COMMSCHED_TESTS_RUNTIME_TRACE_SPANS_H
