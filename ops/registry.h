// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Library kernels that compiled fragments call back for, by kind. Each family
// lives in a folder of its own and registers a factory here.
#ifndef COMMSCHED_OPS_REGISTRY_H
#define COMMSCHED_OPS_REGISTRY_H

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ops/element.h"

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

// Makes the kernel or says why it cannot be: unknown kind, shapes that do not
// fit together, an element type that no implementation takes. The calling
// thread must have called PrepareComputeThread. Thread-safe.
absl::StatusOr<std::unique_ptr<KernelInstance>> MakeKernel(
    const KernelDesc &desc);

// Checks what can be checked without making it: the kind is known, ranks and
// sizes of the operands fit, nothing overflows.
absl::Status CheckKernel(const KernelDesc &desc);

// Adds a kind, before any plan is loaded; replaces one of the same name.
void RegisterKernel(const std::string &kind, const KernelFamily &family);

// The kinds of ops/onednn: "matmul", "convolution_forward",
// "convolution_backward_data", "convolution_backward_weights".
void AddOneDnnKernels(std::map<std::string, KernelFamily> *kinds);

// Restricts the calling thread to kernels on one core: the ranks are the
// parallelism. Called once by each compute thread.
void PrepareComputeThread();

}  // namespace commsched::ops

#endif  // COMMSCHED_OPS_REGISTRY_H
