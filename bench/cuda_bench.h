// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the programs that run parts of plans on a CUDA device have in common. An error ends the program in
// one line; none of it is for several threads.
#ifndef COMMSCHED_BENCH_CUDA_BENCH_H
#define COMMSCHED_BENCH_CUDA_BENCH_H

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "ops/base/element.h"
#include "plan/cuda_launch.h"
#include "runtime/cuda/load.h"
#include "runtime/program/program.h"

namespace commsched::bench {

// Of a program that needs a device where there is none.
inline constexpr int kSkipped = 77;

// For messages; to be set first.
extern const char *program_name;
[[noreturn]] void End(const std::string &why, int status = 1);

// `count` elements: of floats between 1/4 and 7/4, where few functions have no value; of integers from 0
// to below `below`, by default 0 and 1, which are within the bounds of what they index.
void Draw(ops::Element element, std::byte *to, size_t count, std::minstd_rand &random,
          uint32_t below = 2);

// The program of rank 0 of a plan for CUDA devices.
std::shared_ptr<const runtime::Program> LoadCudaProgram(const std::string &path);

// The addresses of a step's arguments: `operands` are those of the fragment's inputs, then outputs.
std::vector<runtime::cuda::DevicePtr> AddressesOf(
    const plan::CudaFragment &fragment, const std::vector<plan::CudaAddress> &arguments,
    absl::Span<const runtime::cuda::DevicePtr> operands, runtime::cuda::DevicePtr scratch);

// Device 0 with a stream, and the kernels of one plan at a time. Ends the program with kSkipped if there is none.
class CudaBench {
 public:
  CudaBench();
  ~CudaBench();
  CudaBench(const CudaBench &) = delete;
  CudaBench &operator=(const CudaBench &) = delete;

  const runtime::cuda::DriverApi &driver() const { return driver_; }
  runtime::cuda::Stream stream() const { return stream_; }
  // What errors begin with.
  void set_where(const std::string &where) { where_ = where; }
  const std::string &where() const { return where_; }
  void Check(runtime::cuda::DriverResult result, const char *what) const;
  void Check(const absl::Status &status) const;
  // Behind what is in the stream, and until that is done; `spin`: without giving the processor away.
  void RecordEvent();
  void WaitForEvent(bool spin = false);
  void Wait(bool spin = false) {
    RecordEvent();
    WaitForEvent(spin);
  }

  void LoadModule(const std::string &ptx);
  void UnloadModule();
  void Launch(const plan::CudaLaunch &kernel, std::vector<runtime::cuda::DevicePtr> arguments);
  // At least one byte.
  runtime::cuda::DevicePtr Allocate(uint64_t bytes);
  void Free(runtime::cuda::DevicePtr memory);
  // They wait; either may be of no bytes.
  void Set(runtime::cuda::DevicePtr at, const std::vector<std::byte> &bytes);
  std::vector<std::byte> Get(runtime::cuda::DevicePtr at, size_t bytes);

 private:
  runtime::cuda::DriverApi driver_;
  runtime::cuda::Device device_ = {};
  runtime::cuda::Context context_ = {};
  runtime::cuda::Stream stream_ = {};
  runtime::cuda::Event event_ = {};
  runtime::cuda::Module module_ = {};
  std::map<std::string, runtime::cuda::Function> functions_;  // of the module
  std::string where_;
};

}  // namespace commsched::bench

#endif  // COMMSCHED_BENCH_CUDA_BENCH_H
