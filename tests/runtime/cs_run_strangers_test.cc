// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Strangers on the network of a job of real processes: one who knows the plan, its
// digest and the protocol, and has not the token.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "grpc/base/transport.grpc.pb.h"
#include "grpc/ranks/handshake.h"
#include "grpc/servers/parameter_protocol.h"
#include "grpc/servers/parameter_service.grpc.pb.h"
#include "runtime/data/tensor_file.h"
#include "tests/conformance/conformance.h"
#include "tests/grpc/admitted.h"
#include "tests/runtime/server_plan.h"
#include "tests/runtime/test_util.h"

namespace commsched {
namespace {

using conformance::LoopbackAddresses;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::ReadAll;
using testing::TemporaryFolder;
using transport::Admission;
using transport::Carried;
using transport::Packet;

class StrangersTest : public ::testing::Test {
 protected:
  StrangersTest() : peers_(LoopbackAddresses(2)) {
    std::ofstream(plan_, std::ios::binary) << testing::Trainer(2).Bytes();
    std::vector<float> w(testing::kTrainerSize, 0.5f), x(40 * testing::kTrainerSize, 0.1f);
    std::vector<int32_t> n = {100};
    EXPECT_TRUE(runtime::WriteSafetensors(
                    init_,
                    {{"w", {ops::Element::kF32, {100}, 100, 400}, testing::BytesOf(w)},
                     {"n", {ops::Element::kI32, {}, 1, 4}, testing::BytesOf(n)}},
                    {})
                    .ok());
    EXPECT_TRUE(runtime::WriteSafetensors(
                    batch_,
                    {{"x", {ops::Element::kF32, {40, 100}, 4000, 16000}, testing::BytesOf(x)}},
                    {})
                    .ok());
    digest_ = runtime::PlanImage::LoadFile(plan_).value()->digest();
  }

  // Starts cs-run with its output in log(name).
  pid_t Start(const std::string &name, const std::vector<std::string> &arguments) {
    std::vector<std::string> all = {COMMSCHED_CS_RUN};
    all.insert(all.end(), arguments.begin(), arguments.end());
    std::vector<char *> argv;
    for (std::string &a : all) argv.push_back(a.data());
    argv.push_back(nullptr);
    const std::string path = folder_ / name;
    const pid_t pid = fork();
    if (pid != 0) return pid;
    const int log = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
    dup2(log, STDOUT_FILENO);
    dup2(log, STDERR_FILENO);
    execv(argv[0], argv.data());
    _exit(127);
  }
  std::string log(const std::string &name) { return ReadAll(folder_ / name); }
  int Wait(pid_t pid) {
    int status = 0;
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  std::vector<std::string> Rank(int rank, std::vector<std::string> more) {
    std::vector<std::string> all = {plan_, "--rank", absl::StrCat(rank),
                                    "--peers", absl::StrCat(peers_[0], ",", peers_[1]),
                                    "--init", init_, "--batch",
                                    batch_};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  std::vector<std::string> Secret() { return {"--token-file", testing::TokenFile(folder_)}; }

  Packet HelloOfRank1(uint64_t digest) const {
    Packet packet;
    transport::Hello *hello = packet.add_frames()->mutable_header()->mutable_hello();
    hello->set_protocol_version(transport::kProtocolVersion);
    hello->set_plan_digest(digest);
    hello->set_nodes(2);
    hello->set_rank(1);
    hello->set_to_rank(0);
    hello->set_unexpected_bytes(1 << 20);
    hello->set_eager_bytes(1 << 20);
    return packet;
  }
  // In the place of rank 1: says `first`, behind a proof of `token` or without one, then
  // 50 messages that it makes up. What it is told.
  grpc::Status Intrude(const Packet &first, const std::string *token) {
    auto stub = transport::Transport::NewStub(
        grpc::CreateChannel(peers_[0], grpc::InsecureChannelCredentials()));
    grpc::ClientContext context;
    context.set_wait_for_ready(true);
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
    auto stream = stub->Connect(&context);
    if (token == nullptr)
      stream->Write(first);
    else
      ProveToken(*stream, *token, first);
    for (uint64_t step = 0; step < 50; ++step) {
      Packet packet;
      auto *data = packet.add_frames()->mutable_header()->mutable_data();
      data->mutable_tag()->set_step(step);
      data->set_total(400);
      packet.mutable_frames(0)->set_payload(std::string(400, '\x7f'));
      stream->Write(packet);
    }
    Packet heard;
    while (stream->Read(&heard)) {
      EXPECT_EQ(heard.frames_size(), 0) << heard.ShortDebugString();
    }
    return stream->Finish();
  }

  TemporaryFolder folder_;
  const std::string plan_ = folder_ / "test.plan", init_ = folder_ / "init",
                    batch_ = folder_ / "batch", parameters_ = folder_ / "parameters";
  const std::vector<std::string> peers_;
  uint64_t digest_ = 0;
};

std::vector<std::string> operator+(std::vector<std::string> a,
                                   const std::vector<std::string> &b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

TEST_F(StrangersTest, NobodyTakesThePlaceOfAMissingRank) {
  const pid_t rank0 = Start("log0", Rank(0, Secret() + std::vector<std::string>{
                                                           "--deadline", "6", "--steps", "3",
                                                           "--save-params", parameters_}));
  const std::string none, other = "the token of another job";
  for (const std::string *token : {static_cast<const std::string *>(nullptr), &none, &other}) {
    const grpc::Status told = Intrude(HelloOfRank1(digest_), token);
    EXPECT_EQ(told.error_code(), grpc::StatusCode::UNAUTHENTICATED);
    EXPECT_EQ(told.error_message(), "refused");
  }
  EXPECT_EQ(Wait(rank0), 1);
  EXPECT_THAT(log("log0"),
              AllOf(HasSubstr("cs-run: warning: rank 0 refused a connection of ipv4:127.0.0.1:"),
                    HasSubstr("did not join within 6s; 3 connections were refused")));
  EXPECT_NE(access(parameters_.c_str(), F_OK), 0);
}

TEST_F(StrangersTest, TheRightRankJoinsAfterThem) {
  const pid_t rank0 = Start("log0", Rank(0, Secret() + std::vector<std::string>{"--steps", "3"}));
  Packet wrong = HelloOfRank1(~digest_);
  EXPECT_EQ(Intrude(wrong, nullptr).error_message(), "refused");
  const pid_t rank1 = Start("log1", Rank(1, Secret() + std::vector<std::string>{"--steps", "3"}));
  EXPECT_EQ(Wait(rank0), 0) << log("log0");
  EXPECT_EQ(Wait(rank1), 0) << log("log1");
}

// There, anybody may join who knows the plan; he is not told what it is.
TEST_F(StrangersTest, WithoutASecretARefusalTellsNothing) {
  const pid_t rank0 = Start("log0", Rank(0, {"--insecure", "--steps", "3"}));
  const std::string none;
  const grpc::Status told = Intrude(HelloOfRank1(~digest_), &none);
  // Where he has no processor for so long, the rank has ended before he reads that.
  if (told.error_code() != grpc::StatusCode::UNAVAILABLE) {
    EXPECT_EQ(told.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
    EXPECT_EQ(told.error_message(), "its log says why");
  }
  EXPECT_THAT(told.error_message(), Not(HasSubstr("digest")));
  EXPECT_EQ(Wait(rank0), 1);
  EXPECT_THAT(log("log0"), HasSubstr("plan digest must match"));
}

// One who would hand out plans: in the place of rank 0, or of a server.
template <typename Service, typename P>
class Impostor final : public Service {
 public:
  explicit Impostor(const std::string &address) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort(address, grpc::InsecureServerCredentials());
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
  }
  ~Impostor() override { server_->Shutdown(); }

  // Everything that the other side says until it gives up.
  std::vector<P> heard;

 protected:
  grpc::Status Talk(grpc::ServerReaderWriter<P, P> *stream) {
    P packet;
    stream->Read(&packet);
    heard.push_back(packet);
    Admission own;
    own.set_version(transport::kAdmissionVersion);
    own.set_nonce(transport::NewNonce());
    const std::string nonce = own.nonce();
    stream->Write(Carried<Admission, P>(own));
    own.Clear();
    own.set_proof(transport::Proof("", "accepts", nonce, nonce));
    stream->Write(Carried<Admission, P>(own));
    // And, as if that had been right, a plan.
    P plan;
    plan.add_frames()->set_payload("a plan");
    stream->Write(plan);
    while (stream->Read(&packet)) heard.push_back(packet);
    return grpc::Status::OK;
  }

 private:
  std::unique_ptr<grpc::Server> server_;

 public:
  grpc::Status Connect(grpc::ServerContext *, grpc::ServerReaderWriter<P, P> *stream) {
    return Talk(stream);
  }
  grpc::Status Attach(grpc::ServerContext *, grpc::ServerReaderWriter<P, P> *stream) {
    return Talk(stream);
  }
};

TEST_F(StrangersTest, NoPlanIsTakenFromWhoPosesAsRankZero) {
  Impostor<transport::Transport::Service, Packet> impostor(peers_[0]);
  const pid_t rank1 =
      Start("log1", Rank(1, Secret() + std::vector<std::string>{
                                           "--steps", "9", "--replan", "cp {profile} {plan}",
                                           "--replan-every", "2"}));
  EXPECT_EQ(Wait(rank1), 1);
  EXPECT_EQ(log("log1"), absl::StrCat("cs-run: rank 1: peer 0 (", peers_[0],
                                      ") is refused: it does not have the job token\n"));
  EXPECT_LE(impostor.heard.size(), 2u);
  for (const Packet &packet : impostor.heard) {
    EXPECT_EQ(packet.frames_size(), 0);
    EXPECT_EQ((Carried<Packet, Admission>(packet).first()), "");
  }
}

// The token itself is never sent.
TEST_F(StrangersTest, WhoPosesAsAServerHearsNothing) {
  const std::string plan = folder_ / "servers.plan";
  std::ofstream(plan, std::ios::binary) << testing::ServerPlan({.trainers = 1}).Bytes();
  const auto servers = LoopbackAddresses(2);
  Impostor<parameter::ParameterService::Service, parameter::Packet> first(servers[0]),
      second(servers[1]);
  const pid_t trainer = Start(
      "log", std::vector<std::string>{plan, "--rank", "0", "--servers",
                                      absl::StrCat(servers[0], ",", servers[1]), "--batch",
                                      batch_} +
                 Secret());
  EXPECT_EQ(Wait(trainer), 1);
  EXPECT_THAT(log("log"), HasSubstr("is refused: it does not have the job token"));
  for (const auto *impostor : {&first, &second})
    for (const parameter::Packet &packet : impostor->heard)
      EXPECT_THAT(packet.SerializeAsString(), Not(HasSubstr("the token of the processes")));
}

}  // namespace
}  // namespace commsched
