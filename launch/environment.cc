// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "launch/environment.h"

#include <algorithm>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "plan/fnv1a.h"
#include "plan/limits.h"

namespace commsched::launch {
namespace {

constexpr int kDefaultPort = 29400;
// From torchrun's port to ours.
constexpr int kBesideStore = 1000;

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

// How many torchruns have started these processes together, one on each node as a rule; 0 if none has. Another launcher that has
// started as many processes has started them: its variables are about these.
absl::StatusOr<int> Agents(const Environment &environment) {
  for (const char *name : {"TORCHELASTIC_RUN_ID", "GROUP_WORLD_SIZE", "RANK", "WORLD_SIZE"})
    if (!IsSet(environment, name)) return 0;
  return Number(environment, "GROUP_WORLD_SIZE", 1, kMaxNodes);
}

// A name for files: what is unusual in one becomes "_". Names of sockets are short, so of a long one the end becomes a
// number that is made of all of it: jobs of one user may differ there only.
std::string FileName(absl::string_view text) {
  constexpr size_t kLongest = 40, kDigits = 16;
  std::string name(text);
  if (name.size() > kLongest)
    name = absl::StrCat(text.substr(0, kLongest - kDigits - 1), "_", absl::Hex(fnv1a({text.data(), text.size()}), absl::kZeroPad16));
  for (char &c : name)
    if (!absl::ascii_isalnum(c)) c = '_';
  return name;
}

std::string Value(const Environment &environment, const char *name) {
  return IsSet(environment, name) ? environment(name) : "";
}

absl::Status FindMaster(const Environment &environment, Launched *launched) {
  launched->master = BareHost(Value(environment, "MASTER_ADDR"));
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
      // torchrun's own store listens on its port, for as long as the job runs.
      if (name == std::string("MASTER_PORT") &&
          Value(environment, "TORCHELASTIC_USE_AGENT_STORE") == "True")
        launched->port += *port + kBesideStore > 65535 ? -kBesideStore : kBesideStore;
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

// What torchrun says besides.
absl::Status AddTorchrun(const Environment &environment, Launched *launched) {
  if (IsSet(environment, "TORCHELASTIC_RESTART_COUNT")) {
    auto again = Number(environment, "TORCHELASTIC_RESTART_COUNT", 0, 1 << 30);
    if (!again.ok()) return again.status();
    launched->epoch = *again;
  }
  if (!launched->job.empty() || !IsSet(environment, "TORCHELASTIC_RUN_ID") ||
      !IsSet(environment, "LOCAL_WORLD_SIZE"))
    return absl::OkStatus();
  auto here = Number(environment, "LOCAL_WORLD_SIZE", 1, kMaxNodes);
  if (!here.ok()) return here.status();
  launched->one_host = *here == launched->size;
  // A port of this host is of one job at a time, the name often of all: "none".
  launched->job = FileName(absl::StrCat(
      "torchrun_", Value(environment, "MASTER_PORT"), "_", launched->epoch, "_",
      Value(environment, "TORCHELASTIC_RUN_ID")));
  return absl::OkStatus();
}

// What paddle.distributed.launch says besides: the addresses of all ranks. Nothing of Paddle
// listens there, as its own communication is not used.
absl::Status AddPaddle(const Environment &environment, Launched *launched) {
  const char *name = "PADDLE_TRAINER_ENDPOINTS";
  if (!IsSet(environment, name)) return absl::OkStatus();
  std::vector<std::string> hosts, ports;
  for (const std::string &endpoint : std::vector<std::string>(absl::StrSplit(environment(name), ','))) {
    const size_t colon = endpoint.rfind(':');
    int port = 0;
    if (colon == 0 || colon == endpoint.npos ||
        !absl::SimpleAtoi(endpoint.substr(colon + 1), &port) || port < 1 || port > 65535)
      return Bad(absl::StrCat("environment variable ", name,
                              " must be a list of host:port, got: ", environment(name)));
    hosts.push_back(endpoint.substr(0, colon));
    ports.push_back(endpoint.substr(colon + 1));
  }
  if (hosts.size() != size_t(launched->size))
    return Bad(absl::StrCat("environment variable ", name, " must have ", launched->size,
                            " addresses, as PADDLE_TRAINERS_NUM says, got: ", hosts.size()));
  launched->one_host = std::count(hosts.begin(), hosts.end(), hosts[0]) == launched->size;
  if (launched->one_host) {
    launched->job = FileName(absl::StrCat("paddle_", ports[0], "_", hosts[0]));
  } else if (launched->master.empty()) {
    launched->master = hosts[0];
    // Checked above.
    if (launched->port == 0 && !absl::SimpleAtoi(ports[0], &launched->port)) launched->port = kDefaultPort;
  }
  return absl::OkStatus();
}

}  // namespace

std::string BareHost(const std::string &host) {
  const bool brackets = host.size() > 2 && host.front() == '[' && host.back() == ']';
  return brackets ? host.substr(1, host.size() - 2) : host;
}

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
    const Environment &environment, const std::string &instead) {
  std::vector<Launched> found;
  auto agents = Agents(environment);
  if (!agents.ok()) return agents.status();
  auto add = [&](const char *rank, const char *size, int ignored = 0) -> absl::Status {
    auto pair = Pair(environment, rank, size);
    if (pair.ok() && *pair && (*pair)->size != ignored) found.push_back(**pair);
    return pair.status();
  };
  if (absl::Status s = add("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", *agents); !s.ok())
    return s;
  const bool of_open_mpi = !found.empty();
  if (absl::Status s = add("PMI_RANK", "PMI_SIZE", *agents); !s.ok()) return s;
  const bool of_mpi = !found.empty() || (*agents == 0 && IsSet(environment, "PMIX_RANK"));
  // Under mpirun in a Slurm job these name mpirun's daemons.
  if (!of_open_mpi && IsSet(environment, "SLURM_STEP_ID"))
    if (absl::Status s = add("SLURM_PROCID", "SLURM_STEP_NUM_TASKS", *agents); !s.ok())
      return s;
  // The number of processes of this launcher was that of torchruns: of torchrun everything is.
  const bool of_torchrun = *agents > 0 && found.empty();
  if (absl::Status s = add("RANK", "WORLD_SIZE"); !s.ok()) return s;
  const bool others = !found.empty();
  if (absl::Status s = add("PADDLE_TRAINER_ID", "PADDLE_TRAINERS_NUM"); !s.ok()) return s;
  const bool of_paddle = !others && !found.empty();
  if (found.empty() && Value(environment, "TRAINING_ROLE") == "PSERVER")
    return Bad("environment variable TRAINING_ROLE must be TRAINER, got: PSERVER; parameter servers are within the trainers");
  if (found.empty())
    if (absl::Status s = add("JOB_COMPLETION_INDEX", "WORLD_SIZE"); !s.ok()) return s;
  if (found.empty()) {
    // Each process would be a job of its own, and write the others' files.
    if (!IsSet(environment, "WORLD_SIZE") || IsSet(environment, "RANK")) return std::nullopt;
    auto size = Number(environment, "WORLD_SIZE", 1, kMaxNodes);
    if (!size.ok()) return size.status();
    if (*size == 1) return std::nullopt;
    return Bad(absl::StrCat("environment variable WORLD_SIZE is ", *size,
                            ", but none says which rank this is: set RANK, or, in an indexed job of Kubernetes, "
                            "JOB_COMPLETION_INDEX",
                            instead.empty() ? "" : "; or ", instead));
  }
  for (const Launched &other : found)
    if (other.rank != found[0].rank || other.size != found[0].size)
      return Bad(absl::StrCat(
          "environment variables ", other.by, " must match ", found[0].by,
          ", rank ", found[0].rank, " of ", found[0].size, ", got: rank ",
          other.rank, " of ", other.size, instead.empty() ? "" : "; ", instead));
  Launched launched = found[0];
  if (launched.size == 1) return std::nullopt;
  launched.of_mpi = of_mpi;
  if (of_torchrun) {
    // AddTorchrun has it all.
  } else if (of_open_mpi && IsSet(environment, "OMPI_COMM_WORLD_LOCAL_SIZE")) {
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
  if (absl::Status s = AddTorchrun(environment, &launched); !s.ok()) return s;
  launched.one_host = launched.one_host && !launched.job.empty();
  for (const char *name : {"OMPI_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID", "LOCAL_RANK",
                           "PADDLE_LOCAL_RANK", "PADDLE_RANK_IN_NODE"})
    if (launched.local_rank < 0 && (!of_torchrun || name == std::string("LOCAL_RANK")) && IsSet(environment, name)) {
      auto local = Number(environment, name, 0, kMaxNodes - 1);
      if (!local.ok()) return local.status();
      launched.local_rank = *local;
    }
  if (absl::Status s = FindMaster(environment, &launched); !s.ok()) return s;
  if (of_paddle)
    if (absl::Status s = AddPaddle(environment, &launched); !s.ok()) return s;
  return launched;
}

}  // namespace commsched::launch
