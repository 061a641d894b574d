// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "grpc/base/security.h"
#include "launch/job.h"
#include "runtime/c_api/c_api_error.h"
#include "runtime/c_api/c_api_job.h"
#include "runtime/c_api/c_api_session.h"

namespace rt = commsched::runtime;
namespace launch = commsched::launch;
using commsched::CheckJob;
using commsched::CheckProcess;
using commsched::CheckSession;
using commsched::Copied;
using commsched::Counted;
using commsched::Finished;

namespace {

std::string Text(const char *text) { return text != nullptr ? text : ""; }

absl::StatusOr<launch::JobOptions> JobOptionsOf(const cs_job_options *given) {
  launch::JobOptions options;
  options.environment = [](const char *name) { return std::getenv(name); };
  options.doors.names = {"token_file", "insecure", "tls_ca, tls_cert, tls_key and token_file",
                         "rank, size and peers"};
  options.mpi = commsched::MpiOfPlugin();
  if (given == nullptr) return options;
  auto copy = Copied(given, "cs_job_options");
  if (!copy.ok()) return copy.status();
  options.transport = Text(copy->transport);
  options.rank = copy->size == 0 && copy->rank == 0 ? -1 : copy->rank;
  options.size = copy->size;
  if (copy->peers != nullptr && *copy->peers != 0)
    options.peers = absl::StrSplit(copy->peers, ',');
  options.master = Text(copy->master);
  options.port = copy->port;
  options.membership = copy->membership;
  launch::Doors &doors = options.doors;
  if (copy->deadline_seconds < 0 || copy->deadline_seconds > 1e7)
    return absl::InvalidArgumentError(absl::StrCat(
        "deadline must be a positive number of seconds, got: ", copy->deadline_seconds));
  if (copy->deadline_seconds > 0) doors.deadline = absl::Seconds(copy->deadline_seconds);
  doors.insecure = copy->insecure != 0;
  doors.listen_any = copy->listen_any != 0;
  doors.security.ca_file = Text(copy->tls_ca);
  doors.security.certificate_file = Text(copy->tls_cert);
  doors.security.key_file = Text(copy->tls_key);
  doors.security.server_name = Text(copy->tls_server_name);
  doors.security.token = Text(copy->token);
  if (!doors.security.token.empty() && !Text(copy->token_file).empty())
    return absl::InvalidArgumentError("token and token_file exclude each other");
  if (!doors.security.token.empty() &&
      doors.security.token.size() < commsched::transport::kLeastTokenBytes)
    return absl::InvalidArgumentError(absl::StrCat(
        "token must have at least ", commsched::transport::kLeastTokenBytes, " characters"));
  if (!Text(copy->token_file).empty()) {
    auto token = commsched::transport::ReadTokenFile(copy->token_file);
    if (!token.ok()) return token.status();
    doors.security.token = *std::move(token);
  }
  return options;
}

absl::StatusOr<std::unique_ptr<cs_session>> OneRank(const cs_rank_options &given) {
  launch::Job *job = given.job->job.get();
  launch::Job *of_servers = given.servers != nullptr ? given.servers->job.get() : job;
  if (of_servers->rank() != job->rank())
    return absl::InvalidArgumentError("the job must be the first part of that of the servers");
  absl::Status own;
  auto image = commsched::SharedPlan(of_servers, job->size(),
                                     {static_cast<const char *>(given.plan), given.plan_bytes}, &own);
  if (!image.ok()) return image.status();
  auto connect = job->NextConnection(own.ok() ? absl::StatusOr<uint64_t>((*image)->digest()) : own);
  if (!connect.ok()) return connect.status();
  auto session = std::make_unique<cs_session>();
  rt::SessionOptions options;
  options.deadline = given.job->deadline;
  options.cuda_device = commsched::CudaDeviceOf(*job);
  if (given.replanning != nullptr) {
    auto replan = commsched::ReplanOptionsOf(*given.replanning, session.get());
    if (!replan.ok()) return replan.status();
    options.replan = *std::move(replan);
  }
  if (given.profile != 0) {
    session->profile = std::make_unique<rt::ProfileRecorder>();
    options.profile = session->profile.get();
  }
  options.trace = &session->trace;
  session->trace.Enable(false);
  if (job->size() > 1) session->relay = std::make_unique<launch::Relay>(job);
  if (session->relay != nullptr && job->rank() == 0)
    options.on_completed = [relay = session->relay.get()](uint64_t call, const auto &metrics) {
      relay->Put(call, metrics);
    };
  if (!(*image)->servers().servers.empty() && of_servers->size() > 1) {
    auto servers =
        launch::JobServers::Begin(of_servers, *image, of_servers == job ? 0 : job->size(), options.profile);
    if (!servers.ok()) return servers.status();
    session->servers = *std::move(servers);
    // So that trainers stop together, and hear at once of one that is gone.
    options.always_connected = job->size() > 1;
  }
  session->stop = std::make_unique<rt::ConnectedStop>();
  session->batch = std::make_unique<rt::OwnBatch>();
  auto made = rt::Session::OneRank(
      *image, job->rank(),
      [&](rt::TransportOptions transport) -> absl::StatusOr<std::unique_ptr<rt::Transport>> {
        rt::ConnectedStop::Prepare(&transport);
        auto connected = (*connect)(std::move(transport));
        if (connected.ok()) session->stop->Attach(connected->get());
        return connected;
      },
      options, session->servers != nullptr ? session->servers->connector() : nullptr);
  if (!made.ok()) return made.status();
  session->session = *std::move(made);
  return session;
}

absl::Status CheckRank(const cs_session *session) {
  if (absl::Status s = CheckSession(session); !s.ok()) return s;
  if (session->stop != nullptr) return absl::OkStatus();
  return absl::FailedPreconditionError("the session is of a whole cluster, and of no rank of a job");
}

}  // namespace

absl::StatusOr<std::shared_ptr<const rt::PlanImage>> commsched::SharedPlan(launch::Job *job, int trainers,
                                                                           absl::string_view plan,
                                                                           absl::Status *own) {
  absl::StatusOr<std::shared_ptr<const rt::PlanImage>> image;
  if (job->rank() == 0) {
    image = rt::PlanImage::Load(plan);
    if (image.ok() && !(*image)->servers().servers.empty() && absl::string_view(job->transport()) == "mpi")
      image = absl::UnimplementedError("plan has parameter servers, which MPI does not connect: transport must be grpc");
    if (image.ok() && (*image)->nodes() != trainers)
      image = absl::InvalidArgumentError(
          absl::StrCat("plan is made for a cluster of ", (*image)->nodes(), " nodes, got: ",
                       trainers, " ranks"));
  }
  // Whether it is one, before it is sent.
  absl::StatusOr<std::string> good = std::string();
  if (!image.ok() && job->rank() == 0) good = image.status();
  auto digest = job->control().Combine(
      "begins with a plan", good,
      [&](const std::vector<std::string> &) -> absl::StatusOr<std::string> {
        return absl::StrCat((*image)->digest());
      });
  if (!digest.ok()) return digest.status();
  auto all = job->control().Broadcast("sends a plan", plan);
  if (!all.ok()) return all.status();
  if (job->rank() == 0) return image;
  image = rt::PlanImage::Load(*all);
  if (!image.ok())
    *own = image.status();
  else if (absl::StrCat((*image)->digest()) != *digest)
    *own = absl::DataLossError(absl::StrCat("plan digest must match ", *digest,
                                            " of rank 0, got: ", (*image)->digest()));
  return image.ok() ? image : nullptr;
}

absl::Status commsched::CheckJob(const cs_job *job) {
  if (job == nullptr) return absl::FailedPreconditionError("there is no job: it has been left");
  if (job->process == getpid()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      "a job cannot be used in a forked process, which does not have its threads");
}

extern "C" {

cs_job *cs_job_join(const cs_job_options *given) {
  if (absl::Status s = CheckProcess(); !s.ok()) return Finished(s), nullptr;
  Counted counted;
  auto options = JobOptionsOf(given);
  if (!options.ok()) return Finished(options.status()), nullptr;
  auto job = std::make_unique<cs_job>();
  job->deadline = options->doors.deadline;
  options->log = [](const std::string &line) {
    std::fprintf(stderr, "commsched: warning: %s\n", line.c_str());
  };
  auto joined = launch::Job::Join(*std::move(options));
  if (!joined.ok()) return Finished(joined.status()), nullptr;
  job->job = *std::move(joined);
  Finished(absl::OkStatus());
  counted.Keep();
  return job.release();
}

int cs_job_rank(const cs_job *job) { return job->job->rank(); }
int cs_job_size(const cs_job *job) { return job->job->size(); }
int cs_job_local_rank(const cs_job *job) { return job->job->local_rank(); }
const char *cs_job_transport(const cs_job *job) { return job->job->transport(); }

int cs_job_abort(cs_job *job, const char *why) {
  if (absl::Status s = CheckJob(job); !s.ok()) return Finished(s);
  job->job->control().Abort(absl::AbortedError(Text(why)));
  return Finished(absl::OkStatus());
}

void cs_job_leave(cs_job *job) {
  if (job == nullptr || job->process != getpid()) return;
  delete job;
  Counted::Gone();
}

const void *cs_job_broadcast(cs_job *job, const char *what, const void *data, size_t bytes,
                             size_t *all_bytes) {
  if (absl::Status s = CheckJob(job); !s.ok()) return Finished(s), nullptr;
  auto all = job->job->control().Broadcast(Text(what), {static_cast<const char *>(data), bytes});
  if (Finished(all.status()) != 0) return nullptr;
  job->broadcast = *std::move(all);
  *all_bytes = job->broadcast.size();
  return job->broadcast.data();
}

const void *cs_job_gather(cs_job *job, const char *what, const void *data, size_t bytes,
                          uint64_t *sizes) {
  if (absl::Status s = CheckJob(job); !s.ok()) return Finished(s), nullptr;
  auto parts = job->job->control().Gather(Text(what), {static_cast<const char *>(data), bytes});
  if (Finished(parts.status()) != 0) return nullptr;
  job->gathered.clear();
  for (int rank = 0; rank < job->job->size(); ++rank) sizes[rank] = 0;
  for (size_t rank = 0; rank < parts->size(); ++rank) {
    sizes[rank] = (*parts)[rank].size();
    job->gathered += (*parts)[rank];
  }
  return job->gathered.data();
}

int cs_job_first(cs_job *job, int count, cs_job **part) {
  *part = nullptr;
  if (absl::Status s = CheckJob(job); !s.ok()) return Finished(s);
  Counted counted;
  auto made = job->job->First(count);
  if (Finished(made.status()) != 0) return 1;
  if (*made == nullptr) return 0;
  *part = new cs_job;
  (*part)->job = *std::move(made);
  (*part)->deadline = job->deadline;
  counted.Keep();
  return 0;
}

cs_session *cs_session_create_rank(const cs_rank_options *given) {
  auto options = Copied(given, "cs_rank_options");
  absl::Status status = options.status();
  if (status.ok()) status = CheckJob(options->job);
  if (status.ok() && options->servers != nullptr) status = CheckJob(options->servers);
  if (!status.ok()) return Finished(status), nullptr;
  Counted counted;
  auto session = OneRank(*options);
  if (Finished(session.status()) != 0) return nullptr;
  counted.Keep();
  return session->release();
}

const char *cs_session_profile(cs_session *session) {
  absl::Status status = CheckRank(session);
  if (status.ok() && session->profile == nullptr)
    status = absl::FailedPreconditionError("the session measures no fragments");
  if (status.ok()) status = session->session->Drain();
  if (!status.ok()) return Finished(status), nullptr;
  auto text = session->profile->ToJson();
  if (Finished(text.status()) != 0) return nullptr;
  session->profile_text = *std::move(text);
  return session->profile_text.c_str();
}

int cs_session_begin_step(cs_session *session, int *begin) {
  if (absl::Status s = CheckRank(session); !s.ok()) return Finished(s);
  *begin = session->stop->Begin(session->step_calls) ? 1 : 0;
  return Finished(absl::OkStatus());
}

int cs_session_request_stop(cs_session *session, int reason) {
  if (absl::Status s = CheckRank(session); !s.ok()) return Finished(s);
  if (reason <= 0 || reason > 127)
    return Finished(absl::InvalidArgumentError(
        absl::StrCat("reason must be 1 to 127, got: ", reason)));
  session->stop->Request(reason);
  return Finished(absl::OkStatus());
}

int cs_session_stop_reason(cs_session *session, int *reason) {
  if (absl::Status s = CheckRank(session); !s.ok()) return Finished(s);
  *reason = session->stop->reason();
  return Finished(absl::OkStatus());
}

int cs_session_cancel(cs_session *session, const char *why) {
  if (absl::Status s = CheckRank(session); !s.ok()) return Finished(s);
  session->session->Cancel(absl::AbortedError(Text(why)));
  if (session->servers != nullptr) session->servers->Stop(absl::AbortedError(Text(why)));
  return Finished(absl::OkStatus());
}

}  // extern "C"
