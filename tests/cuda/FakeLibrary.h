// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Library kernels of a FakeMachine's device: products and convolutions by the runtime's own on fakes
// of cuBLASLt and cuDNN, the others those of ops/, which compute on the host, as work of streams.

#ifndef COMMSCHED_TESTS_CUDA_FAKELIBRARY_H
#define COMMSCHED_TESTS_CUDA_FAKELIBRARY_H

#include "ops/registry.h"
#include "runtime/cuda/device_libraries.h"
#include "runtime/cuda/library_kernels.h"
#include "tests/runtime/cuda/fake_cudnn.h"
#include "tests/runtime/cuda/fake_machine.h"

#include <memory>
#include <vector>

namespace commsched::cudatest {

class FakeLibrary : public runtime::cuda::LibraryKernels {
public:
  explicit FakeLibrary(runtime::cuda::FakeMachine &machine)
      : machine(machine), libraries(runtime::cuda::MakeDeviceLibraries(runtime::cuda::FakeMachine::driver(),
                                                                       runtime::cuda::LibrariesWithFakeCudnn())) {}
  absl::Status Prepare(const std::vector<runtime::cuda::LibraryKernel> &kernels, uint32_t streams) override;
  absl::Status Enqueue(uint32_t kernel, absl::Span<const runtime::cuda::DevicePtr> operands,
                       runtime::cuda::Stream stream, uint32_t number) override;
  uint64_t device_bytes() const override { return libraries->device_bytes(); }

private:
  runtime::cuda::FakeMachine &machine;
  std::unique_ptr<runtime::cuda::LibraryKernels> libraries;
  std::vector<ops::KernelDesc> descriptions;
  // Work may outlive the library.
  std::vector<std::shared_ptr<ops::KernelInstance>> kernels;
};

} // namespace commsched::cudatest

#endif // COMMSCHED_TESTS_CUDA_FAKELIBRARY_H
