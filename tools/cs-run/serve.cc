// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/cs-run/serve.h"

#include <algorithm>
#include <cstdio>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "grpc/servers/parameter_client.h"
#include "grpc/servers/parameter_service.h"
#include "runtime/servers/parameter_server.h"
#include "runtime/session/job_files.h"
#include "tools/cs-run/job_checkpoints.h"
#include "tools/cs-run/run_digest.h"
#include "tools/cs-run/security.h"
#include "tools/cs-run/watchdog.h"

namespace commsched::run {
namespace {

using runtime::ParameterServer;
using transport::ParameterService;

// For saying why this process does not take part: the servers were there a moment ago.
constexpr absl::Duration kToSay = absl::Seconds(3);

absl::Status OfServer(int index, const absl::Status &status) {
  std::string own = absl::StrCat("server ", index);
  if (status.ok() || status.message().substr(0, own.size()) == own) return status;
  return absl::Status(status.code(), absl::StrCat(own, ": ", status.message()));
}

}  // namespace

absl::Status CheckNumber(const Options &options, const runtime::PlanImage &image) {
  const size_t nodes = size_t(image.nodes()), servers = image.servers().servers.size();
  if (options.rank >= 0 && size_t(options.rank) >= nodes)
    return absl::InvalidArgumentError(
        absl::StrCat("--rank must be below the number of trainers ", nodes,
                     ", got: ", options.rank));
  if (servers == 0 && (options.is_server() || options.has_servers()))
    return absl::InvalidArgumentError(absl::StrCat(
        "plan has no parameter servers, got: ",
        options.is_server() ? "--role server" : "--servers"));
  if (options.is_server() && size_t(options.index) >= servers)
    return absl::InvalidArgumentError(
        absl::StrCat("--index must be below the number of servers ", servers,
                     ", got: ", options.index));
  return absl::OkStatus();
}

absl::Status CheckServers(const Options &options,
                          const runtime::PlanImage &image) {
  const size_t servers = image.servers().servers.size();
  // Between them trainers have gradients that no checkpoint has.
  const uint32_t merge = image.servers().merge;
  if (servers != 0 && options.checkpoint_every != 0 &&
      image.servers().mode == runtime::ServersProgram::kHalfAsync &&
      options.checkpoint_every % merge != 0)
    return absl::InvalidArgumentError(
        absl::StrCat("--checkpoint-every must be a multiple of the plan's merge ", merge,
                     ", got: ", options.checkpoint_every));
  if (options.rank >= 0 && options.servers.size() != servers)
    return absl::InvalidArgumentError(
        absl::StrCat("plan has ", servers,
                     " parameter servers, --servers must "
                     "have as many addresses, got: ",
                     options.servers.size()));
  return absl::OkStatus();
}

runtime::ConnectServersFunction ServersConnector(
    const Options &options, const runtime::PlanImage &image, uint64_t run_digest) {
  const int trainers = image.nodes();
  const uint64_t digest = image.digest();
  return [&options, trainers, digest, run_digest, session = transport::NewSession(), order = image.servers().order](int rank)
             -> absl::StatusOr<std::unique_ptr<runtime::ParameterClient>> {
    auto security = Security(options);
    if (!security.ok()) return security.status();
    transport::ParameterClientOptions client;
    client.trainer = rank;
    client.trainers = trainers;
    client.plan_digest = digest;
    client.run_digest = run_digest;
    client.session = session;
    client.servers = options.servers;
    client.order = order;
    client.security = *std::move(security);
    client.deadline = options.deadline;
    client.keepalive = Keepalive(options);
    client.shared_memory = !options.no_shared_memory;
    auto connected = transport::ConnectParameterServers(client);
    if (connected.ok() || !HasOtherData(connected.status())) return connected;
    // The others would wait for it.
    client.gives_up = connected.status();
    client.deadline = std::min(client.deadline, kToSay);
    transport::ConnectParameterServers(std::move(client)).IgnoreError();
    return connected.status();
  };
}

absl::Status Serve(
    const Options &options, const absl::Status &fit, std::shared_ptr<const runtime::PlanImage> image,
    runtime::TraceRecorder *trace, runtime::ProfileRecorder *profile,
    const std::function<void(std::function<void(const absl::Status &)>)> &started) {
  auto own = [&](const absl::Status &status) {
    return OfServer(options.index, status);
  };
  auto security = Security(options);
  if (!security.ok()) return own(security.status());
  absl::StatusOr<runtime::JobFiles> files =
      runtime::JobFiles::Of(*image, options.checkpoint);
  if (!files.ok()) return own(files.status());
  runtime::ParameterServerOptions server_options;
  server_options.server = options.index;
  server_options.trainers = image->nodes();
  // Trainers know first if another server is lost (within twice the keepalive, and
  // the deadline): this server would only see that they push nothing.
  server_options.deadline = 2 * options.deadline;
  // Trainers repeat what the checkpoint lacks, however long it took to write.
  if (!options.checkpoint.empty()) server_options.max_ahead = 1 << 16;
  server_options.cut_every = options.checkpoint_every;
  server_options.on_cut = [&](const std::string &, uint64_t step) {
    absl::Status kept = files->KeepCut(options.index, step);
    if (kept.ok()) files->RemoveOldOfServer(options.index);
    return kept;
  };
  server_options.trace = trace;
  server_options.profile = profile;
  server_options.emulate = options.emulate;
  absl::Status joins = fit;
  if (joins.ok() && !options.emulate) joins = ParameterServer::CheckMemory(*image, {options.index});
  auto server = ParameterServer::Create(image, std::move(server_options));
  if (!server.ok()) return own(server.status());
  if (absl::Status s = joins.ok() ? SetServerValues(options, *image, server->get()) : joins; !s.ok()) {
    if (options.spawned) return own(s);
    // Trainers that are there hear it: they would look for this server until their deadline.
    (*server)->Cancel(s);
  }

  transport::ParameterServiceOptions service_options;
  service_options.server = options.index;
  service_options.servers = int(image->servers().servers.size());
  service_options.trainers = image->nodes();
  service_options.plan_digest = image->digest();
  const runtime::ServerProgram &program = image->servers().servers[size_t(options.index)];
  for (const runtime::BlockProgram &block : program.blocks) {
    service_options.block_bytes.push_back(block.pushed().bytes);
    service_options.block_rows.push_back(block.rows.gradient);
  }
  service_options.address = options.listen;
  service_options.security = *std::move(security);
  service_options.log = RefusalLog(options);
  service_options.join_deadline = options.deadline;
  service_options.grace = std::min(options.deadline, absl::Seconds(10));
  service_options.keepalive = Keepalive(options);
  service_options.shared_memory = !options.no_shared_memory;
  if (!options.checkpoint.empty()) {
    service_options.checkpoint = files->ServerPath(options.index);
    service_options.checkpoint_steps = options.checkpoint_every;
  }
  std::optional<Watchdog> watchdog;  // ends after the service
  auto service = ParameterService::Start(server->get(), std::move(service_options));
  if (!service.ok()) return own(service.status());
  started([&service = **service](const absl::Status &why) { service.Stop(why); });
  std::printf("server %d listens on %s\n", options.index, options.listen.c_str());
  std::fflush(stdout);
  absl::Status status = (*service)->Wait();
  started(nullptr);
  if (!status.ok()) watchdog.emplace(options, own(status), 2 * Keepalive(options) + kClosing);
  if (status.ok())
    std::printf("server %d: received %llu bytes, sent %llu bytes, %llu checkpoints\n",
                options.index,
                static_cast<unsigned long long>((*service)->bytes_received()),
                static_cast<unsigned long long>((*service)->bytes_sent()),
                static_cast<unsigned long long>((*service)->checkpoints()));
  return own(status);
}

}  // namespace commsched::run
