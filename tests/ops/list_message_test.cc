// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/sparse/list_message.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

#include "ops/base/element.h"

namespace commsched {
namespace {

using ops::Element;
using ops::sparse::ListMessageType;

// What element i of a list is on the way, by the bytes that the description names.
float ValueAt(const ListMessageType &type, const std::vector<std::byte> &message, int64_t i) {
  if (type.value == Element::kF32) {
    float value = 0;
    std::memcpy(&value, message.data() + 4 * i, 4);
    return value;
  }
  if (type.value == Element::kI8) {
    float scale = 0;
    std::memcpy(&scale, message.data() + (type.entries + 3) / 4 * 4, 4);
    return float(int8_t(message[size_t(i)])) * scale;
  }
  uint16_t bits = 0;
  std::memcpy(&bits, message.data() + 2 * i, 2);
  return type.value == Element::kF16 ? ops::HalfToFloat(bits) : ops::BFloat16ToFloat(bits);
}

TEST(ListMessageTest, AddsWhatTheBytesSay) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 400; ++round) {
    const Element values[] = {Element::kF32, Element::kF16, Element::kBF16, Element::kI8};
    ListMessageType type{Element::kF32, values[random() % 4], 1 + int64_t(random() % 9)};
    const int64_t size = type.entries + int64_t(random() % 20);
    const size_t width = ops::ElementBytes(type.value);
    const int64_t head = (type.entries * int64_t(width) + 3) / 4 + (width == 1 ? 1 : 0);
    ASSERT_EQ(ops::sparse::ListMessageWords(type), head + type.entries);
    std::vector<std::byte> message(size_t(4 * (head + type.entries)));
    for (int64_t i = 0; i < type.entries; ++i) {
      const float value = float(int64_t(random() % 2001) - 1000) / 64;
      if (width == 4) std::memcpy(message.data() + 4 * i, &value, 4);
      if (width == 1) message[size_t(i)] = std::byte(int8_t(int64_t(random() % 255) - 127));
      const uint16_t half = type.value == Element::kF16 ? ops::FloatToHalf(value)
                                                        : ops::FloatToBFloat16(value);
      if (width == 2) std::memcpy(message.data() + 2 * i, &half, 2);
    }
    const float scale = 0.37f;
    if (width == 1) std::memcpy(message.data() + 4 * (head - 1), &scale, 4);
    std::vector<int32_t> indices;
    for (int64_t i = 0; i < type.entries; ++i)
      indices.push_back(random() % 5 == 0 ? -1 : int32_t(random() % uint64_t(size)));
    std::memcpy(message.data() + 4 * head, indices.data(), 4 * indices.size());
    std::vector<float> target(size_t(size), 0.5f), want = target;
    for (int64_t i = 0; i < type.entries; ++i)
      if (indices[size_t(i)] >= 0)
        want[size_t(indices[size_t(i)])] += ValueAt(type, message, i);
    // As the network may have put it.
    std::vector<std::byte> moved(message.size() + 1);
    std::memcpy(moved.data() + 1, message.data(), message.size());
    ASSERT_TRUE(ops::sparse::AddListMessage(type, {moved.data() + 1, message.size()},
                                            target.data(), size)
                    .ok());
    EXPECT_EQ(target, want) << round;
  }
}

TEST(ListMessageTest, RefusesWhatIsNoList) {
  const ListMessageType type{Element::kF32, Element::kF32, 1};
  const int32_t outside[2] = {0, 4};
  float target[4] = {1, 2, 3, 4};
  const auto bytes = [&](size_t count) {
    return absl::Span<const std::byte>(reinterpret_cast<const std::byte *>(outside), count);
  };
  EXPECT_EQ(ops::sparse::AddListMessage(type, bytes(8), target, 4).code(),
            absl::StatusCode::kOutOfRange);
  EXPECT_THAT(std::string(ops::sparse::AddListMessage(type, bytes(7), target, 4).message()),
              ::testing::HasSubstr("a list must have 8 bytes, got: 7"));
  EXPECT_THAT(target, ::testing::ElementsAre(1, 2, 3, 4));
}

}  // namespace
}  // namespace commsched
