// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A list as it travels: a row of 32-bit words (#cs.coordinates in the IR). First the
// bits of its values, in as many words as they fill; of 8-bit values a word behind
// them, their scale, a float; then their indices.
#ifndef COMMSCHED_OPS_SPARSE_LIST_MESSAGE_H
#define COMMSCHED_OPS_SPARSE_LIST_MESSAGE_H

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "ops/base/element.h"

namespace commsched::ops::sparse {

struct ListMessageType {
  Element element = Element::kF32;  // of the array: kF32, kF16 or kBF16
  Element value = Element::kF32;    // of values on the way: the same, or kF16, kBF16, kI8
  int64_t entries = 0;              // of the list, at least 1
};

// Words of a message.
int64_t ListMessageWords(const ListMessageType &type);

// target[i] += value for each entry of the list, in its order; entries of index -1
// mean nothing. `message` has ListMessageWords(type) words, aligned or not. kOutOfRange,
// before anything is written, for an index that is neither -1 nor in 0 .. size - 1.
absl::Status AddListMessage(const ListMessageType &type, absl::Span<const std::byte> message,
                            void *target, int64_t size);

}  // namespace commsched::ops::sparse

#endif  // COMMSCHED_OPS_SPARSE_LIST_MESSAGE_H
