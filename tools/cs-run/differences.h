// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a job made and what the reference says, tensor by tensor.
#ifndef COMMSCHED_TOOLS_CS_RUN_DIFFERENCES_H
#define COMMSCHED_TOOLS_CS_RUN_DIFFERENCES_H

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "runtime/data/tensor_file.h"

namespace commsched::run {

// Of one tensor, over all steps.
struct Difference {
  std::string name;
  // The largest difference, of an element that was compared, with its bound and step.
  double largest = 0, bound = 0;
  uint64_t step = 0;
  // Elements of all steps: outside of their bound; not determined (anything may come
  // out, or the bound is as large as the tensor's largest magnitude); all.
  uint64_t outside = 0, undetermined = 0, elements = 0;
  // The element that is farthest outside, in bounds.
  double excess = 0, found = 0, wanted = 0, wrong_bound = 0;
  uint64_t wrong_step = 0, wrong_element = 0;

  bool determined() const { return elements == 0 || undetermined < elements; }
};

// Adds what step `step` made of a tensor of `element`: `found`, beside `wanted` and its
// bounds. All have as many elements.
void Compare(ops::Element element, absl::Span<const std::byte> found,
             absl::Span<const std::byte> wanted, absl::Span<const std::byte> bounds,
             uint64_t step, Difference *difference);

// A table, and the lines as JSON.
std::string Table(const std::vector<Difference> &differences);
std::string ToJson(const std::vector<Difference> &differences);
// The worst of those outside; kOk if there are none.
absl::Status Verdict(const std::vector<Difference> &differences, uint64_t steps,
                     const std::string &against);
// The line that says so, if all is well.
std::string Summary(const std::vector<Difference> &differences, uint64_t steps,
                    const std::string &against);

}  // namespace commsched::run

#endif  // COMMSCHED_TOOLS_CS_RUN_DIFFERENCES_H
