// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "report/Document.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace commsched::report {

uint32_t Strings::number(std::string_view text) {
  auto found = numbers.find(text);
  if (found == numbers.end()) {
    found = numbers.emplace(text, static_cast<uint32_t>(texts.size())).first;
    texts.push_back(&found->first);
  }
  return found->second;
}

void assignLanes(Track &track, uint16_t most) {
  std::stable_sort(
      track.events.begin(), track.events.end(),
      [](const Event &a, const Event &b) { return a.begin < b.begin; });
  std::vector<int64_t> busy;
  for (Event &event : track.events) {
    size_t lane = 0;
    while (lane < busy.size() && busy[lane] > event.begin)
      ++lane;
    lane = std::min<size_t>(lane, most - 1);
    if (lane == busy.size())
      busy.push_back(0);
    busy[lane] = std::max(busy[lane], event.end);
    event.lane = static_cast<uint16_t>(lane);
  }
  track.lanes = static_cast<uint16_t>(std::max<size_t>(1, busy.size()));
}

/// Leaves the steps [first, last).
static void keepSteps(Timeline &timeline, size_t first, size_t last) {
  timeline.firstStep += first;
  timeline.steps = std::vector<int64_t>(
      timeline.steps.begin() + static_cast<std::ptrdiff_t>(first),
      timeline.steps.begin() + static_cast<std::ptrdiff_t>(last + 1));
  int64_t begin = timeline.steps.front(), end = timeline.steps.back();
  for (Track &track : timeline.tracks)
    std::erase_if(track.events, [&](const Event &event) {
      return event.end <= begin || event.begin >= end;
    });
}

void keepLastSteps(Timeline &timeline, size_t count) {
  if (count == 0 || timeline.steps.size() <= count + 1)
    return;
  size_t last = timeline.steps.size() - 1;
  keepSteps(timeline, last - count, last);
}

void keepTypicalSteps(Timeline &timeline, size_t count) {
  if (count == 0 || timeline.steps.size() <= count + 1)
    return;
  double median = medianStep(timeline);
  auto off = [&](size_t first) {
    double sum = 0;
    for (size_t i = first; i < first + count; ++i)
      sum += std::abs(static_cast<double>(timeline.steps[i + 1] - timeline.steps[i]) -
                      median);
    return sum;
  };
  size_t best = 0;
  for (size_t first = 1; first + count < timeline.steps.size(); ++first)
    if (off(first) <= off(best))
      best = first;
  keepSteps(timeline, best, best + count);
}

void repeatSteps(Timeline &timeline, size_t count) {
  size_t known = timeline.steps.size();
  if (known < 2)
    return;
  int64_t begin = timeline.steps.front(), end = timeline.steps.back();
  size_t steps = known - 1;
  std::vector<std::vector<Event>> once;
  for (Track &track : timeline.tracks) {
    once.emplace_back();
    for (const Event &event : track.events)
      if (event.begin >= begin && event.begin < end)
        once.back().push_back(event);
    // What began there comes again, as part of the first repetition.
    std::erase_if(track.events, [&](const Event &event) { return event.begin >= end; });
  }
  for (size_t turn = 1; timeline.steps.size() <= count; ++turn) {
    int64_t shift = static_cast<int64_t>(turn) * (end - begin);
    for (size_t i = 0; i < timeline.tracks.size(); ++i)
      for (Event event : once[i]) {
        event.begin += shift;
        event.end += shift;
        event.step += turn * steps;
        timeline.tracks[i].events.push_back(event);
      }
    for (size_t i = 1; i < known; ++i)
      timeline.steps.push_back(timeline.steps[i] + shift);
  }
  timeline.steps.resize(std::max(known, count + 1));
  for (Track &track : timeline.tracks) {
    std::erase_if(track.events, [&](const Event &event) {
      return event.begin >= timeline.steps.back();
    });
    assignLanes(track);
  }
}

double medianStep(const Timeline &timeline) {
  std::vector<int64_t> steps;
  size_t first = timeline.steps.size() > 3 ? 2 : 0;
  for (size_t i = first; i + 1 < timeline.steps.size(); ++i)
    steps.push_back(timeline.steps[i + 1] - timeline.steps[i]);
  if (steps.empty())
    return 0;
  auto middle = steps.begin() + static_cast<std::ptrdiff_t>(steps.size() / 2);
  std::nth_element(steps.begin(), middle, steps.end());
  return static_cast<double>(*middle);
}

std::string tracePathBeside(std::string_view path) {
  std::string_view stem = path;
  if (stem.size() > 5 && stem.substr(stem.size() - 5) == ".html")
    stem.remove_suffix(5);
  return std::string(stem) + ".trace.json";
}

} // namespace commsched::report
