// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels of passes/cuda as code of the host, whose threads the emulator runs.

#ifndef COMMSCHED_TESTS_CUDA_HOSTKERNELS_H
#define COMMSCHED_TESTS_CUDA_HOSTKERNELS_H

#include "mlir/IR/BuiltinOps.h"
#include "tests/cuda/Emulator.h"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace llvm::orc {
class LLJIT;
}

namespace commsched::cudatest {

/// The bytes behind each argument that a launch has read, and those that it has written: from
/// the first to behind the last one.
struct Touched {
  using Range = std::pair<const char *, const char *>; // equal: none
  std::vector<Range> reads, writes;
};

class HostKernels {
public:
  /// Of a module of kernels in the LLVM dialect. Null, and why, if it cannot be compiled.
  /// `traced`: loads and stores are optimized, and recorded; so run() can tell what is touched.
  static std::unique_ptr<HostKernels> compile(mlir::ModuleOp kernels, bool traced, std::string &error);
  ~HostKernels();

  bool has(const std::string &kernel) const { return known.count(kernel) != 0; }
  size_t parameters(const std::string &kernel) const { return known.at(kernel).parameters; }
  /// Whether its threads wait for each other.
  bool waits(const std::string &kernel) const { return known.at(kernel).waits; }

  /// Runs a launch, in an order that the seed gives; the first fault, or nothing. One at a time.
  std::string run(const std::string &kernel, const Launch &launch, void **arguments, uint64_t seed,
                  Touched *touched = nullptr);

private:
  struct Kernel {
    size_t parameters = 0;
    bool waits = false;
    void (*entry)(void **) = nullptr;
  };
  HostKernels() = default;

  std::map<std::string, Kernel> known;
  std::unique_ptr<llvm::orc::LLJIT> jit;
};

} // namespace commsched::cudatest

#endif // COMMSCHED_TESTS_CUDA_HOSTKERNELS_H
