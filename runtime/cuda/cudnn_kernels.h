// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Library kernels by cuDNN's graph API: convolutions and their two gradients
// (ops/base/convolution_shape.h). Sums of f16 and bf16 are kept in f32 and rounded once, as on CPUs; those
// of f32 are of products of f32, not of TF32.
//
// Each kernel is computed by one engine: the first of those that cuDNN's heuristics propose, and then of
// those to fall back to, that has the same bits whenever it runs on the same values, computes sums of products and
// nothing else (no FFT, no Winograd), in the precision above, within the workspace. Nothing is timed for it, so ranks with
// the same kernels, the same kind of device and the same cuDNN have the same engines. An engine of which
// a later cuDNN notes what is not known here is not taken.
//
// What is refused is in convolution_layout.h, and what no engine computes.
#ifndef COMMSCHED_RUNTIME_CUDA_CUDNN_KERNELS_H
#define COMMSCHED_RUNTIME_CUDA_CUDNN_KERNELS_H

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "runtime/cuda/convolution_layout.h"
#include "runtime/cuda/device_libraries.h"
#include "runtime/cuda/library_apis.h"

namespace commsched::runtime::cuda {

class CudnnKernels : public KernelLibrary {
 public:
  explicit CudnnKernels(const CudnnApi &api) : api_(api) {}
  ~CudnnKernels() override;
  CudnnKernels(const CudnnKernels &) = delete;
  CudnnKernels &operator=(const CudnnKernels &) = delete;

  absl::Status Make(uint32_t index, const LibraryKernel &kernel, uint64_t workspace_bytes) override;
  absl::Status Enqueue(uint32_t index, absl::Span<const DevicePtr> operands, DevicePtr workspace,
                       Stream stream, bool once) override;

 private:
  // Descriptors that are destroyed in the reverse order.
  using Descriptors = std::vector<CudnnDescriptor>;
  struct Convolution {
    Descriptors parts;  // of which the plan is made
    CudnnDescriptor plan = nullptr;
    // For the addresses that it has been called with: the workspace, and each operand.
    std::map<std::vector<DevicePtr>, CudnnDescriptor> packs;
  };
  // Why engines were not taken.
  struct Rejected {
    int proposed = 0, nondeterministic = 0, inexact = 0, large = 0, failed = 0;
    int status = kCudnnSuccess;  // of the last one that failed
    std::string ToString(const CudnnApi &api) const;
  };

  absl::Status MakeGraph(const ConvolutionLayout &layout, const std::vector<uint32_t> &alignments,
                         Descriptors *parts, CudnnDescriptor *graph);
  absl::Status MakeTensor(const ConvolutionTensor &tensor, uint32_t alignment, Descriptors *parts,
                          CudnnDescriptor *made);
  // OK without a plan, and why, if no engine of this mode is taken.
  absl::Status Choose(CudnnDescriptor graph, int mode, ops::Element element, uint64_t workspace_bytes,
                      Convolution *convolution, Rejected *rejected);
  absl::Status Try(CudnnDescriptor config, ops::Element element, uint64_t workspace_bytes,
                   Convolution *convolution, Rejected *rejected);
  absl::Status MakePack(absl::Span<const DevicePtr> operands, DevicePtr workspace,
                        CudnnDescriptor *pack);

  absl::Status Create(int type, Descriptors *owner, CudnnDescriptor *made);
  absl::Status Finalize(CudnnDescriptor descriptor, const char *what);
  template <typename T>
  absl::Status Set(CudnnDescriptor descriptor, int attribute, int type, absl::Span<const T> values);
  template <typename T>
  absl::Status Set(CudnnDescriptor descriptor, int attribute, int type, const T &value) {
    return Set(descriptor, attribute, type, absl::MakeConstSpan(&value, 1));
  }
  absl::Status Count(CudnnDescriptor descriptor, int attribute, int type, int64_t *count);
  void DestroyAll(Descriptors *descriptors);
  absl::Status Check(int status, const char *what) const;

  const CudnnApi api_;
  CudnnHandle handle_ = nullptr;
  std::map<uint32_t, Convolution> convolutions_;  // by kernel
};

}  // namespace commsched::runtime::cuda

#endif  // COMMSCHED_RUNTIME_CUDA_CUDNN_KERNELS_H
