// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How parameters are cut into blocks, and which parameter server owns which.
// Numbers only: no IR. docs/parameter-server.md states both rules.

#ifndef COMMSCHED_PASSES_INSERT_PARAMETERBLOCKS_H
#define COMMSCHED_PASSES_INSERT_PARAMETERBLOCKS_H

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace commsched {

/// Rows of dimension 0 in each block of a parameter of `shape`, for at most
/// `servers` blocks of about `minElements` elements or more; for more blocks
/// where they would have more than `maxElements` (0: no bound) and more than one
/// row. Whole rows; the last block holds the remainder. A tensor of rank 0, or
/// without elements, is one block of 1 row, or of all rows.
std::vector<int64_t> sliceRows(llvm::ArrayRef<int64_t> shape, int64_t servers,
                               int64_t minElements, int64_t maxElements = 0);

enum class Placement {
  Balanced,
  RoundRobin,
  Hash
};
std::optional<Placement> symbolizePlacement(llvm::StringRef name);

/// What is placed on one server: a block, or several parameters that must stay
/// together.
struct PlacedUnit {
  std::string key;
  int64_t bytes;
};

/// The server of each unit. Balanced: by descending bytes, then in their order,
/// each to the server with the least bytes so far, the first of equals. Round
/// robin: in their order. Hash: 64-bit FNV-1a of the key modulo `servers`.
std::vector<int64_t> placeUnits(llvm::ArrayRef<PlacedUnit> units,
                                int64_t servers, Placement placement);

} // namespace commsched

#endif // COMMSCHED_PASSES_INSERT_PARAMETERBLOCKS_H
