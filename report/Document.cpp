// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "report/Document.h"

#include <algorithm>

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

std::string tracePathBeside(std::string_view path) {
  std::string_view stem = path;
  if (stem.size() > 5 && stem.substr(stem.size() - 5) == ".html")
    stem.remove_suffix(5);
  return std::string(stem) + ".trace.json";
}

} // namespace commsched::report
