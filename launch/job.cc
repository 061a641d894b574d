// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "launch/job.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "grpc/ranks/grpc_transport.h"
#include "launch/rendezvous.h"
#include "plan/limits.h"

namespace commsched::launch {
namespace {

absl::Status Unfit(absl::string_view text) { return absl::InvalidArgumentError(text); }

absl::Status Check(const JobOptions &o) {
  if (o.transport == "mpi")
    return absl::UnimplementedError("a job that is joined is connected by grpc: transport must be grpc, got: mpi");
  if (!o.transport.empty() && o.transport != "grpc")
    return Unfit(absl::StrCat("transport must be grpc, got: ", o.transport));
  if ((o.rank >= 0) != (o.size > 0)) return Unfit("rank and size go together");
  if (o.size > int(kMaxNodes))
    return Unfit(absl::StrCat("size must be at most ", kMaxNodes, ", got: ", o.size));
  if (o.rank >= 0 && o.rank >= o.size)
    return Unfit(absl::StrCat("rank must be below size ", o.size, ", got: ", o.rank));
  if (!o.peers.empty() && o.rank < 0) return Unfit("addresses of ranks need rank and size");
  if (!o.peers.empty() && o.peers.size() != size_t(o.size))
    return Unfit(absl::StrCat("addresses must be those of ", o.size, " ranks, got: ", o.peers.size()));
  if (!o.peers.empty() && !o.master.empty())
    return Unfit("addresses of all ranks and that of rank 0 alone exclude each other");
  if (o.port < 0 || o.port > 65535)
    return Unfit(absl::StrCat("port must be 1 to 65535, got: ", o.port));
  const transport::SecurityOptions &security = o.doors.security;
  const bool tls = security.tls();
  if (security.ca_file.empty() == tls || security.key_file.empty() == tls)
    return Unfit(absl::StrCat(o.doors.names.tls, " go together"));
  if (!security.server_name.empty() && !tls)
    return Unfit(absl::StrCat("the name of a server needs ", o.doors.names.tls));
  if (o.doors.insecure && (!security.token.empty() || tls || o.doors.listen_any))
    return Unfit(absl::StrCat(o.doors.names.insecure, " goes without a token, TLS and listening on all networks"));
  if (o.doors.listen_any && (!tls || security.token.empty()))
    return Unfit(absl::StrCat("to listen on all networks needs ", o.doors.names.tls));
  return absl::OkStatus();
}

// What the launcher and the options say together.
absl::StatusOr<Launched> Place(const JobOptions &o) {
  Launched launched;
  if (o.rank >= 0) {
    launched.rank = o.rank;
    launched.size = o.size;
    launched.by = "arguments";
  } else if (o.environment) {
    auto read = ReadLaunch(o.environment, "give rank and size");
    if (!read.ok()) return read.status();
    if (*read) launched = **read;
  }
  if (!o.master.empty()) {
    launched.master = o.master;
    launched.one_host = false;
  }
  if (o.port != 0) launched.port = o.port;
  if (!launched.master.empty() && launched.port == 0)
    return Unfit("the address of rank 0 needs a port");
  return launched;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Job>> Job::Join(JobOptions options) {
  if (absl::Status s = Check(options); !s.ok()) return s;
  auto launched = Place(options);
  if (!launched.ok()) return launched.status();
  std::unique_ptr<Job> job(new Job);
  job->rank_ = launched->rank;
  job->size_ = launched->size;
  job->local_rank_ = launched->local_rank;
  job->membership_ = options.membership >= 0 ? options.membership : launched->epoch;
  job->options_ = std::move(options);
  JobOptions &own = job->options_;
  if (job->size_ > 1 && own.peers.empty()) {
    Doors doors = own.doors;
    doors.membership = job->membership_;
    auto found = FindPeers(*launched, doors);
    if (!found.ok()) return found.status();
    job->peers_ = *std::move(found);
    if (!job->peers_.token.empty()) own.doors.security.token = job->peers_.token;
  } else {
    job->peers_.addresses = own.peers;
  }
  if (job->size_ > 1 && own.doors.security.token.empty() && !own.doors.insecure)
    return Unfit(absl::StrCat("processes of a job must share a secret: ", own.doors.names.token,
                              ", or ", own.doors.names.insecure, " on loopback addresses and socket files"));
  runtime::TransportOptions transport;
  transport.rank = job->rank_;
  transport.nodes = job->size_;
  transport.connect_deadline = own.doors.deadline;
  auto control = Control::Connect(std::move(transport), job->Connector(job->peers_.addresses));
  if (!control.ok()) return control.status();
  job->control_ = *std::move(control);
  // A rank is connected before the others are: one that gave up now would be heard of by its
  // neighbours only, and the rest would wait for these.
  auto all = job->control_->Combine("joins", "", [](const std::vector<std::string> &) {
    return absl::StatusOr<std::string>("");
  });
  if (!all.ok()) return all.status();
  return job;
}

runtime::ConnectFunction Job::Connector(std::vector<std::string> peers) const {
  return [this, peers = std::move(peers)](runtime::TransportOptions transport) {
    transport.peers = peers;
    transport.epoch = uint64_t(membership_);
    transport::GrpcOptions grpc;
    grpc.security = options_.doors.security;
    grpc.listen_any = options_.doors.listen_any;
    grpc.log = options_.log;
    // So that it is the transport that finds a peer that hangs: it knows which.
    grpc.keepalive = std::max(options_.doors.deadline / 3, absl::Seconds(1));
    return transport::ConnectGrpc(std::move(transport), std::move(grpc));
  };
}

// Beside the one at which the job is met, which stays.
absl::StatusOr<std::string> Job::NewAddress() {
  const std::string &own = peers_.addresses[size_t(rank_)];
  if (absl::StartsWith(own, "unix:")) return absl::StrCat(own, ".", connections_);
  std::string host = own.substr(0, own.rfind(':'));
  if (absl::StartsWith(host, "[")) host = host.substr(1, host.size() - 2);
  auto held = HoldPort(options_.doors.listen_any ? "" : host);
  if (!held.ok()) return held.status();
  session_port_ = *std::move(held);
  return WithPort(host, PortOf(session_port_));
}

absl::StatusOr<runtime::ConnectFunction> Job::NextConnection(absl::StatusOr<uint64_t> digest) {
  ++connections_;
  if (size_ == 1 && !digest.ok()) return digest.status();
  if (size_ == 1) return Connector({});
  auto address = NewAddress();
  absl::StatusOr<std::string> own;
  if (!digest.ok())
    own = digest.status();
  else if (!address.ok())
    own = address.status();
  else
    own = absl::StrCat(*digest, " ", *address);
  auto all = control_->Combine(
      "begins a session", own,
      [&](const std::vector<std::string> &said) -> absl::StatusOr<std::string> {
        std::vector<std::string> addresses;
        for (const std::string &text : said) {
          const std::pair<std::string, std::string> parts = absl::StrSplit(text, absl::MaxSplits(' ', 1));
          if (parts.first != absl::StrCat(*digest))
            return absl::FailedPreconditionError(
                absl::StrCat("rank ", addresses.size(), ": plan digest must match ", *digest,
                             ", got: ", parts.first));
          addresses.push_back(parts.second);
        }
        return absl::StrJoin(addresses, "\n");
      });
  if (!all.ok()) return all.status();
  return Connector(absl::StrSplit(*all, '\n'));
}

}  // namespace commsched::launch
