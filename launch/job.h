// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A process as one rank of a job, from when it joins to when it leaves: it may have
// several sessions meanwhile, one after the other or at once, and tells the other ranks
// what belongs to no step. docs/transports.md.
#ifndef COMMSCHED_LAUNCH_JOB_H
#define COMMSCHED_LAUNCH_JOB_H

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "launch/control.h"
#include "launch/environment.h"
#include "launch/peers.h"
#include "launch/socket.h"
#include "runtime/session/session.h"

namespace commsched::launch {

// How ranks are connected by MPI, where there may be some.
struct MpiDoor {
  // Rank and number of the processes of this MPI job.
  std::function<absl::StatusOr<std::pair<int, int>>()> begin;
  runtime::ConnectFunction connect;  // all ranks, in the same order
  // After everything else; false if the others do not come to it.
  std::function<bool(absl::Duration)> end;
};

struct JobOptions {
  // Where it is looked up what is not given here; null: nowhere.
  Environment environment = {};
  // "grpc" or "mpi"; empty: mpi under a launcher of MPI jobs, where there is MPI and nothing
  // is given that only grpc knows, else grpc.
  std::string transport = {};
  std::optional<MpiDoor> mpi = std::nullopt;
  // Which rank of how many; -1: by the environment, and without one, the only one.
  int rank = -1, size = 0;
  // Where the ranks are: addresses of all, or where rank 0 waits for the others.
  std::vector<std::string> peers = {};
  std::string master = {};
  int port = 0;
  int membership = -1;  // -1: what the launcher says, or 0
  Doors doors = {};     // its membership is not used
  // Gets a line for connections that are refused, and where MPI was expected and is not, from
  // any thread.
  std::function<void(const std::string &)> log = {};
};

// Used by one thread at a time, except Abort.
class Job {
 public:
  // Blocks until all ranks have joined. Errors: kInvalidArgument for options that make no
  // sense, else those of FindPeers and of the transport.
  static absl::StatusOr<std::unique_ptr<Job>> Join(JobOptions options);
  // Of a job that has not failed, all ranks leave together where MPI is to be ended.
  ~Job();

  int rank() const { return rank_; }
  int size() const { return size_; }
  int local_rank() const { return local_rank_; }  // -1: not known
  const char *transport() const { return size_ == 1 ? "none" : by_mpi_ ? "mpi"
                                                                       : "grpc"; }
  Control &control() { return *control_; }
  const Doors &doors() const { return options_.doors; }
  const std::function<void(const std::string &)> &log() const { return options_.log; }

  // Where this process may listen for what is besides the ranks' own connections: `address`
  // is for the others. `suffix` tells socket files apart. Not where ranks are connected by MPI.
  struct Endpoint {
    std::string address, listen;
    Socket port;  // held until it is listened on
  };
  absl::StatusOr<Endpoint> NewEndpoint(absl::string_view suffix);

  // The ranks' way to connect for one session more, which all of them begin together: with
  // the plan of this digest. An error instead of it is that of all ranks.
  absl::StatusOr<runtime::ConnectFunction> NextConnection(absl::StatusOr<uint64_t> digest);
  // Number of such ways so far.
  uint32_t connections() const { return connections_; }

  // All ranks: a job of the first `count` of them, which ends before this one; null on the
  // others. Both may be used at once. Not where ranks are connected by MPI.
  absl::StatusOr<std::unique_ptr<Job>> First(int count);

 private:
  static absl::StatusOr<std::unique_ptr<Job>> JoinAt(JobOptions options, const Launched &place);
  Job() = default;
  absl::Status Begin(const Launched &launched);
  // Connects the ranks for what belongs to no step.
  absl::Status BeginControl();
  // Addresses of all ranks for one connection more: see NextConnection. Of MPI they say nothing.
  absl::StatusOr<std::vector<std::string>> NextAddresses(absl::StatusOr<uint64_t> digest);
  // `seldom`: as GrpcOptions has it.
  runtime::ConnectFunction Connector(std::vector<std::string> peers, bool seldom) const;

  int rank_ = 0, size_ = 1, local_rank_ = -1, membership_ = 0;
  uint32_t connections_ = 0, endpoints_ = 0;
  bool by_mpi_ = false;
  JobOptions options_;
  Peers peers_;
  Socket session_port_;               // of the last session
  std::unique_ptr<Control> control_;  // closes before the folder goes
};

}  // namespace commsched::launch

#endif  // COMMSCHED_LAUNCH_JOB_H
