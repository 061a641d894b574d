// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What `cs-run` does with the ranks of a process that trains: where it begins (train_begin.cc), and its steps (train.cc).
#ifndef COMMSCHED_TOOLS_CS_RUN_TRAINER_H
#define COMMSCHED_TOOLS_CS_RUN_TRAINER_H

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/data/dataset.h"
#include "tools/cs-run/nan_watch.h"
#include "tools/cs-run/report.h"
#include "tools/cs-run/train.h"

namespace commsched::run {

class Trainer {
 public:
  Trainer(const Options &options, runtime::Session *session, runtime::StopPoint *stop,
          std::function<void()> needs_nobody)
      : options_(options),
        session_(session),
        stop_(stop),
        needs_nobody_(std::move(needs_nobody)),
        silent_(session->program().rank != 0),
        all_here_(int(session->local_ranks()) == session->image().nodes()),
        saves_params_(!options.save_params.empty() &&
                      (!silent_ || (!options.spawned && options.world == 0) ||
                       (session->program().role > 0 && session->program().worker == 0))),
        nan_(session, options.stop_on_nan,
             [this](const std::string &text) { report_->Warn(text); }) {}

  absl::Status Run();

 private:
  absl::Status RunToTheEnd();
  absl::Status OpenData();
  absl::Status Initialise();
  absl::Status GoOn();
  absl::Status InitialiseOfServers();
  absl::Status CountSteps();
  absl::Status Steps();
  absl::Status FlushMetrics(size_t keep);
  absl::Status CallOnce(const std::string &name);
  absl::Status Evaluate();
  // Of the metrics of calls, and those whose metrics are not in them yet.
  struct Sums {
    std::deque<uint64_t> calls;
    std::vector<double> values;
    size_t added = 0;  // calls
  };
  absl::Status Queue(int f, runtime::Dataset *data, Sums *sums);
  absl::Status AddUp(Sums *sums, size_t keep);
  absl::StatusOr<std::vector<double>> MeanOf(int f, Sums sums);
  absl::Status Checkpoint();
  std::string ParametersPath() const;
  Metrics Named(int function, const std::vector<double> &values) const;
  const runtime::FunctionProgram &function(int f) const {
    return session_->program().functions[size_t(f)];
  }
  runtime::BatchSource *Source(runtime::Dataset *data) {
    if (data == nullptr && options_.emulate) return &zeros_;
    return data;
  }
  absl::StatusOr<std::unique_ptr<runtime::Dataset>> Open(const std::string &path, int f) {
    return runtime::Dataset::Open(path, UsersOf(f), {options_.shuffle, options_.seed});
  }
  // The functions of this number, of all ranks here that have one of their own.
  std::vector<runtime::Dataset::User> UsersOf(int f) {
    std::vector<runtime::Dataset::User> users;
    int last = -2;
    for (size_t r = 0; r < session_->local_ranks(); ++r) {
      const runtime::Program &program = session_->executor(r).program();
      if (std::exchange(last, program.role) == program.role) continue;
      users.push_back({&program.functions[size_t(f)], program.workers});
    }
    return users;
  }
  bool HasBatches(int f) {
    const std::vector<runtime::Dataset::User> users = UsersOf(f);
    return std::any_of(users.begin(), users.end(), [](const runtime::Dataset::User &user) {
      return !user.function->batches.empty();
    });
  }

  const Options &options_;
  runtime::Session *const session_;
  runtime::StopPoint *const stop_;
  const std::function<void()> needs_nobody_;
  const bool silent_;
  const bool all_here_;  // the ranks
  // Rank 0, who is asked by hand, and the first rank of each step that is another.
  const bool saves_params_;
  NanWatch nan_;
  std::optional<Report> report_;
  int step_ = -1, eval_ = -1;  // functions
  std::unique_ptr<runtime::Dataset> data_, eval_data_;
  runtime::ZeroBatch zeros_;                           // in emulation, if there is no data
  bool wanted_ = true;                                 // by other ranks: it has steps to do
  bool kept_ = false;                                  // a checkpoint is not replaced
  std::optional<uint64_t> saved_;                      // the steps of the last checkpoint of this job
  std::string warning_;                                // of what it goes on from
  uint64_t done_ = 0;                                  // steps, those before a resume included
  uint64_t steps_ = 0;                                 // to do
  std::deque<std::pair<uint64_t, uint64_t>> pending_;  // step, call
};

}  // namespace commsched::run

#endif  // COMMSCHED_TOOLS_CS_RUN_TRAINER_H
