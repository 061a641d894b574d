// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "launch/job.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "grpc/base/address.h"
#include "grpc/ranks/grpc_transport.h"
#include "launch/rendezvous.h"
#include "plan/limits.h"

namespace commsched::launch {
namespace {

// What the ranks of a part say in the place of a plan's digest.
constexpr uint64_t kPart = 0x70617274;

absl::Status Unfit(absl::string_view text) { return absl::InvalidArgumentError(text); }

// Whether something is given that only gRPC knows.
bool OfGrpc(const JobOptions &o) {
  const transport::SecurityOptions &security = o.doors.security;
  return !o.peers.empty() || !o.master.empty() || o.port != 0 || o.doors.insecure || o.doors.listen_any ||
         !security.token.empty() || !security.ca_file.empty() || !security.key_file.empty() ||
         !security.server_name.empty() || security.tls();
}

// Whether the ranks are connected by MPI, which has begun then.
absl::StatusOr<bool> BeginsMpi(const JobOptions &o, const Launched &launched) {
  const bool wanted = o.transport == "mpi";
  if (launched.size == 1 || (!wanted && (!o.transport.empty() || !launched.of_mpi || OfGrpc(o)))) return false;
  absl::Status status = absl::UnavailableError("this library is built without MPI");
  if (o.mpi) {
    auto begun = o.mpi->begin();
    status = begun.status();
    if (begun.ok() && *begun != std::pair(launched.rank, launched.size))
      status = absl::FailedPreconditionError(
          absl::StrCat("MPI must say the same as ", launched.by, ", rank ", launched.rank, " of ", launched.size,
                       ", got: rank ", begun->first, " of ", begun->second));
  }
  if (status.ok()) return true;
  if (wanted) return status;
  if (launched.rank == 0 && o.log)
    o.log(absl::StrCat("the ranks are connected by grpc, not by MPI: ", status.message()));
  return false;
}

absl::Status Check(const JobOptions &o) {
  if (!o.transport.empty() && o.transport != "grpc" && o.transport != "mpi")
    return Unfit(absl::StrCat("transport must be grpc or mpi, got: ", o.transport));
  if (o.transport == "mpi" && OfGrpc(o))
    return Unfit(
        "transport mpi goes without addresses, a port, a token and TLS, which are for grpc: "
        "the launcher of the MPI job decides who joins");
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
    launched.master = BareHost(o.master);
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
  auto job = JoinAt(std::move(options), *launched);
  if (job.ok() || launched->size == 1) return job;
  const std::string own = absl::StrCat("rank ", launched->rank, ": ");
  return absl::Status(job.status().code(), absl::StrCat(own, absl::StripPrefix(job.status().message(), own)));
}

absl::StatusOr<std::unique_ptr<Job>> Job::JoinAt(JobOptions options, const Launched &launched) {
  std::unique_ptr<Job> job(new Job);
  job->rank_ = launched.rank;
  job->size_ = launched.size;
  job->local_rank_ = launched.local_rank;
  job->membership_ = options.membership >= 0 ? options.membership : launched.epoch;
  job->options_ = std::move(options);
  auto by_mpi = BeginsMpi(job->options_, launched);
  if (!by_mpi.ok()) return by_mpi.status();
  job->by_mpi_ = *by_mpi;
  if (absl::Status s = job->Begin(launched); !s.ok()) return s;
  if (absl::Status s = job->BeginControl(); !s.ok()) return s;
  return job;
}

absl::Status Job::BeginControl() {
  runtime::TransportOptions transport;
  transport.rank = rank_;
  transport.nodes = size_;
  transport.connect_deadline = options_.doors.deadline;
  auto control = Control::Connect(std::move(transport), Connector(peers_.addresses, /*seldom=*/true));
  if (!control.ok()) return control.status();
  control_ = *std::move(control);
  // A rank is connected before the others are: one that gave up now would be heard of by its
  // neighbours only, and the rest would wait for these.
  return control_
      ->Combine("joins", "", [](const std::vector<std::string> &) { return absl::StatusOr<std::string>(""); })
      .status();
}

absl::StatusOr<std::unique_ptr<Job>> Job::First(int count) {
  if (count < 1 || count > size_)
    return Unfit(absl::StrCat("a part of the job must have 1 to ", size_, " ranks, got: ", count));
  if (by_mpi_) return absl::UnimplementedError("MPI connects no part of a job");
  auto addresses = NextAddresses(kPart);
  if (!addresses.ok()) return addresses.status();
  Socket port = std::move(session_port_);
  if (rank_ >= count) return nullptr;
  std::unique_ptr<Job> part(new Job);
  part->rank_ = rank_;
  part->size_ = count;
  part->local_rank_ = local_rank_;
  part->membership_ = membership_;
  part->options_ = options_;
  part->peers_.addresses = *std::move(addresses);
  part->peers_.addresses.resize(size_t(count));
  part->peers_.port = std::move(port);
  if (absl::Status s = part->BeginControl(); !s.ok()) return s;
  return part;
}

Job::~Job() {
  // MPI's own end would wait for ranks that have failed.
  const bool good = control_ != nullptr && !control_->failed();
  control_.reset();
  if (by_mpi_ && good && !options_.mpi->end(options_.doors.deadline) && options_.log)
    options_.log(absl::StrCat("rank ", rank_, ": the other processes do not end MPI"));
}

// Where the ranks are, for gRPC.
absl::Status Job::Begin(const Launched &launched) {
  if (by_mpi_) return absl::OkStatus();
  if (size_ > 1 && options_.peers.empty()) {
    Doors doors = options_.doors;
    doors.membership = membership_;
    auto found = FindPeers(launched, doors);
    if (!found.ok()) return found.status();
    peers_ = *std::move(found);
    if (!peers_.token.empty()) options_.doors.security.token = peers_.token;
  } else {
    peers_.addresses = options_.peers;
  }
  if (size_ > 1 && options_.doors.security.token.empty() && !options_.doors.insecure)
    return Unfit(absl::StrCat("processes of a job must share a secret: ", options_.doors.names.token,
                              ", or ", options_.doors.names.insecure, " on loopback addresses and socket files"));
  return absl::OkStatus();
}

runtime::ConnectFunction Job::Connector(std::vector<std::string> peers, bool seldom) const {
  if (by_mpi_)
    return [this](runtime::TransportOptions transport) {
      transport.epoch = uint64_t(membership_);
      return options_.mpi->connect(std::move(transport));
    };
  return [this, peers = std::move(peers), seldom](runtime::TransportOptions transport) {
    transport.peers = peers;
    transport.epoch = uint64_t(membership_);
    transport::GrpcOptions grpc;
    grpc.security = options_.doors.security;
    grpc.listen_any = options_.doors.listen_any;
    grpc.log = options_.log;
    grpc.seldom = seldom;
    // So that it is the transport that finds a peer that hangs: it knows which.
    grpc.keepalive = std::max(options_.doors.deadline / 3, absl::Seconds(1));
    return transport::ConnectGrpc(std::move(transport), std::move(grpc));
  };
}

// Beside the one at which the job is met, which stays.
absl::StatusOr<Job::Endpoint> Job::NewEndpoint(absl::string_view suffix) {
  if (by_mpi_) return absl::UnimplementedError("MPI connects no parameter servers: transport must be grpc");
  const std::string &own = peers_.addresses[size_t(rank_)];
  Endpoint place;
  if (absl::StartsWith(own, "unix:")) {
    place.address = place.listen = absl::StrCat(own, ".", ++endpoints_, suffix);
    return place;
  }
  std::string host = own.substr(0, own.rfind(':'));
  if (absl::StartsWith(host, "[")) host = host.substr(1, host.size() - 2);
  auto held = HoldPort(options_.doors.listen_any ? "" : host);
  if (!held.ok()) return held.status();
  place.port = *std::move(held);
  place.address = WithPort(host, PortOf(place.port));
  absl::StatusOr<std::string> listen = place.address;
  if (options_.doors.listen_any) listen = transport::AnyAddress(place.address);
  if (!listen.ok()) return listen.status();
  place.listen = *std::move(listen);
  return place;
}

absl::StatusOr<runtime::ConnectFunction> Job::NextConnection(absl::StatusOr<uint64_t> digest) {
  auto addresses = NextAddresses(std::move(digest));
  if (!addresses.ok()) return addresses.status();
  return Connector(size_ == 1 ? std::vector<std::string>() : *std::move(addresses), /*seldom=*/false);
}

absl::StatusOr<std::vector<std::string>> Job::NextAddresses(absl::StatusOr<uint64_t> digest) {
  ++connections_;
  if (size_ == 1 && !digest.ok()) return digest.status();
  if (size_ == 1) return peers_.addresses;
  absl::StatusOr<std::string> address = "mpi";
  if (!by_mpi_) {
    auto place = NewEndpoint("");
    if (place.ok()) {
      address = place->address;
      session_port_ = std::move(place->port);
    } else {
      address = place.status();
    }
  }
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
  return absl::StrSplit(*all, '\n');
}

}  // namespace commsched::launch
