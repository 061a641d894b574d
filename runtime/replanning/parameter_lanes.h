// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A trainer's connection to its parameter servers for several plans, one after the other.
// The servers go on as they are: plans have the same blocks.
#ifndef COMMSCHED_RUNTIME_REPLANNING_PARAMETER_LANES_H
#define COMMSCHED_RUNTIME_REPLANNING_PARAMETER_LANES_H

#include <memory>

#include "runtime/program/server_program.h"
#include "runtime/transport/parameter_client.h"

namespace commsched::runtime {

// Thread-safe. Shared by its lanes; the client is closed with the last.
class ParameterLanes : public std::enable_shared_from_this<ParameterLanes> {
 public:
  // A lane is made idle: Abort and Close of it are of no effect then. That of the plan
  // which runs is live: they are those of the client, and messages go as the plan orders
  // them. One that is over is idle again, and has nothing under way.
  class Lane : public ParameterClient {
   public:
    virtual void SetLive(bool live) = 0;
  };

  explicit ParameterLanes(std::unique_ptr<ParameterClient> client) : client_(std::move(client)) {}

  // Of a plan that orders its messages so.
  std::unique_ptr<Lane> Open(ServerOrder order);
  // Ends the client, with all lanes.
  void Abort(const absl::Status &why) { client_->Abort(why); }

 private:
  class LaneImpl;

  const std::unique_ptr<ParameterClient> client_;
};

}  // namespace commsched::runtime

#endif  // COMMSCHED_RUNTIME_REPLANNING_PARAMETER_LANES_H
