// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/sparse/top_k.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "ops/sparse/float_types.h"
#include "ops/sparse/selection.h"

namespace commsched::ops::sparse {
namespace {

absl::Status ReportNonFinite(Selection *selection, NonFinite *non_finite) {
  const NonFinite found = selection->CountNonFinite();
  if (non_finite != nullptr) *non_finite = found;
  return absl::InvalidArgumentError(absl::StrCat(
      found.count, " of ", selection->problem().size,
      " elements to select from are NaN or infinite, the first is element ",
      found.first));
}

// Finds k elements at least, if there are so many: false if some are not
// finite.
bool FindEnough(Selection *selection) {
  const TopKProblem &problem = selection->problem();
  int32_t above = 0;
  if (problem.k == 0)
    above = LargestFinite(problem.element);
  else if (problem.method == TopKMethod::kHistogram)
    above = HistogramThreshold(selection);
  else
    above = SampledThreshold(selection, 1);
  int64_t found = selection->Find(above);
  if (found >= 0 && found < problem.k) {
    // The sample was not like the rest. More than that says that threshold.
    selection->PutBack();
    const double more =
        2 * double(problem.k) / double(std::max<int64_t>(found, 1));
    found = selection->Find(std::min(above, SampledThreshold(selection, more)));
  }
  if (found >= 0 && found < problem.k) {
    selection->PutBack();
    found = selection->Find(-1);
  }
  return found >= 0;
}

// The least magnitude of k values; 0 of none.
float SmallestMagnitude(const TopKProblem &problem, const void *values) {
  return WithFloat(problem.element, [&](auto f) {
    using F = decltype(f);
    const auto *v = static_cast<const typename F::Storage *>(values);
    uint32_t least = problem.k == 0 ? 0 : F::kMagnitude;
    for (int64_t i = 0; i < problem.k; ++i)
      least = std::min(least, F::Bits(v[i]) & F::kMagnitude);
    return float(F::Load(F::FromBits(least)));
  });
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
  return Selection::ScratchBytes(problem);
}

absl::Status TopK(const TopKProblem &problem, const TopKBuffers &buffers,
                  NonFinite *non_finite, const ParallelFor &parallel) {
  if (non_finite != nullptr) *non_finite = {};
  Selection selection(problem, buffers, parallel);
  if (problem.method == TopKMethod::kMsTopK) {
    if (!RunMsTopK(&selection)) return ReportNonFinite(&selection, non_finite);
    return absl::OkStatus();
  }
  if (!FindEnough(&selection)) return ReportNonFinite(&selection, non_finite);
  selection.WriteFirst(problem.k);
  return absl::OkStatus();
}

absl::Status SelectAbove(const TopKProblem &problem, double threshold,
                         const TopKBuffers &buffers, int64_t *count,
                         NonFinite *non_finite, const ParallelFor &parallel) {
  if (non_finite != nullptr) *non_finite = {};
  if (threshold != threshold)
    return absl::InvalidArgumentError("the threshold is NaN");
  Selection selection(problem, buffers, parallel);
  const int32_t above = problem.k == 0
                            ? LargestFinite(problem.element)
                            : MagnitudeOf(problem.element, threshold) - 1;
  const int64_t found = selection.Find(above);
  if (found < 0) return ReportNonFinite(&selection, non_finite);
  *count = std::min(found, problem.k);
  selection.WriteFirst(*count);
  selection.WritePadding();
  return absl::OkStatus();
}

absl::Status TopKEvery(const TopKProblem &problem, int64_t every,
                       const ThresholdState &state, const TopKBuffers &buffers,
                       ThresholdState *next, NonFinite *non_finite,
                       const ParallelFor &parallel) {
  int64_t age = 0;
  // Rounded: it may be a mean over ranks.
  if (state.age > 0 && state.age < float(every))
    age = std::llround(state.age) % every;
  float threshold = state.magnitude;
  absl::Status status;
  if (age == 0 || !(threshold > 0) || !std::isfinite(threshold)) {
    status = TopK(problem, buffers, non_finite, parallel);
    if (status.ok()) threshold = SmallestMagnitude(problem, buffers.values);
  } else {
    int64_t count = 0;
    status = SelectAbove(problem, double(threshold), buffers, &count,
                         non_finite, parallel);
  }
  if (status.ok()) *next = {threshold, float((age + 1) % every)};
  return status;
}

}  // namespace commsched::ops::sparse
