// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What ranks say to each other where they meet: each side begins with a word and a nonce in
// hexadecimal digits; what follows is lines of text, each with the proof of it behind
// (admission.h). Nothing here is secret, but nobody without the token can say any of it.
#ifndef COMMSCHED_LAUNCH_PROVED_LINES_H
#define COMMSCHED_LAUNCH_PROVED_LINES_H

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "runtime/base/sync.h"

namespace commsched::launch {

// For saying who one is: what is at an address need not.
constexpr auto kSpeak = std::chrono::seconds(10);

// Whether what poll(2) is asked for has come about; false after the deadline.
bool WaitFor(int fd, short what, runtime::Clock::time_point deadline);

// kDeadlineExceeded, kUnavailable if the connection is lost.
absl::StatusOr<std::string> ReadLine(int fd, runtime::Clock::time_point deadline);

// Both nonces, once they are known; the token.
struct Talk {
  int fd = -1;
  std::string token, comes, waits;
};

void SayNonce(int fd, const std::string &own);
// That of the other side, as it wrote it.
absl::StatusOr<std::string> NonceIn(absl::string_view line);

void Say(const Talk &talk, absl::string_view line, const std::string &text);
// What was heard, if it is proved to be one of `lines`: which, and its text; else
// kPermissionDenied.
absl::StatusOr<std::pair<std::string, std::string>> Proved(
    const Talk &talk, const std::vector<std::string> &lines, const std::string &heard);

}  // namespace commsched::launch

#endif  // COMMSCHED_LAUNCH_PROVED_LINES_H
