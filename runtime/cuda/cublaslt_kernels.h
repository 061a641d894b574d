// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Library kernels by cuBLASLt: those of kind "matmul" (ops/onednn/matmul.h). Products of f32 are made of
// products of f32, not of TF32; sums of f16 and bf16 are kept in f32 and rounded once, as on CPUs, also
// where parts of a sum are summed apart.
//
// Operands of f64, f32, f16 or bf16; both inputs of one type, the output of the same or, of f16 and
// bf16, f32. What is refused besides is in matmul_layout.h.
//
// Each kernel is computed by one algorithm, the first that cuBLASLt proposes when the plan is loaded:
// one that has the same bits whenever it runs on the same values. Ranks with the same kernels,
// the same kind of device and the same cuBLASLt have the same.
#ifndef COMMSCHED_RUNTIME_CUDA_CUBLASLT_KERNELS_H
#define COMMSCHED_RUNTIME_CUDA_CUBLASLT_KERNELS_H

#include <cstdint>
#include <map>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "runtime/cuda/device_libraries.h"
#include "runtime/cuda/library_apis.h"
#include "runtime/cuda/library_kernels.h"
#include "runtime/cuda/matmul_layout.h"

namespace commsched::runtime::cuda {

class CublasLtKernels : public KernelLibrary {
 public:
  explicit CublasLtKernels(const CublasLtApi &api) : api_(api) {}
  ~CublasLtKernels() override;
  CublasLtKernels(const CublasLtKernels &) = delete;
  CublasLtKernels &operator=(const CublasLtKernels &) = delete;

  absl::Status Make(uint32_t index, const LibraryKernel &kernel, uint64_t workspace_bytes) override;
  absl::Status Enqueue(uint32_t index, absl::Span<const DevicePtr> operands, DevicePtr workspace,
                       Stream stream, bool once) override;
  size_t calls(uint32_t index) const override { return products_.at(index).layout.offsets.size(); }

 private:
  struct Product {
    MatmulLayout layout;
    CublasLtOperation operation = nullptr;
    CublasLtLayout a = nullptr, b = nullptr, d = nullptr;
    CublasLtAlgorithm algorithm = {};
    uint64_t workspace_bytes = 0;  // that it uses
  };

  absl::Status Describe(const LibraryKernel &kernel, Product *product);
  absl::Status Choose(const LibraryKernel &kernel, uint64_t workspace_bytes, Product *product);
  absl::Status Check(int status, const char *what) const;

  const CublasLtApi api_;
  CublasLtHandle handle_ = nullptr;
  std::map<uint32_t, Product> products_;  // by kernel
};

}  // namespace commsched::runtime::cuda

#endif  // COMMSCHED_RUNTIME_CUDA_CUBLASLT_KERNELS_H
