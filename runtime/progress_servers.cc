// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The messages of the progress engine to and from parameter servers.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/progress_engine.h"

namespace commsched::runtime {

void ProgressEngine::BeginServer(Active *active) {
  const ServerMessageProgram &message = active->request.instruction->message;
  const bool push = active->request.instruction->kind == InstructionProgram::kPush;
  if (servers_ == nullptr)
    return Fail(absl::FailedPreconditionError(absl::StrCat(
        Describe(*active), ": there is no connection to parameter servers")));
  active->recv_begin = active->send_begin = Clock::now();
  auto done = [this, active, push](absl::Status status) {
    Event event(push ? Event::kSent : Event::kReceived);
    event.active = active;
    event.status = std::move(status);
    Push(std::move(event));
  };
  const BlockProgram &block =
      servers_of_->servers[message.server].blocks[message.block];
  if (push)
    servers_->Push(
        int(message.server), message.block, active->request.step,
        absl::MakeConstSpan(active->request.buffer, block.gradient.bytes),
        std::move(done));
  else
    servers_->Pull(int(message.server), message.block, active->request.step,
                   absl::MakeSpan(active->request.buffer, block.value.bytes),
                   std::move(done));
}

void ProgressEngine::HandleServer(Event &event) {
  Active *active = event.active;
  if (!event.status.ok())
    return Fail(absl::Status(
        event.status.code(),
        absl::StrCat(Describe(*active), ": ", event.status.message())));
  const ServerMessageProgram &message = active->request.instruction->message;
  const BlockProgram &block =
      servers_of_->servers[message.server].blocks[message.block];
  if (trace_ != nullptr && trace_->enabled()) {
    const bool push = event.kind == Event::kSent;
    TraceSpan span;
    span.rank = rank_;
    span.track = push ? TraceSpan::kSend : TraceSpan::kReceive;
    span.peer = int(message.server);
    span.name = push ? block.key : block.pull_key;
    span.category = "message";
    span.step = active->request.call;
    span.bytes = push ? block.gradient.bytes : block.value.bytes;
    span.begin = active->send_begin;
    span.end = event.at;
    trace_->Add(std::move(span));
  }
  const Request request = active->request;
  active_.erase(active->sequence);
  host_->CommunicationDone(request.cookie, request.index);
}

std::string ProgressEngine::DescribeServer(const Active &active) const {
  const InstructionProgram &instruction = *active.request.instruction;
  const ServerMessageProgram &message = instruction.message;
  const bool push = instruction.kind == InstructionProgram::kPush;
  const BlockProgram &block =
      servers_of_->servers[message.server].blocks[message.block];
  return absl::StrCat(
      push ? "push of \"" : "pull of \"", push ? block.key : block.pull_key, "\"",
      instruction.location.empty()
          ? ""
          : absl::StrCat(" (", instruction.location, ")"),
      push ? " to server " : " from server ", message.server,
      push ? " in step " : " at version ", active.request.step);
}

Clock::duration ProgressEngine::DeadlineOf(const Active &active) const {
  if (!active.of_server()) return deadline_;
  return deadline_ + std::min<Clock::duration>(deadline_ / 2, std::chrono::seconds(5));
}

}  // namespace commsched::runtime
