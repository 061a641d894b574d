// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef COMMSCHED_RUNTIME_SESSION_CONNECTED_STOP_H
#define COMMSCHED_RUNTIME_SESSION_CONNECTED_STOP_H

#include <functional>
#include <memory>

#include "absl/status/status.h"
#include "runtime/session/stop_point.h"
#include "runtime/transport/transport.h"

namespace commsched::runtime {

// Of ranks that a transport connects: core::StopAgreement over its messages. Whoever is
// asked to stop, all end with the same step.
class ConnectedStop : public StopPoint {
 public:
  ConnectedStop();
  ~ConnectedStop() override;
  // Changes what the transport is to be connected with: whom this rank talks to besides,
  // and on_peer_failure, which does not hear any more that a peer has closed in good order,
  // as a message is always awaited of it. What else is awaited then fails by itself.
  static void Prepare(TransportOptions *options);
  // Once, before the first step; `transport` stays open until Detach. Without it, the
  // rank needs no other.
  void Attach(Transport *transport);
  // No message is sent after it.
  void Detach();

  bool Begin(uint64_t step) override;
  void Request(int reason) override;
  int reason() const override;

 private:
  struct State;
  const std::shared_ptr<State> state_;
};

}  // namespace commsched::runtime

#endif  // COMMSCHED_RUNTIME_SESSION_CONNECTED_STOP_H
