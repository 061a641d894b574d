// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "grpc/parameter_hub.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "grpc/parameter_connection.h"
#include "grpc/parameter_protocol.h"
#include "runtime/status_util.h"

namespace commsched::transport {
namespace {

using runtime::Clock;
using runtime::MutexLock;

// How long those who are not there at the moment may take to hear of the end.
constexpr auto kLinger = std::chrono::seconds(2);

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
      gate_(options.security.token, absl::ToChronoNanoseconds(options.grace), options.log),
      pool_(options.trainers) {
  trainers_.resize(options.trainers);
  cut_ = server->cut();
  for (int rank = 0; rank < options.trainers; ++rank) {
    Trainer &trainer = trainers_[rank];
    runtime::ParameterServer::Taken taken = server->taken(rank);
    trainer.next = std::move(taken.next);
    trainer.next.resize(options.block_bytes.size());
    if (taken.finished) {
      // Restored. It may want to hear that it is safe, or have left long ago.
      trainer.joined = trainer.finished = true;
      trainer.away_since = start_;
    }
  }
}

void ParameterHub::Accepted(
    const std::shared_ptr<ParameterConnection> &connection) {
  MutexLock lock(&mu_);
  open_.push_back({connection, Clock::now()});
}

absl::Status ParameterHub::Join(
    const std::shared_ptr<ParameterConnection> &connection,
    const parameter::Join &join) {
  if (absl::Status status = CheckJoin(options_, join); !status.ok())
    return status;
  const int rank = static_cast<int>(join.trainer());
  {
    MutexLock lock(&mu_);
    if (!failure_.ok()) {
      Tell(rank, connection);
      return absl::OkStatus();
    }
    const Trainer &trainer = trainers_[rank];
    if (trainer.session != 0 && trainer.session != join.session())
      return absl::FailedPreconditionError(absl::StrFormat(
          "another process has joined as trainer %d", rank));
    if (trainer.gone)
      return absl::FailedPreconditionError(
          absl::StrFormat("trainer %d has finished and gone", rank));
    if (run_digest_.value_or(join.run_digest()) != join.run_digest())
      return absl::FailedPreconditionError(
          "shapes or order of the data must match those of the trainer that joined first");
    run_digest_ = join.run_digest();
  }
  absl::StatusOr<uint64_t> steps = server_->Join(rank);
  if (!steps.ok()) return steps.status();

  std::shared_ptr<ParameterConnection> old;
  {
    MutexLock lock(&mu_);
    if (!failure_.ok()) {
      Tell(rank, connection);
      return absl::OkStatus();
    }
    Trainer &trainer = trainers_[rank];
    if (trainer.session != 0 && trainer.session != join.session())
      return absl::FailedPreconditionError(absl::StrFormat(
          "another process has joined as trainer %d", rank));
    old = std::exchange(trainer.connection, connection);
    trainer.session = join.session();
    trainer.joined = true;
    for (Open &open : open_) open.joined |= open.connection == connection;
    parameter::Header header;
    parameter::Welcome *welcome = header.mutable_welcome();
    welcome->set_protocol_version(kParameterProtocol);
    welcome->set_steps(*steps);
    welcome->set_blocks(options_.block_bytes.size());
    welcome->set_keeps_checkpoints(keeps_checkpoints());
    for (uint64_t next : trainer.next) welcome->add_taken(next);
    welcome->set_finished(trainer.finished);
    connection->Put(std::move(header));
    changed_.SignalAll();
  }
  if (old != nullptr) old->Drop();
  return absl::OkStatus();
}

void ParameterHub::Finish(int rank, uint64_t steps) {
  bool first = false;
  {
    MutexLock lock(&mu_);
    first = !trainers_[rank].finished;
  }
  if (first && !server_->Finish(rank, steps).ok())
    return;  // the server has ended
  std::shared_ptr<ParameterConnection> connection;
  {
    MutexLock lock(&mu_);
    Trainer &trainer = trainers_[rank];
    trainer.finished = true;
    trainer.wants_answer = true;
    connection = trainer.connection;
    AnswerFinish(trainer);
  }
  if (connection != nullptr) connection->Flush();
}

void ParameterHub::AnswerFinish(Trainer &trainer) {
  if (!trainer.wants_answer || trainer.under_way > 0) return;
  if (keeps_checkpoints()) return WantSave();
  trainer.wants_answer = false;
  if (trainer.connection == nullptr) return;
  parameter::Header header;
  header.mutable_finished();
  trainer.connection->Put(std::move(header));
}

void ParameterHub::WantSave() {
  save_wanted_ = true;
  changed_.SignalAll();
}

bool ParameterHub::IsCutReached(const Trainer &trainer) const {
  return keeps_checkpoints() && !trainer.next.empty() &&
         std::all_of(trainer.next.begin(), trainer.next.end(),
                     [this](uint64_t next) { return next >= cut_; });
}

void ParameterHub::SaveLoop() {
  while (true) {
    std::vector<std::vector<uint64_t>> safe;
    std::vector<bool> answer;
    bool reached = false;
    {
      MutexLock lock(&mu_);
      const auto at_cut = [this] {
        return std::any_of(trainers_.begin(), trainers_.end(),
                           [this](const Trainer &t) { return IsCutReached(t); });
      };
      while (!save_wanted_ && !shut_down_ && !(failure_.ok() && !ended_ && at_cut()))
        changed_.Wait(&mu_);
      reached = at_cut();
      if (shut_down_) return;
      save_wanted_ = false;
      if (!failure_.ok()) continue;
      // What has been taken before Save begins is in the file.
      for (Trainer &trainer : trainers_) {
        safe.push_back(trainer.next);
        answer.push_back(trainer.wants_answer && trainer.under_way == 0);
      }
    }
    if (absl::Status status = server_->Save(options_.checkpoint, reached);
        !status.ok()) {
      server_->Cancel(absl::Status(
          status.code(), absl::StrFormat("server %d cannot save its state: %s",
                                         options_.server, status.message())));
      continue;
    }
    ++checkpoints_;
    const uint64_t cut = server_->cut();
    {
      MutexLock lock(&mu_);
      cut_ = cut;
      for (size_t rank = 0; rank < trainers_.size(); ++rank) {
        Trainer &trainer = trainers_[rank];
        if (trainer.connection == nullptr) continue;
        parameter::Header header;
        for (uint64_t next : safe[rank]) header.mutable_safe()->add_next(next);
        header.mutable_safe();
        trainer.connection->Put(std::move(header));
        if (!answer[rank]) continue;
        trainer.wants_answer = false;
        parameter::Header finished;
        finished.mutable_finished();
        trainer.connection->Put(std::move(finished));
      }
    }
    FlushAll();
  }
}

void ParameterHub::FlushAll() {
  std::vector<std::shared_ptr<ParameterConnection>> connections;
  {
    MutexLock lock(&mu_);
    for (const Open &open : open_) connections.push_back(open.connection);
  }
  for (const auto &connection : connections) connection->Flush();
}

void ParameterHub::Lost(int trainer, const absl::Status &why) {
  {
    MutexLock lock(&mu_);
    trainers_[trainer].told = true;  // nobody waits for it to come back
  }
  server_->Lost(trainer, why);
}

void ParameterHub::Goodbye(int rank) {
  std::shared_ptr<ParameterConnection> connection;
  bool finished = false;
  {
    MutexLock lock(&mu_);
    Trainer &trainer = trainers_[rank];
    finished = trainer.finished;
    if (finished) {
      trainer.gone = true;
      connection = trainer.connection;
      changed_.SignalAll();
    }
  }
  if (!finished)
    return Lost(rank, absl::AbortedError("it left before it had finished"));
  if (connection != nullptr) connection->End();
}

void ParameterHub::Closed(ParameterConnection *connection, int rank) {
  std::shared_ptr<ParameterConnection> last;
  MutexLock lock(&mu_);
  for (Trainer &trainer : trainers_) {
    if (trainer.connection.get() != connection) continue;
    trainer.connection = nullptr;
    trainer.away_since = Clock::now();
  }
  auto at = std::find_if(open_.begin(), open_.end(), [&](const Open &open) {
    return open.connection.get() == connection;
  });
  if (at != open_.end()) {
    last = std::move(at->connection);
    open_.erase(at);
  }
  changed_.SignalAll();
}

void ParameterHub::CheckTimes() {
  const Clock::time_point now = Clock::now();
  const auto grace = absl::ToChronoNanoseconds(options_.grace);
  std::vector<std::shared_ptr<ParameterConnection>> silent;
  int lost = -1;
  absl::Status why;
  {
    MutexLock lock(&mu_);
    for (const Open &open : open_)
      if (!open.joined && now - open.since > grace)
        silent.push_back(open.connection);
    std::vector<int> missing;
    for (size_t rank = 0; rank < trainers_.size(); ++rank) {
      Trainer &trainer = trainers_[rank];
      if (!trainer.joined) {
        missing.push_back(static_cast<int>(rank));
      } else if (!trainer.gone && trainer.connection == nullptr &&
                 now - trainer.away_since > grace) {
        if (trainer.finished) {
          trainer.gone = true;
          changed_.SignalAll();
        } else if (lost < 0) {
          lost = static_cast<int>(rank);
          why = absl::UnavailableError(absl::StrCat(
              "its connection broke, and it did not come back within ",
              absl::FormatDuration(options_.grace)));
        }
      }
    }
    if (lost < 0 && !missing.empty() &&
        now - start_ > absl::ToChronoNanoseconds(options_.join_deadline)) {
      lost = missing.front();
      why = absl::DeadlineExceededError(absl::StrCat(
          "it did not join within ", absl::FormatDuration(options_.join_deadline),
          missing.size() == 1
              ? ""
              : absl::StrCat(", as trainers ", absl::StrJoin(missing, ", ")),
          gate_.RefusedText()));
    }
    if (ended_) lost = -1;
  }
  for (const auto &connection : silent) connection->Drop();
  if (lost >= 0) Lost(lost, why);
}

void ParameterHub::Tell(
    int rank, const std::shared_ptr<ParameterConnection> &connection) {
  trainers_[rank].told = true;
  trainers_[rank].connection = connection;
  connection->Put(AbortHeader(failure_));
  connection->End();
}

void ParameterHub::Ended(const absl::Status &status) {
  std::vector<std::shared_ptr<ParameterConnection>> tell;
  {
    MutexLock lock(&mu_);
    if (ended_) return;
    ended_ = true;
    failure_ = runtime::Unshared(status);
    if (!failure_.ok())
      for (Trainer &trainer : trainers_)
        if (trainer.connection != nullptr) {
          trainer.told = true;
          tell.push_back(trainer.connection);
        }
    changed_.SignalAll();
  }
  for (const auto &connection : tell) {
    connection->Put(AbortHeader(status));
    connection->End();
  }
}

absl::Status ParameterHub::WaitUntilOver() {
  MutexLock lock(&mu_);
  while (!ended_) changed_.Wait(&mu_);
  const Clock::time_point until = Clock::now() + kLinger;
  while (true) {
    const bool over = std::all_of(
        trainers_.begin(), trainers_.end(), [&](const Trainer &trainer) {
          if (failure_.ok()) return trainer.gone;
          return trainer.connection == nullptr &&
                 (trainer.told || trainer.gone || !trainer.joined);
        });
    if (over || shut_down_) break;
    if (failure_.ok())
      changed_.Wait(&mu_);
    else if (changed_.WaitUntil(&mu_, until))
      break;
  }
  return runtime::Unshared(failure_);
}

void ParameterHub::Shutdown() {
  std::vector<std::shared_ptr<ParameterConnection>> connections;
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
