// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a DeviceExecutor records of when its ops have run: spans of a trace, measurements of a profile.
#include <algorithm>
#include <chrono>
#include <utility>

#include "runtime/cuda/device_executor.h"
#include "runtime/cuda/memory_needs.h"

namespace commsched::runtime::cuda {
namespace {

// A step of an event's time: what begins behind something else may seem to overlap it by so much.
constexpr std::chrono::nanoseconds kTouching(500);

TraceSpan::Track TrackOf(const PlanGraph &graph, uint32_t op) {
  switch (graph.lanes[graph.graph.ops[op].lane]) {
    case PlanLane::kDeferredFirst: return TraceSpan::kDeferredFirst;
    case PlanLane::kDeferred: return TraceSpan::kDeferred;
    case PlanLane::kToHost: return TraceSpan::kCopyToHost;
    case PlanLane::kToHostAgain: return TraceSpan::kCopyToHostAgain;
    case PlanLane::kToDeviceFirst: return TraceSpan::kCopyToDeviceFirst;
    case PlanLane::kToDevice: return TraceSpan::kCopyToDevice;
    case PlanLane::kBatches: return TraceSpan::kBatches;
    case PlanLane::kMetrics: return TraceSpan::kMetrics;
    case PlanLane::kNccl: return TraceSpan::kNccl;
    case PlanLane::kCompute:
    case PlanLane::kHost: break;
  }
  return TraceSpan::kCompute;
}

}  // namespace

void Communications::End(const OpOfRound &op, Clock::time_point at) {
  auto begun = open_.extract(op);
  if (!begun.empty()) Add(begun.mapped(), at);
}

bool Communications::Any(Clock::time_point begin, Clock::time_point end) const {
  return std::any_of(ended_.begin(), ended_.end(),
                     [&](const auto &each) {
                       return each.first + kTouching < end && begin + kTouching < each.second;
                     }) ||
         std::any_of(open_.begin(), open_.end(),
                     [&](const auto &each) { return each.second < end; });
}

void Communications::Forget(Clock::time_point before) {
  std::erase_if(ended_, [before](const auto &each) { return each.second < before; });
}

absl::Status DeviceExecutor::RecordTimes() {
  const Call &call = in_flight_.front();
  const OfFunction &function = functions_[size_t(call.function)];
  const FunctionProgram &program = program_->functions[size_t(call.function)];
  absl::StatusOr<std::vector<OpTimes::Interval>> times = times_->Take(call.number);
  if (!times.ok()) return times.status();
  const bool tracing = options_.trace != nullptr && options_.trace->enabled();
  for (const OpTimes::Interval &when : *times) {
    const DeviceOp &work = function.graph.work[when.op];
    const bool collective = work.kind == DeviceOp::kCollective;
    if (tracing)
      options_.trace->Add(
          {program_->rank, TrackOf(function.graph, when.op), 0,
           collective ? program.instructions[work.instruction].communicate.key
                      : function.graph.graph.ops[when.op].name,
           collective                       ? "collective"
           : work.kind == DeviceOp::kLaunch ? "compute"
                                            : "copy",
           call.number, work.bytes, when.begin, when.end});
    if (options_.profile == nullptr) continue;
    if (collective)
      communications_.Add(when.begin, when.end);
    else if (work.instruction != DeviceOp::kNone)  // else of batches and metrics
      measured_.push_back({in_flight_.back().number, call.function, work.instruction, when});
  }
  if (options_.profile != nullptr) RecordProfile(call.number);
  return absl::OkStatus();
}

// Measurements that no call behind this one, which has ended, was under way beside.
void DeviceExecutor::RecordProfile(uint64_t ended) {
  while (!measured_.empty() && measured_.front().beside <= ended) {
    const Measured &of = measured_.front();
    options_.profile->Add(*program_, of.function, of.instruction, of.when.nanoseconds,
                          communications_.Any(of.when.begin, of.when.end));
    measured_.pop_front();
  }
  Clock::time_point oldest = Clock::now();
  for (const Measured &of : measured_) oldest = std::min(oldest, of.when.begin);
  communications_.Forget(oldest);
}

}  // namespace commsched::runtime::cuda
