// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "bench/cuda_bench.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <utility>

#include "runtime/loading/plan_loader.h"

namespace commsched::bench {

namespace cuda = commsched::runtime::cuda;

const char *program_name = "";

void End(const std::string &why, int status) {
  std::fprintf(stderr, "%s: %s\n", program_name, why.c_str());
  std::fflush(stdout);
  std::_Exit(status);
}

void Draw(ops::Element element, std::byte *to, size_t count, std::minstd_rand &random,
          uint32_t below) {
  const size_t bytes = ops::ElementBytes(element);
  for (size_t i = 0; i < count; ++i, to += bytes) {
    const auto drawn = uint32_t(random());
    const float value = 0.25F + 1.5F * float(drawn % (1 << 23)) / float(1 << 23);
    const double wide = value;
    const uint16_t half = element == ops::Element::kF16 ? ops::FloatToHalf(value)
                                                        : ops::FloatToBFloat16(value);
    const auto whole = int64_t((drawn >> 13) % below);
    const void *from = &whole;  // little endian: of all widths
    if (element == ops::Element::kF64) from = &wide;
    if (element == ops::Element::kF32) from = &value;
    if (element == ops::Element::kF16 || element == ops::Element::kBF16) from = &half;
    std::memcpy(to, from, bytes);
  }
}

std::shared_ptr<const runtime::Program> LoadCudaProgram(const std::string &path) {
  auto image = runtime::PlanImage::LoadFile(path);
  if (!image.ok()) End(path + ": " + std::string(image.status().message()));
  auto program = (*image)->ForRank(0);
  if (!program.ok()) End(path + ": " + std::string(program.status().message()));
  if ((*program)->cuda == nullptr) End(path + ": the plan is not for CUDA devices");
  return *std::move(program);
}

std::vector<cuda::DevicePtr> AddressesOf(const plan::CudaFragment &fragment,
                                         const std::vector<plan::CudaAddress> &arguments,
                                         absl::Span<const cuda::DevicePtr> operands,
                                         cuda::DevicePtr scratch) {
  std::vector<cuda::DevicePtr> result;
  for (const plan::CudaAddress &of : arguments) {
    const uint32_t first = of.base == plan::CudaAddress::Base::kInput ? 0 : fragment.inputs;
    result.push_back((of.base == plan::CudaAddress::Base::kScratch ? scratch
                                                                   : operands[first + of.index]) +
                     of.offset);
  }
  return result;
}

CudaBench::CudaBench() {
  auto driver = cuda::LoadDriver();
  if (!driver.ok()) End(std::string(driver.status().message()), kSkipped);
  driver_ = *driver;
  Check(driver_.DeviceGet(&device_, 0), "cuDeviceGet");
  Check(driver_.PrimaryContextRetain(&context_, device_), "cuDevicePrimaryCtxRetain");
  Check(driver_.ContextSetCurrent(context_), "cuCtxSetCurrent");
  Check(driver_.StreamCreateWithPriority(&stream_, cuda::kStreamNonBlocking, 0),
        "cuStreamCreateWithPriority");
  Check(driver_.EventCreate(&event_, cuda::kEventDisableTiming), "cuEventCreate");
}

CudaBench::~CudaBench() {
  driver_.EventDestroy(event_);
  driver_.StreamDestroy(stream_);
  driver_.PrimaryContextRelease(device_);
}

void CudaBench::Check(cuda::DriverResult result, const char *what) const {
  if (result != cuda::DriverResult::kSuccess) Check(cuda::ToStatus(driver_, result, what));
}

void CudaBench::Check(const absl::Status &status) const {
  if (!status.ok()) End(where_ + std::string(status.message()));
}

void CudaBench::RecordEvent() { Check(driver_.EventRecord(event_, stream_), "cuEventRecord"); }

void CudaBench::WaitForEvent(bool spin) {
  cuda::DriverResult result;
  while ((result = driver_.EventQuery(event_)) == cuda::DriverResult::kNotReady)
    if (!spin) std::this_thread::sleep_for(std::chrono::microseconds(10));
  Check(result, "cuEventQuery");
}

void CudaBench::LoadModule(const std::string &ptx) {
  Check(driver_.ModuleLoadData(&module_, ptx.c_str()), "cuModuleLoadData");
}

void CudaBench::UnloadModule() {
  functions_.clear();
  Check(driver_.ModuleUnload(module_), "cuModuleUnload");
}

void CudaBench::Launch(const plan::CudaLaunch &kernel, std::vector<cuda::DevicePtr> arguments) {
  auto [function, fresh] = functions_.try_emplace(kernel.kernel);
  if (fresh)
    Check(driver_.ModuleGetFunction(&function->second, module_, kernel.kernel.c_str()),
          "cuModuleGetFunction");
  std::vector<void *> parameters;
  parameters.reserve(arguments.size());
  for (cuda::DevicePtr &value : arguments) parameters.push_back(&value);
  Check(driver_.LaunchKernel(function->second, kernel.grid[0], kernel.grid[1], kernel.grid[2],
                             kernel.block[0], kernel.block[1], kernel.block[2], kernel.shared_bytes,
                             stream_, parameters.data(), nullptr),
        "cuLaunchKernel");
}

cuda::DevicePtr CudaBench::Allocate(uint64_t bytes) {
  cuda::DevicePtr memory = 0;
  Check(driver_.MemAlloc(&memory, std::max<uint64_t>(bytes, 1)), "cuMemAlloc");
  return memory;
}

void CudaBench::Free(cuda::DevicePtr memory) { Check(driver_.MemFree(memory), "cuMemFree"); }

void CudaBench::Set(cuda::DevicePtr at, const std::vector<std::byte> &bytes) {
  if (bytes.empty()) return;
  Check(driver_.MemcpyAsync(at, reinterpret_cast<cuda::DevicePtr>(bytes.data()), bytes.size(),
                            stream_),
        "cuMemcpyAsync");
  Wait();
}

std::vector<std::byte> CudaBench::Get(cuda::DevicePtr at, size_t bytes) {
  std::vector<std::byte> result(bytes);
  if (bytes == 0) return result;
  Check(driver_.MemcpyAsync(reinterpret_cast<cuda::DevicePtr>(result.data()), at, bytes, stream_),
        "cuMemcpyAsync");
  Wait();
  return result;
}

}  // namespace commsched::bench
