// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Faults in what a rank of a drawn plan does, one at a time: which of them can do harm is decided by
// reachability (orders.h), and exactly those have findings.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "tests/cases.h"
#include "tests/runtime/cuda/device_job.h"
#include "tests/runtime/cuda/drawn_plan.h"
#include "tests/runtime/cuda/orders.h"

namespace commsched::runtime::cuda {
namespace {

using ::testing::IsEmpty;
using ::testing::Not;

// Whether two ops use the same bytes, one of them writing, and nothing orders them.
bool HasRace(const StepGraph &used, const IssuePlan &plan) {
  const Orders given = Orders::Given(used, plan);
  const std::vector<OrderedPair> conflicts = Conflicts(used);
  return std::any_of(conflicts.begin(), conflicts.end(), [&](const OrderedPair &pair) {
    return !given.Has(pair.first, pair.second);
  });
}

// The end of a call waits for all that it is behind, not only for what has to be said: a fault
// elsewhere does not end it early. Nobody waits for it.
void WaitForAll(const PlanGraph &graph, IssuePlan *plan) {
  for (uint32_t op = 0; op < plan->ops.size(); ++op) {
    if (graph.work[op].kind != DeviceOp::kEndOfCall) continue;
    plan->ops[op].waits = graph.graph.ops[op].after;
    for (const Dependence &wait : plan->ops[op].waits) {
      if (graph.graph.lanes[graph.graph.ops[wait.op].lane].host()) continue;
      plan->ops[wait.op].signals = true;
      plan->ops[wait.op].events = std::max(plan->ops[wait.op].events, kRoundsInFlight);
    }
  }
}

struct Outcome {
  std::vector<std::string> findings;
  bool values_equal = true;
  size_t left = 0;
};

struct Counts {
  int faults = 0, harmful = 0, by_values = 0;
};

class DeviceFaultsTest : public ::testing::Test {
 protected:
  // What a fault changes, of the step of rank 0; whether it can do harm.
  using Change = std::function<void(FakeProbe &, std::optional<bool> *harmful)>;

  void Run(uint64_t seed, const DrawnPlanOptions &drawn, const Change &change, Counts *counts) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937_64 random(seed);
    random_ = &random;
    const DrawnPlan plan = DrawPlan(random, drawn);
    auto image = PlanImage::Load(plan.bytes);
    ASSERT_TRUE(image.ok()) << image.status();
    DeviceJobOptions options;
    options.seed = random();
    options.kernels = [&plan](const std::string &, const std::string &name) {
      return &plan.fakes.at(name);
    };
    std::optional<bool> harmful;
    options.prepare = [&](int rank, FakeProbe &probe) {
      if (rank == 0) change(probe, &harmful);
    };
    DeviceJob job(*image, options);
    ASSERT_TRUE(job.status.ok()) << job.status;
    const Outcome outcome = Steps(plan, job);
    EXPECT_EQ(outcome.left, 0u);
    if (!harmful.has_value()) return;
    ++counts->faults;
    if (*harmful) {
      ++counts->harmful;
      EXPECT_THAT(outcome.findings, Not(IsEmpty()));
    } else {
      EXPECT_THAT(outcome.findings, IsEmpty());
    }
    counts->by_values += !outcome.values_equal;
  }

  static Outcome Steps(const DrawnPlan &plan, DeviceJob &job) {
    constexpr int kCalls = 10;
    DrawnReference reference(plan);
    auto batches = std::make_shared<std::vector<std::vector<DrawnReference::Bytes>>>();
    for (int r = 0; r < job.ranks(); ++r) {
      batches->emplace_back();
      for (const auto &[name, bytes] : BatchesOf(plan.proto.functions(0)))
        batches->back().emplace_back(bytes, std::byte(0));
    }
    Outcome outcome;
    for (int call = 0; call < kCalls; ++call) reference.Call(0, *batches);
    const absl::Status status = job.ForAll([&](int r) -> absl::Status {
      for (int call = 0; call < kCalls; ++call) {
        BatchRows rows;
        for (const auto &bytes : (*batches)[size_t(r)]) rows.data.push_back(bytes.data());
        rows.owner = batches;
        if (auto made = job.rank(r).Enqueue(0, std::move(rows)); !made.ok()) return made.status();
      }
      return job.rank(r).Drain();
    });
    EXPECT_TRUE(status.ok()) << status;
    for (int r = 0; r < job.ranks(); ++r) {
      for (uint32_t slot = 0; slot < uint32_t(plan.proto.slots_size()); ++slot) {
        DrawnReference::Bytes value(reference.slot(r, slot).size());
        EXPECT_TRUE(job.rank(r).GetSlot(slot, absl::MakeSpan(value)).ok());
        outcome.values_equal &= value == reference.slot(r, slot);
      }
    }
    DeviceJob::End end = job.Finish();
    outcome.findings = std::move(end.findings);
    outcome.left = end.left;
    return outcome;
  }

  uint64_t Draw(uint64_t below) { return (*random_)() % below; }

  // Places of ops as they are after a fault, though the graph says what was before: the waits are
  // those of the graph.
  void ChangePlaces(FakeProbe &probe, std::optional<bool> *harmful,
                    const std::function<bool(PlanGraph *used)> &change) {
    auto used = std::make_shared<PlanGraph>();
    auto changed = std::make_shared<bool>(false);
    probe.change_graph = [=](int function, PlanGraph *graph) {
      if (function != 0) return;
      *used = *graph;
      *changed = change(used.get());
      graph->work = used->work;
    };
    probe.change_plan = [=](int function, const PlanGraph &, IssuePlan *plan) {
      if (function == 0 && *changed) *harmful = HasRace(used->graph, *plan);
    };
  }
  // The ranges of an op that begin at `from` begin at `to`.
  static void Move(PlanGraph *used, size_t op, const DevicePlace &from, const DevicePlace &to) {
    for (DevicePlace &place : used->work[op].places) {
      if (place == from) place = to;
    }
    Op &ranges = used->graph.ops[op];
    for (std::vector<Range> *list : {&ranges.reads, &ranges.writes}) {
      for (Range &range : *list) {
        if (range.memory == from.memory && range.begin == from.offset) range.begin = to.offset;
      }
    }
  }

  std::mt19937_64 *random_ = nullptr;
};

void Report(const char *what, const Counts &counts) {
  std::printf("%s: %d, %d can do harm and were found; values were wrong in %d\n", what,
              counts.faults, counts.harmful, counts.by_values);
  EXPECT_GT(counts.harmful, counts.faults / 20);
}

TEST_F(DeviceFaultsTest, AWaitThatIsLeftOut) {
  Counts counts;
  const Cases cases = casesOf(80);
  for (uint32_t seed = cases.first; seed < cases.end && !HasFailure(); ++seed) {
    Run(seed, {}, [&](FakeProbe &probe, std::optional<bool> *harmful) { probe.change_plan = [&, harmful](int function, const PlanGraph &graph, IssuePlan *plan) {
                                                                          if (function != 0) return;
                                                                          WaitForAll(graph, plan);
                                                                          std::vector<uint32_t> ops;
                                                                          for (uint32_t op = 0; op < plan->ops.size(); ++op) {
                                                                            if (graph.work[op].kind != DeviceOp::kEndOfCall && !plan->ops[op].waits.empty())
                                                                              ops.push_back(op);
                                                                          }
                                                                          if (ops.empty()) return;
                                                                          auto &waits = plan->ops[ops[Draw(ops.size())]].waits;
                                                                          waits.erase(waits.begin() + ptrdiff_t(Draw(waits.size())));
                                                                          *harmful = HasRace(graph.graph, *plan);
                                                                        }; }, &counts);
  }
  Report("waits left out", counts);
}

TEST_F(DeviceFaultsTest, ARangeThatIsLeftOut) {
  Counts counts;
  const Cases cases = casesOf(80);
  for (uint32_t seed = cases.first; seed < cases.end && !HasFailure(); ++seed) {
    Run(seed, {}, [&](FakeProbe &probe, std::optional<bool> *harmful) {
          auto whole = std::make_shared<StepGraph>();
          probe.change_graph = [&, whole](int function, PlanGraph *graph) {
            if (function != 0) return;
            *whole = graph->graph;
            Op &op = graph->graph.ops[Draw(graph->graph.ops.size())];
            std::vector<Range> &ranges = Draw(2) == 0 ? op.reads : op.writes;
            if (!ranges.empty()) ranges.erase(ranges.begin() + ptrdiff_t(Draw(ranges.size())));
          };
          probe.change_plan = [whole, harmful](int function, const PlanGraph &graph,
                                               IssuePlan *plan) {
            if (function != 0) return;
            WaitForAll(graph, plan);
            *harmful = HasRace(*whole, *plan);
          }; }, &counts);
  }
  Report("ranges left out", counts);
}

// In the second call of a round an op has the other copy of a slot.
TEST_F(DeviceFaultsTest, CopiesOfASlotInEachOthersPlace) {
  Counts counts;
  const Cases cases = casesOf(80);
  for (uint32_t seed = cases.first; seed < cases.end && !HasFailure(); ++seed) {
    Run(seed, {.nccl = false}, [&](FakeProbe &probe, std::optional<bool> *harmful) { ChangePlaces(probe, harmful, [&](PlanGraph *used) {
                                                                                       // An instruction's places in the other call have the other copy.
                                                                                       std::vector<std::tuple<size_t, DevicePlace, DevicePlace>> choices;
                                                                                       for (size_t op = 0; op < used->work.size(); ++op) {
                                                                                         const DeviceOp &work = used->work[op];
                                                                                         if (work.instruction == DeviceOp::kNone || work.call == 0) continue;
                                                                                         for (size_t other = 0; other < used->second_call; ++other) {
                                                                                           if (used->work[other].instruction != work.instruction) continue;
                                                                                           for (size_t i = 0; i < work.places.size(); ++i) {
                                                                                             const DevicePlace from = work.places[i], to = used->work[other].places[i];
                                                                                             if (from.memory == kSlotMemory && !(from == to)) choices.emplace_back(op, from, to);
                                                                                           }
                                                                                         }
                                                                                       }
                                                                                       if (choices.empty()) return false;
                                                                                       const auto &[op, from, to] = choices[Draw(choices.size())];
                                                                                       Move(used, op, from, to);
                                                                                       return true;
                                                                                     }); }, &counts);
  }
  Report("copies of slots mixed up", counts);
}

// A message has a place of staging memory that another one has.
TEST_F(DeviceFaultsTest, APlaceThatIsUsedAgainTooEarly) {
  Counts counts;
  const Cases cases = casesOf(120);
  for (uint32_t seed = cases.first; seed < cases.end && !HasFailure(); ++seed) {
    Run(seed, {.nccl = false}, [&](FakeProbe &probe, std::optional<bool> *harmful) { ChangePlaces(probe, harmful, [&](PlanGraph *used) {
                                                                                       std::vector<size_t> messages;
                                                                                       for (size_t op = 0; op < used->work.size(); ++op) {
                                                                                         if (used->work[op].kind == DeviceOp::kMessage) messages.push_back(op);
                                                                                       }
                                                                                       if (messages.size() < 2) return false;
                                                                                       const size_t op = messages[Draw(messages.size())];
                                                                                       const DevicePlace from = used->work[op].places[0];
                                                                                       const DevicePlace to = used->work[messages[Draw(messages.size())]].places[0];
                                                                                       const uint64_t bytes = used->graph.ops[op].writes[0].bytes;
                                                                                       if (from == to || to.offset + bytes > used->bytes[kHostArenaMemory]) return false;
                                                                                       // With the copies to it and from it in the same call.
                                                                                       const uint32_t call = used->work[op].call;
                                                                                       for (size_t other = 0; other < used->work.size(); ++other) {
                                                                                         if (used->work[other].call == call) Move(used, other, from, to);
                                                                                       }
                                                                                       return true;
                                                                                     }); }, &counts);
  }
  Report("places used again too early", counts);
}

}  // namespace
}  // namespace commsched::runtime::cuda
