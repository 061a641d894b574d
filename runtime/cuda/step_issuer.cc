// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/cuda/step_issuer.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/cuda/load.h"

namespace commsched::runtime::cuda {
namespace {

constexpr uint32_t kNoFlag = UINT32_MAX;
// Each on a cache line of its own: different threads write them.
constexpr size_t kFlagStride = 64 / sizeof(uint32_t);

}  // namespace

absl::StatusOr<std::unique_ptr<StepIssuer>> StepIssuer::Create(const DriverApi &api,
                                                               const StepGraph &graph,
                                                               const IssuePlan &plan) {
  std::unique_ptr<StepIssuer> issuer(new StepIssuer(api, graph, plan));
  if (absl::Status status = issuer->MakeAll(); !status.ok()) return status;
  return issuer;
}

absl::Status StepIssuer::MakeAll() {
  streams_.assign(graph_.lanes.size(), nullptr);
  events_.resize(graph_.ops.size());
  flag_of_.assign(graph_.ops.size(), kNoFlag);
  for (size_t lane = 0; lane < streams_.size(); ++lane) {
    if (graph_.lanes[lane].host()) continue;
    const DriverResult made = api_.StreamCreateWithPriority(&streams_[lane], kStreamNonBlocking, 0);
    if (absl::Status status = ToStatus(api_, made, "cuStreamCreateWithPriority"); !status.ok())
      return status;
  }
  uint32_t flags = 0;
  for (uint32_t op = 0; op < events_.size(); ++op) {
    if (plan_.ops[op].signals && OnHost(op)) flag_of_[op] = flags++;
    for (uint32_t i = 0; i < plan_.ops[op].events; ++i) {
      Event event = nullptr;
      const DriverResult made = api_.EventCreate(&event, kEventDisableTiming);
      if (absl::Status status = ToStatus(api_, made, "cuEventCreate"); !status.ok()) return status;
      events_[op].push_back(event);
    }
  }
  if (flags == 0) return absl::OkStatus();
  void *memory = nullptr;
  const size_t bytes = flags * kFlagStride * sizeof(uint32_t);
  const DriverResult made = api_.MemHostAlloc(&memory, bytes, kHostAllocPortable);
  if (absl::Status status = ToStatus(api_, made, "cuMemHostAlloc"); !status.ok()) return status;
  std::memset(memory, 0, bytes);
  flags_ = static_cast<uint32_t *>(memory);
  flag_count_ = flags;
  return absl::OkStatus();
}

StepIssuer::~StepIssuer() {
  for (const std::vector<Event> &events : events_) {
    for (Event event : events) api_.EventDestroy(event);
  }
  for (Stream stream : streams_) {
    if (stream != nullptr) api_.StreamDestroy(stream);
  }
  if (flags_ != nullptr) api_.MemFreeHost(flags_);
}

const uint32_t *StepIssuer::flag(uint32_t op) const {
  return flag_of_[op] == kNoFlag ? nullptr : flags_ + flag_of_[op] * kFlagStride;
}

absl::Status StepIssuer::Wait(Stream stream, const Dependence &wait) {
  if (wait.previous && round_ == 0) return absl::OkStatus();
  const uint64_t round = round_ - (wait.previous ? 1 : 0);
  if (OnHost(wait.op)) {
    // Addresses of pinned memory are the same on host and device (unified addressing).
    const auto address = reinterpret_cast<uintptr_t>(flag(wait.op));
    return ToStatus(
        api_, api_.StreamWaitValue32(stream, address, uint32_t(round + 1), kWaitValueGreaterEqual),
        "cuStreamWaitValue32");
  }
  return ToStatus(api_, api_.StreamWaitEvent(stream, EventOf(wait.op, round), 0),
                  "cuStreamWaitEvent");
}

absl::Status StepIssuer::Enqueue(uint32_t end, EnqueueOp enqueue) {
  for (; next_ < end; ++next_) {
    const uint32_t op = next_;
    if (OnHost(op)) continue;
    const Stream stream = streams_[graph_.ops[op].lane];
    const auto named = [&](const absl::Status &status) {
      if (status.ok()) return status;
      return absl::Status(status.code(), absl::StrCat("op \"", graph_.ops[op].name, "\" of round ",
                                                      round_, ": ", status.message()));
    };
    for (const Dependence &wait : plan_.ops[op].waits) {
      if (absl::Status status = Wait(stream, wait); !status.ok()) return named(status);
    }
    if (absl::Status status = enqueue({op, round_}, stream); !status.ok()) return status;
    if (!plan_.ops[op].signals) continue;
    const DriverResult recorded = api_.EventRecord(EventOf(op, round_), stream);
    if (absl::Status status = ToStatus(api_, recorded, "cuEventRecord"); !status.ok())
      return named(status);
  }
  if (next_ < graph_.ops.size()) return absl::OkStatus();
  next_ = 0;
  ++round_;
  return absl::OkStatus();
}

void StepIssuer::Release() {
  for (uint32_t flag = 0; flag < flag_count_; ++flag) {
    // Half way around from all values that are waited for.
    std::atomic_ref<uint32_t>(flags_[flag * kFlagStride])
        .store(uint32_t(round_) + (uint32_t{1} << 30), std::memory_order_release);
  }
}

absl::StatusOr<bool> StepIssuer::HasEnded(const OpOfRound &op) const {
  const DriverResult result = api_.EventQuery(EventOf(op.op, op.round));
  if (result == DriverResult::kNotReady) return false;
  if (absl::Status status = ToStatus(api_, result, "cuEventQuery"); !status.ok()) return status;
  return true;
}

void StepIssuer::HostEnded(const OpOfRound &op) {
  if (flag_of_[op.op] == kNoFlag) return;
  // What the op has written to pinned memory is there before the flag is.
  std::atomic_ref<uint32_t>(flags_[flag_of_[op.op] * kFlagStride])
      .store(uint32_t(op.round + 1), std::memory_order_release);
}

}  // namespace commsched::runtime::cuda
