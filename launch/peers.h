// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How the ranks of a job that a launcher has started find each other, for gRPC.
#ifndef COMMSCHED_LAUNCH_PEERS_H
#define COMMSCHED_LAUNCH_PEERS_H

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "grpc/base/security.h"
#include "launch/environment.h"
#include "launch/job_folder.h"
#include "launch/names.h"
#include "launch/socket.h"

namespace commsched::launch {

// What is to hold between them.
struct Doors {
  transport::SecurityOptions security = {};
  bool insecure = false;  // no token
  bool listen_any = false;
  int membership = 0;
  absl::Duration deadline = absl::Seconds(30);
  OptionNames names = {};
};

struct Peers {
  std::vector<std::string> addresses;  // of all ranks
  std::string token;                   // that they have agreed on; empty: none was needed
  JobFolder folder;                    // of their sockets, if they have some: as long as the job runs
  Socket port;                         // holds the own one until it is listened on
};

// Blocks until all ranks have met, except where they use socket files: those who know
// that all are on this machine, and no other place, or were given no token.
// Errors: see Meet; kInvalidArgument if it is not known where the others are, or they
// share no secret.
absl::StatusOr<Peers> FindPeers(const Launched &launched, const Doors &doors);

// A secret that nobody can guess.
std::string NewToken();

}  // namespace commsched::launch

#endif  // COMMSCHED_LAUNCH_PEERS_H
