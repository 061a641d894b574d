// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "launch/gathering.h"

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cstring>
#include <iterator>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "grpc/base/admission.h"
#include "runtime/core/greeting.h"

namespace commsched::launch {

using runtime::Clock;
using runtime::core::Verdict;

namespace {

constexpr size_t kMaxGreeting = 4096;   // of who has not proved anything yet
constexpr size_t kMaxStrangers = 1024;  // that have said nothing yet, at once

using NameOf = int(int, sockaddr *, socklen_t *);  // getpeername or getsockname

std::string HostOf(NameOf name_of, int fd) {
  sockaddr_storage address = {};
  socklen_t size = sizeof(address);
  name_of(fd, reinterpret_cast<sockaddr *>(&address), &size);
  return NumericHost(reinterpret_cast<sockaddr *>(&address), size);
}

// Where rank 0 waits: what a name stands for on its host, too, as that need not be what it is for others.
std::string Place(const Rendezvous &meeting, const std::vector<Socket> &listeners) {
  std::vector<std::string> hosts;
  for (const Socket &listener : listeners) hosts.push_back(HostOf(getsockname, listener.fd()));
  std::string place = WithPort(meeting.host, meeting.port);
  if (!meeting.any && hosts != std::vector{meeting.host})
    absl::StrAppend(&place, " (", absl::StrJoin(hosts, ", "), ")");
  return place;
}

// Of what waits for an answer and says nothing meanwhile.
bool HasHungUp(int fd) {
  char c;
  const ssize_t n = recv(fd, &c, 1, MSG_PEEK | MSG_DONTWAIT);
  return n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR);
}

Guest Welcome(Socket socket, const std::string &token) {
  const std::string nonce = transport::NewNonce();
  const int fd = socket.fd();
  SayNonce(fd, nonce);
  return {std::move(socket),
          {fd, token, "", absl::BytesToHexString(nonce)},
          Clock::now() + kSpeak,
          "",
          ""};
}

// Takes what has come. What somebody says who has the token: rank, number of processes, port
// and epoch; nothing as long as he has not said all of it.
absl::StatusOr<std::vector<int>> Listen(Guest *guest) {
  char bytes[512];
  const ssize_t n = recv(guest->socket.fd(), bytes, sizeof(bytes), MSG_DONTWAIT);
  if (n < 0 && (errno == EINTR || errno == EAGAIN)) return std::vector<int>();
  if (n <= 0) return absl::UnavailableError("connection lost");
  guest->heard.append(bytes, size_t(n));
  for (size_t end; (end = guest->heard.find('\n')) != std::string::npos;) {
    const std::string line = guest->heard.substr(0, end);
    guest->heard.erase(0, end + 1);
    if (guest->talk.comes.empty()) {
      auto nonce = NonceIn(line);
      if (!nonce.ok()) return nonce.status();
      guest->talk.comes = *std::move(nonce);
      continue;
    }
    auto proved = Proved(guest->talk, {"meets"}, line);
    if (!proved.ok()) return proved.status();
    std::vector<int> numbers;
    for (absl::string_view word : absl::StrSplit(proved->second, ' ')) {
      int number = 0;
      if (!absl::SimpleAtoi(word, &number)) break;
      numbers.push_back(number);
    }
    if (numbers.size() != 4) return absl::InvalidArgumentError("no greeting of a rank");
    return numbers;
  }
  if (guest->heard.size() > kMaxGreeting) return absl::InvalidArgumentError("a line is too long");
  return std::vector<int>();
}

// Who came and has ended meanwhile may come again.
void DismissEnded(Guests *here) {
  std::erase_if(*here, [](const auto &guest) { return HasHungUp(guest.second.socket.fd()); });
}

}  // namespace

std::string NumericHost(const sockaddr *address, socklen_t size) {
  char host[NI_MAXHOST] = {};
  getnameinfo(address, size, host, sizeof(host), nullptr, 0, NI_NUMERICHOST);
  return host;
}

Gathering::Gathering(const Rendezvous &meeting, std::vector<Socket> listeners)
    : meeting_(meeting), listeners_(std::move(listeners)), place_(Place(meeting_, listeners_)) {}

// Whether all ranks are there, alive: the list of all is of no use with one that is not.
bool Gathering::AllAreHere() {
  if (int(here_.size()) + 1 == meeting_.size) DismissEnded(&here_);
  return int(here_.size()) + 1 == meeting_.size;
}

absl::Status Gathering::Gather(Clock::time_point deadline) {
  while (refused_.ok() && !AllAreHere()) {
    DismissMute();
    if (Clock::now() >= deadline)
      refused_ = Missing();
    else
      HearOnce(deadline);
  }
  return refused_;
}

void Gathering::Tell(const std::string &line, const std::string &text) {
  for (auto &[rank, guest] : here_) Say(guest.talk, line, text);
}

void Gathering::Refuse(Clock::time_point until) {
  Tell("refused", std::string(refused_.message()));
  for (const auto &[rank, guest] : here_) told_.insert(rank);
  const auto known = [this](int rank) { return rank > 0 && rank < meeting_.size; };
  while (unfit_ && std::count_if(told_.begin(), told_.end(), known) + 1 < meeting_.size && Clock::now() < until) {
    DismissMute();
    HearOnce(until);
  }
}

void Gathering::DismissMute() {
  const size_t before = silent_.size();
  std::erase_if(silent_, [now = Clock::now()](const Guest &guest) { return guest.until <= now; });
  strangers_ += int(before - silent_.size());
}

void Gathering::DismissOldest() {
  silent_.pop_front();
  ++strangers_;
}

absl::Status Gathering::Missing() {
  DismissEnded(&here_);
  std::vector<int> missing;
  for (int rank = 1; rank < meeting_.size; ++rank)
    if (here_.count(rank) == 0) missing.push_back(rank);
  const int strangers = strangers_ + int(silent_.size());
  return absl::DeadlineExceededError(absl::StrCat(
      missing.size() == 1 ? "rank " : "ranks ", absl::StrJoin(missing, ", "),
      " did not come to ", place_, " within ",
      absl::FormatDuration(meeting_.deadline),
      strangers == 0 ? "" : absl::StrCat("; ", strangers, " without the token did")));
}

void Gathering::HearOnce(Clock::time_point deadline) {
  std::vector<pollfd> waiting;
  for (const Socket &listener : listeners_) waiting.push_back({listener.fd(), POLLIN, 0});
  for (const Guest &guest : silent_) {
    waiting.push_back({guest.socket.fd(), POLLIN, 0});
    deadline = std::min(deadline, guest.until);
  }
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
  if (poll(waiting.data(), nfds_t(waiting.size()), int(std::clamp<int64_t>(left.count(), 0, INT_MAX))) <= 0)
    return;
  std::list<Guest> spoke;
  std::vector<std::vector<int>> said;
  size_t at = listeners_.size();
  for (auto guest = silent_.begin(); guest != silent_.end(); ++at) {
    const auto next = std::next(guest);
    if (waiting[at].revents != 0) {
      auto numbers = Listen(&*guest);
      if (!numbers.ok()) {
        ++strangers_;
        silent_.erase(guest);
      } else if (!numbers->empty()) {
        spoke.splice(spoke.end(), silent_, guest);
        said.push_back(*std::move(numbers));
      }
    }
    guest = next;
  }
  for (size_t i = 0; !spoke.empty(); ++i, spoke.pop_front())
    Judge(std::move(spoke.front()), said[i]);
  for (size_t i = 0; i < listeners_.size(); ++i)
    if (waiting[i].revents != 0) Accept(listeners_[i]);
}

void Gathering::Accept(const Socket &listener) {
  Socket socket(accept4(listener.fd(), nullptr, nullptr, SOCK_CLOEXEC));
  if (socket.fd() >= 0) {
    if (silent_.size() >= kMaxStrangers) DismissOldest();
    silent_.push_back(Welcome(std::move(socket), meeting_.token));
    return;
  }
  if (errno != EMFILE && errno != ENFILE && errno != ENOBUFS && errno != ENOMEM) return;
  // No files or memory any more: who waits there would be asked for again at once.
  if (!silent_.empty())
    DismissOldest();
  else if (refused_.ok())
    refused_ = absl::ResourceExhaustedError(
        absl::StrCat("rank 0 cannot accept ranks at ", place_, ": ",
                     std::strerror(errno)));
  else
    unfit_ = false;
}

void Gathering::Judge(Guest guest, const std::vector<int> &numbers) {
  const int rank = numbers[0], size = numbers[1], port = numbers[2];
  const auto verdict = runtime::core::JudgeCaller(
      {.epoch = uint64_t(meeting_.epoch), .nodes = meeting_.size},
      {.epoch = uint64_t(numbers[3]), .nodes = size, .rank = rank}, true);
  if (verdict.kind == Verdict::kEarlier) {
    Say(guest.talk, "refused", verdict.why);
    return;
  }
  if (here_.count(rank) != 0) DismissEnded(&here_);
  std::string wrong;
  if (verdict.kind != Verdict::kWelcome) wrong = absl::StrCat("rank ", rank, ": ", verdict.why);
  if (verdict.kind != Verdict::kLater && size == meeting_.size && (rank == 0 || here_.count(rank) != 0))
    wrong = absl::StrCat("two processes are rank ", rank);
  // What is wrong first is what all hear.
  if (!wrong.empty() && refused_.ok()) {
    refused_ = absl::FailedPreconditionError(wrong);
    unfit_ = verdict.kind != Verdict::kLater;
  }
  // It waits for the rank 0 of its own.
  if (verdict.kind == Verdict::kLater) return;
  if (!refused_.ok()) {
    Say(guest.talk, "refused", std::string(refused_.message()));
    told_.insert(rank);
    return;
  }
  guest.address = WithPort(HostOf(getpeername, guest.socket.fd()), port);
  here_.emplace(rank, std::move(guest));
}

}  // namespace commsched::launch
