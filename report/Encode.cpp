// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Events by columns: what is alike stands together, and zlib makes little of it.

#include "report/Document.h"

#include <cstdlib>
#include <unordered_map>
#include <zlib.h>

namespace commsched::report {

namespace {

class Bytes {
public:
  /// Seven bits a byte, the lowest first; the highest bit: there are more.
  void unsignedNumber(uint64_t value) {
    while (value >= 0x80) {
      bytes += static_cast<char>(value | 0x80);
      value >>= 7;
    }
    bytes += static_cast<char>(value);
  }
  /// 0, -1, 1, -2, ... as 0, 1, 2, 3, ...
  void signedNumber(int64_t value) {
    unsignedNumber((static_cast<uint64_t>(value) << 1) ^
                   static_cast<uint64_t>(value >> 63));
  }
  void text(const std::string &text) {
    unsignedNumber(text.size());
    bytes += text;
  }
  std::string bytes;
};

std::string deflate(const std::string &bytes) {
  uLongf size = compressBound(bytes.size());
  std::string out(size, '\0');
  if (compress2(reinterpret_cast<Bytef *>(out.data()), &size,
                reinterpret_cast<const Bytef *>(bytes.data()), bytes.size(),
                Z_BEST_COMPRESSION) != Z_OK)
    std::abort(); // only for want of memory
  out.resize(size);
  return out;
}

std::string base64(const std::string &bytes) {
  static const char digits[] =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t word = 0;
    for (size_t j = 0; j < 3; ++j)
      word = word << 8 |
             (i + j < bytes.size() ? static_cast<unsigned char>(bytes[i + j]) : 0u);
    for (size_t j = 0; j < 4; ++j)
      out += i + j > bytes.size() ? '=' : digits[word >> (18 - 6 * j) & 63];
  }
  return out;
}

/// Columns of one track. Times count from `origin`, the beginning of the timeline.
void encodeTrack(const Track &track, int64_t origin, Bytes &out) {
  const std::vector<Event> &events = track.events;
  for (const Event &event : events)
    out.unsignedNumber(static_cast<uint64_t>(event.end - event.begin));
  // Often they follow each other directly.
  int64_t last = origin;
  for (const Event &event : events) {
    out.signedNumber(event.begin - last);
    last = event.end;
  }
  for (const Event &event : events)
    out.unsignedNumber(event.name);
  for (const Event &event : events)
    out.unsignedNumber(event.detail);
  for (const Event &event : events)
    out.unsignedNumber(static_cast<uint64_t>(event.category));
  for (const Event &event : events)
    out.unsignedNumber(event.lane);
  uint64_t step = 0;
  for (const Event &event : events) {
    out.signedNumber(static_cast<int64_t>(event.step - step));
    step = event.step;
  }
  // Messages of one name tend to have one size.
  std::unordered_map<uint32_t, int64_t> sizes; // only looked up
  for (const Event &event : events) {
    int64_t &size = sizes[event.name];
    out.signedNumber(event.bytes - size);
    size = event.bytes;
  }
  for (const Event &event : events)
    out.unsignedNumber(static_cast<uint64_t>(event.queued));
}

} // namespace

std::string encodeEvents(const Document &document) {
  Bytes out;
  out.unsignedNumber(document.strings.size());
  for (uint32_t i = 0; i < document.strings.size(); ++i)
    out.text(document.strings.text(i));
  for (const Timeline &timeline : document.timelines)
    for (const Track &track : timeline.tracks)
      encodeTrack(track, timeline.steps.empty() ? 0 : timeline.steps.front(), out);
  return base64(deflate(out.bytes));
}

} // namespace commsched::report
