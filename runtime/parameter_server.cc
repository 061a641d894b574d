// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What trainers ask of a parameter server.
#include "runtime/parameter_server.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/parameter_server_impl.h"
#include "runtime/status_util.h"

namespace commsched::runtime {

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
  ExecutorOptions executor;
  executor.trace = options_.trace;
  executor.deadline = options_.deadline;
  executor.emulate = options_.emulate;
  executor.profile = options_.profile;
  auto made = Executor::Create(program_, std::move(executor));
  if (!made.ok()) return Named(made.status());
  executor_ = *std::move(made);
  MutexLock lock(&mu_);
  size_t n = size_t(options_.trainers);
  trainers_.resize(n);
  cut_ = Behind(0);
  for (const BlockProgram &program : server_->blocks) {
    Block &block = blocks_.emplace_back();
    block.program = &program;
    block.taken.assign(n, 0);
    block.applied.assign(n, 0);
    block.arrived.resize(n);
    if (absl::Status s = PrepareRows(&block); !s.ok()) return s;
    if (absl::Status s = ShareCurrent(&block); !s.ok()) return s;
  }
  stall_.Progress();
  thread_ = std::thread([this] { Run(); });
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
    for (Block &block : blocks_) {
      for (PendingPull &pull : block.pulls) pulls.push_back(std::move(pull));
      block.pulls.clear();
    }
    pulls_ = 0;
    work_.SignalAll();
    changed_.SignalAll();
  }
  if (options_.on_failure && !stopped) options_.on_failure(status);
  for (PendingPull &pull : pulls) pull.done(Unshared(status));
}

absl::Status ParameterServerImpl::Check(int trainer, uint32_t block) const {
  if (!status_.ok()) return Unshared(status_);
  if (trainer < 0 || size_t(trainer) >= trainers_.size())
    return Named(absl::FailedPreconditionError(absl::StrCat(
        "trainer must be in 0..", trainers_.size() - 1, ", got: ", trainer)));
  if (!trainers_[size_t(trainer)].joined)
    return Named(absl::FailedPreconditionError(
        absl::StrCat("trainer ", trainer, " has not joined")));
  if (block >= blocks_.size())
    return Named(
        absl::InvalidArgumentError(absl::StrCat("there is no block ", block)));
  return absl::OkStatus();
}

absl::StatusOr<uint64_t> ParameterServerImpl::Join(int trainer) {
  MutexLock lock(&mu_);
  if (!status_.ok()) return Unshared(status_);
  if (trainer < 0 || size_t(trainer) >= trainers_.size())
    return Named(absl::FailedPreconditionError(absl::StrCat(
        "trainer must be in 0..", trainers_.size() - 1, ", got: ", trainer)));
  trainers_[size_t(trainer)].joined = true;
  stall_.Progress();
  uint64_t steps = kNever;
  for (const Block &block : blocks_)
    steps = std::min(steps,
                     sync() ? block.combining : block.taken[size_t(trainer)]);
  return blocks_.empty() ? 0 : steps;
}

ParameterServer::Taken ParameterServerImpl::taken(int trainer) {
  MutexLock lock(&mu_);
  Taken taken;
  if (trainer < 0 || size_t(trainer) >= trainers_.size()) return taken;
  for (const Block &block : blocks_)
    taken.next.push_back(block.taken[size_t(trainer)]);
  taken.finished = trainers_[size_t(trainer)].finish != kNever;
  return taken;
}

// Leaves `payload` empty if it has been taken before.
absl::Status ParameterServerImpl::Take(int trainer, uint32_t block,
                                       uint64_t step, SharedBytes *payload) {
  Block &b = blocks_[block];
  size_t t = size_t(trainer);
  auto error = [&](const std::string &what) {
    return Named(absl::InvalidArgumentError(absl::StrCat(
        Where(b), ": push of trainer ", trainer, " in step ", step, ": ", what)));
  };
  if (step < b.taken[t]) {
    *payload = {};
    return absl::OkStatus();
  }
  if (!b.program->of_rows() &&
      payload->bytes.size() != b.program->gradient.bytes)
    return error(absl::StrCat("must have ", b.program->gradient.bytes,
                              " bytes, got: ", payload->bytes.size()));
  if (!Expected(trainer, step)) return error("the trainer has finished");
  bool merged = servers_->mode == ServersProgram::kHalfAsync;
  if (step != b.taken[t] && !merged)
    return error(absl::StrCat("the next step must be ", b.taken[t]));
  uint64_t behind = merged ? 0 : step - (sync() ? b.updates : b.applied[t]);
  if (behind >= options_.max_ahead)
    return error(absl::StrCat("is ", behind, " steps ahead"));
  b.taken[t] = step + 1;
  stall_.Progress();
  if (sync()) {
    b.arrived[t].push_back({step, std::move(*payload)});
    Combine(block);
    return absl::OkStatus();
  }
  Work work;
  work.block = int(block);
  work.step = step;
  work.trainer = trainer;
  work.gradient = std::move(*payload);
  if (!b.program->of_rows() &&
      reinterpret_cast<uintptr_t>(work.gradient.bytes.data()) %
          ops::ElementBytes(b.program->gradient.element) != 0) {
    absl::StatusOr<std::shared_ptr<Memory>> memory = Buffer(&b);
    if (!memory.ok()) return memory.status();
    work.memory = *std::move(memory);
    std::memcpy(work.memory->data(), work.gradient.bytes.data(),
                work.gradient.bytes.size());
    work.gradient = {{work.memory->data(), b.program->gradient.bytes}, nullptr};
  }
  ready_.push_back(std::move(work));
  work_.Signal();
  return absl::OkStatus();
}

void ParameterServerImpl::Push(int trainer, uint32_t block, uint64_t step,
                               SharedBytes payload, PushDone done) {
  absl::Status status, wrong;
  if (block < server_->blocks.size() && server_->blocks[block].of_rows())
    wrong = ReadRows(payload.bytes, server_->blocks[block].rows.gradient).status();
  {
    MutexLock lock(&mu_);
    status = Check(trainer, block);
    if (status.ok() && !wrong.ok())
      status = Named(absl::InvalidArgumentError(absl::StrCat(
          Where(blocks_[block]), ": push of trainer ", trainer, " in step ", step,
          ": ", wrong.message())));
    if (status.ok()) status = Take(trainer, block, step, &payload);
  }
  done(std::move(status));
}

bool ParameterServerImpl::HasVersion(const Block &block, int trainer,
                                     uint64_t version) const {
  return version <= (sync() ? block.updates : block.applied[size_t(trainer)]);
}

absl::StatusOr<SharedBytes> ParameterServerImpl::Value(const Block &block,
                                                       uint64_t version) const {
  if (!sync() || version == block.updates) return block.current;
  if (version + 1 == block.updates && block.previous.owner != nullptr)
    return block.previous;
  return Named(absl::OutOfRangeError(
      absl::StrCat(Where(block), ": version ", version,
                   " is no longer there, only ", block.updates)));
}

void ParameterServerImpl::Pull(int trainer, uint32_t block, uint64_t version,
                               PullDone done) {
  absl::StatusOr<SharedBytes> value = absl::UnknownError("");
  {
    MutexLock lock(&mu_);
    absl::Status status = Check(trainer, block);
    if (!status.ok()) {
      value = std::move(status);
    } else if (Block &b = blocks_[block];
               !HasVersion(b, trainer, version) ||
               (b.program->of_rows() && b.running)) {
      if (pulls_++ == 0) stall_.Progress();
      b.pulls.push_back({trainer, version, std::move(done)});
      work_.Signal();
      return;
    } else {
      value = Value(b, version);
      if (value.ok() && b.program->of_rows())
        return AnswerRows(&b, {trainer, version, std::move(done)});
    }
  }
  done(std::move(value));
}

absl::Status ParameterServerImpl::Finish(int trainer, uint64_t steps) {
  MutexLock lock(&mu_);
  if (!status_.ok()) return Unshared(status_);
  if (trainer < 0 || size_t(trainer) >= trainers_.size() ||
      !trainers_[size_t(trainer)].joined)
    return Named(absl::FailedPreconditionError(
        absl::StrCat("trainer ", trainer, " has not joined")));
  Trainer &t = trainers_[size_t(trainer)];
  if (t.finish == steps) return absl::OkStatus();
  auto error = [&](const std::string &what) {
    return Named(absl::FailedPreconditionError(absl::StrCat(
        "trainer ", trainer, " finishes after ", steps, " steps: ", what)));
  };
  if (t.finish != kNever)
    return error(absl::StrCat("it has finished after ", t.finish, " already"));
  for (const Block &block : blocks_) {
    uint64_t pushed = block.taken[size_t(trainer)];
    if (pushed > steps || (sync() && pushed < steps))
      return error(
          absl::StrCat("it has pushed ", Where(block), " of ", pushed, " steps"));
  }
  t.finish = steps;
  ++finishes_;
  stall_.Progress();
  for (uint32_t b = 0; b < blocks_.size(); ++b) Combine(b);
  changed_.SignalAll();
  work_.Signal();
  return absl::OkStatus();
}

void ParameterServerImpl::Lost(int trainer, const absl::Status &why) {
  {
    MutexLock lock(&mu_);
    if (trainer < 0 || size_t(trainer) >= trainers_.size()) return;
    if (trainers_[size_t(trainer)].finish != kNever) return;
  }
  Fail(absl::Status(
      why.ok() ? absl::StatusCode::kUnavailable : why.code(),
      absl::StrCat("trainer ", trainer,
                   why.code() == absl::StatusCode::kAborted ? " gave up: " : " is lost: ",
                   why.message())));
}

void ParameterServerImpl::Cancel(const absl::Status &why) { Fail(why); }

bool ParameterServerImpl::Finished() const {
  if (!ready_.empty() || !running_.empty()) return false;
  uint64_t steps = 0;
  for (const Trainer &trainer : trainers_) {
    if (trainer.finish == kNever) return false;
    steps = std::max(steps, trainer.finish);
  }
  for (const Block &block : blocks_)
    if (block.adding || (sync() && block.updates < steps)) return false;
  return true;
}

absl::Status ParameterServerImpl::Wait() {
  MutexLock lock(&mu_);
  while (status_.ok() && !Finished()) changed_.Wait(&mu_);
  return Unshared(status_);
}

}  // namespace commsched::runtime
