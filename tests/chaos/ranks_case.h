// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random jobs of ranks that exchange gradients, all of them or groups, and update
// parameters with the sums, in integers: bit for bit the same in any order.
#ifndef COMMSCHED_TESTS_CHAOS_RANKS_CASE_H
#define COMMSCHED_TESTS_CHAOS_RANKS_CASE_H

#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "runtime/core/matcher.h"
#include "runtime/program/program.h"

namespace commsched::runtime::core {

using Tensor = std::vector<uint32_t>;

// Of each parameter a step has a gradient (kDelay), if `copies` a copy of it to the host,
// an exchange, and an update (kDelay), or one for each part of the exchange, which waits for
// that alone. An instruction's name says which; what it is about is its parameter, `source`.
struct RanksCase {
  uint64_t steps = 1;
  std::vector<int64_t> elements;  // by parameter
  // By parameter: whether each rank gets the gradients of all, as of sparse ones, instead
  // of their sum; its buffer has a part for each rank then.
  std::vector<bool> gathers;
  // By parameter: whose gradients are added up, in the order in which the exchange counts
  // them. Another rank updates by its own.
  std::vector<std::vector<int>> groups;
  // By parameter: the elements of the parts of its exchange; none: it has no parts.
  std::vector<std::vector<int64_t>> parts;
  bool copies = false;
  std::vector<StreamInfo> streams;
  // The program as several plans that can take each other's place, by rank. A job begins
  // with the first.
  std::vector<std::vector<FunctionProgram>> plans;
  MessageLimits limits;  // of each end of each connection
  size_t packet_bytes = 0;

  int nodes() const { return int(plans[0].size()); }
  // Of a parameter: where a part is, [first, last).
  std::pair<size_t, size_t> RangeOf(uint32_t parameter, uint32_t part) const;
  size_t buffer_elements(uint32_t parameter) const {
    return size_t(elements[parameter]) * (gathers[parameter] ? plans[0].size() : 1);
  }
};
RanksCase RandomRanks(std::mt19937_64 &random);

inline constexpr char kGradient[] = "gradient", kUpdate[] = "update";

// An element of a gradient.
uint32_t GradientOf(int rank, uint64_t call, uint32_t parameter, size_t element,
                    uint32_t value);
inline uint32_t Updated(uint32_t value, uint32_t sum) { return 3 * value + sum; }

// The parameters of each rank after so many steps, without any machine.
std::vector<std::vector<Tensor>> ParametersAfter(const RanksCase &ranks, uint64_t steps);

}  // namespace commsched::runtime::core

#endif  // COMMSCHED_TESTS_CHAOS_RANKS_CASE_H
