// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The parameter servers of a plan within the ranks of a job: server k lives in rank k, or,
// where there are fewer ranks, in one after the other again. Or in the ranks from a first one
// on, which have no trainers then: of a job of which those of the trainers are a part.
#ifndef COMMSCHED_LAUNCH_JOB_SERVERS_H
#define COMMSCHED_LAUNCH_JOB_SERVERS_H

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "launch/job.h"
#include "runtime/session/session.h"

namespace commsched::launch {

// Outlives the session of its trainer. Used by one thread at a time, except Stop.
class JobServers {
 public:
  // All ranks, after Job::NextConnection. Does not wait for trainers. An error is that of all.
  // `first` is the first rank that has servers. `profile` may be null.
  static absl::StatusOr<std::unique_ptr<JobServers>> Begin(
      Job *job, std::shared_ptr<const runtime::PlanImage> image, int first = 0,
      runtime::ProfileRecorder *profile = nullptr);
  // After Finish, waits until the trainers have gone; else ends the servers, and gives trainers a moment to hear why.
  ~JobServers();

  // Where they are, by number.
  const std::vector<std::string> &addresses() const { return addresses_; }
  // Of this rank's trainer.
  runtime::ConnectServersFunction connector() const;
  // What a server here has of a value, or is to have: before the steps of all, or after Finish.
  absl::Status SetValue(const runtime::ValueInfo &value, absl::Span<const std::byte> whole);
  // Leaves the bytes that other servers have; returns how many there were here.
  absl::StatusOr<size_t> GetValue(const runtime::ValueInfo &value, absl::Span<std::byte> whole);
  // All ranks, when their trainers have finished: until everything is applied. With one server here the others fail.
  absl::Status Finish();
  // Tells the trainers why the job ends. The first reason counts.
  void Stop(const absl::Status &why);

 private:
  struct Server;
  JobServers(Job *job, std::shared_ptr<const runtime::PlanImage> image);
  absl::StatusOr<std::string> BeginOne(int number, runtime::ProfileRecorder *profile);

  Job *const job_;
  const std::shared_ptr<const runtime::PlanImage> image_;
  std::vector<std::string> addresses_;
  std::vector<std::unique_ptr<Server>> servers_;  // that are here
  bool finished_ = false;
};

}  // namespace commsched::launch

#endif  // COMMSCHED_LAUNCH_JOB_SERVERS_H
