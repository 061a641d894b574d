// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cuda_nccl_driver RANK RANKS ID_FILE COUNT: calls NCCL as plans do, through NcclLane and in registered
// memory of ncclMemAlloc, on device 0, beside a copy to the host on another stream, and compares all values.
// Rank 0 writes NCCL's id to ID_FILE, for which the others wait; it must not be there before. COUNT float32
// are in a window, a multiple of RANKS. Prints a line of JSON: values that are wrong, of which there should be
// none, and milliseconds of a copy, of a row of all-reduces, and of both at once. Ends with 77, and one line
// that says why, where there is no device or no NCCL.
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/time/time.h"
#include "runtime/cuda/load.h"
#include "runtime/cuda/nccl_lane.h"

namespace {

namespace cuda = commsched::runtime::cuda;

constexpr int kSkipped = 77;
constexpr int kCalls = 10;  // all-reduces in a row
constexpr absl::Duration kDeadline = absl::Seconds(15);

[[noreturn]] void End(const std::string &why, int status = 1) {
  std::fprintf(stderr, "cuda_nccl_driver: %s\n", why.c_str());
  std::fflush(stdout);
  std::_Exit(status);
}
void Check(const absl::Status &status) {
  if (!status.ok()) End(std::string(status.message()));
}

cuda::NcclUniqueId ShareId(const cuda::NcclApi &nccl, int rank, const std::string &path) {
  cuda::NcclUniqueId id;
  if (rank == 0) {
    if (nccl.GetUniqueId(&id) != cuda::NcclResult::kSuccess)
      End(std::string("ncclGetUniqueId: ") + nccl.GetLastError(nullptr));
    const std::string begun = path + ".begun";
    std::FILE *file = std::fopen(begun.c_str(), "wb");
    const bool written = file != nullptr && std::fwrite(id.bytes, sizeof(id.bytes), 1, file) == 1;
    if (file == nullptr || std::fclose(file) != 0 || !written || std::rename(begun.c_str(), path.c_str()) != 0)
      End(path + ": cannot be written");
    return id;
  }
  const auto end = std::chrono::steady_clock::now() + absl::ToChronoNanoseconds(kDeadline);
  while (std::chrono::steady_clock::now() < end) {
    if (std::FILE *file = std::fopen(path.c_str(), "rb")) {
      const bool read = std::fread(id.bytes, sizeof(id.bytes), 1, file) == 1;
      std::fclose(file);
      if (read) return id;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  End(path + ": rank 0 has not written NCCL's id");
}

// Small whole numbers: sums and means of up to 1024 of them are exact.
float Value(int rank, size_t i) { return float((i * 7 + size_t(rank) * 13) % 1021); }

struct Bench {
  const cuda::DriverApi &driver;
  const cuda::NcclApi &nccl;
  const int rank, ranks;
  const size_t count;
  cuda::Context context = {};
  void *windows[2] = {};  // of NCCL
  float *host = nullptr;  // pinned, of `count`
  cuda::DevicePtr copied = {};
  void *landing = nullptr;  // pinned; where `copied` is copied to
  cuda::Stream collectives = {}, copies = {};
  cuda::Event event = {};
  std::unique_ptr<cuda::NcclLane> lane = nullptr;
  uint64_t number = 0, wrong = 0;

  size_t bytes() const { return count * sizeof(float); }
  size_t part() const { return count / size_t(ranks); }
  void Driver(cuda::DriverResult result, const char *what) const {
    Check(cuda::ToStatus(driver, result, what));
  }
  void Nccl(cuda::NcclResult result, const char *what) const {
    if (result != cuda::NcclResult::kSuccess) End(std::string(what) + ": " + nccl.GetErrorString(result));
  }
  void Wait(cuda::Stream stream) const;
  void Set(int window, float add) const;
  void Compare(int window, size_t values, const std::function<float(size_t)> &wanted);
  cuda::Collective Call(cuda::Collective::Kind kind, cuda::NcclReduction reduction, int from, int to,
                        size_t values);
  void Run(const cuda::Collective &call, int times = 1) const;
  double Time(bool copies, bool calls);

  void Prepare(const cuda::NcclUniqueId &id);
  void CheckCalls();
  void Free();
};

void Bench::Wait(cuda::Stream stream) const {
  Driver(driver.EventRecord(event, stream), "cuEventRecord");
  cuda::DriverResult result;
  while ((result = driver.EventQuery(event)) == cuda::DriverResult::kNotReady) {
  }
  Driver(result, "cuEventQuery");
}

void Bench::Prepare(const cuda::NcclUniqueId &id) {
  cuda::NcclLaneOptions options;
  for (void *&window : windows) {
    Nccl(nccl.MemAlloc(&window, bytes()), "ncclMemAlloc");
    options.windows.push_back({window, bytes()});
  }
  void *memory = nullptr;
  Driver(driver.MemHostAlloc(&memory, bytes(), cuda::kHostAllocPortable), "cuMemHostAlloc");
  host = static_cast<float *>(memory);
  Driver(driver.MemHostAlloc(&landing, bytes(), cuda::kHostAllocPortable), "cuMemHostAlloc");
  Driver(driver.MemAlloc(&copied, bytes()), "cuMemAlloc");
  for (cuda::Stream *stream : {&collectives, &copies})
    Driver(driver.StreamCreateWithPriority(stream, cuda::kStreamNonBlocking, 0),
           "cuStreamCreateWithPriority");
  Driver(driver.EventCreate(&event, cuda::kEventDisableTiming), "cuEventCreate");
  Driver(driver.MemsetD8Async(copied, 0x5a, bytes(), copies), "cuMemsetD8Async");
  Wait(copies);
  options.driver = &driver;
  options.nccl = &nccl;
  options.context = context;
  options.rank = rank;
  options.ranks = ranks;
  options.id = id;
  options.deadline = kDeadline;
  auto made = cuda::NcclLane::Create(std::move(options));
  Check(made.status());
  lane = *std::move(made);
}

// `add`: so that what has been there before is not taken for what a call has written.
void Bench::Set(int window, float add) const {
  for (size_t i = 0; i < count; ++i) host[i] = Value(rank, i) + add;
  Driver(driver.MemcpyAsync(reinterpret_cast<cuda::DevicePtr>(windows[window]),
                            reinterpret_cast<cuda::DevicePtr>(host), bytes(), collectives),
         "cuMemcpyAsync");
  Wait(collectives);
}

void Bench::Compare(int window, size_t values, const std::function<float(size_t)> &wanted) {
  Driver(driver.MemcpyAsync(reinterpret_cast<cuda::DevicePtr>(host),
                            reinterpret_cast<cuda::DevicePtr>(windows[window]), bytes(), collectives),
         "cuMemcpyAsync");
  Wait(collectives);
  for (size_t i = 0; i < values; ++i)
    if (std::fabs(host[i] - wanted(i)) > 1e-6f * std::fabs(wanted(i))) ++wrong;
}

cuda::Collective Bench::Call(cuda::Collective::Kind kind, cuda::NcclReduction reduction, int from, int to,
                             size_t values) {
  cuda::Collective call;
  call.name = {"bench", number++};
  call.kind = kind;
  call.from = windows[from];
  call.to = windows[to];
  call.count = values;
  call.reduction = reduction;
  return call;
}

void Bench::Run(const cuda::Collective &call, int times) const {
  Check(lane->Post([=, this](cuda::NcclLane::Caller &caller) -> absl::Status {
    for (int i = 0; i < times; ++i)
      if (absl::Status s = caller.Call(call, collectives); !s.ok()) return s;
    return absl::OkStatus();
  }));
}

void Bench::CheckCalls() {
  using Kind = cuda::Collective::Kind;
  using Reduction = cuda::NcclReduction;
  const auto sum = [this](size_t i) {
    float all = 0;
    for (int r = 0; r < ranks; ++r) all += Value(r, i);
    return all;
  };
  const auto mean = [&](size_t i) { return sum(i) / float(ranks); };
  const auto own = [this](size_t i) { return i + part() * size_t(rank); };
  for (int to : {0, 1}) {  // in place, or not
    Set(1, -5000);
    Set(0, 0);
    Run(Call(Kind::kAllReduce, Reduction::kSum, 0, to, count));
    Check(lane->Drain());
    Compare(to, count, sum);
    Set(0, 0);
    Run(Call(Kind::kAllReduce, Reduction::kMean, 0, to, count));
    Check(lane->Drain());
    Compare(to, count, mean);
  }
  Set(0, 0);
  Set(1, -5000);
  Run(Call(Kind::kReduceScatter, Reduction::kMean, 0, 1, part()));
  Check(lane->Drain());
  Compare(1, part(), [&](size_t i) { return mean(own(i)); });
  Set(1, -5000);
  Run(Call(Kind::kAllGather, Reduction::kSum, 0, 1, part()));
  Check(lane->Drain());
  Compare(1, count, [&](size_t i) { return Value(int(i / part()), i % part()); });
}

// Milliseconds.
double Bench::Time(bool copy, bool calls) {
  std::memset(landing, 0, bytes());
  const auto begin = std::chrono::steady_clock::now();
  if (copy)
    Driver(driver.MemcpyAsync(reinterpret_cast<cuda::DevicePtr>(landing), copied, bytes(), copies),
           "cuMemcpyAsync");
  if (calls) {
    Run(Call(cuda::Collective::Kind::kAllReduce, cuda::NcclReduction::kSum, 0, 1, count), kCalls);
    Check(lane->Drain());
  }
  if (copy) Wait(copies);
  const double took =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  if (copy)
    for (size_t i = 0; i < bytes(); ++i)
      if (static_cast<const unsigned char *>(landing)[i] != 0x5a) ++wrong;
  return took;
}

void Bench::Free() {
  lane = nullptr;
  Driver(driver.EventDestroy(event), "cuEventDestroy");
  for (cuda::Stream stream : {collectives, copies}) Driver(driver.StreamDestroy(stream), "cuStreamDestroy");
  Driver(driver.MemFree(copied), "cuMemFree");
  for (void *memory : {static_cast<void *>(host), landing}) Driver(driver.MemFreeHost(memory), "cuMemFreeHost");
  for (void *window : windows) Nccl(nccl.MemFree(window), "ncclMemFree");
}

}  // namespace

int main(int argc, char **argv) {
  const int rank = argc == 5 ? std::atoi(argv[1]) : -1, ranks = argc == 5 ? std::atoi(argv[2]) : 0;
  const size_t count = argc == 5 ? std::strtoull(argv[4], nullptr, 10) : 0;
  if (rank < 0 || ranks < 1 || ranks > 1024 || rank >= ranks || count == 0 || count % size_t(ranks) != 0)
    End("usage: cuda_nccl_driver RANK RANKS ID_FILE COUNT, a multiple of RANKS, which are at most 1024", 2);
  auto driver = cuda::LoadDriver();
  if (!driver.ok()) End(std::string(driver.status().message()), kSkipped);
  auto nccl = cuda::LoadNccl();
  if (!nccl.ok()) End(std::string(nccl.status().message()), kSkipped);
  Bench bench{*driver, *nccl, rank, ranks, count};
  cuda::Device device = {};
  bench.Driver(driver->DeviceGet(&device, 0), "cuDeviceGet");
  bench.Driver(driver->PrimaryContextRetain(&bench.context, device), "cuDevicePrimaryCtxRetain");
  bench.Driver(driver->ContextSetCurrent(bench.context), "cuCtxSetCurrent");
  bench.Prepare(ShareId(*nccl, rank, argv[3]));
  bench.CheckCalls();
  bench.Set(0, 0);
  bench.Time(true, true);  // warms up
  const double copy = bench.Time(true, false), calls = bench.Time(false, true), both = bench.Time(true, true);
  // The sums beside which the copy has been made.
  bench.Compare(1, count, [&](size_t i) {
    float sum = 0;
    for (int r = 0; r < ranks; ++r) sum += Value(r, i);
    return sum;
  });
  bench.Free();
  bench.Driver(driver->PrimaryContextRelease(device), "cuDevicePrimaryCtxRelease");
  int version = 0;
  bench.Nccl(nccl->GetVersion(&version), "ncclGetVersion");
  std::printf(
      "{\"rank\": %d, \"ranks\": %d, \"nccl\": %d, \"bytes\": %zu, \"calls\": %d, \"wrong\": %llu, \"copy_ms\": %.3f, "
      "\"all_reduces_ms\": %.3f, \"both_ms\": %.3f}\n",
      rank, ranks, version, bench.bytes(), kCalls, static_cast<unsigned long long>(bench.wrong), copy, calls, both);
  return bench.wrong == 0 ? 0 : 1;
}
