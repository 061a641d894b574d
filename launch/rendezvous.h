// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How ranks that only know where rank 0 is learn each other's addresses: each
// tells rank 0 on which port it will listen, and gets the list of all.
#ifndef COMMSCHED_LAUNCH_RENDEZVOUS_H
#define COMMSCHED_LAUNCH_RENDEZVOUS_H

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "launch/names.h"
#include "launch/socket.h"

namespace commsched::launch {

// A port that is free now on `host` (empty: on all addresses of this machine). As long as
// the socket is there, no process gets the port that asks for any. Its owner tells
// others, and one may listen on it, with SO_REUSEADDR as gRPC does.
absl::StatusOr<Socket> HoldPort(const std::string &host);
int PortOf(const Socket &socket);
// "host:port", with the brackets that a host of IPv6 needs.
std::string WithPort(const std::string &host, int port);

struct Rendezvous {
  int rank = 0;
  int size = 1;
  int epoch = 0;      // of the job's memberships: one of an earlier one is refused
  std::string host;   // of rank 0
  int port = 0;       // where rank 0 waits
  std::string token;  // of the job, which both sides prove; see admission.h
  // The connections that follow are encrypted: ranks on other machines may come.
  bool encrypted = false;
  bool any = false;  // rank 0 waits on all networks; only if encrypted
  absl::Duration deadline = absl::Seconds(30);
  OptionNames names = {};
};

// "host:port" of all ranks. `own_port` holds the own one, until the caller listens on it
// or longer. Blocks until all have met. Errors: kInvalidArgument if the host is not this machine and `encrypted` is
// not set, kUnavailable if the port is taken or rank 0 refuses, kPermissionDenied if
// what answers has not the token, kDeadlineExceeded naming the ranks that have not
// come.
absl::StatusOr<std::vector<std::string>> Meet(const Rendezvous &meeting,
                                              Socket *own_port);

}  // namespace commsched::launch

#endif  // COMMSCHED_LAUNCH_RENDEZVOUS_H
