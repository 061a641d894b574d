// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Blocks of rows of a parameter server by itself: the test makes the messages.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <future>
#include <iterator>
#include <memory>
#include <thread>

#include "runtime/base/status_util.h"
#include "runtime/program/rows_message.h"
#include "runtime/servers/parameter_server.h"
#include "tests/runtime/row_plan.h"
#include "tests/runtime/test_util.h"

namespace commsched {
namespace {

using runtime::ParameterServer;
using runtime::ParameterServerOptions;
using runtime::PlanImage;
using runtime::SharedBytes;
using ::testing::AllOf;
using testing::BytesOf;
using ::testing::ElementsAre;
using testing::Floats;
using ::testing::HasSubstr;
using testing::kABlock;
using testing::kBBlock;
using testing::kEBlock;
using testing::MakeRowBatch;
using testing::MutableBytesOf;
using testing::RowPlanOptions;
using testing::RowReference;
using testing::SparseRows;

constexpr int kBlocks = 3;

SharedBytes MessageOf(const SparseRows &rows) {
  const uint64_t n = rows.ids.size();
  auto bytes = std::make_shared<std::vector<std::byte>>(8 + 8 * n +
                                                        4 * rows.values.size());
  std::memcpy(bytes->data(), &n, 8);
  if (n != 0) {
    std::memcpy(bytes->data() + 8, rows.ids.data(), 8 * n);
    std::memcpy(bytes->data() + 8 + 8 * n, rows.values.data(),
                4 * rows.values.size());
  }
  return {*bytes, bytes};
}

SharedBytes MessageOf(Floats values) {
  auto owned = std::make_shared<Floats>(std::move(values));
  return {BytesOf(*owned), owned};
}

// What is in rows from `begin` on.
SparseRows From(const SparseRows &rows, int64_t begin) {
  SparseRows out;
  const size_t columns = rows.ids.empty() ? 0 : rows.values.size() / rows.ids.size();
  for (size_t r = 0; r < rows.ids.size(); ++r) {
    if (rows.ids[r] < begin) continue;
    out.ids.push_back(rows.ids[r] - begin);
    out.values.insert(out.values.end(), rows.values.begin() + long(r * columns),
                      rows.values.begin() + long((r + 1) * columns));
  }
  return out;
}

// Server 1: the last rows of e, and all of a and b. Gradients are those of the
// initial values, so that trainers need not pull.
class Server {
 public:
  explicit Server(RowPlanOptions plan = {}, absl::Duration deadline = absl::Seconds(30))
      : trainers_(plan.trainers) {
    image_ = *PlanImage::Load(testing::RowPlan(plan).Bytes());
    ParameterServerOptions options;
    options.server = 1;
    options.trainers = plan.trainers;
    options.deadline = deadline;
    auto made = ParameterServer::Create(image_, options);
    EXPECT_TRUE(made.ok()) << made.status();
    server_ = *std::move(made);
  }
  ParameterServer *operator->() { return server_.get(); }

  void SetValues() {
    const RowReference start;
    for (const auto &[name, size] : testing::RowPlanSizes())
      EXPECT_TRUE(server_->SetWhole(name, BytesOf(std::vector<int>{size})).ok());
    for (const auto &[name, value] :
         {std::pair("e", start.e), std::pair("e.m", start.em), std::pair("a", start.a),
          std::pair("a.m", start.am), std::pair("a.v", start.av),
          std::pair("b", start.b)})
      EXPECT_TRUE(server_->SetWhole(name, BytesOf(value)).ok());
  }
  void Start() {
    SetValues();
    Join();
  }
  void Join() {
    for (int t = 0; t < trainers_; ++t) EXPECT_TRUE(server_->Join(t).ok());
  }
  absl::Status Push(int trainer, uint32_t block, int step, SharedBytes payload) {
    auto done = std::make_shared<std::promise<absl::Status>>();
    server_->Push(trainer, block, uint64_t(step), std::move(payload),
                  [done](absl::Status s) { done->set_value(std::move(s)); });
    return done->get_future().get();
  }
  absl::Status Push(int trainer, uint32_t block, int step) {
    const auto batch = MakeRowBatch(trainer, step);
    if (block == kBBlock) return Push(trainer, block, step, MessageOf(batch.y));
    const RowReference start;
    return Push(trainer, block, step,
                MessageOf(block == kABlock
                              ? start.GradientA(batch)
                              : From(start.GradientE(batch), testing::kESplit)));
  }
  void PushAll(int step) {
    for (int t = 0; t < trainers_; ++t)
      for (uint32_t b = 0; b < kBlocks; ++b) EXPECT_TRUE(Push(t, b, step).ok());
  }
  // Blocks that are not waited for may run with the rate of another step.
  void PushAndWait(int step) {
    PushAll(step);
    for (uint32_t b = 0; b < kBlocks; ++b)
      EXPECT_TRUE(Pull(0, b, step + 1).ok());
  }
  absl::StatusOr<Floats> Finish(absl::AnyInvocable<void(ParameterServer::PullDone)> call) {
    auto done = std::make_shared<std::promise<absl::StatusOr<Floats>>>();
    call([done](absl::StatusOr<SharedBytes> v) {
      if (!v.ok()) return done->set_value(runtime::Unshared(v.status()));
      Floats values(v->bytes.size() / sizeof(float));
      if (!values.empty())
        std::memcpy(values.data(), v->bytes.data(), v->bytes.size());
      done->set_value(values);
    });
    return done->get_future().get();
  }
  absl::StatusOr<Floats> Pull(int trainer, uint32_t block, int version) {
    return Finish([&](ParameterServer::PullDone done) {
      server_->Pull(trainer, block, uint64_t(version), std::move(done));
    });
  }
  absl::StatusOr<Floats> PullRows(int trainer, uint32_t block, int version,
                                  std::vector<int64_t> ids) {
    return Finish([&](ParameterServer::PullDone done) {
      server_->PullRows(trainer, block, uint64_t(version), ids, std::move(done));
    });
  }
  Floats Slot(const std::string &name) {
    const auto program = *image_->ForServer(1);
    for (uint32_t s = 0; s < program->slots.size(); ++s) {
      if (program->slots[s].name != name || !program->slots[s].held) continue;
      Floats value(program->slots[s].type.bytes / 4);
      absl::Status status = server_->GetSlot(s, MutableBytesOf(value));
      EXPECT_TRUE(status.ok()) << status;
      return value;
    }
    ADD_FAILURE() << name;
    return {};
  }

 private:
  int trainers_;
  std::shared_ptr<const PlanImage> image_;
  std::unique_ptr<ParameterServer> server_;
};

// The same in plain loops; gradients are of the initial values.
struct Reference : RowReference {
  void Step(int step, const std::vector<int> &trainers) {
    const RowReference start;
    std::vector<SparseRows> ge, ga;
    std::vector<Floats> gb;
    for (int t : trainers) {
      const auto batch = MakeRowBatch(t, step);
      ge.push_back(start.GradientE(batch));
      ga.push_back(start.GradientA(batch));
      gb.push_back(batch.y);
    }
    const float rate = Rate();
    UpdateE(testing::MeanRows(ge, testing::kEColumns), rate);
    UpdateA(testing::MeanRows(ga, testing::kAColumns), rate);
    UpdateB(testing::MeanOf(gb));
  }
  static Floats Last(const Floats &e) {
    return {e.begin() + testing::kESplit * testing::kEColumns, e.end()};
  }
  Floats RowsOfA(const std::vector<int64_t> &ids) const {
    Floats rows;
    for (int64_t id : ids)
      for (int c = 0; c < testing::kAColumns; ++c)
        rows.push_back(a[size_t(id) * testing::kAColumns + size_t(c)]);
    return rows;
  }
};

void ExpectSame(Server &server, const Reference &reference, int version) {
  EXPECT_EQ(*server.Pull(0, kEBlock, version), Reference::Last(reference.e));
  EXPECT_EQ(*server.Pull(0, kABlock, version), reference.a);
  EXPECT_EQ(*server.Pull(0, kBBlock, version), reference.b);
  EXPECT_EQ(server.Slot("e.block1.m/1"), Reference::Last(reference.em));
  EXPECT_EQ(server.Slot("a.m/1"), reference.am);
  EXPECT_EQ(server.Slot("a.v/1"), reference.av);
}

TEST(RowServerTest, SynchronousStepsAreExactWhateverTheOrderOfArrival) {
  Server server({.trainers = 3});
  server.Start();
  Reference reference;
  const std::vector<std::vector<int>> orders = {{0, 1, 2}, {2, 1, 0}, {1, 2, 0}, {2, 0, 1}};
  for (int step = 0; step < 12; ++step) {
    for (int t : orders[size_t(step) % 4])
      for (uint32_t b = 0; b < kBlocks; ++b) ASSERT_TRUE(server.Push(t, b, step).ok());
    reference.Step(step, {0, 1, 2});
    for (int t = 0; t < 3; ++t) {
      const std::vector<int64_t> ids = {0, t + 1, 4};
      EXPECT_EQ(*server.PullRows(t, kABlock, step + 1, ids), reference.RowsOfA(ids));
    }
    ExpectSame(server, reference, step + 1);
  }
  EXPECT_EQ(*server.PullRows(0, kABlock, 12, {}), Floats());
  for (int t = 0; t < 3; ++t) EXPECT_TRUE(server->Finish(t, 12).ok());
  EXPECT_TRUE(server->Wait().ok());
}

TEST(RowServerTest, PullsWaitForTheirVersion) {
  Server server;
  server.Start();
  Reference reference;
  std::promise<Floats> rows;
  server->PullRows(1, kABlock, 2, {1, 3}, [&](absl::StatusOr<SharedBytes> v) {
    Floats values(v->bytes.size() / 4);
    std::memcpy(values.data(), v->bytes.data(), v->bytes.size());
    rows.set_value(values);
  });
  auto future = rows.get_future();
  for (int step = 0; step < 2; ++step) {
    EXPECT_NE(future.wait_for(std::chrono::seconds(0)), std::future_status::ready);
    server.PushAll(step);
    reference.Step(step, {0, 1});
  }
  EXPECT_EQ(future.get(), reference.RowsOfA({1, 3}));
}

TEST(RowServerTest, RepeatedPushesCountOnce) {
  Server server;
  server.Start();
  Reference reference;
  for (int step = 0; step < 4; ++step) {
    for (int repeat = 0; repeat < 3; ++repeat) {
      server.PushAll(step);
      if (step > 0) server.PushAll(step - 1);
    }
    reference.Step(step, {0, 1});
  }
  ExpectSame(server, reference, 4);
  EXPECT_THAT(server->taken(1).next, ElementsAre(4, 4, 4));
}

TEST(RowServerTest, OthersGoOnWithTheRightScale) {
  Server server({.trainers = 3});
  server.Start();
  Reference reference;
  server.PushAll(0);
  reference.Step(0, {0, 1, 2});
  for (int t : {0, 2})
    for (uint32_t b = 0; b < kBlocks; ++b) ASSERT_TRUE(server.Push(t, b, 1).ok());
  ASSERT_TRUE(server->Finish(1, 1).ok());
  reference.Step(1, {0, 2});
  ExpectSame(server, reference, 2);
  ASSERT_TRUE(server->Finish(2, 2).ok());
  for (uint32_t b = 0; b < kBlocks; ++b) ASSERT_TRUE(server.Push(0, b, 2).ok());
  reference.Step(2, {0});
  ExpectSame(server, reference, 3);
}

TEST(RowServerTest, AsynchronousUpdatesRunAsTheyCome) {
  Server server({.trainers = 2, .mode = plan::ParameterServers::ASYNC});
  server.Start();
  Reference reference;
  const RowReference start;
  // The schedule runs before the updates 0, 2 and 4 of block 0.
  const std::vector<std::pair<int, int>> order = {{1, 0}, {1, 1}, {1, 2}, {0, 0}, {0, 1}};
  float rate = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    auto [t, step] = order[i];
    for (uint32_t b = 0; b < kBlocks; ++b) ASSERT_TRUE(server.Push(t, b, step).ok());
    if (i % 2 == 0) rate = reference.Rate();
    const auto batch = MakeRowBatch(t, step);
    reference.UpdateE(start.GradientE(batch), rate);
    reference.UpdateA(start.GradientA(batch), rate);
    reference.UpdateB(batch.y);
    EXPECT_EQ(*server.PullRows(t, kABlock, step + 1, {2, 4}), reference.RowsOfA({2, 4}));
    ASSERT_TRUE(server.Push(t, kABlock, step).ok());  // again: dropped
    EXPECT_EQ(*server.Pull(t, kEBlock, step + 1), Reference::Last(reference.e));
    EXPECT_EQ(*server.Pull(t, kBBlock, step + 1), reference.b);
  }
  EXPECT_EQ(*server.PullRows(0, kABlock, 1, {0}), reference.RowsOfA({0}));  // the newest
}

// Rows are read and updated by many threads; each row is one that some update
// has left.
TEST(RowServerTest, PullsWhileOthersPush) {
  constexpr int kTrainers = 4, kSteps = 40;
  Server server({.trainers = kTrainers, .mode = plan::ParameterServers::ASYNC});
  server.Start();
  std::vector<std::thread> threads;
  for (int t = 0; t < kTrainers; ++t)
    threads.emplace_back([&, t] {
      for (int step = 0; step < kSteps; ++step) {
        for (uint32_t b = 0; b < kBlocks; ++b) ASSERT_TRUE(server.Push(t, b, step).ok());
        auto rows = server.PullRows(t, kABlock, step + 1, {0, 1, 2, 3, 4});
        ASSERT_TRUE(rows.ok()) << rows.status();
        for (float v : *rows) ASSERT_TRUE(std::isfinite(v));
      }
      ASSERT_TRUE(server->Finish(t, kSteps).ok());
    });
  for (std::thread &thread : threads) thread.join();
  EXPECT_TRUE(server->Wait().ok());
}

TEST(RowServerTest, RefusesWhatDoesNotFit) {
  Server server;
  server.Start();
  auto push = [&](const SparseRows &rows) {
    absl::Status status = server.Push(0, kABlock, 0, MessageOf(rows));
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    return std::string(status.message());
  };
  EXPECT_THAT(push({{5}, {1, 2}}),
              AllOf(HasSubstr("server 1: block \"a\": push of trainer 0 in step 0: "),
                    HasSubstr("must be in 0..4, got: 5")));
  EXPECT_THAT(push({{3, 2}, {1, 2, 3, 4}}), HasSubstr("must ascend, got: 2 after 3"));
  EXPECT_THAT(push({{3}, {1, 2, 3}}), HasSubstr("message of 1 rows must have 24 bytes"));
  EXPECT_THAT(std::string(server.Push(0, kABlock, 0, MessageOf(Floats{1})).message()),
              HasSubstr("must have at least 8 bytes, got: 4"));
  EXPECT_THAT(std::string(server.PullRows(0, kABlock, 0, {1, 1}).status().message()),
              HasSubstr("pull of rows by trainer 0: ids of rows must ascend"));
  EXPECT_THAT(std::string(server.PullRows(0, kBBlock, 0, {0}).status().message()),
              HasSubstr("block \"b\": has no single rows"));
  // It goes on as if nothing had been.
  for (int step = 0; step < 2; ++step) server.PushAll(step);
  ASSERT_TRUE(server.Pull(0, kABlock, 2).ok());
  EXPECT_THAT(std::string(server.PullRows(0, kABlock, 1, {0}).status().message()),
              HasSubstr("block \"a\": version 1 is no longer there, only 2"));
}

TEST(RowServerTest, MissingTrainersAreNamedWithinTheDeadline) {
  Server server({.trainers = 3}, absl::Milliseconds(200));
  server.Start();
  ASSERT_TRUE(server.Push(0, kABlock, 0).ok());
  EXPECT_EQ(std::string(server.PullRows(0, kABlock, 1, {0}).status().message()),
            "server 1: no progress within 200ms: block \"a\" in step 0 still waits for "
            "the push of trainers 1, 2");
}

// Saved in the middle of a step, with pushes that have not been applied.
TEST(RowServerTest, RestoredServerGoesOnBitwiseTheSame) {
  testing::TemporaryFolder folder;
  const std::string path = folder / "server";
  Reference reference;
  for (int step = 0; step < 8; ++step) reference.Step(step, {0, 1, 2});
  {
    Server server({.trainers = 3});
    server.Start();
    for (int step = 0; step < 3; ++step) server.PushAll(step);
    ASSERT_TRUE(server.Push(0, kABlock, 3).ok());
    ASSERT_TRUE(server.Push(1, kABlock, 3).ok());
    ASSERT_TRUE(server.Push(2, kEBlock, 3).ok());
    ASSERT_TRUE(server.Push(2, kEBlock, 4).ok());
    ASSERT_TRUE(server->Save(path).ok());
    ASSERT_TRUE(server.Push(2, kABlock, 3).ok());  // lost
  }
  Server server({.trainers = 3});
  absl::Status restored = server->Restore(path);
  ASSERT_TRUE(restored.ok()) << restored;
  EXPECT_THAT(server->taken(0).next, ElementsAre(3, 4, 3));
  EXPECT_THAT(server->taken(2).next, ElementsAre(5, 3, 3));
  EXPECT_EQ(*server->Join(0), 3u);
  server.Join();
  for (int step = 2; step < 8; ++step) server.PushAll(step);
  ExpectSame(server, reference, 8);
  // Damaged ones are refused.
  std::ifstream file(path, std::ios::binary);
  const std::string whole(std::istreambuf_iterator<char>(file), {});
  for (size_t i = 8; i < whole.size(); i += 53) {
    if (whole[i] == ' ') continue;  // padding of the header
    std::string damaged = whole;
    damaged[i] = char(damaged[i] ^ 1);
    std::ofstream(path, std::ios::binary | std::ios::trunc) << damaged;
    Server other({.trainers = 3});
    EXPECT_FALSE(other->Restore(path).ok()) << i;
  }
}

TEST(RowServerTest, RestoredAsynchronousServerAppliesOnce) {
  testing::TemporaryFolder folder;
  const RowPlanOptions plan = {.trainers = 1, .mode = plan::ParameterServers::ASYNC};
  Reference reference;
  {
    Server server(plan);
    server.Start();
    for (int step = 0; step < 4; ++step) server.PushAndWait(step);
    ASSERT_TRUE(server->Save(folder / "s").ok());
  }
  Server server(plan);
  ASSERT_TRUE(server->Restore(folder / "s").ok());
  server.Join();
  for (int step = 0; step < 6; ++step) {
    server.PushAndWait(step);
    reference.Step(step, {0});
  }
  ExpectSame(server, reference, 6);
}

// While trainers work, from another thread: what is saved is a step of the job.
TEST(RowServerTest, SavesAtACommonStepWhileTrainersWork) {
  testing::TemporaryFolder folder;
  constexpr int kSteps = 60;
  Server server;
  server.Start();
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t)
    threads.emplace_back([&, t] {
      for (int step = 0; step < kSteps; ++step) {
        ASSERT_TRUE(server.PullRows(t, kABlock, step, {0, 2}).ok());
        for (uint32_t b : {kBBlock, kABlock, kEBlock})
          ASSERT_TRUE(server.Push(t, b, step).ok());
        ASSERT_TRUE(server.Pull(t, kBBlock, step + 1).ok());
      }
    });
  std::vector<std::string> paths;
  for (int i = 0; i < 5; ++i) {
    paths.push_back(folder / std::to_string(i));
    absl::Status saved = server->Save(paths.back());
    ASSERT_TRUE(saved.ok()) << saved;
  }
  for (std::thread &thread : threads) thread.join();
  Reference end;
  for (int step = 0; step < kSteps; ++step) end.Step(step, {0, 1});
  for (const std::string &path : paths) {
    Server again;
    ASSERT_TRUE(again->Restore(path).ok());
    int done = int(*again->Join(0));
    ASSERT_TRUE(again->Join(1).ok());
    for (int step = done; step < kSteps; ++step) {
      again.PushAll(step);
      ASSERT_TRUE(again.Pull(0, kBBlock, step + 1).ok());
    }
    ExpectSame(again, end, kSteps);
  }
}

TEST(RowServerTest, ValuesCanBeSetBetweenSteps) {
  Server server;
  server.Start();
  for (int step = 0; step < 3; ++step) server.PushAll(step);
  ASSERT_TRUE(server.Pull(0, kABlock, 3).ok());
  server.SetValues();
  ASSERT_TRUE(server.Push(0, kABlock, 3).ok());
  EXPECT_EQ(server->SetWhole("a", BytesOf(Floats(10))).code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(server.Slot("a/1"), RowReference().a);
}

}  // namespace
}  // namespace commsched
