// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads what runtime/measure/trace.h writes: events one by one, never as a tree.

#include "report/Document.h"
#include "report/Json.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace commsched::report {

namespace {

using Thread = std::pair<int64_t, int64_t>; // process, thread

class TraceReader {
public:
  TraceReader(std::string_view text, Document &document)
      : reader(text), document(document) {}

  std::string read(std::string name);

private:
  std::string event(const Json &json);
  void comparison(const Json &other);
  void makeTracks(Timeline &timeline);
  void findSteps(Timeline &timeline);

  JsonReader reader;
  Document &document;
  std::map<int64_t, std::string> processes;
  std::map<Thread, std::string> threads;
  std::map<Thread, std::vector<Event>> events;
  std::string source;
  std::vector<int64_t> steps; ///< that the trace says it has
  uint64_t firstStep = 0;
  double dropped = 0;
};

Category categoryOf(const std::string &name) {
  if (name == "message")
    return Category::message;
  if (name == "exposed wait")
    return Category::exposed;
  if (name == "copy")
    return Category::copy;
  if (name == "update")
    return Category::update;
  return Category::compute;
}

int64_t nanoseconds(double microseconds) { return std::llround(microseconds * 1e3); }

/// Returns what is wrong with it, or nothing.
std::string TraceReader::event(const Json &json) {
  std::string phase = json.textOr("ph", "");
  auto process = static_cast<int64_t>(json.numberOr("pid", 0));
  Thread thread{process, static_cast<int64_t>(json.numberOr("tid", 0))};
  const Json *args = json.find("args");
  static const Json none;
  if (!args)
    args = &none;
  if (phase == "M") {
    std::string what = json.textOr("name", "");
    if (what == "process_name")
      processes[process] = args->textOr("name", "");
    else if (what == "thread_name")
      threads[thread] = args->textOr("name", "");
    return "";
  }
  if (phase != "X")
    return "";
  double begin = json.numberOr("ts", NAN), length = json.numberOr("dur", NAN);
  if (!(std::abs(begin) < 9e12) || !(length >= 0) || !(length < 9e12))
    return "an event must have a time and a duration in microseconds, got: " +
           json.textOr("name", "");
  auto step = static_cast<uint64_t>(std::max(0.0, args->numberOr("call", 0)));
  Event event;
  event.begin = nanoseconds(begin);
  event.end = event.begin + nanoseconds(length);
  std::string name = json.textOr("name", "");
  event.detail = document.strings.number(args->textOr("reason", ""));
  event.category = categoryOf(json.textOr("cat", ""));
  if (event.category == Category::compute && name.starts_with("update."))
    event.category = Category::update;
  if (event.category == Category::exposed && name.starts_with("wait for "))
    name.erase(0, 9);
  else if (event.category == Category::exposed && name == "wait")
    name = "a message";
  event.name = document.strings.number(name);
  event.step = step;
  event.bytes = static_cast<int64_t>(std::max(0.0, args->numberOr("bytes", 0)));
  event.queued = nanoseconds(std::max(0.0, args->numberOr("queued_us", 0)));
  events[thread].push_back(event);
  return "";
}

/// What a prediction knows beside its timeline, unless the document has it.
void TraceReader::comparison(const Json &other) {
  dropped = other.numberOr("dropped_spans", 0);
  const Json *known = other.find("commsched");
  if (!known)
    return;
  source = known->textOr("source", "");
  firstStep = static_cast<uint64_t>(std::max(0.0, known->numberOr("first_step", 0)));
  if (const Json *times = known->find("steps"))
    for (const Json &time : times->items)
      if (time.kind == Json::number && std::abs(time.value) < 9e12)
        steps.push_back(nanoseconds(time.value));
  std::sort(steps.begin(), steps.end());
  if (const Json *periods = known->find("periods"))
    for (const Json &item : periods->items) {
      Period period;
      period.name = item.textOr("name", "");
      std::string kind = item.textOr("kind", "");
      period.kind = kind == "bound"      ? Period::bound
                    : kind == "ours"     ? Period::ours
                    : kind == "measured" ? Period::measured
                                         : Period::baseline;
      period.nanoseconds = item.numberOr("ns", 0);
      period.note = item.textOr("note", "");
      if (std::none_of(document.periods.begin(), document.periods.end(),
                       [&](const Period &old) {
                         return old.name == period.name ||
                                (old.kind == period.kind && old.kind != Period::baseline);
                       }))
        document.periods.push_back(std::move(period));
    }
  if (const Json *whatIfs = known->find("what_ifs"); whatIfs && document.whatIfs.empty())
    for (const Json &item : whatIfs->items)
      document.whatIfs.push_back({item.textOr("name", ""), item.numberOr("same_ns", 0),
                                  item.numberOr("solved_ns", 0),
                                  item.numberOr("bound_ns", 0)});
}

/// Lanes of a link, "send to 1" and "send to 1 (2)", become one track.
void TraceReader::makeTracks(Timeline &timeline) {
  std::map<std::pair<int64_t, std::string>, size_t> known;
  for (const auto &[thread, name] : threads) {
    std::string base = name;
    bool isLink = base.starts_with("send ") || base.starts_with("receive ") ||
                  base.starts_with("link ");
    size_t bracket = base.rfind(" (");
    if (isLink && bracket != std::string::npos && base.back() == ')' &&
        base.find_first_not_of("0123456789", bracket + 2) == base.size() - 1)
      base.resize(bracket);
    auto [at, isNew] =
        known.try_emplace({thread.first, base}, timeline.tracks.size());
    if (isNew) {
      auto process = processes.find(thread.first);
      timeline.tracks.emplace_back();
      timeline.tracks.back().process = process != processes.end()
                                           ? process->second
                                           : "process " + std::to_string(thread.first);
      timeline.tracks.back().name = base;
      timeline.tracks.back().isLink = isLink;
    }
    std::vector<Event> &from = events[thread];
    std::vector<Event> &to = timeline.tracks[at->second].events;
    to.insert(to.end(), from.begin(), from.end());
    std::vector<Event>().swap(from);
  }
  for (Track &track : timeline.tracks)
    assignLanes(track);
}

/// A step begins where, on the first compute stream with any, the last compute before
/// its first ends: to wait for the parameters is part of it. Updates of the step
/// before, which run then, are too.
void TraceReader::findSteps(Timeline &timeline) {
  for (const Track &track : timeline.tracks) {
    if (track.isLink)
      continue;
    std::map<uint64_t, std::pair<int64_t, int64_t>> steps; // begin, end
    int64_t last = INT64_MIN;
    for (const Event &event : track.events) {
      if (event.category != Category::compute)
        continue;
      auto [at, isNew] = steps.try_emplace(
          event.step, last == INT64_MIN ? event.begin : last, event.end);
      at->second.second = std::max(at->second.second, event.end);
      last = std::max(last, event.end);
    }
    if (steps.empty())
      continue;
    timeline.firstStep = steps.begin()->first;
    for (const auto &[step, time] : steps)
      timeline.steps.push_back(time.first);
    timeline.steps.push_back(std::max(steps.rbegin()->second.second, timeline.steps.back()));
    std::sort(timeline.steps.begin(), timeline.steps.end());
    return;
  }
}

std::string TraceReader::read(std::string name) {
  std::string key, wrong;
  Json value;
  bool any = false;
  if (!reader.begin('{'))
    return reader.error();
  while (wrong.empty() && reader.nextKey(key)) {
    if (key == "traceEvents") {
      any = reader.begin('[');
      while (wrong.empty() && reader.nextItem() && reader.read(value))
        wrong = event(value);
    } else if (reader.read(value) && key == "otherData") {
      comparison(value);
    }
  }
  if (wrong.empty())
    wrong = reader.error();
  if (wrong.empty() && !reader.atEnd())
    wrong = "has something behind its end";
  if (wrong.empty() && !any)
    wrong = "is no trace: it has no traceEvents";
  if (!wrong.empty())
    return wrong;
  Timeline timeline;
  timeline.name = std::move(name);
  timeline.source = source;
  if (dropped > 0)
    timeline.source += (timeline.source.empty() ? "" : "; ") +
                       std::to_string(static_cast<uint64_t>(dropped)) +
                       " later events were not recorded";
  makeTracks(timeline);
  if (steps.size() > 1) {
    timeline.steps = std::move(steps);
    timeline.firstStep = firstStep;
  } else {
    findSteps(timeline);
  }
  document.timelines.push_back(std::move(timeline));
  return "";
}

} // namespace

std::string readTrace(std::string_view text, Document &document, std::string name) {
  return TraceReader(text, document).read(std::move(name));
}

} // namespace commsched::report
