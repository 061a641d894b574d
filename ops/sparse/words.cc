// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/sparse/words.h"

#include <cstring>

#include "absl/strings/str_cat.h"
#include "ops/base/element.h"
#include "ops/sparse/operands.h"

namespace commsched::ops::sparse {
namespace {

constexpr int64_t kWordBytes = 4;

// Operand numbers.
size_t ValuesOf(const KernelDesc &desc) {
  return desc.kind == "pack_words" ? 0 : 1;
}

}  // namespace

absl::Status CheckWords(const KernelDesc &desc) {
  const size_t values = ValuesOf(desc), words = 1 - values;
  const Is v = Is::kWords, i = Is::kIndex;
  absl::Status s = values == 0 ? CheckOperands(desc, {v, i}, {"row"})
                               : CheckOperands(desc, {i, v}, {"row"});
  if (!s.ok()) return s;
  if (desc.operands[words].element != Element::kI32)
    return absl::InvalidArgumentError(
        absl::StrCat("operand ", words, " must be of type i32, got: ",
                     ElementName(desc.operands[words].element)));
  const int64_t row = Attribute(desc, "row", 0);
  const int64_t size = Rows(desc.operands[values]);
  if (row < 1 || row > size || size % row != 0)
    return absl::InvalidArgumentError(absl::StrCat(
        "row must be a divisor of ", size, " values, got: ", row));
  s = CheckLength(desc, values, size);
  if (!s.ok()) return s;
  const WordRows rows = WordRowsOf(desc);
  return CheckLength(desc, words,
                     rows.rows * int64_t(rows.word_bytes) / kWordBytes);
}

WordRows WordRowsOf(const KernelDesc &desc) {
  const KernelOperand &values = desc.operands[ValuesOf(desc)];
  const int64_t row = Attribute(desc, "row", 0);
  const auto bytes = row * int64_t(ElementBytes(values.element));
  return {Rows(values) / row, size_t(bytes),
          size_t((bytes + kWordBytes - 1) / kWordBytes * kWordBytes)};
}

void PackWords(const WordRows &rows, const void *values, void *words) {
  const auto *from = static_cast<const std::byte *>(values);
  auto *to = static_cast<std::byte *>(words);
  for (int64_t row = 0; row < rows.rows; ++row) {
    std::memcpy(to, from, rows.value_bytes);
    std::memset(to + rows.value_bytes, 0, rows.word_bytes - rows.value_bytes);
    from += rows.value_bytes;
    to += rows.word_bytes;
  }
}

void UnpackWords(const WordRows &rows, const void *words, void *values) {
  const auto *from = static_cast<const std::byte *>(words);
  auto *to = static_cast<std::byte *>(values);
  for (int64_t row = 0; row < rows.rows; ++row) {
    std::memcpy(to, from, rows.value_bytes);
    from += rows.word_bytes;
    to += rows.value_bytes;
  }
}

}  // namespace commsched::ops::sparse
