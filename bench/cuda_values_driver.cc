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
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <map>
#include <random>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "bench/cuda_bench.h"

namespace {

using namespace commsched::runtime;
using namespace commsched::bench;
namespace cuda = commsched::runtime::cuda;
namespace ops = commsched::ops;
namespace plan = commsched::plan;

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

// Of the fragment that an instruction launches.
void Run(CudaBench &bench, const std::string &name, const Program &program,
         const FunctionProgram &function, const LaunchProgram &launch, bool leave_scratch) {
  const plan::CudaFragment &fragment = program.cuda->fragments[launch.fragment];
  bench.set_where(name + ": fragment " + fragment.symbol + ": ");
  // Each buffer has one piece of memory, in whatever places it is.
  std::map<uint32_t, cuda::DevicePtr> memory;
  std::minstd_rand random(1);
  const auto drawn = [&](ops::Element element, size_t bytes) {
    std::vector<std::byte> values(bytes);
    Draw(element, values.data(), bytes / ops::ElementBytes(element), random);
    return values;
  };
  std::vector<cuda::DevicePtr> operands;
  for (uint32_t operand : launch.operands) {
    const TensorInfo &type = function.buffers[operand].type;
    auto [at, fresh] = memory.try_emplace(operand);
    if (fresh) {
      at->second = bench.Allocate(type.bytes);
      bench.Set(at->second, drawn(type.element, type.bytes));
    }
    operands.push_back(at->second);
  }
  const cuda::DevicePtr scratch = bench.Allocate(fragment.scratch_bytes);
  // Of the scratch nothing is promised: all ones are NaN, and no index.
  if (!leave_scratch)
    bench.Check(bench.driver().MemsetD8Async(
                    scratch, 0xff, std::max<uint64_t>(fragment.scratch_bytes, 1), bench.stream()),
                "cuMemsetD8Async");
  for (const auto &step : fragment.steps) {
    if (const auto *call = std::get_if<plan::CudaLibraryCall>(&step)) {
      const ops::KernelOperand &output = program.kernels[call->kernel].operands.back();
      size_t last = 0;
      for (size_t d = 0; d < output.dims.size(); ++d)
        last += size_t((output.dims[d] - 1) * output.strides[d]);
      const size_t bytes = (last + 1) * ops::ElementBytes(output.element);
      bench.Set(AddressesOf(fragment, call->operands, operands, scratch).back(),
                drawn(output.element, bytes));
      continue;
    }
    const auto &kernel = std::get<plan::CudaLaunch>(step);
    bench.Launch(kernel, AddressesOf(fragment, kernel.arguments, operands, scratch));
  }
  bench.Wait();
  for (uint32_t i = 0; i < fragment.outputs; ++i) {
    const uint32_t operand = launch.operands[fragment.inputs + i];
    const TensorInfo &type = function.buffers[operand].type;
    if (type.bytes == 0) continue;
    const Summary summary = Summarize(type.element, bench.Get(memory.at(operand), type.bytes));
    std::printf("%s %s %u %016" PRIx64 " %.9g %.9g %" PRIu64 "\n", name.c_str(),
                fragment.symbol.c_str(), i, summary.digest,
                summary.sum / double(std::max<int64_t>(type.elements, 1)), summary.greatest,
                summary.nans);
  }
  for (auto [operand, at] : memory) bench.Free(at);
  bench.Free(scratch);
}

void Run(CudaBench &bench, const std::string &name, const Program &program, bool leave_scratch) {
  bench.set_where(name + ": ");
  bench.LoadModule(program.cuda->ptx);
  std::set<uint32_t> seen;
  for (const FunctionProgram &function : program.functions)
    for (const InstructionProgram &instruction : function.instructions)
      if (instruction.kind == InstructionProgram::kLaunch &&
          seen.insert(instruction.launch.fragment).second)
        Run(bench, name, program, function, instruction.launch, leave_scratch);
  bench.UnloadModule();
}

}  // namespace

int main(int argc, char **argv) {
  program_name = "cuda_values_driver";
  const bool leave_scratch = argc > 1 && std::strcmp(argv[1], "--leave-scratch") == 0;
  const int first = leave_scratch ? 2 : 1;
  if (argc <= first) End("usage: cuda_values_driver [--leave-scratch] PLAN...", 2);
  CudaBench bench;
  for (int i = first; i < argc; ++i) {
    const std::string path = argv[i];
    Run(bench, path.substr(path.find_last_of('/') + 1), *LoadCudaProgram(path), leave_scratch);
  }
}
