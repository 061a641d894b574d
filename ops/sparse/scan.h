// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One read of an array, in the widest vectors of the machine, that finds the
// elements of large magnitude. A magnitude is the bits of the element without
// the sign, as an integer: 0 .. 0x7fffffff, for 16-bit elements .. 0x7fff. NaN
// and infinity are the largest.
#ifndef COMMSCHED_OPS_SPARSE_SCAN_H
#define COMMSCHED_OPS_SPARSE_SCAN_H

#include <cstddef>
#include <cstdint>

#include "ops/base/element.h"

namespace commsched::ops::sparse {

enum class ScanMode : uint8_t {
  kRead,      // of x
  kAdd,       // of sum = residual + x, which is written
  kAddClear,  // the same, but 0 is written for what is found
  kClear,     // of sum, in which what is found is set to 0
};

// A part of an array, at most 2^32 elements, and what is done with it. The
// pointers are those of the array. residual and sum may be the same memory.
struct ScanPart {
  Element element = Element::kF32;  // kF32, kF16 or kBF16
  ScanMode mode = ScanMode::kRead;
  const void *x = nullptr;         // kRead, kAdd, kAddClear
  const void *residual = nullptr;  // kAdd, kAddClear
  void *sum = nullptr;             // all but kRead
  size_t begin = 0, end = 0;
};

// What a scan finds, in ascending order: the bits of the elements and their
// places, counted from the beginning of the part.
struct Hits {
  uint32_t *bits = nullptr;
  uint32_t *at = nullptr;
  size_t count = 0;
  size_t capacity = 0;
};

// A scan wants room for so many more hits when it begins, and stops where less
// is left.
inline constexpr size_t kScanRoom = 64;

// Appends to `hits` the elements from place `from` of the array on whose
// magnitude is larger than `above` (-1 or more). Returns where it stopped: the
// end of the part, if there was room.
size_t Scan(const ScanPart &part, size_t from, int32_t above, Hits *hits);

// Elements begin .. end - 1 whose magnitude is larger than `above`.
size_t CountAbove(Element element, const void *x, size_t begin, size_t end,
                  int32_t above);

// The sum of |x| over elements begin .. end - 1, at most kSumGroup, and the
// largest magnitude. The order of additions is fixed, and one that many threads
// can follow: of 1024 elements (32 rows of 32) first each column from the top,
// then the 32 sums by halves (the first 16 and the last 16 in pairs, ...); then
// by halves the sums of 32 such tiles, with 0 for those that are not there.
inline constexpr size_t kSumGroup = 32 * 1024;
struct MagnitudeSum {
  double sum = 0;
  int32_t largest = 0;
};
MagnitudeSum SumMagnitudes(Element element, const void *x, size_t begin,
                           size_t end);

// Reads elements begin .. end - 1 and does next to nothing: the largest
// magnitude. What a read costs, for comparison.
int32_t LargestMagnitude(Element element, const void *x, size_t begin,
                         size_t end);

// Restricts the functions above to targets of Highway (HWY_AVX2, ...; 0: all
// that the machine has). For tests; not while others call them. Returns those
// that this build has for the machine.
int64_t RestrictScanTargets(int64_t targets);

}  // namespace commsched::ops::sparse

#endif  // COMMSCHED_OPS_SPARSE_SCAN_H
