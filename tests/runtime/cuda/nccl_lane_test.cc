// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The lanes of all ranks of a job, each on its own thread, on a machine without a device: rounds of
// random graphs give the values that they should; a rank that is lost, an error of the communicator
// and a collective that hangs each end every lane with one error that names key and step.
#include "runtime/cuda/nccl_lane.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/cuda/issue_plan.h"
#include "runtime/cuda/load.h"
#include "runtime/cuda/step_issuer.h"
#include "tests/cases.h"
#include "tests/runtime/cuda/fake_machine.h"
#include "tests/runtime/cuda/graph_run.h"
#include "tests/runtime/cuda/random_graph.h"

namespace commsched::runtime::cuda {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

constexpr uint64_t kRounds = 4;

// Of one rank: a graph whose ops are all on the device. Everything is enqueued by the lane's
// thread, round by round.
class LaneRank {
 public:
  LaneRank(const GraphCase &graph_case, const IssuePlan &plan, int rank, const NcclUniqueId &id,
           absl::Duration deadline, std::function<Time()> now, FakeMachine &machine)
      : case_(graph_case), plan_(plan), rank_(rank), machine_(machine) {
    for (const std::vector<std::byte> &bytes : InitialMemory(case_, rank)) {
      void *memory = nullptr;
      kFakeNccl.MemAlloc(&memory, bytes.size() + 1);
      std::memcpy(memory, bytes.data(), bytes.size());
      memory_.push_back(static_cast<std::byte *>(memory));
    }
    options_ = {.driver = &kFakeDriver,
                .nccl = &kFakeNccl,
                .context = reinterpret_cast<Context>(uintptr_t(rank) + 1),
                .rank = rank,
                .ranks = case_.ranks,
                .id = id,
                .deadline = deadline,
                .now = std::move(now),
                .windows = {{memory_[kArena], case_.memory[kArena]}}};
  }
  ~LaneRank() {
    lane_.reset();
    while (machine_.RunSome(100) != 0) {
    }
    issuer_.reset();
    for (std::byte *memory : memory_) kFakeNccl.MemFree(memory);
  }

  absl::Status Connect() {
    absl::StatusOr<std::unique_ptr<NcclLane>> lane = NcclLane::Create(options_);
    if (!lane.ok()) return lane.status();
    lane_ = *std::move(lane);
    return absl::OkStatus();
  }
  // What the lane ends with.
  absl::Status Run(uint64_t rounds) {
    absl::Status posted = lane_->Post([this](NcclLane::Caller &) {
      absl::StatusOr<std::unique_ptr<StepIssuer>> issuer =
          StepIssuer::Create(kFakeDriver, case_.graph, plan_);
      if (issuer.ok()) issuer_ = *std::move(issuer);
      return issuer.status();
    });
    for (uint64_t round = 0; posted.ok() && round < rounds; ++round) {
      posted = lane_->Post([this](NcclLane::Caller &caller) {
        return issuer_->EnqueueRound(
            [&](const OpOfRound &op, Stream stream) { return Enqueue(caller, op, stream); });
      });
    }
    return lane_->Drain();
  }
  // All other streams, too.
  void Finish() {
    while (!machine_.Idle()) machine_.RunSome(10);
  }
  bool Equals(const RankMemory &expected) const {
    return std::memcmp(memory_[kArena], expected[kArena].data(), expected[kArena].size()) == 0;
  }
  NcclLane &lane() { return *lane_; }
  void Close() { lane_.reset(); }

 private:
  absl::Status Enqueue(NcclLane::Caller &caller, const OpOfRound &op, Stream stream) {
    if (case_.work[op.op].kind == OpWork::kCollective) {
      FakeMachine::NameNext(NameOf(case_, op));
      return caller.Call(CollectiveOf(case_, op, memory_), stream);
    }
    FakeWork work = WorkOf(case_, op, memory_), *parameter = &work;
    void *parameters[] = {&parameter};
    return ToStatus(kFakeDriver,
                    kFakeDriver.LaunchKernel(machine_.kernel(), 1, 1, 1, 1, 1, 1, 0, stream,
                                             parameters, nullptr),
                    "cuLaunchKernel");
  }

  const GraphCase &case_;
  const IssuePlan &plan_;
  const int rank_;
  FakeMachine &machine_;
  NcclLaneOptions options_;
  std::vector<std::byte *> memory_;
  std::unique_ptr<StepIssuer> issuer_;
  std::unique_ptr<NcclLane> lane_;
};

// A random one without messages, with a collective at least.
GraphCase DeviceGraph(std::mt19937_64 &random, int least_ranks) {
  while (true) {
    GraphCase drawn = RandomGraph(random);
    bool collective = false;
    for (const OpWork &work : drawn.work) collective |= work.kind == OpWork::kCollective;
    if (collective && drawn.buffers.empty() && drawn.ranks >= least_ranks) return drawn;
  }
}

struct Job {
  // `fake`: the deadline counts by the machine's clock.
  Job(uint64_t seed, int least_ranks, absl::Duration deadline, bool fake = true)
      : random(seed),
        graph_case(DeviceGraph(random, least_ranks)),
        plan(*PlanIssue(graph_case.graph)),
        machine(random(), graph_case.ranks) {
    NcclUniqueId id;
    kFakeNccl.GetUniqueId(&id);
    for (int rank = 0; rank < graph_case.ranks; ++rank)
      ranks.push_back(std::make_unique<LaneRank>(
          graph_case, plan, rank, id, deadline,
          fake ? [this] { return machine.Now(); } : std::function<Time()>(), machine));
  }
  template <typename F>
  void EachRank(F f) {
    std::vector<std::thread> threads;
    for (size_t rank = 0; rank < ranks.size(); ++rank) threads.emplace_back([&, rank] { f(rank); });
    for (std::thread &thread : threads) thread.join();
  }
  // What each lane ends with, after `rounds` rounds.
  std::vector<absl::Status> Run(uint64_t rounds) {
    std::vector<absl::Status> ends(ranks.size());
    EachRank([&](size_t rank) {
      ends[rank] = ranks[rank]->Connect();
      if (ends[rank].ok()) ends[rank] = ranks[rank]->Run(rounds);
    });
    return ends;
  }
  uint64_t Calls() const {
    uint64_t calls = 0;
    for (const OpWork &work : graph_case.work) calls += work.kind == OpWork::kCollective ? 1 : 0;
    return calls;
  }
  // The collective that is the communicator's call `call`, as errors name it.
  std::string NameOfCall(uint64_t call) const {
    uint64_t number = call % Calls();
    for (size_t op = 0; op < graph_case.work.size(); ++op) {
      if (graph_case.work[op].kind == OpWork::kCollective && number-- == 0)
        return absl::StrCat("collective \"", graph_case.graph.ops[op].name, "\" of step ",
                            call / Calls(), ": ");
    }
    return "";
  }

  std::mt19937_64 random;
  GraphCase graph_case;
  IssuePlan plan;
  FakeMachine machine;
  std::vector<std::unique_ptr<LaneRank>> ranks;
};

TEST(CudaNcclLane, RunsRandomRounds) {
  const Cases cases = casesOf(20);
  for (uint32_t seed = cases.first; seed < cases.end; ++seed) {
    Job job(seed, 1, absl::Seconds(60));
    if (seed % 4 == 3) job.machine.HasNoWindows();
    for (const absl::Status &end : job.Run(kRounds))
      ASSERT_TRUE(end.ok()) << end << ", seed " << seed;
    job.ranks[0]->Finish();
    const std::vector<RankMemory> expected = ExpectedMemory(job.graph_case, kRounds);
    for (size_t rank = 0; rank < job.ranks.size(); ++rank)
      EXPECT_TRUE(job.ranks[rank]->Equals(expected[rank])) << "rank " << rank << ", seed " << seed;
    job.EachRank([&](size_t rank) { job.ranks[rank]->Close(); });
    job.ranks.clear();
    EXPECT_THAT(job.machine.TakeFindings(), IsEmpty()) << "seed " << seed;
    EXPECT_EQ(job.machine.live(), 0u) << "seed " << seed;
  }
}

// All lanes end, with an error each that names the collective which did not end; nothing is left.
class CudaNcclLaneFault : public ::testing::Test {
 protected:
  // `told`: all hear of it at once, before they have called the collective, perhaps. `code` is
  // that of the rank that the fault is at, and of all with kDeadlineExceeded.
  template <typename F>
  void Try(uint64_t seed, absl::StatusCode code, bool told, F inject) {
    Job job(seed, 2, absl::Seconds(1));
    const uint64_t call = job.random() % (job.Calls() * kRounds);
    const int rank = int(job.random() % uint64_t(job.graph_case.ranks));
    inject(job, call, rank);
    const std::vector<absl::Status> ends = job.Run(kRounds);
    for (size_t i = 0; i < ends.size(); ++i) {
      ASSERT_FALSE(ends[i].ok()) << "seed " << seed;
      const std::string text(ends[i].message());
      const std::string from = absl::StrCat("rank ", i, " of ", ends.size(), ": ");
      if (told && int(i) != rank) {
        EXPECT_EQ(ends[i].code(), absl::StatusCode::kUnavailable) << text;
        // The end of the one before may not have been recorded.
        EXPECT_THAT(text, AnyOf(StartsWith(from + job.NameOfCall(call)),
                                StartsWith(from + job.NameOfCall(call == 0 ? 0 : call - 1)),
                                StartsWith(from + "no collective under way: ")));
      } else {
        EXPECT_EQ(ends[i].code(), int(i) == rank ? code : absl::StatusCode::kDeadlineExceeded)
            << text;
        EXPECT_THAT(text, StartsWith(from + job.NameOfCall(call)));
      }
      // And so does everything after.
      NcclLane &lane = job.ranks[i]->lane();
      EXPECT_EQ(lane.Post([](NcclLane::Caller &) { return absl::OkStatus(); }), ends[i]);
      EXPECT_EQ(lane.Drain(), ends[i]);
      EXPECT_EQ(lane.status(), ends[i]);
    }
    job.EachRank([&](size_t i) { job.ranks[i]->Close(); });
    job.ranks.clear();
    EXPECT_THAT(job.machine.TakeFindings(), IsEmpty()) << "seed " << seed;
    EXPECT_EQ(job.machine.live(), 0u) << "seed " << seed;
  }
};

TEST_F(CudaNcclLaneFault, ACollectiveThatHangs) {
  const Cases cases = casesOf(5);
  for (uint32_t seed = cases.first; seed < cases.end; ++seed) {
    Try(seed, absl::StatusCode::kDeadlineExceeded, false,
        [](Job &job, uint64_t call, int) { job.machine.HangAt(call); });
  }
}

TEST_F(CudaNcclLaneFault, AnErrorOfTheCommunicator) {
  const Cases cases = casesOf(5);
  for (uint32_t seed = cases.first; seed < cases.end; ++seed) {
    Try(seed, absl::StatusCode::kInternal, false, [](Job &job, uint64_t call, int rank) {
      job.machine.FailAt(rank, call, NcclResult::kInternalError);
    });
  }
}

TEST_F(CudaNcclLaneFault, ARankThatIsLost) {
  const Cases cases = casesOf(6);
  for (uint32_t seed = cases.first; seed < cases.end; ++seed) {
    const bool told = seed % 2 == 0;
    Try(seed, absl::StatusCode::kDeadlineExceeded, told,
        [told](Job &job, uint64_t call, int rank) { job.machine.LoseAt(rank, call, told); });
  }
}

TEST(CudaNcclLane, AllRanksHaveToCome) {
  Job job(1, 2, absl::Milliseconds(50), false);
  const absl::Status end = job.ranks[0]->Connect();
  EXPECT_EQ(end.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(std::string(end.message()),
              HasSubstr("no collective under way: connecting takes longer than 50ms"));
  job.ranks.clear();
  EXPECT_EQ(job.machine.live(), 0u);
}

TEST(CudaNcclLane, EndsFromOutsideAndByWork) {
  for (const bool outside : {false, true}) {
    Job job(2, 2, absl::Seconds(60));
    job.machine.HangAt(0);
    std::vector<absl::Status> ends(job.ranks.size());
    job.EachRank([&](size_t rank) { ends[rank] = job.ranks[rank]->Connect(); });
    for (const absl::Status &end : ends) ASSERT_TRUE(end.ok()) << end;
    job.EachRank([&](size_t rank) {
      NcclLane &lane = job.ranks[rank]->lane();
      const absl::Status why = absl::AbortedError("a server is lost");
      if (outside) {
        std::thread other([&] { lane.Fail(why); });
        ends[rank] = job.ranks[rank]->Run(1);
        other.join();
      } else {
        lane.Post([&](NcclLane::Caller &) { return why; }).IgnoreError();
        ends[rank] = lane.Drain();
      }
    });
    for (const absl::Status &end : ends) EXPECT_EQ(end, absl::AbortedError("a server is lost"));
    job.ranks.clear();
    EXPECT_EQ(job.machine.live(), 0u);
  }
}

}  // namespace
}  // namespace commsched::runtime::cuda
