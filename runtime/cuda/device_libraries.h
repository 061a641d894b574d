// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The library kernels of a plan, each by the library that has kernels of its kind: products by cuBLASLt,
// convolutions by cuDNN. A library is looked for when a kernel of its kind is called, and not before.
#ifndef COMMSCHED_RUNTIME_CUDA_DEVICE_LIBRARIES_H
#define COMMSCHED_RUNTIME_CUDA_DEVICE_LIBRARIES_H

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "runtime/cuda/library_kernels.h"
#include "runtime/cuda/load.h"

namespace commsched::runtime::cuda {

// The kernels that one library computes. As LibraryKernels for threads and contexts.
class KernelLibrary {
 public:
  virtual ~KernelLibrary() = default;
  // Makes kernel `index`, with an algorithm that needs at most `workspace_bytes` of workspace, which is
  // aligned to 256 bytes. kUnimplemented, and why, for one that the library does not compute.
  virtual absl::Status Make(uint32_t index, const LibraryKernel &kernel,
                            uint64_t workspace_bytes) = 0;
  // Runs it on the operands' first elements. `once`: of several calls only the first.
  virtual absl::Status Enqueue(uint32_t index, absl::Span<const DevicePtr> operands,
                               DevicePtr workspace, Stream stream, bool once) = 0;
  // Of the library, that Enqueue makes.
  virtual size_t calls(uint32_t /*index*/) const { return 1; }
};

// What an algorithm may use of each stream's workspace: it is there as a whole where a plan calls kernels of
// this kind, so that what a plan takes is known without a device.
inline constexpr uint64_t kProductWorkspaceBytes = uint64_t{32} << 20,
                          kConvolutionWorkspaceBytes = uint64_t{256} << 20;

struct KindOfLibrary {
  absl::string_view prefix;  // of the kinds of kernels
  uint64_t workspace_bytes = 0;
  std::function<absl::StatusOr<std::unique_ptr<KernelLibrary>>()> load;
};

class DeviceLibraries : public LibraryKernels {
 public:
  // `driver` outlives it.
  DeviceLibraries(const DriverApi &driver, std::vector<KindOfLibrary> kinds)
      : driver_(driver), kinds_(std::move(kinds)), libraries_(kinds_.size()) {}
  ~DeviceLibraries() override;
  DeviceLibraries(const DeviceLibraries &) = delete;
  DeviceLibraries &operator=(const DeviceLibraries &) = delete;

  // Runs each kernel once, on zeros: a driver may load a kernel when it is launched first, and wait for
  // streams then, which may be waiting for the host. Needs as much memory as the largest operand for the
  // time, beside a workspace. kResourceExhausted: there is too little. Errors of loading a library as those of load.h.
  absl::Status Prepare(const std::vector<LibraryKernel> &kernels, uint32_t streams) override;
  absl::Status Enqueue(uint32_t kernel, absl::Span<const DevicePtr> operands, Stream stream,
                       uint32_t number) override;
  uint32_t most_commands(uint32_t kernel) const override;
  uint64_t device_bytes() const override { return workspaces_.size() * workspace_bytes_; }

 private:
  absl::StatusOr<const KindOfLibrary *> Find(const LibraryKernel &kernel) const;
  absl::Status Load(const KindOfLibrary &kind);
  absl::Status RunEach(const std::vector<LibraryKernel> &kernels);
  absl::Status Allocate(uint64_t bytes, const char *what, DevicePtr *memory);
  absl::Status Check(DriverResult result, const char *what) const {
    return ToStatus(driver_, result, what);
  }

  const DriverApi &driver_;
  const std::vector<KindOfLibrary> kinds_;
  std::vector<std::unique_ptr<KernelLibrary>> libraries_;  // by kind; null: not needed
  std::vector<KernelLibrary *> of_kernels_;                // null: not called
  uint64_t workspace_bytes_ = 0;
  std::vector<DevicePtr> workspaces_;  // of each stream
};

// The bytes of a stream's workspace for kernels of these kinds; 0: none is needed.
uint64_t WorkspaceBytes(const std::vector<const ops::KernelDesc *> &called);

// With the libraries of this machine, or those of `libraries`.
std::unique_ptr<LibraryKernels> MakeDeviceLibraries(const DriverApi &driver,
                                                    const Libraries &libraries);

}  // namespace commsched::runtime::cuda

#endif  // COMMSCHED_RUNTIME_CUDA_DEVICE_LIBRARIES_H
