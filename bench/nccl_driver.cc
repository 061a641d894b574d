// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// nccl_driver INTRA_MBIT_PER_S MAX_BYTES ITERATIONS: times all-reduces by NCCL, in place, float32,
// sum, over all devices of the machine, a thread each, and prints for each size a line of JSON:
// bytes, what one took, and what NCCL's own model (plan/nccl_costs.h) predicts for devices linked
// so. Ends with 77, and one line that says why, where there are not two devices or no NCCL.
#include <algorithm>
#include <barrier>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "plan/nccl_costs.h"
#include "runtime/cuda/load.h"

namespace {

namespace cuda = commsched::runtime::cuda;

constexpr int kSkipped = 77;
constexpr int kWarmUp = 5;

[[noreturn]] void End(const std::string &why, int status = 1) {
  std::fprintf(stderr, "nccl_driver: %s\n", why.c_str());
  std::fflush(stdout);
  std::_Exit(status);
}
void Check(const cuda::DriverApi &driver, cuda::DriverResult result, const char *what) {
  if (absl::Status s = cuda::ToStatus(driver, result, what); !s.ok()) End(std::string(s.message()));
}
void Check(const cuda::NcclApi &nccl, cuda::NcclResult result, const char *what) {
  if (result != cuda::NcclResult::kSuccess)
    End(std::string(what) + ": " + nccl.GetErrorString(result));
}

struct Bench {
  const cuda::DriverApi &driver;
  const cuda::NcclApi &nccl;
  int ranks = 0;
  uint64_t most = 0;
  int iterations = 0;
  double intra_mbit_per_s = 0;
  cuda::NcclUniqueId id = {};
  std::barrier<> together;

  void Rank(int rank);
};

void Bench::Rank(int rank) {
  cuda::Device device = {};
  cuda::Context context = {};
  Check(driver, driver.DeviceGet(&device, rank), "cuDeviceGet");
  Check(driver, driver.PrimaryContextRetain(&context, device), "cuDevicePrimaryCtxRetain");
  Check(driver, driver.ContextSetCurrent(context), "cuCtxSetCurrent");
  cuda::DevicePtr memory = {};
  Check(driver, driver.MemAlloc(&memory, most), "cuMemAlloc");
  cuda::Stream stream = {};
  Check(driver, driver.StreamCreateWithPriority(&stream, cuda::kStreamNonBlocking, 0),
        "cuStreamCreateWithPriority");
  cuda::Event event = {};
  Check(driver, driver.EventCreate(&event, cuda::kEventDisableTiming), "cuEventCreate");
  cuda::NcclComm comm = {};
  cuda::NcclConfig config;
  config.blocking = 1;
  Check(nccl, nccl.CommInitRankConfig(&comm, ranks, id, rank, &config), "ncclCommInitRankConfig");
  const auto run = [&](uint64_t bytes, int times) {
    void *buffer = reinterpret_cast<void *>(memory);
    for (int i = 0; i < times; ++i)
      Check(nccl,
            nccl.AllReduce(buffer, buffer, bytes / 4, cuda::NcclType::kFloat32,
                           cuda::NcclReduction::kSum, comm, stream),
            "ncclAllReduce");
    Check(driver, driver.EventRecord(event, stream), "cuEventRecord");
    cuda::DriverResult result;
    while ((result = driver.EventQuery(event)) == cuda::DriverResult::kNotReady) {
    }
    Check(driver, result, "cuEventQuery");
  };
  commsched::plan::NcclMachines machines;
  machines.ranks = machines.machine_ranks = ranks;
  machines.intra_mbit_per_s = machines.inter_mbit_per_s = intra_mbit_per_s;
  const commsched::plan::NcclCosts model(machines);
  for (uint64_t bytes = 8; bytes <= most; bytes *= 2) {
    run(bytes, kWarmUp);
    together.arrive_and_wait();
    const auto begin = std::chrono::steady_clock::now();
    run(bytes, iterations);
    together.arrive_and_wait();
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - begin;
    if (rank == 0)
      std::printf("{\"ranks\": %d, \"bytes\": %llu, \"us\": %.3f, \"model_us\": %.3f}\n", ranks,
                  static_cast<unsigned long long>(bytes), took.count() / iterations,
                  model.Ns(commsched::plan::NcclCall::kAllReduce, bytes) / 1000);
    std::fflush(stdout);
  }
  Check(nccl, nccl.CommDestroy(comm), "ncclCommDestroy");
}

}  // namespace

int main(int argc, char **argv) {
  if (argc != 4) End("usage: nccl_driver INTRA_MBIT_PER_S MAX_BYTES ITERATIONS", 2);
  auto driver = cuda::LoadDriver();
  if (!driver.ok()) End(std::string(driver.status().message()), kSkipped);
  auto nccl = cuda::LoadNccl();
  if (!nccl.ok()) End(std::string(nccl.status().message()), kSkipped);
  int devices = 0;
  Check(*driver, driver->DeviceGetCount(&devices), "cuDeviceGetCount");
  if (devices < 2) End("needs two CUDA devices, got: " + std::to_string(devices), kSkipped);
  Bench bench{*driver,
              *nccl,
              devices,
              std::max<uint64_t>(8, std::strtoull(argv[2], nullptr, 10)),
              std::max(1, std::atoi(argv[3])),
              std::atof(argv[1]),
              {},
              std::barrier<>(devices)};
  Check(*nccl, nccl->GetUniqueId(&bench.id), "ncclGetUniqueId");
  std::vector<std::thread> threads;
  for (int rank = 0; rank < devices; ++rank) threads.emplace_back([&, rank] { bench.Rank(rank); });
  for (std::thread &thread : threads) thread.join();
  return 0;
}
