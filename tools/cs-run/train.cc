// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/cs-run/train.h"

#include <algorithm>
#include <deque>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/data/dataset.h"
#include "runtime/data/tensor_file.h"
#include "runtime/session/checkpoint.h"
#include "runtime/session/job_files.h"
#include "runtime/session/rank_state.h"
#include "tools/cs-run/nan_watch.h"
#include "tools/cs-run/outputs.h"
#include "tools/cs-run/report.h"

namespace commsched::run {
namespace {

using runtime::Dataset;
using runtime::FunctionProgram;
using runtime::Session;

// Steps whose metrics are fetched later, so that printing does not hold up
// the pipeline: more than are ever in flight or queued.
constexpr size_t kMetricsLag = 5;

class Trainer {
 public:
  Trainer(const Options &options, Session *session, runtime::StopPoint *stop)
      : options_(options),
        session_(session),
        stop_(stop),
        silent_(session->program().rank != 0),
        all_here_(int(session->local_ranks()) == session->image().nodes()),
        saves_params_(!options.save_params.empty() &&
                      (!silent_ || (!options.spawned && options.world == 0) ||
                       (session->program().role > 0 && session->program().worker == 0))),
        nan_(session, options.stop_on_nan,
             [this](const std::string &text) { report_->Warn(text); }) {}

  absl::Status Run();

 private:
  absl::Status OpenData();
  absl::Status Initialise();
  absl::Status GoOn();
  absl::Status InitialiseOfServers();
  absl::Status CountSteps();
  absl::Status Steps();
  absl::Status FlushMetrics(size_t keep);
  absl::Status CallOnce(const std::string &name);
  absl::Status Evaluate();
  absl::Status Queue(int f, Dataset *data, std::vector<uint64_t> *calls);
  absl::StatusOr<std::vector<double>> MeanOf(int f, const std::vector<uint64_t> &calls);
  absl::Status Checkpoint();
  std::string ParametersPath() const;
  Metrics Named(int function, const std::vector<double> &values) const;
  const FunctionProgram &function(int f) const {
    return session_->program().functions[size_t(f)];
  }
  runtime::BatchSource *Source(Dataset *data) {
    if (data == nullptr && options_.emulate) return &zeros_;
    return data;
  }
  absl::StatusOr<std::unique_ptr<Dataset>> Open(const std::string &path, int f) {
    return Dataset::Open(path, UsersOf(f), {options_.shuffle, options_.seed});
  }
  // The functions of this number, of all ranks here that have one of their own.
  std::vector<Dataset::User> UsersOf(int f) {
    std::vector<Dataset::User> users;
    int last = -2;
    for (size_t r = 0; r < session_->local_ranks(); ++r) {
      const runtime::Program &program = session_->executor(r).program();
      if (std::exchange(last, program.role) == program.role) continue;
      users.push_back({&program.functions[size_t(f)], program.workers});
    }
    return users;
  }
  bool HasBatches(int f) {
    const std::vector<Dataset::User> users = UsersOf(f);
    return std::any_of(users.begin(), users.end(), [](const Dataset::User &user) {
      return !user.function->batches.empty();
    });
  }

  const Options &options_;
  Session *const session_;
  runtime::StopPoint *const stop_;
  const bool silent_;
  const bool all_here_;  // the ranks
  // Rank 0, who is asked by hand, and the first rank of each step that is another.
  const bool saves_params_;
  NanWatch nan_;
  std::optional<Report> report_;
  int step_ = -1, eval_ = -1;  // functions
  std::unique_ptr<Dataset> data_, eval_data_;
  runtime::ZeroBatch zeros_;                           // in emulation, if there is no data
  bool kept_ = false;                                  // a checkpoint is not replaced
  std::optional<uint64_t> saved_;                      // the steps of the last checkpoint of this job
  std::string warning_;                                // of what it goes on from
  uint64_t done_ = 0;                                  // steps, those before a resume included
  uint64_t steps_ = 0;                                 // to do
  std::deque<std::pair<uint64_t, uint64_t>> pending_;  // step, call
};

Metrics Trainer::Named(int f, const std::vector<double> &values) const {
  Metrics metrics;
  for (size_t i = 0; i < values.size(); ++i)
    metrics.emplace_back(function(f).outputs[i].metric, values[i]);
  return metrics;
}

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
  if (!options_.checkpoint.empty() &&
      std::filesystem::equivalent(options_.checkpoint, options_.resume, error)) {
    saved_ = done_;
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
  if (done_ == 0 && (from.empty() || files->NewestWhole() != done_))
    return InitialValues(options_, session_);
  const auto own = OwnValues(session_->image(), session_->program());
  if (own.empty()) return absl::OkStatus();
  if (from.empty())
    return absl::FailedPreconditionError(absl::StrCat(
        "rank ", session_->program().rank, ": the servers have ", done_,
        " steps behind them, but \"", session_->values()[own[0]].name,
        "\" is the trainers', and not in the servers' checkpoints: give --resume-job"));
  return LoadOwnValues(session_, *files, done_);
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

absl::Status Trainer::CallOnce(const std::string &name) {
  int f = *FindFunction(session_->program(), name.c_str());
  std::unique_ptr<Dataset> data;
  if (!function(f).batches.empty() &&
      !(options_.emulate && options_.batch.empty())) {
    if (options_.batch.empty())
      return absl::InvalidArgumentError(
          absl::StrCat("function @", name, " needs batch \"",
                       function(f).batches[0].name, "\": give --batch"));
    auto opened = Open(options_.batch, f);
    if (!opened.ok()) return opened.status();
    data = *std::move(opened);
    data->Seek(0);
  }
  std::vector<uint64_t> calls;
  if (absl::Status s = Queue(f, data.get(), &calls); !s.ok()) return s;
  auto values = MeanOf(f, calls);
  if (!values.ok()) return values.status();
  report_->Call(name, done_, Named(f, *values), data ? data->global_batch() : 0,
                data ? data->global_batch() : 0);
  return absl::OkStatus();
}

absl::Status Trainer::FlushMetrics(size_t keep) {
  while (pending_.size() > keep) {
    auto [step, call] = pending_.front();
    pending_.pop_front();
    auto values = session_->Metrics(call);
    if (!values.ok()) return values.status();
    const Metrics named = Named(step_, *values);
    report_->Step(step, named);
    if (absl::Status s = nan_.Check(step, named, data_.get()); !s.ok()) return s;
  }
  return absl::OkStatus();
}

// Calls for the metrics of one batch. Trainers whose servers are elsewhere exchange nothing: rank
// 0 goes through the shares of all, and the others have nothing to do. What changes
// state is called once, by all.
absl::Status Trainer::Queue(int f, Dataset *data, std::vector<uint64_t> *calls) {
  const FunctionProgram &called = function(f);
  int shares = 1;
  if (options_.has_servers() && !runtime::RanksCommunicate(session_->image()) &&
      (!called.batches.empty() || called.reads_index) && called.written_slots.empty())
    shares = session_->image().nodes();
  if (shares > 1 && silent_) return absl::OkStatus();
  for (int r = 0; r < shares; ++r) {
    absl::StatusOr<uint64_t> call =
        session_->Call(f, Source(data), shares > 1 ? r : -1);
    if (!call.ok()) return call.status();
    calls->push_back(*call);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<double>> Trainer::MeanOf(
    int f, const std::vector<uint64_t> &calls) {
  std::vector<double> sums(function(f).outputs.size(), 0.0);
  for (uint64_t call : calls) {
    auto values = session_->Metrics(call);
    if (!values.ok()) return values.status();
    for (size_t i = 0; i < sums.size(); ++i) sums[i] += (*values)[i];
  }
  for (double &sum : sums) sum /= double(std::max<size_t>(1, calls.size()));
  return sums;
}

absl::Status Trainer::Evaluate() {
  if (absl::Status s = FlushMetrics(0); !s.ok()) return s;
  uint64_t batches = eval_data_ ? eval_data_->batches_per_epoch() : 1;
  std::vector<uint64_t> calls;
  for (uint64_t i = 0; i < batches; ++i) {
    if (eval_data_) eval_data_->Seek(i);
    if (absl::Status s = Queue(eval_, eval_data_.get(), &calls); !s.ok()) return s;
  }
  auto values = MeanOf(eval_, calls);
  if (!values.ok()) return values.status();
  report_->Call(options_.eval, done_, Named(eval_, *values),
                eval_data_ ? batches * eval_data_->global_batch() : 0,
                eval_data_ ? eval_data_->samples() : 0);
  return absl::OkStatus();
}

absl::Status Trainer::Checkpoint() {
  if (absl::Status s = FlushMetrics(0); !s.ok()) return s;
  bool bad = false;
  if (absl::Status s = nan_.CheckValues(done_, &bad); !s.ok()) return s;
  // What was good last is kept.
  if (bad && !options_.has_servers()) {
    if (!std::exchange(kept_, true))
      report_->Warn(absl::StrCat(options_.checkpoint,
                                 ": is not replaced, parameters or "
                                 "state have a nan"));
    return absl::OkStatus();
  }
  if (options_.has_servers()) {
    auto files = runtime::JobFiles::Of(session_->image(), options_.checkpoint);
    return files.ok() ? SaveOwnValues(session_, *files, done_) : files.status();
  }
  // All ranks have the same values but for what is their own: one of them writes.
  const std::optional<uint64_t> before = std::exchange(saved_, done_);
  if (silent_) return SaveOwnState(session_, options_.checkpoint, done_, before);
  return SaveOrElsewhere(options_.checkpoint, "the checkpoint is", [&](const std::string &path) {
    return SaveCheckpoint(session_, path, done_, path == options_.checkpoint ? before : std::nullopt);
  });
}

absl::Status Trainer::Steps() {
  uint64_t end = done_ + steps_;
  bool evaluated = false, saved = false;
  while (done_ < end && stop_->Begin(done_)) {
    if (data_ != nullptr) data_->Seek(done_);
    absl::StatusOr<uint64_t> call = session_->Call(step_, Source(data_.get()));
    if (!call.ok()) return call.status();
    pending_.emplace_back(++done_, *call);
    if (absl::Status s = FlushMetrics(kMetricsLag); !s.ok()) return s;
    evaluated = options_.eval_every != 0 && done_ % options_.eval_every == 0;
    if (evaluated)
      if (absl::Status s = Evaluate(); !s.ok()) return s;
    saved = options_.checkpoint_every != 0 && done_ % options_.checkpoint_every == 0 &&
            !options_.checkpoint.empty();
    if (saved)
      if (absl::Status s = Checkpoint(); !s.ok()) return s;
  }
  if (absl::Status s = FlushMetrics(0); !s.ok()) return s;
  if (absl::Status s = session_->Drain(); !s.ok()) return s;
  const bool own = options_.has_servers();
  if (own && !options_.checkpoint.empty() && !saved)
    if (absl::Status s = Checkpoint(); !s.ok()) return s;
  if (!session_->image().servers().servers.empty()) {
    if (absl::Status s = session_->Finish(); !s.ok()) return s;
    saved = false;  // gradients that were not sent yet are applied now
  }
  // Trainers that keep nothing and ask nothing need not wait for the others.
  if (!own || saves_params_ || (!silent_ && eval_ >= 0))
    if (absl::Status s = session_->FinalValues(); !s.ok()) return s;
  if (eval_ >= 0 && !evaluated && stop_->reason() == 0)
    if (absl::Status s = Evaluate(); !s.ok()) return s;
  if (!options_.checkpoint.empty() && !own && !saved)
    if (absl::Status s = Checkpoint(); !s.ok()) return s;
  return absl::OkStatus();
}

// Ranks that run another step than rank 0 have other parameters.
std::string Trainer::ParametersPath() const {
  const runtime::Program &program = session_->program();
  if (all_here_ || program.role <= 0) return options_.save_params;
  const runtime::PlanImage &image = session_->image();
  const int role = image.workers()[size_t(program.role)].role;
  return absl::StrCat(options_.save_params, ".", image.plan().roles(role).name());
}

absl::Status Trainer::Run() {
  if (absl::Status s = OpenData(); !s.ok()) return s;
  if (absl::Status s = Initialise(); !s.ok()) return s;
  if (absl::Status s = CountSteps(); !s.ok()) return s;
  report_.emplace(silent_, options_.metrics_every, done_, steps_);
  if (!warning_.empty()) report_->Warn(warning_);
  if (data_ != nullptr && steps_ != 0)
    if (uint64_t left = data_->samples() % data_->global_batch(); left != 0)
      report_->Line(absl::StrCat(left, " of ", data_->samples(),
                                 " samples are left out in every epoch: they do not fill a "
                                 "global batch of ",
                                 data_->global_batch()));
  for (const std::string &name : options_.calls)
    if (absl::Status s = CallOnce(name); !s.ok()) return s;
  if (absl::Status s = session_->Drain(); !s.ok()) return s;
  session_->executor(0).ResetStats();
  if (absl::Status s = Steps(); !s.ok()) return s;
  if (stop_->reason() != 0) report_->Line(absl::StrCat("stopped after step ", done_));
  // Of a plan without metrics.
  if (bool bad = false; options_.checkpoint.empty() || options_.stop_on_nan)
    if (absl::Status s = nan_.CheckValues(done_, &bad); !s.ok()) return s;
  if (saves_params_)
    if (absl::Status s = SaveOrElsewhere(
            ParametersPath(), "the parameters are",
            [&](const std::string &path) { return SaveParameters(session_, path); });
        !s.ok())
      return s;
  runtime::RankExecutor &executor = session_->executor(0);
  if (absl::Status s = session_->Drain(); !s.ok()) return s;
  plan::Schedule schedule;
  for (const plan::Function &f : session_->image().plan().functions())
    if (f.is_step()) schedule = f.schedule();
  report_->Summary(step_ >= 0 ? executor.Stats(step_) : runtime::FunctionStats(),
                   executor.memory_bytes(), executor.bytes_sent(), schedule);
  if (!options_.metrics_json.empty())
    return report_->WriteJson(options_.metrics_json);
  return absl::OkStatus();
}

}  // namespace

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

absl::Status Train(const Options &options, runtime::Session *session,
                   runtime::StopPoint *stop) {
  return Trainer(options, session, stop).Run();
}

}  // namespace commsched::run
