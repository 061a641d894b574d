// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a session does with parameter servers.
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/in_process_parameter_client.h"
#include "runtime/session.h"

namespace commsched::runtime {

absl::Status Session::SetValue(uint32_t value,
                               absl::Span<const std::byte> bytes) {
  const ValueInfo &info = values()[value];
  for (uint32_t slot : info.trainer)
    for (auto &executor : executors_)
      if (absl::Status s = executor->SetSlot(slot, bytes); !s.ok())
        return Root(s);
  if (!info.parts.empty())
    for (auto &server : servers_)
      if (absl::Status s = server->SetWhole(info.name, bytes); !s.ok()) return s;
  of_trainers_[value] = false;
  return absl::OkStatus();
}

absl::Status Session::GetValue(uint32_t value, absl::Span<std::byte> bytes) {
  const ValueInfo &info = values()[value];
  if (bytes.size() != info.type.bytes)
    return absl::InvalidArgumentError(absl::StrCat(
        "value of \"", info.name, "\" must match ", ToString(info.type), " of ",
        info.type.bytes, " bytes, got: ", bytes.size(), " bytes"));
  const bool here = !servers_.empty() && info.on_servers && !of_trainers_[value];
  if (!here) {
    if (info.trainer.empty())
      return absl::FailedPreconditionError(
          absl::StrCat("\"", info.name, "\" is on the parameter servers only"));
    return Root(executors_[0]->GetSlot(info.trainer[0], bytes));
  }
  // The trainers' calls may still push.
  if (absl::Status s = Drain(); !s.ok()) return s;
  for (const ValueInfo::Part &part : info.parts)
    if (absl::Status s = servers_[size_t(part.server)]->GetSlot(
            part.slot, bytes.subspan(part.begin, part.bytes));
        !s.ok())
      return s;
  return absl::OkStatus();
}

absl::Status Session::Synchronise() {
  bool changed = !started_;
  // What functions of the trainers have made goes to the servers.
  for (uint32_t v = 0; v < values().size(); ++v) {
    if (!of_trainers_[v]) continue;
    of_trainers_[v] = false;
    if (values()[v].parts.empty() || servers_.empty()) continue;
    changed = true;
    std::vector<std::byte> whole(values()[v].type.bytes);
    if (absl::Status s = executors_[0]->GetSlot(values()[v].trainer[0],
                                                absl::MakeSpan(whole));
        !s.ok())
      return Root(s);
    for (auto &server : servers_)
      if (absl::Status s = server->SetWhole(values()[v].name, whole); !s.ok())
        return s;
  }
  if (!started_ && !servers_.empty())
    if (absl::Status s = JoinParameterServers(servers_, image_->nodes()); !s.ok())
      return s;
  started_ = true;
  if (!changed) return absl::OkStatus();
  for (auto &executor : executors_)
    if (absl::Status s = PullValues(executor.get()); !s.ok()) return Root(s);
  return absl::OkStatus();
}

// Gives a trainer what the servers have.
absl::Status Session::PullValues(Executor *executor) {
  ParameterClient *client = executor->servers();
  if (client == nullptr)
    return absl::FailedPreconditionError(
        "there is no connection to parameter servers");
  const ServersProgram &servers = image_->servers();
  const uint64_t version = client->first_step() + executor->steps();
  for (const ValueInfo &value : values()) {
    if (value.trainer.empty() || !value.on_servers) continue;
    std::vector<std::byte> whole(value.type.bytes);
    Mutex mu;
    CondVar changed;
    size_t open = 0, got = 0;
    absl::Status status;
    for (const ValueInfo::Part &part : value.parts) {
      const std::vector<BlockProgram> &blocks =
          servers.servers[size_t(part.server)].blocks;
      for (uint32_t b = 0; b < blocks.size(); ++b) {
        if (blocks[b].slot != part.slot) continue;
        got += part.bytes;
        {
          MutexLock lock(&mu);
          ++open;
        }
        client->Pull(part.server, b, version,
                     absl::MakeSpan(whole).subspan(part.begin, part.bytes),
                     [&](absl::Status s) {
                       MutexLock lock(&mu);
                       if (status.ok()) status = std::move(s);
                       --open;
                       changed.SignalAll();
                     });
      }
    }
    {
      MutexLock lock(&mu);
      while (open != 0) changed.Wait(&mu);
      if (!status.ok()) return status;
    }
    // Other state is not handed out; trainers and servers set it alike.
    if (got != whole.size()) continue;
    for (uint32_t slot : value.trainer)
      if (absl::Status s = executor->SetSlot(slot, whole); !s.ok()) return s;
  }
  return absl::OkStatus();
}

absl::Status Session::Finish() {
  if (absl::Status s = Drain(); !s.ok() || !has_servers()) return s;
  if (!started_)
    if (absl::Status s = Synchronise(); !s.ok()) return s;
  for (auto &executor : executors_) {
    ParameterClient *client = executor->servers();
    if (client == nullptr) continue;
    if (absl::Status s = client->Finish(client->first_step() + executor->steps());
        !s.ok())
      return Root(s);
  }
  for (auto &server : servers_)
    if (absl::Status s = server->Wait(); !s.ok()) return s;
  return absl::OkStatus();
}

uint64_t Session::first_step() const {
  ParameterClient *client = executors_[0]->servers();
  return client == nullptr ? 0 : client->first_step();
}

}  // namespace commsched::runtime
