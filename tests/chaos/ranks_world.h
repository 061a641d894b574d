// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A job of ranks as its machines alone (core::Calls, Exchange, LinkQueue, Matcher,
// PacketQueue, Greeting, LinkEnd, PlanChange) on a virtual clock, over connections that delay,
// and that break in the middle of what is on its way; ranks that are killed and stopped, and
// strangers that call them. A
// connection is not made again: then every rank that lives ends, with an error that says
// why. On the way ranks change from one plan to another.
#ifndef COMMSCHED_TESTS_CHAOS_RANKS_WORLD_H
#define COMMSCHED_TESTS_CHAOS_RANKS_WORLD_H

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "plan/packet_queue.h"
#include "runtime/base/stall_clock.h"
#include "runtime/core/calls.h"
#include "runtime/core/exchange.h"
#include "runtime/core/greeting.h"
#include "runtime/core/link_end.h"
#include "runtime/core/link_queue.h"
#include "runtime/core/matcher.h"
#include "runtime/core/plan_change.h"
#include "tests/chaos/ranks_case.h"
#include "tests/chaos/world.h"

namespace commsched::runtime::core {

class RanksWorld : public World {
 public:
  static constexpr Time kDeadline = 30 * kSecond;
  // A process that does not answer for so long is taken for lost, at most twice as long.
  static constexpr Time kKeepalive = 10 * kSecond;

  RanksWorld(const RanksCase &ranks, uint64_t seed);

  // Faults, at a time.
  void BreakConnection(Time at, int rank, int peer);
  void KillRank(Time at, int rank);
  void StopRank(Time at, int rank, Time length);
  void HangRank(Time at, int rank);  // its code never ends; it hears and answers
  // Somebody calls `rank` with what no rank of this job says.
  void CallRank(Time at, int rank, const Greeting &stranger);
  // What rank `from` says to another.
  Greeting GreetingOf(int from, int to) const;

  // Rank 0 wants `plan` in the place of the one that runs; rank `refuses`, if there is one,
  // cannot prepare it.
  void ChangePlan(Time at, size_t plan, int refuses);

  // What is wrong with what happened: empty if nothing. After Run. Every rank that lives
  // must have ended, in time; well only with the right values, having changed plans with the
  // same calls as the others; without a fault that ends the job, all of them well. If one
  // was killed after all had joined, and nothing else happened, every error names it.
  std::string Wrong() const;
  bool failed() const;
  size_t changes() const;                              // of plans, of rank 0
  size_t early_parts() const { return early_parts_; }  // used before all of their message was there

 private:
  struct Slice;
  struct Rank;

  // --- The transport of a rank (transport_of_world.cc)
  struct Receive {
    Slice *slice = nullptr;
    Place place;
    Round round;
    bool staged = false;
    size_t taken = 0;  // elements
  };
  using RankMatcher = Matcher<Slice *, Receive, Tensor>;
  struct Data {
    MessageTag tag;
    size_t total = 0, offset = 0;  // bytes
    Tensor values;
  };
  struct Hello {
    Greeting greeting;
  };
  struct Goodbye {};
  struct Abort {
    absl::Status why;
  };
  struct Closed {};
  // What is said of another plan. In the runtime these are messages in a lane of their own.
  struct Word {
    PlanMessage message;
    size_t plan = 0;  // of kPrepare
    int refuses = -1;
  };
  using Frame = std::variant<Hello, Data, Control, Word, Goodbye, Abort, Closed>;
  using Packet = std::vector<Frame>;
  // One end of a connection; also what is on its way to it.
  struct End {
    End(int peer, MessageLimits limits);
    RankMatcher matcher;
    LinkEnd end;
    Controls controls;
    std::vector<Frame> frames;  // to be written
    plan::PacketQueue<MessageTag, Slice *, size_t> packets;
    std::vector<Slice *> in_last_packet;
    bool open = false, writing = false, last_written = false;
    bool ended = false;  // this side of the stream
    bool closed = false;
    Time arrives = 0;            // the last packet that is on its way to it
    std::optional<Time> broken;  // what would arrive later is lost
  };
  // Whether they have a connection.
  bool Partner(int rank, int peer) const { return partners_[size_t(rank)].count(peer) != 0; }
  End &end(int rank, int peer) { return ranks_[size_t(rank)].ends[size_t(peer)]; }
  void Dial(int rank, int peer);
  void Deliver(int rank, int peer, const Packet &packet);
  void Open(int rank, int peer);
  void Write(int from, int to, Packet packet);  // onto the wire
  void Pump(int rank, int peer);
  void Written(int rank, int peer);
  void Break(int rank, int peer);
  void Close(int rank, int peer);  // this end, at once
  void Apply(int rank, int peer, const LinkEnd::Outcome &outcome);
  void QueueControls(End *end);
  void Go(End *end, const RankMatcher::Going &going);
  void TakeData(int rank, int peer, const Data &data);
  void TakeControl(int rank, int peer, const Control &control);
  void Store(const Receive &receive, size_t from, const Tensor &values);

  // --- The engine of a rank (rank_of_world.cc)
  struct Slice {
    RanksWorld *world = nullptr;
    int rank = 0;
    Call *call = nullptr;
    uint32_t instruction = 0, number = 0;
    uint64_t sequence = 0, begun = 0;
    uint32_t lane = 0;
    std::shared_ptr<uint32_t> unfinished;
    Exchange exchange;
    Tensor staging;
    // With parts: what is sent, joined; what has come is in its place; what of its parts the
    // slice has, and, of all slices, how many lack each part.
    Tensor outgoing;
    bool gathered = false, streamed = false;
    uint32_t released = 0;
    std::shared_ptr<std::vector<uint32_t>> unreleased;

    const CommunicateProgram &program() const;
    uint32_t phases() const;
    uint32_t rounds(uint32_t phase) const;
    Round RoundAt(const Place &at) const;
    MessageTag TagAt(const Place &at) const;
    Posted Receive(const Place &at, const Round &round, bool staged);
    bool Lands(const Round &received, const Round &sent) const { return LandsOn(received, sent); }
    void Send(const Place &at, const Round &round);
    void Take(const Place &at, const Round &round, bool staged);
    void Done();
  };
  struct Rank : Process {
    std::unique_ptr<Calls> calls;
    Calls::Actions actions;
    std::deque<std::unique_ptr<Call>> owned;
    uint64_t next_call = 0, completed = 0;
    std::vector<bool> busy;  // streams
    std::map<uint64_t, std::unique_ptr<Slice>> active;
    uint64_t next_sequence = 0;
    std::map<int, LinkQueue<Slice *, size_t>> queues;  // by peer
    std::deque<End> ends;                              // by peer
    std::vector<Tensor> values, gradients, buffers;    // by parameter
    std::optional<StallClock> stall;
    bool started = false, failed = false, leaving = false, hangs = false;
    Time ended_at = 0;

    // What runs, and what may run next.
    size_t plan = 0;
    uint32_t lane = 0;
    PlanChange change;
    std::optional<std::pair<uint32_t, size_t>> prepared;  // lane and plan
    std::optional<std::pair<uint32_t, size_t>> draining;  // begins after the calls before it
    bool preparing = false;
    Time waits_since = -1;                               // to hear whether its next call is of the new plan
    std::deque<Word> words;                              // that it has not answered yet
    std::vector<std::pair<uint32_t, uint64_t>> changes;  // lanes, and their first calls
  };
  void StartRank(int rank);
  void TryToBegin(int rank);
  void Admit(int rank);
  void Act(int rank);
  void RunStreams(int rank);
  void RunInstruction(int rank, uint32_t stream, Call *call, uint32_t instruction);
  void Complete(int rank, Call *call, uint32_t instruction);
  void Communicate(int rank, Call *call, uint32_t instruction);
  void Gather(Slice *slice, const Place &at);
  void ReleaseBefore(Slice *slice, uint32_t round, size_t bytes);
  Posted Post(Slice *slice, const Place &at, const Round &round, bool staged);
  void Hand(int rank);
  void Sent(int rank, uint64_t sequence, const absl::Status &status);
  void Received(int rank, uint64_t sequence, const absl::Status &status);
  void Look(int rank);
  void Fail(int rank, const absl::Status &why);
  void Leave(int rank);
  void EndRank(int rank);
  const FunctionProgram &ProgramOf(int rank) const;

  // --- The change from one plan to another (plans_of_world.cc)
  void Lead();
  void Answered(int rank, const PlanMessage &answer);
  void Awaits(Time most);
  void GiveUp(const absl::Status &why);
  void ToAll(const PlanMessage &message, size_t plan = 0, int refuses = -1);
  void Hear(int rank);
  void Prepare(int rank, const Word &word);
  void Answer(int rank, const PlanMessage &answer);
  void Drop(int rank);
  bool MayCall(int rank);  // whether its next call may begin; changes the plan

  const RanksCase &case_;
  std::vector<std::set<int>> partners_;  // by rank
  std::deque<Rank> ranks_;
  Time disturbed_ = 0, last_fault_ = 0;  // `last_fault_`: when the last one is over
  std::set<int> killed_;
  bool killed_early_ = false;  // some rank had not joined yet
  int faults_ = 0;
  size_t early_parts_ = 0;
  PlanChangeLeader leader_;
  std::deque<std::pair<size_t, int>> wishes_;  // plans, and who refuses
  std::pair<size_t, int> wish_;
  uint32_t attempt_ = 0, switched_ = 0;  // `switched_`: the last that rank 0 itself was told
};

}  // namespace commsched::runtime::core

#endif  // COMMSCHED_TESTS_CHAOS_RANKS_WORLD_H
