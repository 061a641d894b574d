// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/program/rows_message.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>

namespace commsched::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Floats = std::vector<float>;
using Table = std::map<int64_t, Floats>;

const std::byte *Bytes(const void *p) { return static_cast<const std::byte *>(p); }

RowsMessage Message(const std::vector<int64_t> &ids, const Floats &values) {
  const uint64_t n = ids.size();
  RowsMessage message(8 + 8 * ids.size() + 4 * values.size());
  std::memcpy(message.data(), &n, 8);
  if (n == 0) return message;
  std::memcpy(message.data() + 8, ids.data(), 8 * ids.size());
  std::memcpy(message.data() + 8 + 8 * ids.size(), values.data(), 4 * values.size());
  return message;
}

// By id; the message must be right.
Table Rows(const RowsMessage &message, const RowLayout &layout) {
  auto view = ReadRows(message, layout);
  EXPECT_TRUE(view.ok()) << view.status();
  Table table;
  const size_t columns = layout.row_bytes / 4;
  for (size_t i = 0; view.ok() && i < view->count; ++i) {
    Floats &row = table[view->id(i)];
    row.resize(columns);
    std::memcpy(row.data(), view->values + i * layout.row_bytes, layout.row_bytes);
  }
  return table;
}

TEST(RowsMessageTest, LayoutIsAsTheProtocolSays) {
  const RowLayout layout = {ops::Element::kF32, 8, 10};
  const std::vector<int32_t> ids = {7, 2, 7};
  const Floats values = {1, 2, 3, 4, 5, 6};
  const std::vector<int64_t> begins = {0};
  auto messages = SplitRows({ops::Element::kI32, Bytes(ids.data()), 3},
                            Bytes(values.data()), begins, layout);
  ASSERT_EQ(messages.size(), 1u);
  EXPECT_EQ(messages[0], Message({2, 7}, {3, 4, 1 + 5, 2 + 6}));
}

TEST(RowsMessageTest, RepeatedIdsAreAddedInTheirOrder) {
  const RowLayout layout = {ops::Element::kF32, 4, 3};
  // In another order the sum would be another one.
  const Floats values = {1e8f, 1.0f, -1e8f, 1.0f};
  const std::vector<int64_t> ids = {1, 1, 1, 1}, begins = {0};
  auto messages = SplitRows({ops::Element::kI64, Bytes(ids.data()), 4},
                            Bytes(values.data()), begins, layout);
  EXPECT_EQ(Rows(messages[0], layout)[1], Floats{((1e8f + 1.0f) + -1e8f) + 1.0f});
}

TEST(RowsMessageTest, SplitAndRequestAgainstPlainLoops) {
  std::mt19937 random(3);
  for (int run = 0; run < 300; ++run) {
    const int rows = 1 + int(random() % 40), columns = 1 + int(random() % 5);
    const size_t count = random() % 60;
    const RowLayout table = {ops::Element::kF32, size_t(columns) * 4, rows};
    std::vector<int64_t> begins = {0};
    for (int r = 1; r < rows; ++r)
      if (random() % 8 == 0) begins.push_back(r);
    std::vector<int32_t> ids(count);
    Floats values(count * size_t(columns)), whole(size_t(rows) * columns);
    for (int32_t &id : ids) id = int32_t(random() % uint32_t(rows + 6)) - 3;
    for (float &v : values) v = float(random() % 1000) / 7;
    for (float &v : whole) v = float(random() % 1000) / 7;
    const RowIds row_ids = {ops::Element::kI32, Bytes(ids.data()), count};

    Table expected;
    for (size_t i = 0; i < count; ++i) {
      if (ids[i] < 0 || ids[i] >= rows) continue;
      Floats row(values.begin() + long(i) * columns,
                 values.begin() + long(i + 1) * columns);
      auto [sum, fresh] = expected.emplace(ids[i], row);
      for (int c = 0; c < columns && !fresh; ++c) sum->second[c] += row[c];
    }
    auto messages = SplitRows(row_ids, Bytes(values.data()), begins, table);
    ASSERT_EQ(messages.size(), begins.size());
    Table got;
    for (size_t p = 0; p < begins.size(); ++p) {
      RowLayout part = table;
      part.rows = (p + 1 < begins.size() ? begins[p + 1] : rows) - begins[p];
      for (auto &[id, row] : Rows(messages[p], part)) got[id + begins[p]] = row;
    }
    EXPECT_EQ(got, expected);

    RowRequest request = RequestRows(row_ids, begins, rows);
    std::vector<std::byte> answers;
    for (size_t p = 0; p < begins.size(); ++p) {
      const int64_t end = p + 1 < begins.size() ? begins[p + 1] : rows;
      ASSERT_TRUE(CheckIds(Bytes(request.ids[p].data()), request.ids[p].size(),
                           end - begins[p])
                      .ok());
      const size_t at = answers.size();
      answers.resize(at + request.ids[p].size() * table.row_bytes);
      GatherRows(Bytes(whole.data()) + size_t(begins[p]) * table.row_bytes,
                 request.ids[p], table.row_bytes, answers.data() + at);
    }
    ASSERT_EQ(answers.size(), request.count * table.row_bytes);
    Floats looked(count * size_t(columns));
    SpreadRows(request, answers.data(), table.row_bytes,
               reinterpret_cast<std::byte *>(looked.data()));
    for (size_t i = 0; i < count; ++i)
      for (int c = 0; c < columns; ++c)
        ASSERT_EQ(looked[i * size_t(columns) + c],
                  whole[size_t(std::clamp(ids[i], 0, rows - 1)) * columns + c]);
  }
}

TEST(RowsMessageTest, MergeAgainstPlainLoops) {
  std::mt19937 random(5);
  for (int run = 0; run < 300; ++run) {
    const RowLayout layout = {ops::Element::kF32, 12, 20};
    std::vector<RowsMessage> messages;
    Table expected;
    const size_t count = random() % 6;
    for (size_t m = 0; m < count; ++m) {
      std::vector<int64_t> ids;
      Floats values;
      for (int64_t id = 0; id < layout.rows; ++id) {
        if (random() % 3 != 0) continue;
        ids.push_back(id);
        Floats row;
        for (int c = 0; c < 3; ++c) row.push_back(float(random() % 1000) / 3);
        values.insert(values.end(), row.begin(), row.end());
        auto [sum, fresh] = expected.emplace(id, row);
        for (int c = 0; c < 3 && !fresh; ++c) sum->second[c] += row[c];
      }
      messages.push_back(Message(ids, values));
    }
    const double scale = run % 2 == 0 ? 0 : 1.0 / 3;
    if (scale != 0)
      for (auto &[id, row] : expected)
        for (float &v : row) v *= float(scale);
    std::vector<RowsView> views;
    for (const RowsMessage &m : messages) views.push_back(*ReadRows(m, layout));
    EXPECT_EQ(Rows(MergeRows(views, layout, scale), layout), expected);
  }
}

TEST(RowsMessageTest, NarrowElementsAreRoundedAfterEachAddition) {
  const RowLayout layout = {ops::Element::kBF16, 2, 4};
  const uint16_t one = ops::FloatToBFloat16(256), small = ops::FloatToBFloat16(1);
  const std::vector<int32_t> ids = {0, 0, 0};
  const std::vector<uint16_t> values = {one, small, small};
  const std::vector<int64_t> begins = {0};
  auto messages = SplitRows({ops::Element::kI32, Bytes(ids.data()), 3},
                            Bytes(values.data()), begins, layout);
  auto view = ReadRows(messages[0], layout);
  ASSERT_TRUE(view.ok());
  uint16_t sum;
  std::memcpy(&sum, view->values, 2);
  EXPECT_EQ(ops::BFloat16ToFloat(sum), 256.0f);  // 257 is none: even twice
}

TEST(RowsMessageTest, WhatIsNoMessageIsRefused) {
  const RowLayout layout = {ops::Element::kF32, 4, 10};
  auto error = [&](const RowsMessage &message) {
    auto view = ReadRows(message, layout);
    EXPECT_EQ(view.status().code(), absl::StatusCode::kInvalidArgument);
    return std::string(view.status().message());
  };
  EXPECT_THAT(error({}), HasSubstr("must have at least 8 bytes, got: 0"));
  EXPECT_THAT(error(RowsMessage(7)), HasSubstr("must have at least 8 bytes, got: 7"));
  RowsMessage whole = Message({1, 3, 9}, {1, 2, 3});
  EXPECT_TRUE(ReadRows(whole, layout).ok());
  EXPECT_TRUE(ReadRows(Message({}, {}), layout).ok());
  for (size_t size = 8; size < whole.size(); ++size)
    EXPECT_THAT(error({whole.begin(), whole.begin() + long(size)}),
                HasSubstr("message of 3 rows must have 44 bytes"));
  whole.push_back(std::byte(0));
  EXPECT_THAT(error(whole), HasSubstr("got: 45"));
  EXPECT_THAT(error(Message({3, 3}, {1, 2})), HasSubstr("must ascend, got: 3 after 3"));
  EXPECT_THAT(error(Message({3, 1}, {1, 2})), HasSubstr("must ascend, got: 1 after 3"));
  EXPECT_THAT(error(Message({10}, {1})), HasSubstr("must be in 0..9, got: 10"));
  EXPECT_THAT(error(Message({-1}, {1})), HasSubstr("must be in 0..9, got: -1"));
  RowsMessage huge = Message({1}, {1});
  const uint64_t n = ~uint64_t{0} / 12 + 1;  // times 12 is small again
  std::memcpy(huge.data(), &n, 8);
  EXPECT_THAT(error(huge), HasSubstr("at most the block's 10 rows"));
}

TEST(RowsMessageTest, Sizes) {
  const RowLayout layout = {ops::Element::kF32, 12, 3};
  for (uint64_t bytes = 0; bytes < 200; ++bytes)
    EXPECT_EQ(IsRowsMessageSize(bytes, layout),
              bytes == 8 || bytes == 28 || bytes == 48 || bytes == 68)
        << bytes;
}

TEST(RowsMessageTest, ScatterPutsBackWhatGatherTook) {
  Floats table = {0, 1, 2, 3, 4, 5}, rows(4);
  const std::vector<int64_t> ids = {2, 0};
  auto *bytes = reinterpret_cast<std::byte *>(rows.data());
  GatherRows(Bytes(table.data()), ids, 8, bytes);
  EXPECT_THAT(rows, ElementsAre(4, 5, 0, 1));
  for (float &v : rows) v += 10;
  ScatterRows(bytes, ids, 8, reinterpret_cast<std::byte *>(table.data()));
  EXPECT_THAT(table, ElementsAre(10, 11, 2, 3, 14, 15));
}

}  // namespace
}  // namespace commsched::runtime
