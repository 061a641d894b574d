// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The compute thread of the executor: what it runs next, and what it waits for.
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/executor.h"

namespace commsched::runtime {

bool Executor::NextInstruction(Call **call, uint32_t *index) {
  for (const std::unique_ptr<Call> &candidate : in_flight_) {
    const std::vector<uint32_t> &stream = candidate->program->stream;
    if (candidate->stream_position == stream.size()) continue;
    uint32_t head = stream[candidate->stream_position];
    if (candidate->waiting[head] == 0) {
      ++candidate->stream_position;
      *call = candidate.get();
      *index = head;
      return true;
    }
    break;  // in order: what is behind the head waits with it
  }
  if (deferred_.empty()) return false;
  auto [number, instruction] = *deferred_.begin();
  deferred_.erase(deferred_.begin());
  for (const std::unique_ptr<Call> &candidate : in_flight_)
    if (candidate->number == number) *call = candidate.get();
  *index = instruction;
  return true;
}

// What the compute stream waits for, for the trace.
std::string Executor::WaitName(const Call &call) {
  std::string name;
  const FunctionProgram &f = *call.program;
  if (call.stream_position < f.stream.size())
    for (uint32_t d : f.instructions[f.stream[call.stream_position]].waits_same)
      if (!call.done[d])
        absl::StrAppend(&name, name.empty() ? "wait for " : ", ",
                        f.instructions[d].name);
  return name.empty() ? "wait" : name;
}

void Executor::ComputeLoop() {
  mu_.Lock();
  while (!stop_ && status_.ok()) {
    Call *call = nullptr;
    uint32_t index = 0;
    if (NextInstruction(&call, &index)) {
      computing_ = true;
      mu_.Unlock();
      Clock::time_point begin = Clock::now();
      absl::Status failed = runner_.Run(*call->program, index, call->address);
      Clock::time_point end = Clock::now();
      if (Tracing())
        options_.trace->Add({program_->rank, TraceSpan::kCompute, -1,
                             call->program->instructions[index].name, "compute",
                             call->number, 0, begin, end});
      if (!failed.ok()) {
        const InstructionProgram &instruction =
            call->program->instructions[index];
        Fail(absl::Status(
            failed.code(),
            absl::StrCat("fragment \"", instruction.name, "\"",
                         instruction.location.empty()
                             ? ""
                             : absl::StrCat(" (", instruction.location, ")"),
                         ": ", failed.message())));
      }
      computing_ = false;
      mu_.Lock();
      stats_[call->function].compute_ns += Nanoseconds(end - begin);
      if (status_.ok()) Complete(call, index);
      continue;
    }
    if (in_flight_.empty()) {
      work_.Wait(&mu_);
      continue;
    }
    // Something is under way and nothing can be computed: exposed.
    Clock::time_point begin = Clock::now();
    int function = in_flight_.front()->function;
    uint64_t number = in_flight_.front()->number;
    std::string name = Tracing() ? WaitName(*in_flight_.front()) : "";
    work_.Wait(&mu_);
    Clock::time_point end = Clock::now();
    stats_[function].exposed_ns += Nanoseconds(end - begin);
    if (Tracing())
      options_.trace->Add({program_->rank, TraceSpan::kCompute, -1,
                           std::move(name), "exposed wait", number, 0, begin,
                           end});
  }
  mu_.Unlock();
}

}  // namespace commsched::runtime
