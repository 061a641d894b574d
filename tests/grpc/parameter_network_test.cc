// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What can come over the network: connections that are cut, peers that the
// other side does not trust, and bytes that are not the protocol.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <grpcpp/create_channel.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <random>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "grpc/servers/parameter_protocol.h"
#include "grpc/servers/parameter_service.grpc.pb.h"
#include "tests/conformance/conformance.h"
#include "tests/grpc/admitted.h"
#include "tests/grpc/parameter_test_util.h"

namespace commsched::transport {
namespace {

using conformance::LoopbackAddresses;
using testing::AllOf;
using testing::HasSubstr;

sockaddr_in SocketAddress(const std::string &address) {
  const std::vector<std::string> parts = absl::StrSplit(address, ':');
  int port = 0;
  EXPECT_TRUE(absl::SimpleAtoi(parts[1], &port));
  sockaddr_in to = {};
  to.sin_family = AF_INET;
  to.sin_port = htons(port);
  inet_pton(AF_INET, parts[0].c_str(), &to.sin_addr);
  return to;
}

int ConnectTo(const std::string &address) {
  const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  const sockaddr_in to = SocketAddress(address);
  EXPECT_EQ(connect(socket, reinterpret_cast<const sockaddr *>(&to),
                    sizeof(to)),
            0);
  return socket;
}

// Passes one connection at a time on to another address, until it is cut.
class Proxy {
 public:
  Proxy(const std::string &address, std::string to) : to_(std::move(to)) {
    listener_ = socket(AF_INET, SOCK_STREAM, 0);
    const int on = 1;
    setsockopt(listener_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    const sockaddr_in own = SocketAddress(address);
    EXPECT_EQ(bind(listener_, reinterpret_cast<const sockaddr *>(&own),
                   sizeof(own)),
              0);
    EXPECT_EQ(listen(listener_, 8), 0);
    thread_ = std::thread([this] { Loop(); });
  }
  ~Proxy() {
    stop_ = true;
    thread_.join();
    close(listener_);
  }
  // Connections are closed, and new ones at once, until it is mended.
  void Cut() { cut_ = true; }
  void Mend() { cut_ = false; }

 private:
  void Loop() {
    int ends[2] = {-1, -1};
    std::vector<char> bytes(1 << 16);
    const auto drop = [&] {
      for (int &end : ends) {
        if (end >= 0) close(end);
        end = -1;
      }
    };
    while (!stop_) {
      if (cut_) drop();
      pollfd polled[3] = {
          {listener_, POLLIN, 0}, {ends[0], POLLIN, 0}, {ends[1], POLLIN, 0}};
      if (poll(polled, 3, 10) <= 0) continue;
      if (polled[0].revents != 0) {
        const int accepted = accept(listener_, nullptr, nullptr);
        if (cut_ || ends[0] >= 0) {
          close(accepted);
        } else {
          ends[0] = accepted;
          ends[1] = ConnectTo(to_);
        }
        continue;
      }
      for (int i = 0; i < 2 && !cut_; ++i) {
        if (polled[i + 1].revents == 0) continue;
        const ssize_t size = read(ends[i], bytes.data(), bytes.size());
        if (size <= 0 || send(ends[1 - i], bytes.data(), size, MSG_NOSIGNAL) !=
                             size) {
          drop();
          break;
        }
      }
    }
    drop();
  }

  const std::string to_;
  int listener_ = -1;
  std::atomic<bool> cut_{false}, stop_{false};
  std::thread thread_;
};

// Two trainers of one server; the second one's connection is `second`.
class ParameterNetwork : public testing::Test {
 protected:
  void Start(const std::function<void(ParameterServiceOptions &)> &edit = {}) {
    addresses_ = LoopbackAddresses(2);
    auto options = ServiceOptions({addresses_[0]}, 0, 2);
    if (edit) edit(options);
    auto service = ParameterService::Start(&server_, std::move(options));
    ASSERT_TRUE(service.ok()) << service.status();
    service_ = *std::move(service);
  }
  absl::Status RunTrainer(
      int trainer, const std::string &address,
      const std::function<void(uint64_t)> &each = {},
      const std::function<void(ParameterClientOptions &)> &edit = {}) {
    auto options = ClientOptions({address}, trainer, 2);
    options.deadline = absl::Seconds(20);
    if (edit) edit(options);
    auto client = ConnectParameterServers(options);
    if (!client.ok()) return client.status();
    absl::Status status = Train(**client, 1, trainer, {6, 6}, each);
    if (!status.ok()) (*client)->Abort(status);
    return status;
  }
  // Both trainers; `each` is called before each step of the second.
  std::pair<absl::Status, absl::Status> RunBoth(
      const std::string &second, const std::function<void(uint64_t)> &each,
      const std::function<void(ParameterClientOptions &)> &edit = {}) {
    std::pair<absl::Status, absl::Status> results;
    std::thread thread(
        [&] { results.first = RunTrainer(0, addresses_[0], {}, edit); });
    results.second = RunTrainer(1, second, each, edit);
    thread.join();
    return results;
  }

  std::vector<std::string> addresses_;
  FakeParameterServer server_{2, TestBlocks(), TestRows()};
  std::unique_ptr<ParameterService> service_;
};

TEST_F(ParameterNetwork, CutForAWhile) {
  Start();
  Proxy proxy(addresses_[1], addresses_[0]);
  std::vector<std::thread> threads;
  const auto [first, second] = RunBoth(addresses_[1], [&](uint64_t step) {
    if (step % 2 == 0) return;
    // While the step is under way.
    threads.emplace_back([&] {
      proxy.Cut();
      std::this_thread::sleep_for(std::chrono::milliseconds(300));
      proxy.Mend();
    });
  });
  for (std::thread &thread : threads) thread.join();
  EXPECT_TRUE(first.ok()) << first;
  EXPECT_TRUE(second.ok()) << second;
  EXPECT_TRUE(service_->Wait().ok());
}

TEST_F(ParameterNetwork, CutForGood) {
  Start([](auto &options) { options.grace = absl::Seconds(1); });
  Proxy proxy(addresses_[1], addresses_[0]);
  const auto [first, second] = RunBoth(
      addresses_[1],
      [&](uint64_t step) {
        if (step == 3) proxy.Cut();
      },
      [](auto &options) { options.deadline = absl::Seconds(2); });
  EXPECT_THAT(std::string(first.message()),
              HasSubstr("trainer 1 is lost: its connection broke, and it did "
                        "not come back within 1s"));
  EXPECT_THAT(std::string(second.message()),
              HasSubstr("server 0 (" + addresses_[1] +
                        "): is lost, and did not come back within 2s"));
  EXPECT_EQ(service_->Wait().code(), absl::StatusCode::kUnavailable);
}

TEST_F(ParameterNetwork, GarbageFromStrangersIsNoMatter) {
  Start([](auto &options) { options.grace = absl::Seconds(2); });
  std::mt19937 random(1);
  const auto stranger = [&](uint64_t step) {
    // Bytes, a connection that is silent, and frames without a join.
    const int socket = ConnectTo(addresses_[0]);
    std::string bytes(1000, 'x');
    for (char &byte : bytes) byte = static_cast<char>(random());
    if (step % 2 == 0) bytes = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes;
    send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    auto stub = parameter::ParameterService::NewStub(grpc::CreateChannel(
        addresses_[0], grpc::InsecureChannelCredentials()));
    grpc::ClientContext context;
    auto stream = stub->Attach(&context);
    parameter::Packet packet;
    auto *header = packet.add_frames()->mutable_header();
    if (step % 2 == 0)
      header->mutable_abort()->set_message("all of you");
    else
      header->mutable_push()->set_total(24'000);
    stream->Write(packet);
    while (stream->Read(&packet)) {
    }
    EXPECT_EQ(stream->Finish().error_message(), "refused");
    close(socket);
  };
  const auto [first, second] = RunBoth(addresses_[0], stranger);
  EXPECT_TRUE(first.ok()) << first;
  EXPECT_TRUE(second.ok()) << second;
  EXPECT_TRUE(service_->Wait().ok());
}

// A trainer that has joined, and then sends what it must not.
class BadTrainer : public ParameterNetwork,
                   public testing::WithParamInterface<
                       std::pair<const char *, const char *>> {
 protected:
  static parameter::Packet Bad(const std::string &what) {
    parameter::Packet packet;
    parameter::Frame *frame = packet.add_frames();
    parameter::Data *push = frame->mutable_header()->mutable_push();
    push->set_total(24'000);
    frame->set_payload(std::string(100, 'x'));
    if (what == "block") push->set_block(5);
    if (what == "total") push->set_total(23'999);
    if (what == "offset") push->set_offset(8);
    if (what == "long") frame->set_payload(std::string(24'001, 'x'));
    if (what == "empty") frame->clear_payload();
    if (what == "join") frame->mutable_header()->mutable_join();
    if (what == "kind") frame->mutable_header()->mutable_taken();
    if (what == "pull") frame->mutable_header()->mutable_pull()->set_block(9);
    if (what == "none") frame->clear_header();
    // A message of one row, and a request for one.
    const auto words = [&](std::vector<int64_t> words) {
      frame->set_payload(reinterpret_cast<const char *>(words.data()),
                         words.size() * 8);
    };
    if (what == "rows size" || what == "rows id" || what == "rows count") {
      words({what == "rows count" ? int64_t{1} << 61 : 1,
             what == "rows id" ? 4000 : 0, 5, 6});
      push->set_block(4);
      push->set_total(what == "rows size" ? 33 : 32);
    }
    if (absl::StartsWith(what, "pull rows")) {
      parameter::Data *pull = frame->mutable_header()->mutable_pull_rows();
      words({5, what == "pull rows order" ? 5 : 6});
      pull->set_block(what == "pull rows dense"   ? 1
                      : what == "pull rows block" ? 7
                                                  : 4);
      pull->set_total(what == "pull rows odd"    ? 15
                      : what == "pull rows many" ? 8 * 4001
                                                 : 16);
      if (what == "pull rows gap") pull->set_offset(8);
    }
    if (!frame->header().has_push() && !frame->header().has_pull_rows())
      frame->clear_payload();
    if (what == "gap") {
      *packet.add_frames() = packet.frames(0);
      packet.mutable_frames(1)->mutable_header()->mutable_push()->set_offset(
          101);
    }
    return packet;
  }
};

TEST_P(BadTrainer, IsNamedToAll) {
  Start();
  absl::Status first;
  std::thread thread([&] { first = RunTrainer(0, addresses_[0]); });
  auto stub = parameter::ParameterService::NewStub(grpc::CreateChannel(
      addresses_[0], grpc::InsecureChannelCredentials()));
  grpc::ClientContext context;
  auto stream = stub->Attach(&context);
  parameter::Packet packet;
  parameter::Join *join =
      packet.add_frames()->mutable_header()->mutable_join();
  join->set_protocol_version(kParameterProtocol);
  join->set_plan_digest(kTestDigest);
  join->set_trainers(2);
  join->set_trainer(1);
  join->set_servers(1);
  join->set_session(5);
  EXPECT_TRUE(ProveToken(*stream, kTestToken, packet));
  EXPECT_TRUE(stream->Read(&packet));
  EXPECT_EQ(packet.frames(0).header().welcome().blocks(), 5u);
  stream->Write(Bad(GetParam().first));
  EXPECT_TRUE(stream->Read(&packet));
  const std::string what =
      absl::StrCat("trainer 1 is lost: broke the protocol: ",
                   GetParam().second);
  EXPECT_THAT(packet.frames(0).header().abort().message(), HasSubstr(what));
  while (stream->Read(&packet)) {
  }
  stream->Finish();
  thread.join();
  EXPECT_THAT(std::string(first.message()), HasSubstr(what));
  EXPECT_THAT(std::string(service_->Wait().message()), HasSubstr(what));
}

INSTANTIATE_TEST_SUITE_P(
    Packets, BadTrainer,
    testing::Values(
        std::pair("block", "pushed block 5 of 5"),
        std::pair("total",
                  "size of push of block 0, step 0 must match the "
                  "block's 24000 bytes, got: 23999"),
        std::pair("offset",
                  "part of push of block 0, step 0 must be the next "
                  "of step 0, at 0, got: 8"),
        std::pair("gap",
                  "part of push of block 0, step 0 must be the next of "
                  "step 0, at 100, got: 101"),
        std::pair("long",
                  "part of push of block 0, step 0 must have 1 to 24000 "
                  "bytes, got: 24001"),
        std::pair("empty",
                  "part of push of block 0, step 0 must have 1 to 24000 "
                  "bytes, got: 0"),
        std::pair("join", "got a second join"),
        std::pair("kind", "got a frame that no trainer sends"),
        std::pair("pull", "pulled block 9 of 5"),
        std::pair("none", "malformed packet"),
        std::pair("rows size",
                  "size of push of block 4, step 0 must be that of "
                  "at most 4000 rows of 16 bytes with ids, got: 33"),
        std::pair("rows id", "ids of rows must be in 0..3999, got: 4000"),
        std::pair("rows count",
                  "message of rows must have at most the block's "
                  "4000 rows"),
        std::pair("pull rows block", "pulled rows of block 7 of 5"),
        std::pair("pull rows dense",
                  "pulled rows of block 1, which has no single rows"),
        std::pair("pull rows odd",
                  "size of pull of rows of block 4, version 0 "
                  "must be that of at most 4000 ids, got: 15"),
        std::pair("pull rows many",
                  "size of pull of rows of block 4, version 0 "
                  "must be that of at most 4000 ids, got: 32008"),
        std::pair("pull rows gap",
                  "part of pull of rows of block 4, version 0 "
                  "must be the next of step 0, at 0, got: 8"),
        std::pair("pull rows order", "ids of rows must ascend, got: 5 after 5")),
    [](const auto &info) {
      return absl::StrReplaceAll(info.param.first, {{" ", "_"}});
    });

class ParameterTls : public ParameterNetwork {
 protected:
  void SetUp() override {
    folder_ = absl::StrCat(testing::TempDir(), "/parameter_tls.", getpid());
    // Two authorities; "server" and "trainer" are of the first, "rogue" of the
    // other, "elsewhere" is a server with another name.
    const std::string script = absl::StrCat(
        "set -e; mkdir -p ", folder_, "; cd ", folder_, R"(
        new() { openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 \
          -nodes -days 2 -keyout $1.key -out $1.pem -subj /CN=$1 "${@:2}"; }
        new ca; new other
        leaf() { new $1 -CA $2.pem -CAkey $2.key -addext subjectAltName=$3 \
          -addext basicConstraints=critical,CA:FALSE; }
        leaf server ca IP:127.0.0.1
        leaf trainer ca DNS:trainer
        leaf elsewhere ca DNS:elsewhere
        leaf rogue other IP:127.0.0.1)");
    setenv("SCRIPT", script.c_str(), 1);
    ASSERT_EQ(std::system("bash -c \"$SCRIPT\" 2>/dev/null"), 0)
        << "openssl is needed";
  }
  void TearDown() override {
    EXPECT_EQ(std::system(("rm -r " + folder_).c_str()), 0);
  }
  std::function<void(SecurityOptions &)> As(const std::string &name,
                                            const std::string &ca = "ca") {
    return [this, name, ca](SecurityOptions &security) {
      security.ca_file = folder_ + "/" + ca + ".pem";
      security.certificate_file = folder_ + "/" + name + ".pem";
      security.key_file = folder_ + "/" + name + ".key";
    };
  }
  void Serve(const std::string &name) {
    Start([&](auto &options) { As(name)(options.security); });
  }
  // A trainer that cannot join; the job does not care.
  std::string Refused(const std::function<void(SecurityOptions &)> &as) {
    absl::Status status = RunTrainer(1, addresses_[0], {}, [&](auto &options) {
      options.deadline = absl::Seconds(2);
      as(options.security);
    });
    EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded) << status;
    EXPECT_THAT(std::string(status.message()),
                AllOf(HasSubstr("server 0 (" + addresses_[0] +
                                "): did not accept trainer 1 within 2s"),
                      HasSubstr("last error: ")));
    return std::string(status.message());
  }
  std::string folder_;
};

TEST_F(ParameterTls, OnlyCertificatesOfTheAuthority) {
  Serve("server");
  Refused([](SecurityOptions &) {});  // no TLS at all
  Refused(As("rogue"));               // the server does not trust it
  Refused(As("rogue", "other"));      // nor it the server
  Refused(As("trainer", "other"));
  const auto [first, second] = RunBoth(addresses_[0], {}, [&](auto &options) {
    As("trainer")(options.security);
  });
  EXPECT_TRUE(first.ok()) << first;
  EXPECT_TRUE(second.ok()) << second;
  EXPECT_TRUE(service_->Wait().ok());
}

TEST_F(ParameterTls, ServerMustHaveTheNameThatIsExpected) {
  Serve("elsewhere");
  Refused(As("trainer"));
  const auto [first, second] = RunBoth(addresses_[0], {}, [&](auto &options) {
    As("trainer")(options.security);
    options.security.server_name = "elsewhere";
  });
  EXPECT_TRUE(first.ok()) << first;
  EXPECT_TRUE(second.ok()) << second;
}

}  // namespace
}  // namespace commsched::transport
