// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Library kernels of a FakeMachine's device: products by CublasLtKernels on a fake of cuBLASLt, the
// others those of ops/, which compute on the host, as work of streams.

#ifndef COMMSCHED_TESTS_CUDA_FAKELIBRARY_H
#define COMMSCHED_TESTS_CUDA_FAKELIBRARY_H

#include "ops/registry.h"
#include "runtime/cuda/cublaslt_kernels.h"
#include "runtime/cuda/library_kernels.h"
#include "tests/runtime/cuda/fake_cublaslt.h"
#include "tests/runtime/cuda/fake_machine.h"

#include <memory>
#include <vector>

namespace commsched::cudatest {

class FakeLibrary : public runtime::cuda::LibraryKernels {
public:
  explicit FakeLibrary(runtime::cuda::FakeMachine &machine)
      : machine(machine), products(runtime::cuda::FakeMachine::driver(), runtime::cuda::FakeCublasLt()) {}
  absl::Status Prepare(const std::vector<runtime::cuda::LibraryKernel> &kernels, uint32_t streams) override;
  absl::Status Enqueue(uint32_t kernel, absl::Span<const runtime::cuda::DevicePtr> operands,
                       runtime::cuda::Stream stream, uint32_t number) override;

private:
  runtime::cuda::FakeMachine &machine;
  runtime::cuda::CublasLtKernels products;
  std::vector<ops::KernelDesc> descriptions;
  // Work may outlive the library.
  std::vector<std::shared_ptr<ops::KernelInstance>> kernels;
};

} // namespace commsched::cudatest

#endif // COMMSCHED_TESTS_CUDA_FAKELIBRARY_H
