// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "grpc/base/sockets.h"

#include <grpc/support/sync.h>
#include <grpcpp/grpcpp.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "grpc/base/send_queues.h"
#include "runtime/base/files.h"

// gRPC names this type in its interface (GRPC_ARG_SOCKET_MUTATOR), but installs
// no definition. This is the one of 1.51, which CheckCongestion makes sure of.
struct grpc_socket_mutator_vtable {
  bool (*mutate_fd)(int fd, grpc_socket_mutator *mutator);
  int (*compare)(grpc_socket_mutator *a, grpc_socket_mutator *b);
  void (*destroy)(grpc_socket_mutator *mutator);
  bool (*mutate_fd_2)(const void *info, grpc_socket_mutator *mutator);
};
struct grpc_socket_mutator {
  const grpc_socket_mutator_vtable *vtable;
  gpr_refcount refcount;
};

namespace commsched::transport {
namespace {

bool SocketsAreKnown() { return absl::StartsWith(grpc::Version(), "1.51."); }

bool Set(int fd, const std::string &control) {
  return setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, control.data(),
                    socklen_t(control.size())) == 0;
}

struct Mutator : grpc_socket_mutator {
  std::string control;
};

// `info` begins with the socket; then comes what it is for.
bool MutateAny(const void *info, grpc_socket_mutator *mutator) {
  const int fd = *static_cast<const int *>(info);
  int domain = 0;
  socklen_t size = sizeof(domain);
  getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size);
  if (domain != AF_INET && domain != AF_INET6) return true;
  const std::string &control = static_cast<Mutator *>(mutator)->control;
  if (!control.empty()) Set(fd, control);
  BoundSendQueue(fd);
  return true;
}

int Compare(grpc_socket_mutator *a, grpc_socket_mutator *b) {
  return static_cast<Mutator *>(a)->control.compare(
      static_cast<Mutator *>(b)->control);
}

void Destroy(grpc_socket_mutator *mutator) {
  delete static_cast<Mutator *>(mutator);
}

constexpr grpc_socket_mutator_vtable kVtable = {nullptr, Compare, Destroy, MutateAny};

// With one reference, which SetSocketMutator takes over.
grpc_socket_mutator *Make(const std::string &control) {
  auto *mutator = new Mutator;
  mutator->vtable = &kVtable;
  gpr_ref_init(&mutator->refcount, 1);
  mutator->control = control;
  return mutator;
}

class Option final : public grpc::ServerBuilderOption {
 public:
  explicit Option(std::string control) : control_(std::move(control)) {}
  void UpdateArguments(grpc::ChannelArguments *arguments) override {
    PrepareSockets(control_, arguments);
  }
  void UpdatePlugins(
      std::vector<std::unique_ptr<grpc::ServerBuilderPlugin>> *) override {}

 private:
  const std::string control_;
};

}  // namespace

absl::Status CheckCongestion(const std::string &control) {
  if (control.empty()) return absl::OkStatus();
  if (!SocketsAreKnown())
    return absl::UnimplementedError(absl::StrCat(
        "congestion control can be set with gRPC 1.51 only, got: ",
        grpc::Version()));
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const bool known = Set(fd, control);
  close(fd);
  if (known) return absl::OkStatus();
  const std::string names =
      runtime::ReadWhole("/proc/sys/net/ipv4/tcp_available_congestion_control").value_or("");
  return absl::InvalidArgumentError(absl::StrCat(
      "congestion control must be one that this system has (",
      absl::StripSuffix(names, "\n"), "), got: ", control));
}

void PrepareSockets(const std::string &control, grpc::ChannelArguments *arguments) {
  if (SocketsAreKnown()) arguments->SetSocketMutator(Make(control));
}

void PrepareSockets(const std::string &control, grpc::ServerBuilder *builder) {
  if (SocketsAreKnown()) builder->SetOption(std::make_unique<Option>(control));
}

}  // namespace commsched::transport
