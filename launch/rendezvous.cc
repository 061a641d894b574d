// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "launch/rendezvous.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <thread>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "grpc/base/address.h"
#include "grpc/base/admission.h"
#include "launch/gathering.h"
#include "launch/proved_lines.h"
#include "runtime/base/sync.h"

namespace commsched::launch {
namespace {

using runtime::Clock;

constexpr auto kRetry = std::chrono::milliseconds(100);
constexpr auto kConnect = std::chrono::seconds(3);
constexpr absl::Duration kGrace = absl::Seconds(2);
// How long rank 0 waits for those to whom it has not said yet why there is no job: they would look for it until
// their own deadline.
constexpr auto kToRefuse = std::chrono::seconds(3);

using Addresses = std::unique_ptr<addrinfo, void (*)(addrinfo *)>;

absl::StatusOr<Addresses> Resolve(const std::string &host, int port,
                                  bool passive) {
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = passive ? AI_PASSIVE : 0;
  addrinfo *list = nullptr;
  const int error = getaddrinfo(host.empty() ? nullptr : host.c_str(),
                                absl::StrCat(port).c_str(), &hints, &list);
  if (error != 0)
    return absl::UnavailableError(
        absl::StrCat(host, ": ", gai_strerror(error)));
  return Addresses(list, freeaddrinfo);
}

// Listens on all addresses of the host, as who comes may have no way to one of them; not `listens`: has
// the first one only.
absl::StatusOr<std::vector<Socket>> Bind(const std::string &host, int port, bool listens) {
  auto addresses = Resolve(host, port, /*passive=*/true);
  if (!addresses.ok()) return addresses.status();
  std::vector<Socket> bound;
  int error = 0;
  for (addrinfo *a = addresses->get(); a != nullptr && (listens || bound.empty()); a = a->ai_next) {
    Socket listener(socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const int on = 1;
    setsockopt(listener.fd(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (listens && a->ai_family == AF_INET6)
      setsockopt(listener.fd(), IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
    if (listener.fd() >= 0 && bind(listener.fd(), a->ai_addr, a->ai_addrlen) == 0 &&
        (!listens || listen(listener.fd(), 4096) == 0))
      bound.push_back(std::move(listener));
    else
      error = errno;
  }
  if (!bound.empty()) return bound;
  return absl::UnavailableError(absl::StrCat(
      "port ", port, " of ", host.empty() ? "this host" : host,
      " cannot be listened on: ", std::strerror(error),
      error == EADDRINUSE ? " (is it the launcher's own? set COMMSCHED_PORT)" : ""));
}

absl::StatusOr<std::vector<std::string>> Wait(const Rendezvous &meeting,
                                              int own_port,
                                              Clock::time_point deadline) {
  auto listeners = Bind(meeting.any ? "" : meeting.host, meeting.port, /*listens=*/true);
  if (!listeners.ok()) return listeners.status();
  Gathering gathering(meeting, *std::move(listeners));
  if (absl::Status refused = gathering.Gather(deadline); !refused.ok()) {
    gathering.Refuse(Clock::now() + kToRefuse);
    return refused;
  }
  std::vector<std::string> addresses = {WithPort(meeting.host, own_port)};
  for (auto &[rank, guest] : gathering.here()) addresses.push_back(guest.address);
  gathering.Tell("met", absl::StrJoin(addresses, ","));
  return addresses;
}

// One meeting with what answers at `fd`. kDeadlineExceeded: it has said nothing.
absl::StatusOr<std::vector<std::string>> MeetAt(const Rendezvous &meeting, int fd,
                                                int own_port,
                                                Clock::time_point deadline) {
  const std::string nonce = transport::NewNonce();
  SayNonce(fd, nonce);
  // Who listens at one of the addresses need not be rank 0, nor say anything.
  auto greeting = ReadLine(fd, std::min(deadline, Clock::now() + kSpeak));
  // Also rank 0 itself, in the moment in which its deadline or that of this one is over.
  if (!greeting.ok()) return absl::DeadlineExceededError(greeting.status().message());
  auto theirs = NonceIn(*greeting);
  if (!theirs.ok()) return theirs.status();
  const Talk talk{fd, meeting.token, absl::BytesToHexString(nonce), *theirs};
  Say(talk, "meets", absl::StrCat(meeting.rank, " ", meeting.size, " ", own_port, " ", meeting.epoch));
  // Rank 0, which is there now, ends the meeting by its own clock.
  auto answer = ReadLine(fd, runtime::After(meeting.deadline + kGrace));
  if (absl::IsUnavailable(answer.status()))
    return absl::UnavailableError("it hung up: the token must match that of rank 0");
  if (!answer.ok()) return answer.status();
  auto heard = Proved(talk, {"met", "refused"}, *answer);
  if (!heard.ok()) return heard.status();
  if (heard->first == "refused")
    return absl::FailedPreconditionError(absl::StrCat("rank 0 refuses: ", heard->second));
  std::vector<std::string> all = absl::StrSplit(heard->second, ',');
  if (int(all.size()) == meeting.size) return all;
  return absl::FailedPreconditionError("rank 0 knows another number of ranks");
}

// Connects, not for as long as the system would try: a name may have other addresses. 0 or an errno.
int Connect(int fd, const addrinfo &address, Clock::time_point deadline) {
  if (fd < 0) return errno;
  const int flags = fcntl(fd, F_GETFL);
  fcntl(fd, F_SETFL, flags | O_NONBLOCK);
  int error = connect(fd, address.ai_addr, address.ai_addrlen) == 0 ? 0 : errno;
  if (error == EINPROGRESS || error == EINTR) {
    if (!WaitFor(fd, POLLOUT, deadline)) return ETIMEDOUT;
    socklen_t size = sizeof(error);
    getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
  }
  fcntl(fd, F_SETFL, flags);
  return error;
}

absl::StatusOr<std::vector<std::string>> Come(const Rendezvous &meeting,
                                              int own_port,
                                              Clock::time_point deadline) {
  // What somebody said who did not fit is more than that somebody was silent, and that more than that nobody was there: the last
  // attempt is often cut short by the deadline.
  enum {
    kNobody,
    kSilent,
    kSpoke
  } met = kNobody;
  std::string last = "not tried";
  while (Clock::now() < deadline) {
    auto addresses = Resolve(meeting.host, meeting.port, /*passive=*/false);
    if (!addresses.ok() && met == kNobody) last = std::string(addresses.status().message());
    for (addrinfo *a = addresses.ok() ? addresses->get() : nullptr; a != nullptr;
         a = a->ai_next) {
      Socket peer(socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
      if (const int error = Connect(peer.fd(), *a, std::min(deadline, Clock::now() + kConnect))) {
        const std::string address = NumericHost(a->ai_addr, a->ai_addrlen);
        if (met == kNobody)
          last = absl::StrCat(address == meeting.host ? "" : address + ": ", std::strerror(error));
        continue;
      }
      auto all = MeetAt(meeting, peer.fd(), own_port, deadline);
      if (all.ok()) return all;
      if (absl::IsFailedPrecondition(all.status()))
        return absl::UnavailableError(all.status().message());
      const bool silent = absl::IsDeadlineExceeded(all.status());
      if (silent && met == kSpoke) continue;
      last = std::string(all.status().message());
      met = silent ? kSilent : kSpoke;
    }
    std::this_thread::sleep_for(kRetry);
  }
  return absl::DeadlineExceededError(absl::StrCat(
      "rank 0 was not met at ", WithPort(meeting.host, meeting.port), " within ",
      absl::FormatDuration(meeting.deadline), "; last error: ", last));
}

}  // namespace

std::string WithPort(const std::string &host, int port) {
  return absl::StrContains(host, ':') ? absl::StrCat("[", host, "]:", port)
                                      : absl::StrCat(host, ":", port);
}

absl::StatusOr<Socket> HoldPort(const std::string &host) {
  auto held = Bind(host, 0, /*listens=*/false);
  if (!held.ok()) return held.status();
  return std::move(held->front());
}

int PortOf(const Socket &socket) {
  sockaddr_storage address = {};
  socklen_t size = sizeof(address);
  getsockname(socket.fd(), reinterpret_cast<sockaddr *>(&address), &size);
  return ntohs(address.ss_family == AF_INET6
                   ? reinterpret_cast<sockaddr_in6 *>(&address)->sin6_port
                   : reinterpret_cast<sockaddr_in *>(&address)->sin_port);
}

absl::StatusOr<std::vector<std::string>> Meet(const Rendezvous &meeting, Socket *own_port) {
  const Clock::time_point deadline = runtime::After(meeting.deadline);
  if (!meeting.encrypted) {
    auto local =
        transport::IsLocal(WithPort(meeting.host, meeting.port));
    if (!local.ok()) return local.status();
    if (!*local || meeting.any)
      return absl::InvalidArgumentError(absl::StrCat(
          meeting.host,
          " is not a loopback address: connections between machines need ",
          meeting.names.tls));
  }
  auto held = HoldPort(meeting.encrypted ? "" : meeting.host);
  if (!held.ok()) return held.status();
  *own_port = *std::move(held);
  const int port = PortOf(*own_port);
  return meeting.rank == 0 ? Wait(meeting, port, deadline) : Come(meeting, port, deadline);
}

}  // namespace commsched::launch
