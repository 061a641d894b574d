// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What NVIDIA's nccl-tests print: https://github.com/NVIDIA/nccl-tests.
#ifndef COMMSCHED_PLAN_NCCL_TESTS_LOG_H
#define COMMSCHED_PLAN_NCCL_TESTS_LOG_H

#include <cstdint>
#include <string>
#include <string_view>

#include "plan/nccl_costs.h"

namespace commsched::plan {

struct NcclTestsLog {
  int64_t ranks = 0;
  NcclTimes times;  // of all-reduces in place
};

// Reads the output of all_reduce_perf: rows of size, count, type, redop, root and twice time,
// algbw, busbw and #wrong, out of place and in place (those of older versions, whose header says so, have no root); lines that
// begin with # and lines of NCCL_DEBUG between them. Returns the empty string, or one line that
// says what is wrong and, but where something is missing, begins with the number of the line. A
// row must be right in itself: count elements of the type are the size, the size over the time is
// algbw and, for the ranks of the log, 2 (ranks - 1) / ranks of that busbw, as far as their digits
// go. The ranks are those that the log lists; of one that lists none, those that busbw speaks of.
// Refused as well: wrong results, other collectives, times of the CPU, calls that are aggregated,
// groups of ranks beside each other.
std::string ParseNcclTestsLog(std::string_view text, NcclTestsLog *log);

}  // namespace commsched::plan

#endif  // COMMSCHED_PLAN_NCCL_TESTS_LOG_H
