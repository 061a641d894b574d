// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The messages of the progress engine to and from parameter servers.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/execute/progress_engine.h"

namespace commsched::runtime {

void ProgressEngine::BeginServer(const Request &request) {
  if (servers_ == nullptr) {
    Active active;
    active.request = request;
    return Fail(absl::FailedPreconditionError(
        absl::StrCat(Describe(active), ": there is no connection to parameter servers")));
  }
  if (request.instruction->of_rows()) return BeginRows(request);
  BeginMessage(request);
}

void ProgressEngine::BeginMessage(const Request &request) {
  auto owned = std::make_unique<Active>();
  Active *active = owned.get();
  active->request = request;
  active->sequence = next_sequence_++;
  active->recv_begin = active->send_begin = Clock::now();
  {
    MutexLock lock(&mu_);
    messages_.emplace_hint(messages_.end(), active->sequence, std::move(owned));
  }
  const ServerMessageProgram &message = request.instruction->message;
  const BlockProgram &block = servers_of_->servers[message.server].blocks[message.block];
  auto done = [this, active](absl::Status status) { MessageEnded(active, std::move(status)); };
  if (request.instruction->pushes())
    servers_->Push(int(message.server), message.block, request.step, absl::MakeConstSpan(request.buffer, block.pushed().bytes),
                   std::move(done));
  else
    servers_->Pull(int(message.server), message.block, request.step, absl::MakeSpan(request.buffer, block.value.bytes),
                   std::move(done));
}

void ProgressEngine::MessageEnded(Active *active, absl::Status status) {
  if (!status.ok()) {
    Event event(Event::kReceived);
    event.active = active;
    event.status = std::move(status);
    return Push(std::move(event));
  }
  const Clock::time_point now = Clock::now();
  if (trace_ != nullptr && trace_->enabled()) TraceServer(*active, {}, now);
  const Request request = active->request;
  message_ended_ = ToTime(now);
  {
    MutexLock lock(&mu_);
    messages_.erase(active->sequence);
  }
  --communications_;
  host_->CommunicationDone(request.cookie, request.index);
}

void ProgressEngine::BeginRows(const Request &request) {
  Active *active = NewActive();
  active->request = request;
  active->recv_begin = active->send_begin = Clock::now();
  const bool push = request.instruction->pushes();
  auto done = [this, active, push](absl::Status status,
                                   std::vector<uint64_t> bytes) {
    Event event(push ? Event::kSent : Event::kReceived);
    event.active = active;
    event.status = std::move(status);
    event.bytes = std::move(bytes);
    Push(std::move(event));
  };
  if (push)
    rows_->Push(&request.instruction->rows, request.step, request.input,
                request.buffer, std::move(done));
  else
    rows_->Pull(&request.instruction->rows, request.step, request.input,
                request.buffer, std::move(done));
}

void ProgressEngine::TraceServer(const Active &active, const std::vector<uint64_t> &bytes_of, Clock::time_point end) {
  const InstructionProgram &instruction = *active.request.instruction;
  const bool push = instruction.pushes();
  const auto add = [&](uint32_t server, uint32_t block, uint64_t bytes) {
    const BlockProgram &program = servers_of_->servers[server].blocks[block];
    TraceSpan span;
    span.rank = rank_;
    span.track = push ? TraceSpan::kSend : TraceSpan::kReceive;
    span.peer = int(server);
    span.name = push ? program.key : program.pull_key;
    span.category = "message";
    span.step = active.request.call;
    span.bytes = bytes;
    span.begin = active.send_begin;
    span.end = end;
    trace_->Add(std::move(span));
  };
  if (instruction.of_rows()) {
    for (size_t p = 0; p < bytes_of.size(); ++p)
      add(instruction.rows.parts[p].server, instruction.rows.parts[p].block,
          bytes_of[p]);
    return;
  }
  const ServerMessageProgram &message = instruction.message;
  const BlockProgram &block =
      servers_of_->servers[message.server].blocks[message.block];
  add(message.server, message.block,
      push ? block.pushed().bytes : block.value.bytes);
}

void ProgressEngine::HandleServer(Event &event) {
  Active *active = event.active;
  if (!event.status.ok())
    return Fail(absl::Status(
        event.status.code(),
        absl::StrCat(Describe(*active), ": ", event.status.message())));
  if (trace_ != nullptr && trace_->enabled()) TraceServer(*active, event.bytes, event.at);
  const Request request = active->request;
  active_.erase(active->sequence);
  --communications_;
  host_->CommunicationDone(request.cookie, request.index);
}

std::string ProgressEngine::DescribeServer(const Active &active) const {
  const InstructionProgram &instruction = *active.request.instruction;
  const ServerMessageProgram &message = instruction.message;
  const bool push = instruction.pushes();
  const std::string location =
      instruction.location.empty() ? ""
                                   : absl::StrCat(" (", instruction.location, ")");
  const std::string when = absl::StrCat(push ? " in step " : " at version ",
                                        active.request.step);
  if (instruction.of_rows())
    return absl::StrCat(push ? "push" : "pull", " of rows of \"",
                        instruction.rows.key, "\"", location, when);
  const BlockProgram &block =
      servers_of_->servers[message.server].blocks[message.block];
  return absl::StrCat(
      push ? "push of \"" : "pull of \"", push ? block.key : block.pull_key, "\"",
      location, push ? " to server " : " from server ", message.server, when);
}

Clock::duration ProgressEngine::DeadlineOf(const Active &active) const {
  if (!active.of_server()) return deadline_;
  return 2 * deadline_ +
         std::min<Clock::duration>(deadline_ / 2, std::chrono::seconds(5));
}

}  // namespace commsched::runtime
