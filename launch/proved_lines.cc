// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "launch/proved_lines.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "grpc/base/admission.h"

namespace commsched::launch {

using runtime::Clock;

namespace {

constexpr char kGreeting[] = "commsched-2";
constexpr size_t kMaxLine = 1 << 20;

void WriteLine(int fd, absl::string_view line) {
  const std::string text = absl::StrCat(line, "\n");
  for (size_t at = 0; at < text.size();) {
    const ssize_t n = send(fd, text.data() + at, text.size() - at, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;
    at += size_t(n);
  }
}

}  // namespace

bool WaitFor(int fd, short what, Clock::time_point deadline) {
  while (true) {
    pollfd waiting = {fd, what, 0};
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - Clock::now());
    const int ready = poll(&waiting, 1, int(std::max<int64_t>(0, left.count())));
    if (ready >= 0 || errno != EINTR) return ready == 1;
  }
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

void Say(const Talk &talk, absl::string_view line, const std::string &text) {
  WriteLine(talk.fd,
            absl::StrCat(text, " ", absl::BytesToHexString(transport::Proof(talk.token, line, talk.comes, talk.waits, text))));
}

absl::StatusOr<std::pair<std::string, std::string>> Proved(
    const Talk &talk, const std::vector<std::string> &lines, const std::string &heard) {
  const size_t space = heard.rfind(' ');
  if (space != heard.npos) {
    const std::string text = heard.substr(0, space);
    for (const std::string &line : lines)
      if (transport::ProofsEqual(heard.substr(space + 1),
                                 absl::BytesToHexString(transport::Proof(
                                     talk.token, line, talk.comes, talk.waits, text))))
        return std::pair(line, text);
  }
  return absl::PermissionDeniedError("what answers has not the token of this job");
}

void SayNonce(int fd, const std::string &own) {
  WriteLine(fd, absl::StrCat(kGreeting, " ", absl::BytesToHexString(own)));
}

absl::StatusOr<std::string> NonceIn(absl::string_view line) {
  if (!absl::ConsumePrefix(&line, absl::StrCat(kGreeting, " ")) ||
      line.size() != 2 * transport::kNonceBytes)
    return absl::PermissionDeniedError("what answers is not rank 0 of this job");
  return std::string(line);
}

}  // namespace commsched::launch
