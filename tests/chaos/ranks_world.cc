// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tests/chaos/ranks_world.h"

#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"

namespace commsched::runtime::core {
namespace {

// What may lie between a fault and the end, besides the deadline: what is noticed late, and
// goodbyes; and the job itself, of each step.
constexpr Time kSlack = 30 * kSecond, kStep = 5 * kSecond;

std::set<int> All(int nodes) {
  std::set<int> ranks;
  for (int r = 0; r < nodes; ++r) ranks.insert(r);
  return ranks;
}

}  // namespace

RanksWorld::RanksWorld(const RanksCase &ranks, uint64_t seed)
    : World(seed), case_(ranks), leader_(All(ranks.nodes())) {
  for (int r = 0; r < case_.nodes(); ++r) {
    // All, if the plan can change.
    partners_.push_back(case_.plans.size() > 1 ? All(case_.nodes())
                                               : PartnersOf(case_.plans[0][size_t(r)]));
    partners_.back().erase(r);
    Rank &rank = ranks_.emplace_back();
    for (int peer = 0; peer < case_.nodes(); ++peer) rank.ends.emplace_back(peer, case_.limits);
    rank.calls = std::make_unique<Calls>(case_.streams);
    rank.busy.resize(case_.streams.size());
    rank.values = ParametersAfter(case_, 0)[size_t(r)];
    rank.gradients = rank.values;
    for (uint32_t p = 0; p < rank.values.size(); ++p)
      rank.buffers.emplace_back(case_.buffer_elements(p));
  }
  for (int r = 0; r < case_.nodes(); ++r)
    At(Random(kSecond), &ranks_[size_t(r)], [this, r] { StartRank(r); });
}

// --- Faults -------------------------------------------------------------------

void RanksWorld::BreakConnection(Time at, int r, int peer) {
  if (!Partner(r, peer)) return;
  ++faults_;
  may_fail_ = true;
  last_fault_ = std::max(last_fault_, at);
  At(at, nullptr, [=, this] {
    Note(absl::StrCat("the connection of ranks ", r, " and ", peer, " breaks"));
    Break(r, peer);
  });
}

void RanksWorld::KillRank(Time at, int r) {
  ++faults_;
  may_fail_ = true;
  last_fault_ = std::max(last_fault_, at);
  At(at, nullptr, [=, this] {
    Rank &rank = ranks_[size_t(r)];
    if (rank.ended || !rank.alive) return;
    Note(absl::StrCat("rank ", r, " is killed"));
    rank.alive = false;
    killed_.insert(r);
    for (const Rank &other : ranks_) killed_early_ |= other.alive && !other.started;
    for (int peer = 0; peer < case_.nodes(); ++peer)
      if (Partner(r, peer)) Break(r, peer);
  });
}

void RanksWorld::StopRank(Time at, int r, Time length) {
  ++faults_;
  last_fault_ = std::max(last_fault_, at + length);
  disturbed_ += length;
  may_fail_ |= disturbed_ > kKeepalive - kSecond;
  Stop(at, &ranks_[size_t(r)], absl::StrCat("rank ", r), length);
  // Who is stopped answers nothing, so that others give it up.
  for (int peer = 0; peer < case_.nodes() && length > kKeepalive; ++peer)
    if (const Time after = kKeepalive + Random(kKeepalive); Partner(r, peer) && after < length)
      At(at + after, nullptr, [=, this] { Break(r, peer); });
}

void RanksWorld::HangRank(Time at, int r) {
  ++faults_;
  may_fail_ = true;
  last_fault_ = std::max(last_fault_, at);
  At(at, nullptr, [=, this] {
    Note(absl::StrCat("rank ", r, " computes for ever"));
    ranks_[size_t(r)].hangs = true;
  });
}

Greeting RanksWorld::GreetingOf(int from, int to) const {
  return {.protocol = 7, .epoch = 3, .nodes = case_.nodes(), .rank = from, .to = to, .plan_digest = 11};
}

// Who has begun only refuses it; who still waits for all to join takes it for one of them,
// but for one of an earlier membership.
void RanksWorld::CallRank(Time at, int r, const Greeting &stranger) {
  const Greeting own = GreetingOf(r, stranger.rank);
  const bool earlier = stranger.protocol == own.protocol && stranger.epoch < own.epoch;
  may_fail_ |= !earlier;
  if (!earlier) last_fault_ = std::max(last_fault_, at);
  At(at, &ranks_[size_t(r)], [=, this] {
    const Rank &rank = ranks_[size_t(r)];
    if (!rank.stall || rank.ended) return;
    const bool inside = stranger.rank >= 0 && stranger.rank < case_.nodes();
    const Verdict verdict = JudgeCaller(own, stranger, inside && Partner(r, stranger.rank));
    Note(absl::StrCat("rank ", r, " is called by a stranger: ", verdict.why));
    if (verdict.kind == Verdict::kWelcome) wrong_.push_back("a stranger is welcome");
    if (verdict.kind == Verdict::kEarlier || verdict.kind == Verdict::kWelcome || rank.started) return;
    ++faults_;
    Fail(r, absl::FailedPreconditionError(
                absl::StrCat("peer ", stranger.rank, " is refused: ", verdict.why)));
  });
}

// --- What came of it ----------------------------------------------------------

bool RanksWorld::failed() const {
  for (const Rank &rank : ranks_)
    if (!rank.ended || !rank.error.empty()) return true;
  return false;
}

size_t RanksWorld::changes() const { return ranks_[0].changes.size(); }

std::string RanksWorld::Wrong() const {
  if (!wrong_.empty()) return wrong_.front();
  const std::vector<std::vector<Tensor>> values = ParametersAfter(case_, case_.steps);
  for (size_t r = 0; r < ranks_.size(); ++r) {
    const Rank &rank = ranks_[r];
    if (!rank.alive) continue;
    // Of code that never ends when all partners have what they want nobody knows.
    bool wanted = false;
    for (size_t o = 0; o < ranks_.size(); ++o) {
      const Rank &other = ranks_[o];
      wanted |= Partner(int(r), int(o)) && other.alive && !other.hangs &&
                (!other.ended || !other.error.empty());
    }
    if (!rank.ended && rank.hangs && !wanted) continue;
    if (!rank.ended) return absl::StrCat("rank ", r, " hangs");
    if (rank.ended_at > last_fault_ + kDeadline + kSlack + Time(case_.steps) * kStep)
      return absl::StrCat("rank ", r, " ends too late");
    if (rank.error.empty()) {
      if (rank.values != values[r]) return absl::StrCat("rank ", r, " has wrong values");
      // Who was stopped on its way has made fewer.
      const auto &first = ranks_[0].changes;
      const size_t made = ranks_[0].ended && ranks_[0].error.empty()
                              ? std::max(first.size(), rank.changes.size())
                              : std::min(first.size(), rank.changes.size());
      if (!absl::c_equal(absl::MakeSpan(first).subspan(0, made),
                         absl::MakeSpan(rank.changes).subspan(0, made)))
        return absl::StrCat("rank ", r, " changed plans with other calls than rank 0");
      continue;
    }
    if (!may_fail_) return absl::StrCat("rank ", r, " failed for no reason: ", rank.error);
    if (!absl::StrContains(rank.error, "peer "))
      return absl::StrCat("the error of rank ", r, " names nobody: ", rank.error);
    // Of one that ended before they joined, others hear only that it is not there.
    if (faults_ == 1 && killed_.size() == 1 && !killed_early_ &&
        !absl::StrContains(rank.error, absl::StrCat("peer ", *killed_.begin())))
      return absl::StrCat("the error of rank ", r, " does not name who was killed: ", rank.error);
  }
  return "";
}

}  // namespace commsched::runtime::core
