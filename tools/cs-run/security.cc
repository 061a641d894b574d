// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/cs-run/security.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "absl/strings/str_cat.h"
#include "grpc/base/admission.h"

namespace commsched::run {
namespace {

constexpr char kOptions[] =
    "--token-file, --insecure, --tls-ca, --tls-cert, --tls-key and --tls-server-name";

constexpr char kNotShared[] =
    "--no-shared-memory is of processes that gRPC connects, of which there are none";

absl::Status Bad(absl::string_view text) { return absl::InvalidArgumentError(text); }

bool AnyGiven(const Options &o) {
  return !o.token_file.empty() || o.insecure || !o.tls_ca.empty() ||
         !o.tls_cert.empty() || !o.tls_key.empty() || !o.tls_server_name.empty();
}

}  // namespace

absl::Status CheckSecurity(const Options &o) {
  const bool tls = !o.tls_cert.empty();
  if (o.tls_ca.empty() != o.tls_cert.empty() || o.tls_ca.empty() != o.tls_key.empty())
    return Bad("--tls-ca, --tls-cert and --tls-key go together");
  if (!o.tls_server_name.empty() && !tls)
    return Bad("--tls-server-name needs --tls-ca, --tls-cert and --tls-key");
  if (o.insecure && (!o.token_file.empty() || tls || o.listen_any))
    return Bad("--insecure goes without --token-file, --tls-... and --listen-any");
  if (o.insecure && o.spawn != 0)
    return Bad("--insecure goes without --spawn, which makes a token of its own");
  if (o.listen_any && (!tls || o.token_file.empty()))
    return Bad("--listen-any needs --tls-ca, --tls-cert, --tls-key and --token-file");
  if (o.listen_any && o.spawn != 0)
    return Bad("--listen-any goes without --spawn, whose processes are all here");
  if (AnyGiven(o) && (o.simulate || o.arena_info || !o.check_against.empty() ||
                      o.transport == "in-process"))
    return Bad(absl::StrCat(kOptions, " need connections to other processes"));
  if (o.no_shared_memory && (o.simulate || o.arena_info || !o.check_against.empty() ||
                             o.transport == "in-process" || o.transport == "mpi"))
    return Bad(kNotShared);
  return absl::OkStatus();
}

absl::Status CheckSecret(const Options &o) {
  const bool connected = (o.rank >= 0 || o.is_server()) && !o.arena_info;
  if (connected && o.token.empty() && o.token_file.empty() && !o.insecure)
    return Bad(
        "processes of a job must share a secret: --token-file FILE, or "
        "--insecure on loopback addresses and socket files");
  return absl::OkStatus();
}

absl::Status CheckSecurityUsed(const Options &o) {
  if (o.no_shared_memory &&
      (o.transport == "mpi" || (o.rank < 0 && !o.is_server() && o.spawn == 0)))
    return Bad(kNotShared);
  if (!AnyGiven(o)) return absl::OkStatus();
  if (o.transport == "mpi")
    return Bad(absl::StrCat(kOptions,
                            " are for gRPC: with MPI, its launcher decides who "
                            "belongs to the job"));
  if (o.rank < 0 && !o.is_server() && o.spawn == 0)
    return Bad(absl::StrCat(kOptions, " need connections to other processes"));
  return absl::OkStatus();
}

absl::StatusOr<transport::SecurityOptions> Security(const Options &options) {
  transport::SecurityOptions security;
  security.ca_file = options.tls_ca;
  security.certificate_file = options.tls_cert;
  security.key_file = options.tls_key;
  security.server_name = options.tls_server_name;
  security.token = options.token;
  if (security.token.empty() && !options.token_file.empty()) {
    auto token = transport::ReadTokenFile(options.token_file);
    if (!token.ok()) return token.status();
    security.token = *std::move(token);
  }
  return security;
}

absl::Duration Keepalive(const Options &options) {
  return std::max(options.deadline / 3, absl::Seconds(1));
}

absl::StatusOr<transport::GrpcOptions> GrpcOptionsOf(const Options &options) {
  auto security = Security(options);
  if (!security.ok()) return security.status();
  transport::GrpcOptions grpc;
  grpc.security = *std::move(security);
  grpc.log = RefusalLog(options);
  grpc.listen_any = options.listen_any;
  grpc.congestion_control = options.congestion;
  grpc.shared_memory = !options.no_shared_memory;
  // So that it is the transport that finds a peer that hangs: it knows which.
  grpc.keepalive = Keepalive(options);
  return grpc;
}

std::function<void(const std::string &)> RefusalLog(const Options &options) {
  const std::string own = options.is_server() ? absl::StrCat("server ", options.index)
                                              : absl::StrCat("rank ", options.rank);
  return [own](const std::string &line) {
    std::fprintf(stderr, "cs-run: warning: %s %s\n", own.c_str(), line.c_str());
  };
}

int MakeTokenFile(const std::string &token) {
  const int fd = memfd_create("cs-run token", MFD_CLOEXEC);
  if (fd >= 0 && pwrite(fd, token.data(), token.size(), 0) == ssize_t(token.size()))
    return fd;
  if (fd >= 0) close(fd);
  return -1;
}

absl::StatusOr<std::string> TakeTokenFile(int fd) {
  char bytes[256];
  const ssize_t size = pread(fd, bytes, sizeof(bytes), 0);
  close(fd);
  if (size < ssize_t(transport::kLeastTokenBytes))
    return absl::InvalidArgumentError("must be a descriptor that --spawn has passed");
  return std::string(bytes, size_t(size));
}

}  // namespace commsched::run
