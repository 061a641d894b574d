// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The conformance suite of transports: what runtime/transport/transport.h promises,
// tested on every implementation. To add one, write a program like
// in_process_test.cc: a Kind, and INSTANTIATE_TEST_SUITE_P with it.
#ifndef COMMSCHED_TESTS_CONFORMANCE_CONFORMANCE_H
#define COMMSCHED_TESTS_CONFORMANCE_CONFORMANCE_H

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/base/sync.h"
#include "runtime/transport/transport.h"

namespace commsched::conformance {

using runtime::MessageTag;
using runtime::Transport;
using runtime::TransportOptions;

// One kind of transport, as a gtest parameter.
struct Kind {
  using Connect = std::function<absl::StatusOr<std::unique_ptr<Transport>>(
      TransportOptions options)>;
  std::string name;
  // Prepares a cluster of this many nodes. The function that it returns is
  // called once for each rank that takes part, each from a thread of its own;
  // it fills in the addresses.
  std::function<Connect(int nodes)> new_cluster;
  // All ranks share an object that knows the number of nodes.
  bool one_size = false;
  // Messages of so many bytes and more wait where they are held back.
  size_t holds_from = ~size_t{0};

  friend void PrintTo(const Kind &kind, std::ostream *out) {
    *out << kind.name;
  }
};

// The end of one operation. Copies refer to the same operation.
class Result {
 public:
  Result() : state_(std::make_shared<State>()) {}
  // To be passed to one operation.
  Transport::Done done() const;
  // Waits; a result that does not come is a kDeadlineExceeded of the test.
  absl::Status Wait() const;
  bool ready() const;

 private:
  struct State {
    runtime::Mutex mu;
    runtime::CondVar changed;
    int calls ABSL_GUARDED_BY(mu) = 0;
    absl::Status status ABSL_GUARDED_BY(mu);
  };
  std::shared_ptr<State> state_;
};

// The peers that were reported as failed.
class Failures {
 public:
  std::function<void(int, const absl::Status &)> callback();
  // Waits until there is at least one.
  std::vector<std::pair<int, absl::Status>> WaitForOne();
  std::vector<std::pair<int, absl::Status>> Now();

 private:
  runtime::Mutex mu_;
  runtime::CondVar changed_;
  std::vector<std::pair<int, absl::Status>> all_ ABSL_GUARDED_BY(mu_);
};

// Bytes that depend on the position and on `seed`.
std::vector<std::byte> Pattern(size_t size, uint64_t seed);

// 127.0.0.1 with ports that were free just now.
std::vector<std::string> LoopbackAddresses(int nodes);

// Connects ranks [0, options.size()) at the same time; options[i].rank and
// .nodes as given.
std::vector<absl::StatusOr<std::unique_ptr<Transport>>> ConnectAll(
    const Kind::Connect &connect, std::vector<TransportOptions> options);

class ConformanceTest : public ::testing::TestWithParam<Kind> {
 protected:
  // `nodes` connected ranks, or a test failure and an empty vector.
  void Start(int nodes, size_t unexpected_bytes = size_t{8} << 20);

  Result Send(int from, int to, MessageTag tag,
              absl::Span<const std::byte> bytes, int32_t priority = 0);
  Result Recv(int to, int from, MessageTag tag, absl::Span<std::byte> buffer);

  std::vector<std::unique_ptr<Failures>> failures_;  // outlive the transports
  std::vector<std::unique_ptr<Transport>> ranks_;
};

}  // namespace commsched::conformance

#endif  // COMMSCHED_TESTS_CONFORMANCE_CONFORMANCE_H
