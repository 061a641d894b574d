// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Usage: cs-chaos [--seed S] [--runs N] [--jobs J] [--trace]
//
// Runs the jobs of seeds S, S + 1, ..., S + N - 1. Prints each finding with its seed,
// which replays it, and as the last line JSON. --trace prints what happened in each run.
// Exit status 1 if anything was found.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <thread>
#include <vector>

#include "absl/strings/numbers.h"
#include "tests/chaos/chaos.h"

int main(int argc, char **argv) {
  uint64_t seed = 1, runs = 1000, jobs = std::max(1u, std::thread::hardware_concurrency());
  bool trace = false;
  for (int i = 1; i < argc; ++i) {
    uint64_t *value = std::strcmp(argv[i], "--seed") == 0   ? &seed
                      : std::strcmp(argv[i], "--runs") == 0 ? &runs
                      : std::strcmp(argv[i], "--jobs") == 0 ? &jobs
                                                            : nullptr;
    if (std::strcmp(argv[i], "--trace") == 0) {
      trace = true;
    } else if (value == nullptr || ++i == argc || !absl::SimpleAtoi(argv[i], value) ||
               (value == &jobs && jobs == 0)) {
      std::fprintf(stderr,
                   "cs-chaos: usage: cs-chaos [--seed S] [--runs N] [--jobs J] [--trace]\n");
      return 2;
    }
  }
  const auto begin = std::chrono::steady_clock::now();
  std::atomic<uint64_t> next{seed}, findings{0}, failed{0};
  std::mutex print;
  std::vector<std::thread> threads;
  for (uint64_t j = 0; j < jobs; ++j)
    threads.emplace_back([&] {
      for (uint64_t s = next++; s < seed + runs; s = next++) {
        const auto run = commsched::runtime::core::RunChaos(s);
        failed += run.failed;
        findings += !run.wrong.empty();
        if (!trace && run.wrong.empty()) continue;
        const std::lock_guard<std::mutex> lock(print);
        if (trace)
          for (const std::string &line : run.trace) std::printf("%s\n", line.c_str());
        if (!run.wrong.empty())
          std::printf("finding: seed %llu: %s\n", static_cast<unsigned long long>(s),
                      run.wrong.c_str());
        std::fflush(stdout);
      }
    });
  for (std::thread &thread : threads) thread.join();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  std::printf("{\"runs\": %llu, \"findings\": %llu, \"failed\": %llu, \"runs_per_s\": %.0f}\n",
              static_cast<unsigned long long>(runs),
              static_cast<unsigned long long>(findings.load()),
              static_cast<unsigned long long>(failed.load()), double(runs) / took.count());
  return findings != 0;
}
