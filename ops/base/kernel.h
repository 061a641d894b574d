// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A library kernel that compiled fragments call back for.
#ifndef COMMSCHED_OPS_BASE_KERNEL_H
#define COMMSCHED_OPS_BASE_KERNEL_H

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ops/base/element.h"

namespace commsched::ops {

struct KernelOperand {
  Element element = Element::kF32;
  std::vector<int64_t> dims;     // in the kind's canonical order, all >= 1
  std::vector<int64_t> strides;  // in elements, >= 0, one per dimension
};

struct KernelDesc {
  std::string kind;
  std::vector<KernelOperand> operands;  // inputs, then the output
  std::map<std::string, std::vector<int64_t>> attributes;
  bool accumulate = false;  // output += result; else output = result
};

// One prepared kernel. Used by one thread at a time, which has called
// PrepareComputeThread.
class KernelInstance {
 public:
  virtual ~KernelInstance() = default;
  // Bytes of scratch that Run needs.
  virtual size_t scratch_bytes() const { return 0; }
  // Runs on the operands' first elements. `scratch` is 64-byte aligned and
  // belongs to the kernel during the call. Blocks until the result is there.
  virtual absl::Status Run(void *const *operands, void *scratch) = 0;
  // Name of the implementation chosen, for reports and tests.
  virtual std::string implementation() const = 0;
};

// How a kind is checked and made.
struct KernelFamily {
  absl::Status (*check)(const KernelDesc &) = nullptr;
  absl::StatusOr<std::unique_ptr<KernelInstance>> (*make)(const KernelDesc &) =
      nullptr;
};

// What a folder of kernels adds to those of the registry.
using KernelFamilies = std::map<std::string, KernelFamily>;

}  // namespace commsched::ops

#endif  // COMMSCHED_OPS_BASE_KERNEL_H
