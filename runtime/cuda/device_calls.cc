// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the threads that use a DeviceExecutor queue, wait for and ask.
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/status_util.h"
#include "runtime/cuda/device_executor.h"

namespace commsched::runtime::cuda {
namespace {

constexpr size_t kMaxQueued = 2;

}  // namespace

absl::Status DeviceExecutor::DrainLocked() {
  while (status_.ok() && (open_ != 0 || !queue_.empty())) changed_.Wait(&mu_);
  return Unshared(status_);
}

absl::StatusOr<uint64_t> DeviceExecutor::Enqueue(int function, BatchRows batches) {
  MutexLock lock(&mu_);
  while (status_.ok() && queue_.size() >= kMaxQueued) changed_.Wait(&mu_);
  if (!status_.ok()) return Unshared(status_);
  const FunctionProgram &f = program_->functions[size_t(function)];
  if (batches.data.size() != f.batches.size())
    return absl::InvalidArgumentError(absl::StrCat("function @", f.name, " needs ",
                                                   f.batches.size(), " batch arguments, got: ",
                                                   batches.data.size()));
  if (f.reads_index && batches.rank >= 0 && batches.rank != program_->worker)
    return absl::UnimplementedError(
        absl::StrCat("function @", f.name,
                     " has the index of its worker, and cannot run for another one on a CUDA device"));
  if (f.is_step) ++steps_;
  queue_.push_back({function, next_call_, std::move(batches), {}});
  work_.SignalAll();
  return next_call_++;
}

absl::StatusOr<std::vector<double>> DeviceExecutor::Metrics(uint64_t call) {
  MutexLock lock(&mu_);
  if (call >= next_call_)
    return absl::InvalidArgumentError(absl::StrCat("there is no call ", call, " yet"));
  while (status_.ok() && completed_ <= call) changed_.Wait(&mu_);
  if (completed_ <= call) return Unshared(status_);
  const uint64_t first = completed_ - results_.size();
  if (call < first)
    return absl::OutOfRangeError(
        absl::StrCat("the metrics of call ", call, " are no longer kept"));
  return results_[call - first];
}

absl::Status DeviceExecutor::Drain() {
  MutexLock lock(&mu_);
  return DrainLocked();
}

absl::Status DeviceExecutor::status() {
  MutexLock lock(&mu_);
  return Unshared(status_);
}

absl::Status DeviceExecutor::GoBack(uint64_t) {
  return absl::UnimplementedError("a CUDA device does not keep those of earlier calls");
}

FunctionStats DeviceExecutor::Stats(int function) {
  MutexLock lock(&mu_);
  return stats_[size_t(function)];
}

void DeviceExecutor::ResetStats() {
  MutexLock lock(&mu_);
  FunctionStats none;
  none.of_streams = false;
  stats_.assign(program_->functions.size(), none);
}

uint64_t DeviceExecutor::bytes_sent() const {
  uint64_t bytes = 0;
  if (options_.transport != nullptr) bytes += options_.transport->bytes_sent();
  if (options_.servers != nullptr) bytes += options_.servers->bytes_sent();
  return bytes;
}

uint64_t DeviceExecutor::steps() {
  MutexLock lock(&mu_);
  return steps_;
}

uint64_t DeviceExecutor::completed() {
  MutexLock lock(&mu_);
  return completed_;
}

}  // namespace commsched::runtime::cuda
