// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/cs-run/launch.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "plan/limits.h"
#include "runtime/session/session.h"
#include "tools/cs-run/job_folder.h"
#include "tools/cs-run/rendezvous.h"
#include "tools/cs-run/security.h"
#ifdef COMMSCHED_HAVE_MPI
#include "mpi/world.h"
#endif

namespace commsched::run {
namespace {

constexpr int kDefaultPort = 29400;

// Of the sockets of the job, until this rank ends: the last one removes it.
JobFolder job_folder;

absl::Status Bad(absl::string_view text) {
  return absl::InvalidArgumentError(text);
}

bool IsSet(const Environment &environment, const char *name) {
  const char *value = environment(name);
  return value != nullptr && *value != 0;
}

absl::StatusOr<int> Number(const Environment &environment, const char *name,
                           int least, int largest) {
  int number = 0;
  if (!absl::SimpleAtoi(environment(name), &number) || number < least ||
      number > largest)
    return Bad(absl::StrCat("environment variable ", name,
                            " must be a number of ", least, " to ", largest,
                            ", got: ", environment(name)));
  return number;
}

// Rank and size by two variables, if both are set.
absl::StatusOr<std::optional<Launched>> Pair(const Environment &environment,
                                             const char *rank_name,
                                             const char *size_name) {
  if (!IsSet(environment, rank_name) || !IsSet(environment, size_name))
    return std::nullopt;
  Launched launched;
  launched.by = absl::StrCat(rank_name, " and ", size_name);
  auto size = Number(environment, size_name, 1, kMaxNodes);
  if (!size.ok()) return size.status();
  auto rank = Number(environment, rank_name, 0, kMaxNodes - 1);
  if (!rank.ok()) return rank.status();
  if (*rank >= *size)
    return Bad(absl::StrCat("environment variable ", rank_name,
                            " must be below ", size_name, " ", *size,
                            ", got: ", *rank));
  launched.rank = *rank;
  launched.size = *size;
  return launched;
}

// A name for files: what is unusual in one becomes "_".
std::string FileName(absl::string_view text) {
  std::string name(text.substr(0, 40));
  for (char &c : name)
    if (!absl::ascii_isalnum(c)) c = '_';
  return name;
}

std::string Value(const Environment &environment, const char *name) {
  return IsSet(environment, name) ? environment(name) : "";
}

absl::Status FindMaster(const Environment &environment, Launched *launched) {
  launched->master = Value(environment, "MASTER_ADDR");
  const bool of_slurm = IsSet(environment, "SLURM_STEP_ID");
  if (launched->master.empty() && of_slurm) {
    for (const char *name : {"SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST"})
      if (launched->master.empty() && IsSet(environment, name)) {
        auto first = FirstHost(environment(name));
        if (!first.ok())
          return Bad(absl::StrCat("environment variable ", name, " ",
                                  first.status().message()));
        launched->master = *std::move(first);
      }
  }
  for (const char *name : {"COMMSCHED_PORT", "MASTER_PORT"})
    if (launched->port == 0 && IsSet(environment, name)) {
      auto port = Number(environment, name, 1, 65535);
      if (!port.ok()) return port.status();
      launched->port = *port;
    }
  if (launched->port == 0 && !launched->master.empty()) {
    launched->port = kDefaultPort;
    // So that two jobs on a host do not meet.
    uint64_t job = 0;
    if (of_slurm && absl::SimpleAtoi(Value(environment, "SLURM_JOB_ID"), &job))
      launched->port += int(job % 1000);
  }
  return absl::OkStatus();
}

// A socket file for each rank, in a folder that only this user can enter, and with
// it a token, unless they were given one.
absl::StatusOr<std::vector<std::string>> SocketFiles(const Launched &launched,
                                                     Options *options) {
  RemoveAbandoned("/tmp");
  auto folder = JobFolder::Join("/tmp", absl::StrCat(getuid(), ".", launched.job));
  if (!folder.ok()) return folder.status();
  if (options->token_file.empty() && !options->insecure) {
    auto token = folder->Agree("token", NewToken());
    if (!token.ok()) return token.status();
    options->token = *std::move(token);
  }
  std::vector<std::string> addresses = folder->Addresses(launched.size);
  job_folder = *std::move(folder);
  return addresses;
}

// Whether the user has said where this process runs.
bool IsTold(const Options &options) {
  return options.spawn != 0 || options.rank >= 0 || !options.peers.empty() ||
         !options.role.empty() || options.transport == "in-process" ||
         options.spawned || options.arena_info;
}

#ifdef COMMSCHED_HAVE_MPI
absl::Status JoinMpi(const runtime::PlanImage &image,
                     const std::optional<Launched> &launched,
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

absl::StatusOr<std::string> FirstHost(const std::string &list) {
  const size_t end = list.find_first_of(",[");
  std::string host = list.substr(0, end);
  if (end != list.npos && list[end] == '[') {
    const size_t first = list.find_first_of(",-]", end + 1);
    const size_t close = list.find(']', end);
    if (close == list.npos || first == end + 1)
      return Bad(absl::StrCat("must be a list of hosts, got: ", list));
    absl::StrAppend(&host, list.substr(end + 1, first - end - 1));
    // What is behind the brackets belongs to the name.
    absl::StrAppend(&host,
                    list.substr(close + 1, list.find(',', close) - close - 1));
  }
  if (host.empty())
    return Bad(absl::StrCat("must be a list of hosts, got: ", list));
  return host;
}

absl::StatusOr<std::optional<Launched>> ReadLaunch(
    const Environment &environment) {
  std::vector<Launched> found;
  auto add = [&](const char *rank, const char *size) -> absl::Status {
    auto pair = Pair(environment, rank, size);
    if (pair.ok() && *pair) found.push_back(**pair);
    return pair.status();
  };
  if (absl::Status s = add("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"); !s.ok())
    return s;
  const bool of_open_mpi = !found.empty();
  if (absl::Status s = add("PMI_RANK", "PMI_SIZE"); !s.ok()) return s;
  const bool of_mpi = !found.empty() || IsSet(environment, "PMIX_RANK");
  // Under mpirun in a Slurm job these name mpirun's daemons.
  if (!of_open_mpi && IsSet(environment, "SLURM_STEP_ID"))
    if (absl::Status s = add("SLURM_PROCID", "SLURM_STEP_NUM_TASKS"); !s.ok())
      return s;
  if (absl::Status s = add("RANK", "WORLD_SIZE"); !s.ok()) return s;
  if (found.empty()) return std::nullopt;
  for (const Launched &other : found)
    if (other.rank != found[0].rank || other.size != found[0].size)
      return Bad(absl::StrCat(
          "environment variables ", other.by, " must match ", found[0].by,
          ", rank ", found[0].rank, " of ", found[0].size, ", got: rank ",
          other.rank, " of ", other.size,
          "; give --rank and --peers, or --transport in-process"));
  Launched launched = found[0];
  if (launched.size == 1) return std::nullopt;
  launched.of_mpi = of_mpi;
  if (of_open_mpi && IsSet(environment, "OMPI_COMM_WORLD_LOCAL_SIZE")) {
    auto here = Number(environment, "OMPI_COMM_WORLD_LOCAL_SIZE", 1, kMaxNodes);
    if (!here.ok()) return here.status();
    launched.one_host = *here == launched.size;
    for (const char *name : {"PMIX_NAMESPACE", "OMPI_MCA_orte_ess_jobid"})
      if (launched.job.empty())
        launched.job = FileName(Value(environment, name));
  } else if (IsSet(environment, "SLURM_STEP_ID")) {
    launched.one_host = Value(environment, "SLURM_STEP_NUM_NODES") == "1";
    launched.job = FileName(absl::StrCat(Value(environment, "SLURM_JOB_ID"), "_",
                                         Value(environment, "SLURM_STEP_ID")));
  }
  launched.one_host = launched.one_host && !launched.job.empty();
  if (IsSet(environment, "TORCHELASTIC_RESTART_COUNT")) {
    auto again = Number(environment, "TORCHELASTIC_RESTART_COUNT", 0, 1 << 30);
    if (!again.ok()) return again.status();
    launched.epoch = *again;
  }
  if (absl::Status s = FindMaster(environment, &launched); !s.ok()) return s;
  return launched;
}

absl::Status ApplyLaunch(const runtime::PlanImage &image,
                         const Environment &environment, Options *options) {
  if (IsTold(*options)) return absl::OkStatus();
  auto read = ReadLaunch(environment);
  if (!read.ok()) return read.status();
  const std::optional<Launched> &launched = *read;
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
  absl::StatusOr<std::vector<std::string>> peers;
  if (!launched->master.empty()) {
    auto security = Security(*options);
    if (!security.ok()) return security.status();
    if (security->token.empty() && !options->insecure)
      return Bad(absl::StrCat(
          "processes of a job must share a secret: --token-file FILE, or --insecure on "
          "loopback addresses (rank ",
          launched->rank, ", by ", launched->by, ")"));
    Rendezvous meeting;
    meeting.token = security->token;
    meeting.encrypted = security->tls() && !security->token.empty();
    meeting.rank = launched->rank;
    meeting.size = launched->size;
    meeting.epoch = std::max(0, options->membership);
    meeting.host = launched->master;
    meeting.port = launched->port;
    meeting.any = options->listen_any;
    meeting.deadline = options->deadline;
    peers = Meet(meeting);
  } else if (launched->one_host) {
    peers = SocketFiles(*launched, options);
  } else {
    peers = Bad(absl::StrCat(
        "rank ", launched->rank, " of ", launched->size, ", by ", launched->by,
        ", does not know where the others are: set MASTER_ADDR (host of rank 0) "
        "and MASTER_PORT, or give --rank and --peers"));
  }
  if (!peers.ok()) return peers.status();
  options->rank = launched->rank;
  options->world = launched->size;
  options->peers = *std::move(peers);
  return absl::OkStatus();
}

int EndLaunch(const Options &options, int status, bool good) {
#ifdef COMMSCHED_HAVE_MPI
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
  job_folder = JobFolder();
  return status;
}

}  // namespace commsched::run
