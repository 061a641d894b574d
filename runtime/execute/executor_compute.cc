// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The threads of the executor's streams: what each runs next, and what it waits
// for.
#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/precise_sleep.h"
#include "runtime/execute/executor.h"

namespace commsched::runtime {
namespace {

TraceSpan::Track TrackOf(StreamInfo::Kind kind) {
  switch (kind) {
    case StreamInfo::kToHost:
      return TraceSpan::kCopyToHost;
    case StreamInfo::kToDevice:
      return TraceSpan::kCopyToDevice;
    default:
      return TraceSpan::kCompute;
  }
}

}  // namespace

void Executor::WakeStreams() {
  for (auto &stream : streams_) stream->work.SignalAll();
}

void Executor::RunInstruction(Stream *stream, Call *call, uint32_t index) {
  const InstructionProgram &instruction = call->program->instructions[index];
  const bool copy = instruction.kind == InstructionProgram::kCopy;
  const bool timed = instruction.kind == InstructionProgram::kDelay ||
                     (options_.emulate && instruction.nanoseconds != 0);
  Clock::time_point could_begin;
  if (options_.emulate)
    could_begin = std::max(FromTime(call->met[index]), stream->due);
  BeginWrites(call, instruction);
  ++busy_;
  mu_.Unlock();
  const bool profiling = options_.profile != nullptr;
  bool communicating = profiling && engine_->Communicating();
  const Clock::time_point begin = Clock::now();
  if (!options_.emulate) could_begin = begin;
  absl::Status failed;
  // Where there are only costs, there are no values to copy.
  if (!(copy && options_.emulate && !call->program->has_code))
    failed = stream->runner.Run(*call->program, index, call->address);
  Clock::time_point due;
  if (timed) {
    due = could_begin + std::chrono::nanoseconds(instruction.nanoseconds);
    SleepUntil(due, ended_);
  }
  const Clock::time_point end = Clock::now();
  if (!timed) due = end;
  if (Tracing())
    options_.trace->Add(
        {program_->rank, TrackOf(stream->info.kind), int(stream->info.device),
         instruction.name,
         stream->info.kind == StreamInfo::kCompute ? "compute" : "copy",
         call->number, copy ? call->program->buffers[instruction.source].type.bytes : 0,
         begin, end});
  if (!failed.ok())
    Fail(absl::Status(
        failed.code(),
        absl::StrCat("fragment \"", instruction.name, "\"",
                     instruction.location.empty()
                         ? ""
                         : absl::StrCat(" (", instruction.location, ")"),
                     ": ", failed.message())));
  --busy_;
  const Clock::time_point counts_from = std::max(could_begin, stream->end);
  if (profiling && failed.ok()) {
    communicating |= engine_->Communicating();
    options_.profile->Add(*program_, call->function, index,
                          Nanoseconds(end - (timed ? counts_from : begin)),
                          communicating);
  }
  stream->due = due;
  stream->end = end;
  mu_.Lock();
  FunctionStats &stats = stream->stats[size_t(call->function)];
  (stream->info.kind == StreamInfo::kCompute ? stats.compute_ns
                                             : stats.copy_ns) +=
      options_.emulate && timed ? int64_t(instruction.nanoseconds)
                                : Nanoseconds(end - begin);
  if (timed) {
    stats.requested_ns += int64_t(instruction.nanoseconds);
    stats.elapsed_ns += Nanoseconds(end - counts_from);
    stats.latest_ns = std::max(stats.latest_ns, Nanoseconds(end - due));
  }
  if (status_.ok()) Complete(call, index, due);
}

void Executor::WaitForWork(Stream *stream) {
  if (calls_.empty() || stream->info.kind != StreamInfo::kCompute) {
    stream->work.Wait(&mu_);
    return;
  }
  // Something is under way and nothing can be computed: exposed.
  Clock::time_point begin = Clock::now();
  const int function = static_cast<const Call *>(calls_.oldest())->function;
  const uint64_t number = calls_.oldest()->number;
  std::string name = Tracing() ? calls_.WaitName(stream->index) : "";
  stream->work.Wait(&mu_);
  Clock::time_point end = Clock::now();
  stream->stats[size_t(function)].exposed_ns += Nanoseconds(end - begin);
  if (Tracing())
    options_.trace->Add({program_->rank, TraceSpan::kCompute,
                         int(stream->info.device), std::move(name),
                         "exposed wait", number, 0, begin, end});
}

void Executor::AwaitChange() {
  core::Call *call = nullptr;
  uint32_t index = 0;
  if (runner_ == std::this_thread::get_id() && calls_.Next(0, &call, &index))
    RunInstruction(streams_[0].get(), static_cast<Call *>(call), index);
  else
    changed_.Wait(&mu_);
}

void Executor::RunStream(Stream *stream) {
  mu_.Lock();
  while (!stop_ && status_.ok()) {
    core::Call *call = nullptr;
    uint32_t index = 0;
    if (calls_.Next(stream->index, &call, &index))
      RunInstruction(stream, static_cast<Call *>(call), index);
    else
      WaitForWork(stream);
  }
  mu_.Unlock();
}

}  // namespace commsched::runtime
