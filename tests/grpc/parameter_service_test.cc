// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Trainers and parameter servers in one process, over real sockets.
#include <gmock/gmock.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>
#include <unistd.h>

#include <thread>

#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "grpc/base/address.h"
#include "tests/conformance/conformance.h"
#include "tests/grpc/parameter_test_util.h"

namespace commsched::transport {
namespace {

using conformance::LoopbackAddresses;
using testing::AllOf;
using testing::HasSubstr;

class ParameterServiceTest : public testing::Test {
 protected:
  void Start(int servers, int trainers,
             const std::function<void(ParameterServiceOptions &)> &edit = {}) {
    addresses_ = LoopbackAddresses(servers);
    trainers_ = trainers;
    for (int server = 0; server < servers; ++server) {
      servers_.push_back(
          std::make_unique<FakeParameterServer>(trainers, TestBlocks(),
                                                TestRows()));
      auto options = ServiceOptions(addresses_, server, trainers);
      if (edit) edit(options);
      auto service =
          ParameterService::Start(servers_.back().get(), std::move(options));
      ASSERT_TRUE(service.ok()) << service.status();
      services_.push_back(*std::move(service));
    }
  }
  absl::StatusOr<std::unique_ptr<runtime::ParameterClient>> Connect(
      int trainer,
      const std::function<void(ParameterClientOptions &)> &edit = {}) {
    auto options = ClientOptions(addresses_, trainer, trainers_);
    if (edit) edit(options);
    return ConnectParameterServers(std::move(options));
  }
  // All trainers at once.
  std::vector<absl::Status> TrainAll(const std::vector<uint64_t> &ends) {
    std::vector<absl::Status> results(ends.size());
    std::vector<std::thread> threads;
    for (size_t trainer = 0; trainer < ends.size(); ++trainer)
      threads.emplace_back([&, trainer] {
        auto client = Connect(static_cast<int>(trainer));
        results[trainer] =
            client.ok() ? Train(**client, static_cast<int>(servers_.size()),
                                static_cast<int>(trainer), ends)
                        : client.status();
      });
    for (std::thread &thread : threads) thread.join();
    return results;
  }
  void ExpectTrains(const std::vector<uint64_t> &ends) {
    for (const absl::Status &status : TrainAll(ends))
      EXPECT_TRUE(status.ok()) << status;
    for (auto &service : services_) EXPECT_TRUE(service->Wait().ok());
    for (auto &server : servers_) EXPECT_EQ(server->repeated(), 0u);
  }

  int trainers_ = 1;
  std::vector<std::string> addresses_;
  std::vector<std::unique_ptr<FakeParameterServer>> servers_;
  std::vector<std::unique_ptr<ParameterService>> services_;
};

TEST_F(ParameterServiceTest, PushesAndPulls) {
  Start(2, 2);
  ExpectTrains({5, 5});
  const std::vector<size_t> blocks = TestBlocks();
  size_t block_bytes = 0;
  for (size_t bytes : blocks) block_bytes += bytes;
  const size_t rows = TestRows().back().rows, row = kRowWords * 8;
  size_t pushed = 10 * (block_bytes - blocks.back()), pulled = 12 * block_bytes;
  for (uint64_t step = 0; step < 5; ++step) {
    for (int trainer : {0, 1})
      pushed += RowsGradient(trainer, step, rows).size() * 8;
    // Every third row, beginning with row step % 3.
    pulled += 2 * ((rows - step % 3 + 2) / 3) * row;
  }
  EXPECT_EQ(services_[0]->bytes_received(), pushed);
  EXPECT_EQ(services_[0]->bytes_sent(), pulled);
  EXPECT_EQ(services_[0]->checkpoints(), 0u);
}

TEST_F(ParameterServiceTest, ATrainerMayHaveFewerBatches) {
  Start(2, 3);
  ExpectTrains({4, 6, 1});
}

TEST_F(ParameterServiceTest, NoBatchAtAll) {
  Start(1, 2);
  ExpectTrains({0, 0});
}

TEST_F(ParameterServiceTest, KeepsCheckpoints) {
  const std::string path =
      testing::TempDir() + "/parameter_service." + std::to_string(getpid());
  Start(1, 2, [&](ParameterServiceOptions &options) {
    options.checkpoint = path;
    options.checkpoint_steps = 3;
  });
  ExpectTrains({10, 10});
  EXPECT_GE(services_[0]->checkpoints(), 3u);
  services_.clear();
  FakeParameterServer restored(2, TestBlocks(), TestRows());
  ASSERT_TRUE(restored.Restore(path).ok());
  EXPECT_TRUE(restored.Wait().ok());  // all have finished
  unlink(path.c_str());
}

TEST_F(ParameterServiceTest, CheckpointThatCannotBeWrittenEndsTheJob) {
  Start(1, 1, [&](ParameterServiceOptions &options) {
    options.checkpoint = "/there/is/no/such/folder";
    options.checkpoint_steps = 1;
  });
  EXPECT_THAT(std::string(TrainAll({10})[0].message()),
              AllOf(HasSubstr("server 0 (" + addresses_[0] + ")"),
                    HasSubstr("cannot save its state"),
                    HasSubstr("/there/is/no/such/folder")));
}

// All have finished by then, and the server's values are what they will be.
TEST_F(ParameterServiceTest, LastCheckpointThatCannotBeWrittenIsHeardOf) {
  for (int time = 0; time < 20; ++time) {
    services_.clear();
    servers_.clear();
    Start(1, 1, [&](ParameterServiceOptions &options) {
      options.checkpoint = "/there/is/no/such/folder";
      options.checkpoint_steps = 1000;
    });
    const auto said = AllOf(HasSubstr("server 0"), HasSubstr("cannot save its state"),
                            HasSubstr("/there/is/no/such/folder"));
    ASSERT_THAT(std::string(TrainAll({2})[0].message()), said);
    ASSERT_THAT(std::string(services_[0]->Wait().message()), said);
  }
}

// It is no reason to take the server for lost.
TEST_F(ParameterServiceTest, LastCheckpointMayTakeLongerThanTheDeadline) {
  const std::string path = testing::TempDir() + "/parameter_service." + std::to_string(getpid());
  constexpr absl::Duration kDeadline = absl::Seconds(4);
  Start(1, 1, [&](ParameterServiceOptions &options) {
    options.checkpoint = path;
    options.checkpoint_steps = 1000;
  });
  servers_[0]->before_save = [&] { absl::SleepFor(2.5 * kDeadline); };
  auto client = Connect(0, [&](auto &options) { options.deadline = kDeadline; });
  ASSERT_TRUE(client.ok()) << client.status();
  EXPECT_TRUE(Train(**client, 1, 0, {2}).ok());
  (*client)->Close();
  EXPECT_TRUE(services_[0]->Wait().ok());
  unlink(path.c_str());
}

TEST_F(ParameterServiceTest, UnixSocket) {
  const std::string path =
      testing::TempDir() + "/parameter_service." + std::to_string(getpid());
  trainers_ = 1;
  addresses_ = {"unix:" + path};
  FakeParameterServer server(1, TestBlocks(), TestRows());
  auto service =
      ParameterService::Start(&server, ServiceOptions(addresses_, 0, 1));
  ASSERT_TRUE(service.ok()) << service.status();
  auto client = Connect(0);
  ASSERT_TRUE(client.ok()) << client.status();
  EXPECT_TRUE(Train(**client, 1, 0, {3}).ok());
  (*client)->Close();
  EXPECT_TRUE((*service)->Wait().ok());
}

TEST_F(ParameterServiceTest, WhatDoesNotFitIsRefusedWithBothValues) {
  Start(2, 2);
  const auto refused = [&](const std::function<void(ParameterClientOptions &)>
                               &edit) {
    auto client = Connect(0, edit);
    EXPECT_EQ(client.status().code(), absl::StatusCode::kFailedPrecondition)
        << client.status();
    return std::string(client.status().message());
  };
  EXPECT_THAT(refused([](auto &options) { options.plan_digest = 0xabc; }),
              AllOf(HasSubstr("server "),
                    HasSubstr(": refused trainer 0: plan digest must match the "
                              "server's 1234567890abcdef, got: "
                              "0000000000000abc")));
  EXPECT_THAT(refused([](auto &options) { options.trainers = 5; }),
              HasSubstr("number of trainers must match the server's 2, got: 5"));
  EXPECT_THAT(refused([](auto &options) { options.servers.pop_back(); }),
              HasSubstr("number of servers must match the server's 2, got: 1"));
  EXPECT_THAT(
      refused([](auto &options) {
        std::swap(options.servers[0], options.servers[1]);
      }),
      HasSubstr("index of the server must match the server's "));
  // That was all the same to the job.
  ExpectTrains({2, 2});
}

TEST_F(ParameterServiceTest, WrongTokenIsRefused) {
  Start(1, 1);
  for (const char *token : {"", "a tokem", "a token too", "a"}) {
    auto client =
        Connect(0, [&](auto &options) { options.security.token = token; });
    EXPECT_EQ(client.status().code(), absl::StatusCode::kUnauthenticated);
    EXPECT_THAT(std::string(client.status().message()),
                AllOf(HasSubstr("server 0 (" + addresses_[0] + ")"),
                      HasSubstr("the job token does not match"),
                      testing::Not(HasSubstr("a token"))));
  }
  ExpectTrains({2});
}

TEST_F(ParameterServiceTest, OneProcessPerRank) {
  Start(1, 2);
  auto first = Connect(1);
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_THAT(std::string(Connect(1).status().message()),
              HasSubstr("another process has joined as trainer 1"));
  auto other = Connect(0);
  ASSERT_TRUE(other.ok()) << other.status();
  std::thread thread([&] { EXPECT_TRUE(Train(**first, 1, 1, {2, 2}).ok()); });
  EXPECT_TRUE(Train(**other, 1, 0, {2, 2}).ok());
  thread.join();
}

TEST_F(ParameterServiceTest, AbortReachesTheOthersThroughEveryServer) {
  Start(2, 2);
  absl::Status reported;
  conformance::Result report;
  auto waiting = Connect(0, [&](auto &options) {
    options.on_failure = [done = std::make_shared<runtime::ParameterClient::Done>(
                              report.done())](const absl::Status &status) {
      (*done)(status);
    };
  });
  auto leaving = Connect(1);
  ASSERT_TRUE(waiting.ok() && leaving.ok());
  conformance::Result pull;
  std::vector<std::byte> buffer(8);
  (*waiting)->Pull(0, 3, 1, absl::MakeSpan(buffer), pull.done());
  (*leaving)->Abort(absl::InternalError("the disk is on fire"));
  EXPECT_THAT(std::string(pull.Wait().message()),
              AllOf(HasSubstr("trainer 1 gave up: the disk is on fire"),
                    HasSubstr("server ")));
  EXPECT_EQ(report.Wait(), pull.Wait());
  EXPECT_EQ(Train(**waiting, 2, 0, {2, 2}), pull.Wait());
  EXPECT_EQ(Train(**leaving, 2, 1, {2, 2}).code(),
            absl::StatusCode::kCancelled);
  for (auto &service : services_)
    EXPECT_EQ(service->Wait().code(), absl::StatusCode::kAborted);
}

// Also where connections of before are there, or broke before the server had their last words.
TEST_F(ParameterServiceTest, WhoGivesUpIsHeardByAllServers) {
  for (const bool there : {true, false}) {
    services_.clear();
    servers_.clear();
    Start(2, 2);
    const uint64_t session = NewSession();
    auto waiting = Connect(0, [](auto &options) { options.run_digest = 7; });
    auto first = Connect(1, [&](auto &options) { options.session = session, options.run_digest = 7; });
    ASSERT_TRUE(waiting.ok() && first.ok());
    const absl::Status why = absl::AlreadyExistsError("it has other data");
    for (const bool another : {true, false}) {
      if (!there) services_[1]->Stop(absl::InternalError("the disk is on fire"));
      const absl::Status said =
          Connect(1, [&](auto &options) {
            options.session = another ? 0 : session;
            options.run_digest = 8;
            options.gives_up = why;
          }).status();
      EXPECT_EQ(said, why);
    }
    EXPECT_THAT(std::string(services_[0]->Wait().message()), HasSubstr("trainer 1 gave up: it has other data"));
    EXPECT_THAT(std::string(services_[1]->Wait().message()),
                HasSubstr(there ? "trainer 1 gave up: it has other data" : "the disk is on fire"));
  }
}

// A server has taken the trainer, and its answer is under way, when another one ends the job.
TEST_F(ParameterServiceTest, WhoLeavesBeforeItIsWelcomedSaysWhy) {
  Start(2, 2);
  absl::Notification asked, answers;
  servers_[0]->before_join = [&] {
    asked.Notify();
    answers.WaitForNotification();
  };
  std::thread thread([&] { EXPECT_THAT(std::string(Connect(0).status().message()), HasSubstr("the disk is on fire")); });
  asked.WaitForNotification();
  services_[1]->Stop(absl::InternalError("the disk is on fire"));
  EXPECT_EQ(services_[1]->Wait().code(), absl::StatusCode::kInternal);  // which the trainer has heard
  absl::SleepFor(absl::Milliseconds(200));
  answers.Notify();
  EXPECT_THAT(std::string(services_[0]->Wait().message()), AllOf(HasSubstr("trainer 0 gave up: server 1"), HasSubstr("the disk is on fire")));
  thread.join();
}

TEST_F(ParameterServiceTest, LeavingEarlyIsNotFinishing) {
  Start(1, 2);
  auto waiting = Connect(0);
  auto leaving = Connect(1);
  ASSERT_TRUE(waiting.ok() && leaving.ok());
  (*leaving)->Close();
  EXPECT_THAT(std::string(Train(**waiting, 1, 0, {2, 2}).message()),
              HasSubstr("trainer 1 gave up: it left before it had finished"));
}

TEST_F(ParameterServiceTest, TrainerThatDoesNotJoinIsNamed) {
  Start(1, 3, [](auto &options) { options.join_deadline = absl::Seconds(1); });
  auto client = Connect(1);
  ASSERT_TRUE(client.ok()) << client.status();
  EXPECT_THAT(std::string(Train(**client, 1, 1, {2, 2, 2}).message()),
              HasSubstr("trainer 0 is lost: it did not join within 1s, as "
                        "trainers 0, 2"));
}

TEST_F(ParameterServiceTest, ServerThatDoesNotComeIsNamed) {
  addresses_ = LoopbackAddresses(1);
  auto client =
      Connect(0, [](auto &options) { options.deadline = absl::Seconds(1); });
  EXPECT_EQ(client.status().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(std::string(client.status().message()),
              AllOf(HasSubstr("server 0 (" + addresses_[0] +
                              "): did not accept trainer 0 within 1s"),
                    HasSubstr("last error: ")));
}

TEST_F(ParameterServiceTest, AddressInUse) {
  Start(1, 1);
  FakeParameterServer server(1, TestBlocks(), TestRows());
  EXPECT_THAT(std::string(ParameterService::Start(
                              &server, ServiceOptions(addresses_, 0, 1))
                              .status()
                              .message()),
              HasSubstr("server 0 cannot listen on " + addresses_[0]));
}

TEST(ParameterServiceOptions, OnlyLocalWithoutTlsAndToken) {
  FakeParameterServer server(1, TestBlocks(), TestRows());
  auto options = ServiceOptions({"0.0.0.0:9"}, 0, 1);
  const auto refused = [&] {
    auto service = ParameterService::Start(&server, options);
    EXPECT_EQ(service.status().code(), absl::StatusCode::kInvalidArgument);
    return std::string(service.status().message());
  };
  EXPECT_THAT(refused(), HasSubstr("must be a loopback address or a socket "
                                   "file without TLS certificates, got: "
                                   "0.0.0.0:9"));
  options.security.token = "";
  EXPECT_THAT(refused(), HasSubstr("without TLS certificates and a job token"));
  options.security.certificate_file = "/no/such/file";
  EXPECT_THAT(refused(), HasSubstr("without a job token"));
  options.security.token = "x";
  EXPECT_THAT(refused(), HasSubstr("none for the authority"));
  options.security.ca_file = options.security.key_file = "/no/such/file";
  EXPECT_THAT(refused(), HasSubstr("cannot read authority file"));
}

// Sends `request` to `method` of a server, gives the first answer.
std::string Call(const std::string &address, const std::string &method,
                 const std::string &request) {
  grpc::GenericStub stub(
      grpc::CreateChannel(address, grpc::InsecureChannelCredentials()));
  grpc::CompletionQueue queue;
  grpc::ClientContext context;
  const auto wait = [&] {
    void *tag;
    bool ok = false;
    return queue.Next(&tag, &ok) && ok;
  };
  auto call = stub.PrepareCall(&context, method, &queue);
  call->StartCall(nullptr);
  EXPECT_TRUE(wait());
  grpc::Slice slice(request);
  call->Write(grpc::ByteBuffer(&slice, 1), nullptr);
  EXPECT_TRUE(wait());
  call->WritesDone(nullptr);
  EXPECT_TRUE(wait());
  grpc::ByteBuffer answer;
  call->Read(&answer, nullptr);
  if (!wait()) return "";
  grpc::Status status;
  call->Finish(&status, nullptr);
  wait();
  EXPECT_TRUE(answer.DumpToSingleSlice(&slice).ok());
  return std::string(reinterpret_cast<const char *>(slice.begin()),
                     slice.size());
}

TEST_F(ParameterServiceTest, HealthAndReflection) {
  Start(1, 1);
  const std::string name = "commsched.parameter.ParameterService";
  // HealthCheckRequest.service = 1, HealthCheckResponse.status = SERVING.
  EXPECT_EQ(Call(addresses_[0], "/grpc.health.v1.Health/Check",
                 "\x0a" + std::string(1, char(name.size())) + name),
            "\x08\x01");
  // ServerReflectionRequest.list_services = "*".
  EXPECT_THAT(
      Call(addresses_[0],
           "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
           "\x3a\x01*"),
      AllOf(HasSubstr(name), HasSubstr("grpc.health.v1.Health")));
}

}  // namespace
}  // namespace commsched::transport
