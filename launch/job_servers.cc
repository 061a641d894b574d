// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "launch/job_servers.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "grpc/servers/parameter_client.h"
#include "grpc/servers/parameter_service.h"
#include "runtime/servers/parameter_server.h"

namespace commsched::launch {

using runtime::ParameterServer;
using transport::ParameterService;

struct JobServers::Server {
  int number = 0;
  Socket port;  // until the service listens on it, or longer
  std::unique_ptr<ParameterServer> server;
  std::unique_ptr<ParameterService> service;
};

JobServers::JobServers(Job *job, std::shared_ptr<const runtime::PlanImage> image)
    : job_(job), image_(std::move(image)) {}

JobServers::~JobServers() {
  if (!finished_) Stop(absl::CancelledError("the session is closed"));
  for (auto &server : servers_)
    if (finished_)
      server->service->Wait().IgnoreError();
    else
      server->service->WaitUntilTold();
}

absl::StatusOr<std::string> JobServers::BeginOne(int number, runtime::ProfileRecorder *profile) {
  auto server = std::make_unique<Server>();
  server->number = number;
  auto place = job_->NewEndpoint(absl::StrCat(".server", number));
  if (!place.ok()) return place.status();
  server->port = std::move(place->port);
  const Doors &doors = job_->doors();
  runtime::ParameterServerOptions options;
  options.server = number;
  options.trainers = image_->nodes();
  options.profile = profile;
  // Trainers know first if another server is lost: this one would only see that they push nothing.
  options.deadline = 2 * doors.deadline;
  auto made = ParameterServer::Create(image_, std::move(options));
  if (!made.ok()) return made.status();
  server->server = *std::move(made);

  transport::ParameterServiceOptions service;
  service.server = number;
  service.servers = int(image_->servers().servers.size());
  service.trainers = image_->nodes();
  service.plan_digest = image_->digest();
  const runtime::ServerProgram &program = image_->servers().servers[size_t(number)];
  for (const runtime::BlockProgram &block : program.blocks) {
    service.block_bytes.push_back(block.pushed().bytes);
    service.block_rows.push_back(block.rows.gradient);
  }
  service.address = place->listen;
  service.security = doors.security;
  service.log = job_->log();
  service.join_deadline = doors.deadline;
  service.grace = std::min(doors.deadline, absl::Seconds(10));
  service.keepalive = std::max(doors.deadline / 3, absl::Seconds(1));
  auto started = ParameterService::Start(server->server.get(), std::move(service));
  if (!started.ok())
    return absl::Status(started.status().code(), absl::StrCat("server ", number, ": ", started.status().message()));
  server->service = *std::move(started);
  servers_.push_back(std::move(server));
  return absl::StrCat(number, " ", place->address);
}

absl::StatusOr<std::unique_ptr<JobServers>> JobServers::Begin(
    Job *job, std::shared_ptr<const runtime::PlanImage> image, int first,
    runtime::ProfileRecorder *profile) {
  std::unique_ptr<JobServers> servers(new JobServers(job, std::move(image)));
  const size_t count = servers->image_->servers().servers.size();
  std::vector<std::string> here;
  absl::Status failed;
  const int ranks = job->size() - first;
  if (ranks < 1) failed = absl::InvalidArgumentError("there must be a rank for parameter servers");
  std::vector<int> numbers;
  for (int number = job->rank() - first; job->rank() >= first && number < int(count); number += ranks) numbers.push_back(number);
  if (failed.ok()) failed = ParameterServer::CheckMemory(*servers->image_, numbers);
  for (int number : numbers) {
    if (!failed.ok()) break;
    auto begun = servers->BeginOne(number, profile);
    failed = begun.status();
    if (begun.ok()) here.push_back(*begun);
  }
  absl::StatusOr<std::string> own = absl::StrJoin(here, "\n");
  if (!failed.ok()) own = failed;
  auto all = job->control().Combine(
      "begins parameter servers", own,
      [&](const std::vector<std::string> &said) -> absl::StatusOr<std::string> {
        std::map<int, std::string> found;
        for (const std::string &rank : said)
          for (absl::string_view line : absl::StrSplit(rank, '\n', absl::SkipEmpty())) {
            const std::pair<std::string, std::string> parts = absl::StrSplit(line, absl::MaxSplits(' ', 1));
            int number = -1;
            if (absl::SimpleAtoi(parts.first, &number)) found[number] = parts.second;
          }
        if (found.size() != count)
          return absl::InternalError(absl::StrCat("parameter servers must be ", count, ", got: ", found.size()));
        std::vector<std::string> addresses;
        for (auto &[number, address] : found) addresses.push_back(address);
        return absl::StrJoin(addresses, "\n");
      });
  if (!all.ok()) return all.status();
  servers->addresses_ = absl::StrSplit(*all, '\n');
  return servers;
}

runtime::ConnectServersFunction JobServers::connector() const {
  return [this](int rank) -> absl::StatusOr<std::unique_ptr<runtime::ParameterClient>> {
    transport::ParameterClientOptions client;
    client.trainer = rank;
    client.trainers = image_->nodes();
    client.plan_digest = image_->digest();
    client.servers = addresses_;
    client.order = image_->servers().order;
    client.security = job_->doors().security;
    client.deadline = job_->doors().deadline;
    client.keepalive = std::max(client.deadline / 3, absl::Seconds(1));
    return transport::ConnectParameterServers(std::move(client));
  };
}

absl::Status JobServers::SetValue(const runtime::ValueInfo &value, absl::Span<const std::byte> whole) {
  if (value.parts.empty()) return absl::OkStatus();
  for (auto &server : servers_)
    if (absl::Status s = server->server->SetWhole(value.name, whole); !s.ok()) return s;
  return absl::OkStatus();
}

absl::StatusOr<size_t> JobServers::GetValue(const runtime::ValueInfo &value, absl::Span<std::byte> whole) {
  size_t got = 0;
  for (const runtime::ValueInfo::Part &part : value.parts)
    for (auto &server : servers_) {
      if (server->number != part.server) continue;
      absl::Status s = server->server->GetSlot(part.slot, whole.subspan(part.begin, part.bytes));
      if (!s.ok()) return s;
      got += part.bytes;
    }
  return got;
}

absl::Status JobServers::Finish() {
  for (auto &server : servers_) {
    absl::Status s = server->server->Wait();
    if (s.ok()) continue;
    // The others may not have heard it yet: their trainers are to hear this, not that they were closed.
    Stop(s);
    return s;
  }
  finished_ = true;
  return absl::OkStatus();
}

void JobServers::Stop(const absl::Status &why) {
  for (auto &server : servers_) server->service->Stop(why);
}

}  // namespace commsched::launch
