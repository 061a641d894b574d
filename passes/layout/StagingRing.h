// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef COMMSCHED_PASSES_LAYOUT_STAGINGRING_H
#define COMMSCHED_PASSES_LAYOUT_STAGINGRING_H

#include <cassert>
#include <cstdint>
#include <vector>

#include "llvm/ADT/StringRef.h"

namespace commsched::place {

/// On a start that fills a staging buffer: its offset in bytes in the staging area
/// of the node (i64). Absent: the buffer has memory of its own.
inline constexpr llvm::StringLiteral kStagingAttr = "cs.staging";

/// Gives buffers places in a ring of bytes. Whoever fills a buffer must wait for
/// those that place() names: then no two buffers in use overlap, in whatever
/// order the rest happens, and never more than the capacity is in use.
class StagingRing {
public:
  explicit StagingRing(int64_t capacity) : capacity(capacity) {}

  struct Place {
    int64_t offset; // a multiple of 8
    /// The last buffers that had some of these bytes, in the order of theirs.
    std::vector<unsigned> before;
  };

  /// Places buffer `id` of `bytes` <= capacity.
  Place place(unsigned id, int64_t bytes) {
    assert(bytes >= 0 && bytes <= capacity);
    if (bytes == 0)
      return {0, {}};
    head = (head + 7) / 8 * 8;
    if (head + bytes > capacity)
      head = 0;
    int64_t begin = head, end = head + bytes;
    head = end;
    std::vector<unsigned> before;
    std::vector<Piece> kept;
    for (const Piece &piece : pieces) {
      if (piece.end <= begin || piece.begin >= end) {
        kept.push_back(piece);
        continue;
      }
      before.push_back(piece.id);
      if (piece.begin < begin)
        kept.push_back({piece.begin, begin, piece.id});
      if (piece.end > end)
        kept.push_back({end, piece.end, piece.id});
    }
    kept.push_back({begin, end, id});
    pieces = std::move(kept);
    return {begin, before};
  }

private:
  /// The last buffer that had bytes [begin, end).
  struct Piece {
    int64_t begin, end;
    unsigned id;
  };
  int64_t capacity;
  int64_t head = 0;
  std::vector<Piece> pieces;
};

} // namespace commsched::place

#endif // COMMSCHED_PASSES_LAYOUT_STAGINGRING_H
