// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tests/conformance/conformance.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>

#include "absl/strings/str_cat.h"

namespace commsched::conformance {

using runtime::Clock;
using runtime::MutexLock;

namespace {
// Only ends a hang.
constexpr auto kPatience = std::chrono::seconds(120);
}  // namespace

Transport::Done Result::done() const {
  return [state = state_](absl::Status status) {
    MutexLock lock(&state->mu);
    EXPECT_EQ(++state->calls, 1) << "done was called more than once";
    state->status = std::move(status);
    state->changed.SignalAll();
  };
}

absl::Status Result::Wait() const {
  const auto deadline = Clock::now() + kPatience;
  MutexLock lock(&state_->mu);
  while (state_->calls == 0)
    if (state_->changed.WaitUntil(&state_->mu, deadline))
      return absl::DeadlineExceededError("the test has waited long enough");
  return state_->status;
}

bool Result::ready() const {
  MutexLock lock(&state_->mu);
  return state_->calls > 0;
}

std::function<void(int, const absl::Status &)> Failures::callback() {
  return [this](int peer, const absl::Status &why) {
    MutexLock lock(&mu_);
    all_.emplace_back(peer, why);
    changed_.SignalAll();
  };
}

std::vector<std::pair<int, absl::Status>> Failures::WaitForOne() {
  const auto deadline = Clock::now() + kPatience;
  MutexLock lock(&mu_);
  while (all_.empty())
    if (changed_.WaitUntil(&mu_, deadline)) break;
  return all_;
}

std::vector<std::pair<int, absl::Status>> Failures::Now() {
  MutexLock lock(&mu_);
  return all_;
}

std::vector<std::byte> Pattern(size_t size, uint64_t seed) {
  std::vector<std::byte> bytes(size);
  uint64_t word = seed * 0x9e3779b97f4a7c15u + 1;
  for (size_t i = 0; i < size; ++i) {
    if (i % 8 == 0) word = word * 6364136223846793005u + 1442695040888963407u;
    bytes[i] = static_cast<std::byte>(word >> (8 * (i % 8)));
  }
  return bytes;
}

std::vector<std::string> LoopbackAddresses(int nodes) {
  std::vector<int> sockets;
  std::vector<std::string> addresses;
  for (int i = 0; i < nodes; ++i) {
    sockets.push_back(socket(AF_INET, SOCK_STREAM, 0));
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    EXPECT_EQ(
        bind(sockets.back(), reinterpret_cast<sockaddr *>(&address), size), 0);
    EXPECT_EQ(getsockname(sockets.back(),
                          reinterpret_cast<sockaddr *>(&address), &size),
              0);
    addresses.push_back(absl::StrCat("127.0.0.1:", ntohs(address.sin_port)));
  }
  for (int socket : sockets) close(socket);
  return addresses;
}

std::vector<absl::StatusOr<std::unique_ptr<Transport>>> ConnectAll(
    const Kind::Connect &connect, std::vector<TransportOptions> options) {
  std::vector<absl::StatusOr<std::unique_ptr<Transport>>> results;
  for (size_t i = 0; i < options.size(); ++i)
    results.emplace_back(absl::UnknownError("not connected"));
  std::vector<std::thread> threads;
  for (size_t i = 0; i < options.size(); ++i)
    threads.emplace_back(
        [&, i] { results[i] = connect(std::move(options[i])); });
  for (std::thread &thread : threads) thread.join();
  return results;
}

void ConformanceTest::Start(int nodes, size_t unexpected_bytes) {
  std::vector<TransportOptions> options(nodes);
  for (int rank = 0; rank < nodes; ++rank) {
    failures_.push_back(std::make_unique<Failures>());
    options[rank].rank = rank;
    options[rank].nodes = nodes;
    options[rank].plan_digest = 7;
    options[rank].unexpected_bytes = unexpected_bytes;
    options[rank].on_peer_failure = failures_.back()->callback();
  }
  for (auto &result :
       ConnectAll(GetParam().new_cluster(nodes), std::move(options))) {
    ASSERT_TRUE(result.ok()) << result.status();
    ranks_.push_back(*std::move(result));
  }
}

Result ConformanceTest::Send(int from, int to, MessageTag tag,
                             absl::Span<const std::byte> bytes,
                             int32_t priority) {
  Result result;
  ranks_[from]->Send(to, tag, priority, bytes, result.done());
  return result;
}

Result ConformanceTest::Recv(int to, int from, MessageTag tag,
                             absl::Span<std::byte> buffer) {
  Result result;
  ranks_[to]->Recv(from, tag, buffer, result.done());
  return result;
}

}  // namespace commsched::conformance
