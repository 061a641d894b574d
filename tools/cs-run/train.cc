// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/cs-run/train.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/session/checkpoint.h"
#include "runtime/session/job_files.h"
#include "runtime/session/rank_state.h"
#include "tools/cs-run/outputs.h"
#include "tools/cs-run/trainer.h"

namespace commsched::run {
namespace {

// Steps whose metrics are fetched later, so that printing does not hold up
// the pipeline: more than are ever in flight or queued.
constexpr size_t kMetricsLag = 5;

}  // namespace

using runtime::Dataset;
using runtime::FunctionProgram;

Metrics Trainer::Named(int f, const std::vector<double> &values) const {
  Metrics metrics;
  for (size_t i = 0; i < values.size(); ++i)
    metrics.emplace_back(function(f).outputs[i].metric, values[i]);
  return metrics;
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
  Sums sums;
  if (absl::Status s = Queue(f, data.get(), &sums); !s.ok()) return s;
  auto values = MeanOf(f, std::move(sums));
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
absl::Status Trainer::Queue(int f, Dataset *data, Sums *sums) {
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
    sums->calls.push_back(*call);
  }
  return AddUp(sums, kMetricsLag);
}

// Soon, as a session keeps the metrics of so many calls only.
absl::Status Trainer::AddUp(Sums *sums, size_t keep) {
  while (sums->calls.size() > keep) {
    auto values = session_->Metrics(sums->calls.front());
    if (!values.ok()) return values.status();
    sums->calls.pop_front();
    sums->values.resize(values->size(), 0.0);
    for (size_t i = 0; i < values->size(); ++i) sums->values[i] += (*values)[i];
    ++sums->added;
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<double>> Trainer::MeanOf(int f, Sums sums) {
  if (absl::Status s = AddUp(&sums, 0); !s.ok()) return s;
  sums.values.resize(function(f).outputs.size(), 0.0);
  for (double &value : sums.values) value /= double(std::max<size_t>(1, sums.added));
  return sums.values;
}

absl::Status Trainer::Evaluate() {
  if (absl::Status s = FlushMetrics(0); !s.ok()) return s;
  uint64_t batches = eval_data_ ? eval_data_->batches_per_epoch() : 1;
  Sums sums;
  for (uint64_t i = 0; i < batches; ++i) {
    if (eval_data_) eval_data_->Seek(i);
    if (absl::Status s = Queue(eval_, eval_data_.get(), &sums); !s.ok()) return s;
  }
  auto values = MeanOf(eval_, std::move(sums));
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
  if (own) session_->LeaveServers();
  // Who evaluates with others agrees with them on that, as on a step: a signal that comes now leaves none alone.
  const bool together = !own || runtime::RanksCommunicate(session_->image());
  if (eval_ >= 0 && !evaluated && (together ? stop_->Begin(done_) : stop_->reason() == 0))
    if (absl::Status s = Evaluate(); !s.ok()) return s;
  wanted_ = false;
  if (!own && needs_nobody_) needs_nobody_();
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
  absl::Status status = RunToTheEnd();
  // Those who wait for this rank hear why it does not come; closed, it would seem to have finished.
  if (!status.ok() && wanted_) session_->Cancel(status);
  return status;
}

absl::Status Trainer::RunToTheEnd() {
  if (absl::Status s = OpenData(); !s.ok()) return s;
  if (absl::Status s = Initialise(); !s.ok()) return s;
  if (absl::Status s = CountSteps(); !s.ok()) return s;
  report_.emplace(silent_, !options_.metrics_json.empty(), options_.metrics_every, done_, steps_);
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

absl::Status Train(const Options &options, runtime::Session *session,
                   runtime::StopPoint *stop, std::function<void()> needs_nobody) {
  return Trainer(options, session, stop, std::move(needs_nobody)).Run();
}

}  // namespace commsched::run
