// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Of the machine without a device itself: what it finds, and in which words.
#include "tests/runtime/cuda/fake_machine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace commsched::runtime::cuda {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

void Enter(int device) {
  kFakeDriver.ContextSetCurrent(reinterpret_cast<Context>(uintptr_t(device) + 1));
}
Stream NewStream() {
  Stream stream = nullptr;
  kFakeDriver.StreamCreateWithPriority(&stream, kStreamNonBlocking, 0);
  return stream;
}
void Launch(FakeMachine &machine, FakeWork work, Stream stream) {
  FakeWork *parameter = &work;
  void *parameters[] = {&parameter};
  kFakeDriver.LaunchKernel(machine.kernel(), 1, 1, 1, 1, 1, 1, 0, stream, parameters, nullptr);
}
void RunAll(FakeMachine &machine) {
  while (machine.RunSome(10) != 0) {
  }
}

TEST(CudaFake, FindsARaceInEveryOrder) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    FakeMachine machine(seed);
    Enter(0);
    const Stream a = NewStream(), b = NewStream();
    Launch(machine, {"first", {}, {{100, 108}}, nullptr}, a);
    Launch(machine, {"second", {{104, 112}}, {}, nullptr}, b);
    RunAll(machine);
    EXPECT_THAT(machine.TakeFindings(),
                ElementsAre(::testing::AnyOf("race: \"first\" writes what \"second\" reads",
                                             "race: \"second\" reads what \"first\" writes")));
  }
}

TEST(CudaFake, KnowsWhatEventsOrder) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    FakeMachine machine(seed);
    Enter(0);
    const Stream a = NewStream(), b = NewStream(), c = NewStream();
    Event event = nullptr, other = nullptr;
    kFakeDriver.EventCreate(&event, kEventDisableTiming);
    kFakeDriver.EventCreate(&other, kEventDisableTiming);
    int value = 0;
    Launch(machine, {"first", {}, {{100, 108}}, [&] { value = 1; }}, a);
    kFakeDriver.EventRecord(event, a);
    kFakeDriver.StreamWaitEvent(b, event, 0);
    kFakeDriver.EventRecord(other, b);
    // Of a record, not of an event: it may be recorded again.
    kFakeDriver.EventRecord(event, c);
    kFakeDriver.StreamWaitEvent(c, other, 0);
    Launch(machine, {"second", {{100, 108}}, {{100, 108}}, [&] { value *= 10; }}, c);
    RunAll(machine);
    EXPECT_TRUE(machine.Idle());
    EXPECT_EQ(value, 10);
    EXPECT_THAT(machine.TakeFindings(), IsEmpty());
  }
}

// Two ranks, each with a communicator or two, and an arena in a window.
class CudaFakeNccl : public ::testing::Test {
 protected:
  void Make(uint64_t seed, int comms) {
    machine_ = std::make_unique<FakeMachine>(seed, 2);
    comms_.assign(size_t(comms), {nullptr, nullptr});
    for (int rank = 0; rank < 2; ++rank) {
      void *memory = nullptr;
      kFakeNccl.MemAlloc(&memory, 256);
      memory_[rank] = static_cast<std::byte *>(memory);
      Enter(rank);
      for (int i = 0; i < comms; ++i) streams_[rank][i] = NewStream();
    }
    for (auto &comm : comms_) {
      NcclUniqueId id;
      kFakeNccl.GetUniqueId(&id);
      NcclConfig config;
      config.blocking = 0;
      for (int rank = 0; rank < 2; ++rank) {
        Enter(rank);
        kFakeNccl.CommInitRankConfig(&comm[size_t(rank)], 2, id, rank, &config);
      }
      for (int rank = 0; rank < 2; ++rank) {
        Settle(comm[size_t(rank)], NcclResult::kInProgress);
        NcclWindow window = nullptr;
        Settle(comm[size_t(rank)],
               kFakeNccl.CommWindowRegister(comm[size_t(rank)], memory_[rank], 256, &window,
                                            kNcclWindowSymmetric));
      }
    }
  }
  void Settle(NcclComm comm, NcclResult result) {
    if (result == NcclResult::kSuccess) result = NcclResult::kInProgress;  // it does not say more
    while (result == NcclResult::kInProgress) kFakeNccl.CommGetAsyncError(comm, &result);
    EXPECT_EQ(result, NcclResult::kSuccess);
  }
  void AllReduce(int rank, size_t offset, size_t count, NcclType type = NcclType::kFloat32,
                 NcclReduction reduction = NcclReduction::kSum, size_t comm = 0) {
    FakeMachine::NameNext("w");
    std::byte *at = memory_[rank] + offset;
    Settle(comms_[comm][size_t(rank)],
           kFakeNccl.AllReduce(at, at, count, type, reduction, comms_[comm][size_t(rank)],
                               streams_[rank][comm]));
  }
  std::vector<std::string> Findings() {
    RunAll(*machine_);
    if (!machine_->Idle()) machine_->ReportHang();
    return machine_->TakeFindings();
  }
  std::unique_ptr<FakeMachine> machine_;
  std::vector<std::array<NcclComm, 2>> comms_;
  std::byte *memory_[2] = {};
  Stream streams_[2][2] = {};
};

TEST_F(CudaFakeNccl, NamesWhatDiffers) {
  const auto found = [this](const std::function<void()> &second) {
    Make(1, 1);
    AllReduce(0, 64, 8);
    second();
    std::vector<std::string> findings = Findings();
    machine_.reset();
    return findings;
  };
  EXPECT_THAT(found([&] { AllReduce(1, 64, 8); }), IsEmpty());
  EXPECT_THAT(found([&] { AllReduce(1, 64, 9); }), Contains(HasSubstr(" elements")));
  EXPECT_THAT(found([&] { AllReduce(1, 64, 8, NcclType::kInt32); }), Contains(HasSubstr("types ")));
  EXPECT_THAT(found([&] { AllReduce(1, 64, 8, NcclType::kFloat32, NcclReduction::kMax); }),
              Contains(HasSubstr("reductions ")));
  EXPECT_THAT(found([&] { AllReduce(1, 96, 8); }), Contains(HasSubstr("offset ")));
  EXPECT_THAT(found([&] {
                std::byte *at = memory_[1] + 64;
                Settle(comms_[0][1], kFakeNccl.AllGather(at, at, 8, NcclType::kFloat32,
                                                         comms_[0][1], streams_[1][0]));
              }),
              Contains(HasSubstr("all-gather")));
  // Only one of two comes.
  EXPECT_THAT(found([] {}),
              Contains(HasSubstr("hang: rank 0's call 0, \"w\", waits for the others")));
}

// The host's order is the same on both ranks, but nothing orders the two streams: a device may
// begin either first.
TEST_F(CudaFakeNccl, FindsThatTwoCommunicatorsBlockEachOther) {
  int hung = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    Make(seed, 2);
    for (int rank = 0; rank < 2; ++rank) {
      AllReduce(rank, 0, 8, NcclType::kFloat32, NcclReduction::kSum, 0);
      AllReduce(rank, 128, 8, NcclType::kFloat32, NcclReduction::kSum, 1);
    }
    hung += Findings().empty() ? 0 : 1;
    machine_.reset();
  }
  EXPECT_GT(hung, 10);
  EXPECT_LT(hung, 190);
}

TEST_F(CudaFakeNccl, FindsCallsThatNcclForbids) {
  Make(1, 1);
  std::thread([&] { AllReduce(0, 64, 8); }).join();
  EXPECT_THAT(machine_->TakeFindings(), Contains("a communicator is used by two threads"));
  bool found = false;
  for (int i = 0; i < 50 && !found; ++i) {
    // Without a look at whether the one before has been taken.
    kFakeNccl.AllReduce(memory_[0], memory_[0], 8, NcclType::kFloat32, NcclReduction::kSum,
                        comms_[0][0], streams_[0][0]);
    for (const std::string &line : machine_->TakeFindings())
      found |= line == "a communicator is called before it has done the call before";
  }
  EXPECT_TRUE(found);
  machine_.reset();
}

}  // namespace
}  // namespace commsched::runtime::cuda
