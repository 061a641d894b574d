// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the makers of the kernels of ops/sparse share. Inside of ops/sparse.
#ifndef COMMSCHED_OPS_SPARSE_KERNEL_INSTANCE_H
#define COMMSCHED_OPS_SPARSE_KERNEL_INSTANCE_H

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "ops/base/kernel.h"

namespace commsched::ops::sparse {

class SparseKernel : public KernelInstance {
 public:
  using Function = std::function<absl::Status(void *const *, void *)>;
  SparseKernel(Function run, size_t scratch_bytes = 0)
      : run_(std::move(run)), scratch_bytes_(scratch_bytes) {}
  size_t scratch_bytes() const override { return scratch_bytes_; }
  absl::Status Run(void *const *operands, void *scratch) override {
    return run_(operands, scratch);
  }
  std::string implementation() const override { return "sparse"; }

 private:
  const Function run_;
  const size_t scratch_bytes_;
};

inline std::unique_ptr<KernelInstance> Kernel(SparseKernel::Function run,
                                              size_t scratch_bytes = 0) {
  return std::make_unique<SparseKernel>(std::move(run), scratch_bytes);
}

// The kinds that select from an array: top_k_kernels.cc.
void AddTopKKernels(std::map<std::string, KernelFamily> *kinds);

}  // namespace commsched::ops::sparse

#endif  // COMMSCHED_OPS_SPARSE_KERNEL_INSTANCE_H
