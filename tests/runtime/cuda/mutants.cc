// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tests/runtime/cuda/mutants.h"

#include <algorithm>
#include <random>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/cuda/issue_plan.h"
#include "tests/runtime/cuda/graph_run.h"
#include "tests/runtime/cuda/orders.h"
#include "tests/runtime/cuda/random_graph.h"

namespace commsched::runtime::cuda {
namespace {

// As many as the reference looks at.
constexpr uint64_t kRounds = kRoundsOfOrders;

class Trial {
 public:
  Trial(uint64_t seed, MutantCounts *counts) : random_(seed), seed_(seed), counts_(*counts) {
    case_ = RandomGraph(random_);
  }

  void Run(int orders) {
    ++counts_.graphs;
    absl::StatusOr<IssuePlan> plan = PlanIssue(case_.graph);
    if (!plan.ok()) return Wrong(plan.status().ToString());
    plan_ = *std::move(plan);
    for (int i = 0; i < orders; ++i) AsItIs();
    for (uint32_t op = 0; op < plan_.ops.size(); ++op) {
      for (size_t wait = 0; wait < plan_.ops[op].waits.size(); ++wait) WithoutWait(op, wait);
    }
    for (uint32_t first = 0; first < case_.work.size(); ++first) {
      for (uint32_t second = first + 1; second < case_.work.size(); ++second)
        Swapped(first, second);
    }
    PlacesTooEarly();
  }

 private:
  void Wrong(const std::string &what) {
    counts_.wrong.push_back(absl::StrCat("graph ", seed_, ": ", what));
  }
  void FalseAlarm(const std::string &what) {
    ++counts_.false_alarms;
    Wrong(absl::StrCat("false alarm: ", what));
  }
  GraphRunResult RunOnce(const GraphCase &graph_case, const IssuePlan &plan,
                         GraphRunOptions options = {}) {
    ++counts_.runs;
    options.seed = random_();
    options.rounds = kRounds;
    GraphRunResult result = RunGraph(graph_case, plan, options);
    if (!result.status.ok()) Wrong(result.status.ToString());
    return result;
  }
  // Which pairs of ops that use the same bytes are in no order, as findings name them.
  std::set<std::string> Unordered(const GraphCase &graph_case, const IssuePlan &plan) {
    std::set<std::string> names;
    const Orders given = Orders::Given(graph_case.graph, plan);
    for (const auto &[first, second] : Conflicts(graph_case.graph)) {
      if (given.Has(first, second) || first == second) continue;
      const std::string a = NameOf(graph_case, first), b = NameOf(graph_case, second);
      for (const char *use : {"\" reads what \"", "\" writes what \""}) {
        names.insert(absl::StrCat("race: \"", a, use, b));
        names.insert(absl::StrCat("race: \"", b, use, a));
      }
    }
    return names;
  }

  void AsItIs() {
    const GraphRunResult result = RunOnce(case_, plan_);
    if (!result.findings.empty()) FalseAlarm(absl::StrJoin(result.findings, "; "));
    if (!result.values_equal) Wrong("values differ");
    if (result.left != 0) Wrong(absl::StrCat(result.left, " things are left"));
  }

  // A fault that leaves `unordered` pairs: the races that are found are among them.
  void Judge(const std::string &what, const std::set<std::string> &unordered,
             const GraphRunResult &result, MutantCounts::Of *kind) {
    bool found = false;
    for (const std::string &line : result.findings) {
      if (!absl::StartsWith(line, "race: ")) {
        FalseAlarm(absl::StrCat(what, ": ", line));
        continue;
      }
      // Without what the other op does to the bytes.
      const std::string pair = line.substr(0, line.rfind("\" "));
      if (unordered.count(pair) == 0) FalseAlarm(absl::StrCat(what, ": ", line));
      found = true;
    }
    if (unordered.empty()) {
      ++counts_.harmless;
      return;
    }
    ++kind->mutants;
    kind->found += found ? 1 : 0;
    kind->by_values += result.values_equal ? 0 : 1;
    if (!found) Wrong(absl::StrCat("not found: ", what));
  }

  void WithoutWait(uint32_t op, size_t wait) {
    IssuePlan plan = plan_;
    std::vector<Dependence> &waits = plan.ops[op].waits;
    const Dependence dropped = waits[wait];
    waits.erase(waits.begin() + ptrdiff_t(wait));
    Judge(absl::StrCat("\"", case_.graph.ops[op].name, "\" does not wait for \"",
                       case_.graph.ops[dropped.op].name, dropped.previous ? "\" before" : "\""),
          Unordered(case_, plan), RunOnce(case_, plan), &counts_.waits);
  }

  void Swapped(uint32_t first, uint32_t second) {
    const OpWork &a = case_.work[first], &b = case_.work[second];
    if (a.kind != OpWork::kCollective || b.kind != OpWork::kCollective || case_.ranks == 1) return;
    const Op &x = case_.graph.ops[first], &y = case_.graph.ops[second];
    // Two equal calls are no order.
    if (a.collective == b.collective && a.count == b.count && a.type == b.type &&
        (a.reduction == b.reduction || a.collective == Collective::Kind::kAllGather) &&
        x.reads.front().begin == y.reads.front().begin &&
        x.writes.front().begin == y.writes.front().begin)
      return;
    GraphRunOptions options;
    options.swap = {int(random_() % uint64_t(case_.ranks)), first, second};
    const GraphRunResult result = RunOnce(case_, plan_, options);
    ++counts_.swaps.mutants;
    const bool found =
        std::any_of(result.findings.begin(), result.findings.end(),
                    [](const std::string &line) { return absl::StartsWith(line, "mismatch: "); });
    counts_.swaps.found += found ? 1 : 0;
    counts_.swaps.by_values += result.values_equal ? 0 : 1;
    if (!found)
      Wrong(absl::StrCat("not found: \"", x.name, "\" and \"", y.name, "\" in each other's place"));
  }

  // The plan is that of the ring as it is, the places are those of a smaller one.
  void PlacesTooEarly() {
    uint64_t least = 0;
    for (const GraphCase::Buffer &buffer : case_.buffers) least = std::max(least, buffer.bytes);
    for (uint64_t ring = least; ring != 0 && ring < case_.memory[kStaging]; ring += 16) {
      GraphCase early = case_;
      PlaceBuffers(&early, ring);
      Judge(absl::StrCat("a ring of ", ring, " bytes"), Unordered(early, plan_),
            RunOnce(early, plan_), &counts_.places);
    }
  }

  std::mt19937_64 random_;
  uint64_t seed_;
  MutantCounts &counts_;
  GraphCase case_;
  IssuePlan plan_;
};

}  // namespace

void TryGraph(uint64_t seed, int orders, MutantCounts *counts) { Trial(seed, counts).Run(orders); }

}  // namespace commsched::runtime::cuda
