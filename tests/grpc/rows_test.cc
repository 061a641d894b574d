// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Trainers and parameter servers of a plan with tables of rows, over sockets:
// the same bits as in one process and as in plain loops.
#include <gtest/gtest.h>

#include <thread>

#include "grpc/servers/parameter_client.h"
#include "grpc/servers/parameter_service.h"
#include "runtime/servers/parameter_server.h"
#include "runtime/session/session.h"
#include "tests/conformance/conformance.h"
#include "tests/runtime/row_plan.h"
#include "tests/runtime/test_util.h"

namespace commsched::transport {
namespace {

using commsched::testing::BytesOf;
using commsched::testing::Floats;
using commsched::testing::MakeRowBatch;
using commsched::testing::MutableBytesOf;
using commsched::testing::RowBatch;
using commsched::testing::RowReference;
using runtime::PlanImage;

constexpr int kServers = 2;

runtime::BatchRows Rows(int trainer, int step) {
  auto batch = std::make_shared<RowBatch>(MakeRowBatch(trainer, step));
  runtime::BatchRows rows;
  for (const void *p : {static_cast<const void *>(batch->i.data()),
                        static_cast<const void *>(batch->j.data()),
                        static_cast<const void *>(batch->x.data()),
                        static_cast<const void *>(batch->y.data())})
    rows.data.push_back(static_cast<const std::byte *>(p));
  rows.owner = batch;
  return rows;
}

// Calls set(name, bytes) of all values.
template <typename F>
void ForValues(F &&set) {
  const RowReference start;
  for (const auto &[name, size] : commsched::testing::RowPlanSizes())
    set(name, BytesOf(std::vector<int>{size}));
  set("count", BytesOf(std::vector<int>{0}));
  for (const auto &[name, value] :
       {std::pair("e", start.e), std::pair("e.m", start.em),
        std::pair("a", start.a), std::pair("a.m", start.am),
        std::pair("a.v", start.av), std::pair("b", start.b)})
    set(name, BytesOf(value));
}

class RowsTest : public ::testing::Test {
 protected:
  void Start(commsched::testing::RowPlanOptions plan) {
    trainers_ = plan.trainers;
    image_ = *PlanImage::Load(commsched::testing::RowPlan(plan).Bytes());
    addresses_ = conformance::LoopbackAddresses(kServers);
    servers_.resize(kServers);
    services_.resize(kServers);
    for (int k = 0; k < kServers; ++k) StartServer(k);
  }
  void StartServer(int k) {
    runtime::ParameterServerOptions options;
    options.server = k;
    options.trainers = trainers_;
    auto server = runtime::ParameterServer::Create(image_, options);
    ASSERT_TRUE(server.ok()) << server.status();
    servers_[k] = *std::move(server);
    ParameterServiceOptions service;
    service.server = k;
    service.servers = kServers;
    service.trainers = trainers_;
    service.plan_digest = image_->digest();
    for (const runtime::BlockProgram &block : image_->servers().servers[k].blocks) {
      service.block_bytes.push_back(block.pushed().bytes);
      service.block_rows.push_back(block.rows.gradient);
    }
    service.address = addresses_[k];
    service.chunk_bytes = 64;  // many parts
    ForValues([&](const std::string &name, absl::Span<const std::byte> value) {
      EXPECT_TRUE(servers_[k]->SetWhole(name, value).ok()) << name;
    });
    auto started = ParameterService::Start(servers_[k].get(), service);
    ASSERT_TRUE(started.ok()) << started.status();
    services_[k] = *std::move(started);
  }
  std::unique_ptr<runtime::Session> Connect(int trainer) {
    auto session = runtime::Session::OneRank(
        image_, trainer, nullptr, {}, [&](int rank) {
          ParameterClientOptions options;
          options.trainer = rank;
          options.trainers = trainers_;
          options.plan_digest = image_->digest();
          options.servers = addresses_;
          options.chunk_bytes = 64;
          return ConnectParameterServers(options);
        });
    EXPECT_TRUE(session.ok()) << session.status();
    if (!session.ok()) return nullptr;
    for (uint32_t v = 0; v < (*session)->values().size(); ++v)
      ForValues([&](const std::string &name, absl::Span<const std::byte> value) {
        if (name == (*session)->values()[v].name) {
          EXPECT_TRUE((*session)->SetValue(v, value).ok()) << name;
        }
      });
    return *std::move(session);
  }
  // Steps [first, end) of trainer `trainer`.
  void Train(runtime::Session &session, int trainer, int first, int end) {
    class Source : public runtime::BatchSource {
     public:
      Source(int trainer, int step) : trainer_(trainer), step_(step) {}
      absl::StatusOr<runtime::BatchRows> Rows(const runtime::FunctionProgram &,
                                              int, int) override {
        return transport::Rows(trainer_, step_);
      }

     private:
      const int trainer_, step_;
    };
    for (int step = first; step < end; ++step) {
      Source source(trainer, step);
      auto call = session.Call(0, &source);
      ASSERT_TRUE(call.ok()) << call.status();
    }
  }
  Floats Value(runtime::Session &session, const std::string &name) {
    for (uint32_t v = 0; v < session.values().size(); ++v) {
      if (session.values()[v].name != name) continue;
      Floats value(session.values()[v].type.bytes / 4);
      absl::Status got = session.GetValue(v, MutableBytesOf(value));
      EXPECT_TRUE(got.ok()) << got;
      return value;
    }
    return {};
  }

  int trainers_ = 0;
  std::shared_ptr<const PlanImage> image_;
  std::vector<std::string> addresses_;
  std::vector<std::unique_ptr<runtime::ParameterServer>> servers_;
  std::vector<std::unique_ptr<ParameterService>> services_;
};

RowReference Expected(int steps, int trainers) {
  RowReference reference;
  for (int step = 0; step < steps; ++step) {
    std::vector<RowBatch> batches;
    for (int t = 0; t < trainers; ++t) batches.push_back(MakeRowBatch(t, step));
    reference.Step(batches);
  }
  return reference;
}

TEST_F(RowsTest, SynchronousTrainingIsExact) {
  Start({.trainers = 2});
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t)
    threads.emplace_back([&, t] {
      auto session = Connect(t);
      ASSERT_NE(session, nullptr);
      Train(*session, t, 0, 20);
      ASSERT_TRUE(session->Finish().ok());
      const RowReference reference = Expected(20, 2);
      // The tables come from the servers, the state of their optimizers does not.
      EXPECT_EQ(Value(*session, "e"), reference.e);
      EXPECT_EQ(Value(*session, "a"), reference.a);
      EXPECT_EQ(Value(*session, "b"), reference.b);
    });
  for (std::thread &thread : threads) thread.join();
  for (auto &service : services_) EXPECT_TRUE(service->Wait().ok());
}

TEST_F(RowsTest, HalfAsynchronousTrainerSendsMeans) {
  Start({.trainers = 1, .mode = plan::ParameterServers::HALF_ASYNC, .merge = 2});
  auto session = Connect(0);
  ASSERT_NE(session, nullptr);
  RowReference reference;
  for (int step = 0; step < 10; step += 2) {
    Train(*session, 0, step, step + 2);
    ASSERT_TRUE(session->Drain().ok());
    std::vector<commsched::testing::SparseRows> e;
    for (int s : {step, step + 1})
      e.push_back(reference.GradientE(MakeRowBatch(0, s)));
    reference.UpdateE(commsched::testing::MeanRows(e, commsched::testing::kEColumns),
                      reference.Rate());
  }
  ASSERT_TRUE(session->Finish().ok());
  EXPECT_EQ(Value(*session, "e"), reference.e);
}

}  // namespace
}  // namespace commsched::transport
