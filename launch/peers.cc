// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "launch/peers.h"

#include <unistd.h>

#include <string>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "grpc/base/admission.h"
#include "launch/rendezvous.h"

namespace commsched::launch {
namespace {

// A socket file for each rank, in a folder that only this user can enter, and with
// it a token, unless they were given one.
absl::StatusOr<Peers> SocketFiles(const Launched &launched, const Doors &doors) {
  // Not what TMPDIR says, if it can be helped: it may be another one for each process.
  const std::string base = access("/tmp", W_OK | X_OK) == 0 ? "/tmp" : JobFolder::Base();
  RemoveAbandoned(base);
  auto folder = JobFolder::Join(base, absl::StrCat(getuid(), ".", launched.job));
  if (!folder.ok()) return folder.status();
  Peers peers;
  if (doors.security.token.empty() && !doors.insecure) {
    auto token = folder->Agree("token", NewToken());
    if (!token.ok()) return token.status();
    peers.token = *std::move(token);
  }
  peers.addresses = folder->Addresses(launched.size);
  peers.folder = *std::move(folder);
  return peers;
}

}  // namespace

absl::StatusOr<Peers> FindPeers(const Launched &launched, const Doors &doors) {
  const bool secret = !doors.security.token.empty() || doors.insecure;
  if (launched.one_host && (launched.master.empty() || !secret))
    return SocketFiles(launched, doors);
  if (launched.master.empty())
    return absl::InvalidArgumentError(absl::StrCat(
        "rank ", launched.rank, " of ", launched.size, ", by ", launched.by,
        ", does not know where the others are: set MASTER_ADDR (host of rank 0) "
        "and MASTER_PORT, or give ",
        doors.names.peers));
  if (!secret)
    return absl::InvalidArgumentError(absl::StrCat(
        "processes of a job must share a secret: ", doors.names.token, ", or ",
        doors.names.insecure, " on loopback addresses (rank ", launched.rank, ", by ",
        launched.by, ")"));
  Rendezvous meeting;
  meeting.token = doors.security.token;
  meeting.encrypted = doors.security.tls() && !doors.security.token.empty();
  meeting.rank = launched.rank;
  meeting.size = launched.size;
  meeting.epoch = doors.membership;
  meeting.host = launched.master;
  meeting.port = launched.port;
  meeting.any = doors.listen_any;
  meeting.deadline = doors.deadline;
  meeting.names = doors.names;
  Peers peers;
  auto addresses = Meet(meeting, &peers.port);
  if (!addresses.ok()) return addresses.status();
  peers.addresses = *std::move(addresses);
  return peers;
}

std::string NewToken() { return absl::BytesToHexString(transport::NewNonce()); }

}  // namespace commsched::launch
