// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Values of slots from outside, and the service stream, which copies them between calls.
#include "runtime/cuda/device_executor.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/status_util.h"

namespace commsched::runtime::cuda {
namespace {

// Between two looks at a copy.
constexpr std::chrono::microseconds kLook(20);

}  // namespace

absl::Status DeviceExecutor::OnThread(std::function<absl::Status()> run) {
  MutexLock lock(&mu_);
  if (absl::Status s = DrainLocked(); !s.ok()) return s;
  Task task;
  task.run = std::move(run);
  tasks_.push_back(&task);
  work_.SignalAll();
  while (!task.done && status_.ok()) changed_.Wait(&mu_);
  // The thread may have it still.
  while (!task.done && std::find(tasks_.begin(), tasks_.end(), &task) == tasks_.end())
    changed_.Wait(&mu_);
  std::erase(tasks_, &task);
  return task.done ? Unshared(task.result) : Unshared(status_);
}

absl::Status DeviceExecutor::SetSlot(uint32_t slot, absl::Span<const std::byte> value) {
  return OnThread([=, this] { return TransferSlot(slot, value.data(), nullptr, value.size()); });
}

absl::Status DeviceExecutor::GetSlot(uint32_t slot, absl::Span<std::byte> value) {
  return OnThread([=, this] { return TransferSlot(slot, nullptr, value.data(), value.size()); });
}

absl::Status DeviceExecutor::ServiceAfter(const OfFunction *before) {
  for (uint32_t lane = 0; lane < before->graph.graph.lanes.size(); ++lane) {
    if (before->graph.graph.lanes[lane].host()) continue;
    if (absl::Status s = Check(driver_.EventRecord(service_event_, before->issuer->stream(lane)),
                               "cuEventRecord");
        !s.ok())
      return s;
    if (absl::Status s = Check(driver_.StreamWaitEvent(service_, service_event_, 0),
                               "cuStreamWaitEvent");
        !s.ok())
      return s;
  }
  return absl::OkStatus();
}

absl::Status DeviceExecutor::ServiceFence(const OfFunction &function) {
  if (absl::Status s = Check(driver_.EventRecord(service_event_, service_), "cuEventRecord");
      !s.ok())
    return s;
  for (uint32_t lane = 0; lane < function.graph.graph.lanes.size(); ++lane) {
    if (function.graph.graph.lanes[lane].host()) continue;
    if (absl::Status s =
            Check(driver_.StreamWaitEvent(function.issuer->stream(lane), service_event_, 0),
                  "cuStreamWaitEvent");
        !s.ok())
      return s;
  }
  return absl::OkStatus();
}

absl::Status DeviceExecutor::ServiceWait() {
  if (absl::Status s = Check(driver_.EventRecord(service_event_, service_), "cuEventRecord");
      !s.ok())
    return s;
  const Clock::time_point deadline = After(options_.deadline);
  while (true) {
    const DriverResult result = driver_.EventQuery(service_event_);
    if (result != DriverResult::kNotReady) return Check(result, "cuEventQuery");
    if (Clock::now() >= deadline)
      return absl::DeadlineExceededError(absl::StrCat(
          "a copy of a slot takes longer than ", absl::FormatDuration(options_.deadline)));
    std::this_thread::sleep_for(kLook);
  }
}

absl::Status DeviceExecutor::TransferSlot(uint32_t slot, const std::byte *set, std::byte *get,
                                          size_t bytes) {
  const SlotInfo &info = program_->slots[slot];
  if (!info.held)
    return absl::NotFoundError(absl::StrCat("\"", info.name, "\" is not held by this role"));
  if (bytes != info.type.bytes)
    return absl::InvalidArgumentError(absl::StrCat("value of \"", info.name, "\" must have ",
                                                   info.type.bytes, " bytes, got: ", bytes));
  if (active_ >= 0) {
    if (absl::Status s = ServiceAfter(&functions_[size_t(active_)]); !s.ok()) return s;
  }
  fence_ = true;
  const DevicePtr begin =
      functions_[0].memory[kSlotMemory] + slots_.slots[slot].copies[current_[slot]];
  for (size_t at = 0; at < bytes;) {
    const size_t piece = std::min<size_t>(bytes - at, bounce_bytes_);
    auto *bounce = reinterpret_cast<std::byte *>(bounce_);
    if (set != nullptr) std::memcpy(bounce, set + at, piece);
    const DevicePtr to = set != nullptr ? begin + at : bounce_;
    const DevicePtr from = set != nullptr ? bounce_ : begin + at;
    if (absl::Status s = Check(driver_.MemcpyAsync(to, from, piece, service_), "cuMemcpyAsync");
        !s.ok())
      return s;
    if (absl::Status s = ServiceWait(); !s.ok()) return s;
    if (get != nullptr) std::memcpy(get + at, bounce, piece);
    at += piece;
  }
  return absl::OkStatus();
}

}  // namespace commsched::runtime::cuda
