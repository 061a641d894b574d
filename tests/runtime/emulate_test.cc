// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Emulation. That something takes its time is tested as what may not be sooner;
// how much later it is depends on the machine.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/base/precise_sleep.h"
#include "tests/runtime/test_util.h"
#include "tests/runtime/trace_spans.h"

namespace commsched {
namespace {

using plan::CopyBuffer;
using runtime::Clock;
using ::testing::AllOf;
using testing::FunctionBuilder;
using ::testing::HasSubstr;
using testing::PlanBuilder;
using testing::Span;

constexpr uint64_t kMs = 1'000'000;
constexpr int64_t kElements = 1'000'001;  // of a gradient: 4 MB

// Two nodes of two devices: a fragment on each, the gradients copied to device 0
// and to the host, an all-reduce, the result copied back. Costs only.
PlanBuilder Emulated() {
  PlanBuilder plan(2);
  plan::Cluster *cluster = plan.proto().mutable_cluster();
  cluster->set_devices(2);
  cluster->set_device_gb_per_s(3);
  plan.proto().set_required_features(uint64_t{1} << plan::FEATURE_COST_ONLY);
  plan.proto().clear_objects();
  uint32_t w = plan.Slot("w", plan::F32, {kElements});
  auto f = plan.Function("step");
  auto delay = [&](uint32_t device, uint64_t ns, uint32_t out,
                   std::vector<FunctionBuilder::Wait> waits) {
    uint32_t i = f.Delay(ns, waits);
    f.proto()->mutable_instructions(int(i))->set_device(device);
    f.proto()->mutable_instructions(int(i))->mutable_delay()->add_outputs(out);
    return i;
  };
  auto copy = [&](uint32_t device, CopyBuffer::Direction direction, uint32_t from,
                  uint32_t to, std::vector<FunctionBuilder::Wait> waits) {
    uint32_t i = f.Copy(from, to, waits, true);
    f.proto()->mutable_instructions(int(i))->set_device(device);
    f.proto()->mutable_instructions(int(i))->mutable_copy()->set_direction(direction);
    return i;
  };
  f.Batch("x", plan::F32, {4, 8});
  uint32_t g0 = f.Arena(plan::F32, {kElements}), g1 = f.Arena(plan::F32, {kElements}),
           peer = f.Arena(plan::F32, {kElements}), host = f.Arena(plan::F32, {kElements}),
           next = f.Slot(true, w, plan::F32, {kElements});
  uint32_t a = delay(0, 3 * kMs, g0, {{3, 1}});
  uint32_t b = delay(1, 2 * kMs, g1, {{2, 1}});
  uint32_t c = copy(0, CopyBuffer::TO_DEVICE, g1, peer, {{b}, {3, 1}});
  uint32_t d = copy(0, CopyBuffer::TO_HOST, peer, host, {{a}, {c}, {4, 1}});
  uint32_t e = f.Communicate("w", host, testing::RingAllReduce(2, plan::SUM, 0.5), {{d}});
  copy(1, CopyBuffer::TO_DEVICE, host, next, {{e}});
  return plan;
}
// Of a rank and step: the delays, and three copies of 4000004 bytes at 3 bytes
// in a nanosecond, rounded up.
constexpr int64_t kRequested = 5 * int64_t(kMs) + 3 * 1333335;

absl::StatusOr<std::unique_ptr<runtime::Session>> OpenEmulated(
    const PlanBuilder &plan, runtime::TraceRecorder *trace = nullptr) {
  auto image = runtime::PlanImage::Load(plan.Bytes());
  if (!image.ok()) return image.status();
  return runtime::Session::InProcess(*image, {absl::Seconds(30), trace, true});
}

TEST(EmulateTest, CopyEnginesHaveARateOfTheirOwn) {
  PlanBuilder plan = Emulated();
  plan.proto().mutable_cluster()->set_device_copy_mb_per_s(1500);
  auto session = OpenEmulated(plan);
  ASSERT_TRUE(session.ok()) << session.status();
  runtime::ZeroBatch zeros;
  ASSERT_TRUE((*session)->Call(0, &zeros).ok());
  ASSERT_TRUE((*session)->Drain().ok());
  // 4000004 bytes at 3 bytes in 2 nanoseconds, rounded up.
  EXPECT_EQ((*session)->executor(0).Stats(0).requested_ns,
            5 * int64_t(kMs) + 3 * 2666670);
}

TEST(EmulateTest, CopiesHaveALatency) {
  PlanBuilder plan = Emulated();
  plan.proto().mutable_cluster()->set_device_copy_latency_ns(7);
  auto session = OpenEmulated(plan);
  ASSERT_TRUE(session.ok()) << session.status();
  runtime::ZeroBatch zeros;
  ASSERT_TRUE((*session)->Call(0, &zeros).ok());
  ASSERT_TRUE((*session)->Drain().ok());
  const runtime::FunctionStats stats = (*session)->executor(0).Stats(0);
  EXPECT_EQ(stats.requested_ns, kRequested + 3 * 7);
  EXPECT_EQ(stats.first_ns, stats.total_ns);
  plan.proto().mutable_cluster()->set_device_copy_latency_ns(uint64_t{3601} * 1000000000);
  EXPECT_THAT(std::string(OpenEmulated(plan).status().message()),
              ::testing::HasSubstr("the latency of a copy must be at most an hour"));
}

TEST(EmulateTest, CostsTakeTheirTime) {
  constexpr int kSteps = 5;
  runtime::TraceRecorder trace;
  auto session = OpenEmulated(Emulated(), &trace);
  ASSERT_TRUE(session.ok()) << session.status();
  runtime::ZeroBatch zeros;
  Clock::time_point begin = Clock::now();
  for (int step = 0; step < kSteps; ++step)
    ASSERT_TRUE((*session)->Call(0, &zeros).ok());
  ASSERT_TRUE((*session)->Drain().ok());
  auto elapsed = Clock::now() - begin;
  for (size_t rank : {0, 1}) {
    runtime::FunctionStats stats = (*session)->executor(rank).Stats(0);
    EXPECT_EQ(stats.calls, uint64_t(kSteps));
    EXPECT_EQ(stats.requested_ns, kSteps * kRequested);
    // The stream of device 0, which has more to do than that of device 1. It
    // never begins before it could, so it is not done sooner than in time.
    EXPECT_GE(elapsed, std::chrono::nanoseconds(kSteps * 3 * kMs));
    EXPECT_GE(stats.elapsed_ns, kSteps * kRequested);
    EXPECT_GE(stats.total_ns, int64_t(kSteps * 3 * kMs));
    EXPECT_GE(stats.first_ns, int64_t(3 * kMs));
    EXPECT_LT(stats.first_ns, stats.total_ns);
    EXPECT_GT(stats.copy_ns, 0);
  }
  // Time may be made up for, but nothing begins before what it depends on ends.
  std::map<std::pair<int, std::string>, std::vector<Span>> tracks;
  for (const Span &span : testing::SpansOf(trace))
    if (span.category == "compute" || span.category == "copy")
      tracks[{span.rank, span.track}].push_back(span);
  for (int rank : {0, 1}) {
    auto of = [&](const std::string &track) { return tracks[{rank, track}]; };
    for (const char *track : {"compute", "compute (device 1)", "copy to host",
                              "copy to device", "copy to device (device 1)"})
      ASSERT_EQ(of(track).size(), size_t(kSteps)) << track;
    for (size_t i = 0; i < size_t(kSteps); ++i) {
      EXPECT_GE(of("copy to host")[i].begin, of("compute")[i].end - 0.002);
      EXPECT_GE(of("copy to host")[i].begin, of("copy to device")[i].end - 0.002);
      EXPECT_GE(of("copy to device")[i].begin, of("compute (device 1)")[i].end - 0.002);
      EXPECT_GE(of("copy to device (device 1)")[i].begin, of("copy to host")[i].end - 0.002);
    }
  }
}

TEST(EmulateTest, CostsAreRefusedWithoutIt) {
  auto image = runtime::PlanImage::Load(Emulated().Bytes());
  ASSERT_TRUE(image.ok()) << image.status();
  auto session = runtime::Session::InProcess(*image, {});
  EXPECT_EQ(session.status().message(),
            "plan has fragments that have only a cost: it can only be emulated "
            "(cs-run --emulate)");
  auto rank = runtime::Session::OneRank(*image, 1, nullptr, {});
  EXPECT_EQ(rank.status().message(), session.status().message());
}

TEST(EmulateTest, CopiesNeedARate) {
  PlanBuilder plan = Emulated();
  plan.proto().mutable_cluster()->set_device_gb_per_s(0);
  EXPECT_THAT(std::string(OpenEmulated(plan).status().message()),
              HasSubstr("function @step: copy \"copy\" cannot be emulated"));
}

// What has code computes what it always does.
TEST(EmulateTest, CodeRuns) {
  PlanBuilder plan = testing::Trainer(2);
  plan.proto().mutable_cluster()->set_device_gb_per_s(1);
  plan.proto().mutable_functions(0)->mutable_instructions(1)->mutable_copy()->set_direction(
      CopyBuffer::TO_DEVICE);
  std::vector<float> values[2];
  for (bool emulate : {false, true}) {
    auto image = runtime::PlanImage::Load(plan.Bytes());
    ASSERT_TRUE(image.ok());
    auto session = runtime::Session::InProcess(*image, {absl::Seconds(30), nullptr, emulate});
    ASSERT_TRUE(session.ok()) << session.status();
    testing::StartTrainer(session->get(), 0.5f);
    testing::RunTrainer(session->get(), 0, 10);
    values[emulate].resize(testing::kTrainerSize);
    ASSERT_TRUE((*session)->GetSlot(0, testing::MutableBytesOf(values[emulate])).ok());
    EXPECT_EQ((*session)->executor(0).Stats(0).requested_ns, emulate ? 10 * 400 : 0);
  }
  EXPECT_EQ(values[0], values[1]);
  EXPECT_NE(values[0][0], 0.5f);
}

TEST(EmulateTest, SleepIsNeverShortAndEndsWhenItHasNoUse) {
  runtime::UsePreciseTimers();
  std::atomic<bool> ended{false};
  for (int64_t ns : {0, 5'000, 70'000, 3'000'000}) {
    Clock::time_point due = Clock::now() + std::chrono::nanoseconds(ns);
    runtime::SleepUntil(due, ended);
    EXPECT_GE(Clock::now(), due);
  }
  std::thread end([&] { ended = true; });
  runtime::SleepUntil(Clock::now() + std::chrono::hours(1), ended);
  end.join();
}

class CsRunEmulateTest : public ::testing::Test {
 protected:
  // The output of cs-run on the plan, standard error included.
  std::string Run(const PlanBuilder &plan, const std::string &options, int *status) {
    std::string path = folder_ / "emulated.plan";
    std::ofstream(path, std::ios::binary) << plan.Bytes();
    std::string command = std::string(COMMSCHED_CS_RUN) + " " + path + " " + options + " 2>&1";
    FILE *pipe = popen(command.c_str(), "r");
    std::string out;
    if (pipe == nullptr) return "";
    char buffer[4096];
    while (size_t n = fread(buffer, 1, sizeof buffer, pipe)) out.append(buffer, n);
    *status = pclose(pipe);
    return out;
  }
  testing::TemporaryFolder folder_;
};

TEST_F(CsRunEmulateTest, RunsWithoutDataAndReportsItsAccuracy) {
  std::string json = folder_ / "m.json";
  for (std::string where : {"", " --spawn 2"}) {
    int status = -1;
    std::string out = Run(Emulated(), "--emulate --steps 3 --metrics-json " + json + where, &status);
    EXPECT_EQ(status, 0) << out;
    EXPECT_THAT(out, AllOf(HasSubstr("step 3"), HasSubstr("busiest copy engine: "),
                           HasSubstr("emulation: 9.000 ms per step requested, ")))
        << out;
    std::ifstream file(json);
    std::string text(std::istreambuf_iterator<char>(file), {});
    EXPECT_THAT(text, AllOf(HasSubstr("\"emulation\":{\"requested_ms\":9.0"),
                            HasSubstr("\"elapsed_ms\":"), HasSubstr("\"latest_ms\":")));
  }
}

TEST_F(CsRunEmulateTest, IsAskedForOnceOnly) {
  const std::string error =
      "plan has fragments that have only a cost: it can only be emulated (cs-run --emulate)\n";
  int status = 0;
  EXPECT_EQ(Run(Emulated(), "--steps 3", &status), "cs-run: " + error);
  EXPECT_NE(status, 0);
  EXPECT_EQ(Run(Emulated(), "--steps 3 --spawn 2", &status), "cs-run: all ranks: " + error);
  EXPECT_NE(status, 0);
}

}  // namespace
}  // namespace commsched
