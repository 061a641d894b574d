// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where a run begins: its data, the values that it has then, and how many steps it is to do.
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/data/tensor_file.h"
#include "runtime/session/checkpoint.h"
#include "runtime/session/job_files.h"
#include "runtime/session/rank_state.h"
#include "tools/cs-run/trainer.h"

namespace commsched::run {

using runtime::Dataset;
using runtime::Session;

absl::Status Trainer::OpenData() {
  const runtime::Program &program = session_->program();
  if (auto step = FindFunction(program, nullptr); step.ok()) step_ = *step;
  if (!options_.eval.empty()) {
    absl::StatusOr<int> eval = FindFunction(program, options_.eval.c_str());
    if (!eval.ok()) return eval.status();
    eval_ = *eval;
  }
  for (const std::string &name : options_.calls)
    if (auto f = FindFunction(program, name.c_str()); !f.ok()) return f.status();
  if (!options_.batch.empty() && step_ >= 0 && HasBatches(step_)) {
    auto data = Open(options_.batch, step_);
    if (!data.ok()) return data.status();
    data_ = *std::move(data);
  }
  if (eval_ >= 0 && HasBatches(eval_)) {
    const std::string &path =
        options_.eval_batch.empty() ? options_.batch : options_.eval_batch;
    if (path.empty() && options_.emulate) return absl::OkStatus();
    if (path.empty())
      return absl::InvalidArgumentError(
          absl::StrCat("function @", options_.eval, " needs batch \"",
                       function(eval_).batches[0].name, "\": give --eval-batch"));
    auto data = Dataset::Open(path, UsersOf(eval_), {});
    if (!data.ok()) return data.status();
    eval_data_ = *std::move(data);
  }
  return absl::OkStatus();
}

absl::Status Trainer::Initialise() {
  if (options_.has_servers()) return InitialiseOfServers();
  if (!session_->image().workers().empty() && !all_here_ &&
      !(options_.resume.empty() && options_.checkpoint.empty()))
    return absl::UnimplementedError(
        "ranks of the plan run different steps: checkpoints need all of them in one process");
  if (!options_.resume.empty()) return GoOn();
  return InitialValues(options_, session_);
}

absl::Status Trainer::GoOn() {
  const std::string file = runtime::WholeCheckpoint(options_.resume);
  absl::StatusOr<uint64_t> done = LoadCheckpoint(session_, options_.resume);
  if (!done.ok()) return done.status();
  done_ = *done;
  if (file != options_.resume)
    warning_ = absl::StrCat("warning: ", options_.resume,
                            ": not all ranks have written what belongs to it: goes on from ", file);
  std::error_code error;
  const std::string saved = runtime::SavedName(file);
  if (!options_.checkpoint.empty() &&
      (options_.checkpoint == saved || std::filesystem::equivalent(options_.checkpoint, saved, error))) {
    saved_ = done_;
    if (const auto job = runtime::JobOfCheckpoint(file)) session_->set_job(*job);
    RemoveLaterRankState(session_, options_.checkpoint, done_);
  }
  return absl::OkStatus();
}

// The servers know where the job is.
absl::Status Trainer::InitialiseOfServers() {
  done_ = session_->first_step();
  const std::string &from = options_.resume_job.empty() ? options_.resume : options_.resume_job;
  absl::StatusOr<runtime::JobFiles> files = runtime::JobFiles::Of(session_->image(), from);
  if (!files.ok()) return files.status();
  const auto own = OwnValues(session_->image(), session_->program());
  if (!own.empty() && options_.checkpoint.empty() && session_->servers_keep_checkpoints())
    warning_ = absl::StrCat("warning: the servers' checkpoints will never be whole: \"", session_->values()[own[0]].name,
                            "\" is the trainers', who have no --checkpoint; the job cannot begin again from them");
  if (done_ == 0 && (from.empty() || files->NewestWhole() != done_))
    return InitialValues(options_, session_);
  if (own.empty()) return absl::OkStatus();
  if (from.empty())
    return absl::FailedPreconditionError(absl::StrCat(
        "rank ", session_->program().rank, ": the servers have ", done_,
        " steps behind them, but \"", session_->values()[own[0]].name,
        "\" is the trainers', and not in the servers' checkpoints: give --resume-job"));
  if (absl::Status s = LoadOwnValues(session_, *files, done_); !s.ok()) return s;
  // By hand, each for itself: what it has left of other steps must not be taken for this job's later.
  std::error_code error;
  if (!options_.spawned && std::filesystem::equivalent(options_.checkpoint, from, error))
    files->BeginOfRank(session_->program().rank, done_);
  return absl::OkStatus();
}

absl::Status Trainer::CountSteps() {
  if (options_.steps) {
    steps_ = *options_.steps;
  } else if (options_.epochs && data_ != nullptr) {
    uint64_t total = 0;
    if (__builtin_mul_overflow(*options_.epochs, data_->batches_per_epoch(), &total))
      total = std::numeric_limits<uint64_t>::max();
    steps_ = total > done_ ? total - done_ : 0;
  } else if (data_ != nullptr) {
    steps_ = data_->batches_per_epoch();
  } else if (step_ >= 0 && function(step_).batches.empty()) {
    steps_ = options_.calls.empty() && eval_ < 0 ? 1 : 0;
  } else if (step_ >= 0 && options_.calls.empty() && eval_ < 0) {
    steps_ = 1;  // for the error below
  }
  if (steps_ != 0 && step_ < 0)
    return absl::InvalidArgumentError("plan has no training step");
  if (steps_ != 0 && data_ == nullptr && !options_.emulate &&
      !function(step_).batches.empty())
    return absl::InvalidArgumentError(
        absl::StrCat("function @", function(step_).name, " needs batch \"",
                     function(step_).batches[0].name, "\": give --batch"));
  return absl::OkStatus();
}

absl::Status InitialValues(const Options &options, Session *session) {
  const auto &slots = session->values();
  absl::StatusOr<int> init = FindFunction(session->program(), "init");
  std::optional<runtime::TensorFile> file;
  std::string missing;
  for (const auto &slot : slots)  // what is each rank's own begins at zero
    if (missing.empty() && !slot.per_rank) missing = slot.name;
  if (!options.init.empty()) {
    auto read = runtime::ReadTensorFile(options.init);
    if (!read.ok()) return read.status();
    file = *std::move(read);
    missing.clear();
    for (const auto &slot : slots)
      if (missing.empty() && !slot.per_rank && file->tensors.count(slot.name) == 0)
        missing = slot.name;
  }
  if (!missing.empty() && !init.ok() && !file && options.emulate)
    return absl::OkStatus();
  if (!missing.empty() && !init.ok() && !file)
    return absl::InvalidArgumentError(
        absl::StrCat("\"", missing,
                     "\" has no initial value: the plan has no @init, give --init"));
  if (!missing.empty() && init.ok())
    if (auto call = session->Call(*init, nullptr); !call.ok())
      return call.status();
  return file ? SetSlots(session, *file, !init.ok()) : absl::OkStatus();
}

}  // namespace commsched::run
