// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The scheduling problem: one training step, as compute and communication of one
// node with their costs, repeated for ever. Plain data, no MLIR.
// docs/scheduling.md has the model, and why it is this one.

#ifndef COMMSCHED_PASSES_SCHEDULE_SOLVER_PROBLEM_H
#define COMMSCHED_PASSES_SCHEDULE_SOLVER_PROBLEM_H

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace commsched::schedule {

using Time = int64_t; ///< nanoseconds

/// What sends one byte after the other, in one direction. A half-duplex medium
/// is one link for both directions.
struct Link {
  std::string name;
  int64_t bytesPerSecond = 0; ///< positive
  /// Whether the credit of a message is free again when its last byte is sent; else
  /// it is when the message is complete, as with acknowledgements.
  bool creditUntilSent = false;
  /// What it is given goes in packets of so many bytes, the most urgent of it first (Connections.h). 0: whole,
  /// in the order in which it was given.
  int64_t packetBytes = 0;
  /// With packets: so many bytes have been taken before they are sent, and are not overtaken.
  int64_t aheadBytes = 0;
  /// A stage on it is so many rounds, each with another peer, in halves of what is left or, a
  /// communication's second one, backwards. What goes to different peers is in no order, and shares
  /// the link (Connections.h).
  unsigned peers = 1;
  /// With several of them, packets or `rounds`: of a communication with two stages on the link, one behind the other, a message of up to so
  /// many bytes of tensors is sent whole in each round of the first stage, or with `rounds` in as many as recursive doubling has, and is there then.
  int64_t onceBytes = 0;
  /// A stage on it is so many rounds with one peer, each with an equal part: what is more urgent goes before the next one, packet
  /// by packet (Connections.h). With packets one is a round too, between two ranks.
  unsigned rounds = 1;
  /// What goes through different connections (Communication::connection) is in no order, and shares the
  /// link: of a communication's first such stage whole, the most urgent first, of others in packets of
  /// `packetBytes` (Connections.h).
  bool byConnection = false;
  bool operator==(const Link &) const = default;
};

/// Compute that cannot be interrupted, on a stream that runs one op at a time.
struct Op {
  std::string name;
  unsigned stream = 0;
  Time duration = 0;           ///< not negative
  std::vector<unsigned> after; ///< ops of the same step that must be done
  int64_t extraBytes = 0;      ///< from its start until all ops after it run
  /// Of its duration, what it loses to communication, which has a part of the stream's
  /// processor. In another schedule other ops of the stream may lose it, but a step loses
  /// no less in all. Of a copy in line all of it: what shares it out among messages is the schedule.
  Time shared = 0;
  /// A run may do it at any moment between what it waits for and what waits for it. Schedules are
  /// judged with it where the order has it, the bound of an order holds wherever it is.
  bool deferred = false;
  /// Of its duration, what a run may not take, as where it was shorter when it was measured. Schedules are judged with all of
  /// it, bounds with none.
  Time avoidable = 0;
  bool operator==(const Op &) const = default;
};

/// What every message of a communication does on a link: it occupies the link for
/// `overhead` and its bytes, and is complete `latency` after that, while the link
/// goes on with others. Then what it brings is worked on, as by a server's update, each message
/// its share: it is complete when that is done.
struct Stage {
  unsigned link = 0;
  int64_t bytes = 0; ///< on the wire, of the whole communication; not negative
  Time overhead = 0; ///< per message, not negative
  Time latency = 0;  ///< per message, not negative
  Time update = 0;   ///< of the whole communication, not negative
  /// Of overhead and latency, what a message may not cost in a run, as where a link that
  /// is busy hides it. Schedules are judged with all of it, bounds with none.
  Time avoidableOverhead = 0, avoidableLatency = 0;
  /// And of the bytes, what another node carries instead of the one that is waited for.
  int64_t avoidableBytes = 0;
  /// And of the update.
  Time avoidableUpdate = 0;
  bool operator==(const Stage &) const = default;
};

/// An op that waits for a communication: of the same step (distance 0) or of the
/// next one (1).
struct Consumer {
  unsigned op = 0;
  unsigned distance = 0;
  bool operator==(const Consumer &) const = default;
};

/// The communication of one tensor. A message is a part of it, or parts of
/// several: bytes in the order of the tensor, which go through the stages one
/// after the other (a message of part of the tensor has that part of each stage).
struct Communication {
  std::string name;
  int64_t bytes = 0;               ///< of the tensor, positive: what parts are counted in
  std::vector<unsigned> producers; ///< ops of the same step, at least one
  std::vector<Consumer> consumers; ///< may be empty: see Problem
  std::vector<Stage> stages;       ///< at least one
  bool divisible = true;
  /// Communications with the same number may share messages; they have stages on
  /// the same links with the same costs per message.
  unsigned kind = 0;
  /// Of the last stage's bytes, those in which the pieces of a message come to their end, one
  /// after the other. 0: all of a message is there at its end.
  int64_t tail = 0;
  /// What it goes through, of connections that share links, as of a trainer to its servers; the same for a
  /// kind. 0: none of them. Of messages of one step that are as urgent as each other, a link that has several
  /// sends those of each at one pace, as connections that send have equal parts of it: next is that of which
  /// fewer bytes of tensors are before it on its connection, in the order of the schedule.
  unsigned connection = 0;
  bool operator==(const Communication &) const = default;
};

/// Every step runs every op and communication once. A step starts on a stream when
/// the step before has been run there, and the step two before it is complete, with
/// all its ops and communications, everywhere.
struct Problem {
  std::string name;
  std::vector<Link> links;
  unsigned streams = 1;
  /// In program order: what an op waits for of its own step is made before it.
  std::vector<Op> ops;
  std::vector<Communication> communications;
  /// Bytes that a schedule may hold more than the program order does; none: any.
  std::optional<int64_t> memoryLimit;
  /// Nodes do not wait for each other, as trainers of asynchronous servers, and each sends what is here in one of so
  /// many steps. None: they are in step. Schedules are judged as if they were, in each step; bounds are of any run.
  std::optional<int64_t> stepsApart = {};
  bool operator==(const Problem &) const = default;
};

/// The times of everything that a step does are less than this together, so that many
/// steps of them fit into Time.
constexpr Time kMaxStepTime = INT64_MAX / 4096;

/// Time that `bytes` need on the link, rounded up.
Time transferTime(const Link &link, int64_t bytes);

/// The part of a stage's bytes that belongs to bytes [begin, end) of the tensor:
/// parts that cover the tensor have exactly the bytes of the stage together.
int64_t stageBytes(const Communication &communication, const Stage &stage,
                   int64_t begin, int64_t end);

/// The part of `update`, of a whole of `bytes`, that belongs to `part` of them: rounded up, so
/// that no part is free.
Time updateShare(Time update, int64_t part, int64_t bytes);

/// Of a problem in which what follows a link takes as long for every message of a kind: no
/// message is complete earlier in it.
Problem withLeastUpdates(Problem problem);

/// What is wrong with a problem, or nothing: the text names the op, link or
/// communication. Everything else that takes a problem requires this.
std::optional<std::string> check(const Problem &problem);

} // namespace commsched::schedule

#endif // COMMSCHED_PASSES_SCHEDULE_SOLVER_PROBLEM_H
