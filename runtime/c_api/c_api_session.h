// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the files that the C interface is made of share about sessions.
#ifndef COMMSCHED_RUNTIME_C_API_C_API_SESSION_H
#define COMMSCHED_RUNTIME_C_API_C_API_SESSION_H

#include <unistd.h>

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "launch/job.h"
#include "launch/job_servers.h"
#include "launch/relay.h"
#include "runtime/base/sync.h"
#include "runtime/c_api/c_api.h"
#include "runtime/data/batch_source.h"
#include "runtime/measure/profile.h"
#include "runtime/measure/trace.h"
#include "runtime/session/connected_stop.h"
#include "runtime/session/session.h"

// The trace must outlive the executors that write to it.
struct cs_session {
  const pid_t process = getpid();
  commsched::runtime::TraceRecorder trace;
  std::string trace_path;
  std::unique_ptr<commsched::runtime::ProfileRecorder> profile;  // if fragments are measured
  std::string profile_text;
  // Of one rank of a job; the stop uses the session's transport, and ends before it.
  std::unique_ptr<commsched::launch::Relay> relay;
  std::unique_ptr<commsched::launch::JobServers> servers;  // of the plan that are here
  std::set<uint64_t> own_calls;                            // whose metrics are this rank's, with servers
  std::unique_ptr<commsched::runtime::Session> session;
  std::unique_ptr<commsched::runtime::ConnectedStop> stop;
  uint64_t step_calls = 0;
  std::unique_ptr<commsched::runtime::GlobalBatch> batch =
      std::make_unique<commsched::runtime::GlobalBatch>();
  int function = 0;  // called last
  commsched::runtime::Mutex mu;
  std::vector<std::string> replans ABSL_GUARDED_BY(mu);  // events as JSON
  std::string replans_text;
};

namespace commsched {

// Of what a process has that must not be there when it is forked, as its threads may hold
// locks then: sessions and jobs.
class Counted {
 public:
  Counted();
  ~Counted();
  // It is there, until Gone() is called.
  void Keep() { keep_ = true; }
  static void Gone();

 private:
  bool keep_ = false;
};

// Whether one can begin here.
absl::Status CheckProcess();
// All ranks of `job`: the plan of rank 0, of so many trainers. An error is that of all of them, but
// for one in `own`, with null.
absl::StatusOr<std::shared_ptr<const runtime::PlanImage>> SharedPlan(launch::Job *job, int trainers,
                                                                     absl::string_view plan, absl::Status *own);
// Which of the plan's values it is, and whether it has so many bytes.
absl::StatusOr<const runtime::ValueInfo *> FindValue(const runtime::PlanImage &image, const char *name, size_t bytes);
// Whether `session` can be used here.
absl::Status CheckSession(const cs_session *session);
// `given` as options of a session, which must outlive it.
absl::StatusOr<runtime::ReplanOptions> ReplanOptionsOf(const cs_session_replanning &given,
                                                       cs_session *session);
// MPI by way of its plug-in, if the library is built with that.
std::optional<launch::MpiDoor> MpiOfPlugin();
// Stores the error of a call, and gives what it returns.
int Finished(const absl::Status &status);

}  // namespace commsched

#endif  // COMMSCHED_RUNTIME_C_API_C_API_SESSION_H
