// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The parts of an array from which elements are selected, and what has been
// found in each. Inside of ops/sparse.
#ifndef COMMSCHED_OPS_SPARSE_SELECTION_H
#define COMMSCHED_OPS_SPARSE_SELECTION_H

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "ops/sparse/scan.h"
#include "ops/sparse/top_k.h"

namespace commsched::ops::sparse {

// What is selected of some numbers: those above `value`, and the first `ties`
// that are equal to it.
struct Cut {
  int32_t value = -1;
  size_t ties = 0;
};

// The cut that selects the k largest (1 to n) of numbers below 2^31, which are
// reordered.
Cut CutLargest(uint32_t *numbers, size_t n, size_t k);

// The bits of an element without sign, and the largest that is finite.
uint32_t MagnitudeMask(Element element);
int32_t LargestFinite(Element element);

class Selection {
 public:
  // Works in buffers.scratch; the arguments must outlive the object.
  Selection(const TopKProblem &problem, const TopKBuffers &buffers,
            const ParallelFor &parallel);
  static size_t ScratchBytes(const TopKProblem &problem);

  struct Part {
    ScanPart scan;
    Hits hits;
    uint32_t *spare = nullptr;  // as many numbers as `hits` can hold
    bool non_finite = false;    // something among what was found was
  };
  const TopKProblem &problem() const { return problem_; }
  const TopKBuffers &buffers() const { return buffers_; }
  bool feedback() const { return buffers_.new_residual != nullptr; }
  // Whether the sum is there yet, if there is feedback.
  bool added() const { return added_; }
  // What is selected from: the input, or the sum.
  const void *array() const {
    return feedback() ? buffers_.new_residual : buffers_.input;
  }
  std::vector<Part> &parts() { return parts_; }
  // ScratchBytes / 12 numbers or more, and SampleSize; the parts' `spare`.
  uint32_t *spare() { return spare_; }
  // task(p) for each part, at once if there are threads.
  void ForEachPart(const std::function<void(size_t)> &task);

  // Says that the sum has been made: later scans are of it.
  void SetAdded();

  // Finds all elements whose magnitude is larger than `above`; if these are
  // more than k in a part, its k first at least. With feedback the first call
  // also makes the sum, and all put 0 in the place of what they find. Returns
  // how many were found, or -1 if some are not finite: then all is back in its
  // place.
  int64_t Find(int32_t above);

  // Puts what was found in a part, or in all, back, and forgets it.
  void PutBack(Part *part);
  void PutBack();
  // Of what was found in a part, keeps what the cut selects and puts the rest
  // back. Takes what it uses from cut->ties.
  void Keep(Part *part, Cut *cut);

  // Appends what was found in a part to the outputs.
  void Write(const Part &part);
  // Writes the n first (at most as many as were found) to the outputs, and puts
  // the others back.
  void WriteFirst(int64_t n);
  // Fills the outputs up to k.
  void WritePadding();

  // The elements of the array that are not finite.
  NonFinite CountNonFinite();

 private:
  // Keeps the first k of the part; returns the magnitude of the last, or marks
  // the part as not finite.
  int32_t KeepFirst(Part *part);
  void FindInPart(Part *part, int32_t above);

  const TopKProblem &problem_;
  const TopKBuffers &buffers_;
  const ParallelFor &parallel_;
  std::vector<Part> parts_;
  uint32_t *spare_ = nullptr;
  int64_t written_ = 0;
  bool added_ = false;
};

// How many elements SampledThreshold looks at.
int64_t SampleSize(const TopKProblem &problem);
// A magnitude above which there are likely `more` times k elements, and not
// many more: from a sample. -1 if it cannot be said.
int32_t SampledThreshold(Selection *selection, double more);
// A magnitude above which there are k elements at least: by a histogram, in one
// read, which also makes the sum if there is feedback.
int32_t HistogramThreshold(Selection *selection);
// The smallest magnitude that is `threshold` or more.
int32_t MagnitudeOf(Element element, double threshold);

// What is left to do for kMsTopK. False if elements are not finite.
bool RunMsTopK(Selection *selection);

// A number that depends on `seed` in no simple way: the first of SplitMix64 (S.
// Vigna) begun with it. The next one is that of a seed larger by kMixStep.
uint64_t Mix(uint64_t seed);
inline constexpr uint64_t kMixStep = 0x9e3779b97f4a7c15;

}  // namespace commsched::ops::sparse

#endif  // COMMSCHED_OPS_SPARSE_SELECTION_H
