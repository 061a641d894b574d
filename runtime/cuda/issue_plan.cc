// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/cuda/issue_plan.h"

#include <algorithm>
#include <iterator>
#include <map>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace commsched::runtime::cuda {
namespace {

// An op of one of the two rounds that are looked at: counted over both.
using Instance = uint32_t;

absl::Status Check(const StepGraph &graph) {
  const size_t ops = graph.ops.size();
  for (size_t i = 0; i < ops; ++i) {
    const Op &op = graph.ops[i];
    const auto wrong = [&op](auto &&...text) {
      return absl::InvalidArgumentError(absl::StrCat("op \"", op.name, "\" ", text...));
    };
    if (op.lane >= graph.lanes.size())
      return wrong("must be on one of ", graph.lanes.size(), " lanes, got: ", op.lane);
    for (const Dependence &on : op.after) {
      if (on.op >= ops) return wrong("must wait for one of ", ops, " ops, got: ", on.op);
      if (!on.previous && on.op >= i)
        return wrong("must wait for an op before it, got: \"", graph.ops[on.op].name, "\"");
    }
    for (const std::vector<Range> *ranges : {&op.reads, &op.writes}) {
      for (const Range &range : *ranges) {
        if (range.bytes == 0 || range.begin + range.bytes < range.begin)
          return wrong("must use 1 byte or more below 2^64, got: ", range.bytes, " from ",
                       range.begin);
      }
    }
  }
  return absl::OkStatus();
}

// Who used each byte last. What was used before is ordered by these.
class LastUses {
 public:
  // Adds to `found` the ops that one that does this must wait for, and remembers it.
  void Read(const Range &range, Instance by, std::vector<Instance> *found) {
    ForEach(range, [&](Use &use) {
      if (use.written) found->push_back(use.writer);
      use.readers.push_back(by);
    });
  }
  void Write(const Range &range, Instance by, std::vector<Instance> *found) {
    ForEach(range, [&](Use &use) {
      if (use.written) found->push_back(use.writer);
      found->insert(found->end(), use.readers.begin(), use.readers.end());
      use.readers.clear();
      use.writer = by;
      use.written = true;
    });
  }

 private:
  struct Use {
    bool written = false;
    Instance writer = 0;
    std::vector<Instance> readers;  // since it was written
  };
  using Uses = std::map<uint64_t, Use>;  // by the first byte; each up to the next one

  static Uses::iterator Split(Uses &uses, uint64_t at) {
    auto after = uses.upper_bound(at);
    if (after == uses.begin()) return uses.emplace_hint(after, at, Use{});
    auto before = std::prev(after);
    return before->first == at ? before : uses.emplace_hint(after, at, before->second);
  }
  template <typename F>
  void ForEach(const Range &range, F f) {
    Uses &uses = memories_[range.memory];
    Split(uses, range.begin);
    const auto end = Split(uses, range.begin + range.bytes);
    for (auto use = uses.find(range.begin); use != end; ++use) f(use->second);
  }
  std::map<uint32_t, Uses> memories_;
};

// What has ended, for each lane: so many ops of it.
using Ended = std::vector<uint32_t>;

class Planner {
 public:
  explicit Planner(const StepGraph &graph)
      : graph_(graph),
        ops_(uint32_t(graph.ops.size())),
        known_(graph.lanes.size(), Ended(graph.lanes.size(), 0)),
        ended_(2 * graph.ops.size()),
        number_(2 * graph.ops.size()) {}

  IssuePlan Plan() {
    IssuePlan plan{std::vector<IssueOp>(ops_)};
    for (Instance i = 0; i < 2 * ops_; ++i) {
      const std::vector<Instance> waits = Waits(i);
      if (i < ops_) continue;
      for (Instance on : waits) plan.ops[i - ops_].waits.push_back({on % ops_, on < ops_});
    }
    for (uint32_t i = 0; i < ops_; ++i) {
      for (const Dependence &wait : plan.ops[i].waits) {
        IssueOp &on = plan.ops[wait.op];
        on.signals = true;
        if (graph_.lanes[graph_.ops[wait.op].lane].host()) continue;
        const bool host = graph_.lanes[graph_.ops[i].lane].host();
        on.events = std::max(on.events, host ? kRoundsInFlight + wait.previous
                                             : 1 + uint32_t(wait.previous && i > wait.op));
      }
    }
    return plan;
  }

 private:
  const Op &OpOf(Instance i) const { return graph_.ops[i % ops_]; }
  bool Implied(Instance on, const Ended &ended) const {
    return ended[OpOf(on).lane] >= number_[on];
  }

  std::vector<Instance> Waits(Instance i) {
    const Op &op = OpOf(i);
    std::vector<Instance> found;
    for (const Range &range : op.reads) uses_.Read(range, i, &found);
    for (const Range &range : op.writes) uses_.Write(range, i, &found);
    for (const Dependence &on : op.after) {
      const Instance base = i < ops_ ? 0 : ops_;
      if (!on.previous)
        found.push_back(base + on.op);
      else if (base != 0)
        found.push_back(on.op);
    }
    Ended &known = known_[op.lane];
    std::sort(found.begin(), found.end());
    found.erase(std::unique(found.begin(), found.end()), found.end());
    std::vector<Instance> open, waits;
    for (Instance on : found) {
      if (on != i && OpOf(on).lane != op.lane && !Implied(on, known)) open.push_back(on);
    }
    for (Instance on : open) {
      if (std::none_of(open.begin(), open.end(),
                       [&](Instance other) { return other != on && Implied(on, ended_[other]); }))
        waits.push_back(on);
    }
    for (Instance on : waits) {
      for (size_t lane = 0; lane < known.size(); ++lane)
        known[lane] = std::max(known[lane], ended_[on][lane]);
    }
    number_[i] = ++known[op.lane];
    ended_[i] = known;
    return waits;
  }

  const StepGraph &graph_;
  const uint32_t ops_;
  LastUses uses_;
  std::vector<Ended> known_;      // when the next op of a lane begins
  std::vector<Ended> ended_;      // when an op has ended
  std::vector<uint32_t> number_;  // of an op in its lane, from 1 on
};

}  // namespace

size_t IssuePlan::waits() const {
  size_t count = 0;
  for (const IssueOp &op : ops) count += op.waits.size();
  return count;
}

size_t IssuePlan::signals() const {
  return size_t(
      std::count_if(ops.begin(), ops.end(), [](const IssueOp &op) { return op.signals; }));
}

absl::StatusOr<IssuePlan> PlanIssue(const StepGraph &graph) {
  if (absl::Status status = Check(graph); !status.ok()) return status;
  return Planner(graph).Plan();
}

}  // namespace commsched::runtime::cuda
