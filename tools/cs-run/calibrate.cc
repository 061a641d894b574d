// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/cs-run/calibrate.h"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "grpc/ranks/grpc_transport.h"
#ifdef COMMSCHED_HAVE_MPI
#include "mpi/mpi_transport.h"
#endif
#include "runtime/base/files.h"
#include "runtime/base/sync.h"
#include "runtime/calibration/peer_exchanges.h"
#include "runtime/calibration/rank_costs.h"
#include "runtime/servers/in_process_parameter_client.h"
#include "runtime/servers/parameter_server.h"
#include "runtime/session/device_calibration.h"
#include "runtime/session/session.h"
#include "runtime/transport/in_process_transport.h"
#include "tools/cs-run/security.h"
#include "tools/cs-run/serve.h"
#include "tools/cs-run/server_links.h"
#include "tools/cs-run/watchdog.h"

namespace commsched::run {
namespace {

using runtime::ParameterClient;
using runtime::PlanImage;
using runtime::Transport;

using calibration::Costs;
using calibration::Devices;

absl::StatusOr<Devices> DevicesHere(const Options &options, const PlanImage &image) {
  // What is emulated needs no device, and says nothing of any.
  if (options.emulate) return Devices();
  runtime::SessionOptions session;
  session.deadline = options.deadline;
  session.cuda_device = CudaDeviceOf(options);
  return calibration::OpenDevices(image, session, options.rank >= 0 ? 1 : image.nodes());
}

void Print(const Costs &costs) {
  if (!costs.links.empty())
    std::printf("%-10s %-10s %12s %12s %12s\n", "from", "to", "Mbit/s", "latency us",
                "overhead us");
  for (const calibration::Link &link : costs.links)
    std::printf("%-10s %-10s %12.1f %12.1f %12.2f\n", link.from.c_str(),
                link.to.c_str(), double(link.cost.bits_per_second) / 1e6,
                double(link.cost.latency_ns) / 1e3, double(link.cost.overhead_ns) / 1e3);
  for (size_t rank = 0; rank < costs.exchanges.size(); ++rank)
    std::printf("rank %zu: a round of a collective takes %.1f us, each further message %.1f us, %.1f us where the link is busy\n",
                rank, double(costs.exchanges[rank].round_ns) / 1e3,
                double(costs.exchanges[rank].message_ns) / 1e3, double(costs.exchanges[rank].busy_message_ns) / 1e3);
  for (size_t rank = 0; rank < costs.compute.size(); ++rank)
    std::printf("rank %zu: compute takes %lld %% longer while communicating\n", rank,
                static_cast<long long>(costs.compute[rank].percent()));
  for (const calibration::DeviceCopy &copy : costs.copies)
    std::printf("rank %d: copies to the %s take %.1f us and go at %.2f GB/s, at %.2f GB/s beside the others\n",
                copy.rank,
                copy.to_host ? "host" : "device", double(copy.latency_ns) / 1e3, double(copy.bytes_per_second) / 1e9,
                double(copy.both_bytes_per_second) / 1e9);
  for (const calibration::AllReduce &all_reduce : costs.all_reduces)
    std::printf("an all-reduce of %llu bytes by NCCL takes %.1f us\n",
                static_cast<unsigned long long>(all_reduce.bytes), double(all_reduce.ns) / 1e3);
}

// What one rank does. `transport`, with `exchanges`, and `client` may be null. Trainers that are
// not connected with each other cannot take turns: of those, rank 0 measures.
absl::Status MeasureRank(Transport *transport, ParameterClient *client, int rank,
                         const PlanImage &image, const Devices &devices, size_t number,
                         absl::Duration deadline, calibration::PeerExchanges *exchanges, Costs *out) {
  if (transport != nullptr) {
    absl::Status status = calibration::MeasureRanks(transport, exchanges, deadline, out);
    if (!status.ok()) return status;
  }
  absl::Status measured = calibration::MeasureDevice(devices, transport, image, rank, number, deadline, out);
  if (!measured.ok()) return measured;
  if (client == nullptr || rank != 0) return absl::OkStatus();
  if (transport == nullptr) out->transport = client->name();
  const auto &servers = image.servers();
  for (size_t server = 0; server < servers.servers.size(); ++server) {
    auto cost = MeasureServerLink(client, servers, int(server), deadline);
    if (!cost.ok()) return cost.status();
    out->links.push_back({absl::StrCat("server ", server), "rank 0", *cost});
  }
  if (transport != nullptr) return absl::OkStatus();
  auto compute = MeasureServerSlowdown(client, servers, deadline);
  if (!compute.ok()) return compute.status();
  out->compute = {*compute};
  return absl::OkStatus();
}

absl::Status OfRank(int rank, const absl::Status &status) {
  if (status.ok()) return status;
  return absl::Status(status.code(),
                      absl::StrCat("rank ", rank, ": ", status.message()));
}

// Measures, and says goodbye, or why not.
absl::Status RunRank(const Options &options, int rank, const PlanImage &image,
                     const Devices &devices, size_t number, absl::Duration deadline,
                     absl::StatusOr<std::unique_ptr<Transport>> transport,
                     absl::StatusOr<std::unique_ptr<ParameterClient>> client,
                     Costs *out) {
  absl::Status status = transport.status();
  if (status.ok()) status = client.status();
  Transport *peers = transport.ok() ? transport->get() : nullptr;
  ParameterClient *servers = client.ok() ? client->get() : nullptr;
  std::unique_ptr<calibration::PeerExchanges> exchanges;
  if (peers != nullptr) exchanges = std::make_unique<calibration::PeerExchanges>(peers, deadline);
  if (status.ok())
    status = MeasureRank(peers, servers, rank, image, devices, number, deadline, exchanges.get(), out);
  if (status.ok() && servers != nullptr) status = servers->Finish(servers->first_step());
  if (!status.ok()) {
    if (peers != nullptr) peers->Abort(status);
    if (servers != nullptr) servers->Abort(status);
  }
  std::optional<Watchdog> watchdog;
  if (!status.ok())
    watchdog.emplace(options, OfRank(rank, status), absl::Seconds(7));
  if (peers != nullptr) peers->Close();
  if (servers != nullptr) servers->Close();
  return OfRank(rank, status);
}

runtime::TransportOptions TransportOf(const PlanImage &image, int rank,
                                      absl::Duration deadline) {
  runtime::TransportOptions transport;
  transport.rank = rank;
  transport.nodes = image.nodes();
  transport.plan_digest = image.digest();
  transport.connect_deadline = deadline;
  return transport;
}

absl::StatusOr<std::unique_ptr<Transport>> Connect(const Options &options, runtime::TransportOptions own) {
#ifdef COMMSCHED_HAVE_MPI
  if (options.transport == "mpi") return transport::ConnectMpi(std::move(own));
#endif
  auto grpc = GrpcOptionsOf(options);
  if (!grpc.ok()) return grpc.status();
  return transport::ConnectGrpc(std::move(own), *std::move(grpc));
}

absl::Status OneRank(const Options &options, const PlanImage &image, const Devices &devices, Costs *out) {
  absl::StatusOr<std::unique_ptr<Transport>> transport = nullptr;
  absl::StatusOr<std::unique_ptr<ParameterClient>> client = nullptr;
  if (options.peers.size() > 1 || options.world > 1) {
    runtime::TransportOptions own = TransportOf(image, options.rank, options.deadline);
    own.peers = options.peers;
    own.epoch = uint64_t(std::max(0, options.membership));
    Watchdog watchdog(options,
                      OfRank(options.rank, absl::DeadlineExceededError(
                                               "a peer hangs while connecting")),
                      2 * options.deadline + absl::Seconds(5));
    transport = Connect(options, std::move(own));
  }
  if (transport.ok() && options.has_servers())
    client = ServersConnector(options, image, 0)(options.rank);
  return RunRank(options, options.rank, image, devices, 0, options.deadline, std::move(transport),
                 std::move(client), out);
}

absl::Status AllHere(const Options &options, const std::shared_ptr<const PlanImage> &image,
                     const Devices &devices, Costs *out) {
  const int nodes = image->nodes();
  std::vector<std::unique_ptr<runtime::ParameterServer>> servers;
  for (int k = 0; k < int(image->servers().servers.size()); ++k) {
    runtime::ParameterServerOptions server;
    server.server = k;
    server.trainers = nodes;
    server.deadline = options.deadline;
    server.emulate = options.emulate;
    auto made = runtime::ParameterServer::Create(image, std::move(server));
    if (!made.ok()) return made.status();
    servers.push_back(*std::move(made));
  }
  if (!servers.empty())
    if (absl::Status s = runtime::JoinParameterServers(servers, nodes); !s.ok()) return s;
  const bool connected = nodes > 1 && (servers.empty() || runtime::RanksCommunicate(*image));
  auto hub = runtime::MakeInProcessHub(nodes);
  std::vector<Costs> all(static_cast<size_t>(nodes));
  std::vector<absl::Status> statuses(static_cast<size_t>(nodes));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < nodes; ++rank)
    threads.emplace_back([&, rank] {
      absl::StatusOr<std::unique_ptr<Transport>> transport = nullptr;
      absl::StatusOr<std::unique_ptr<ParameterClient>> client = nullptr;
      if (connected)
        transport = runtime::ConnectInProcess(
            hub, TransportOf(*image, rank, options.deadline));
      if (!servers.empty())
        client = runtime::MakeInProcessParameterClient(&servers, rank);
      statuses[size_t(rank)] =
          RunRank(options, rank, *image, devices, size_t(rank), options.deadline, std::move(transport),
                  std::move(client), &all[size_t(rank)]);
    });
  for (std::thread &thread : threads) thread.join();
  for (const absl::Status &status : statuses)
    if (!status.ok() && status.code() != absl::StatusCode::kAborted) return status;
  if (all[0].transport.empty()) all[0].transport = out->transport;
  *out = std::move(all[0]);
  return statuses[0];
}

}  // namespace

absl::Status Calibrate(const Options &options,
                       std::shared_ptr<const PlanImage> image) {
  absl::StatusOr<Devices> devices = DevicesHere(options, *image);
  if (!devices.ok()) return devices.status();
  if (image->nodes() == 1 && image->servers().servers.empty() && devices->machine == nullptr)
    return absl::InvalidArgumentError(
        "--calibrate needs a link: the plan is for one rank without parameter servers");
  Costs costs;
  if (image->nodes() == 1) costs.transport = "none";  // unless there is one
  absl::Status status = options.rank >= 0 ? OneRank(options, *image, *devices, &costs)
                                          : AllHere(options, image, *devices, &costs);
  if (!status.ok() || options.rank > 0) return status;
  const std::string json = calibration::ToJson(costs, image->plan().module_name(), image->nodes(), image->servers().servers.size());
  if (absl::Status s = runtime::WriteFileAtomically(options.calibrate, {json}); !s.ok())
    return s;
  Print(costs);
  std::printf("calibration: %s\n", options.calibrate.c_str());
  return absl::OkStatus();
}

}  // namespace commsched::run
