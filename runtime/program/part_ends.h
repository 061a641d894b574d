// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// When the parts of an exchange's buffer are there, at one rank: each when the last
// round that lands on it has brought the last byte that does. Bytes of a message come
// in order, and rounds one after the other, so that nothing is written there any more.
// For the runtime, which releases parts, and the simulator, which predicts it.
#ifndef COMMSCHED_RUNTIME_PROGRAM_PART_ENDS_H
#define COMMSCHED_RUNTIME_PROGRAM_PART_ENDS_H

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

namespace commsched::runtime {

// Part `part` is there when the rounds before `round`, counted over all phases, are
// complete, and `bytes` bytes of what is received in `round` are there and combined.
template <typename Bytes>
struct PartEnd {
  uint32_t round = 0;
  Bytes bytes = 0;
  uint32_t part = 0;
  bool operator<(const PartEnd &other) const {
    return std::tie(round, bytes, part) < std::tie(other.round, other.bytes, other.part);
  }
};

// What a round of a slice receives.
template <typename Bytes>
struct Landing {
  // Of each part that something lands on: where that ends in the message.
  std::vector<std::pair<uint32_t, Bytes>> ends;
  // What has come is changed once more when all of it is there.
  bool at_end = false;
};

// Of a slice that receives `landings`, by round; in the order in which parts are there.
// What nothing lands on is there from the beginning.
template <typename Bytes>
std::vector<PartEnd<Bytes>> PartEnds(size_t parts, const std::vector<Landing<Bytes>> &landings) {
  std::vector<PartEnd<Bytes>> ends(parts);
  for (uint32_t part = 0; part < parts; ++part) ends[part].part = part;
  for (uint32_t i = 0; i < landings.size(); ++i)
    for (const auto &[part, bytes] : landings[i].ends)
      ends[part] = landings[i].at_end ? PartEnd<Bytes>{i + 1, 0, part}
                                      : PartEnd<Bytes>{i, bytes, part};
  std::sort(ends.begin(), ends.end());
  return ends;
}

}  // namespace commsched::runtime

#endif  // COMMSCHED_RUNTIME_PROGRAM_PART_ENDS_H
