// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Processes of a job that have parameter servers and no trainer, and what links cost.
#include <unistd.h>

#include <cstddef>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "launch/job_servers.h"
#include "runtime/c_api/c_api.h"
#include "runtime/c_api/c_api_job.h"
#include "runtime/c_api/c_api_session.h"
#include "runtime/calibration/peer_exchanges.h"
#include "runtime/calibration/rank_costs.h"
#include "runtime/session/device_calibration.h"

namespace rt = commsched::runtime;
namespace launch = commsched::launch;
namespace calibration = commsched::calibration;
using commsched::CheckJob;
using commsched::CheckProcess;
using commsched::Counted;
using commsched::FindValue;
using commsched::Finished;

struct cs_servers {
  const pid_t process = getpid();
  std::shared_ptr<const rt::PlanImage> image;
  std::unique_ptr<launch::JobServers> servers;
};

namespace {

// Of connections on which links are measured, in the place of a plan's digest.
constexpr uint64_t kCalibration = 0x636f737473u;

absl::Status Check(const cs_servers *servers) {
  if (servers == nullptr) return absl::FailedPreconditionError("there are no servers: they have ended");
  if (servers->process == getpid()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      "servers cannot be used in a forked process, which does not have their threads");
}

absl::StatusOr<calibration::Costs> Measure(cs_job *given, const rt::PlanImage &image) {
  launch::Job *job = given->job.get();
  auto connect = job->NextConnection(kCalibration);
  if (!connect.ok()) return connect.status();
  rt::TransportOptions options;
  options.rank = job->rank();
  options.nodes = job->size();
  options.plan_digest = kCalibration;
  options.connect_deadline = given->deadline;
  auto transport = (*connect)(std::move(options));
  if (!transport.ok()) return transport.status();
  calibration::Costs costs;
  calibration::PeerExchanges exchanges(transport->get(), given->deadline);
  rt::SessionOptions session;
  session.deadline = given->deadline;
  session.cuda_device = commsched::CudaDeviceOf(*job);
  auto devices = calibration::OpenDevices(image, session, 1);
  absl::Status status = devices.status();
  if (status.ok()) status = calibration::MeasureRanks(transport->get(), &exchanges, given->deadline, &costs);
  if (status.ok())
    status = calibration::MeasureDevice(*devices, transport->get(), image, job->rank(), 0, given->deadline, &costs);
  if (!status.ok()) (*transport)->Abort(status);
  (*transport)->Close();
  if (!status.ok()) return status;
  return costs;
}

}  // namespace

absl::StatusOr<const rt::ValueInfo *> commsched::FindValue(const rt::PlanImage &image, const char *name,
                                                           size_t bytes) {
  for (const rt::ValueInfo &value : image.values()) {
    if (name == nullptr || value.name != name) continue;
    if (bytes == value.type.bytes) return &value;
    return absl::InvalidArgumentError(
        absl::StrCat("value of \"", value.name, "\" must have ", value.type.bytes, " bytes, got: ", bytes));
  }
  return absl::NotFoundError(absl::StrCat("no parameter or state \"", name != nullptr ? name : "", "\""));
}

extern "C" {

const char *cs_job_calibrate(cs_job *job, const void *plan, size_t plan_bytes) {
  absl::Status status = CheckJob(job);
  if (status.ok() && job->job->size() == 1) status = absl::InvalidArgumentError("one rank has no links to measure");
  if (!status.ok()) return Finished(status), nullptr;
  absl::Status own;
  auto image = commsched::SharedPlan(job->job.get(), job->job->size(), {static_cast<const char *>(plan), plan_bytes}, &own);
  if (image.ok() && !own.ok()) image = own;
  if (Finished(image.status()) != 0) return nullptr;
  auto costs = Measure(job, **image);
  if (Finished(costs.status()) != 0) return nullptr;
  job->costs = job->job->rank() != 0 ? ""
                                     : calibration::ToJson(*costs, (*image)->plan().module_name(), job->job->size(), 0);
  return job->costs.c_str();
}

cs_servers *cs_servers_create(cs_job *job, int first) {
  absl::Status status = CheckProcess();
  if (status.ok()) status = CheckJob(job);
  if (status.ok() && (first < 1 || first > job->job->rank()))
    status = absl::InvalidArgumentError(
        absl::StrCat("first must be 1 to this rank, ", job->job->rank(), ", got: ", first));
  if (!status.ok()) return Finished(status), nullptr;
  Counted counted;
  absl::Status own;
  auto image = commsched::SharedPlan(job->job.get(), first, "", &own);
  if (image.ok() && !own.ok()) image = own;
  if (Finished(image.status()) != 0) return nullptr;
  auto made = std::make_unique<cs_servers>();
  made->image = *std::move(image);
  auto servers = launch::JobServers::Begin(job->job.get(), made->image, first);
  if (Finished(servers.status()) != 0) return nullptr;
  made->servers = *std::move(servers);
  counted.Keep();
  return made.release();
}

int cs_servers_set_value(cs_servers *servers, const char *name, const void *data, size_t bytes) {
  if (absl::Status s = Check(servers); !s.ok()) return Finished(s);
  auto value = FindValue(*servers->image, name, bytes);
  if (!value.ok()) return Finished(value.status());
  return Finished(servers->servers->SetValue(**value, {static_cast<const std::byte *>(data), bytes}));
}

int cs_servers_get_value(cs_servers *servers, const char *name, void *data, size_t bytes, size_t *here) {
  *here = 0;
  if (absl::Status s = Check(servers); !s.ok()) return Finished(s);
  auto value = FindValue(*servers->image, name, bytes);
  if (!value.ok()) return Finished(value.status());
  auto got = servers->servers->GetValue(**value, {static_cast<std::byte *>(data), bytes});
  if (got.ok()) *here = *got;
  return Finished(got.status());
}

int cs_servers_finish(cs_servers *servers) {
  if (absl::Status s = Check(servers); !s.ok()) return Finished(s);
  return Finished(servers->servers->Finish());
}

int cs_servers_cancel(cs_servers *servers, const char *why) {
  if (absl::Status s = Check(servers); !s.ok()) return Finished(s);
  servers->servers->Stop(absl::AbortedError(why != nullptr ? why : ""));
  return Finished(absl::OkStatus());
}

void cs_servers_destroy(cs_servers *servers) {
  if (servers == nullptr || servers->process != getpid()) return;
  delete servers;
  Counted::Gone();
}

}  // extern "C"
