// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels of passes/cuda as code of the host, whose threads the emulator runs.

#ifndef COMMSCHED_TESTS_CUDA_HOSTKERNELS_H
#define COMMSCHED_TESTS_CUDA_HOSTKERNELS_H

#include "tests/cuda/Emulator.h"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace commsched::cudatest {

/// The bytes behind each argument that a launch has read, and those that it has written: from
/// the first to behind the last one. Of kernels that are traced.
struct Touched {
  using Range = std::pair<const char *, const char *>; // equal: none
  std::vector<Range> reads, writes;
};

struct HostKernel {
  size_t parameters = 0;
  bool waits = false; // its threads wait for each other
  void (*entry)(void **arguments) = nullptr;
};

class HostKernels {
public:
  /// `code`: what owns the code.
  HostKernels(std::map<std::string, HostKernel> kernels, std::shared_ptr<void> code)
      : known(std::move(kernels)), code(std::move(code)) {}

  bool has(const std::string &kernel) const { return known.count(kernel) != 0; }
  size_t parameters(const std::string &kernel) const { return known.at(kernel).parameters; }
  bool waits(const std::string &kernel) const { return known.at(kernel).waits; }

  /// Runs a launch, in an order that the seed gives; the first fault, or nothing. One at a time.
  std::string run(const std::string &kernel, const Launch &launch, void **arguments, uint64_t seed,
                  Touched *touched = nullptr) const;

private:
  std::map<std::string, HostKernel> known;
  std::shared_ptr<void> code;
};

/// What code of kernels calls here, by name.
std::map<std::string, void *> kernelImports();

} // namespace commsched::cudatest

#endif // COMMSCHED_TESTS_CUDA_HOSTKERNELS_H
