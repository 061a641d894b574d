// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "launch/rendezvous.h"

#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <map>
#include <memory>
#include <thread>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "grpc/base/address.h"
#include "grpc/base/admission.h"
#include "runtime/base/sync.h"
#include "runtime/core/greeting.h"

namespace commsched::launch {
namespace {

using runtime::Clock;
using runtime::core::Verdict;

// Each side begins with this word and a nonce in hexadecimal digits; what follows is
// lines of text, each with the proof of it behind (admission.h). Nothing here is
// secret, but nobody without the token can say any of it.
constexpr char kGreeting[] = "commsched-2";
constexpr size_t kMaxLine = 1 << 20;
constexpr auto kRetry = std::chrono::milliseconds(100);
constexpr absl::Duration kGrace = absl::Seconds(2);

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

// `listens`: else it has the address only.
absl::StatusOr<Socket> Bind(const std::string &host, int port, bool listens) {
  auto addresses = Resolve(host, port, /*passive=*/true);
  if (!addresses.ok()) return addresses.status();
  int error = 0;
  for (addrinfo *a = addresses->get(); a != nullptr; a = a->ai_next) {
    Socket listener(socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const int on = 1;
    setsockopt(listener.fd(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (listener.fd() >= 0 && bind(listener.fd(), a->ai_addr, a->ai_addrlen) == 0 &&
        (!listens || listen(listener.fd(), 4096) == 0))
      return listener;
    error = errno;
  }
  return absl::UnavailableError(absl::StrCat(
      "port ", port, " of ", host.empty() ? "this host" : host,
      " cannot be listened on: ", std::strerror(error),
      error == EADDRINUSE ? " (is it the launcher's own? set COMMSCHED_PORT)" : ""));
}

std::string HostOfPeer(int fd) {
  sockaddr_storage address = {};
  socklen_t size = sizeof(address);
  char host[NI_MAXHOST] = {};
  getpeername(fd, reinterpret_cast<sockaddr *>(&address), &size);
  getnameinfo(reinterpret_cast<sockaddr *>(&address), size, host, sizeof(host),
              nullptr, 0, NI_NUMERICHOST);
  // An IPv4 address that came in on a socket for both.
  return std::string(absl::StripPrefix(host, "::ffff:"));
}

bool WaitFor(int fd, short what, Clock::time_point deadline) {
  while (true) {
    pollfd waiting = {fd, what, 0};
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - Clock::now());
    const int ready = poll(&waiting, 1, int(std::max<int64_t>(0, left.count())));
    if (ready >= 0 || errno != EINTR) return ready == 1;
  }
}

// Of what waits for an answer and says nothing meanwhile.
bool HasHungUp(int fd) {
  char c;
  const ssize_t n = recv(fd, &c, 1, MSG_PEEK | MSG_DONTWAIT);
  return n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR);
}

absl::StatusOr<std::string> ReadLine(int fd, Clock::time_point deadline) {
  std::string line;
  char c;
  while (line.size() < kMaxLine) {
    if (!WaitFor(fd, POLLIN, deadline))
      return absl::DeadlineExceededError("no answer");
    const ssize_t n = recv(fd, &c, 1, 0);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return absl::UnavailableError("connection lost");
    if (c == '\n') return line;
    line += c;
  }
  return absl::InvalidArgumentError("a line is too long");
}

void WriteLine(int fd, absl::string_view line) {
  const std::string text = absl::StrCat(line, "\n");
  for (size_t at = 0; at < text.size();) {
    const ssize_t n = send(fd, text.data() + at, text.size() - at, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;
    at += size_t(n);
  }
}

// Both nonces, once they are known; the token.
struct Talk {
  int fd = -1;
  std::string token, comes, waits;
};

void Say(const Talk &talk, absl::string_view line, const std::string &text) {
  WriteLine(talk.fd,
            absl::StrCat(text, " ", absl::BytesToHexString(transport::Proof(talk.token, line, talk.comes, talk.waits, text))));
}

// A line's text if it is proved to be one of `lines`, which it is then; else
// kPermissionDenied.
absl::StatusOr<std::pair<std::string, std::string>> Hear(
    const Talk &talk, const std::vector<std::string> &lines, Clock::time_point deadline) {
  auto heard = ReadLine(talk.fd, deadline);
  if (!heard.ok()) return heard.status();
  const size_t space = heard->rfind(' ');
  if (space != heard->npos) {
    const std::string text = heard->substr(0, space);
    for (const std::string &line : lines)
      if (transport::ProofsEqual(heard->substr(space + 1),
                                 absl::BytesToHexString(transport::Proof(
                                     talk.token, line, talk.comes, talk.waits, text))))
        return std::pair(line, text);
  }
  return absl::PermissionDeniedError("what answers has not the token of this job");
}

// Tells the own nonce, and gives the other side's.
absl::StatusOr<std::string> ExchangeNonces(int fd, const std::string &own,
                                           Clock::time_point deadline) {
  WriteLine(fd, absl::StrCat(kGreeting, " ", absl::BytesToHexString(own)));
  auto line = ReadLine(fd, deadline);
  if (!line.ok()) return line.status();
  absl::string_view text = *line;
  if (!absl::ConsumePrefix(&text, absl::StrCat(kGreeting, " ")) ||
      text.size() != 2 * transport::kNonceBytes)
    return absl::PermissionDeniedError("what answers is not rank 0 of this job");
  return std::string(text);
}

struct Guest {
  Socket socket;
  Talk talk;
  std::string address;
};

// What somebody says who has the token: rank, number of processes, port and epoch.
absl::StatusOr<std::vector<int>> Receive(Guest *guest, Clock::time_point deadline) {
  const std::string nonce = transport::NewNonce();
  guest->talk.fd = guest->socket.fd();
  auto theirs = ExchangeNonces(guest->talk.fd, nonce, deadline);
  if (!theirs.ok()) return theirs.status();
  guest->talk.comes = *theirs;
  guest->talk.waits = absl::BytesToHexString(nonce);
  auto heard = Hear(guest->talk, {"meets"}, deadline);
  if (!heard.ok()) return heard.status();
  std::vector<int> numbers;
  for (absl::string_view word : absl::StrSplit(heard->second, ' ')) {
    int number = 0;
    if (!absl::SimpleAtoi(word, &number)) break;
    numbers.push_back(number);
  }
  if (numbers.size() != 4) return absl::InvalidArgumentError("no greeting of a rank");
  return numbers;
}

using Guests = std::map<int, Guest>;  // by rank

// Who came and has ended meanwhile may come again.
void DismissEnded(Guests *here) {
  std::erase_if(*here, [](const auto &guest) { return HasHungUp(guest.second.socket.fd()); });
}

// Whether all ranks are there, alive: the list of all is of no use with one that is not.
bool AllAreHere(int size, Guests *here) {
  if (int(here->size()) + 1 == size) DismissEnded(here);
  return int(here->size()) + 1 == size;
}

absl::StatusOr<std::vector<std::string>> Wait(const Rendezvous &meeting,
                                              int own_port,
                                              Clock::time_point deadline) {
  auto listener = Bind(meeting.any ? "" : meeting.host, meeting.port, /*listens=*/true);
  if (!listener.ok()) return listener.status();
  Guests here;
  absl::Status refused;
  int strangers = 0;
  while (refused.ok() && !AllAreHere(meeting.size, &here)) {
    if (Clock::now() >= deadline || !WaitFor(listener->fd(), POLLIN, deadline)) {
      DismissEnded(&here);
      std::vector<int> missing;
      for (int rank = 1; rank < meeting.size; ++rank)
        if (here.count(rank) == 0) missing.push_back(rank);
      refused = absl::DeadlineExceededError(absl::StrCat(
          missing.size() == 1 ? "rank " : "ranks ", absl::StrJoin(missing, ", "),
          " did not come to ", WithPort(meeting.host, meeting.port), " within ",
          absl::FormatDuration(meeting.deadline),
          strangers == 0 ? "" : absl::StrCat("; ", strangers, " without the token did")));
      break;
    }
    Guest guest{Socket(accept4(listener->fd(), nullptr, nullptr, SOCK_CLOEXEC)),
                {-1, meeting.token, "", ""},
                ""};
    if (guest.socket.fd() < 0) {
      // No files or memory any more: who waits there would be asked for again at once.
      if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
        refused = absl::ResourceExhaustedError(
            absl::StrCat("rank 0 cannot accept ranks at ", WithPort(meeting.host, meeting.port), ": ",
                         std::strerror(errno)));
      continue;
    }
    // Whoever comes must speak soon: others wait.
    auto numbers = Receive(&guest, std::min(deadline, Clock::now() + std::chrono::seconds(2)));
    if (!numbers.ok()) {
      ++strangers;
      continue;
    }
    const int rank = (*numbers)[0], size = (*numbers)[1], port = (*numbers)[2];
    const auto verdict = runtime::core::JudgeCaller(
        {.epoch = uint64_t(meeting.epoch), .nodes = meeting.size},
        {.epoch = uint64_t((*numbers)[3]), .nodes = size, .rank = rank}, true);
    if (verdict.kind == Verdict::kEarlier) {
      Say(guest.talk, "refused", verdict.why);
      continue;
    }
    if (verdict.kind != Verdict::kWelcome)
      refused = absl::FailedPreconditionError(absl::StrCat("rank ", rank, ": ", verdict.why));
    // It waits for the rank 0 of its own.
    if (verdict.kind == Verdict::kLater) continue;
    if (here.count(rank) != 0) DismissEnded(&here);
    if (size == meeting.size && (rank == 0 || here.count(rank) != 0))
      refused = absl::FailedPreconditionError(
          absl::StrCat("two processes are rank ", rank));
    guest.address = WithPort(HostOfPeer(guest.socket.fd()), port);
    here.insert_or_assign(refused.ok() ? rank : -1, std::move(guest));
  }
  std::vector<std::string> addresses = {WithPort(meeting.host, own_port)};
  if (refused.ok())
    for (auto &[rank, guest] : here) addresses.push_back(guest.address);
  for (auto &[rank, guest] : here) {
    if (refused.ok())
      Say(guest.talk, "met", absl::StrJoin(addresses, ","));
    else
      Say(guest.talk, "refused", std::string(refused.message()));
  }
  if (!refused.ok()) return refused;
  return addresses;
}

// One meeting with what answers at `fd`.
absl::StatusOr<std::vector<std::string>> MeetAt(const Rendezvous &meeting, int fd,
                                                int own_port,
                                                Clock::time_point deadline) {
  const std::string nonce = transport::NewNonce();
  auto theirs = ExchangeNonces(fd, nonce, deadline);
  if (!theirs.ok()) return theirs.status();
  const Talk talk{fd, meeting.token, absl::BytesToHexString(nonce), *theirs};
  Say(talk, "meets", absl::StrCat(meeting.rank, " ", meeting.size, " ", own_port, " ", meeting.epoch));
  // Rank 0, which is there now, ends the meeting by its own clock.
  auto heard = Hear(talk, {"met", "refused"}, runtime::After(meeting.deadline + kGrace));
  if (absl::IsUnavailable(heard.status()))
    return absl::UnavailableError("it hung up: the token must match that of rank 0");
  if (!heard.ok()) return heard.status();
  if (heard->first == "refused")
    return absl::FailedPreconditionError(absl::StrCat("rank 0 refuses: ", heard->second));
  std::vector<std::string> all = absl::StrSplit(heard->second, ',');
  if (int(all.size()) == meeting.size) return all;
  return absl::FailedPreconditionError("rank 0 knows another number of ranks");
}

absl::StatusOr<std::vector<std::string>> Come(const Rendezvous &meeting,
                                              int own_port,
                                              Clock::time_point deadline) {
  std::string last = "not tried";
  bool met = false;  // somebody, who did not fit: more than that nobody is there
  while (Clock::now() < deadline) {
    auto addresses = Resolve(meeting.host, meeting.port, /*passive=*/false);
    if (!addresses.ok() && !met) last = std::string(addresses.status().message());
    for (addrinfo *a = addresses.ok() ? addresses->get() : nullptr; a != nullptr;
         a = a->ai_next) {
      Socket peer(socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
      if (peer.fd() < 0 || connect(peer.fd(), a->ai_addr, a->ai_addrlen) != 0) {
        if (!met) last = std::strerror(errno);
        continue;
      }
      auto all = MeetAt(meeting, peer.fd(), own_port, deadline);
      if (all.ok()) return all;
      if (absl::IsFailedPrecondition(all.status()))
        return absl::UnavailableError(all.status().message());
      last = std::string(all.status().message());
      met = true;
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
  return Bind(host, 0, /*listens=*/false);
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
