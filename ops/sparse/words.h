// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows of values as rows of 32-bit words: what messages of sparse gradients are
// made of, which have indices beside the values.
#ifndef COMMSCHED_OPS_SPARSE_WORDS_H
#define COMMSCHED_OPS_SPARSE_WORDS_H

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "ops/base/kernel.h"

namespace commsched::ops::sparse {

struct WordRows {
  int64_t rows;
  size_t value_bytes;  // of a row's values
  size_t word_bytes;   // of its words
};

// Of "pack_words" and "unpack_words" (ops/sparse/kernels.h).
absl::Status CheckWords(const KernelDesc &desc);
WordRows WordRowsOf(const KernelDesc &desc);

// A row begins at a word. Bits behind its values are 0, and are not read.
void PackWords(const WordRows &rows, const void *values, void *words);
void UnpackWords(const WordRows &rows, const void *words, void *values);

}  // namespace commsched::ops::sparse

#endif  // COMMSCHED_OPS_SPARSE_WORDS_H
