// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arrays to select from, and what is to be selected, by sorting.
#ifndef COMMSCHED_TESTS_OPS_SPARSE_DATA_H
#define COMMSCHED_TESTS_OPS_SPARSE_DATA_H

#include <cstdint>
#include <string>
#include <vector>

#include "ops/sparse/top_k.h"

namespace commsched::testing {

// An array of f32, f16 or bf16, as bits.
class Array {
 public:
  Array() = default;
  Array(ops::Element element, int64_t size)
      : element_(element), bytes_(size_t(size) * ops::ElementBytes(element) + 1) {}

  ops::Element element() const { return element_; }
  int64_t size() const { return int64_t((bytes_.size() - 1) / ops::ElementBytes(element_)); }
  void *data() { return bytes_.data(); }
  const void *data() const { return bytes_.data(); }
  uint32_t bits(int64_t i) const;
  void set_bits(int64_t i, uint32_t bits);
  float operator[](int64_t i) const;
  void Set(int64_t i, float value);  // rounds
  // Without the sign.
  uint32_t magnitude(int64_t i) const;
  bool operator==(const Array &) const = default;

 private:
  ops::Element element_ = ops::Element::kF32;
  std::vector<std::byte> bytes_;
};

enum class Data {
  kNormal,
  kHeavyTail,  // some magnitudes are much larger than others
  kTied,       // a few different magnitudes, either sign
  kAscending,
  kDescending,
  kConstant,
  kZero,  // of both signs
  kDenormal,
  kClusters,  // large ones are neighbours: a sample of lines misjudges them
  kAllBits,   // any finite bits
};
inline constexpr Data kAllData[] = {
    Data::kNormal, Data::kHeavyTail, Data::kTied, Data::kAscending, Data::kDescending,
    Data::kConstant, Data::kZero, Data::kDenormal, Data::kClusters, Data::kAllBits};

// The same for the same arguments.
Array MakeArray(ops::Element element, Data data, int64_t size, uint64_t seed);

// round(a + b), element by element.
Array Add(const Array &a, const Array &b);

// The places of the k first elements of largest magnitude, ascending.
std::vector<int64_t> FirstPlaces(const Array &x, int64_t k);

// The answer of a kernel.
struct Selected {
  absl::Status status;
  ops::sparse::NonFinite non_finite;
  std::vector<int64_t> places;
  Array values, residual;
  int64_t count = 0;                 // of SelectAbove
  ops::sparse::ThresholdState next;  // of TopKEvery
  bool damaged = false;              // something outside of the buffers was written
};

enum class Feedback {
  kNone,
  kInPlace,
  kApart
};

// Runs TopK, or SelectAbove if there is a threshold. Without `residual` there is
// no feedback.
Selected Select(const ops::sparse::TopKProblem &problem, const Array &x, const Array *residual,
                Feedback feedback, const double *threshold = nullptr);

// Runs TopKEvery.
Selected SelectEvery(const ops::sparse::TopKProblem &problem, int64_t every,
                     const ops::sparse::ThresholdState &state, const Array &x,
                     const Array *residual, Feedback feedback);

}  // namespace commsched::testing

#endif  // COMMSCHED_TESTS_OPS_SPARSE_DATA_H
