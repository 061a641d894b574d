// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The page: what the build embedded (Page.cpp is generated), with a document in it.

#include "report/Document.h"
#include "report/Json.h"
#include "report/Page.h"

namespace commsched::report {

namespace {

const char *nameOf(Period::Kind kind) {
  switch (kind) {
  case Period::bound:
    return "bound";
  case Period::ours:
    return "ours";
  case Period::measured:
    return "measured";
  case Period::baseline:
    break;
  }
  return "baseline";
}

/// With commas between what `add` adds.
class List {
public:
  List(std::string &out, char open, char close) : out(out), close(close) {
    out += open;
  }
  ~List() { out += close; }
  std::string &next() {
    if (!first)
      out += ",\n ";
    first = false;
    return out;
  }

private:
  std::string &out;
  char close;
  bool first = true;
};

void addTimeline(std::string &out, const Timeline &timeline) {
  out += "{\"name\":" + jsonQuote(timeline.name) +
         ",\"source\":" + jsonQuote(timeline.source) +
         ",\"first_step\":" + std::to_string(timeline.firstStep) + ",\"steps\":";
  {
    List steps(out, '[', ']');
    for (int64_t begin : timeline.steps)
      steps.next() += std::to_string(begin - timeline.steps.front());
  }
  out += ",\"tracks\":";
  List tracks(out, '[', ']');
  for (const Track &track : timeline.tracks)
    tracks.next() += "{\"process\":" + jsonQuote(track.process) +
                     ",\"name\":" + jsonQuote(track.name) +
                     ",\"link\":" + (track.isLink ? "true" : "false") +
                     ",\"lanes\":" + std::to_string(track.lanes) +
                     ",\"events\":" + std::to_string(track.events.size()) + "}";
}

} // namespace

/// Periods and what-ifs: also in "otherData" of a trace.
std::string comparisonJson(const Document &document) {
  std::string out = "\"periods\":";
  {
    List periods(out, '[', ']');
    for (const Period &period : document.periods)
      periods.next() += "{\"name\":" + jsonQuote(period.name) + ",\"kind\":\"" +
                        nameOf(period.kind) +
                        "\",\"ns\":" + jsonNumber(period.nanoseconds) +
                        ",\"note\":" + jsonQuote(period.note) + "}";
  }
  out += ",\n\"what_ifs\":";
  List whatIfs(out, '[', ']');
  for (const WhatIf &whatIf : document.whatIfs)
    whatIfs.next() += "{\"name\":" + jsonQuote(whatIf.name) +
                      ",\"same_ns\":" + jsonNumber(whatIf.same) +
                      ",\"solved_ns\":" + jsonNumber(whatIf.solved) +
                      ",\"bound_ns\":" + jsonNumber(whatIf.bound) + "}";
  return out;
}

std::string summaryJson(const Document &document) {
  std::string out = "{\"format\":\"commsched report\",\"version\":1,\"title\":" +
                    jsonQuote(document.title) + ",\n\"facts\":";
  {
    List facts(out, '[', ']');
    for (const auto &[name, value] : document.facts)
      facts.next() += "[" + jsonQuote(name) + "," + jsonQuote(value) + "]";
  }
  out += ",\n" + comparisonJson(document) + ",\n\"timelines\":";
  {
    List timelines(out, '[', ']');
    for (const Timeline &timeline : document.timelines) {
      addTimeline(timelines.next(), timeline);
      out += "}";
    }
  }
  return out + "}\n";
}

std::string toHtml(const Document &document) {
  std::string title;
  for (char c : document.title)
    title += c == '<' ? "&lt;" : c == '&' ? "&amp;"
                                          : std::string(1, c);
  std::string out;
  std::string_view rest = kPage;
  // Marks of the template, in the order in which they stand there.
  const std::pair<std::string_view, std::string> parts[] = {
      {"@TITLE@", title},
      {"@SUMMARY@", summaryJson(document)},
      {"@EVENTS@", encodeEvents(document)},
  };
  for (const auto &[mark, text] : parts) {
    size_t at = rest.find(mark);
    out += rest.substr(0, at);
    out += text;
    rest.remove_prefix(at + mark.size());
  }
  return out += rest;
}

} // namespace commsched::report
