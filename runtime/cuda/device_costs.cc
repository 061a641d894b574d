// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/cuda/device_costs.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/sync.h"
#include "runtime/cuda/device_memory.h"
#include "runtime/cuda/load.h"
#include "runtime/cuda/nccl_lane.h"

namespace commsched::runtime::cuda {
namespace {

constexpr int kRepeats = 5;  // of which the median counts
// Of a copy that is all latency, and of two between which the rate is.
constexpr uint64_t kSmall = 64, kMiddle = uint64_t{1} << 20, kLarge = uint64_t{16} << 20;
constexpr int kSmallCopies = 32, kLargeCopies = 4;
constexpr uint64_t kFirstAllReduce = 1024, kLeastLargest = 65536;
// In a row: as many bytes as that, not fewer calls than 2, not more than 20.
constexpr uint64_t kBytesInARow = uint64_t{32} << 20;

template <typename T>
T MedianOf(std::vector<T> values) {
  const auto middle = values.begin() + std::ptrdiff_t((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

class Measurement {
 public:
  explicit Measurement(const DeviceCostsOptions &options) : options_(options), driver_(*options.driver) {}

  absl::StatusOr<DeviceCosts> Run() {
    Device device = 0;
    if (absl::Status s = Check(driver_.DeviceGet(&device, options_.device), "cuDeviceGet"); !s.ok()) return s;
    Context context = nullptr;
    if (absl::Status s = Check(driver_.PrimaryContextRetain(&context, device), "cuDevicePrimaryCtxRetain"); !s.ok())
      return s;
    absl::Cleanup release = [&] { driver_.PrimaryContextRelease(device); };
    if (absl::Status s = Check(driver_.ContextSetCurrent(context), "cuCtxSetCurrent"); !s.ok()) return s;
    absl::Cleanup destroy = [&] {
      for (const auto &direction : events_)
        for (Event event : direction)
          if (event != nullptr) driver_.EventDestroy(event);
      for (Stream stream : streams_)
        if (stream != nullptr) driver_.StreamDestroy(stream);
    };
    for (size_t i = 0; i < streams_.size(); ++i) {
      if (absl::Status s = Check(driver_.StreamCreateWithPriority(&streams_[i], kStreamNonBlocking, 0),
                                 "cuStreamCreateWithPriority");
          !s.ok())
        return s;
      for (Event &event : events_[i])
        if (absl::Status s = Check(driver_.EventCreate(&event, kEventDefault), "cuEventCreate"); !s.ok()) return s;
    }
    DeviceCosts costs;
    // First what all ranks meet at, so that they copy at the same time as well.
    if (options_.nccl != nullptr)
      if (absl::Status s = MeasureAllReduces(context, &costs); !s.ok()) return s;
    if (absl::Status s = MeasureCopies(&costs); !s.ok()) return s;
    return costs;
  }

 private:
  absl::Status Check(DriverResult result, const char *what) const { return ToStatus(driver_, result, what); }

  absl::Status Wait(Event event) const {
    const Clock::time_point deadline = After(options_.deadline);
    DriverResult result;
    while ((result = driver_.EventQuery(event)) == DriverResult::kNotReady) {
      if (Clock::now() >= deadline)
        return absl::DeadlineExceededError(absl::StrCat("CUDA device ", options_.device, ": nothing has ended for ",
                                                        absl::FormatDuration(options_.deadline)));
      std::this_thread::yield();
    }
    return Check(result, "cuEventQuery");
  }
  absl::Status Record(int direction, int which) const {
    return Check(driver_.EventRecord(events_[size_t(direction)][size_t(which)], streams_[size_t(direction)]),
                 "cuEventRecord");
  }
  // Nanoseconds between the two events of a stream, which have ended.
  absl::StatusOr<double> Elapsed(int direction) const {
    float ms = 0;
    const auto &[begin, end] = events_[size_t(direction)];
    if (absl::Status s = Check(driver_.EventElapsedTime(&ms, begin, end), "cuEventElapsedTime");
        !s.ok())
      return s;
    return double(ms) * 1e6;
  }

  // What a copy of each direction takes, of so many in a row; both at once if both are asked for.
  absl::StatusOr<std::array<double, 2>> Copy(std::array<bool, 2> runs, uint64_t bytes, int count) const {
    std::array<std::vector<double>, 2> times;
    for (int repeat = 0; repeat < kRepeats; ++repeat) {
      for (int direction : {0, 1})
        if (runs[size_t(direction)])
          if (absl::Status s = Record(direction, 0); !s.ok()) return s;
      for (int i = 0; i < count; ++i) {
        for (int direction : {0, 1}) {
          if (!runs[size_t(direction)]) continue;
          const auto &[from, to] = buffers_[size_t(direction)];
          const DriverResult copied =
              driver_.MemcpyAsync(to, from, bytes, streams_[size_t(direction)]);
          if (absl::Status s = Check(copied, "cuMemcpyAsync"); !s.ok()) return s;
        }
      }
      for (int direction : {0, 1})
        if (runs[size_t(direction)])
          if (absl::Status s = Record(direction, 1); !s.ok()) return s;
      for (int direction : {0, 1}) {
        if (!runs[size_t(direction)]) continue;
        if (absl::Status s = Wait(events_[size_t(direction)][1]); !s.ok()) return s;
        absl::StatusOr<double> elapsed = Elapsed(direction);
        if (!elapsed.ok()) return elapsed.status();
        times[size_t(direction)].push_back(*elapsed / count);
      }
    }
    std::array<double, 2> result = {};
    for (int direction : {0, 1})
      if (runs[size_t(direction)]) result[size_t(direction)] = MedianOf(std::move(times[size_t(direction)]));
    return result;
  }

  absl::Status MeasureCopies(DeviceCosts *costs) {
    DeviceMemory memory(driver_, nullptr);
    for (int direction : {0, 1}) {
      absl::StatusOr<DevicePtr> device = memory.Allocate(kLarge, "copies");
      absl::StatusOr<DevicePtr> host = memory.AllocatePinned(kLarge, "copies");
      for (const auto *each : {&device, &host})
        if (!each->ok()) return each->status();
      buffers_[size_t(direction)] = direction == 0 ? std::pair(*device, *host) : std::pair(*host, *device);
    }
    // Warms up, and whatever else comes with a first time.
    if (auto warm = Copy({true, true}, kLarge, 1); !warm.ok()) return warm.status();
    absl::StatusOr<std::array<double, 2>> both = Copy({true, true}, kLarge, kLargeCopies);
    if (!both.ok()) return both.status();
    const auto rate = [](double bytes, double ns) {
      return std::max<int64_t>(1, std::llround(bytes * 1e9 / std::max(ns, 1.0)));
    };
    for (int direction : {0, 1}) {
      std::array<double, 3> ns = {};
      for (size_t i = 0; i < ns.size(); ++i) {
        const uint64_t bytes = std::array{kSmall, kMiddle, kLarge}[i];
        auto copied = Copy({direction == 0, direction == 1}, bytes, bytes == kSmall ? kSmallCopies : kLargeCopies);
        if (!copied.ok()) return copied.status();
        ns[i] = (*copied)[size_t(direction)];
      }
      DeviceCosts::Copy &copy = costs->copies.emplace_back();
      copy.to_host = direction == 0;
      copy.latency_ns = std::llround(ns[0]);
      copy.bytes_per_second = rate(double(kLarge - kMiddle), ns[2] - ns[1]);
      // Not more than alone: what is beside it only takes from it.
      copy.both_bytes_per_second =
          std::min(copy.bytes_per_second, rate(double(kLarge), (*both)[size_t(direction)] - ns[0]));
    }
    return absl::OkStatus();
  }

  absl::Status MeasureAllReduces(Context context, DeviceCosts *costs) {
    std::vector<uint64_t> sizes = {kFirstAllReduce};
    while (sizes.back() < std::max(options_.largest, kLeastLargest)) sizes.push_back(4 * sizes.back());
    DeviceMemory memory(driver_, options_.nccl);
    absl::StatusOr<DevicePtr> buffer = memory.Allocate(sizes.back(), "all-reduces");
    if (!buffer.ok()) return buffer.status();
    const DriverResult zeroed = driver_.MemsetD8Async(*buffer, 0, sizes.back(), streams_[0]);
    if (absl::Status s = Check(zeroed, "cuMemsetD8Async"); !s.ok()) return s;
    void *const window = reinterpret_cast<void *>(*buffer);
    NcclLaneOptions lane_options;
    lane_options.driver = &driver_;
    lane_options.nccl = options_.nccl;
    lane_options.context = context;
    lane_options.rank = options_.rank;
    lane_options.ranks = options_.ranks;
    lane_options.id = options_.id;
    lane_options.deadline = options_.deadline;
    lane_options.windows.push_back({window, sizes.back()});
    absl::StatusOr<std::unique_ptr<NcclLane>> lane = NcclLane::Create(std::move(lane_options));
    if (!lane.ok()) return lane.status();
    for (uint64_t bytes : sizes) {
      const auto count = int(std::clamp<uint64_t>(kBytesInARow / bytes, 2, 20));
      std::vector<double> times;
      for (int repeat = 0; repeat < kRepeats; ++repeat) {
        const auto work = [&](NcclLane::Caller &caller) -> absl::Status {
          Collective call;
          call.name = {absl::StrCat("all-reduce of ", bytes, " bytes"), uint64_t(repeat)};
          call.from = call.to = window;
          call.count = bytes / sizeof(float);
          // One more in front: ranks come together there.
          for (int i = 0; i <= count; ++i) {
            if (i == 1)
              if (absl::Status s = Record(0, 0); !s.ok()) return s;
            if (absl::Status s = caller.Call(call, streams_[0]); !s.ok()) return s;
          }
          return Record(0, 1);
        };
        absl::Status status = (*lane)->Post(work);
        if (status.ok()) status = (*lane)->Drain();
        if (!status.ok()) return status;
        if (absl::Status s = Wait(events_[0][1]); !s.ok()) return s;
        absl::StatusOr<double> elapsed = Elapsed(0);
        if (!elapsed.ok()) return elapsed.status();
        times.push_back(*elapsed / count);
      }
      costs->all_reduces.push_back({bytes, std::llround(MedianOf(std::move(times)))});
    }
    return absl::OkStatus();
  }

  const DeviceCostsOptions &options_;
  const DriverApi &driver_;
  // Of each direction: to the host, to the device. All-reduces have the first.
  std::array<Stream, 2> streams_ = {};
  std::array<std::array<Event, 2>, 2> events_ = {};              // before and behind
  std::array<std::pair<DevicePtr, DevicePtr>, 2> buffers_ = {};  // from, to
};

}  // namespace

absl::StatusOr<DeviceCosts> MeasureDevice(const DeviceCostsOptions &options) { return Measurement(options).Run(); }

}  // namespace commsched::runtime::cuda
