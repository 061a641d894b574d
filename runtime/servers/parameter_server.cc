// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What trainers ask of a parameter server.
#include "runtime/servers/parameter_server.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/status_util.h"
#include "runtime/execute/memory_needs.h"
#include "runtime/servers/parameter_server_impl.h"
#include "runtime/transport/parameter_client.h"

namespace commsched::runtime {

absl::Status ParameterServer::CheckMemory(const PlanImage &image, absl::Span<const int> servers) {
  std::vector<HostMemoryNeeds> needs;
  for (int server : servers) {
    auto of_one = HostMemoryNeedsOfServer(image, server);
    if (!of_one.ok()) return of_one.status();
    needs.push_back(*of_one);
  }
  return runtime::CheckMemory(needs, AvailableMemory(), "servers");
}

absl::StatusOr<std::unique_ptr<ParameterServer>> ParameterServer::Create(
    std::shared_ptr<const PlanImage> image, ParameterServerOptions options) {
  if (options.trainers != image->nodes())
    return absl::InvalidArgumentError(
        absl::StrCat("number of trainers must match the plan's ",
                     image->nodes(), ", got: ", options.trainers));
  auto server = std::make_unique<ParameterServerImpl>(std::move(image),
                                                      std::move(options));
  if (absl::Status s = server->Start(); !s.ok()) return s;
  return server;
}

ParameterServerImpl::ParameterServerImpl(std::shared_ptr<const PlanImage> image,
                                         ParameterServerOptions options)
    : image_(std::move(image)),
      options_(std::move(options)),
      stall_(absl::ToChronoNanoseconds(
          std::min(options_.deadline, absl::Hours(24 * 365)))) {}

absl::Status ParameterServerImpl::Start() {
  auto program = image_->ForServer(options_.server);
  if (!program.ok()) return program.status();
  program_ = *std::move(program);
  servers_ = &program_->servers;
  server_ = &servers_->servers[size_t(options_.server)];
  thread_ = std::thread([this] { Run(); });
  MutexLock lock(&mu_);
  waiters_.Await(&mu_, [this] { return made_.has_value(); });
  if (!made_->ok()) return Named(*made_);
  machine_ = std::make_unique<Machine>(
      servers_->mode, server_,
      Machine::Options{options_.trainers, options_.max_ahead, options_.cut_every});
  for (uint32_t b = 0; b < server_->blocks.size(); ++b) {
    Block &block = blocks_.emplace_back();
    block.program = &server_->blocks[b];
    if (absl::Status s = PrepareRows(&block); !s.ok()) return s;
    if (absl::Status s = ShareCurrent(b); !s.ok()) return s;
  }
  stall_.Progress();
  begins_ = true;
  work_.SignalAll();
  return absl::OkStatus();
}

ParameterServerImpl::~ParameterServerImpl() {
  {
    MutexLock lock(&mu_);
    stop_ = true;
    work_.SignalAll();
  }
  Fail(absl::CancelledError("the server is gone"));
  if (thread_.joinable()) thread_.join();
  executor_.reset();
}

std::string ParameterServerImpl::Where(const Block &block) const {
  return absl::StrCat("block \"", block.program->key, "\"");
}

absl::Status ParameterServerImpl::Named(const absl::Status &status) const {
  if (status.ok()) return absl::OkStatus();
  return absl::Status(status.code(), absl::StrCat("server ", options_.server,
                                                  ": ", status.message()));
}

void ParameterServerImpl::Fail(const absl::Status &why) {
  std::vector<PendingPull> pulls;
  absl::Status status;
  bool stopped = false;
  {
    MutexLock lock(&mu_);
    if (!status_.ok()) return;
    status_ = Unshared(why);
    status = Unshared(why);
    stopped = stop_;
    if (machine_ != nullptr)
      for (uint64_t name : machine_->Clear()) pulls.push_back(TakePull(name));
    work_.SignalAll();
    waiters_.Changed();
  }
  if (options_.on_failure && !stopped) options_.on_failure(status);
  for (PendingPull &pull : pulls) pull.done(Unshared(status));
}

void ParameterServerImpl::FailUnlocked(const absl::Status &why) {
  mu_.Unlock();
  Fail(why);
  mu_.Lock();
}

// The machine may have something to do for its thread, or for callers.
void ParameterServerImpl::Wake() {
  if (const uint64_t now = machine_->progress(); now != progress_) {
    progress_ = now;
    stall_.Progress();
  }
  waiters_.Changed();
  if (sleeps_ && (machine_->HasWork() || machine_->waiting() != watches_)) work_.Signal();
}

absl::Status ParameterServerImpl::Check(int trainer, uint32_t block) const {
  return status_.ok() ? Named(machine_->Check(trainer, block)) : Unshared(status_);
}

absl::StatusOr<uint64_t> ParameterServerImpl::Join(int trainer) {
  MutexLock lock(&mu_);
  if (!status_.ok()) return Unshared(status_);
  absl::StatusOr<uint64_t> steps = machine_->Join(trainer);
  if (!steps.ok()) return Named(steps.status());
  Wake();
  return steps;
}

ParameterServer::Taken ParameterServerImpl::taken(int trainer) {
  MutexLock lock(&mu_);
  if (!machine_->IsTrainer(trainer)) return {};
  return {machine_->taken(trainer), machine_->finished(trainer)};
}

void ParameterServerImpl::Push(int trainer, uint32_t block, uint64_t step,
                               SharedBytes payload, PushDone done) {
  absl::Status status, wrong;
  if (block < server_->blocks.size()) {
    const BlockProgram &program = server_->blocks[block];
    if (program.of_rows())
      wrong = ReadRows(payload.bytes, program.rows.gradient).status();
    else if (payload.bytes.size() != program.pushed().bytes)
      wrong = absl::InvalidArgumentError(absl::StrCat(
          "must have ", program.pushed().bytes, " bytes, got: ", payload.bytes.size()));
  }
  {
    MutexLock lock(&mu_);
    status = Check(trainer, block);
    if (status.ok() && !wrong.ok())
      status = Named(absl::InvalidArgumentError(absl::StrCat(
          Where(blocks_[block]), ": push of trainer ", trainer, " in step ", step,
          ": ", wrong.message())));
    if (status.ok())
      status = Named(machine_->Push(trainer, block, step, std::move(payload)));
    if (status.ok()) {
      Wake();
      Combine(block);
    }
  }
  done(std::move(status));
}

ParameterServerImpl::PendingPull ParameterServerImpl::TakePull(uint64_t name) {
  return std::move(pulls_.extract(name).mapped());
}

absl::StatusOr<core::Server::Pulled> ParameterServerImpl::Ask(int trainer, uint32_t block,
                                                              uint64_t version,
                                                              PendingPull *pull) {
  const uint64_t name = next_pull_++;
  absl::StatusOr<Machine::Pulled> pulled =
      machine_->Pull(trainer, block, version, name);
  if (!pulled.ok()) return Named(pulled.status());
  if (*pulled == Machine::Pulled::kWaits) {
    pulls_.emplace(name, std::move(*pull));
    Wake();
  }
  return pulled;
}

static_assert(ParameterClient::kFinal == core::Server::kFinal);

void ParameterServerImpl::Pull(int trainer, uint32_t block, uint64_t version,
                               PullDone done) {
  absl::StatusOr<SharedBytes> value = absl::UnknownError("");
  PendingPull pull{std::move(done)};
  {
    MutexLock lock(&mu_);
    absl::Status status = Check(trainer, block);
    if (status.ok()) {
      absl::StatusOr<Machine::Pulled> pulled = Ask(trainer, block, version, &pull);
      if (pulled.ok() && *pulled == Machine::Pulled::kWaits) return;
      if (pulled.ok() && blocks_[block].program->of_rows())
        return AnswerRows(block, std::move(pull));
      status = pulled.status();
      if (status.ok())
        value = *pulled == Machine::Pulled::kNewest ? blocks_[block].current
                                                    : blocks_[block].previous;
    }
    if (!status.ok()) value = std::move(status);
  }
  pull.done(std::move(value));
}

absl::Status ParameterServerImpl::Finish(int trainer, uint64_t steps) {
  MutexLock lock(&mu_);
  if (!status_.ok()) return Unshared(status_);
  if (absl::Status s = machine_->Finish(trainer, steps); !s.ok()) return Named(s);
  Wake();
  for (uint32_t b = 0; b < blocks_.size(); ++b) Combine(b);
  return absl::OkStatus();
}

void ParameterServerImpl::Lost(int trainer, const absl::Status &why) {
  {
    MutexLock lock(&mu_);
    if (!machine_->IsTrainer(trainer) || machine_->finished(trainer)) return;
  }
  Fail(absl::Status(
      why.ok() ? absl::StatusCode::kUnavailable : why.code(),
      absl::StrCat("trainer ", trainer,
                   why.code() == absl::StatusCode::kAborted ? " gave up: " : " is lost: ",
                   why.message())));
}

void ParameterServerImpl::Cancel(const absl::Status &why) { Fail(why); }

absl::Status ParameterServerImpl::Wait() {
  MutexLock lock(&mu_);
  Await([this] { return machine_->Finished(); });
  return Unshared(status_);
}

uint64_t ParameterServerImpl::cut() {
  MutexLock lock(&mu_);
  return machine_->cut();
}

}  // namespace commsched::runtime
