// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows of a table on their way between trainers and parameter servers.
//
// A message of rows is the number n of rows, u64; n ids, i64, counted from the
// first row of the block that it is for, strictly ascending; n rows of values.
// Little-endian and dense. Pure functions; sums are rounded to the element after
// each addition, in the order that is stated.
#ifndef COMMSCHED_RUNTIME_PROGRAM_ROWS_MESSAGE_H
#define COMMSCHED_RUNTIME_PROGRAM_ROWS_MESSAGE_H

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ops/base/element.h"

namespace commsched::runtime {

// Of a table, or of a block of one.
struct RowLayout {
  ops::Element element = ops::Element::kF32;
  size_t row_bytes = 0;  // a multiple of the element's
  int64_t rows = 0;      // ids are 0 .. rows - 1
};

// A message that has been checked. Refers to its bytes, which need no alignment.
struct RowsView {
  size_t count = 0;
  const std::byte *ids = nullptr, *values = nullptr;
  int64_t id(size_t i) const {
    int64_t id;
    std::memcpy(&id, ids + i * sizeof(id), sizeof(id));
    return id;
  }
};

// Ids as a program has them: i32 or i64, in any order, also outside the table.
struct RowIds {
  ops::Element element = ops::Element::kI32;
  const std::byte *data = nullptr;
  size_t count = 0;
  int64_t id(size_t i) const {
    if (element == ops::Element::kI64) {
      int64_t id;
      std::memcpy(&id, data + i * sizeof(id), sizeof(id));
      return id;
    }
    int32_t id;
    std::memcpy(&id, data + i * sizeof(id), sizeof(id));
    return id;
  }
};

using RowsMessage = std::vector<std::byte>;

// Bytes of a message of `count` rows; a block's largest has all its rows.
inline size_t RowsMessageBytes(size_t count, const RowLayout &layout) {
  return sizeof(uint64_t) + count * (sizeof(int64_t) + layout.row_bytes);
}
// Whether a message of some number of rows has this size.
inline bool IsRowsMessageSize(uint64_t bytes, const RowLayout &layout) {
  return bytes >= sizeof(uint64_t) &&
         bytes <= RowsMessageBytes(size_t(layout.rows), layout) &&
         (bytes - sizeof(uint64_t)) % (sizeof(int64_t) + layout.row_bytes) == 0;
}

// kInvalidArgument for bytes that are no message of rows of this block.
absl::StatusOr<RowsView> ReadRows(absl::Span<const std::byte> message,
                                  const RowLayout &layout);

// `count` ids at `ids`, as in a message: kInvalidArgument unless they ascend
// strictly and lie in the block.
absl::Status CheckIds(const std::byte *ids, size_t count, int64_t rows);

// Row i of `values` belongs to row ids[i] of a table, part p of which begins at
// row begins[p] (ascending, the first 0). One message for each part. Rows of one
// id are added up in their order; ids outside the table are dropped.
std::vector<RowsMessage> SplitRows(const RowIds &ids, const std::byte *values,
                                   absl::Span<const int64_t> begins,
                                   const RowLayout &table);

// The sum of messages for one block: rows of one id are added in the order of
// the messages. Times `scale` if that is not 0.
RowsMessage MergeRows(absl::Span<const RowsView> messages,
                      const RowLayout &layout, double scale);

// What a trainer asks for to get row ids[i] of a table for each i; an id outside
// means the row nearest to it.
struct RowRequest {
  // By part: each row once, ascending, counted from the part's first row.
  std::vector<std::vector<int64_t>> ids;
  size_t count = 0;  // of all parts
  // Row i of the result is row from[i] of the answers, part after part.
  std::vector<size_t> from;
};
RowRequest RequestRows(const RowIds &ids, absl::Span<const int64_t> begins,
                       int64_t rows);
void SpreadRows(const RowRequest &request, const std::byte *answers,
                size_t row_bytes, std::byte *values);

// Row i of `rows` is row ids[i] of `table`, or the other way round.
void GatherRows(const std::byte *table, absl::Span<const int64_t> ids,
                size_t row_bytes, std::byte *rows);
void ScatterRows(const std::byte *rows, absl::Span<const int64_t> ids,
                 size_t row_bytes, std::byte *table);

}  // namespace commsched::runtime

#endif  // COMMSCHED_RUNTIME_PROGRAM_ROWS_MESSAGE_H
