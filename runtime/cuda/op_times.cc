// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/cuda/op_times.h"

#include <chrono>
#include <cmath>
#include <thread>

#include "absl/strings/str_cat.h"
#include "runtime/cuda/load.h"

namespace commsched::runtime::cuda {
namespace {

// By then a float of milliseconds has steps of a quarter of a microsecond.
constexpr std::chrono::seconds kReferred(2);
// Clocks are compared again.
constexpr std::chrono::seconds kIdle(30);

}  // namespace

OpTimes::~OpTimes() {
  MutexLock lock(&mu_);
  while (!calls_.empty()) Forget(calls_.begin());
  for (const auto &[number, reference] : references_) driver_.EventDestroy(reference.event);
  for (Event event : free_) driver_.EventDestroy(event);
  if (stream_ != nullptr) driver_.StreamDestroy(stream_);
}

absl::StatusOr<Event> OpTimes::TakeEvent() {
  Event event = nullptr;
  if (!free_.empty()) {
    event = free_.back();
    free_.pop_back();
    return event;
  }
  const DriverResult made = driver_.EventCreate(&event, kEventDefault);
  if (absl::Status s = ToStatus(driver_, made, "cuEventCreate"); !s.ok()) return s;
  return event;
}

absl::StatusOr<int64_t> OpTimes::Nanoseconds(Event begin, Event end) const {
  float milliseconds = 0;
  const DriverResult result = driver_.EventElapsedTime(&milliseconds, begin, end);
  if (absl::Status s = ToStatus(driver_, result, "cuEventElapsedTime"); !s.ok()) return s;
  return std::llround(double(milliseconds) * 1e6);
}

absl::Status OpTimes::Refer() {
  absl::StatusOr<Event> event = TakeEvent();
  if (!event.ok()) return event.status();
  const auto failed = [&](absl::Status status) {
    free_.push_back(*event);
    return status;
  };
  const Clock::time_point before = Now(), deadline = After(deadline_);
  DriverResult result = driver_.EventRecord(*event, stream_);
  if (absl::Status s = ToStatus(driver_, result, "cuEventRecord"); !s.ok()) return failed(s);
  while ((result = driver_.EventQuery(*event)) == DriverResult::kNotReady) {
    if (Clock::now() >= deadline)
      return failed(absl::DeadlineExceededError(
          absl::StrCat("the device does not say its time for ", absl::FormatDuration(deadline_))));
    std::this_thread::yield();
  }
  if (absl::Status s = ToStatus(driver_, result, "cuEventQuery"); !s.ok()) return failed(s);
  const Clock::time_point since_last = std::exchange(referred_, Now());
  Reference made{*event, before + (referred_ - before) / 2, 0};
  if (!references_.empty()) {
    auto last = std::prev(references_.end());
    if (!calls_.empty() || referred_ - since_last < kIdle) {
      absl::StatusOr<int64_t> since = Nanoseconds(last->second.event, *event);
      if (!since.ok()) return failed(since.status());
      made.at = last->second.at + std::chrono::nanoseconds(*since);
    }
    if (last->second.calls == 0) {
      free_.push_back(last->second.event);
      references_.erase(last);
    }
  }
  references_[made_++] = made;
  return absl::OkStatus();
}

absl::Status OpTimes::Start(uint64_t call) {
  MutexLock lock(&mu_);
  if (stream_ == nullptr) {
    const DriverResult made = driver_.StreamCreateWithPriority(&stream_, kStreamNonBlocking, 0);
    if (absl::Status s = ToStatus(driver_, made, "cuStreamCreateWithPriority"); !s.ok()) return s;
  }
  if (references_.empty() || Now() - referred_ > kReferred) {
    if (absl::Status s = Refer(); !s.ok()) return s;
  }
  const auto reference = std::prev(references_.end());
  ++reference->second.calls;
  calls_[call].reference = reference->first;
  return absl::OkStatus();
}

absl::Status OpTimes::Before(uint64_t call, uint32_t op, Stream stream) {
  MutexLock lock(&mu_);
  absl::StatusOr<Event> event = TakeEvent();
  if (!event.ok()) return event.status();
  calls_[call].ops.push_back({op, *event, nullptr});
  return ToStatus(driver_, driver_.EventRecord(*event, stream), "cuEventRecord");
}

absl::Status OpTimes::Behind(uint64_t call, Stream stream) {
  MutexLock lock(&mu_);
  absl::StatusOr<Event> event = TakeEvent();
  if (!event.ok()) return event.status();
  calls_[call].ops.back().end = *event;
  return ToStatus(driver_, driver_.EventRecord(*event, stream), "cuEventRecord");
}

void OpTimes::Forget(std::map<uint64_t, Call>::iterator call) {
  for (const Op &op : call->second.ops) {
    for (Event event : {op.begin, op.end})
      if (event != nullptr) free_.push_back(event);
  }
  const auto reference = references_.find(call->second.reference);
  if (--reference->second.calls == 0 && std::next(reference) != references_.end()) {
    free_.push_back(reference->second.event);
    references_.erase(reference);
  }
  calls_.erase(call);
}

absl::StatusOr<std::vector<OpTimes::Interval>> OpTimes::Take(uint64_t number) {
  MutexLock lock(&mu_);
  std::vector<Interval> intervals;
  const auto call = calls_.find(number);
  if (call == calls_.end()) return intervals;
  const Reference &reference = references_[call->second.reference];
  for (const Op &op : call->second.ops) {
    const absl::StatusOr<int64_t> begin = Nanoseconds(reference.event, op.begin),
                                  end = Nanoseconds(reference.event, op.end),
                                  length = Nanoseconds(op.begin, op.end);
    for (const auto *each : {&begin, &end, &length})
      if (!each->ok()) return each->status();
    intervals.push_back({op.op, reference.at + std::chrono::nanoseconds(*begin),
                         reference.at + std::chrono::nanoseconds(*end), *length});
  }
  Forget(call);
  return intervals;
}

}  // namespace commsched::runtime::cuda
