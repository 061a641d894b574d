// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a report says: timelines, and what their step takes beside others. Plain
// data, of cs-opt and cs-run alike; docs/report.md says how it is shown.

#ifndef COMMSCHED_REPORT_DOCUMENT_H
#define COMMSCHED_REPORT_DOCUMENT_H

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace commsched::report {

/// Texts by number, each once; 0 is the empty one.
class Strings {
public:
  Strings() { number(""); }
  uint32_t number(std::string_view text);
  const std::string &text(uint32_t number) const { return *texts[number]; }
  size_t size() const { return texts.size(); }

private:
  std::map<std::string, uint32_t, std::less<>> numbers;
  std::vector<const std::string *> texts; ///< keys of `numbers`
};

enum class Category : uint8_t {
  compute, ///< a fragment
  update,  ///< ... that no compute of its step waits for
  message, ///< on its way
  exposed, ///< a stream stands still until a communication arrives
  copy,    ///< between host and device
};
inline constexpr size_t kCategories = 5;

struct Event {
  int64_t begin = 0, end = 0; ///< nanoseconds
  uint32_t name = 0;          ///< label or key; of exposed time: what is waited for
  uint32_t detail = 0;        ///< of exposed time: why
  Category category = Category::compute;
  uint16_t lane = 0; ///< of its track; see assignLanes
  uint64_t step = 0;
  int64_t bytes = 0;  ///< of a message
  int64_t queued = 0; ///< nanoseconds that it waited for the link before
};

/// A compute stream, a copy engine, or a direction of a link.
struct Track {
  std::string process; ///< "rank 0"
  std::string name;    ///< "compute", "send to 1"
  bool isLink = false;
  std::vector<Event> events; ///< by beginning
  uint16_t lanes = 1;
};

struct Timeline {
  std::string name;   ///< "predicted", "measured"
  std::string source; ///< for people: what it is from
  std::vector<Track> tracks;
  /// Beginnings of steps and the end of the last, of the first process with any.
  std::vector<int64_t> steps;
  uint64_t firstStep = 0;
};

/// What a step takes, by one way of doing it.
struct Period {
  enum Kind {
    bound,
    ours,
    measured,
    baseline
  };
  std::string name;
  Kind kind = baseline;
  double nanoseconds = 0;
  std::string note;
};

/// What a step would take if something were different.
struct WhatIf {
  std::string name;
  double same = 0;   ///< nanoseconds, with the schedule as it is; 0: not known
  double solved = 0; ///< with one made for it; 0: not known
  double bound = 0;  ///< no schedule takes less; 0: not known
};

struct Document {
  std::string title;
  std::vector<std::pair<std::string, std::string>> facts;
  std::vector<Period> periods;
  std::vector<WhatIf> whatIfs;
  std::vector<Timeline> timelines; ///< top to bottom
  Strings strings;                 ///< of their events
};

/// Orders the events of a track by beginning; those that overlap get lanes of their
/// own, at most `most`: what does not find room lies over others in the last one.
void assignLanes(Track &track, uint16_t most = 8);

/// The page: one file that needs no network.
std::string toHtml(const Document &document);

/// As compressed columns in base64, which the page reads; docs/report.md has the
/// format.
std::string encodeEvents(const Document &document);

/// The numbers of a document, without events, as JSON.
std::string summaryJson(const Document &document);

/// A timeline as runtime/measure/trace.h writes it, with periods and what-ifs in
/// "otherData": for Perfetto, and for readTrace.
std::string toChromeTrace(const Document &document, const Timeline &timeline);

/// Adds the timeline of a file in the form of runtime/measure/trace.h, and periods and
/// what-ifs if it has any that the document lacks. Returns what is wrong with it, or
/// nothing.
std::string readTrace(std::string_view text, Document &document, std::string name);

/// Leaves the last `count` steps.
void keepLastSteps(Timeline &timeline, size_t count);

/// Leaves `count` steps in a row that take about as long as the median step: of
/// those that come nearest, the last.
void keepTypicalSteps(Timeline &timeline, size_t count);

/// Goes on with the same steps again until there are `count`.
void repeatSteps(Timeline &timeline, size_t count);

/// Nanoseconds: the median step, without the first two if there are more; 0: no steps.
double medianStep(const Timeline &timeline);

/// Says why compute waited, where a trace of messages shows it: cuts exposed events
/// without `detail` into stretches that have one.
void explainWaits(Timeline &timeline, Strings &strings);

/// Where a trace goes beside a report: page.html -> page.trace.json.
std::string tracePathBeside(std::string_view reportPath);

} // namespace commsched::report

#endif // COMMSCHED_REPORT_DOCUMENT_H
