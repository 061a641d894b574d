// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A transport between ranks that have nothing for each other; tests derive what they look at.

#ifndef COMMSCHED_TESTS_RUNTIME_IDLE_TRANSPORT_H
#define COMMSCHED_TESTS_RUNTIME_IDLE_TRANSPORT_H

#include <gtest/gtest.h>

#include "runtime/transport/transport.h"

namespace commsched::runtime {

class IdleTransport : public Transport {
 public:
  explicit IdleTransport(int nodes) : nodes_(nodes) {}

  int rank() const override { return 0; }
  int nodes() const override { return nodes_; }
  const char *name() const override { return "idle"; }
  void Send(int, MessageTag, int32_t, absl::Span<const std::byte>, Done) override { FAIL(); }
  void Recv(int, MessageTag, absl::Span<std::byte>, Done) override { FAIL(); }
  void RecvStream(int, MessageTag, size_t, size_t, Sink, Done) override { FAIL(); }
  void Abort(const absl::Status &) override {}
  void Close(absl::Duration) override {}
  uint64_t bytes_sent() const override { return 0; }
  uint64_t bytes_received() const override { return 0; }

 private:
  const int nodes_;
};

}  // namespace commsched::runtime

#endif  // COMMSCHED_TESTS_RUNTIME_IDLE_TRANSPORT_H
