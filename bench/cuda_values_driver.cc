// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cuda_values_driver [--leave-scratch] PLAN...: what the kernels of plans for CUDA devices compute. Each fragment that
// an instruction launches gets memory of its own and drawn inputs, always the same ones; the result of
// a library kernel is drawn as well, so that what follows does not depend on a library. For each
// output a line: plan, fragment, output, a digest of its bits (all NaN are one), and mean, greatest
// magnitude and NaN, for outputs whose last bits may differ. Two machines that print the same lines
// compute the same bits: a device and the fake of tests/cuda/Machine.cpp, say. --leave-scratch does not
// write into scratch memory before, for a checker of what is read there. Ends with 77, and one line that
// says why, where there is no device.
#include <algorithm>
#include <chrono>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/string_view.h"
#include "runtime/cuda/load.h"
#include "runtime/loading/plan_loader.h"

namespace {

using namespace commsched::runtime;
namespace cuda = commsched::runtime::cuda;
namespace ops = commsched::ops;
namespace plan = commsched::plan;

constexpr int kSkipped = 77;

[[noreturn]] void End(const std::string &why, int status = 1) {
  std::fprintf(stderr, "cuda_values_driver: %s\n", why.c_str());
  std::fflush(stdout);
  std::_Exit(status);
}

// `count` elements: of floats between 1/4 and 7/4, where few functions have no value; of integers 0
// and 1, which are within the bounds of what they index.
void Draw(ops::Element element, std::byte *to, size_t count, std::minstd_rand &random) {
  const size_t bytes = ops::ElementBytes(element);
  for (size_t i = 0; i < count; ++i, to += bytes) {
    const auto drawn = uint32_t(random());
    const float value = 0.25F + 1.5F * float(drawn % (1 << 23)) / float(1 << 23);
    const double wide = value;
    const uint16_t half = element == ops::Element::kF16 ? ops::FloatToHalf(value)
                                                        : ops::FloatToBFloat16(value);
    const auto whole = int64_t(drawn >> 13 & 1);
    const void *from = &whole;  // little endian: of all widths
    if (element == ops::Element::kF64) from = &wide;
    if (element == ops::Element::kF32) from = &value;
    if (element == ops::Element::kF16 || element == ops::Element::kBF16) from = &half;
    std::memcpy(to, from, bytes);
  }
}

struct Summary {
  uint64_t digest = 0xcbf29ce484222325;
  double sum = 0, greatest = 0;
  uint64_t nans = 0;
};

Summary Summarize(ops::Element element, const std::vector<std::byte> &bytes) {
  Summary result;
  const size_t size = ops::ElementBytes(element);
  for (size_t at = 0; at + size <= bytes.size(); at += size) {
    const double value = ops::ReadElement(element, &bytes[at]);
    uint64_t bits = ~uint64_t{0};
    if (std::isnan(value)) {
      ++result.nans;
    } else {
      bits = 0;
      std::memcpy(&bits, &bytes[at], size);
      result.sum += value;
      result.greatest = std::max(result.greatest, std::abs(value));
    }
    result.digest = (result.digest ^ bits) * 0x100000001b3;
    result.digest ^= result.digest >> 29;
  }
  return result;
}

class Machine {
 public:
  Machine(const cuda::DriverApi &driver, bool leave_scratch)
      : driver_(driver), leave_scratch_(leave_scratch) {
    Check(driver_.DeviceGet(&device_, 0), "cuDeviceGet");
    Check(driver_.PrimaryContextRetain(&context_, device_), "cuDevicePrimaryCtxRetain");
    Check(driver_.ContextSetCurrent(context_), "cuCtxSetCurrent");
    Check(driver_.StreamCreateWithPriority(&stream_, cuda::kStreamNonBlocking, 0),
          "cuStreamCreateWithPriority");
    Check(driver_.EventCreate(&event_, cuda::kEventDisableTiming), "cuEventCreate");
  }
  ~Machine() {
    driver_.EventDestroy(event_);
    driver_.StreamDestroy(stream_);
    driver_.PrimaryContextRelease(device_);
  }

  void Run(const std::string &name, const Program &program);

 private:
  void Check(cuda::DriverResult result, const char *what) const {
    if (absl::Status s = cuda::ToStatus(driver_, result, what); !s.ok())
      End(where_ + std::string(s.message()));
  }
  void Wait() {
    Check(driver_.EventRecord(event_, stream_), "cuEventRecord");
    cuda::DriverResult result;
    while ((result = driver_.EventQuery(event_)) == cuda::DriverResult::kNotReady)
      std::this_thread::sleep_for(std::chrono::microseconds(10));
    Check(result, "cuEventQuery");
  }
  void Launch(const std::string &name, const Program &program, const FunctionProgram &function,
              const LaunchProgram &launch);

  const cuda::DriverApi &driver_;
  const bool leave_scratch_;
  cuda::Device device_ = {};
  cuda::Context context_ = {};
  cuda::Stream stream_ = {};
  cuda::Event event_ = {};
  cuda::Module module_ = {};
  std::string where_;  // for errors
};

void Machine::Run(const std::string &name, const Program &program) {
  where_ = name + ": ";
  if (program.cuda == nullptr) End(where_ + "the plan is not for CUDA devices");
  Check(driver_.ModuleLoadData(&module_, program.cuda->ptx.c_str()), "cuModuleLoadData");
  std::set<uint32_t> seen;
  for (const FunctionProgram &function : program.functions)
    for (const InstructionProgram &instruction : function.instructions)
      if (instruction.kind == InstructionProgram::kLaunch &&
          seen.insert(instruction.launch.fragment).second)
        Launch(name, program, function, instruction.launch);
  Check(driver_.ModuleUnload(module_), "cuModuleUnload");
}

void Machine::Launch(const std::string &name, const Program &program,
                     const FunctionProgram &function, const LaunchProgram &launch) {
  const plan::CudaFragment &fragment = program.cuda->fragments[launch.fragment];
  where_ = name + ": fragment " + fragment.symbol + ": ";
  // Each buffer has one piece of memory, in whatever places it is.
  std::map<uint32_t, cuda::DevicePtr> memory;
  std::minstd_rand random(1);
  const auto set = [&](cuda::DevicePtr at, const std::vector<std::byte> &bytes) {
    if (bytes.empty()) return;
    Check(driver_.MemcpyAsync(at, reinterpret_cast<cuda::DevicePtr>(bytes.data()), bytes.size(),
                              stream_),
          "cuMemcpyAsync");
    Wait();
  };
  const auto drawn = [&](ops::Element element, size_t bytes) {
    std::vector<std::byte> values(bytes);
    Draw(element, values.data(), bytes / ops::ElementBytes(element), random);
    return values;
  };
  for (uint32_t operand : launch.operands) {
    const TensorInfo &type = function.buffers[operand].type;
    auto [at, fresh] = memory.try_emplace(operand);
    if (!fresh) continue;
    Check(driver_.MemAlloc(&at->second, std::max<size_t>(type.bytes, 1)), "cuMemAlloc");
    set(at->second, drawn(type.element, type.bytes));
  }
  cuda::DevicePtr scratch = 0;
  Check(driver_.MemAlloc(&scratch, std::max<uint64_t>(fragment.scratch_bytes, 1)), "cuMemAlloc");
  // Of the scratch nothing is promised: all ones are NaN, and no index.
  if (!leave_scratch_)
    Check(driver_.MemsetD8Async(scratch, 0xff, std::max<uint64_t>(fragment.scratch_bytes, 1),
                                stream_),
          "cuMemsetD8Async");
  const auto address = [&](const plan::CudaAddress &of) {
    if (of.base == plan::CudaAddress::Base::kScratch) return scratch + of.offset;
    const uint32_t first = of.base == plan::CudaAddress::Base::kInput ? 0 : fragment.inputs;
    return memory.at(launch.operands[first + of.index]) + of.offset;
  };
  for (const auto &step : fragment.steps) {
    if (const auto *call = std::get_if<plan::CudaLibraryCall>(&step)) {
      const ops::KernelOperand &output = program.kernels[call->kernel].operands.back();
      size_t last = 0;
      for (size_t d = 0; d < output.dims.size(); ++d)
        last += size_t((output.dims[d] - 1) * output.strides[d]);
      const size_t bytes = (last + 1) * ops::ElementBytes(output.element);
      set(address(call->operands.back()), drawn(output.element, bytes));
      continue;
    }
    const auto &kernel = std::get<plan::CudaLaunch>(step);
    cuda::Function run = {};
    Check(driver_.ModuleGetFunction(&run, module_, kernel.kernel.c_str()), "cuModuleGetFunction");
    std::vector<cuda::DevicePtr> values;
    for (const plan::CudaAddress &of : kernel.arguments) values.push_back(address(of));
    std::vector<void *> parameters;
    for (cuda::DevicePtr &value : values) parameters.push_back(&value);
    Check(driver_.LaunchKernel(run, kernel.grid[0], kernel.grid[1], kernel.grid[2], kernel.block[0],
                               kernel.block[1], kernel.block[2], kernel.shared_bytes, stream_,
                               parameters.data(), nullptr),
          "cuLaunchKernel");
  }
  Wait();
  for (uint32_t i = 0; i < fragment.outputs; ++i) {
    const uint32_t operand = launch.operands[fragment.inputs + i];
    const TensorInfo &type = function.buffers[operand].type;
    std::vector<std::byte> bytes(type.bytes);
    if (bytes.empty()) continue;
    Check(driver_.MemcpyAsync(reinterpret_cast<cuda::DevicePtr>(bytes.data()), memory.at(operand),
                              bytes.size(), stream_),
          "cuMemcpyAsync");
    Wait();
    const Summary summary = Summarize(type.element, bytes);
    std::printf("%s %s %u %016" PRIx64 " %.9g %.9g %" PRIu64 "\n", name.c_str(),
                fragment.symbol.c_str(), i, summary.digest,
                summary.sum / double(std::max<int64_t>(type.elements, 1)), summary.greatest,
                summary.nans);
  }
  for (auto [operand, at] : memory) Check(driver_.MemFree(at), "cuMemFree");
  Check(driver_.MemFree(scratch), "cuMemFree");
}

}  // namespace

int main(int argc, char **argv) {
  const bool leave_scratch = argc > 1 && std::strcmp(argv[1], "--leave-scratch") == 0;
  const int first = leave_scratch ? 2 : 1;
  if (argc <= first) End("usage: cuda_values_driver [--leave-scratch] PLAN...", 2);
  auto driver = cuda::LoadDriver();
  if (!driver.ok()) End(std::string(driver.status().message()), kSkipped);
  Machine machine(*driver, leave_scratch);
  for (int i = first; i < argc; ++i) {
    const std::string path = argv[i];
    auto image = PlanImage::LoadFile(path);
    if (!image.ok()) End(path + ": " + std::string(image.status().message()));
    auto program = (*image)->ForRank(0);
    if (!program.ok()) End(path + ": " + std::string(program.status().message()));
    machine.Run(path.substr(path.find_last_of('/') + 1), **program);
  }
}
