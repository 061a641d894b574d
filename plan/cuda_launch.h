// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a fragment is on a CUDA device: launches and calls of libraries, all to be put into one
// stream in their order. Free of MLIR and of CUDA, for compiler and runtime. In a plan's file it
// is plan.proto's Cuda.
#ifndef COMMSCHED_PLAN_CUDA_LAUNCH_H
#define COMMSCHED_PLAN_CUDA_LAUNCH_H

#include <array>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace commsched::plan {

/// An address that is known when the buffers of a fragment's run are: `offset` bytes behind
/// input `index`, output `index`, or the scratch area (`index` is 0).
struct CudaAddress {
  enum class Base : uint8_t {
    kInput,
    kOutput,
    kScratch
  };
  Base base = Base::kScratch;
  uint32_t index = 0;
  uint64_t offset = 0;

  bool operator==(const CudaAddress &other) const = default;
};

/// A kernel of CudaModule::ptx; its parameters are pointers, one for each argument.
struct CudaLaunch {
  std::string kernel;
  std::array<uint32_t, 3> grid = {1, 1, 1};   // in blocks
  std::array<uint32_t, 3> block = {1, 1, 1};  // in threads
  uint32_t shared_bytes = 0;                  // dynamic
  std::vector<CudaAddress> arguments;

  bool operator==(const CudaLaunch &other) const = default;
};

/// What a kernel computes: kernel `kernel` of the table that the compiler gives with the
/// module (plan.Kernel), on the addresses of the first elements, in the order of its operands.
struct CudaLibraryCall {
  uint32_t kernel = 0;
  std::vector<CudaAddress> operands;

  bool operator==(const CudaLibraryCall &other) const = default;
};

struct CudaFragment {
  std::string symbol;
  uint32_t inputs = 0, outputs = 0;
  /// Aligned to 256 bytes by whoever allocates it; its content need not be kept from one run
  /// to the next.
  uint64_t scratch_bytes = 0;
  std::vector<std::variant<CudaLaunch, CudaLibraryCall>> steps;

  bool operator==(const CudaFragment &other) const = default;
};

struct CudaModule {
  std::string ptx;           // for all fragments
  std::string architecture;  // "sm_90": the lowest that the PTX is for
  std::vector<CudaFragment> fragments;
  /// Functions of NVIDIA's libdevice that kernels call, whose last bits are not the host's.
  std::vector<std::string> libdevice_functions;
};

}  // namespace commsched::plan

#endif  // COMMSCHED_PLAN_CUDA_LAUNCH_H
