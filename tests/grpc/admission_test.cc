// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Who has not the job's token: as one that dials, and as one that is dialled.
#include "grpc/base/admission.h"

#include <gmock/gmock.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <string>
#include <thread>
#include <vector>

#include "grpc/base/transport.grpc.pb.h"
#include "grpc/ranks/grpc_transport.h"
#include "grpc/ranks/handshake.h"
#include "tests/conformance/conformance.h"
#include "tests/grpc/admitted.h"

namespace commsched::transport {
namespace {

using conformance::LoopbackAddresses;
using conformance::Result;
using runtime::Mutex;
using runtime::MutexLock;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kToken[] = "the token of the job";
constexpr uint64_t kDigest = 0x1122334455667788;

runtime::TransportOptions Options(int rank, const std::vector<std::string> &peers) {
  runtime::TransportOptions options;
  options.rank = rank;
  options.nodes = int(peers.size());
  options.plan_digest = kDigest;
  options.peers = peers;
  options.connect_deadline = absl::Seconds(20);
  return options;
}

Packet HelloPacket() {
  Packet packet;
  Hello *hello = packet.add_frames()->mutable_header()->mutable_hello();
  hello->set_protocol_version(kProtocolVersion);
  hello->set_plan_digest(kDigest);
  hello->set_nodes(2);
  hello->set_rank(1);
  hello->set_to_rank(0);
  hello->set_unexpected_bytes(1000);
  hello->set_eager_bytes(500);
  return packet;
}

// A call of somebody; `say` is given its stream. What it was told at the end.
grpc::Status Call(const std::string &address,
                  const std::function<void(grpc::ClientReaderWriter<Packet, Packet> &)> &say,
                  std::vector<Packet> *heard = nullptr) {
  auto stub = Transport::NewStub(
      grpc::CreateChannel(address, grpc::InsecureChannelCredentials()));
  grpc::ClientContext context;
  context.set_wait_for_ready(true);
  auto stream = stub->Connect(&context);
  say(*stream);
  Packet packet;
  while (stream->Read(&packet))
    if (heard != nullptr) heard->push_back(packet);
  return stream->Finish();
}

// Rank 0 of two, whose rank 1 has not come yet.
class AdmissionTest : public ::testing::Test {
 protected:
  AdmissionTest() : addresses_(LoopbackAddresses(2)) {
    thread_ = std::thread([this] {
      rank0_ = ConnectGrpc(Options(0, addresses_),
                           {.security = {.token = kToken}, .log = Log()});
    });
  }
  ~AdmissionTest() override {
    if (thread_.joinable()) thread_.join();
  }

  std::function<void(const std::string &)> Log() {
    return [this](const std::string &line) {
      MutexLock lock(&mu_);
      log_.push_back(line);
    };
  }
  std::vector<std::string> log() {
    MutexLock lock(&mu_);
    return log_;
  }
  void ExpectRefused(const grpc::Status &status) {
    EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAUTHENTICATED);
    EXPECT_EQ(status.error_message(), "refused");
    EXPECT_EQ(status.error_details(), "");
  }
  // The right one comes, and both can talk.
  void ExpectJoins() {
    auto rank1 = ConnectGrpc(Options(1, addresses_), {.security = {.token = kToken}});
    thread_.join();
    ASSERT_TRUE(rank1.ok()) << rank1.status();
    ASSERT_TRUE(rank0_.ok()) << rank0_.status();
    std::vector<std::byte> out(100, std::byte{7}), in(100);
    Result sent, received;
    (*rank1)->Send(0, {.step = 1}, 0, out, sent.done());
    (*rank0_)->Recv(1, {.step = 1}, absl::MakeSpan(in), received.done());
    EXPECT_TRUE(received.Wait().ok());
    EXPECT_TRUE(sent.Wait().ok());
    EXPECT_EQ(in, out);
  }

  const std::vector<std::string> addresses_;
  Mutex mu_;
  std::vector<std::string> log_;
  absl::StatusOr<std::unique_ptr<runtime::Transport>> rank0_ = absl::UnknownError("");
  std::thread thread_;
};

TEST_F(AdmissionTest, WrongTokensAreRefusedAndToldNothing) {
  for (const std::string &token : std::vector<std::string>{
           "", "the token of another", std::string(kToken) + "x"}) {
    std::vector<Packet> heard;
    ExpectRefused(Call(
        addresses_[0],
        [&](auto &stream) { EXPECT_FALSE(ProveToken(stream, token, HelloPacket())); }, &heard));
    EXPECT_TRUE(heard.empty());
  }
  EXPECT_EQ(log().size(), 3u);
  EXPECT_THAT(log()[0], AllOf(HasSubstr("refused a connection of ipv4:127.0.0.1:"),
                              HasSubstr("did not prove that it has the token")));
  ExpectJoins();
}

// As before there were tokens: the greeting alone.
TEST_F(AdmissionTest, GreetingsWithoutProofAreRefused) {
  ExpectRefused(Call(addresses_[0], [](auto &stream) { stream.Write(HelloPacket()); }));
  Packet wrong = HelloPacket();
  wrong.mutable_frames(0)->mutable_header()->mutable_hello()->set_plan_digest(1);
  std::vector<Packet> heard;
  ExpectRefused(Call(addresses_[0], [&](auto &stream) { stream.Write(wrong); }, &heard));
  EXPECT_TRUE(heard.empty());
  ExpectJoins();
}

TEST_F(AdmissionTest, WhatWasHeardElsewhereProvesNothing) {
  // A stranger in the place of rank 0 of another run with the same token hears what
  // rank 1 says, and says the same here.
  std::vector<Packet> said;
  auto elsewhere = LoopbackAddresses(2);
  std::thread other([&] {
    auto rank = ConnectGrpc(Options(0, elsewhere), {.security = {.token = kToken}});
    EXPECT_TRUE(rank.ok()) << rank.status();
  });
  Call(elsewhere[0], [&](auto &stream) {
    Admission own;
    own.set_version(kAdmissionVersion);
    own.set_nonce(NewNonce());
    const std::string nonce = own.nonce();
    said.push_back(Carried<Admission, Packet>(own));
    stream.Write(said[0]);
    Packet answer;
    stream.Read(&answer);
    const std::string theirs = Carried<Packet, Admission>(answer).nonce();
    Admission proof;
    proof.set_proof(Proof(kToken, "dials", nonce, theirs));
    said.push_back(Carried<Admission, Packet>(proof));
    stream.Write(said[1]);
    stream.Read(&answer);
    proof.set_first(HelloPacket().SerializeAsString());
    proof.set_proof(Proof(kToken, "first", nonce, theirs, proof.first()));
    said.push_back(Carried<Admission, Packet>(proof));
    stream.Write(said[2]);
    stream.Read(&answer);
    EXPECT_EQ(answer.frames(0).header().hello().plan_digest(), kDigest);
    Packet goodbye;
    goodbye.add_frames()->mutable_header()->mutable_goodbye();
    stream.Write(goodbye);
    stream.WritesDone();
  });
  other.join();
  ExpectRefused(Call(addresses_[0], [&](auto &stream) {
    for (const Packet &packet : said) stream.Write(packet);
  }));
  ExpectJoins();
}

TEST_F(AdmissionTest, AnOwnProofSentBackIsNone) {
  ExpectRefused(Call(addresses_[0], [&](auto &stream) {
    Admission own;
    own.set_version(kAdmissionVersion);
    own.set_nonce(NewNonce());
    stream.Write(Carried<Admission, Packet>(own));
    Packet answer;
    stream.Read(&answer);
    // Its own nonce, as if that were a proof.
    Admission back;
    back.set_proof(Carried<Packet, Admission>(answer).nonce());
    stream.Write(Carried<Admission, Packet>(back));
  }));
  ExpectJoins();
}

TEST_F(AdmissionTest, TheFirstPacketIsProvedToo) {
  ExpectRefused(Call(addresses_[0], [&](auto &stream) {
    Admission own;
    own.set_version(kAdmissionVersion);
    own.set_nonce(NewNonce());
    const std::string nonce = own.nonce();
    stream.Write(Carried<Admission, Packet>(own));
    Packet answer;
    stream.Read(&answer);
    const std::string theirs = Carried<Packet, Admission>(answer).nonce();
    own.Clear();
    own.set_proof(Proof(kToken, "dials", nonce, theirs));
    stream.Write(Carried<Admission, Packet>(own));
    stream.Read(&answer);
    Packet other = HelloPacket();
    own.set_first(HelloPacket().SerializeAsString());
    own.set_proof(Proof(kToken, "first", nonce, theirs, own.first()));
    other.mutable_frames(0)->mutable_header()->mutable_hello()->set_to_rank(7);
    own.set_first(other.SerializeAsString());
    stream.Write(Carried<Admission, Packet>(own));
  }));
  ExpectJoins();
}

TEST_F(AdmissionTest, RefusalsAreInTheErrorOfWhoWaits) {
  auto late = Options(0, LoopbackAddresses(2));
  late.connect_deadline = absl::Seconds(2);
  absl::Status status;
  std::thread waits([&] {
    status = ConnectGrpc(late, {.security = {.token = kToken}}).status();
  });
  Call(late.peers[0], [](auto &stream) { stream.Write(HelloPacket()); });
  waits.join();
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("did not join within 2s"),
                    HasSubstr("; 1 connection was refused, of ipv4:127.0.0.1:")));
  ExpectJoins();
}

TEST_F(AdmissionTest, ARankWithAnotherTokenIsToldSo) {
  auto rank1 = ConnectGrpc(Options(1, addresses_),
                           {.security = {.token = "the token of another"}});
  EXPECT_EQ(rank1.status().code(), absl::StatusCode::kUnauthenticated);
  EXPECT_THAT(std::string(rank1.status().message()),
              AllOf(HasSubstr("peer 0 (" + addresses_[0] + ")"),
                    HasSubstr("refuses this rank: the job token does not match")));
  ExpectJoins();
}

// In the place of rank 0: it hears nothing but a nonce and a proof.
TEST(Admission, WhoIsDialledMustProveItToo) {
  class Impostor final : public Transport::Service {
   public:
    grpc::Status Connect(grpc::ServerContext *,
                         grpc::ServerReaderWriter<Packet, Packet> *stream) override {
      Packet packet;
      stream->Read(&packet);
      heard.push_back(packet);
      Admission own;
      own.set_version(kAdmissionVersion);
      own.set_nonce(NewNonce());
      stream->Write(Carried<Admission, Packet>(own));
      stream->Read(&packet);
      heard.push_back(packet);
      const Admission theirs = Carried<Packet, Admission>(packet);
      own.Clear();
      own.set_proof(theirs.proof());  // its own, sent back
      stream->Write(Carried<Admission, Packet>(own));
      while (stream->Read(&packet)) heard.push_back(packet);
      return grpc::Status(grpc::StatusCode::FAILED_PRECONDITION, "made-up words");
    }
    std::vector<Packet> heard;
  } impostor;
  const auto addresses = LoopbackAddresses(2);
  grpc::ServerBuilder builder;
  builder.AddListeningPort(addresses[0], grpc::InsecureServerCredentials());
  builder.RegisterService(&impostor);
  auto server = builder.BuildAndStart();
  auto rank1 = ConnectGrpc(Options(1, addresses), {.security = {.token = kToken}});
  EXPECT_EQ(rank1.status().code(), absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(std::string(rank1.status().message()),
              AllOf(HasSubstr("peer 0 (" + addresses[0] + ") is refused: it does not have "
                                                          "the job token"),
                    Not(HasSubstr("made-up"))));
  server->Shutdown();
  ASSERT_EQ(impostor.heard.size(), 2u);
  for (const Packet &packet : impostor.heard) {
    EXPECT_EQ(packet.frames_size(), 0);
    const Admission message = Carried<Packet, Admission>(packet);
    EXPECT_EQ(message.first(), "");
  }
}

TEST(Admission, ProofsDependOnEverything) {
  const std::string a = NewNonce(), b = NewNonce();
  const std::string proof = Proof("token", "dials", a, b);
  EXPECT_NE(a, b);
  EXPECT_EQ(proof.size(), 32u);
  EXPECT_TRUE(ProofsEqual(proof, Proof("token", "dials", a, b)));
  for (const std::string &other :
       {Proof("tokem", "dials", a, b), Proof("token", "accepts", a, b),
        Proof("token", "dials", b, a), Proof("token", "dials", a, b, "x"), std::string()})
    EXPECT_FALSE(ProofsEqual(proof, other));
}

}  // namespace
}  // namespace commsched::transport
