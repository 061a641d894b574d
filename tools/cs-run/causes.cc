// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/cs-run/causes.h"

#include <string.h>

#include <algorithm>
#include <initializer_list>
#include <map>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace commsched::run {
namespace {

// The processes of a cluster: those of the ranks, then those of the servers.
struct Processes {
  size_t ranks, servers;
  size_t size() const { return ranks + servers; }
  std::string Name(size_t process) const {
    return process < ranks ? absl::StrCat("rank ", process)
                           : absl::StrCat("server ", process - ranks);
  }
};

// What is known of one process's failure.
struct Failure {
  bool failed = false;  // by itself, or by what it heard of others
  bool root = false;
  std::string text;                // without its name and the addresses
  std::string common;              // of the text: what another process would say of its own files
  std::string detail;              // of the text: what is behind the last peer
  std::vector<size_t> peers;       // in the text, in order
  std::vector<size_t> because_of;  // processes
};

std::string WithoutAddresses(absl::string_view text,
                             const std::vector<std::string> &addresses) {
  std::string out(text);
  for (const std::string &address : addresses)
    absl::StrReplaceAll({{absl::StrCat(" (", address, ")"), ""}}, &out);
  return out;
}

// Without what says in names of files, and elsewhere, that it is this process: "server.1.checkpoint", "rank 2".
std::string WithoutOwn(absl::string_view text, const std::string &name) {
  const auto [kind, number] = std::pair<std::string, std::string>(absl::StrSplit(name, ' '));
  std::string out;
  for (size_t at = 0; at < text.size();) {
    absl::string_view rest = text.substr(at);
    const bool word = (at == 0 || !absl::ascii_isalnum(text[at - 1])) && absl::ConsumePrefix(&rest, kind);
    if (word && !rest.empty() && (rest[0] == '.' || rest[0] == ' ')) rest.remove_prefix(1);
    const bool own = word && absl::ConsumePrefix(&rest, number) && (rest.empty() || !absl::ascii_isdigit(rest[0]));
    if (!own) {
      out += text[at++];
      continue;
    }
    absl::StrAppend(&out, kind);
    at = text.size() - rest.size();
  }
  return out;
}

// If one of `words`, with or without an "s", stands at the front, with a space:
// takes it away.
bool ConsumeWord(absl::string_view *text, std::initializer_list<absl::string_view> words) {
  for (absl::string_view word : words) {
    absl::string_view rest = *text;
    if (!absl::ConsumePrefix(&rest, word)) continue;
    absl::ConsumePrefix(&rest, "s");
    if (!absl::ConsumePrefix(&rest, " ")) continue;
    *text = rest;
    return true;
  }
  return false;
}

// The processes of "peer 1: ...", "peers 1, 2 did ...", "trainer 0 ...",
// "server 1 ...".
void FindPeers(Failure &failure, const Processes &processes) {
  absl::string_view text = failure.text;
  failure.detail = failure.text;
  for (size_t at = 0; at < text.size(); ++at) {
    if (at != 0 && absl::ascii_isalnum(text[at - 1])) continue;
    absl::string_view rest = text.substr(at);
    const bool is_rank = ConsumeWord(&rest, {"peer", "trainer"});
    if (!is_rank && !ConsumeWord(&rest, {"server"})) continue;
    const size_t first = is_rank ? 0 : processes.ranks;
    const size_t count = is_rank ? processes.ranks : processes.servers;
    do {
      size_t peer = 0, digits = 0;
      while (digits < rest.size() && digits < 4 && absl::ascii_isdigit(rest[digits]))
        peer = peer * 10 + size_t(rest[digits++] - '0');
      if (digits == 0 || peer >= count) break;
      rest.remove_prefix(digits);
      failure.peers.push_back(first + peer);
      failure.detail = std::string(rest.substr(std::min(rest.find_first_not_of(": "), rest.size())));
    } while (absl::ConsumePrefix(&rest, ", "));
  }
}

// "rank 0", "ranks 1, 2 and server 0", "all ranks", "all processes".
std::string Names(const std::vector<size_t> &chosen, const Processes &processes) {
  if (chosen.size() > 1 && chosen.size() == processes.size())
    return processes.servers == 0 ? "all ranks" : "all processes";
  std::vector<size_t> ranks, servers;
  for (size_t process : chosen)
    (process < processes.ranks ? ranks : servers)
        .push_back(process < processes.ranks ? process : process - processes.ranks);
  auto list = [](absl::string_view kind, const std::vector<size_t> &of) {
    return of.empty() ? std::string()
                      : absl::StrCat(kind, of.size() > 1 ? "s " : " ",
                                     absl::StrJoin(of, ", "));
  };
  return absl::StrCat(list("rank", ranks),
                      ranks.empty() || servers.empty() ? "" : " and ",
                      list("server", servers));
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
    return absl::StrCat("was killed by signal ", outcome.signal, " (", strsignal(outcome.signal), ")",
                        outcome.out_of_memory ? ": the memory of this host, or of its container, was used up" : "");
  return absl::StrCat("ended with status ", outcome.exit_status);
}

Failure Describe(const Outcome &outcome, size_t process,
                 const std::vector<std::string> &addresses,
                 const Processes &processes) {
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
  absl::string_view text = outcome.report.message();
  if (absl::ConsumePrefix(&text, processes.Name(process)))
    if (!absl::ConsumePrefix(&text, ": ") && !absl::ConsumePrefix(&text, " ")) text = outcome.report.message();
  failure.text = WithoutAddresses(text, addresses);
  failure.common = WithoutOwn(failure.text, processes.Name(process));
  FindPeers(failure, processes);
  failure.root = failure.failed;
  return failure;
}

using Outcomes = std::vector<Outcome>;

// "step 12: ...": what went wrong in an earlier step is the cause.
void ConnectSteps(std::vector<Failure> &failures) {
  auto step_of = [](const Failure &failure, uint64_t *step) {
    absl::string_view rest = failure.text;
    const bool named = failure.root && absl::ConsumePrefix(&rest, "step ");
    return named && absl::SimpleAtoi(rest.substr(0, rest.find(':')), step);
  };
  size_t first = failures.size();
  uint64_t earliest = 0, step = 0;
  for (size_t i = 0; i < failures.size(); ++i)
    if (step_of(failures[i], &step) && (first == failures.size() || step < earliest)) {
      first = i;
      earliest = step;
    }
  for (Failure &failure : failures)
    if (step_of(failure, &step) && step > earliest) {
      failure.because_of.push_back(first);
      failure.root = false;
    }
}

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
  ConnectSteps(failures);
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

std::string WithoutNumbers(absl::string_view text) {
  std::string out(text);
  out.erase(std::remove_if(out.begin(), out.end(), absl::ascii_isdigit), out.end());
  return out;
}

// Whether two processes have failed alike. How much of something is left each has seen at another moment.
bool IsSame(const Outcome &one, const Failure &first, const Outcome &other, const Failure &second) {
  if (one.report.ok() != other.report.ok()) return false;
  return first.text == second.text || (!one.report.ok() && first.common == second.common) ||
         (absl::IsResourceExhausted(one.report) && absl::IsResourceExhausted(other.report) &&
          WithoutNumbers(first.text) == WithoutNumbers(second.text));
}

}  // namespace

std::vector<std::string> Causes(const std::vector<Outcome> &outcomes,
                                const std::vector<std::string> &addresses,
                                int servers) {
  const size_t nodes = outcomes.size();
  const Processes processes = {nodes - size_t(servers), size_t(servers)};
  std::vector<Failure> failures;
  failures.reserve(nodes);
  for (size_t rank = 0; rank < nodes; ++rank)
    failures.push_back(Describe(outcomes[rank], rank, addresses, processes));
  Connect(outcomes, failures);
  BreakCycles(outcomes, failures);
  MergeByPeer(outcomes, failures);

  std::vector<std::string> lines;
  for (size_t rank = 0; rank < nodes; ++rank) {
    const Failure &failure = failures[rank];
    if (!failure.root) continue;
    std::vector<size_t> same;
    for (size_t other = rank; other < nodes; ++other) {
      if (!failures[other].root || !IsSame(outcomes[rank], failure, outcomes[other], failures[other])) continue;
      same.push_back(other);
      if (other != rank) failures[other].root = false;
    }
    std::string who = Names(same, processes);
    if (outcomes[rank].report.ok()) {
      absl::string_view text = failure.text;
      const bool were = same.size() > 1 && absl::ConsumePrefix(&text, "was ");
      lines.push_back(absl::StrCat(who, were ? " were " : " ", text));
      continue;
    }
    std::string line = absl::StrCat(who, ": ", failure.text);
    // Failing at the end, too.
    if (outcomes[rank].signal != 0 && outcomes[rank].ended_by_us == Outcome::kNever)
      absl::StrAppend(&line, "; then it ", Death(outcomes[rank]));
    lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace commsched::run
