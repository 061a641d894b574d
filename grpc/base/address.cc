// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "grpc/base/address.h"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace commsched::transport {
namespace {

struct HostPort {
  std::string host;
  std::string port;
};

absl::StatusOr<HostPort> Split(absl::string_view address) {
  auto bad = [&] {
    return absl::InvalidArgumentError(absl::StrCat(
        "address of a rank must be host:port, with a port from 1 to 65535, got: \"", address,
        "\""));
  };
  const size_t colon = address.rfind(':');
  if (colon == absl::string_view::npos || colon == 0) return bad();
  absl::string_view host = address.substr(0, colon);
  absl::string_view port = address.substr(colon + 1);
  if (host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  } else if (absl::StrContains(host, ':')) {
    return bad();
  }
  uint32_t number = 0;
  if (host.empty() || !absl::SimpleAtoi(port, &number) || number == 0 ||
      number > 65535)
    return bad();
  return HostPort{std::string(host), std::string(port)};
}

bool IsLoopback(const sockaddr *address) {
  if (address->sa_family == AF_INET)
    return (ntohl(reinterpret_cast<const sockaddr_in *>(address)
                      ->sin_addr.s_addr) >>
            24) == 127;
  return address->sa_family == AF_INET6 &&
         IN6_IS_ADDR_LOOPBACK(
             &reinterpret_cast<const sockaddr_in6 *>(address)->sin6_addr);
}

constexpr absl::string_view kUnix = "unix:";

// False: the path is too long.
bool ToSocketFile(absl::string_view address, sockaddr_un *file) {
  address.remove_prefix(kUnix.size());
  *file = {};
  file->sun_family = AF_UNIX;
  if (address.size() >= sizeof(file->sun_path)) return false;
  address.copy(file->sun_path, address.size());
  return true;
}

// Of binding once; 0 if that goes well.
int TryBind(int family, const sockaddr *address, socklen_t size) {
  const int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return errno;
  const int on = 1;
  if (family != AF_UNIX) setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  int error = bind(fd, address, size) == 0 ? 0 : errno;
  if (error == 0 && family != AF_UNIX && listen(fd, 1) != 0) error = errno;
  close(fd);
  return error;
}

int WhyNotBound(absl::string_view address) {
  if (absl::StartsWith(address, kUnix)) {
    sockaddr_un file;
    if (!ToSocketFile(address, &file)) return ENAMETOOLONG;
    const int error = TryBind(AF_UNIX, reinterpret_cast<const sockaddr *>(&file), sizeof(file));
    if (error == 0) unlink(file.sun_path);
    return error;
  }
  auto parts = Split(address);
  addrinfo hints = {}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  if (!parts.ok() || getaddrinfo(parts->host.c_str(), parts->port.c_str(), &hints, &found) != 0) return 0;
  int error = 0;
  for (const addrinfo *entry = found; entry != nullptr && error == 0; entry = entry->ai_next)
    error = TryBind(entry->ai_family, entry->ai_addr, entry->ai_addrlen);
  freeaddrinfo(found);
  return error;
}

}  // namespace

absl::Status CheckAddress(absl::string_view address) {
  if (absl::StartsWith(address, kUnix)) return absl::OkStatus();
  return Split(address).status();
}

absl::StatusOr<bool> IsLocal(absl::string_view address) {
  if (absl::StartsWith(address, kUnix)) return true;
  absl::StatusOr<HostPort> parts = Split(address);
  if (!parts.ok()) return parts.status();
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo *found = nullptr;
  if (int error = getaddrinfo(parts->host.c_str(), parts->port.c_str(), &hints,
                              &found);
      error != 0)
    return absl::InvalidArgumentError(absl::StrCat(
        "cannot look up address ", address, ": ", gai_strerror(error)));
  bool loopback = true;
  for (const addrinfo *entry = found; entry != nullptr; entry = entry->ai_next)
    loopback = loopback && IsLoopback(entry->ai_addr);
  freeaddrinfo(found);
  return loopback;
}

absl::StatusOr<std::string> AnyAddress(absl::string_view address) {
  if (absl::StartsWith(address, kUnix)) return std::string(address);
  absl::StatusOr<HostPort> parts = Split(address);
  if (!parts.ok()) return parts.status();
  return absl::StrCat("[::]:", parts->port);
}

bool IsListenedOn(absl::string_view address) {
  sockaddr_un file;
  if (!absl::StartsWith(address, kUnix) || !ToSocketFile(address, &file)) return false;
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return false;
  // EAGAIN: so many have come that another one must wait.
  const bool there =
      connect(fd, reinterpret_cast<const sockaddr *>(&file), sizeof(file)) == 0 || errno == EAGAIN;
  close(fd);
  return there;
}

absl::Status CannotListen(absl::string_view who, absl::string_view address) {
  const int error = IsListenedOn(address) ? EADDRINUSE : WhyNotBound(address);
  return absl::UnavailableError(absl::StrCat(who, " cannot listen on ", address, ": ",
                                             error != 0 ? std::strerror(error) : "gRPC does not take it, nor with TLS certificates that do not fit their keys"));
}

}  // namespace commsched::transport
