// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/program/rows_message.h"

#include <algorithm>
#include <queue>
#include <utility>

#include "absl/strings/str_cat.h"

namespace commsched::runtime {
namespace {

constexpr size_t kId = sizeof(int64_t);

void Add(const RowLayout &layout, std::byte *row, const std::byte *other) {
  ops::CombineElements(layout.element, ops::Combine::kSum, 0, row, other,
                       layout.row_bytes / ops::ElementBytes(layout.element));
}

// Where ids and values of a message of `count` rows begin.
std::byte *Begin(RowsMessage *message, size_t count, const RowLayout &layout) {
  message->resize(RowsMessageBytes(count, layout));
  const uint64_t n = count;
  std::memcpy(message->data(), &n, sizeof(n));
  return message->data() + sizeof(n);
}

}  // namespace

absl::Status CheckIds(const std::byte *ids, size_t count, int64_t rows) {
  int64_t last = -1;
  for (size_t i = 0; i < count; ++i) {
    int64_t id;
    std::memcpy(&id, ids + i * kId, kId);
    if (id < 0 || id >= rows)
      return absl::InvalidArgumentError(absl::StrCat(
          "ids of rows must be in 0..", rows - 1, ", got: ", id));
    if (id <= last)
      return absl::InvalidArgumentError(absl::StrCat(
          "ids of rows must ascend, got: ", id, " after ", last));
    last = id;
  }
  return absl::OkStatus();
}

absl::StatusOr<RowsView> ReadRows(absl::Span<const std::byte> message,
                                  const RowLayout &layout) {
  uint64_t count = 0;
  if (message.size() < sizeof(count))
    return absl::InvalidArgumentError(absl::StrCat(
        "message of rows must have at least 8 bytes, got: ", message.size()));
  std::memcpy(&count, message.data(), sizeof(count));
  if (count > uint64_t(layout.rows))
    return absl::InvalidArgumentError(
        absl::StrCat("message of rows must have at most the block's ",
                     layout.rows, " rows, got: ", count));
  if (message.size() != RowsMessageBytes(count, layout))
    return absl::InvalidArgumentError(
        absl::StrCat("message of ", count, " rows must have ",
                     RowsMessageBytes(count, layout),
                     " bytes, got: ", message.size()));
  RowsView view;
  view.count = count;
  view.ids = message.data() + sizeof(count);
  view.values = view.ids + count * kId;
  if (absl::Status s = CheckIds(view.ids, view.count, layout.rows); !s.ok())
    return s;
  return view;
}

std::vector<RowsMessage> SplitRows(const RowIds &ids, const std::byte *values,
                                   absl::Span<const int64_t> begins,
                                   const RowLayout &table) {
  // By id, and by their order where that is the same.
  std::vector<std::pair<int64_t, size_t>> order;
  order.reserve(ids.count);
  for (size_t i = 0; i < ids.count; ++i)
    if (int64_t id = ids.id(i); id >= 0 && id < table.rows)
      order.emplace_back(id, i);
  std::sort(order.begin(), order.end());
  std::vector<RowsMessage> messages(begins.size());
  size_t at = 0;
  for (size_t p = 0; p < begins.size(); ++p) {
    const int64_t end = p + 1 < begins.size() ? begins[p + 1] : table.rows;
    size_t last = at, count = 0;
    for (; last < order.size() && order[last].first < end; ++last)
      count += last == at || order[last].first != order[last - 1].first;
    std::byte *id_at = Begin(&messages[p], count, table);
    std::byte *row = id_at + count * kId;
    for (; at < last; row += table.row_bytes, id_at += kId) {
      const int64_t id = order[at].first, own = id - begins[p];
      std::memcpy(id_at, &own, kId);
      std::memcpy(row, values + order[at].second * table.row_bytes,
                  table.row_bytes);
      for (++at; at < last && order[at].first == id; ++at)
        Add(table, row, values + order[at].second * table.row_bytes);
    }
  }
  return messages;
}

RowsMessage MergeRows(absl::Span<const RowsView> messages,
                      const RowLayout &layout, double scale) {
  // The next row of each message, the smallest id first; of equal ones that of
  // the first message.
  using Next = std::pair<int64_t, size_t>;
  std::vector<size_t> position(messages.size(), 0);
  const auto first = [&] {
    std::priority_queue<Next, std::vector<Next>, std::greater<Next>> queue;
    for (size_t m = 0; m < messages.size(); ++m)
      if (messages[m].count != 0) queue.emplace(messages[m].id(0), m);
    position.assign(messages.size(), 0);
    return queue;
  };
  const auto advance = [&](auto &queue) {
    const Next next = queue.top();
    queue.pop();
    const RowsView &message = messages[next.second];
    const size_t row = position[next.second]++;
    if (row + 1 < message.count) queue.emplace(message.id(row + 1), next.second);
    return std::pair(next.first, message.values + row * layout.row_bytes);
  };
  size_t count = 0;
  int64_t last = -1;
  for (auto queue = first(); !queue.empty();) {
    const int64_t id = advance(queue).first;
    count += id != last;
    last = id;
  }
  RowsMessage merged;
  std::byte *id_at = Begin(&merged, count, layout);
  std::byte *const rows = id_at + count * kId;
  std::byte *row = nullptr, *next_row = rows;
  last = -1;
  for (auto queue = first(); !queue.empty();) {
    const auto [id, values] = advance(queue);
    if (id == last) {
      Add(layout, row, values);
      continue;
    }
    last = id;
    std::memcpy(id_at, &id, kId);
    id_at += kId;
    row = std::exchange(next_row, next_row + layout.row_bytes);
    std::memcpy(row, values, layout.row_bytes);
  }
  if (scale != 0 && count != 0)
    ops::ScaleElements(
        layout.element, scale, rows,
        count * (layout.row_bytes / ops::ElementBytes(layout.element)));
  return merged;
}

RowRequest RequestRows(const RowIds &ids, absl::Span<const int64_t> begins,
                       int64_t rows) {
  std::vector<std::pair<int64_t, size_t>> order(ids.count);
  for (size_t i = 0; i < ids.count; ++i)
    order[i] = {std::clamp<int64_t>(ids.id(i), 0, rows - 1), i};
  std::sort(order.begin(), order.end());
  RowRequest request;
  request.ids.resize(begins.size());
  request.from.resize(ids.count);
  size_t part = 0;
  int64_t last = -1;
  for (const auto &[id, i] : order) {
    while (part + 1 < begins.size() && id >= begins[part + 1]) ++part;
    if (id != last) {
      request.ids[part].push_back(id - begins[part]);
      ++request.count;
      last = id;
    }
    request.from[i] = request.count - 1;
  }
  return request;
}

void SpreadRows(const RowRequest &request, const std::byte *answers,
                size_t row_bytes, std::byte *values) {
  for (size_t i = 0; i < request.from.size(); ++i)
    std::memcpy(values + i * row_bytes, answers + request.from[i] * row_bytes,
                row_bytes);
}

void GatherRows(const std::byte *table, absl::Span<const int64_t> ids,
                size_t row_bytes, std::byte *rows) {
  for (size_t i = 0; i < ids.size(); ++i)
    std::memcpy(rows + i * row_bytes, table + size_t(ids[i]) * row_bytes,
                row_bytes);
}

void ScatterRows(const std::byte *rows, absl::Span<const int64_t> ids,
                 size_t row_bytes, std::byte *table) {
  for (size_t i = 0; i < ids.size(); ++i)
    std::memcpy(table + size_t(ids[i]) * row_bytes, rows + i * row_bytes,
                row_bytes);
}

}  // namespace commsched::runtime
