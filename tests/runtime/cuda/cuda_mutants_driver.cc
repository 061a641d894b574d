// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cuda_mutants_driver SEED GRAPHS ORDERS: the random graphs from SEED on, with faults (mutants.h);
// says what is wrong, and ends with a line of JSON.
#include <cstdio>
#include <cstdlib>

#include "absl/strings/numbers.h"
#include "tests/runtime/cuda/mutants.h"

int main(int argc, char **argv) {
  using commsched::runtime::cuda::MutantCounts;
  uint64_t seed = 0, graphs = 0;
  int orders = 0;
  if (argc != 4 || !absl::SimpleAtoi(argv[1], &seed) || !absl::SimpleAtoi(argv[2], &graphs) ||
      !absl::SimpleAtoi(argv[3], &orders) || orders < 1) {
    std::fprintf(stderr, "usage: cuda_mutants_driver SEED GRAPHS ORDERS\n");
    return 2;
  }
  MutantCounts counts;
  for (uint64_t i = 0; i < graphs; ++i)
    commsched::runtime::cuda::TryGraph(seed + i, orders, &counts);
  for (const std::string &line : counts.wrong) std::printf("%s\n", line.c_str());
  const auto kind = [](const char *name, const MutantCounts::Of &of) {
    std::printf("\"%s\": {\"mutants\": %llu, \"found\": %llu, \"by_values\": %llu}, ", name,
                static_cast<unsigned long long>(of.mutants),
                static_cast<unsigned long long>(of.found),
                static_cast<unsigned long long>(of.by_values));
  };
  std::printf("{");
  kind("waits", counts.waits);
  kind("swaps", counts.swaps);
  kind("places", counts.places);
  std::printf(
      "\"graphs\": %llu, \"runs\": %llu, \"harmless\": %llu, \"mutants\": %llu, \"found\": %llu, "
      "\"false_alarms\": %llu, \"wrong\": %zu}\n",
      static_cast<unsigned long long>(counts.graphs), static_cast<unsigned long long>(counts.runs),
      static_cast<unsigned long long>(counts.harmless),
      static_cast<unsigned long long>(counts.mutants()),
      static_cast<unsigned long long>(counts.found()),
      static_cast<unsigned long long>(counts.false_alarms), counts.wrong.size());
  return counts.wrong.empty() ? 0 : 1;
}
