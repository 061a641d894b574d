// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "grpc/servers/parameter_hub.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "grpc/servers/parameter_connection.h"
#include "grpc/servers/parameter_protocol.h"
#include "runtime/base/status_util.h"

namespace commsched::transport {
namespace {

using runtime::Clock;
using runtime::MutexLock;

// How often the deadline the disk may take for one answer: to a checkpoint that all wait for.
constexpr int kDiskPatience = 5;

runtime::Time Nanoseconds(absl::Duration time) {
  return absl::ToInt64Nanoseconds(std::min(time, absl::Hours(24 * 365)));
}

absl::Status Mismatch(absl::string_view what, int64_t own, int64_t theirs) {
  return absl::FailedPreconditionError(
      absl::StrFormat("%s must match the server's %d, got: %d", what, own,
                      theirs));
}

absl::Status CheckJoin(const ParameterServiceOptions &own,
                       const parameter::Join &theirs) {
  if (theirs.protocol_version() != kParameterProtocol)
    return Mismatch("protocol version", kParameterProtocol,
                    theirs.protocol_version());
  if (theirs.plan_digest() != own.plan_digest)
    return absl::FailedPreconditionError(absl::StrFormat(
        "plan digest must match the server's %016x, got: %016x",
        own.plan_digest, theirs.plan_digest()));
  if (theirs.servers() != static_cast<uint32_t>(own.servers))
    return Mismatch("number of servers", own.servers, theirs.servers());
  if (theirs.trainers() != static_cast<uint32_t>(own.trainers))
    return Mismatch("number of trainers", own.trainers, theirs.trainers());
  if (theirs.server() != static_cast<uint32_t>(own.server))
    return Mismatch("index of the server", own.server, theirs.server());
  if (theirs.trainer() >= static_cast<uint32_t>(own.trainers))
    return absl::FailedPreconditionError(
        absl::StrFormat("rank of a trainer must be in [0, %d), got: %d",
                        own.trainers, theirs.trainer()));
  return absl::OkStatus();
}

}  // namespace

ParameterHub::ParameterHub(runtime::ParameterServer *server,
                           const ParameterServiceOptions &options)
    : server_(server),
      options_(options),
      sharing_{.enabled = options.shared_memory && SharesMemory()},
      gate_(options.security.token, absl::ToChronoNanoseconds(options.grace), options.log,
            &sharing_),
      // One of each trainer is coming, and each block's may wait for an update.
      pool_(options.trainers + int(options.block_bytes.size())),
      machine_({.trainers = options.trainers,
                .blocks = options.block_bytes.size(),
                .keeps_checkpoints = options.checkpoint_steps > 0,
                .grace = Nanoseconds(options.grace),
                .join_deadline = Nanoseconds(options.join_deadline),
                .tick = std::chrono::nanoseconds(kTick).count()},
               server->cut(), runtime::ToTime(Clock::now())) {
  for (int rank = 0; rank < options.trainers; ++rank) {
    runtime::ParameterServer::Taken taken = server->taken(rank);
    machine_.Restore(rank, std::move(taken.next), taken.finished);
  }
}

std::shared_ptr<ParameterConnection> ParameterHub::Find(Machine::Connection name) const {
  for (const Open &open : open_)
    if (open.name == name) return open.connection;
  return nullptr;
}

ParameterHub::Spoken ParameterHub::Say(const Machine::Sayings &sayings) {
  Spoken spoken;
  for (const Machine::Saying &saying : sayings) {
    std::shared_ptr<ParameterConnection> to = Find(saying.to);
    if (to == nullptr) continue;
    parameter::Header header;
    switch (saying.kind) {
      case Machine::Saying::kTaken:
        header.mutable_taken()->set_block(saying.block);
        header.mutable_taken()->set_step(saying.step);
        break;
      case Machine::Saying::kSafe:
        header.mutable_safe();
        for (uint64_t next : saying.next) header.mutable_safe()->add_next(next);
        break;
      case Machine::Saying::kFinished:
        header.mutable_finished();
        break;
      case Machine::Saying::kEnd:
        spoken.end.push_back(std::move(to));
        continue;
      case Machine::Saying::kDrop:
        spoken.drop.push_back(std::move(to));
        continue;
    }
    to->Put(std::move(header));
    if (spoken.flush.empty() || spoken.flush.back() != to)
      spoken.flush.push_back(std::move(to));
  }
  return spoken;
}

void ParameterHub::Send(Spoken spoken) {
  for (const auto &connection : spoken.flush) connection->Flush();
  for (const auto &connection : spoken.end) connection->End();
  for (const auto &connection : spoken.drop) connection->Drop();
}

void ParameterHub::Accepted(
    const std::shared_ptr<ParameterConnection> &connection) {
  MutexLock lock(&mu_);
  open_.push_back({connection, next_name_++, Clock::now()});
}

absl::Status ParameterHub::Join(
    const std::shared_ptr<ParameterConnection> &connection,
    const parameter::Join &join) {
  if (absl::Status status = CheckJoin(options_, join); !status.ok())
    return status;
  const int rank = static_cast<int>(join.trainer());
  // Behind the server's answer another process may have come.
  const auto may = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return failure_.ok() ? machine_.MayJoin(rank, join.session(), join.run_digest())
                         : absl::OkStatus();
  };
  {
    MutexLock lock(&mu_);
    if (absl::Status status = may(); !status.ok()) return status;
    if (!failure_.ok()) {
      Tell(rank, connection);
      return absl::OkStatus();
    }
  }
  absl::StatusOr<uint64_t> steps = server_->Join(rank);
  if (!steps.ok()) return steps.status();

  Spoken spoken;
  {
    MutexLock lock(&mu_);
    if (absl::Status status = may(); !status.ok()) return status;
    if (!failure_.ok()) {
      Tell(rank, connection);
      return absl::OkStatus();
    }
    Machine::Connection name = 0;
    for (Open &open : open_)
      if (open.connection == connection) {
        open.joined = true;
        name = open.name;
      }
    Machine::Sayings sayings;
    machine_.Join(rank, join.session(), join.run_digest(), name, &sayings);
    parameter::Header header;
    parameter::Welcome *welcome = header.mutable_welcome();
    welcome->set_protocol_version(kParameterProtocol);
    welcome->set_steps(*steps);
    welcome->set_blocks(options_.block_bytes.size());
    welcome->set_keeps_checkpoints(keeps_checkpoints());
    for (uint64_t next : machine_.taken(rank)) welcome->add_taken(next);
    welcome->set_finished(machine_.finished(rank));
    connection->Put(std::move(header));
    spoken = Say(sayings);
    changed_.SignalAll();
  }
  Send(std::move(spoken));
  return absl::OkStatus();
}

void ParameterHub::Finish(int rank, uint64_t steps) {
  bool first = false;
  {
    MutexLock lock(&mu_);
    first = !machine_.finished(rank);
  }
  if (first && !server_->Finish(rank, steps).ok())
    return;  // the server has ended
  Spoken spoken;
  {
    MutexLock lock(&mu_);
    Machine::Sayings sayings;
    machine_.Finish(rank, &sayings);
    spoken = Say(sayings);
    changed_.SignalAll();
  }
  Send(std::move(spoken));
}

void ParameterHub::SaveLoop() {
  while (true) {
    bool reached = false;
    {
      MutexLock lock(&mu_);
      while (!shut_down_ && !(failure_.ok() && machine_.WantsSave(ended_, &reached)))
        changed_.Wait(&mu_);
      if (shut_down_) return;
      // What has been taken before Save begins is in the file.
      machine_.BeginSave();
      saving_ = true;
    }
    const absl::Status status = server_->Save(options_.checkpoint, reached);
    {
      MutexLock lock(&mu_);
      saving_ = false;
    }
    if (!status.ok()) {
      CannotSave(status);
      continue;
    }
    ++checkpoints_;
    const uint64_t cut = server_->cut();
    Spoken spoken;
    {
      MutexLock lock(&mu_);
      Machine::Sayings sayings;
      machine_.EndSave(cut, &sayings);
      spoken = Say(sayings);
    }
    Send(std::move(spoken));
  }
}

void ParameterHub::CannotSave(const absl::Status &why) {
  const std::string own = absl::StrCat("server ", options_.server);
  server_->Cancel(absl::Status(
      why.code(), absl::StrCat(own, " cannot save its state: ", absl::StripPrefix(why.message(), own + ": "))));
  // All may have finished, and be waiting for this one.
  Ended(server_->Wait());
}

void ParameterHub::Lost(int trainer, const absl::Status &why) {
  {
    MutexLock lock(&mu_);
    machine_.Lost(trainer);  // nobody waits for it to come back
    changed_.SignalAll();
  }
  server_->Lost(trainer, why);
}

void ParameterHub::Goodbye(int rank) {
  Spoken spoken;
  absl::Status status;
  {
    MutexLock lock(&mu_);
    Machine::Sayings sayings;
    status = machine_.Goodbye(rank, &sayings);
    spoken = Say(sayings);
    changed_.SignalAll();
  }
  if (!status.ok()) return Lost(rank, status);
  Send(std::move(spoken));
}

void ParameterHub::Closed(ParameterConnection *connection) {
  std::shared_ptr<ParameterConnection> last;
  MutexLock lock(&mu_);
  auto at = std::find_if(open_.begin(), open_.end(), [&](const Open &open) {
    return open.connection.get() == connection;
  });
  if (at != open_.end()) {
    machine_.Closed(at->name, runtime::ToTime(Clock::now()));
    last = std::move(at->connection);
    open_.erase(at);
  }
  changed_.SignalAll();
}

void ParameterHub::CheckTimes() {
  const Clock::time_point now = Clock::now();
  Connections silent;
  Machine::Late late;
  Spoken spoken;
  bool gives_up = false;
  {
    MutexLock lock(&mu_);
    Machine::Sayings sayings;
    const int looks = disk_.Look();
    const bool stuck = looks * absl::FromChrono(kTick) > kDiskPatience * options_.join_deadline;
    gives_up = stuck && saving_ && failure_.ok();
    if (saving_ && !stuck) machine_.Sign(&sayings);
    spoken = Say(sayings);
    for (const Open &open : open_)
      if (!open.joined && now - open.since > absl::ToChronoNanoseconds(options_.grace))
        silent.push_back(open.connection);
    late = machine_.CheckTimes(runtime::ToTime(now));
    if (ended_) late.trainer = -1;
    changed_.SignalAll();
  }
  Send(std::move(spoken));
  for (const auto &connection : silent) connection->Drop();
  if (gives_up)
    return CannotSave(absl::DeadlineExceededError(
        absl::StrCat(options_.checkpoint, ": the disk has not answered within ",
                     absl::FormatDuration(kDiskPatience * options_.join_deadline))));
  if (late.trainer < 0) return;
  Lost(late.trainer,
       late.never_came
           ? absl::DeadlineExceededError(absl::StrCat(
                 "it did not join within ", absl::FormatDuration(options_.join_deadline),
                 late.missing.size() == 1
                     ? ""
                     : absl::StrCat(", as trainers ", absl::StrJoin(late.missing, ", ")),
                 gate_.RefusedText()))
           : absl::UnavailableError(absl::StrCat(
                 "its connection broke, and it did not come back within ",
                 absl::FormatDuration(options_.grace))));
}

void ParameterHub::Tell(
    int rank, const std::shared_ptr<ParameterConnection> &connection) {
  for (const Open &open : open_)
    if (open.connection == connection) machine_.Tell(rank, open.name);
  connection->Put(AbortHeader(failure_));
  connection->End();
}

void ParameterHub::Ended(const absl::Status &status) {
  Connections tell;
  {
    MutexLock lock(&mu_);
    if (ended_ && (status.ok() || !failure_.ok())) return;
    ended_ = true;
    failure_ = runtime::Unshared(status);
    failed_at_ = Clock::now();
    if (!failure_.ok())
      for (Machine::Connection name : machine_.Fail())
        if (auto connection = Find(name)) tell.push_back(std::move(connection));
    changed_.SignalAll();
  }
  for (const auto &connection : tell) {
    connection->Put(AbortHeader(status));
    connection->End();
  }
}

absl::Status ParameterHub::WaitUntilOver() {
  MutexLock lock(&mu_);
  while (!ended_ || (failure_.ok() && !shut_down_ && !machine_.IsOver(false))) changed_.Wait(&mu_);
  AwaitTold();
  return runtime::Unshared(failure_);
}

void ParameterHub::WaitUntilTold() {
  MutexLock lock(&mu_);
  while (!ended_) changed_.Wait(&mu_);
  AwaitTold();
}

void ParameterHub::AwaitTold() {
  while (!failure_.ok() && !shut_down_ && !machine_.IsOver(true))
    if (changed_.WaitUntil(&mu_, failed_at_ + kLinger)) break;
}

void ParameterHub::Shutdown() {
  Connections connections;
  {
    MutexLock lock(&mu_);
    shut_down_ = true;
    for (const Open &open : open_) connections.push_back(open.connection);
    changed_.SignalAll();
  }
  for (const auto &connection : connections) connection->Drop();
  connections.clear();
  MutexLock lock(&mu_);
  while (!open_.empty()) changed_.Wait(&mu_);
}

}  // namespace commsched::transport
