// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sets of bytes of one buffer: for the check of memory (Regions.h). Nothing here is used
// to assign memory.

#ifndef COMMSCHED_PASSES_PLAN_BOXES_H
#define COMMSCHED_PASSES_PLAN_BOXES_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <optional>

namespace commsched::planexport {

/// The bytes offset + sum(i_d * stride_d), 0 <= i_d < size_d. Dimensions are in
/// the order of their strides, largest first; none of size 1, none that
/// continues the next one.
struct Box {
  int64_t offset = 0;
  llvm::SmallVector<std::pair<int64_t, int64_t>, 3> dims; // size, stride

  int64_t volume() const;
  int64_t end() const; // behind the last byte
  bool operator==(const Box &other) const = default;
};

/// `sizes` and `strides` in elements of `elementBytes`, `offset` in bytes.
Box makeBox(int64_t offset, llvm::ArrayRef<int64_t> sizes,
            llvm::ArrayRef<int64_t> strides, int64_t elementBytes);

enum class Relation {
  Disjoint,
  Equal,
  Contains,
  Inside,
  Overlap
};

/// How `a` lies to `b`. Overlap also where that is not decided.
Relation relate(const Box &a, const Box &b);

/// Whether relate() and subtract() know how they lie to each other. They do not where strides
/// do not divide each other, or dimensions are interleaved.
bool isTold(const Box &a, const Box &b);

/// Sorts dimensions, leaves out those of one element and joins neighbours.
void normalise(Box &box);

/// What two boxes have in common, if that is a box that can be told.
std::optional<Box> common(const Box &a, const Box &b);

/// Adds what is left of `box` without `other`, where that can be told; else all of it.
void subtract(const Box &box, const Box &other, llvm::SmallVectorImpl<Box> &left);

/// Sorts strides, largest first, without duplicates; false where one does not divide the
/// one before.
bool sortDividing(llvm::SmallVectorImpl<int64_t> &strides);

/// By digit, begin and end: digit i counts strides[i], and is below
/// strides[i - 1] / strides[i].
using Digits = llvm::SmallVector<std::pair<int64_t, int64_t>, 4>;

/// `box` in digits of `strides`, each of which divides the one before; nullopt if it is
/// no box there.
std::optional<Digits> digits(const Box &box, llvm::ArrayRef<int64_t> strides);

} // namespace commsched::planexport

#endif // COMMSCHED_PASSES_PLAN_BOXES_H
