// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What re-planning is made of, each alone: lanes, control messages, the check of
// a plan, the command.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <fstream>
#include <iterator>
#include <thread>

#include "absl/strings/str_cat.h"
#include "runtime/replanning/control_channel.h"
#include "runtime/replanning/parameter_lanes.h"
#include "runtime/replanning/planning_command.h"
#include "runtime/replanning/replacement.h"
#include "runtime/replanning/transport_lanes.h"
#include "tests/runtime/lanes_pair.h"
#include "tests/runtime/server_plan.h"
#include "tests/runtime/test_util.h"

namespace commsched {
namespace {

using namespace runtime;
using ::testing::AllOf;
using ::testing::HasSubstr;

using testing::Pair;

absl::Span<const std::byte> Bytes(const std::string &text) {
  return {reinterpret_cast<const std::byte *>(text.data()), text.size()};
}

Clock::time_point Soon() { return Clock::now() + std::chrono::seconds(20); }

TEST(TransportLanesTest, OneTagInSeveralLanesIsSeveralMessages) {
  Pair pair;
  std::unique_ptr<TransportLanes::Lane> send[2], recv[2];
  for (uint32_t g = 0; g < 2; ++g) {
    send[g] = pair.lanes[0]->Open(g, std::make_shared<PeerFailureRelay>());
    recv[g] = pair.lanes[1]->Open(g, std::make_shared<PeerFailureRelay>());
  }
  const MessageTag tag{7, 3, 0, 0};
  std::string got[2] = {"....", "...."}, control = "....";
  int done = 0;  // everything runs on this thread
  auto count = [&](absl::Status s) {
    EXPECT_TRUE(s.ok()) << s;
    ++done;
  };
  pair.lanes[1]->RecvControl(0, 7, 0, {reinterpret_cast<std::byte *>(control.data()), 4}, count);
  for (int g : {1, 0})
    recv[g]->Recv(0, tag, {reinterpret_cast<std::byte *>(got[g].data()), 4}, count);
  send[0]->Send(1, tag, 0, Bytes("zero"), count);
  send[1]->Send(1, tag, 0, Bytes("one!"), count);
  pair.lanes[0]->SendControl(1, 7, 0, 0, Bytes("ctrl"), count);
  EXPECT_EQ(done, 6);
  EXPECT_EQ(got[0], "zero");
  EXPECT_EQ(got[1], "one!");
  EXPECT_EQ(control, "ctrl");
}

TEST(TransportLanesTest, WhatGoesWrongInAnIdleLaneStaysThere) {
  Pair pair;
  auto live = pair.lanes[0]->Open(0, std::make_shared<PeerFailureRelay>());
  live->SetLive(true);
  auto other = pair.lanes[1]->Open(0, std::make_shared<PeerFailureRelay>());
  {
    auto idle = pair.lanes[0]->Open(1, std::make_shared<PeerFailureRelay>());
    idle->Abort(absl::InternalError("no memory"));
    idle->Close(absl::Seconds(5));
  }
  std::string got = "...";
  absl::Status status = absl::UnknownError("not done");
  other->Recv(0, {1, 1, 0, 0}, {reinterpret_cast<std::byte *>(got.data()), 3},
              [&](absl::Status s) { status = std::move(s); });
  live->Send(1, {1, 1, 0, 0}, 0, Bytes("yes"), [](absl::Status) {});
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_EQ(got, "yes");
  absl::Status later;
  other->Recv(0, {2, 1, 0, 0}, {reinterpret_cast<std::byte *>(got.data()), 3},
              [&](absl::Status s) { later = std::move(s); });
  live->Abort(absl::InternalError("broken"));
  EXPECT_THAT(std::string(later.message()), HasSubstr("broken"));
}

TEST(TransportLanesTest, FailuresReachLanesOfAllTimesButOrderlyEndsNone) {
  TransportLanes lanes;
  auto handler = lanes.FailureHandler();
  auto early = std::make_shared<PeerFailureRelay>();
  auto shared = std::make_shared<TransportLanes>();
  auto report = shared->FailureHandler();
  report(1, absl::FailedPreconditionError("has closed"));
  report(1, absl::UnavailableError("is lost"));
  std::vector<std::string> heard;
  Pair pair;  // for a transport
  auto lane = pair.lanes[0]->Open(0, early);
  early->Attach([&](int peer, const absl::Status &why) {
    heard.push_back(absl::StrCat(peer, " ", why.message()));
  });
  pair.lanes[0]->FailureHandler()(1, absl::FailedPreconditionError("has closed"));
  pair.lanes[0]->FailureHandler()(1, absl::UnavailableError("is lost"));
  auto late = std::make_shared<PeerFailureRelay>();
  auto second = pair.lanes[0]->Open(1, late);
  late->Attach([&](int peer, const absl::Status &why) {
    heard.push_back(absl::StrCat("late ", peer, " ", why.message()));
  });
  EXPECT_THAT(heard, ::testing::ElementsAre("1 is lost", "late 1 is lost"));
  early->Attach(nullptr);
  late->Attach(nullptr);
}

// Says what is done with it.
class ToldClient final : public ParameterClient {
 public:
  explicit ToldClient(std::string *told) : told_(told) {}
  const char *name() const override { return "told"; }
  uint64_t first_step() const override { return 7; }
  bool keeps_checkpoints() const override { return false; }
  void Push(int, uint32_t block, uint64_t step, absl::Span<const std::byte>, Done done) override {
    absl::StrAppend(told_, "push ", block, "@", step, ";");
    done(absl::OkStatus());
  }
  void Pull(int, uint32_t block, uint64_t step, absl::Span<std::byte>, Done done) override {
    absl::StrAppend(told_, "pull ", block, "@", step, ";");
    done(absl::OkStatus());
  }
  void PullRows(int, uint32_t, uint64_t, absl::Span<const int64_t>, absl::Span<std::byte>, Done done) override {
    done(absl::OkStatus());
  }
  void SetOrder(const ServerOrder &order) override {
    absl::StrAppend(told_, "priorities ", order.OfPush(0, 1), " ",
                    order.OfPull(0, 1), ";");
  }
  absl::Status Finish(uint64_t steps) override {
    absl::StrAppend(told_, "finish ", steps, ";");
    return absl::OkStatus();
  }
  void Abort(const absl::Status &) override { absl::StrAppend(told_, "abort;"); }
  void Close() override { absl::StrAppend(told_, "close;"); }
  uint64_t bytes_sent() const override { return 0; }
  uint64_t bytes_received() const override { return 0; }

 private:
  std::string *const told_;
};

TEST(ParameterLanesTest, OnlyThePlanThatRunsOrdersAndEndsTheConnection) {
  std::string told;
  auto lanes = std::make_shared<ParameterLanes>(std::make_unique<ToldClient>(&told));
  auto first = lanes->Open({{{4, 9}}, {{5, 1}}}), second = lanes->Open({{{9, 3}}, {{2, 8}}});
  EXPECT_EQ(told, "");
  first->SetLive(true);
  first->Push(0, 1, 7, {}, [](absl::Status) {});
  second->Abort(absl::AbortedError("it cannot be prepared"));
  second.reset();
  second = lanes->Open({{{9, 3}}, {{2, 8}}});
  EXPECT_EQ(second->first_step(), 7u);
  second->SetLive(true);
  first->SetLive(false);
  first->Abort(absl::AbortedError("late"));
  first.reset();
  second->Pull(0, 1, 8, {}, [](absl::Status) {});
  EXPECT_EQ(told, "priorities 9 1;push 1@7;priorities 3 8;pull 1@8;");
  second.reset();
  EXPECT_EQ(told, "priorities 9 1;push 1@7;priorities 3 8;pull 1@8;close;");
}

absl::StatusOr<ControlMessage> Next(ControlChannel *channel) {
  auto received = channel->Receive({0}, Soon());
  if (!received.ok()) return received.status();
  EXPECT_EQ(received->peer, 0);
  return std::move(received->message);
}

TEST(ControlChannelTest, MessagesComeInOrderWhoeverIsFirst) {
  Pair pair;
  ControlChannel a(pair.lanes[0]), b(pair.lanes[1]);
  std::string big(3 << 20, 'x');
  big.back() = 'y';
  a.Send(1, {{ControlMessage::kPrepare, 1, 42}, big});
  a.Send(1, {{ControlMessage::kHold, 2, 0}});
  auto first = Next(&b);
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ(first->kind, ControlMessage::kPrepare);
  EXPECT_EQ(first->value, 42u);
  EXPECT_EQ(first->payload, big);
  auto second = Next(&b);
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(second->kind, ControlMessage::kHold);
  // One that does not come in time comes later, whole.
  EXPECT_EQ(b.Receive({0}, Clock::now()).status().code(), absl::StatusCode::kDeadlineExceeded);
  a.Send(1, {{ControlMessage::kSwitch, 2, 99}});
  auto third = Next(&b);
  ASSERT_TRUE(third.ok());
  EXPECT_EQ(third->value, 99u);
}

TEST(ControlChannelTest, StopEndsReceive) {
  Pair pair;
  ControlChannel b(pair.lanes[1]);
  std::thread stopper([&] { b.Stop(); });
  EXPECT_EQ(b.Receive({0}, Clock::time_point::max()).status().code(),
            absl::StatusCode::kCancelled);
  stopper.join();
}

TEST(ControlChannelTest, WhatIsNoMessageIsAnError) {
  Pair pair;
  ControlChannel b(pair.lanes[1]);
  const std::string noise(48, 'z');
  pair.lanes[0]->SendControl(1, 0, 0, 0, Bytes(noise), [](absl::Status) {});
  EXPECT_EQ(Next(&b).status().code(), absl::StatusCode::kDataLoss);
}

// ---- whether a plan fits ----------------------------------------------------

std::string WhyNot(const std::string &now, const std::string &next) {
  auto a = PlanImage::Load(now), b = PlanImage::Load(next);
  EXPECT_TRUE(a.ok() && b.ok()) << a.status() << b.status();
  return std::string(CheckReplacement(**a, **b).message());
}

TEST(ReplacementTest, AnotherScheduleOfTheProgramFits) {
  const std::string plan = testing::Trainer(4).Bytes();
  EXPECT_EQ(WhyNot(plan, plan), "");
  EXPECT_EQ(WhyNot(plan, testing::Trainer(4, false).Bytes()), "");
  EXPECT_EQ(WhyNot(plan, testing::Trainer(4, true, true).Bytes()), "");
}

TEST(ReplacementTest, AnotherProgramDoesNot) {
  const std::string plan = testing::Trainer(4).Bytes();
  auto changed = [&](std::function<void(plan::Plan &)> change) {
    testing::PlanBuilder other = testing::Trainer(4);
    change(other.proto());
    return WhyNot(plan, other.Bytes());
  };
  EXPECT_EQ(WhyNot(plan, testing::Trainer(2).Bytes()),
            "the number of nodes of the new plan must match 4, got: 2");
  EXPECT_THAT(changed([](plan::Plan &p) { p.set_module_name("other"); }),
              HasSubstr("the module of the new plan must match"));
  EXPECT_EQ(changed([](plan::Plan &p) { p.mutable_slots(0)->set_name("v"); }),
            "the new plan has no \"w\" on device 0");
  EXPECT_THAT(changed([](plan::Plan &p) { p.mutable_slots(0)->set_kind(plan::Slot::STATE); }),
              HasSubstr("\"w\" of the new plan must match parameter f32[100], got: state f32[100]"));
  EXPECT_THAT(changed([](plan::Plan &p) { p.mutable_functions(1)->set_name("test"); }),
              HasSubstr("a function of the new plan must match @eval, got: @test"));
  EXPECT_THAT(changed([](plan::Plan &p) {
                p.mutable_functions(0)->mutable_outputs(0)->set_metric("error");
              }),
              HasSubstr("the metrics of function @step of the new plan must match [ loss ]"));
  EXPECT_THAT(changed([](plan::Plan &p) { p.mutable_functions(0)->set_global_batch(8); }),
              HasSubstr("the global batch of function @step"));
  EXPECT_EQ(changed([](plan::Plan &p) { p.mutable_functions(0)->set_sums_gradients(true); }),
            "the reduction of gradients of function @step of the new plan must match mean, got: sum");
  EXPECT_THAT(changed([](plan::Plan &p) {
                p.mutable_functions(0)->mutable_instructions(3)->mutable_run()->set_symbol("twice");
              }),
              HasSubstr("is another program: fragment"));
  EXPECT_THAT(changed([](plan::Plan &p) { p.mutable_objects(0)->mutable_elf()->push_back(0); }),
              HasSubstr("its code is not the same"));
  EXPECT_THAT(changed([](plan::Plan &p) {
                for (auto &i : *p.mutable_functions(0)->mutable_instructions())
                  if (i.has_communicate())
                    for (auto &phase : *i.mutable_communicate()->mutable_phases())
                      if (phase.scale() != 0) phase.set_scale(1);
              }),
              HasSubstr("it reduces other values"));
}

TEST(ReplacementTest, SynchronousServersGoOnWithWhatTheyStore) {
  const std::string plan = testing::ServerPlan({}).Bytes();
  auto changed = [&](std::function<void(plan::Plan &)> change) {
    testing::PlanBuilder other = testing::ServerPlan({});
    change(other.proto());
    return WhyNot(plan, other.Bytes());
  };
  EXPECT_EQ(changed([](plan::Plan &) {}), "");
  // In another order, as another policy has it.
  EXPECT_EQ(changed([](plan::Plan &p) {
              for (plan::Function &f : *p.mutable_functions())
                for (plan::Instruction &i : *f.mutable_instructions())
                  if (i.has_push() || i.has_pull()) i.set_priority(7 - i.priority());
            }),
            "");
  EXPECT_THAT(changed([](plan::Plan &p) {
                p.mutable_parameter_servers()->mutable_servers(1)->mutable_blocks(0)->set_mean(true);
              }),
              HasSubstr("the new plan has other parameter servers"));
  EXPECT_THAT(WhyNot(plan, testing::ServerPlan({.shared_loss = true}).Bytes()),
              HasSubstr("the blocks of server 1 of the new plan must match those of the running one, whose values stay "
                        "there, got: 3 blocks instead of 2, the first other one \"loss\""));
  auto image = PlanImage::Load(testing::ServerPlan({.mode = plan::ParameterServers::ASYNC}).Bytes());
  ASSERT_TRUE(image.ok());
  EXPECT_THAT(std::string(CheckReplaceable(**image).message()), HasSubstr("with synchronous parameter servers only"));
}

// ---- the command ----------------------------------------------------------

absl::StatusOr<std::string> Plan(const std::string &command,
                                 absl::Duration deadline = absl::Seconds(60),
                                 const std::string &folder = "") {
  std::atomic<bool> stop{false};
  return PlanByCommand({command, deadline, folder})({1, "the profile", "the links"}, stop);
}

TEST(PlanningCommandTest, GetsMeasurementsAndGivesAPlan) {
  auto plan = Plan("cat {profile} {calibration} >{plan}; echo noise; echo more >&2");
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(*plan, "the profilethe links");
}

TEST(PlanningCommandTest, KeepsFilesInAFolderOfAnyName) {
  testing::TemporaryFolder folder;
  const std::string name = folder / "it's here";
  ASSERT_TRUE(Plan("cp {profile} {plan}", absl::Seconds(60), name).ok());
  std::ifstream kept(name + "/plan.1");
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(kept), {}), "the profile");
}

TEST(PlanningCommandTest, TakesLittle) {
  auto plan = Plan("nice >{plan}; nproc >>{plan}");
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(*plan, "19\n1\n");
}

TEST(PlanningCommandTest, FailuresSayWhatTheCommandSaid) {
  EXPECT_THAT(std::string(Plan("echo first; echo step.mlir: bad >&2; exit 3; {plan}").status().message()),
              HasSubstr("failed with status 3: first; step.mlir: bad"));
  EXPECT_THAT(std::string(Plan("true {plan}").status().message()),
              HasSubstr("has written no plan"));
  EXPECT_THAT(std::string(Plan("no-such-tool {plan}").status().message()),
              HasSubstr("failed with status 127"));
  EXPECT_FALSE(CheckPlanningCommand("cs-opt").ok());
}

// A program that begins one may ignore SIGCHLD, or wait for whatever child has ended.
TEST(PlanningCommandTest, StatusIsKnownWhereOthersTakeIt) {
  const auto before = signal(SIGCHLD, SIG_IGN);
  const auto good = Plan("cp {profile} {plan}");
  const auto bad = Plan("cp {profile} {plan}; echo no costs >&2; exit 3");
  const auto killed = Plan("cp {profile} {plan}; kill -9 $$; sleep 1000");
  signal(SIGCHLD, before);
  ASSERT_TRUE(good.ok()) << good.status();
  EXPECT_EQ(*good, "the profile");
  EXPECT_EQ(std::string(bad.status().message()), "the command failed with status 3: no costs");
  EXPECT_THAT(std::string(killed.status().message()), HasSubstr("how is not known"));
}

bool Gone(pid_t pid) {
  for (int i = 0; i < 2000; ++i) {
    std::ifstream stat(absl::StrCat("/proc/", pid, "/stat"));
    std::string first, second, state;
    if (!(stat >> first >> second >> state) || state == "Z") return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

TEST(PlanningCommandTest, OneThatDoesNotEndIsEndedWithAllThatItStarted) {
  testing::TemporaryFolder folder;
  const std::string file = folder / "pid";
  auto plan = Plan(absl::StrCat("(sleep 1000 & echo $! >", file, "; wait); : {plan}"),
                   absl::Seconds(4));
  EXPECT_THAT(std::string(plan.status().message()), HasSubstr("has not ended within 4s"));
  pid_t pid = 0;
  std::ifstream(file) >> pid;
  ASSERT_GT(pid, 0);
  EXPECT_TRUE(Gone(pid));
}

TEST(PlanningCommandTest, StopEndsIt) {
  std::atomic<bool> stop{true};
  auto plan = PlanByCommand({"sleep 1000; : {plan}", absl::Seconds(60), ""})({1, "", ""}, stop);
  EXPECT_EQ(plan.status().code(), absl::StatusCode::kCancelled);
}

}  // namespace
}  // namespace commsched
