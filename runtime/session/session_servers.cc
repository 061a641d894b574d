// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a session does with parameter servers.
#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/status_util.h"
#include "runtime/servers/in_process_parameter_client.h"
#include "runtime/session/session.h"

namespace commsched::runtime {

absl::Status Session::SetValue(uint32_t value,
                               absl::Span<const std::byte> bytes) {
  const ValueInfo &info = values()[value];
  // Either all have the value, or none.
  if (absl::Status s = Drain(); !s.ok()) return s;
  for (uint32_t slot : info.trainer)
    for (auto &executor : executors_) {
      // A table lies on the servers only.
      if (info.of_rows && info.on_servers) break;
      if (!executor->program().slots[slot].held) continue;
      if (absl::Status s = executor->SetSlot(slot, bytes); !s.ok())
        return Root(s);
    }
  if (!info.parts.empty())
    for (auto &server : servers_)
      if (absl::Status s = server->SetWhole(info.name, bytes); !s.ok()) return s;
  of_trainers_[value] = false;
  pulled_.erase(value);
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
    ParameterClient *client = executors_[0]->servers();
    if (info.of_rows && client != nullptr && servers_.empty() &&
        !of_trainers_[value]) {
      if (absl::Status s = Drain(); !s.ok()) return s;
      PulledBlocks blocks;
      absl::StatusOr<bool> pulled =
          PullWhole(client, info, Version(*executors_[0]), &blocks, bytes);
      if (!pulled.ok() || *pulled) return Root(pulled.status());
    }
    if (info.trainer.empty() || (info.of_rows && !of_trainers_[value]))
      return absl::FailedPreconditionError(
          absl::StrCat("\"", info.name, "\" is on the parameter servers only"));
    RankExecutor *holder = HolderOf(info);
    if (holder == nullptr)
      return absl::FailedPreconditionError(absl::StrCat(
          "\"", info.name, "\" is on the ranks of @",
          image_->plan().roles(image_->workers()[size_t(info.role)].role).name(), " only"));
    return Root(holder->GetSlot(info.trainer[0], bytes));
  }
  // The trainers' calls may still push.
  if (absl::Status s = Drain(); !s.ok() && good_calls_ == kAllCalls) return s;
  return ReadServers(info, bytes);
}

absl::Status Session::ReadServers(const ValueInfo &value,
                                  absl::Span<std::byte> bytes) {
  for (const ValueInfo::Part &part : value.parts)
    if (absl::Status s = servers_[size_t(part.server)]->GetSlot(
            part.slot, bytes.subspan(part.begin, part.bytes));
        !s.ok())
      return s;
  return absl::OkStatus();
}

absl::Status Session::PullTables(const FunctionProgram &function) {
  for (uint32_t v = 0; v < values().size(); ++v) {
    const ValueInfo &value = values()[v];
    if (!value.of_rows || !value.on_servers || of_trainers_[v]) continue;
    const std::vector<uint32_t> &read = function.read_slots;
    const bool reads = std::any_of(
        value.trainer.begin(), value.trainer.end(), [&](uint32_t slot) {
          return std::find(read.begin(), read.end(), slot) != read.end();
        });
    const uint64_t steps = executors_[0]->steps() + 1;
    if (!reads || pulled_[v] == steps) continue;
    std::vector<std::byte> whole(value.type.bytes);
    if (absl::Status s = GetValue(v, absl::MakeSpan(whole)); !s.ok()) return s;
    for (uint32_t slot : value.trainer)
      for (auto &executor : executors_)
        if (absl::Status s = executor->SetSlot(slot, whole); !s.ok())
          return Root(s);
    pulled_[v] = steps;
  }
  return absl::OkStatus();
}

absl::Status Session::PrepareServers(const FunctionProgram &function) {
  bool asks = function.is_step;
  for (const InstructionProgram &instruction : function.instructions)
    asks |= instruction.of_server() && !instruction.pushes();
  // A job that goes on has values that nothing here has set.
  if (asks || (!started_ && first_step() != 0))
    if (absl::Status s = Synchronise(); !s.ok()) return s;
  return function.is_step ? absl::OkStatus() : PullTables(function);
}

absl::Status Session::Synchronise() {
  bool changed = !started_;
  // What functions of the trainers have made goes to the servers.
  for (uint32_t v = 0; v < values().size(); ++v) {
    if (!of_trainers_[v]) continue;
    of_trainers_[v] = false;
    pulled_.erase(v);
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
  for (auto &executor : executors_) {
    if (executor->servers() == nullptr)
      return absl::FailedPreconditionError("there is no connection to parameter servers");
    if (absl::Status s = PullValues(executor.get(), Version(*executor)); !s.ok())
      return Root(s);
  }
  return absl::OkStatus();
}

// Gives a trainer what the servers have.
uint64_t Session::Version(RankExecutor &executor) const {
  return final_ ? ParameterClient::kFinal
                : executor.servers()->first_step() + executor.steps();
}

absl::Status Session::PullValues(RankExecutor *executor, uint64_t version) {
  ParameterClient *client = executor->servers();
  PulledBlocks blocks;
  for (const ValueInfo &value : values()) {
    if (value.trainer.empty() || !value.on_servers || value.of_rows) continue;
    std::vector<std::byte> whole(value.type.bytes);
    absl::StatusOr<bool> pulled =
        PullWhole(client, value, version, &blocks, absl::MakeSpan(whole));
    if (!pulled.ok()) return pulled.status();
    // Other state is not handed out; trainers and servers set it alike.
    if (!*pulled) continue;
    for (uint32_t slot : value.trainer)
      if (absl::Status s = executor->SetSlot(slot, whole); !s.ok()) return s;
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> Session::PullWhole(ParameterClient *client,
                                        const ValueInfo &value, uint64_t version,
                                        PulledBlocks *shared, absl::Span<std::byte> whole) {
  Mutex mu;
  CondVar changed;
  size_t open = 0;
  absl::Status status;
  struct Copy {
    absl::Span<const std::byte> from;
    absl::Span<std::byte> to;
  };
  std::vector<Copy> copies;
  for (const ValueInfo::Part &part : value.parts) {
    const std::vector<BlockProgram> &blocks =
        image_->servers().servers[size_t(part.server)].blocks;
    for (uint32_t b = 0; b < blocks.size(); ++b) {
      const BlockProgram::Slot *own = blocks[b].Find(part.slot);
      if (own == nullptr) continue;
      absl::Span<std::byte> to = whole.subspan(part.begin, part.bytes);
      if (blocks[b].slots.size() > 1) {
        auto [known, fresh] = shared->try_emplace({part.server, b}, blocks[b].value.bytes);
        copies.push_back({absl::MakeConstSpan(known->second).subspan(own->begin, part.bytes), to});
        if (!fresh) continue;
        to = absl::MakeSpan(known->second);
      }
      {
        MutexLock lock(&mu);
        ++open;
      }
      client->Pull(part.server, b, version, to, [&](absl::Status s) {
        MutexLock lock(&mu);
        if (status.ok()) status = Unshared(s);
        --open;
        changed.SignalAll();
      });
    }
  }
  MutexLock lock(&mu);
  while (open != 0) changed.Wait(&mu);
  if (!status.ok()) return Unshared(status);
  for (const Copy &copy : copies)
    if (!copy.to.empty()) std::memcpy(copy.to.data(), copy.from.data(), copy.to.size());
  return IsHandedOut(image_->servers(), value);
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

absl::Status Session::FinalValues() {
  if (!has_servers()) return absl::OkStatus();
  final_ = true;
  pulled_.clear();
  for (auto &executor : executors_)
    if (absl::Status s = PullValues(executor.get(), ParameterClient::kFinal); !s.ok())
      return Root(s);
  return absl::OkStatus();
}

void Session::LeaveServers() {
  const std::vector<ValueInfo> &all = values();
  if (!servers_.empty() || std::any_of(all.begin(), all.end(), [](const ValueInfo &v) { return v.of_rows && v.on_servers; })) return;
  for (auto &executor : executors_)
    if (executor->servers() != nullptr) executor->servers()->Close();
}

uint64_t Session::first_step() const {
  ParameterClient *client = executors_[0]->servers();
  return client == nullptr ? 0 : client->first_step();
}

bool Session::servers_keep_checkpoints() const {
  ParameterClient *client = executors_[0]->servers();
  return client != nullptr && client->keeps_checkpoints();
}

}  // namespace commsched::runtime
