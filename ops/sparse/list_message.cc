// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/sparse/list_message.h"

#include <cstring>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ops/sparse/lists.h"
#include "ops/sparse/quantize.h"

namespace commsched::ops::sparse {
namespace {

constexpr int64_t kWordBytes = 4;

bool HasScale(const ListMessageType &type) { return type.value == Element::kI8; }

int64_t WordsOfValues(const ListMessageType &type) {
  const int64_t bytes = type.entries * int64_t(ElementBytes(type.value));
  return (bytes + kWordBytes - 1) / kWordBytes;
}

}  // namespace

int64_t ListMessageWords(const ListMessageType &type) {
  return WordsOfValues(type) + (HasScale(type) ? 1 : 0) + type.entries;
}

absl::Status AddListMessage(const ListMessageType &type, absl::Span<const std::byte> message,
                            void *target, int64_t size) {
  const int64_t words = ListMessageWords(type);
  if (int64_t(message.size()) != words * kWordBytes)
    return absl::InvalidArgumentError(absl::StrCat("a list must have ", words * kWordBytes,
                                                   " bytes, got: ", message.size()));
  // Messages lie where the network has put them.
  std::vector<int32_t> aligned(size_t(words), 0);
  std::memcpy(aligned.data(), message.data(), message.size());
  const int32_t *indices = aligned.data() + words - type.entries;
  const void *values = aligned.data();
  std::vector<uint32_t> wide;
  if (type.value != type.element) {
    float scale = 0;
    if (HasScale(type)) std::memcpy(&scale, aligned.data() + WordsOfValues(type), sizeof scale);
    wide.resize(size_t(type.entries));
    Dequantize(type.value, type.element, values, type.entries, type.entries,
               HasScale(type) ? &scale : nullptr, wide.data());
    values = wide.data();
  }
  return ScatterAdd({type.element, Element::kI32, 1}, indices, values, type.entries,
                    /*scale=*/1.0, target, size);
}

}  // namespace commsched::ops::sparse
