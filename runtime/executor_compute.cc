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
#include "runtime/executor.h"
#include "runtime/precise_sleep.h"

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

bool Executor::NextInstruction(Stream *stream, Call **call, uint32_t *index) {
  const bool urgent =
      !stream->ready.empty() && std::get<0>(*stream->ready.begin()) < 0;
  for (const std::unique_ptr<Call> &candidate : in_flight_) {
    if (urgent && stream->info.kind == StreamInfo::kCompute) break;
    const std::vector<uint32_t> &list =
        candidate->program->in_order[stream->index];
    size_t &position = candidate->position[stream->index];
    if (position == list.size()) continue;
    uint32_t head = list[position];
    if (candidate->waiting[head] == 0) {
      ++position;
      *call = candidate.get();
      *index = head;
      return true;
    }
    break;  // in order: what is behind the head waits with it
  }
  if (stream->ready.empty()) return false;
  auto [priority, number, instruction] = *stream->ready.begin();
  stream->ready.erase(stream->ready.begin());
  for (const std::unique_ptr<Call> &candidate : in_flight_)
    if (candidate->number == number) *call = candidate.get();
  *index = instruction;
  return true;
}

// What the stream waits for, for the trace.
std::string Executor::WaitName(const Stream &stream, const Call &call) {
  std::string name;
  const FunctionProgram &f = *call.program;
  const std::vector<uint32_t> &list = f.in_order[stream.index];
  if (size_t position = call.position[stream.index]; position < list.size())
    for (uint32_t d : f.instructions[list[position]].waits_same)
      if (!call.done[d])
        absl::StrAppend(&name, name.empty() ? "wait for " : ", ",
                        f.instructions[d].name);
  return name.empty() ? "wait" : name;
}

void Executor::WakeStreams() {
  for (auto &stream : streams_) stream->work.SignalAll();
}

void Executor::RunInstruction(Stream *stream, Call *call, uint32_t index) {
  const InstructionProgram &instruction = call->program->instructions[index];
  const bool copy = instruction.kind == InstructionProgram::kCopy;
  const bool timed = instruction.kind == InstructionProgram::kDelay ||
                     (options_.emulate && instruction.nanoseconds != 0);
  Clock::time_point could_begin;
  if (options_.emulate) could_begin = std::max(call->ready[index], stream->due);
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
  if (in_flight_.empty() || stream->info.kind != StreamInfo::kCompute) {
    stream->work.Wait(&mu_);
    return;
  }
  // Something is under way and nothing can be computed: exposed.
  Clock::time_point begin = Clock::now();
  int function = in_flight_.front()->function;
  uint64_t number = in_flight_.front()->number;
  std::string name = Tracing() ? WaitName(*stream, *in_flight_.front()) : "";
  stream->work.Wait(&mu_);
  Clock::time_point end = Clock::now();
  stream->stats[size_t(function)].exposed_ns += Nanoseconds(end - begin);
  if (Tracing())
    options_.trace->Add({program_->rank, TraceSpan::kCompute,
                         int(stream->info.device), std::move(name),
                         "exposed wait", number, 0, begin, end});
}

void Executor::RunStream(Stream *stream) {
  mu_.Lock();
  while (!stop_ && status_.ok()) {
    Call *call = nullptr;
    uint32_t index = 0;
    if (NextInstruction(stream, &call, &index))
      RunInstruction(stream, call, index);
    else
      WaitForWork(stream);
  }
  mu_.Unlock();
}

}  // namespace commsched::runtime
