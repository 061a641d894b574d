// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs in which the plan changes: every value and metric stays what it would be
// without, whatever goes wrong on the way.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <random>
#include <thread>

#include "absl/strings/str_cat.h"
#include "runtime/transport/in_process_transport.h"
#include "tests/runtime/test_util.h"

namespace commsched {
namespace {

using namespace runtime;
using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;

// What happens in a run, for the thread that tests.
class Events {
 public:
  void Add(const ReplanEvent &event) {
    MutexLock lock(&mu_);
    all_.push_back(event);
  }
  std::vector<ReplanEvent> Of(ReplanEvent::Kind kind) {
    MutexLock lock(&mu_);
    std::vector<ReplanEvent> found;
    for (const ReplanEvent &event : all_)
      if (event.kind == kind) found.push_back(event);
    return found;
  }
  size_t switches() { return Of(ReplanEvent::kSwitched).size(); }
  std::string last_given_up() {
    auto all = Of(ReplanEvent::kGivenUp);
    return all.empty() ? "" : all.back().text;
  }
  std::string last_failure() {
    auto same = Of(ReplanEvent::kUnchanged);
    return same.empty() ? last_given_up() : same.back().text;
  }

 private:
  Mutex mu_;
  std::vector<ReplanEvent> all_;
};

// Gives these plans, one after the other, again and again.
PlanFunction Plans(std::vector<std::string> plans) {
  return [plans, next = std::make_shared<size_t>(0)](const Measurements &,
                                                     const std::atomic<bool> &) {
    return absl::StatusOr<std::string>(plans[(*next)++ % plans.size()]);
  };
}

ReplanOptions Replan(PlanFunction plan, Events *events, uint64_t every = 10) {
  ReplanOptions options;
  options.plan = std::move(plan);
  options.every = every;
  options.window = 5;
  options.prepare_deadline = absl::Seconds(20);
  if (events != nullptr)
    options.on_event = [events](const ReplanEvent &event) { events->Add(event); };
  return options;
}

struct Outcome {
  std::vector<double> losses;
  std::vector<float> w;
};

// Trains until `enough`, but at most kMost steps.
constexpr int kMost = 20000;
Outcome Train(Session *session, const std::function<bool(int)> &enough) {
  Outcome outcome;
  testing::StartTrainer(session, 0.5f);
  int step = 0;
  for (; step < kMost && !enough(step); ++step) {
    testing::RunTrainer(session, step, 1);
    auto metrics = session->Metrics(uint64_t(step));
    EXPECT_TRUE(metrics.ok()) << metrics.status();
    if (!metrics.ok()) return outcome;
    outcome.losses.push_back(metrics->front());
  }
  EXPECT_LT(step, kMost);
  outcome.w.resize(testing::kTrainerSize);
  for (uint32_t v = 0; v < session->values().size(); ++v)
    if (session->values()[v].name == "w") {
      EXPECT_TRUE(session->GetValue(v, testing::MutableBytesOf(outcome.w)).ok());
    }
  return outcome;
}

Outcome WithoutSwitch(const testing::PlanBuilder &plan, size_t steps) {
  auto session = testing::Open(plan);
  return Train(session.get(), [&](int step) { return size_t(step) == steps; });
}

// The slots the other way round: they are found by their names.
testing::PlanBuilder Swapped(testing::PlanBuilder plan) {
  plan.proto().mutable_slots()->SwapElements(0, 1);
  for (auto &f : *plan.proto().mutable_functions())
    for (auto &b : *f.mutable_buffers())
      if (b.kind() == plan::Buffer::SLOT_CURRENT || b.kind() == plan::Buffer::SLOT_NEXT)
        b.set_slot(1 - b.slot());
  return plan;
}

TEST(ReplanningTest, ThreadsOfOneProcessChangeAndNothingElseDoes) {
  for (int nodes : {1, 2, 4}) {
    const testing::PlanBuilder plan = testing::Trainer(nodes);
    const testing::PlanBuilder other = Swapped(testing::Trainer(nodes, false));
    Events events;
    SessionOptions options;
    options.replan = Replan(Plans({other.Bytes(), plan.Bytes()}), &events);
    auto session = testing::Open(plan, options);
    ASSERT_NE(session, nullptr);
    const Outcome got =
        Train(session.get(), [&](int) { return events.switches() >= 3; });
    const Outcome want = WithoutSwitch(plan, got.losses.size());
    EXPECT_EQ(got.losses, want.losses);
    EXPECT_EQ(got.w, want.w);
    EXPECT_EQ(session->image().digest(), PlanImage::Load(other.Bytes()).value()->digest());
    EXPECT_EQ(session->executor(0).Stats(0).calls, got.losses.size());
    EXPECT_TRUE(events.Of(ReplanEvent::kGivenUp).empty()) << events.last_given_up();
  }
}

TEST(ReplanningTest, TwoRanksMaySumInAnyOrder) {
  const testing::PlanBuilder plan = testing::Trainer(2);
  Events events;
  SessionOptions options;
  options.replan = Replan(Plans({testing::Trainer(2, true, true).Bytes()}), &events);
  auto session = testing::Open(plan, options);
  const Outcome got = Train(session.get(), [&](int) { return events.switches() >= 1; });
  const Outcome want = WithoutSwitch(plan, got.losses.size());
  EXPECT_EQ(got.losses, want.losses);
  EXPECT_EQ(got.w, want.w);
}

TEST(ReplanningTest, MeasurementsAreThoseOfTheRun) {
  const testing::PlanBuilder plan = testing::Trainer(2);
  Events events;
  Measurements seen;
  SessionOptions options;
  options.replan = Replan(
      [&](const Measurements &measured, const std::atomic<bool> &) -> absl::StatusOr<std::string> {
        seen = measured;
        return absl::InternalError("no plan today");
      },
      &events);
  auto session = testing::Open(plan, options);
  Train(session.get(), [&](int) { return !events.Of(ReplanEvent::kGivenUp).empty(); });
  EXPECT_THAT(seen.profile, AllOf(HasSubstr("\"format\":\"commsched profile\""),
                                  HasSubstr("\"index\":0"), HasSubstr("\"index\":1"),
                                  HasSubstr("\"label\":\"add\"")));
  EXPECT_THAT(seen.calibration, HasSubstr("\"format\":\"commsched calibration\""));
  EXPECT_THAT(events.last_given_up(),
              AllOf(HasSubstr("going on with the old plan"), HasSubstr("no plan today")));
}

TEST(ReplanningTest, PlansThatDoNotFitAreRefusedAndTrainingGoesOn) {
  const testing::PlanBuilder plan = testing::Trainer(2);
  testing::PlanBuilder renamed = testing::Trainer(2);
  renamed.proto().mutable_slots(0)->set_name("v");
  const std::string bytes = testing::Trainer(2, false).Bytes();
  struct Case {
    std::string plan, why;
  };
  for (const Case &c : {Case{renamed.Bytes(), "the new plan has no \"w\""},
                        Case{bytes.substr(0, bytes.size() / 2), "the new plan: plan is truncated"},
                        Case{"", "the new plan: "},
                        Case{plan.Bytes(), "the new plan is the same one"}}) {
    Events events;
    SessionOptions options;
    options.replan = Replan(Plans({c.plan}), &events);
    auto session = testing::Open(plan, options);
    int until = 0;
    const Outcome got = Train(session.get(), [&](int step) {
      if (until == 0 && !events.last_failure().empty()) until = step + 10;
      return until != 0 && step >= until;
    });
    EXPECT_THAT(events.last_failure(), HasSubstr(c.why));
    EXPECT_EQ(events.switches(), 0u);
    const Outcome want = WithoutSwitch(plan, got.losses.size());
    EXPECT_EQ(got.losses, want.losses);
  }
}

TEST(ReplanningTest, ThreeFailuresInARowAreEnough) {
  Events events;
  SessionOptions options;
  options.replan = Replan(Plans({"nonsense"}), &events);
  auto session = testing::Open(testing::Trainer(2), options);
  int until = 0;
  Train(session.get(), [&](int step) {
    if (until == 0 && events.Of(ReplanEvent::kGivenUp).size() >= 3) until = step + 200;
    return until != 0 && step >= until;
  });
  EXPECT_EQ(events.Of(ReplanEvent::kGivenUp).size(), 3u);
  EXPECT_THAT(events.last_given_up(), HasSubstr("there will be no more"));
}

TEST(ReplanningTest, ARunMayEndInTheMiddleOfAnAttempt) {
  Events events;
  SessionOptions options;
  options.replan = Replan(
      [](const Measurements &, const std::atomic<bool> &stop) -> absl::StatusOr<std::string> {
        while (!stop) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        return absl::CancelledError("stopped");
      },
      &events);
  auto session = testing::Open(testing::Trainer(2), options);
  Train(session.get(), [&](int) { return !events.Of(ReplanEvent::kBegun).empty(); });
  session.reset();
  EXPECT_EQ(events.switches(), 0u);
}

// ---- ranks with sessions of their own ------------------------------------

// Counts what is sent of plans, and damages it, if it is to.
class Damaging : public Transport {
 public:
  Damaging(std::unique_ptr<Transport> to, bool damage, std::atomic<int> *plans)
      : to_(std::move(to)), damage_(damage), plans_(plans) {}
  int rank() const override { return to_->rank(); }
  int nodes() const override { return to_->nodes(); }
  const char *name() const override { return to_->name(); }
  void Send(int peer, MessageTag tag, int32_t priority, absl::Span<const std::byte> bytes,
            Done done) override {
    if (tag.key < (uint32_t{TransportLanes::kControl} << TransportLanes::kKeyBits) ||
        bytes.size() < 500)
      return to_->Send(peer, tag, priority, bytes, std::move(done));
    ++*plans_;
    if (!damage_) return to_->Send(peer, tag, priority, bytes, std::move(done));
    auto copy = std::make_shared<std::vector<std::byte>>(bytes.begin(), bytes.end());
    (*copy)[copy->size() / 2] ^= std::byte{1};
    to_->Send(peer, tag, priority, *copy,
              [copy, done = std::move(done)](absl::Status s) mutable { done(std::move(s)); });
  }
  void Recv(int peer, MessageTag tag, absl::Span<std::byte> buffer, Done done) override {
    to_->Recv(peer, tag, buffer, std::move(done));
  }
  void RecvStream(int peer, MessageTag tag, size_t bytes, size_t unit, Sink sink,
                  Done done) override {
    to_->RecvStream(peer, tag, bytes, unit, std::move(sink), std::move(done));
  }
  void Abort(const absl::Status &why) override { to_->Abort(why); }
  void Close(absl::Duration flush) override { to_->Close(flush); }
  uint64_t bytes_sent() const override { return to_->bytes_sent(); }
  uint64_t bytes_received() const override { return to_->bytes_received(); }

 private:
  std::unique_ptr<Transport> to_;
  const bool damage_;
  std::atomic<int> *const plans_;
};

struct Ranks {
  std::vector<absl::Status> statuses;
  std::vector<Outcome> outcomes;
  std::vector<uint64_t> digests;
  std::atomic<int> plans{0};  // that rank 0 has sent
};

// Every rank as a session on a thread, which trains for `steps` steps. `each`,
// before a step, may end the rank by an error.
using BeforeStep = std::function<absl::Status(int rank, int step, Session *session)>;
void RunRanks(const testing::PlanBuilder &plan, int nodes, int steps,
              const std::function<SessionOptions(int rank)> &options_of, Ranks *run_ranks,
              const BeforeStep &before = nullptr, bool damage = false) {
  Ranks &ranks = *run_ranks;
  auto image = PlanImage::Load(plan.Bytes());
  EXPECT_TRUE(image.ok());
  auto hub = MakeInProcessHub(nodes);
  ranks.statuses.resize(size_t(nodes));
  ranks.outcomes.resize(size_t(nodes));
  ranks.digests.resize(size_t(nodes));
  auto run = [&](int r) -> absl::Status {
    auto session = Session::OneRank(
        *image, r,
        [&](TransportOptions o) -> absl::StatusOr<std::unique_ptr<Transport>> {
          auto transport = ConnectInProcess(hub, std::move(o));
          if (!transport.ok() || r != 0) return transport;
          return std::make_unique<Damaging>(*std::move(transport), damage, &ranks.plans);
        },
        options_of(r));
    if (!session.ok()) return session.status();
    testing::StartTrainer(session->get(), 0.5f);
    for (int step = 0; step < steps; ++step) {
      if (before)
        if (absl::Status s = before(r, step, session->get()); !s.ok()) return s;
      auto x = std::make_shared<std::vector<float>>();
      for (int i = 0; i < nodes * testing::kTrainerSize; ++i)
        x->push_back(1.0f / float(i + 3 * step + 1));
      GlobalBatch batch;
      batch.Set("x", testing::BytesOf(*x), x);
      auto call = (*session)->Call(0, &batch);
      if (!call.ok()) return call.status();
      EXPECT_EQ(*call, uint64_t(step));
    }
    for (int step = 0; step < steps; ++step) {
      auto metrics = (*session)->Metrics(uint64_t(step));
      if (!metrics.ok()) return metrics.status();
      ranks.outcomes[size_t(r)].losses.push_back(metrics->front());
    }
    ranks.digests[size_t(r)] = (*session)->image().digest();
    return (*session)->Drain();
  };
  std::vector<std::thread> threads;
  for (int r = 0; r < nodes; ++r)
    threads.emplace_back([&, r] { ranks.statuses[size_t(r)] = run(r); });
  for (auto &t : threads) t.join();
}

absl::Status TimeForAttempts(int, int step, Session *) {
  if (step % 50 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
  return absl::OkStatus();
}

TEST(ReplanningTest, RanksAgreeOnTheCall) {
  for (int nodes : {2, 3, 4}) {
    const testing::PlanBuilder plan = testing::Trainer(nodes);
    const testing::PlanBuilder other = Swapped(testing::Trainer(nodes, false));
    std::vector<Events> events(static_cast<size_t>(nodes));
    auto options_of = [&](int rank) {
      SessionOptions options;
      options.replan = Replan(Plans({other.Bytes(), plan.Bytes()}), &events[size_t(rank)], 40);
      return options;
    };
    Ranks ranks;
    RunRanks(plan, nodes, 3000, options_of, &ranks, TimeForAttempts);
    const Outcome want = WithoutSwitch(plan, 3000);
    size_t switches = events[0].switches();
    EXPECT_GE(switches, 1u);
    for (int r = 0; r < nodes; ++r) {
      ASSERT_TRUE(ranks.statuses[size_t(r)].ok()) << ranks.statuses[size_t(r)];
      EXPECT_EQ(ranks.outcomes[size_t(r)].losses, want.losses);
      EXPECT_EQ(ranks.digests[size_t(r)], ranks.digests[0]);
      auto own = events[size_t(r)].Of(ReplanEvent::kSwitched);
      auto first = events[0].Of(ReplanEvent::kSwitched);
      ASSERT_EQ(own.size(), switches);
      for (size_t i = 0; i < switches; ++i) EXPECT_EQ(own[i].call, first[i].call);
    }
    EXPECT_EQ(events[0].last_given_up(), "");
    EXPECT_GE(ranks.plans, int(switches) * (nodes - 1));
  }
}

// Plans that are tried in turn: one that was replaced takes the place of its successor without being made or sent again,
// and whatever the order, nothing else changes.
TEST(ReplanningTest, AReplacedPlanComesBackAsItWas) {
  constexpr int kSteps = 3000, kEvery = 20;
  int back = 0;  // as few steps are made as there is time for few attempts in, there are so many runs
  for (uint64_t seed = 0; back < 8; ++seed) {
    ASSERT_LT(seed, 100u);
    std::mt19937_64 random(seed);
    const int nodes = 2 + int(random() % 3);
    const testing::PlanBuilder plan = testing::Trainer(nodes);
    std::vector<std::string> plans = {plan.Bytes(), Swapped(testing::Trainer(nodes, false)).Bytes(),
                                      testing::Trainer(nodes, false).Bytes()};
    // The one after another one, often the one before; `made`: how often it is none of the two that have memory.
    std::vector<std::string> order;
    size_t running = 0, kept = plans.size();
    std::vector<int> made = {0};
    for (int i = 0; i <= kSteps / kEvery; ++i) {  // more than there can be
      size_t next = random() % 3 != 0 && kept != plans.size() ? kept : (running + 1 + random() % 2) % plans.size();
      order.push_back(plans[next]);
      made.push_back(made.back() + (next != kept));
      kept = running;
      running = next;
    }
    std::vector<Events> events(static_cast<size_t>(nodes));
    Ranks ranks;
    RunRanks(
        plan, nodes, kSteps,
        [&](int rank) {
          SessionOptions options;
          options.replan = Replan(Plans(order), &events[size_t(rank)], kEvery);
          options.replan->keeps_replaced = true;
          return options;
        },
        &ranks, TimeForAttempts);
    const Outcome want = WithoutSwitch(plan, kSteps);
    const size_t switches = events[0].switches();
    back += int(switches) - made[switches];
    for (int r = 0; r < nodes; ++r) {
      ASSERT_TRUE(ranks.statuses[size_t(r)].ok()) << ranks.statuses[size_t(r)];
      EXPECT_EQ(ranks.outcomes[size_t(r)].losses, want.losses) << seed;
      EXPECT_EQ(ranks.digests[size_t(r)], ranks.digests[0]);
    }
    EXPECT_EQ(events[0].last_given_up(), "");
    // The last attempt may have been sent, and not been over.
    EXPECT_GE(ranks.plans, made[switches] * (nodes - 1)) << seed;
    EXPECT_LE(ranks.plans, made[switches + 1] * (nodes - 1)) << seed;
  }
}

// Where the run fails, however often plans have changed: the values after the last call that all have completed.
TEST(ReplanningTest, AfterAnErrorValuesAreThoseOfTheCallsThatAllHaveCompleted) {
  for (uint64_t seed = 0; seed < 12; ++seed) {
    std::mt19937_64 random(seed);
    const int nodes = 1 + int(random() % 3);
    const testing::PlanBuilder plan = testing::Trainer(nodes);
    Events events;
    SessionOptions options;
    options.replan = Replan(Plans({Swapped(testing::Trainer(nodes, false)).Bytes(), plan.Bytes()}), &events, 10);
    options.replan->keeps_replaced = random() % 4 != 0;
    auto session = testing::Open(plan, options);
    ASSERT_NE(session, nullptr);
    testing::StartTrainer(session.get(), 0.5f);
    const size_t switches = 1 + random() % 4;
    int step = 0, more = int(random() % 6);
    for (; step < kMost && (events.switches() < switches || more-- > 0); ++step) testing::RunTrainer(session.get(), step, 1);
    ASSERT_LT(step, kMost);
    session->Cancel(absl::InternalError("enough"));
    EXPECT_FALSE(session->Settle().ok());
    const uint64_t done = session->steps();
    EXPECT_LE(done, uint64_t(step));
    EXPECT_GE(done + 2 + 2, uint64_t(step));  // that were in flight, or queued
    std::vector<float> w(testing::kTrainerSize);
    for (uint32_t v = 0; v < session->values().size(); ++v)
      if (session->values()[v].name == "w") {
        EXPECT_TRUE(session->GetValue(v, testing::MutableBytesOf(w)).ok());
      }
    EXPECT_EQ(w, WithoutSwitch(plan, size_t(done)).w) << "seed " << seed;
  }
}

TEST(ReplanningTest, PlanThatArrivesDamagedIsRefusedByAll) {
  const testing::PlanBuilder plan = testing::Trainer(2);
  Events events;
  Ranks ranks;
  RunRanks(
      plan, 2, 1500,
      [&](int rank) {
        SessionOptions options;
        options.replan = Replan(Plans({testing::Trainer(2, false).Bytes()}),
                                rank == 0 ? &events : nullptr, 40);
        return options;
      },
      &ranks, TimeForAttempts, /*damage=*/true);
  const Outcome want = WithoutSwitch(plan, 1500);
  for (int r = 0; r < 2; ++r) {
    ASSERT_TRUE(ranks.statuses[size_t(r)].ok()) << ranks.statuses[size_t(r)];
    EXPECT_EQ(ranks.outcomes[size_t(r)].losses, want.losses);
  }
  EXPECT_EQ(events.switches(), 0u);
  EXPECT_THAT(events.last_given_up(), HasSubstr("rank 1: "));
}

// A rank that cannot follow: it knows nothing of re-planning.
TEST(ReplanningTest, RankThatDoesNotAnswerHoldsNobodyUp) {
  const testing::PlanBuilder plan = testing::Trainer(2);
  Events events;
  Ranks ranks;
  const auto options_of = [&](int rank) {
    SessionOptions options;
    if (rank == 0)
      options.replan = Replan(Plans({testing::Trainer(2, false).Bytes()}), &events, 40);
    return options;
  };
  RunRanks(plan, 2, 300, options_of, &ranks);
  for (const absl::Status &s : ranks.statuses) EXPECT_TRUE(s.ok()) << s;
  EXPECT_EQ(events.switches(), 0u);
}

TEST(ReplanningTest, RankThatEndsInTheMiddleEndsAllWithItsError) {
  const testing::PlanBuilder plan = testing::Trainer(3);
  std::atomic<bool> asked{false};
  Ranks ranks;
  RunRanks(
      plan, 3, kMost,
      [&](int) {
        SessionOptions options;
        options.deadline = absl::Seconds(20);
        options.replan = Replan(
            [&](const Measurements &,
                const std::atomic<bool> &stop) -> absl::StatusOr<std::string> {
              asked = true;
              while (!stop) std::this_thread::sleep_for(std::chrono::milliseconds(1));
              return absl::CancelledError("stopped");
            },
            nullptr, 40);
        return options;
      },
      &ranks,
      [&](int rank, int, Session *session) -> absl::Status {
        if (rank != 2 || !asked) return absl::OkStatus();
        session->Cancel(absl::InternalError("rank 2 has had enough"));
        return absl::InternalError("rank 2 has had enough");
      });
  EXPECT_TRUE(asked);
  for (int r = 0; r < 3; ++r)
    EXPECT_THAT(std::string(ranks.statuses[size_t(r)].message()),
                HasSubstr("rank 2 has had enough"));
}

}  // namespace
}  // namespace commsched
