// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/sparse/top_k.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ops/sparse/float_types.h"

namespace commsched::ops::sparse {
namespace {

absl::Status ReportNonFinite(const NonFinite &found, int64_t size,
                             NonFinite *non_finite) {
  if (non_finite != nullptr) *non_finite = found;
  if (found.count == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      found.count, " of ", size,
      " elements to select from are NaN or infinite, the first is element ",
      found.first));
}

template <typename F>
uint32_t Magnitude(typename F::Storage v) {
  return F::Bits(v) & F::kMagnitude;
}

// The places of the first n in the order of magnitudes, ascending.
template <typename F>
void SelectPlaces(const typename F::Storage *x, int64_t size, int64_t n,
                  int64_t *places) {
  for (int64_t i = 0; i < size; ++i) places[i] = i;
  std::nth_element(places, places + n, places + size, [x](int64_t a, int64_t b) {
    return std::pair(~Magnitude<F>(x[a]), a) < std::pair(~Magnitude<F>(x[b]), b);
  });
  std::sort(places, places + n);
}

template <typename F>
absl::Status Select(const TopKProblem &problem, const TopKBuffers &buffers,
                    double threshold, int64_t *count, NonFinite *non_finite) {
  using S = typename F::Storage;
  const auto *x = static_cast<const S *>(buffers.input);
  if (buffers.residual != nullptr) {
    const auto *residual = static_cast<const S *>(buffers.residual);
    auto *sum = static_cast<S *>(buffers.new_residual);
    for (int64_t i = 0; i < problem.size; ++i)
      sum[i] = F::Store(F::Load(residual[i]) + F::Load(x[i]));
    x = sum;
  }
  NonFinite found;
  int64_t n = 0;
  for (int64_t i = 0; i < problem.size; ++i) {
    if (int32_t(Magnitude<F>(x[i])) >= F::kInfinity && found.count++ == 0)
      found.first = i;
    n += std::abs(double(F::Load(x[i]))) >= threshold;
  }
  if (absl::Status s = ReportNonFinite(found, problem.size, non_finite); !s.ok())
    return s;
  n = std::min(n, problem.k);
  auto *places = static_cast<int64_t *>(buffers.scratch);
  SelectPlaces<F>(x, problem.size, n, places);
  auto *values = static_cast<S *>(buffers.values);
  WithIndex(problem.index, [&](auto index) {
    auto *indices = static_cast<decltype(index) *>(buffers.indices);
    for (int64_t i = 0; i < problem.k; ++i) {
      values[i] = i < n ? x[places[i]] : S(0);
      indices[i] = decltype(index)(i < n ? places[i] : -1);
    }
  });
  if (buffers.new_residual != nullptr)
    for (int64_t i = 0; i < n; ++i)
      static_cast<S *>(buffers.new_residual)[places[i]] = S(0);
  *count = n;
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckTopK(const TopKProblem &problem) {
  if (problem.element != Element::kF32 && problem.element != Element::kF16 &&
      problem.element != Element::kBF16)
    return absl::InvalidArgumentError(
        absl::StrCat("elements must be f32, f16 or bf16, got: ",
                     ElementName(problem.element)));
  if (problem.index != Element::kI32 && problem.index != Element::kI64)
    return absl::InvalidArgumentError(absl::StrCat(
        "indices must be i32 or i64, got: ", ElementName(problem.index)));
  if (problem.size < 0 || problem.size > int64_t{1} << 46)
    return absl::InvalidArgumentError(
        absl::StrCat("size must be 0 to 2^46, got: ", problem.size));
  if (problem.index == Element::kI32 && problem.size > int64_t{1} << 31)
    return absl::InvalidArgumentError(
        absl::StrCat("i32 indices allow 2^31 elements, got: ", problem.size));
  if (problem.k < 0 || problem.k > problem.size)
    return absl::InvalidArgumentError(
        absl::StrCat("k must be 0 to ", problem.size, ", got: ", problem.k));
  if (problem.steps < 1 || problem.steps > 100)
    return absl::InvalidArgumentError(
        absl::StrCat("steps must be 1 to 100, got: ", problem.steps));
  if (problem.threads < 1 || problem.threads > 256)
    return absl::InvalidArgumentError(
        absl::StrCat("threads must be 1 to 256, got: ", problem.threads));
  return absl::OkStatus();
}

size_t TopKScratchBytes(const TopKProblem &problem) {
  return size_t(problem.size) * sizeof(int64_t) + 1;
}

absl::Status TopK(const TopKProblem &problem, const TopKBuffers &buffers,
                  NonFinite *non_finite, const ParallelFor &parallel) {
  int64_t count = 0;
  return WithFloat(problem.element, [&](auto f) {
    return Select<decltype(f)>(problem, buffers, -1, &count, non_finite);
  });
}

absl::Status SelectAbove(const TopKProblem &problem, double threshold,
                         const TopKBuffers &buffers, int64_t *count,
                         NonFinite *non_finite, const ParallelFor &parallel) {
  if (threshold != threshold)
    return absl::InvalidArgumentError("the threshold is NaN");
  return WithFloat(problem.element, [&](auto f) {
    return Select<decltype(f)>(problem, buffers, threshold, count, non_finite);
  });
}

}  // namespace commsched::ops::sparse
