// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random steps on a machine without a device: nothing is wrong as they are planned, and every fault
// is found. `bench/run cuda_mutants` does more of it.
#include <gtest/gtest.h>

#include "absl/strings/str_join.h"
#include "tests/cases.h"
#include "tests/runtime/cuda/mutants.h"

namespace commsched::runtime::cuda {
namespace {

TEST(CudaGraph, EveryFaultIsFoundAndNothingElse) {
  MutantCounts counts;
  const Cases cases = casesOf(150);
  for (uint32_t seed = cases.first; seed < cases.end; ++seed) TryGraph(seed, 4, &counts);
  EXPECT_EQ(absl::StrJoin(counts.wrong, "\n"), "");
  EXPECT_EQ(counts.found(), counts.mutants());
  // Of each kind, so that the above says something.
  EXPECT_GT(counts.waits.mutants, cases.count());
  EXPECT_GT(counts.swaps.mutants, cases.count() / 5);
  EXPECT_GT(counts.places.mutants, cases.count() / 5);
  EXPECT_GT(counts.harmless, 0u);
}

}  // namespace
}  // namespace commsched::runtime::cuda
