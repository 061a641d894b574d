// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/cs-run/causes.h"

#include <string.h>

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace commsched::run {
namespace {

// What is known of one rank's failure.
struct Failure {
  bool failed = false;  // by itself, or by what it heard of others
  bool root = false;
  std::string text;            // without its rank and the addresses
  std::string detail;          // of the text: what is behind the last peer
  std::vector<size_t> peers;   // in the text, in order
  std::vector<size_t> because_of;  // ranks
};

std::string WithoutAddresses(absl::string_view text,
                             const std::vector<std::string> &addresses) {
  std::string out(text);
  for (const std::string &address : addresses)
    absl::StrReplaceAll({{absl::StrCat(" (", address, ")"), ""}}, &out);
  return out;
}

// The numbers in "peer 1: ...", "peers 1, 2 did ...".
void FindPeers(Failure &failure, size_t nodes) {
  absl::string_view text = failure.text;
  failure.detail = failure.text;
  for (size_t at = 0; (at = text.find("peer", at)) != text.npos;) {
    bool word = at == 0 || !absl::ascii_isalnum(text[at - 1]);
    at += 4;
    if (!word) continue;
    absl::string_view rest = text.substr(at);
    if (!absl::ConsumePrefix(&rest, "s ") && !absl::ConsumePrefix(&rest, " ")) continue;
    do {
      size_t peer = 0, digits = 0;
      while (digits < rest.size() && digits < 4 && absl::ascii_isdigit(rest[digits]))
        peer = peer * 10 + size_t(rest[digits++] - '0');
      if (digits == 0 || peer >= nodes) break;
      rest.remove_prefix(digits);
      failure.peers.push_back(peer);
      failure.detail = std::string(rest);
    } while (absl::ConsumePrefix(&rest, ", "));
  }
}

// Errors that may be news of a peer, whatever they say of it.
bool TellsOfPeer(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kAborted:
    case absl::StatusCode::kCancelled:
    case absl::StatusCode::kDeadlineExceeded:
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kUnavailable:
      return true;
    default:
      return false;
  }
}

std::string Death(const Outcome &outcome) {
  if (outcome.signal != 0)
    return absl::StrCat("was killed by signal ", outcome.signal, " (",
                        strsignal(outcome.signal), ")");
  return absl::StrCat("ended with status ", outcome.exit_status);
}

Failure Describe(const Outcome &outcome, size_t rank,
                 const std::vector<std::string> &addresses, size_t nodes) {
  Failure failure;
  if (outcome.report.ok()) {
    failure.failed = (outcome.signal != 0 || outcome.exit_status != 0) &&
                     outcome.ended_by_us == Outcome::kNever;
    failure.text = Death(outcome);
    failure.root = failure.failed;
    return failure;
  }
  // After that it only tells of its end.
  failure.failed = outcome.reported < outcome.ended_by_us;
  std::string own = absl::StrCat("rank ", rank, ": ");
  failure.text = WithoutAddresses(
      absl::StripPrefix(outcome.report.message(), own), addresses);
  FindPeers(failure, nodes);
  failure.root = failure.failed;
  return failure;
}

using Outcomes = std::vector<Outcome>;

// Failures that tell of others get `because_of`.
void Connect(const Outcomes &outcomes, std::vector<Failure> &failures) {
  const size_t nodes = outcomes.size();
  for (size_t rank = 0; rank < nodes; ++rank) {
    Failure &failure = failures[rank];
    const Outcome &outcome = outcomes[rank];
    if (!failure.failed || outcome.report.ok()) continue;
    for (size_t peer : failure.peers) {
      if (peer == rank) continue;
      bool gone = failures[peer].failed ||
                  outcomes[peer].ended_by_us < outcome.reported;
      if (gone && (TellsOfPeer(outcome.report.code()) ||
                   failures[peer].detail == failure.detail))
        failure.because_of.push_back(peer);
    }
    failure.root = failure.because_of.empty();
  }
}

// Of ranks that blame each other, the first is the cause.
void BreakCycles(const Outcomes &outcomes, std::vector<Failure> &failures) {
  const size_t nodes = outcomes.size();
  std::vector<char> explained(nodes, 0);
  while (true) {
    bool changed = true;
    while (changed) {
      changed = false;
      for (size_t rank = 0; rank < nodes; ++rank) {
        const Failure &f = failures[rank];
        if (explained[rank]) continue;
        explained[rank] =
            !f.failed || f.root ||
            std::any_of(f.because_of.begin(), f.because_of.end(),
                        [&](size_t peer) { return explained[peer] != 0; });
        changed = changed || explained[rank];
      }
    }
    size_t first = nodes;
    for (size_t rank = 0; rank < nodes; ++rank)
      if (!explained[rank] &&
          (first == nodes || outcomes[rank].reported < outcomes[first].reported))
        first = rank;
    if (first == nodes) break;
    failures[first].root = true;
  }
}

// Of ranks that lost a peer which does not know that it is lost, the first is
// the cause.
void MergeByPeer(const Outcomes &outcomes, std::vector<Failure> &failures) {
  const size_t nodes = outcomes.size();
  std::map<size_t, size_t> first_to_tell;  // by peer
  for (size_t rank = 0; rank < nodes; ++rank) {
    const Failure &failure = failures[rank];
    if (!failure.root || failure.peers.empty() ||
        !TellsOfPeer(outcomes[rank].report.code()))
      continue;
    size_t &first =
        first_to_tell.emplace(failure.peers.back(), rank).first->second;
    if (outcomes[rank].reported < outcomes[first].reported) first = rank;
  }
  for (size_t rank = 0; rank < nodes; ++rank) {
    Failure &failure = failures[rank];
    if (failure.root && !failure.peers.empty() &&
        TellsOfPeer(outcomes[rank].report.code()))
      failure.root = first_to_tell[failure.peers.back()] == rank;
  }
}

}  // namespace

std::vector<std::string> Causes(const std::vector<Outcome> &outcomes,
                                const std::vector<std::string> &addresses) {
  const size_t nodes = outcomes.size();
  std::vector<Failure> failures;
  failures.reserve(nodes);
  for (size_t rank = 0; rank < nodes; ++rank)
    failures.push_back(Describe(outcomes[rank], rank, addresses, nodes));
  Connect(outcomes, failures);
  BreakCycles(outcomes, failures);
  MergeByPeer(outcomes, failures);

  std::vector<std::string> lines;
  for (size_t rank = 0; rank < nodes; ++rank) {
    const Failure &failure = failures[rank];
    if (!failure.root) continue;
    if (outcomes[rank].report.ok()) {
      lines.push_back(absl::StrCat("rank ", rank, " ", failure.text));
      continue;
    }
    std::vector<size_t> ranks;
    for (size_t other = rank; other < nodes; ++other) {
      if (!failures[other].root || outcomes[other].report.ok() ||
          failures[other].text != failure.text)
        continue;
      ranks.push_back(other);
      if (other != rank) failures[other].root = false;
    }
    std::string who = ranks.size() == 1 ? absl::StrCat("rank ", rank)
                      : ranks.size() == nodes
                          ? "all ranks"
                          : absl::StrCat("ranks ", absl::StrJoin(ranks, ", "));
    std::string line = absl::StrCat(who, ": ", failure.text);
    // Failing at the end, too.
    if (outcomes[rank].signal != 0 && outcomes[rank].ended_by_us == Outcome::kNever)
      absl::StrAppend(&line, "; then it ", Death(outcomes[rank]));
    lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace commsched::run
