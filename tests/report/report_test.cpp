// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "report/Document.h"
#include "report/Json.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace commsched::report {
namespace {

using testing::HasSubstr;

std::string event(const char *name, const char *category, int process, int thread,
                  double begin, double length, int call) {
  return "{\"ph\":\"X\",\"name\":\"" + std::string(name) + "\",\"cat\":\"" + category +
         "\",\"pid\":" + std::to_string(process) + ",\"tid\":" + std::to_string(thread) +
         ",\"ts\":" + jsonNumber(begin) + ",\"dur\":" + jsonNumber(length) +
         ",\"args\":{\"call\":" + std::to_string(call) + "}}";
}

std::string thread(const char *name, int process, int number) {
  return "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":" + std::to_string(process) +
         ",\"tid\":" + std::to_string(number) + ",\"args\":{\"name\":\"" + name + "\"}}";
}

std::string trace(const std::vector<std::string> &events) {
  std::string text = "{\"traceEvents\":[";
  for (const std::string &event : events)
    text += (text.back() == '[' ? "" : ",") + event;
  for (int rank = 0; rank < 2; ++rank)
    text += ",{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":" + std::to_string(rank) +
            ",\"args\":{\"name\":\"rank " + std::to_string(rank) + "\"}}";
  return text + "]}";
}

TEST(ReadTraceTest, LanesOfALinkAreOneTrack) {
  Document document;
  EXPECT_EQ(readTrace(trace({thread("compute", 0, 0), thread("send to 1", 0, 1),
                             thread("send to 1 (2)", 0, 2),
                             thread("copy to host (device 1)", 0, 3),
                             event("f", "compute", 0, 0, 0, 5, 0),
                             event("a", "message", 0, 1, 1, 4, 0),
                             event("b", "message", 0, 2, 2, 4, 0)}),
                      document, "measured"),
            "");
  const Timeline &timeline = document.timelines.front();
  ASSERT_EQ(timeline.tracks.size(), 3u);
  EXPECT_EQ(timeline.tracks[1].name, "send to 1");
  EXPECT_EQ(timeline.tracks[1].lanes, 2);
  EXPECT_EQ(timeline.tracks[1].events.size(), 2u);
  EXPECT_EQ(timeline.tracks[2].name, "copy to host (device 1)");
}

// A step ends with its own compute; updates and waits before the next one's are the
// next one's.
TEST(ReadTraceTest, FindsSteps) {
  Document document;
  EXPECT_EQ(readTrace(trace({thread("compute", 0, 0),
                             event("f", "compute", 0, 0, 0, 10, 3),
                             event("wait for w", "exposed wait", 0, 0, 10, 5, 3),
                             event("update.w", "compute", 0, 0, 15, 1, 3),
                             event("f", "compute", 0, 0, 16, 10, 4)}),
                      document, "measured"),
            "");
  Timeline &timeline = document.timelines.front();
  EXPECT_EQ(timeline.firstStep, 3u);
  EXPECT_EQ(timeline.steps, (std::vector<int64_t>{0, 10'000, 26'000}));
  EXPECT_EQ(document.strings.text(timeline.tracks[0].events[1].name), "w");
  EXPECT_EQ(timeline.tracks[0].events[2].category, Category::update);
  keepLastSteps(timeline, 1);
  EXPECT_EQ(timeline.firstStep, 4u);
  EXPECT_EQ(timeline.tracks[0].events.size(), 3u);
  repeatSteps(timeline, 3);
  EXPECT_EQ(timeline.steps, (std::vector<int64_t>{10'000, 26'000, 42'000, 58'000}));
  EXPECT_EQ(timeline.tracks[0].events.size(), 9u);
  EXPECT_EQ(timeline.tracks[0].events.back().step, 6u);
}

TEST(StepsTest, TypicalOnesTakeAboutTheMedian) {
  Timeline timeline;
  timeline.steps = {0, 90, 100, 110, 120, 130, 190, 200, 210};
  timeline.tracks.emplace_back();
  for (int64_t begin : {0, 95, 105, 125, 140, 205})
    timeline.tracks[0].events.push_back({begin, begin + 5});
  EXPECT_EQ(medianStep(timeline), 10);
  keepTypicalSteps(timeline, 4);
  EXPECT_EQ(timeline.steps, (std::vector<int64_t>{90, 100, 110, 120, 130}));
  EXPECT_EQ(timeline.firstStep, 1u);
  EXPECT_EQ(timeline.tracks[0].events.size(), 3u);
}

// Rank 0 waits for a message that rank 1 sends at 30 us, when it has computed "g".
TEST(ExplainWaitsTest, GoesBackToTheRankThatComputes) {
  Document document;
  ASSERT_EQ(readTrace(trace({thread("compute", 0, 0), thread("receive from 1", 0, 1),
                             thread("compute", 1, 2), thread("send to 0", 1, 3),
                             event("f", "compute", 0, 0, 0, 10, 0),
                             event("wait for w", "exposed wait", 0, 0, 10, 32, 0),
                             event("update.w", "compute", 0, 0, 42, 1, 0),
                             event("w", "message", 0, 1, 10, 30, 0),
                             event("g", "compute", 1, 2, 0, 29, 0),
                             event("w", "message", 1, 3, 30, 10, 0)}),
                      document, "measured"),
            "");
  explainWaits(document.timelines.front(), document.strings);
  std::vector<std::pair<int64_t, std::string>> stretches;
  for (const Event &event : document.timelines.front().tracks[0].events)
    if (event.category == Category::exposed)
      stretches.emplace_back(event.end - event.begin, document.strings.text(event.detail));
  ASSERT_EQ(stretches.size(), 3u);
  EXPECT_EQ(stretches[0].first, 20'000);
  EXPECT_EQ(stretches[0].second, "update.w waits for w: rank 1 has not sent it yet, "
                                 "which still computes (most of it g)");
  EXPECT_EQ(stretches[1].first, 10'000);
  EXPECT_THAT(stretches[1].second, HasSubstr("on its way from rank 1"));
  EXPECT_EQ(stretches[2].first, 2'000);
  EXPECT_THAT(stretches[2].second, HasSubstr("has arrived"));
}

TEST(ExplainWaitsTest, KeepsReasonsThatThereAre) {
  Document document;
  std::string text = trace({thread("compute", 0, 0),
                            event("wait for w", "exposed wait", 0, 0, 10, 32, 0)});
  text.replace(text.find("\"call\":0"), 8, "\"call\":0,\"reason\":\"it was late\"");
  ASSERT_EQ(readTrace(text, document, "predicted"), "");
  explainWaits(document.timelines.front(), document.strings);
  ASSERT_EQ(document.timelines.front().tracks[0].events.size(), 1u);
  EXPECT_EQ(document.strings.text(document.timelines.front().tracks[0].events[0].detail),
            "it was late");
}

TEST(PageTest, NamesCannotEndTheScriptsOfThePage) {
  Document document;
  document.title = "</title><script>alert(1)</script>";
  document.facts = {{"</script><b>", "\x01 \"quoted\" \\"}};
  document.timelines.emplace_back();
  document.timelines.back().name = "<!--";
  std::string html = toHtml(document);
  EXPECT_EQ(html.find("<script>alert"), std::string::npos);
  EXPECT_EQ(html.find("</script><b>"), std::string::npos);
  EXPECT_EQ(html.find("<!--"), std::string::npos);
  EXPECT_THAT(html, HasSubstr("\\u003c/script>\\u003cb>"));
}

TEST(JsonTest, ReadsWhatItWrites) {
  Json value;
  JsonReader reader("{\"a\\u00e9\":[1e3,-2.5,true,null,{\"b\":\"\\n\\\"\"}]}");
  ASSERT_TRUE(reader.read(value)) << reader.error();
  const Json *list = value.find("a\xc3\xa9");
  ASSERT_NE(list, nullptr);
  ASSERT_EQ(list->items.size(), 5u);
  EXPECT_EQ(list->items[0].value, 1000);
  EXPECT_EQ(list->items[1].value, -2.5);
  EXPECT_EQ(list->items[4].textOr("b", ""), "\n\"");
  for (const char *bad : {"", "[", "[1,]", "{\"a\"}", "\"", "tru", "[1 2]", "\"\\u12\""}) {
    JsonReader wrong(bad);
    EXPECT_FALSE(wrong.read(value) && wrong.atEnd()) << bad;
  }
  std::string deep(100'000, '[');
  JsonReader nested(deep);
  EXPECT_FALSE(nested.read(value));
}

} // namespace
} // namespace commsched::report
