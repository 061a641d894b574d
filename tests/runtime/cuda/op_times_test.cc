// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/cuda/op_times.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <random>
#include <vector>

#include "tests/cases.h"
#include "tests/runtime/cuda/fake_machine.h"

namespace commsched::runtime::cuda {
namespace {

using R = DriverResult;

class OpTimesTest : public ::testing::Test {
 protected:
  OpTimesTest() : machine_(1) {
    kFakeDriver.ContextSetCurrent(reinterpret_cast<Context>(uintptr_t{1}));
    for (Stream &stream : streams_) kFakeDriver.StreamCreateWithPriority(&stream, kStreamNonBlocking, 0);
  }
  void Launch(int64_t units, Stream stream) {
    FakeWork work{"work", {}, {}, nullptr}, *parameter = &work;
    work.units = units;
    void *parameters[] = {&parameter};
    kFakeDriver.LaunchKernel(machine_.kernel(), 1, 1, 1, 1, 1, 1, 0, stream, parameters, nullptr);
  }
  Event NewEvent(unsigned flags = kEventDefault) {
    Event event = nullptr;
    kFakeDriver.EventCreate(&event, flags);
    return event;
  }
  void RunAll() {
    while (machine_.RunSome(10) != 0) {
    }
  }

  FakeMachine machine_;
  Stream streams_[2] = {};
};

// What cuEventElapsedTime is of, and what it refuses, as the driver does.
TEST_F(OpTimesTest, TheFakesTimes) {
  const Event first = NewEvent(), second = NewEvent(), third = NewEvent(), untimed = NewEvent(kEventDisableTiming);
  float ms = -1;
  EXPECT_EQ(kFakeDriver.EventElapsedTime(&ms, first, second), R::kInvalidHandle) << "never recorded";
  kFakeDriver.EventRecord(first, streams_[0]);
  kFakeDriver.EventRecord(untimed, streams_[0]);
  Launch(3 * kFakeUnitsOfMs, streams_[0]);
  kFakeDriver.EventRecord(second, streams_[0]);
  // What it waits for comes before.
  Launch(kFakeUnitsOfMs, streams_[1]);
  kFakeDriver.StreamWaitEvent(streams_[1], second, 0);
  Launch(kFakeUnitsOfMs / 2, streams_[1]);
  kFakeDriver.EventRecord(third, streams_[1]);
  uint32_t flag = 0;
  const Event waits = NewEvent();
  kFakeDriver.StreamWaitValue32(streams_[0], reinterpret_cast<uintptr_t>(&flag), 1, kWaitValueGreaterEqual);
  kFakeDriver.EventRecord(waits, streams_[0]);
  RunAll();
  EXPECT_EQ(kFakeDriver.EventElapsedTime(&ms, first, second), R::kSuccess);
  EXPECT_EQ(ms, 3);
  EXPECT_EQ(kFakeDriver.EventElapsedTime(&ms, first, third), R::kSuccess);
  EXPECT_EQ(ms, 3.5);
  EXPECT_EQ(kFakeDriver.EventElapsedTime(&ms, first, untimed), R::kInvalidHandle);
  EXPECT_EQ(kFakeDriver.EventElapsedTime(&ms, first, waits), R::kNotReady);
  // The host may have seen all that had ended: it is not earlier.
  flag = 1;
  RunAll();
  EXPECT_EQ(kFakeDriver.EventElapsedTime(&ms, first, waits), R::kSuccess);
  EXPECT_EQ(ms, 3.5);
  EXPECT_EQ(kFakeDriver.EventDestroy(untimed), R::kSuccess);
  EXPECT_EQ(kFakeDriver.EventElapsedTime(&ms, first, untimed), R::kInvalidHandle);
  EXPECT_THAT(machine_.TakeFindings(), ::testing::ElementsAre("an event is used that is not there"));
}

// Minutes of calls, each of some ops on two streams, of which several are under way: their times are those of the
// machine, on one line from the first to the last.
TEST_F(OpTimesTest, OfALongRun) {
  const Cases cases = casesOf(4);
  for (uint32_t seed = cases.first; seed < cases.end && !HasFailure(); ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    std::mt19937_64 random(seed);
    Time now = 5'000'000'000;
    for (Stream stream : streams_) Launch(0, stream);
    RunAll();
    const size_t before = machine_.live();
    {
      OpTimes times(kFakeDriver, absl::Seconds(100), [&now] { return now; });
      struct Known {
        uint32_t op = 0;
        size_t stream = 0;
        int64_t units = 0;
      };
      std::vector<std::vector<Known>> calls;
      uint64_t taken = 0;
      std::vector<OpTimes::Interval> last(2);
      int64_t sum[2] = {}, longest = 0;
      Clock::time_point first[2];
      const auto take = [&] {
        auto intervals = times.Take(taken);
        ASSERT_TRUE(intervals.ok()) << intervals.status();
        ASSERT_EQ(intervals->size(), calls[taken].size());
        for (size_t i = 0; i < intervals->size(); ++i) {
          const Known &known = calls[taken][i];
          const OpTimes::Interval &when = (*intervals)[i];
          EXPECT_EQ(when.op, known.op);
          EXPECT_EQ(when.nanoseconds, FakeNsOf(known.units));
          EXPECT_LE(last[known.stream].end, when.begin + std::chrono::nanoseconds(1));
          EXPECT_LE(std::abs((when.end - when.begin).count() - when.nanoseconds), 1);
          if (first[known.stream] == Clock::time_point()) first[known.stream] = when.begin;
          // Each stream is busy all the time.
          EXPECT_NEAR(double((when.begin - first[known.stream]).count()), double(FakeNsOf(sum[known.stream])), 100);
          sum[known.stream] += known.units;
          last[known.stream] = when;
        }
        longest = std::max(longest, sum[0]);
        EXPECT_TRUE(times.Take(taken)->empty()) << "it is forgotten";
        ++taken;
      };
      for (uint64_t call = 0; call < 400 && !HasFailure(); ++call) {
        ASSERT_TRUE(times.Start(call).ok());
        std::vector<Known> ops;
        for (uint64_t left = 1 + random() % 6; left-- > 0;) {
          const Known op{uint32_t(random() % 1000), random() % 2, int64_t(random() % 256)};
          ASSERT_TRUE(times.Before(call, op.op, streams_[op.stream]).ok());
          Launch(op.units, streams_[op.stream]);
          ASSERT_TRUE(times.Behind(call, streams_[op.stream]).ok());
          ops.push_back(op);
        }
        calls.push_back(std::move(ops));
        now += 300'000'000;
        RunAll();
        if (call >= taken + random() % 4) take();
      }
      while (taken < calls.size() && !HasFailure()) take();
      EXPECT_GT(longest, 40 * kFakeUnitsOfMs);
    }
    EXPECT_EQ(machine_.live(), before) << "events or streams are left";
    EXPECT_THAT(machine_.TakeFindings(), ::testing::IsEmpty());
  }
}

}  // namespace
}  // namespace commsched::runtime::cuda
