// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a rank says first on a connection, to somebody who knows HTTP/2 only: how much may be
// under way to it. With the 64 KiB of one that says nothing, each packet waits until it is known
// that the one before has come.
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cstdint>
#include <string>
#include <thread>

#include "absl/strings/numbers.h"
#include "grpc/ranks/grpc_transport.h"
#include "tests/conformance/conformance.h"

namespace commsched::transport::window_test {
namespace {

constexpr int64_t kLeast = int64_t{4} << 20;
constexpr char kPreface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
constexpr size_t kFrameHeader = 9, kSettingBytes = 6;
constexpr uint8_t kSettings = 4, kWindowUpdate = 8;
constexpr uint16_t kInitialWindow = 4;

class Socket {
 public:
  explicit Socket(int fd) : fd_(fd) {
    const timeval patience{.tv_sec = 30, .tv_usec = 0};
    setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  }
  ~Socket() { close(fd_); }
  int fd() const { return fd_; }
  // Empty if they do not come.
  std::string Read(size_t bytes) {
    std::string got(bytes, '\0');
    return recv(fd_, got.data(), bytes, MSG_WAITALL) == ssize_t(bytes) ? got : "";
  }
  void Write(const std::string &bytes) { (void)!send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL); }

 private:
  const int fd_;
};

int64_t Number(const std::string &bytes, size_t at, size_t size) {
  int64_t number = 0;
  for (size_t i = at; i < at + size; ++i) number = number << 8 | uint8_t(bytes[i]);
  return number;
}

struct Windows {
  int64_t connection = 65535, stream = 65535;
};

// By the frames that come until the connection's is there, or none more.
Windows Announced(Socket &socket) {
  Windows windows;
  for (std::string head; windows.connection < kLeast - 1 && !(head = socket.Read(kFrameHeader)).empty();) {
    const size_t bytes = size_t(Number(head, 0, 3));
    const std::string body = bytes == 0 ? "" : socket.Read(bytes);
    if (body.size() != bytes) break;
    if (head[3] == kWindowUpdate && Number(head, 5, 4) == 0) windows.connection += Number(body, 0, 4);
    if (head[3] == kSettings)
      for (size_t at = 0; at + kSettingBytes <= bytes; at += kSettingBytes)
        if (Number(body, at, 2) == kInitialWindow) windows.stream = Number(body, at + 2, 4);
  }
  return windows;
}

class WindowTest : public testing::Test {
 protected:
  // Rank 0 listens, rank 1 dials; nobody joins in the end.
  void Begin(int rank) {
    runtime::TransportOptions options{.rank = rank, .nodes = 2, .peers = addresses_, .connect_deadline = absl::Seconds(3)};
    thread_ = std::thread([options] { EXPECT_FALSE(ConnectGrpc(options).ok()); });
  }
  ~WindowTest() override {
    if (thread_.joinable()) thread_.join();
  }
  sockaddr_in AddressOf(size_t rank) const {
    int port = 0;
    EXPECT_TRUE(absl::SimpleAtoi(addresses_[rank].substr(addresses_[rank].rfind(':') + 1), &port));
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(uint16_t(port));
    return address;
  }
  const std::vector<std::string> addresses_ = conformance::LoopbackAddresses(2);

 private:
  std::thread thread_;
};

TEST_F(WindowTest, OfARankThatListens) {
  Begin(0);
  Socket socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_in address = AddressOf(0);
  const auto until = runtime::Clock::now() + std::chrono::seconds(3);
  while (connect(socket.fd(), reinterpret_cast<const sockaddr *>(&address), sizeof(address)) != 0)
    ASSERT_LT(runtime::Clock::now(), until);
  socket.Write(std::string(kPreface) + std::string("\0\0\0\4\0\0\0\0\0", kFrameHeader));
  const Windows windows = Announced(socket);
  EXPECT_GE(windows.connection, kLeast - 1);
  EXPECT_GE(windows.stream, kLeast - 1);
}

TEST_F(WindowTest, OfARankThatDials) {
  Socket listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_in address = AddressOf(0);
  ASSERT_EQ(bind(listener.fd(), reinterpret_cast<const sockaddr *>(&address), sizeof(address)), 0);
  ASSERT_EQ(listen(listener.fd(), 1), 0);
  Begin(1);
  Socket socket(accept(listener.fd(), nullptr, nullptr));
  ASSERT_GE(socket.fd(), 0);
  EXPECT_EQ(socket.Read(sizeof(kPreface) - 1), kPreface);
  const Windows windows = Announced(socket);
  EXPECT_GE(windows.connection, kLeast - 1);
  EXPECT_GE(windows.stream, kLeast - 1);
}

}  // namespace
}  // namespace commsched::transport::window_test
