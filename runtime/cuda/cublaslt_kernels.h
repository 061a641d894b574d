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
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/cuda/library_apis.h"
#include "runtime/cuda/library_kernels.h"
#include "runtime/cuda/load.h"
#include "runtime/cuda/matmul_layout.h"

namespace commsched::runtime::cuda {

// What an algorithm may use of each stream's workspace.
inline constexpr uint64_t kMostWorkspaceBytes = uint64_t{32} << 20;

class CublasLtKernels : public LibraryKernels {
 public:
  // `driver` outlives it.
  CublasLtKernels(const DriverApi &driver, const CublasLtApi &api) : driver_(driver), api_(api) {}
  ~CublasLtKernels() override;
  CublasLtKernels(const CublasLtKernels &) = delete;
  CublasLtKernels &operator=(const CublasLtKernels &) = delete;

  // Runs each kernel once, on zeros: a driver may load a kernel when it is launched first, and wait for
  // streams then, which may be waiting for the host. Needs as much memory as the largest operand for the
  // time. kResourceExhausted: there is too little.
  absl::Status Prepare(const std::vector<LibraryKernel> &kernels, uint32_t streams) override;
  absl::Status Enqueue(uint32_t kernel, absl::Span<const DevicePtr> operands, Stream stream,
                       uint32_t number) override;
  // The workspaces.
  uint64_t device_bytes() const override { return workspaces_.size() * workspace_bytes_; }

 private:
  struct Product {
    MatmulLayout layout;
    CublasLtOperation operation = nullptr;
    CublasLtLayout a = nullptr, b = nullptr, d = nullptr;
    CublasLtAlgorithm algorithm = {};
  };

  absl::Status Make(const LibraryKernel &kernel, Product *product);
  absl::Status Choose(const LibraryKernel &kernel, Product *product);
  absl::Status RunEach(const std::vector<LibraryKernel> &kernels);
  absl::Status RunEachOn(DevicePtr memory, uint64_t bytes);
  absl::Status EnqueueOn(const Product &product, absl::Span<const DevicePtr> operands,
                         size_t most_calls, DevicePtr workspace, Stream stream);
  absl::Status Allocate(uint64_t bytes, const char *what, DevicePtr *memory);
  absl::Status Check(int status, const char *what) const;
  absl::Status Check(DriverResult result, const char *what) const {
    return ToStatus(driver_, result, what);
  }

  const DriverApi &driver_;
  const CublasLtApi api_;
  CublasLtHandle handle_ = nullptr;
  std::vector<Product> products_;      // by kernel
  uint64_t workspace_bytes_ = 0;       // the most that an algorithm uses
  std::vector<DevicePtr> workspaces_;  // of each stream
};

// With the cuBLASLt of this machine. Errors as those of LoadCublasLt.
absl::StatusOr<std::unique_ptr<LibraryKernels>> LoadLibraryKernels(const DriverApi &driver,
                                                                   const Libraries &libraries);

}  // namespace commsched::runtime::cuda

#endif  // COMMSCHED_RUNTIME_CUDA_CUBLASLT_KERNELS_H
