// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One rank against a peer that speaks the protocol by itself, through code
// that protoc generates, or that does not speak it at all.
#include <gmock/gmock.h>
#include <grpcpp/create_channel.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <deque>
#include <random>
#include <string>
#include <thread>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "grpc/base/transport.grpc.pb.h"
#include "grpc/ranks/grpc_transport.h"
#include "grpc/ranks/handshake.h"
#include "plan/packets.h"
#include "tests/conformance/conformance.h"
#include "tests/grpc/admitted.h"

namespace commsched::transport {
namespace {

using conformance::Failures;
using conformance::LoopbackAddresses;
using conformance::Result;
using runtime::TransportOptions;
using testing::AllOf;
using testing::HasSubstr;

constexpr char kJobToken[] = "a token of a job";

Hello GoodHello() {
  Hello hello;
  hello.set_protocol_version(kProtocolVersion);
  hello.set_plan_digest(7);
  hello.set_nodes(2);
  hello.set_rank(1);
  hello.set_to_rank(0);
  hello.set_unexpected_bytes(1000);
  hello.set_eager_bytes(500);
  return hello;
}

// Dials rank 0.
class Dialler {
 public:
  explicit Dialler(const std::string &address)
      : stub_(Transport::NewStub(
            grpc::CreateChannel(address, grpc::InsecureChannelCredentials()))) {
    context_.set_wait_for_ready(true);
    context_.set_deadline(std::chrono::system_clock::now() +
                          std::chrono::seconds(60));
    stream_ = stub_->Connect(&context_);
  }
  ~Dialler() {
    if (stream_ == nullptr) return;
    context_.TryCancel();
    stream_->Finish();
  }
  void Write(const Header &header, const std::string &payload = "") {
    Packet packet;
    *packet.add_frames()->mutable_header() = header;
    packet.mutable_frames(0)->set_payload(payload);
    stream_->Write(packet);
  }
  void SayHello(const Hello &hello) {
    Packet packet;
    *packet.add_frames()->mutable_header()->mutable_hello() = hello;
    if (std::exchange(proved_, true))
      stream_->Write(packet);
    else
      EXPECT_TRUE(ProveToken(*stream_, kJobToken, packet));
  }
  // The next frame, or one without a header at the end.
  Frame Read() {
    while (frames_.frames().empty())
      if (!stream_->Read(&frames_)) return {};
    Frame first = frames_.frames(0);
    frames_.mutable_frames()->DeleteSubrange(0, 1);
    return first;
  }
  // Steps and bytes of the data in the next packet.
  std::vector<std::pair<uint64_t, size_t>> ReadPacket() {
    Packet packet;
    std::vector<std::pair<uint64_t, size_t>> data;
    if (frames_.frames().empty() && !stream_->Read(&frames_)) return data;
    packet.Swap(&frames_);
    for (const Frame &frame : packet.frames())
      if (frame.header().has_data()) data.push_back({frame.header().data().tag().step(), frame.payload().size()});
    return data;
  }
  // The same past announcements: whether one was needed depends on when a grant came.
  Frame ReadMore() {
    Frame frame = Read();
    while (frame.header().has_announce()) frame = Read();
    return frame;
  }
  grpc::Status Finish() {
    Packet rest;
    while (stream_->Read(&rest)) {
    }
    grpc::Status status = stream_->Finish();
    stream_ = nullptr;
    return status;
  }

 private:
  std::unique_ptr<Transport::Stub> stub_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReaderWriter<Packet, Packet>> stream_;
  Packet frames_;
  bool proved_ = false;
};

class ProtocolTest : public testing::Test {
 protected:
  explicit ProtocolTest(size_t unexpected_bytes = 1000)
      : addresses_(LoopbackAddresses(2)) {
    options_ = {.rank = 0,
                .nodes = 2,
                .plan_digest = 7,
                .peers = addresses_,
                .unexpected_bytes = unexpected_bytes,
                .on_peer_failure = failures_.callback()};
    thread_ = std::thread([this] {
      auto rank = ConnectGrpc(options_, {.security = {.token = kJobToken}, .eager_bytes = 500});
      status_ = rank.status();
      if (rank.ok()) rank_ = *std::move(rank);
    });
  }
  ~ProtocolTest() override {
    if (thread_.joinable()) thread_.join();
  }

  // A peer that is connected to rank_.
  std::unique_ptr<Dialler> Join() {
    auto peer = std::make_unique<Dialler>(addresses_[0]);
    peer->SayHello(GoodHello());
    EXPECT_EQ(peer->Read().header().hello().plan_digest(), 7u);
    thread_.join();
    EXPECT_TRUE(status_.ok()) << status_;
    return peer;
  }

  // Rank 0 drops the peer, naming it and `what`, and tells it.
  void ExpectFailure(Dialler &peer, const std::string &what) {
    auto failures = failures_.WaitForOne();
    ASSERT_EQ(failures.size(), 1u);
    EXPECT_EQ(failures[0].first, 1);
    EXPECT_THAT(std::string(failures[0].second.message()),
                AllOf(HasSubstr("peer 1 (" + addresses_[1] + ")"),
                      HasSubstr(what)));
    Frame frame = peer.Read();
    while (frame.has_header() && !frame.header().has_abort())
      frame = peer.Read();
    EXPECT_THAT(frame.header().abort().message(), HasSubstr(what));
  }

  std::vector<std::string> addresses_;
  Failures failures_;
  TransportOptions options_;
  std::thread thread_;
  absl::Status status_;
  std::unique_ptr<runtime::Transport> rank_;
};

Header Data(uint64_t step, uint64_t offset, uint64_t total) {
  Header header;
  header.mutable_data()->mutable_tag()->set_step(step);
  header.mutable_data()->set_offset(offset);
  header.mutable_data()->set_total(total);
  return header;
}

Header GrantFor(uint64_t step, uint64_t total) {
  Header header;
  header.mutable_grant()->mutable_tag()->set_step(step);
  header.mutable_grant()->set_total(total);
  return header;
}

std::string Text(const std::vector<std::byte> &bytes) {
  return {reinterpret_cast<const char *>(bytes.data()), bytes.size()};
}

TEST_F(ProtocolTest, WorksAsDescribed) {
  auto peer = Join();
  std::vector<std::byte> buffer(5), large(600);
  // Eager, then granted.
  peer->Write(Data(1, 0, 5), "eager");
  Result first;
  rank_->Recv(1, {.step = 1}, absl::MakeSpan(buffer), first.done());
  EXPECT_TRUE(first.Wait().ok()) << first.Wait();
  EXPECT_EQ(Text(buffer), "eager");
  EXPECT_EQ(peer->Read().header().credit().bytes(), 5u + 256);
  // Granted, then in parts.
  Result second;
  rank_->Recv(1, {.step = 2}, absl::MakeSpan(large), second.done());
  EXPECT_EQ(peer->Read().header().grant().total(), 600u);
  peer->Write(Data(2, 0, 600), std::string(250, 'p'));
  peer->Write(Data(2, 250, 600), std::string(350, 'q'));
  EXPECT_TRUE(second.Wait().ok()) << second.Wait();
  EXPECT_EQ(Text(large), std::string(250, 'p') + std::string(350, 'q'));
  // The other way: too long to be eager, so it waits for the grant.
  std::vector<std::byte> message(800, std::byte{'x'});
  Result third, fourth;
  rank_->Send(1, {.step = 3}, 0, message, third.done());
  rank_->Send(1, {.step = 4}, 0, absl::MakeConstSpan(message).first(3),
              fourth.done());
  EXPECT_EQ(peer->Read().header().announce().total(), 800u);
  Frame frame = peer->Read();
  EXPECT_EQ(frame.header().data().tag().step(), 4u);
  EXPECT_EQ(frame.payload(), "xxx");
  peer->Write(GrantFor(3, 800));
  frame = peer->Read();
  EXPECT_EQ(frame.header().data().tag().step(), 3u);
  EXPECT_EQ(frame.payload(), std::string(800, 'x'));
  EXPECT_TRUE(third.Wait().ok());
  EXPECT_TRUE(fourth.Wait().ok());
  // The end.
  Header goodbye;
  goodbye.mutable_goodbye();
  peer->Write(goodbye);
  EXPECT_TRUE(peer->Read().header().has_goodbye());
  EXPECT_TRUE(peer->Finish().ok());
  rank_->Close();
  EXPECT_TRUE(failures_.Now().empty());
}

TEST_F(ProtocolTest, AnnouncesWhatThereIsNoRoomFor) {
  auto peer = Join();
  const std::vector<std::byte> message(500, std::byte{'x'});
  Result results[4];
  const auto send = [&](uint64_t step) {
    rank_->Send(1, {.step = step}, 0, message, results[step - 1].done());
  };
  send(1);
  EXPECT_EQ(peer->Read().header().data().tag().step(), 1u);
  // There is no room for more.
  for (uint64_t step : {2, 3}) {
    send(step);
    const Frame frame = peer->Read();
    EXPECT_EQ(frame.header().announce().tag().step(), step);
    EXPECT_EQ(frame.header().announce().total(), 500u);
  }
  for (uint64_t step : {3, 2}) {
    peer->Write(GrantFor(step, 500));
    EXPECT_EQ(peer->Read().header().data().tag().step(), step);
  }
  Header credit;
  credit.mutable_credit()->set_bytes(500 + 256);
  peer->Write(credit);
  // Behind the credit, as this waits for its grant.
  peer->Write(GrantFor(5, 501));
  const std::vector<std::byte> longer(501);
  Result fifth;
  rank_->Send(1, {.step = 5}, 0, longer, fifth.done());
  EXPECT_EQ(peer->ReadMore().header().data().tag().step(), 5u);
  send(4);
  EXPECT_EQ(peer->Read().header().data().tag().step(), 4u);
  for (Result &result : results) EXPECT_TRUE(result.Wait().ok());
  EXPECT_TRUE(fifth.Wait().ok());
  EXPECT_TRUE(failures_.Now().empty());
}

// Of a rank with much room.
class RoomTest : public ProtocolTest {
 protected:
  static constexpr size_t kRoom = 16 * (500 + 256);
  RoomTest() : ProtocolTest(kRoom) {}

  void Receive(uint64_t step, size_t bytes) {
    buffers_.emplace_back(bytes);
    rank_->Recv(1, {.step = step}, absl::MakeSpan(buffers_.back()),
                results_.emplace_back().done());
  }
  // The next frame that the rank sends is one of these.
  void ExpectNothingBefore(Dialler &peer, uint64_t step) {
    const std::vector<std::byte> message(3, std::byte{'x'});
    Result sent;
    rank_->Send(1, {.step = step}, 0, message, sent.done());
    EXPECT_EQ(peer.Read().header().data().tag().step(), step);
    EXPECT_TRUE(sent.Wait().ok());
  }

  std::deque<std::vector<std::byte>> buffers_;
  std::deque<Result> results_;
};

TEST_F(RoomTest, IsGivenBackForSeveralMessagesAtOnce) {
  auto peer = Join();
  const std::string text(500, 'x');
  // A quarter of the room, some before their receives and some after them.
  for (uint64_t step : {1, 2}) peer->Write(Data(step, 0, 500), text);
  for (uint64_t step : {2, 3, 1}) Receive(step, 500);
  peer->Write(Data(3, 0, 500), text);
  for (Result &result : results_) EXPECT_TRUE(result.Wait().ok()) << result.Wait();
  ExpectNothingBefore(*peer, 10);
  Receive(4, 500);
  peer->Write(Data(4, 0, 500), text);
  EXPECT_EQ(peer->Read().header().credit().bytes(), 4u * (500 + 256));
  EXPECT_TRUE(results_.back().Wait().ok());
}

TEST_F(RoomTest, ShortMessagesAreGrantedIfTheyAreAnnounced) {
  auto peer = Join();
  Header announce;
  announce.mutable_announce()->set_total(5);
  const auto say = [&](uint64_t step) {
    announce.mutable_announce()->mutable_tag()->set_step(step);
    peer->Write(announce);
  };
  Receive(1, 5);
  ExpectNothingBefore(*peer, 10);
  say(1);
  EXPECT_EQ(peer->Read().header().grant().tag().step(), 1u);
  say(2);
  say(3);
  Receive(3, 5);
  EXPECT_EQ(peer->Read().header().grant().tag().step(), 3u);
  Receive(4, 501);
  EXPECT_EQ(peer->Read().header().grant().tag().step(), 4u);
  Receive(2, 5);
  EXPECT_EQ(peer->Read().header().grant().tag().step(), 2u);
  for (uint64_t step : {1, 2, 3}) peer->Write(Data(step, 0, 5), "01234");
  peer->Write(Data(4, 0, 501), std::string(501, 'x'));
  for (Result &result : results_) EXPECT_TRUE(result.Wait().ok()) << result.Wait();
}

TEST_F(ProtocolTest, AnnouncedTwice) {
  auto peer = Join();
  Header announce;
  announce.mutable_announce()->set_total(5);
  peer->Write(announce);
  peer->Write(announce);
  ExpectFailure(*peer, "twice");
}

TEST_F(ProtocolTest, MoreRoomThanWasUsed) {
  auto peer = Join();
  Header credit;
  credit.mutable_credit()->set_bytes(1);
  peer->Write(credit);
  ExpectFailure(*peer, "more room than was used");
}

TEST_F(ProtocolTest, UrgentMessageOvertakes) {
  auto peer = Join();
  std::vector<std::byte> message(size_t{64} << 20), urgent(1 << 20);
  Result slow, fast;
  peer->Write(GrantFor(1, message.size()));
  peer->Write(GrantFor(2, urgent.size()));
  rank_->Send(1, {.step = 1}, 5, message, slow.done());
  rank_->Send(1, {.step = 2}, -5, urgent, fast.done());
  // The peer has read nothing, so most of the first has not been sent.
  uint64_t bytes[3] = {}, before = 0;
  while (bytes[1] < message.size() || bytes[2] < urgent.size()) {
    Frame frame = peer->ReadMore();
    ASSERT_TRUE(frame.has_header());
    bytes[frame.header().data().tag().step()] += frame.payload().size();
    if (bytes[2] < urgent.size()) before = bytes[1];
  }
  EXPECT_LT(before, message.size() / 2);
  EXPECT_TRUE(slow.Wait().ok());
  EXPECT_TRUE(fast.Wait().ok());
}

// What is received as a whole ends soon behind it.
TEST_F(ProtocolTest, PacketsOfUrgentMessagesAreShort) {
  auto peer = Join();
  std::vector<std::byte> message(size_t{64} << 20), urgent(1000), second(300'000);
  Result slow, fast, last;
  peer->Write(GrantFor(1, message.size()));
  peer->Write(GrantFor(2, urgent.size()));
  peer->Write(GrantFor(3, second.size()));
  rank_->Send(1, {.step = 1}, 5, message, slow.done());
  rank_->Send(1, {.step = 2}, -5, urgent, fast.done());
  rank_->Send(1, {.step = 3}, -4, second, last.done());
  bool any = false;
  for (uint64_t left = message.size() + urgent.size() + second.size(); left > 0;) {
    const auto packet = peer->ReadPacket();
    uint64_t bytes = 0;
    for (const auto &[step, size] : packet) bytes += size;
    left -= bytes;
    if (packet.empty() || packet.front().first == packet.back().first) continue;
    any = true;
    EXPECT_LE(bytes, plan::kSmallPacket) << packet.front().first << " to " << packet.back().first;
  }
  EXPECT_TRUE(any);
  EXPECT_TRUE(slow.Wait().ok());
  EXPECT_TRUE(fast.Wait().ok());
  EXPECT_TRUE(last.Wait().ok());
}

TEST_F(ProtocolTest, StrangersAreRefusedAndDoNoHarm) {
  // Not gRPC at all: random bytes, with and without an HTTP/2 preface.
  std::mt19937 random(1);
  std::pair<std::string, std::string> parts =
      absl::StrSplit(addresses_[0], ':');
  int port = 0;
  ASSERT_TRUE(absl::SimpleAtoi(parts.second, &port));
  for (int i = 0; i < 20; ++i) {
    const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    while (::connect(socket, reinterpret_cast<sockaddr *>(&address),
                     sizeof(address)) != 0)
      std::this_thread::yield();
    std::string bytes = i % 2 == 0 ? "" : "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    for (int j = 0; j < 200; ++j) bytes.push_back(static_cast<char>(random()));
    EXPECT_GT(::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL), 0);
    ::close(socket);
  }
  // gRPC, but no Hello, or nothing.
  {
    Dialler peer(addresses_[0]);
    peer.Write(Data(1, 0, 5), "early");
    const grpc::Status status = peer.Finish();
    EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAUTHENTICATED);
    EXPECT_EQ(status.error_message(), "refused");
    Dialler silent(addresses_[0]);
  }
  // And now the peer itself comes.
  auto peer = Join();
  // Nobody else is expected, whatever he knows.
  Dialler second(addresses_[0]);
  grpc::Status status = second.Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAUTHENTICATED);
  EXPECT_EQ(status.error_message(), "refused");
  peer->Write(Data(1, 0, 4), "fine");
  std::vector<std::byte> buffer(4);
  Result result;
  rank_->Recv(1, {.step = 1}, absl::MakeSpan(buffer), result.done());
  EXPECT_TRUE(result.Wait().ok()) << result.Wait();
  EXPECT_TRUE(failures_.Now().empty());
}

TEST_F(ProtocolTest, AnotherProtocolVersion) {
  const std::string versions = absl::StrCat("protocol version must match ", kProtocolVersion,
                                            ", got: ", kProtocolVersion + 1);
  Dialler peer(addresses_[0]);
  Hello hello = GoodHello();
  hello.set_protocol_version(kProtocolVersion + 1);
  peer.SayHello(hello);
  grpc::Status status = peer.Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(status.error_message(),
              HasSubstr(versions));
  thread_.join();
  EXPECT_EQ(status_.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status_.message()),
              AllOf(HasSubstr("peer 1"), HasSubstr(addresses_[1]),
                    HasSubstr(versions)));
}

// Who comes when a rank has given up hears why, and does not wait for it.
TEST(ProtocolOfThreeTest, WhoComesLaterHearsOfARefusal) {
  const auto addresses = LoopbackAddresses(3);
  absl::Status status;
  std::thread rank([&] {
    status = ConnectGrpc({.rank = 0, .nodes = 3, .plan_digest = 7, .peers = addresses},
                         {.security = {.token = kJobToken}})
                 .status();
  });
  Hello hello = GoodHello();
  hello.set_nodes(3);
  hello.set_plan_digest(8);
  {
    Dialler other(addresses[0]);
    other.SayHello(hello);
    EXPECT_EQ(other.Finish().error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  }
  Dialler late(addresses[0]);
  hello.set_rank(2);
  hello.set_plan_digest(7);
  late.SayHello(hello);
  EXPECT_TRUE(late.Read().header().has_hello());
  const Frame last = late.Read();
  EXPECT_THAT(last.header().abort().message(),
              AllOf(HasSubstr("peer 1 (" + addresses[1] + ") is refused"), HasSubstr("plan digest must match")));
  rank.join();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(ProtocolTest, AddressesInAnotherOrder) {
  Dialler peer(addresses_[0]);
  Hello hello = GoodHello();
  hello.set_to_rank(1);
  hello.set_rank(0);
  peer.SayHello(hello);
  EXPECT_THAT(peer.Finish().error_message(),
              HasSubstr("rank at this address must match 0, got: 1"));
  thread_.join();
  EXPECT_EQ(status_.code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(ProtocolTest, RankThatIsNot) {
  Dialler peer(addresses_[0]);
  Hello hello = GoodHello();
  hello.set_rank(~uint32_t{0});
  peer.SayHello(hello);
  EXPECT_THAT(peer.Finish().error_message(),
              HasSubstr("rank that dials must be in [1, 2), got: 4294967295"));
  thread_.join();
  EXPECT_EQ(status_.code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(ProtocolTest, TooMuchThatNobodyWants) {
  auto peer = Join();
  peer->Write(Data(1, 0, 501), std::string(501, 'x'));
  ExpectFailure(*peer, "exceeds what may be sent before the receive");
}

TEST_F(ProtocolTest, TooManyThatNobodyWants) {
  auto peer = Join();
  for (int i = 0; i < 4; ++i) peer->Write(Data(i, 0, 1), "x");
  ExpectFailure(*peer, "exceeds what may be sent before the receive");
}

TEST_F(ProtocolTest, PartOfWhatNobodyWants) {
  auto peer = Join();
  peer->Write(Data(1, 3, 10), "x");
  ExpectFailure(*peer, "of which the first one is missing");
}

TEST_F(ProtocolTest, PartsThatNobodyWantsAndThatDoNotFollow) {
  auto peer = Join();
  peer->Write(Data(1, 0, 10), "abc");
  peer->Write(Data(1, 4, 10), "efg");
  ExpectFailure(*peer, "where byte 3 of 10 is next");
}

TEST_F(ProtocolTest, PartsBeforeTheReceive) {
  auto peer = Join();
  // All of them, then some of them.
  peer->Write(Data(1, 0, 5), "who");
  peer->Write(Data(1, 3, 5), "le");
  peer->Write(Data(2, 0, 5), "pa");
  peer->Write(Data(2, 2, 5), "r");
  // Sent in order: these two are there when the third one is.
  peer->Write(Data(3, 0, 1), "x");
  std::vector<std::byte> last(1), whole(5), parts(5);
  Result third, first, second;
  rank_->Recv(1, {.step = 3}, absl::MakeSpan(last), third.done());
  EXPECT_TRUE(third.Wait().ok()) << third.Wait();
  rank_->Recv(1, {.step = 1}, absl::MakeSpan(whole), first.done());
  EXPECT_TRUE(first.Wait().ok()) << first.Wait();
  EXPECT_EQ(Text(whole), "whole");
  rank_->Recv(1, {.step = 2}, absl::MakeSpan(parts), second.done());
  peer->Write(Data(2, 3, 5), "ts");
  EXPECT_TRUE(second.Wait().ok()) << second.Wait();
  EXPECT_EQ(Text(parts), "parts");
}

TEST_F(ProtocolTest, SameMessageTwice) {
  auto peer = Join();
  peer->Write(Data(1, 0, 1), "x");
  peer->Write(Data(1, 0, 1), "x");
  ExpectFailure(*peer, "twice");
}

TEST_F(ProtocolTest, PartsThatDoNotFollow) {
  auto peer = Join();
  std::vector<std::byte> buffer(10);
  Result result;
  rank_->Recv(1, {.step = 1}, absl::MakeSpan(buffer), result.done());
  peer->Write(Data(1, 0, 10), "abc");
  peer->Write(Data(1, 4, 10), "efg");
  ExpectFailure(*peer, "where byte 3 of 10 is next");
  EXPECT_EQ(result.Wait().code(), absl::StatusCode::kDataLoss);
}

TEST_F(ProtocolTest, PartBeyondTheEnd) {
  auto peer = Join();
  std::vector<std::byte> buffer(10);
  Result result;
  rank_->Recv(1, {.step = 1}, absl::MakeSpan(buffer), result.done());
  peer->Write(Data(1, 0, 10), "0123456789a");
  ExpectFailure(*peer, "where byte 0 of 10 is next");
  EXPECT_EQ(result.Wait().code(), absl::StatusCode::kDataLoss);
}

TEST_F(ProtocolTest, TwoGrants) {
  auto peer = Join();
  std::vector<std::byte> message(size_t{64} << 20);
  Result result;
  peer->Write(GrantFor(1, message.size()));
  rank_->Send(1, {.step = 1}, 0, message, result.done());
  EXPECT_TRUE(peer->ReadMore().header().has_data());
  peer->Write(GrantFor(1, message.size()));
  ExpectFailure(*peer, "second grant");
}

TEST_F(ProtocolTest, FrameOfNoKind) {
  auto peer = Join();
  peer->Write(Header());
  ExpectFailure(*peer, "unknown kind");
}

TEST_F(ProtocolTest, HelloAgain) {
  auto peer = Join();
  peer->SayHello(GoodHello());
  ExpectFailure(*peer, "unknown kind");
}

}  // namespace
}  // namespace commsched::transport
