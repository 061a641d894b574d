// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The scheduling problem of a step of level 1: its costs, who makes what is
// communicated, and who waits for it. docs/schedule-comm.md says what is left out.

#ifndef COMMSCHED_PASSES_SCHEDULE_STEPPROBLEM_H
#define COMMSCHED_PASSES_SCHEDULE_STEPPROBLEM_H

#include "passes/schedule/ServerBlocks.h"
#include "passes/schedule/solver/Problem.h"
#include "passes/schedule/solver/Schedule.h"
#include "passes/support/HostCopies.h"

#include <optional>
#include <string>

namespace commsched {

struct StepProblem {
  /// The ops that one communication of the problem stands for.
  struct Part {
    mlir::Operation *op = nullptr;   ///< a collective, a send, a recv, of rows
    mlir::Operation *pull = nullptr; ///< the recv, if `op` is the send to it
    int64_t unit = 1;                ///< bytes that a cut keeps together
    /// How many times its bytes are on the wire in the first stage: those of all
    /// trainers, where a server's link is what limits.
    int64_t copies = 1;
    const ServerBlock *block = nullptr; ///< if it may be cut, or share messages
    int64_t ranks = 1;                  ///< that take part
    /// Of its stages, those that messages between nodes, and with servers, go through;
    /// others are copies between devices, or with the host (DeviceCopies.h, StagingCopies.h).
    unsigned firstStage = 0, lastStage = 0;
    /// Ops of the problem that copy to the host and from it, where these copies are in line.
    std::optional<unsigned> copyBefore = {}, copyBehind = {};
  };
  /// What a copy between a device and the host takes.
  struct HostEngine {
    schedule::Link link;
    schedule::Time latency;
    schedule::Time timeOf(int64_t bytes) const { return latency + schedule::transferTime(link, bytes); }
  };

  schedule::Problem problem;
  std::vector<cs::FragmentOp> fragments; ///< by op; null for what is none
  std::vector<Part> parts;               ///< by communication
  /// Fragments that wait for communication nobody waits for in this step: ops of
  /// the next step in the problem.
  std::vector<cs::FragmentOp> late;
  std::shared_ptr<const ServerBlocks> blocks; ///< of the parts; may be null
  int64_t rounds = 1;                         ///< of half an all-reduce over all nodes
  std::string algorithm;                      ///< of collectives
  cs::LinkAttr inter;
  std::optional<HostEngine> hostEngine; ///< where copies are in line
  /// Of what a message carries; all its pieces go the same way.
  const Part &partOf(const schedule::Message &message) const;
  /// Whether an all-reduce like this one is in rounds that have no second half, and so no
  /// priority for it, if its message has so many bytes.
  bool hasOnePriority(const Part &part, int64_t bytes) const;
};

/// What may be done with blocks of parameter servers.
struct BlockFreedom {
  bool cut = false;
  bool fuse = false; ///< those of one server, where a message costs more than a copy
};

/// Requires that the step has something to communicate, between nodes or with
/// servers. `algorithm`: of collectives, as for --expand-collectives. `parts`: what shares an
/// all-reduce is read part by part.
StepProblem buildStepProblem(const StepCommunications &communications,
                             cs::ClusterOp cluster, llvm::StringRef algorithm,
                             BlockFreedom blocks, bool parts = false,
                             HostCopies hostCopies = HostCopies::none);

/// What one rank does for a collective: bytes on the wire of the busiest, and
/// messages one after the other.
struct CollectiveCost {
  int64_t bytes;
  int64_t rounds;
  int64_t tail = 0;           ///< of an all-gather: bytes of its last round
  int64_t avoidableBytes = 0; ///< that no direction of the link of one rank carries
};
/// What a collective cannot do without: so many of its messages, and latencies.
struct CollectiveLeast {
  int64_t rounds;
  int64_t latencies;
};
/// One half of an all-reduce of `bytes` bytes: reduce-scatter, or all-gather. The
/// ring, or recursive halving and doubling where that is chosen.
CollectiveCost halfOfAllReduce(llvm::StringRef algorithm, int64_t ranks,
                               int64_t bytes);

} // namespace commsched

#endif // COMMSCHED_PASSES_SCHEDULE_STEPPROBLEM_H
