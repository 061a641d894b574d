// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cuda_copy_driver BUFFERS BYTES ROUNDS: what copies between a CUDA device and pinned memory take with
// nothing else to do. Copies ROUNDS times BUFFERS buffers of BYTES to the host, then to the device, then
// both at once, on a stream for each direction, and prints a line of JSON: GB/s (10^9 bytes), of both at
// once for each direction. Ends with 77, and one line that says why, where there is no device.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "runtime/cuda/load.h"

namespace {

namespace cuda = commsched::runtime::cuda;

constexpr int kSkipped = 77;

[[noreturn]] void End(const std::string &why, int status = 1) {
  std::fprintf(stderr, "cuda_copy_driver: %s\n", why.c_str());
  std::exit(status);
}

struct Bench {
  const cuda::DriverApi &driver;
  const size_t bytes;
  const int rounds;
  // Of each direction, to the host and to the device: from, to.
  std::vector<std::pair<cuda::DevicePtr, cuda::DevicePtr>> buffers[2] = {};
  cuda::Stream streams[2] = {};
  cuda::Event events[2] = {};

  void Check(cuda::DriverResult result, const char *what) const {
    if (absl::Status s = cuda::ToStatus(driver, result, what); !s.ok())
      End(std::string(s.message()));
  }
  void Allocate(int count);
  void Fill();
  void Wait(int direction) const;
  double Run(bool to_host, bool to_device) const;
  void CheckValues() const;
  void Free() const;
};

void Bench::Allocate(int count) {
  for (int direction = 0; direction < 2; ++direction) {
    for (int i = 0; i < count; ++i) {
      cuda::DevicePtr device = {};
      void *host = nullptr;
      Check(driver.MemAlloc(&device, bytes), "cuMemAlloc");
      Check(driver.MemHostAlloc(&host, bytes, cuda::kHostAllocPortable), "cuMemHostAlloc");
      const auto pinned = reinterpret_cast<cuda::DevicePtr>(host);
      buffers[direction].push_back(direction == 0 ? std::pair(device, pinned)
                                                  : std::pair(pinned, device));
    }
    Check(driver.StreamCreateWithPriority(&streams[direction], cuda::kStreamNonBlocking, 0),
          "cuStreamCreateWithPriority");
    Check(driver.EventCreate(&events[direction], cuda::kEventDisableTiming), "cuEventCreate");
  }
}

// Other bytes in each source, so that CheckValues sees a copy that was not made.
void Bench::Fill() {
  for (size_t i = 0; i < buffers[0].size(); ++i) {
    const auto value = static_cast<unsigned char>(i + 1);
    Check(driver.MemsetD8Async(buffers[0][i].first, value, bytes, streams[0]), "cuMemsetD8Async");
    std::memset(reinterpret_cast<void *>(buffers[1][i].first), value + 100, bytes);
  }
  Check(driver.EventRecord(events[0], streams[0]), "cuEventRecord");
  Wait(0);
}

void Bench::Wait(int direction) const {
  cuda::DriverResult result;
  while ((result = driver.EventQuery(events[direction])) == cuda::DriverResult::kNotReady) {
  }
  Check(result, "cuEventQuery");
}

// Seconds until all copies of the directions have ended, beginning together.
double Bench::Run(bool to_host, bool to_device) const {
  const bool runs[2] = {to_host, to_device};
  const auto begin = std::chrono::steady_clock::now();
  for (int round = 0; round < rounds; ++round)
    for (size_t i = 0; i < buffers[0].size(); ++i)
      for (int direction = 0; direction < 2; ++direction)
        if (runs[direction])
          Check(driver.MemcpyAsync(buffers[direction][i].second, buffers[direction][i].first, bytes,
                                   streams[direction]),
                "cuMemcpyAsync");
  for (int direction = 0; direction < 2; ++direction)
    if (runs[direction]) Check(driver.EventRecord(events[direction], streams[direction]), "cuEventRecord");
  for (int direction = 0; direction < 2; ++direction)
    if (runs[direction]) Wait(direction);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

void Bench::CheckValues() const {
  std::vector<unsigned char> wanted(bytes);
  for (size_t i = 0; i < buffers[0].size(); ++i) {
    std::memset(wanted.data(), int(i + 1), bytes);
    if (std::memcmp(reinterpret_cast<void *>(buffers[0][i].second), wanted.data(), bytes) != 0)
      End("a copy to the host has other bytes");
    // Back, over what has been there.
    Check(driver.MemcpyAsync(buffers[0][i].second, buffers[1][i].second, bytes, streams[0]),
          "cuMemcpyAsync");
    Check(driver.EventRecord(events[0], streams[0]), "cuEventRecord");
    Wait(0);
    std::memset(wanted.data(), int(i + 101), bytes);
    if (std::memcmp(reinterpret_cast<void *>(buffers[0][i].second), wanted.data(), bytes) != 0)
      End("a copy to the device has other bytes");
  }
}

void Bench::Free() const {
  for (int direction = 0; direction < 2; ++direction) {
    Check(driver.EventDestroy(events[direction]), "cuEventDestroy");
    Check(driver.StreamDestroy(streams[direction]), "cuStreamDestroy");
    for (const auto &[from, to] : buffers[direction]) {
      Check(driver.MemFree(direction == 0 ? from : to), "cuMemFree");
      Check(driver.MemFreeHost(reinterpret_cast<void *>(direction == 0 ? to : from)), "cuMemFreeHost");
    }
  }
}

}  // namespace

int main(int argc, char **argv) {
  const int count = argc == 4 ? std::atoi(argv[1]) : 0, rounds = argc == 4 ? std::atoi(argv[3]) : 0;
  const size_t bytes = argc == 4 ? std::strtoull(argv[2], nullptr, 10) : 0;
  if (count < 1 || count > 100 || bytes == 0 || rounds < 1)
    End("usage: cuda_copy_driver BUFFERS BYTES ROUNDS, at most 100 buffers", 2);
  auto driver = cuda::LoadDriver();
  if (!driver.ok()) End(std::string(driver.status().message()), kSkipped);
  Bench bench{*driver, bytes, rounds};
  cuda::Device device = {};
  cuda::Context context = {};
  bench.Check(driver->DeviceGet(&device, 0), "cuDeviceGet");
  bench.Check(driver->PrimaryContextRetain(&context, device), "cuDevicePrimaryCtxRetain");
  bench.Check(driver->ContextSetCurrent(context), "cuCtxSetCurrent");
  bench.Allocate(count);
  bench.Fill();
  bench.Run(true, true);  // warms up
  const double way = double(bytes) * count * rounds / 1e9;
  const double to_host = way / bench.Run(true, false), to_device = way / bench.Run(false, true),
               both = way / bench.Run(true, true);
  bench.CheckValues();
  bench.Free();
  bench.Check(driver->PrimaryContextRelease(device), "cuDevicePrimaryCtxRelease");
  std::printf("{\"to_host_gb_per_s\": %.3f, \"to_device_gb_per_s\": %.3f, \"both_gb_per_s\": %.3f}\n",
              to_host, to_device, both);
  return 0;
}
