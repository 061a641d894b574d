// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/cuda/device_executor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "plan/plan_file.h"
#include "tests/cases.h"
#include "tests/runtime/cuda/device_job.h"
#include "tests/runtime/cuda/drawn_plan.h"

namespace commsched::runtime::cuda {
namespace {

FakeMachine::Kernels KernelsOf(const DrawnPlan &plan) {
  return [&plan](const std::string &, const std::string &name) -> const FakeKernel * {
    const auto at = plan.fakes.find(name);
    return at == plan.fakes.end() ? nullptr : &at->second;
  };
}

std::vector<std::byte> DrawWords(std::mt19937_64 &random, size_t bytes) {
  std::vector<std::byte> result(bytes);
  for (std::byte &byte : result) byte = std::byte(random() >> 56);
  // Whole numbers of which ranks have sums.
  for (size_t i = 3; i < bytes; i += 4) result[i] = std::byte(0);
  return result;
}

// A drawn plan as it runs, beside the reference.
class DrawnRun {
 public:
  DrawnRun(const DrawnPlan &plan, DeviceJob &job, uint64_t seed)
      : plan_(plan), job_(job), reference_(plan), random_(seed) {}

  // Some calls, with values that are set and read in between.
  void Run(int calls) {
    for (uint32_t slot = 0; slot < plan_.slots; ++slot) Set(slot);
    for (int i = 0; i < calls && !::testing::Test::HasFailure(); ++i) {
      const bool other = plan_.functions > 1 && random_() % 4 == 0;
      Call(other ? 1 : 0);
      if (random_() % 6 == 0) Metrics();
      if (random_() % 8 == 0) Get(uint32_t(random_() % uint64_t(plan_.slots)));
      if (random_() % 12 == 0) Set(uint32_t(random_() % uint64_t(plan_.slots)));
    }
    for (uint32_t slot = 0; slot < plan_.slots; ++slot) Get(slot);
    Metrics();
  }

 private:
  using Bytes = DrawnReference::Bytes;
  Bytes Draw(size_t bytes) { return DrawWords(random_, bytes); }
  void Set(uint32_t slot) {
    std::vector<Bytes> values;
    for (int r = 0; r < job_.ranks(); ++r) {
      values.push_back(Draw(reference_.slot(r, slot).size()));
      reference_.SetSlot(r, slot, values.back());
    }
    const absl::Status status =
        job_.ForAll([&](int r) { return job_.rank(r).SetSlot(slot, values[size_t(r)]); });
    ASSERT_TRUE(status.ok()) << status;
  }
  void Get(uint32_t slot) {
    std::vector<Bytes> values(size_t(job_.ranks()), Bytes(reference_.slot(0, slot).size()));
    const absl::Status status = job_.ForAll(
        [&](int r) { return job_.rank(r).GetSlot(slot, absl::MakeSpan(values[size_t(r)])); });
    ASSERT_TRUE(status.ok()) << status;
    for (int r = 0; r < job_.ranks(); ++r)
      EXPECT_EQ(values[size_t(r)], reference_.slot(r, slot)) << "slot " << slot << " rank " << r;
  }
  void Call(int function) {
    auto batches = std::make_shared<std::vector<std::vector<Bytes>>>();
    for (int r = 0; r < job_.ranks(); ++r) {
      batches->emplace_back();
      for (const auto &[name, bytes] : BatchesOf(plan_.proto.functions(function)))
        batches->back().push_back(Draw(bytes));
    }
    for (auto &metrics : reference_.Call(function, *batches)) expected_.push_back(std::move(metrics));
    const absl::Status status = job_.ForAll([&](int r) {
      BatchRows rows;
      for (const Bytes &bytes : (*batches)[size_t(r)]) rows.data.push_back(bytes.data());
      rows.owner = batches;
      return job_.rank(r).Enqueue(function, std::move(rows)).status();
    });
    ASSERT_TRUE(status.ok()) << status;
  }
  void Metrics() {
    for (size_t call = checked_; call < expected_.size() / size_t(job_.ranks()); ++call) {
      for (int r = 0; r < job_.ranks(); ++r) {
        auto metrics = job_.rank(r).Metrics(call);
        ASSERT_TRUE(metrics.ok()) << metrics.status();
        EXPECT_EQ(*metrics, expected_[call * size_t(job_.ranks()) + size_t(r)])
            << "call " << call << " rank " << r;
      }
      checked_ = call + 1;
    }
  }

  const DrawnPlan &plan_;
  DeviceJob &job_;
  DrawnReference reference_;
  std::mt19937_64 random_;
  std::vector<std::vector<double>> expected_;  // by call and rank
  size_t checked_ = 0;
};

void RunDrawn(uint32_t count, const DrawnPlanOptions &drawn) {
  const Cases cases = casesOf(count);
  for (uint32_t seed = cases.first; seed < cases.end && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937_64 random(seed);
    const DrawnPlan plan = DrawPlan(random, drawn);
    auto image = PlanImage::Load(plan.bytes);
    ASSERT_TRUE(image.ok()) << image.status();
    DeviceJobOptions options;
    options.seed = random();
    options.kernels = KernelsOf(plan);
    DeviceJob job(*image, options);
    ASSERT_TRUE(job.status.ok()) << job.status;
    ASSERT_TRUE(job.JoinServers().ok());
    DrawnRun(plan, job, random()).Run(10);
    const DeviceJob::End end = job.Finish();
    EXPECT_THAT(end.findings, ::testing::IsEmpty());
    EXPECT_EQ(end.left, 0u);
  }
}

TEST(DeviceExecutorTest, DrawnPlansGiveWhatTheyGiveOneAfterTheOther) { RunDrawn(60, {}); }

TEST(DeviceExecutorTest, SoDoThoseWithParameterServers) { RunDrawn(60, {.servers = true}); }

// What cannot be run is refused before anything runs, in one line, and nothing is left.
class RefusalTest : public ::testing::Test {
 protected:
  std::string Refusal(const std::function<void(plan::Plan *)> &change,
                      const std::function<void(FakeMachine &)> &prepare = {}) {
    std::mt19937_64 random(1);
    DrawnPlan plan = DrawPlan(random, {.most_ranks = 1, .nccl = false, .messages = false});
    change(&plan.proto);
    auto image = PlanImage::Load(plan::Serialize(plan.proto));
    EXPECT_TRUE(image.ok()) << image.status();
    if (!image.ok()) return "";
    FakeMachine machine(0, 1);
    machine.SetKernels(KernelsOf(plan));
    if (prepare) prepare(machine);
    DeviceExecutorOptions options;
    options.driver = &FakeMachine::driver();
    auto program = (*image)->ForRank(0);
    EXPECT_TRUE(program.ok()) << program.status();
    auto executor = DeviceExecutor::Create(*program, std::move(options));
    EXPECT_FALSE(executor.ok());
    EXPECT_EQ(machine.live(), 0u);
    return std::string(executor.status().message());
  }
};

TEST_F(RefusalTest, ADeviceThatIsTooOld) {
  EXPECT_EQ(Refusal([](plan::Plan *plan) { plan->mutable_cuda()->set_architecture("sm_100"); }),
            "rank 0 of 1: CUDA device 0 (fake) must be of sm_100 or later, got: sm_90");
}

TEST_F(RefusalTest, TooLittleMemory) {
  EXPECT_THAT(Refusal([](plan::Plan *) {},
                      [](FakeMachine &machine) { machine.SetFreeMemory(10); }),
              ::testing::MatchesRegex("rank 0 of 1: the plan needs [0-9]+ bytes of CUDA device 0, "
                                      "which has 10 of 10 bytes free"));
}

TEST_F(RefusalTest, AKernelThatTheModuleLacks) {
  EXPECT_THAT(Refusal([](plan::Plan *) {},
                      [](FakeMachine &machine) {
                        machine.SetKernels([](const std::string &, const std::string &) {
                          return static_cast<const FakeKernel *>(nullptr);
                        });
                      }),
              ::testing::HasSubstr("kernel \"mix_"));
}

// Of drawn plans that have collectives in their step, and messages if that is asked for.
DrawnPlan DrawFor(std::mt19937_64 &random, bool nccl, bool messages) {
  while (true) {
    DrawnPlan plan = DrawPlan(random, {.nccl = nccl, .messages = messages});
    bool has_nccl = false, has_messages = false;
    for (const plan::Instruction &i : plan.proto.functions(0).instructions()) {
      has_nccl |= i.communicate().has_nccl();
      has_messages |= i.has_communicate() && !i.communicate().has_nccl();
    }
    if (plan.ranks() > 1 && has_nccl == nccl && has_messages == messages) return plan;
  }
}

// Something fails in the middle of a run: each rank ends with one error that says whose it is and
// where, and nothing is left.
class FaultOfARunTest : public ::testing::Test {
 protected:
  struct Broken {
    std::vector<absl::Status> errors;
    size_t left = 0;
  };
  // `fault` is called when the job has begun; `lost`: this rank ends itself after three calls;
  // `servers_lost`: all servers are lost after as many.
  Broken Run(const DrawnPlan &plan, uint64_t seed,
             const std::function<void(FakeMachine &)> &fault, int lost = -1, int servers_lost = -1) {
    auto image = PlanImage::Load(plan.bytes);
    EXPECT_TRUE(image.ok()) << image.status();
    DeviceJobOptions options;
    options.seed = seed;
    options.kernels = KernelsOf(plan);
    options.deadline = absl::Milliseconds(300);
    DeviceJob job(*image, options);
    EXPECT_TRUE(job.status.ok()) << job.status;
    Broken broken;
    broken.errors.resize(size_t(job.ranks()));
    if (!job.status.ok()) return broken;
    EXPECT_TRUE(job.JoinServers().ok());
    DrawnReference reference(plan);
    std::mt19937_64 random(seed);
    for (int r = 0; r < job.ranks(); ++r) {
      for (uint32_t slot = 0; slot < plan.slots; ++slot) {
        const auto value = DrawWords(random, reference.slot(r, slot).size());
        reference.SetSlot(r, slot, value);
        EXPECT_TRUE(job.rank(r).SetSlot(slot, value).ok());
      }
    }
    std::vector<std::vector<double>> expected;  // by call and rank
    auto values = std::make_shared<std::vector<std::byte>>(DrawWords(random, 1000));
    std::vector<std::vector<std::byte>> batches;
    for (const auto &[name, bytes] : BatchesOf(plan.proto.functions(0)))
      batches.emplace_back(values->begin(), values->begin() + long(bytes));
    for (int call = 0; call < 12; ++call) {
      for (auto &metrics : reference.Call(0, {size_t(job.ranks()), batches})) expected.push_back(std::move(metrics));
    }
    fault(job.machine());
    job.ForAll([&](int r) {
         absl::Status &status = broken.errors[size_t(r)];
         for (int call = 0; call < 12 && status.ok(); ++call) {
           if (r == lost && call == 3) job.rank(r).Cancel(absl::UnavailableError("is lost"));
           if (call == servers_lost)
             for (int k = 0; k < job.servers(); ++k)
               job.server(k).Cancel(absl::UnavailableError("is lost"));
           BatchRows rows;
           rows.data.assign(batches.size(), values->data());
           rows.owner = values;
           status = job.rank(r).Enqueue(0, std::move(rows)).status();
         }
         if (status.ok()) status = job.rank(r).Drain();
         // It stays the same.
         EXPECT_EQ(job.rank(r).Drain(), status);
         // What has been said to be complete is right.
         for (uint64_t call = 0; call < job.rank(r).completed(); ++call) {
           const auto metrics = job.rank(r).Metrics(call);
           EXPECT_TRUE(metrics.ok()) << metrics.status();
           if (!metrics.ok()) break;
           EXPECT_EQ(*metrics, expected[call * size_t(job.ranks()) + size_t(r)])
               << "call " << call << " rank " << r;
         }
         return status;
       })
        .IgnoreError();
    broken.left = job.Finish().left;
    return broken;
  }
  static void Check(const Broken &broken, int lost = -1) {
    EXPECT_EQ(broken.left, 0u);
    for (size_t r = 0; r < broken.errors.size(); ++r) {
      EXPECT_FALSE(broken.errors[r].ok()) << "rank " << r;
      if (int(r) == lost) continue;
      const std::string message(broken.errors[r].message());
      // In words of its own, or in those of who has told it.
      EXPECT_TRUE(message.find("rank ") == 0) << message;
      EXPECT_TRUE(message.find(" of step ") != std::string::npos ||
                  message.find(" of call ") != std::string::npos ||
                  message.find("no collective under way") != std::string::npos ||
                  message.find("is lost") != std::string::npos)
          << message;
    }
  }
};

TEST_F(FaultOfARunTest, OfACollective) {
  const Cases cases = casesOf(12);
  for (uint32_t seed = cases.first; seed < cases.end && !HasFailure(); ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937_64 random(seed);
    const DrawnPlan plan = DrawFor(random, true, random() % 2 == 0);
    const int rank = int(random() % uint64_t(plan.ranks()));
    const uint64_t call = random() % 8, kind = random() % 3;
    Check(Run(plan, random(), [&](FakeMachine &machine) {
      if (kind == 0) machine.HangAt(call);
      if (kind == 1) machine.FailAt(rank, call, NcclResult::kSystemError);
      if (kind == 2) machine.LoseAt(rank, call, random() % 2 == 0);
    }));
  }
}

TEST_F(FaultOfARunTest, OfARankWithMessages) {
  const Cases cases = casesOf(12);
  for (uint32_t seed = cases.first; seed < cases.end && !HasFailure(); ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937_64 random(seed);
    const DrawnPlan plan = DrawFor(random, false, true);
    const int lost = int(random() % uint64_t(plan.ranks()));
    Check(Run(plan, random(), [](FakeMachine &) {}, lost), lost);
  }
}

// A server ends in the middle: each rank ends with one error that names it, or what another has said of it.
TEST_F(FaultOfARunTest, OfAServer) {
  const Cases cases = casesOf(12);
  for (uint32_t seed = cases.first; seed < cases.end && !HasFailure(); ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937_64 random(seed);
    DrawnPlan plan;
    do {
      plan = DrawPlan(random, {.nccl = false, .messages = false, .servers = true});
    } while (!plan.servers);
    const Broken broken = Run(plan, random(), [](FakeMachine &) {}, -1, 3);
    EXPECT_EQ(broken.left, 0u);
    for (const absl::Status &error : broken.errors)
      EXPECT_THAT(std::string(error.message()),
                  ::testing::ContainsRegex("rank [0-9]+ of [0-9]+: pu(sh|ll) of \"block [0-9]+(\\.new)?\" .*(to|from) "
                                           "server [0-9]+ (in step|at version) [0-9]+: is lost$"));
  }
}

TEST_F(FaultOfARunTest, OfAKernelThatNeverEnds) {
  const Cases cases = casesOf(6);
  for (uint32_t seed = cases.first; seed < cases.end && !HasFailure(); ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937_64 random(seed);
    const DrawnPlan plan = DrawFor(random, random() % 2 == 0, true);
    const int rank = int(random() % uint64_t(plan.ranks()));
    const plan::Function &f = plan.proto.functions(0);
    std::vector<std::string> launches;
    for (const plan::Instruction &i : f.instructions()) {
      if (i.has_launch()) launches.push_back(i.name());
    }
    if (launches.empty()) continue;
    Check(Run(plan, random(), [&](FakeMachine &machine) {
      machine.HangOp(absl::StrCat("rank ", rank, ": \"", launches[random() % launches.size()],
                                  "\" of step ", random() % 8));
    }));
  }
}

}  // namespace
}  // namespace commsched::runtime::cuda
