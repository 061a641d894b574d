// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// libcuda.so.1, libnccl.so.2, libcublasLt.so.13 and libcudnn.so.9 of a machine that has no devices:
// NVIDIA's functions, each a jump to that of the process's FakeMachine. A program that finds them runs on the
// fake, unchanged. Accesses are not looked at: what the host does, it does not say here.
//
// The environment: COMMSCHED_FAKE_CUDA_KERNELS, a folder with what cuda_kernels_writer has written;
// COMMSCHED_FAKE_CUDA_DEVICES, how many devices there are (4); COMMSCHED_FAKE_CUDA_SEED, the order of
// what runs. When the process ends, a line of standard error says what is wrong in what it has called,
// and what it has left.

#include "tests/cuda/KernelFile.h"
#include "tests/runtime/cuda/fake_cublaslt.h"
#include "tests/runtime/cuda/fake_cudnn.h"
#include "tests/runtime/cuda/fake_machine.h"

#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>

using namespace commsched::runtime::cuda;

namespace commsched::cudatest {
namespace {

uint64_t numberIn(const char *variable, uint64_t otherwise) {
  const char *text = std::getenv(variable);
  return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

void say(const std::string &what) { std::fprintf(stderr, "fake CUDA: %s\n", what.c_str()); }

/// The kernels of one image.
struct Image {
  std::unique_ptr<HostKernels> host;
  std::map<std::string, FakeKernel> known;
};

/// Of the process; never destroyed, as its threads may be under way when it ends.
class Machine {
public:
  Machine() : fake(numberIn("COMMSCHED_FAKE_CUDA_SEED", 0), int(numberIn("COMMSCHED_FAKE_CUDA_DEVICES", 4))) {
    fake.IgnoreAccesses();
    fake.SetKernels([this](const std::string &ptx, const std::string &name) { return find(ptx, name); });
  }

  void end() {
    for (const std::string &finding : fake.TakeFindings())
      say(finding);
    if (size_t left = fake.live() + LiveOfFakeCublasLt() + LiveOfFakeCudnn())
      say(std::to_string(left) + " things are left");
  }

private:
  const FakeKernel *find(const std::string &ptx, const std::string &name) {
    std::lock_guard<std::mutex> lock(mu);
    auto [at, fresh] = images.try_emplace(ptx);
    Image &image = at->second;
    if (fresh) {
      const char *folder = std::getenv("COMMSCHED_FAKE_CUDA_KERNELS");
      std::string error = "COMMSCHED_FAKE_CUDA_KERNELS is not set";
      if (folder)
        image.host = loadKernels(std::string(folder) + "/" + kernelFileName(ptx), error);
      if (!image.host)
        say(error);
    }
    if (!image.host || !image.host->has(name))
      return nullptr;
    auto [kernel, first] = image.known.try_emplace(name);
    if (first)
      kernel->second = {name, image.host->parameters(name),
                        [this, host = image.host.get()](const FakeLaunch &launch) { return workOf(*host, launch); }};
    return &kernel->second;
  }

  FakeWork workOf(const HostKernels &host, const FakeLaunch &launch) {
    FakeWork work;
    work.body = [this, &host, launch] {
      std::vector<void *> arguments(launch.pointers.begin(), launch.pointers.end());
      std::string fault = host.run(launch.kernel, {launch.grid, launch.block, launch.shared_bytes},
                                   arguments.data(), launches++);
      if (!fault.empty())
        say(fault);
    };
    return work;
  }

  FakeMachine fake;
  std::mutex mu;
  std::map<std::string, Image> images;
  uint64_t launches = 0; // that have run, one at a time
};

Machine *machine = nullptr;

} // namespace
} // namespace commsched::cudatest

// A symbol that can be found, and where it jumps.
#define COMMSCHED_TEST_JUMP(symbol)                                             \
  extern "C" [[gnu::visibility("hidden")]] void *csJump_##symbol;               \
  void *csJump_##symbol = nullptr;                                              \
  asm(".text\n.globl " #symbol "\n.type " #symbol ", @function\n" #symbol ":\n" \
      "  jmp *csJump_" #symbol "(%rip)\n.size " #symbol ", . - " #symbol "\n");
#define COMMSCHED_TEST_DRIVER(name, symbol, parameters) COMMSCHED_TEST_JUMP(symbol)
#define COMMSCHED_TEST_LIBRARY(result, name, symbol, parameters) COMMSCHED_TEST_JUMP(symbol)
COMMSCHED_CUDA_DRIVER_FUNCTIONS(COMMSCHED_TEST_DRIVER)
COMMSCHED_CUDA_NCCL_FUNCTIONS(COMMSCHED_TEST_LIBRARY)
COMMSCHED_CUDA_CUBLASLT_FUNCTIONS(COMMSCHED_TEST_LIBRARY)
COMMSCHED_CUDA_CUDNN_FUNCTIONS(COMMSCHED_TEST_LIBRARY)
#undef COMMSCHED_TEST_DRIVER
#undef COMMSCHED_TEST_LIBRARY

[[gnu::constructor]] static void begin() {
#define COMMSCHED_TEST_FILL(name, symbol, parameters) csJump_##symbol = reinterpret_cast<void *>(api.name);
#define COMMSCHED_TEST_FILL_LIBRARY(result, name, symbol, parameters) COMMSCHED_TEST_FILL(name, symbol, parameters)
  {
    const DriverApi &api = FakeMachine::driver();
    COMMSCHED_CUDA_DRIVER_FUNCTIONS(COMMSCHED_TEST_FILL)
  }
  {
    const NcclApi &api = FakeMachine::nccl();
    COMMSCHED_CUDA_NCCL_FUNCTIONS(COMMSCHED_TEST_FILL_LIBRARY)
  }
  {
    const CublasLtApi &api = FakeCublasLt();
    COMMSCHED_CUDA_CUBLASLT_FUNCTIONS(COMMSCHED_TEST_FILL_LIBRARY)
  }
  {
    const CudnnApi &api = FakeCudnn();
    COMMSCHED_CUDA_CUDNN_FUNCTIONS(COMMSCHED_TEST_FILL_LIBRARY)
  }
  commsched::cudatest::machine = new commsched::cudatest::Machine;
}

[[gnu::destructor]] static void end() { commsched::cudatest::machine->end(); }
