// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Drawn library kernels on a device of a FakeMachine.
#ifndef COMMSCHED_TESTS_RUNTIME_CUDA_LIBRARY_RUN_H
#define COMMSCHED_TESTS_RUNTIME_CUDA_LIBRARY_RUN_H

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "ops/base/kernel.h"
#include "runtime/cuda/device_libraries.h"
#include "tests/runtime/cuda/drawn_product.h"
#include "tests/runtime/cuda/fake_machine.h"

namespace commsched::runtime::cuda {

// A device with two streams.
class TwoStreams {
 public:
  explicit TwoStreams(uint64_t seed);
  ~TwoStreams();
  FakeMachine &machine() { return machine_; }
  Stream stream(size_t i) const { return streams_[i]; }
  DevicePtr Put(const DrawnOperand &operand);
  void RunAll();

 private:
  FakeMachine machine_;
  Stream streams_[2] = {};
  std::vector<DevicePtr> memory_;
};

struct LibraryRun {
  absl::Status status;
  std::string wrong;  // the first: the status, a value, a finding
  std::vector<std::vector<std::byte>> outputs;
};

// CheckProduct, or what else says it.
using CheckKernelOutput = std::function<std::string(const ops::KernelDesc &, const std::vector<DrawnOperand> &,
                                                    const std::vector<std::byte> &)>;

// Some kernels on operands of `seed`, on two streams by turns, in an order of `order`.
LibraryRun RunLibraryKernels(const std::vector<ops::KernelDesc> &kernels, uint64_t seed, uint64_t order,
                             const std::vector<KindOfLibrary> &kinds, const CheckKernelOutput &check);

// What Prepare says of a kernel that is not called, and the same one called.
absl::Status PrepareStatus(const ops::KernelDesc &kernel, const std::vector<KindOfLibrary> &kinds);

}  // namespace commsched::runtime::cuda

#endif  // COMMSCHED_TESTS_RUNTIME_CUDA_LIBRARY_RUN_H
