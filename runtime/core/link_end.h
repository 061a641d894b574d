// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How one end of the connection between two ranks ends: in good order, when each has
// said goodbye; or because an end gives up, breaks the protocol, or is lost. From then
// on every operation with the peer fails, with the first reason there was.
//
// An end says one last word, a goodbye or an abort, and nothing after it. What it has
// said before arrives before it. Both ends have said and heard one when the connection
// is over, but if it was lost.
//
// Not thread-safe.
#ifndef COMMSCHED_RUNTIME_CORE_LINK_END_H
#define COMMSCHED_RUNTIME_CORE_LINK_END_H

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace commsched::runtime::core {

// Of the reason that travels with an abort, in bytes.
inline constexpr size_t kMaxAbortText = 4 << 10;
inline constexpr char kConnectionLost[] = "connection lost";

class LinkEnd {
 public:
  // What is to be done after an event, now: nothing if there was a reason before.
  struct Outcome {
    // What is pending with the peer fails, with failure().
    bool fails = false;
    // The host is told of the failure.
    bool report = false;
    // The last word is said. What waits to be said before an abort may be dropped.
    enum Word {
      kNone,
      kGoodbye,
      kAbort
    } say = kNone;
    absl::Status why;  // of kAbort, to be sent
  };

  // `peer`, for errors: "peer 2 (host:port)".
  explicit LinkEnd(std::string peer) : peer_(std::move(peer)) {}

  // This side gives up. What a peer has said when it gave up (kAborted) is passed on as it
  // is: it names who said it first.
  Outcome Abort(const absl::Status &why);
  // It ends in good order; what is left is not wanted any more.
  Outcome Close();
  // The peer broke the protocol.
  Outcome Breach(const absl::Status &what);
  // The peer's last word. `pending`: something is still wanted of the peer.
  Outcome TakeGoodbye(bool pending);
  Outcome TakeAbort(uint32_t code, absl::string_view text);
  // The connection is no more.
  Outcome Lost(absl::string_view why = "");
  // An operation begins after the failure, which it fails with. Whether the host is
  // told of it.
  bool WantedAfter();

  // OK before the end. After it nothing is sent but the last word.
  const absl::Status &failure() const { return failure_; }
  // What has come whole before the end is still there for its receives.
  bool keeps() const { return goodbye_; }
  bool heard_last() const { return heard_; }  // nothing comes any more
  const std::string &peer() const { return peer_; }
  // With the name of the peer.
  absl::Status Named(absl::StatusCode code, absl::string_view what) const;

 private:
  enum class Report {
    kNever,
    kIfWanted,
    kNow
  };
  Outcome End(absl::Status why, Report report, Outcome::Word say, absl::Status tell = {});

  std::string peer_;
  absl::Status failure_;
  bool report_ = false;  // not done, and to be done if something is wanted
  bool heard_ = false, goodbye_ = false;
};

}  // namespace commsched::runtime::core

#endif  // COMMSCHED_RUNTIME_CORE_LINK_END_H
