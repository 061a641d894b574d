// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/cs-run/launch.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "launch/job_folder.h"
#include "launch/peers.h"
#include "launch/socket.h"
#include "runtime/session/session.h"
#include "tools/cs-run/security.h"
#ifdef COMMSCHED_HAVE_MPI
#include "mpi/world.h"
#endif

namespace commsched::run {
namespace {

// Of the sockets of the job, until this rank ends: the last one removes it.
launch::JobFolder job_folder;
// Holds the port that the others were told of.
launch::Socket own_port;
#ifdef COMMSCHED_HAVE_MPI
std::optional<transport::MpiSigns> signs;
#endif

absl::Status Bad(absl::string_view text) { return absl::InvalidArgumentError(text); }

// Whether the user has said where this process runs.
bool IsTold(const Options &options) {
  return options.spawn != 0 || options.rank >= 0 || !options.peers.empty() ||
         !options.role.empty() || options.transport == "in-process" ||
         options.spawned;
}

#ifdef COMMSCHED_HAVE_MPI
absl::Status JoinMpi(const runtime::PlanImage &image,
                     const std::optional<launch::Launched> &launched,
                     Options *options) {
  if (!image.servers().servers.empty())
    return absl::UnimplementedError(
        "plan has parameter servers, which MPI does not connect: start "
        "trainers and servers with --role, connected by gRPC");
  auto world = transport::BeginMpi();
  if (!world.ok()) return world.status();
  if (launched && (launched->rank != world->rank || launched->size != world->size))
    return Bad(absl::StrCat(
        "MPI must say the same as ", launched->by, ", rank ", launched->rank,
        " of ", launched->size, ", got: rank ", world->rank, " of ",
        world->size,
        "; was this process started by the launcher of this MPI?"));
  if (world->size != image.nodes())
    return Bad(absl::StrCat("plan is made for a cluster of ", image.nodes(),
                            " nodes, got: an MPI job of ", world->size,
                            world->size == 1 ? "; start it with mpirun -n " : "",
                            world->size == 1 ? absl::StrCat(image.nodes()) : ""));
  options->rank = world->rank;
  options->world = world->size;
  return absl::OkStatus();
}
#endif

}  // namespace

absl::Status ApplyLaunch(const runtime::PlanImage &image,
                         const launch::Environment &environment, Options *options) {
  if (IsTold(*options)) return absl::OkStatus();
  auto read = launch::ReadLaunch(environment, "give --rank and --peers, or --transport in-process");
  if (!read.ok()) return read.status();
  const std::optional<launch::Launched> &launched = *read;
  if (launched) options->local_rank = launched->local_rank;
#ifdef COMMSCHED_HAVE_MPI
  const bool have_mpi = true;
#else
  const bool have_mpi = false;
#endif
  if (options->transport.empty()) {
    if (!launched) return absl::OkStatus();
    options->transport = launched->of_mpi && have_mpi ? "mpi" : "grpc";
  }
  if (options->transport == "mpi") {
#ifdef COMMSCHED_HAVE_MPI
    return JoinMpi(image, launched, options);
#else
    return absl::UnimplementedError(
        "cs-run is built without MPI: --transport must be in-process or grpc");
#endif
  }
  if (!launched)
    return Bad(
        "--transport grpc needs --spawn, or --rank and --peers, or a "
        "launcher that sets RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT");
  if (!image.servers().servers.empty())
    return Bad("plan has parameter servers: start trainers and servers with --role");
  if (launched->size != image.nodes())
    return Bad(absl::StrCat("plan is made for a cluster of ", image.nodes(),
                            " nodes, got: ", launched->size, ", by ",
                            launched->by));
  if (options->membership < 0 && runtime::RanksCommunicate(image))
    options->membership = launched->epoch;
  launch::Doors doors;
  auto security = Security(*options);
  if (!security.ok()) return security.status();
  doors.security = *std::move(security);
  doors.insecure = options->insecure;
  doors.listen_any = options->listen_any;
  doors.membership = std::max(0, options->membership);
  doors.deadline = options->deadline;
  auto peers = launch::FindPeers(*launched, doors);
  if (!peers.ok()) return peers.status();
  options->rank = launched->rank;
  options->world = launched->size;
  options->peers = std::move(peers->addresses);
  if (!peers->token.empty()) options->token = std::move(peers->token);
  job_folder = std::move(peers->folder);
  own_port = std::move(peers->port);
  return absl::OkStatus();
}

void SignLaunch(const Options &options) {
#ifdef COMMSCHED_HAVE_MPI
  if (options.transport == "mpi") signs.emplace(options.deadline);
#endif
}

int EndLaunch(const Options &options, int status, bool good) {
#ifdef COMMSCHED_HAVE_MPI
  signs.reset();
  if (options.transport == "mpi" && good &&
      !transport::EndMpi(options.deadline)) {
    std::fprintf(stderr, "cs-run: rank %d: the other processes do not end MPI\n",
                 options.rank);
    std::fflush(stdout);
    _exit(1);
  }
  // Without MPI's own end: it would wait for the others. The launcher sees the
  // status and ends them.
  if (options.transport == "mpi" && options.rank >= 0 && status != 0) {
    std::fflush(stdout);
    _exit(status);
  }
#endif
  job_folder = launch::JobFolder();
  return status;
}

}  // namespace commsched::run
