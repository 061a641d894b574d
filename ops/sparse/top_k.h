// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The k elements of largest magnitude of an array.
//
// Elements are ordered by magnitude, then by index: of equal ones the lowest
// index comes first. -0 and 0 are equal. The k first are selected, and come out
// in ascending order of their index, with their bits unchanged. The answer
// depends on the input only (kMsTopK: and on steps, seed and stop_early): not
// on the number of threads, nor on the vector instructions of the machine.
//
// With error feedback the array is residual + gradient, rounded to the element,
// and what is not selected is kept: the new residual is that sum, with 0 at the
// selected places.
//
// Pure functions of their arguments; any number of calls may run at once on
// different buffers.
#ifndef COMMSCHED_OPS_SPARSE_TOP_K_H
#define COMMSCHED_OPS_SPARSE_TOP_K_H

#include <cstddef>
#include <cstdint>
#include <functional>

#include "absl/status/status.h"
#include "ops/base/element.h"

namespace commsched::ops::sparse {

enum class TopKMethod : uint8_t {
  // Whichever of the next two is faster; the answer is the same.
  kExact = 0,
  // A histogram of the leading bits of the magnitudes, in one read; then one
  // more that takes what lies above the bucket of the k-th, and that bucket.
  kHistogram = 1,
  // A threshold from a sample, that lies somewhat below the k-th magnitude with
  // great likelihood; one read that takes what lies above it. If these are
  // fewer
  // than k, again with a lower one.
  kSampled = 2,
  // MSTopK: S. Shi et al., "Towards scalable distributed training of deep
  // learning on public cloud clusters", MLSys 2021, algorithm 1. Bisection of
  // the
  // threshold between mean and maximum, in `steps` reads; what is missing to k
  // is a run of those between the two closest thresholds, which begins at a
  // place
  // that depends on `seed`. Approximate, but exact where a threshold hits k.
  // Where no threshold leaves k or fewer the first set is empty (the paper's
  // initial threshold of 0 would take all).
  kMsTopK = 3,
};

struct TopKProblem {
  Element element = Element::kF32;  // kF32, kF16 or kBF16
  Element index = Element::kI32;    // kI32 or kI64
  int64_t size = 0;                 // elements; at most 2^31 with kI32
  int64_t k = 0;                    // 0 .. size
  TopKMethod method = TopKMethod::kExact;
  // Of kMsTopK:
  int steps = 30;  // 1 .. 100
  uint64_t seed = 0;
  bool stop_early = false;  // as soon as a threshold leaves exactly k
  // Parts of the array that may be worked on at once, 1 .. 256.
  int threads = 1;
};

// kInvalidArgument if the problem is not as stated above.
absl::Status CheckTopK(const TopKProblem &problem);

struct TopKBuffers {
  const void *input = nullptr;  // [size] elements; with feedback, the gradient
  // With feedback both, else neither: [size] elements. They may be the same
  // memory; other buffers overlap with nothing.
  const void *residual = nullptr;
  void *new_residual = nullptr;
  void *values = nullptr;   // [k] elements
  void *indices = nullptr;  // [k] indices
  void *scratch = nullptr;  // TopKScratchBytes, aligned to 64 bytes
};

// The seed of a step of kMsTopK in a training whose seed is `seed`: seeds of
// successive steps give successive numbers of SplitMix64 begun with `seed`.
uint64_t SeedOfStep(uint64_t seed, int32_t step);

// Bytes of scratch that TopK and SelectAbove need; no less than 1.
size_t TopKScratchBytes(const TopKProblem &problem);

// Elements that are NaN or infinite.
struct NonFinite {
  int64_t count = 0;
  int64_t first = 0;  // index of the first, if any
};

// Calls task(0), .., task(n - 1) in any order, also at once, and returns when
// all have returned.
using ParallelFor =
    std::function<void(int n, const std::function<void(int)> &task)>;

// Selects. `problem` has been checked. `parallel` runs the parts if there are
// several threads; without it threads are started for the call.
// kInvalidArgument if the array (with feedback, the sum) has elements that are
// not finite, saying how many and which is the first; `non_finite`, if given,
// says the same. Then values and indices hold anything, and the new residual
// holds the sum.
absl::Status TopK(const TopKProblem &problem, const TopKBuffers &buffers,
                  NonFinite *non_finite = nullptr,
                  const ParallelFor &parallel = nullptr);

// The same for the elements whose magnitude is `threshold` or more: all of
// them if they are at most k, else the first k in the order of the top of this
// file. *count gets their number; places behind it get value 0 and index -1.
// problem.method means nothing. kInvalidArgument also for a NaN as threshold.
absl::Status SelectAbove(const TopKProblem &problem, double threshold,
                         const TopKBuffers &buffers, int64_t *count,
                         NonFinite *non_finite = nullptr,
                         const ParallelFor &parallel = nullptr);

// A threshold that serves for several steps (Ok-Topk: S. Li, T. Hoefler,
// "Near-optimal sparse allreduce for distributed deep learning", PPoPP 2022).
// All zero to begin with. As memory: two floats.
struct ThresholdState {
  float magnitude = 0;
  float age = 0;  // steps since the last exact one, it included; below `every`
};
inline constexpr int64_t kMaxThresholdSteps = int64_t{1} << 24;

// One step: TopK if the age is 0, and then the threshold becomes the magnitude
// of the smallest element that was selected; else SelectAbove. TopK also if the
// threshold is not a positive number, or the age not one below `every`, which
// then counts as 0: a checkpoint may be of another plan. The age of the next
// state does not depend on the elements, so that ranks stay in step.
// every: 1 .. kMaxThresholdSteps. `next` is written unless there is an error.
absl::Status TopKEvery(const TopKProblem &problem, int64_t every,
                       const ThresholdState &state, const TopKBuffers &buffers,
                       ThresholdState *next, NonFinite *non_finite = nullptr,
                       const ParallelFor &parallel = nullptr);

}  // namespace commsched::ops::sparse

#endif  // COMMSCHED_OPS_SPARSE_TOP_K_H
