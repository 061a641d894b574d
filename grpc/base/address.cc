// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "grpc/base/address.h"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
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
        "address of a rank must be host:port, got: \"", address, "\""));
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

}  // namespace

absl::Status CheckAddress(absl::string_view address) {
  if (absl::StartsWith(address, "unix:")) return absl::OkStatus();
  return Split(address).status();
}

absl::StatusOr<bool> IsLocal(absl::string_view address) {
  if (absl::StartsWith(address, "unix:")) return true;
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
  if (absl::StartsWith(address, "unix:")) return std::string(address);
  absl::StatusOr<HostPort> parts = Split(address);
  if (!parts.ok()) return parts.status();
  return absl::StrCat("[::]:", parts->port);
}

}  // namespace commsched::transport
