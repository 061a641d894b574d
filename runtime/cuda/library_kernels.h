// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The library kernels of a plan on a device: what fragments call besides their own kernels.
#ifndef COMMSCHED_RUNTIME_CUDA_LIBRARY_KERNELS_H
#define COMMSCHED_RUNTIME_CUDA_LIBRARY_KERNELS_H

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "ops/base/kernel.h"
#include "runtime/cuda/driver_api.h"

namespace commsched::runtime::cuda {

struct LibraryKernel {
  ops::KernelDesc description;  // has passed ops::CheckKernel
  // In bytes, for each operand, what divides all addresses that it is given: a power of two, at most
  // 256. Empty: the kernel is not called.
  std::vector<uint32_t> alignments;
};

// Of one device. All calls, and the end, are with its context current: Prepare first, once, while
// nothing else is on the device, then Enqueue, of one thread at a time.
class LibraryKernels {
 public:
  virtual ~LibraryKernels() = default;
  // Makes the kernels that Enqueue names by their index, and what they need for `streams` streams.
  // kUnimplemented, with the kernel, for one that no library here computes.
  virtual absl::Status Prepare(const std::vector<LibraryKernel> &kernels, uint32_t streams) = 0;
  // Puts kernel `kernel` into `stream`, the `number`-th of those (each always under its number);
  // `operands` are the addresses of their first elements on the device.
  virtual absl::Status Enqueue(uint32_t kernel, absl::Span<const DevicePtr> operands, Stream stream,
                               uint32_t number) = 0;
  // What Enqueue puts into the stream at most, as commands of the driver (issue_window.h).
  virtual uint32_t most_commands(uint32_t /*kernel*/) const { return 8; }
  // What it has allocated on the device.
  virtual uint64_t device_bytes() const { return 0; }
};

}  // namespace commsched::runtime::cuda

#endif  // COMMSCHED_RUNTIME_CUDA_LIBRARY_KERNELS_H
