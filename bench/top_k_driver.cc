// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What bench/top_k.py measures, as a library that it loads: each function does its
// work `repeats` times and returns the seconds of one, or a negative number if it
// failed.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <numeric>
#include <vector>

#include "ops/sparse/scan.h"
#include "ops/sparse/top_k.h"

namespace {

using commsched::ops::Element;
using namespace commsched::ops::sparse;

double Seconds(int repeats, const std::function<bool()> &work) {
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  for (int i = 0; i < repeats; ++i)
    if (!work()) return -1;
  return std::chrono::duration<double>(Clock::now() - begin).count() / repeats;
}

volatile uint64_t g_sink;

// Unsigned, so that the order of the additions is the compiler's to choose.
__attribute__((target_clones("avx512f", "avx2", "default"))) uint32_t Sum(const uint32_t *x,
                                                                          int64_t size) {
  uint32_t sum = 0;
  for (int64_t i = 0; i < size; ++i) sum += x[i];
  return sum;
}

__attribute__((target_clones("avx512f", "avx2", "default"))) void Add(const float *x, float *sum,
                                                                      int64_t size) {
  for (int64_t i = 0; i < size; ++i) sum[i] += x[i];
}

TopKBuffers BuffersOf(const TopKProblem &problem, const void *x, const void *residual,
                      void *new_residual, void *values, int32_t *indices,
                      std::vector<std::byte> *memory) {
  // Touched before: a plan's scratch is there from the beginning.
  memory->resize(TopKScratchBytes(problem) + 64);
  TopKBuffers buffers;
  buffers.input = x;
  buffers.residual = residual;
  buffers.new_residual = new_residual;
  buffers.values = values;
  buffers.indices = indices;
  buffers.scratch = memory->data() + 64 - uintptr_t(memory->data()) % 64;
  return buffers;
}

}  // namespace

extern "C" {

double TopKDriverReadMax(const void *x, int64_t bytes, int repeats) {
  return Seconds(repeats, [&] {
    g_sink = uint64_t(LargestMagnitude(Element::kF32, x, 0, size_t(bytes) / 4));
    return true;
  });
}

double TopKDriverReadSum(const void *x, int64_t bytes, int repeats) {
  return Seconds(repeats, [&] {
    g_sink = Sum(static_cast<const uint32_t *>(x), bytes / 4);
    return true;
  });
}

// What error feedback cannot do without: two arrays read, one written.
double TopKDriverAdd(const float *x, float *sum, int64_t size, int repeats) {
  return Seconds(repeats, [&] {
    Add(x, sum, size);
    g_sink = uint64_t(sum[size / 2] > 0);
    return true;
  });
}

// `residual` and `new_residual` may be null, both.
double TopKDriverSelect(int element, int method, int stop_early, int threads, const void *x,
                        const void *residual, void *new_residual, int64_t size, int64_t k,
                        void *values, int32_t *indices, int repeats) {
  TopKProblem problem;
  problem.element = Element(element);
  problem.method = TopKMethod(method);
  problem.stop_early = stop_early != 0;
  problem.threads = threads;
  problem.size = size;
  problem.k = k;
  if (!CheckTopK(problem).ok()) return -1;
  std::vector<std::byte> memory;
  const TopKBuffers buffers =
      BuffersOf(problem, x, residual, new_residual, values, indices, &memory);
  return Seconds(repeats, [&] { return TopK(problem, buffers).ok(); });
}

// In a step between exact ones: `threshold` was found in an earlier one.
double TopKDriverSelectAbove(float threshold, const float *x, const float *residual,
                             float *new_residual, int64_t size, int64_t k, float *values,
                             int32_t *indices, int repeats) {
  TopKProblem problem;
  problem.element = Element::kF32;
  problem.size = size;
  problem.k = k;
  if (!CheckTopK(problem).ok()) return -1;
  std::vector<std::byte> memory;
  const TopKBuffers buffers =
      BuffersOf(problem, x, residual, new_residual, values, indices, &memory);
  return Seconds(repeats, [&] {
    int64_t count = 0;
    return SelectAbove(problem, threshold, buffers, &count).ok() && count == k;
  });
}

// What one would write with the standard library: the k-th magnitude, then a scan
// that takes values and indices. `keys` is scratch for size floats.
double TopKDriverNthElement(const float *x, int64_t size, int64_t k, float *values,
                            int32_t *indices, float *keys, int repeats) {
  return Seconds(repeats, [&] {
    for (int64_t i = 0; i < size; ++i) keys[i] = std::fabs(x[i]);
    std::nth_element(keys, keys + (k - 1), keys + size, std::greater<float>());
    const float kth = keys[k - 1];
    int64_t ties = k, n = 0;
    for (int64_t i = 0; i < k; ++i) ties -= keys[i] > kth;
    for (int64_t i = 0; i < size && n < k; ++i) {
      const float a = std::fabs(x[i]);
      if (a > kth || (a == kth && ties-- > 0)) {
        values[n] = x[i];
        indices[n++] = int32_t(i);
      }
    }
    return n == k;
  });
}

}  // extern "C"
