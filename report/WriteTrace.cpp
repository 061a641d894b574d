// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "report/Document.h"
#include "report/Json.h"
#include "report/Page.h"

#include <cstdio>

namespace commsched::report {

static const char *categoryOf(Category category) {
  switch (category) {
  case Category::message:
    return "message";
  case Category::exposed:
    return "exposed wait";
  case Category::copy:
    return "copy";
  default:
    return "compute";
  }
}

static std::string micros(int64_t nanoseconds) {
  char buffer[40];
  std::snprintf(buffer, sizeof(buffer), "%.3f", static_cast<double>(nanoseconds) / 1e3);
  return buffer;
}

std::string toChromeTrace(const Document &document, const Timeline &timeline) {
  std::string out = "{\"displayTimeUnit\":\"ms\",\"otherData\":{\"dropped_spans\":0"
                    ",\"commsched\":{\"title\":" +
                    jsonQuote(document.title) + ",\"timeline\":" +
                    jsonQuote(timeline.name) +
                    ",\"source\":" + jsonQuote(timeline.source) +
                    ",\"first_step\":" + std::to_string(timeline.firstStep) +
                    ",\"steps\":[";
  for (int64_t begin : timeline.steps)
    out += (begin == timeline.steps.front() ? "" : ",") +
           micros(begin - timeline.steps.front());
  out += "],\n" + comparisonJson(document) + "}},\"traceEvents\":[\n";
  bool first = true;
  auto add = [&](const std::string &event) {
    out += (first ? "" : ",\n") + event;
    first = false;
  };
  int64_t origin = timeline.steps.empty() ? 0 : timeline.steps.front();
  int process = -1, thread = 0;
  const std::string *last = nullptr;
  for (const Track &track : timeline.tracks) {
    if (!last || *last != track.process) {
      last = &track.process;
      add("{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":" + std::to_string(++process) +
          ",\"args\":{\"name\":" + jsonQuote(track.process) + "}}");
    }
    std::string pid = ",\"pid\":" + std::to_string(process) + ",\"tid\":";
    for (int lane = 0; lane < track.lanes; ++lane) {
      std::string tid = std::to_string(thread + lane);
      std::string name = track.name;
      if (lane)
        name += " (" + std::to_string(lane + 1) + ")";
      add("{\"ph\":\"M\",\"name\":\"thread_name\"" + pid + tid +
          ",\"args\":{\"name\":" + jsonQuote(name) + "}}");
      add("{\"ph\":\"M\",\"name\":\"thread_sort_index\"" + pid + tid +
          ",\"args\":{\"sort_index\":" + tid + "}}");
    }
    for (const Event &event : track.events) {
      std::string text = "{\"ph\":\"X\",\"name\":" +
                         jsonQuote(document.strings.text(event.name)) + ",\"cat\":\"" +
                         categoryOf(event.category) + "\"" + pid +
                         std::to_string(thread + event.lane) +
                         ",\"ts\":" + micros(event.begin - origin) +
                         ",\"dur\":" + micros(event.end - event.begin) +
                         ",\"args\":{\"call\":" + std::to_string(event.step);
      if (event.bytes)
        text += ",\"bytes\":" + std::to_string(event.bytes);
      if (event.queued)
        text += ",\"queued_us\":" + micros(event.queued);
      if (event.detail)
        text += ",\"reason\":" + jsonQuote(document.strings.text(event.detail));
      add(text + "}}");
    }
    thread += track.lanes;
  }
  return out + "\n]}\n";
}

} // namespace commsched::report
