// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The state of a simulation: the ranks, one for each class, which run the machines
// of runtime/core on a virtual clock, and the parameter servers.
#ifndef COMMSCHED_RUNTIME_SIMULATOR_SIMULATION_H
#define COMMSCHED_RUNTIME_SIMULATOR_SIMULATION_H

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "plan/exclusive.h"
#include "runtime/core/calls.h"
#include "runtime/core/exchange.h"
#include "runtime/core/link_queue.h"
#include "runtime/core/matcher.h"
#include "runtime/core/merged_block.h"
#include "runtime/core/server.h"
#include "runtime/simulator/event_queue.h"
#include "runtime/simulator/model.h"
#include "runtime/simulator/network.h"
#include "runtime/simulator/simulator.h"

namespace commsched::runtime::simulator {

class Simulation final : private Network::Host {
 public:
  // `order` has every communication of a step once: they go in this order, one at a time. Null:
  // each goes when it can. What is passed outlives it.
  Simulation(const Model &model, const SimulationOptions &options,
             const std::vector<uint32_t> *order = nullptr);
  absl::StatusOr<SimulationResult> Run();
  // After a run: the orders in which the communications of rank 0's last step began and ended.
  const std::vector<uint32_t> &began() const { return began_; }
  const std::vector<uint32_t> &ended() const { return ended_; }

 private:
  static constexpr uint64_t kInFlight = core::Calls::kMost;  // calls of a rank
  static constexpr uint64_t kUnlimited = ~uint64_t{0};

  struct Stream {
    uint32_t rank = 0, index = 0;  // of the class, of the stream
    bool busy = false;
    core::Call *call = nullptr;  // what it runs
    uint32_t instruction = 0;
    Time begin = 0;
    Time idle_since = 0;
    double busy_ns = 0, exposed_ns = 0;
    std::string waits_for;  // with a trace
  };
  struct Rank {
    Rank(const std::vector<StreamInfo> &streams, core::MessageLimits limits)
        : calls(streams), matcher(limits) {}
    uint32_t index = 0;
    int rank = 0;
    uint64_t next_call = 0, retired = 0;
    core::Calls calls;
    std::array<core::Call, kInFlight> of_calls;  // by number
    std::vector<uint32_t> streams;
    uint32_t up = 0, down = 0;                    // resources
    absl::flat_hash_map<int, uint32_t> channels;  // by peer
    uint64_t next_sequence = 0;
    plan::Exclusives exclusives;         // by Communication::sequence
    std::optional<plan::Urgency> least;  // that its channels were told
    Time looks_again = -1;               // when its event comes; -1: it has none
    // Of communications in one order: those that may begin, by call and communication; how many
    // have begun; whether one is under way.
    std::vector<bool> waits_its_turn;
    uint64_t turns = 0;
    bool in_turn = false;
    // In which those of each call began and ended.
    std::array<std::vector<uint32_t>, kInFlight> began, ended;
    Time engine_free = 0;
    // Of all its connections: a tag is that of one message to it and one of it.
    core::Matcher<uint32_t, uint32_t, std::monostate> matcher;
    bool dirty = false;
    // Of the step: when it retired, and the sums until then.
    std::vector<Time> retired_at;
    std::vector<std::pair<double, double>> sums;  // compute, exposed; of stream 0
  };
  // What a rank does in a fixed shape.
  struct Moves {
    bool known = false;
    Transfer send, receive;
    uint32_t to = kNone, from = kNone;  // channels: to the peers
    // Of a shape that turns: what is received does not land on what is sent, in the
    // same round, or in the one before.
    bool apart = false, apart_before = false;
  };
  // What a slice does in a round, as runtime::Round; bytes may be mean sizes.
  struct Round {
    uint32_t index = kNone;  // over all phases
    uint32_t phase = 0, round = 0;
    const Moves *moves = nullptr;  // of a shape that turns
    int send_peer = -1, recv_peer = -1;
    double send_begin = 0, recv_begin = 0;  // not of a shape that turns
    double send_bytes = 0, recv_bytes = 0;
    uint32_t to = kNone, from = kNone;  // channels: to the peers
  };
  // A slice of a Communicate of a call.
  struct Communication {
    uint32_t rank = 0, index = 0, slice = 0;  // the same for all calls
    core::Exchange exchange;
    Round rounds[2];          // those that it is in: by parity, as they are neighbours
    uint32_t unfinished = 0;  // of the first slice: how many are
    // Of the first slice, by part: slices that have not released it.
    std::vector<uint32_t> unreleased;
    uint32_t released = 0;  // of its part ends, from the front
    bool tells = false;     // what it receives now is released as it comes
    bool active = false;
    uint64_t sequence = 0;
    uint64_t call = 0;
    Time send_begin = 0, recv_begin = 0;
  };
  struct Slice;  // what moves it on
  // Sends that have not been handed to the transport: communications.
  struct Link {
    core::LinkQueue<uint32_t, double> queue;
    bool dirty = false, timer = false;
  };
  // Of a trainer of half-asynchronous servers, for a block.
  struct Merged {
    core::MergedBlock machine;
    std::vector<uint32_t> later;  // pulls that ask again
  };
  struct Server {
    std::unique_ptr<core::Server> machine;
    std::vector<Merged> merged;  // of the trainers: by class and block
    uint32_t up = 0, down = 0;
    Time free = 0;                                // when all that has begun has ended
    std::deque<Time> begins;                      // of what has begun
    absl::flat_hash_map<int, uint32_t> channels;  // to classes of trainers
    double busy_ns = 0;
  };

  // simulation.cc
  void Fail(absl::Status status) {
    if (status_.ok()) status_ = std::move(status);
  }
  void Handle(const Event &event);
  void Settle();
  bool Steady();
  SimulationResult Result();
  absl::Status Stuck();
  void Trace(int rank, TraceSpan::Track track, int peer, const std::string &name,
             const char *category, uint64_t call, double bytes, Time begin, Time end);
  const InstructionProgram &InstructionOf(uint32_t index) const {
    return model_.step->instructions[index];
  }

  // simulation_streams.cc
  void Admit(Rank *rank);
  void Act(Rank *rank);  // does what its calls want to be done
  void Complete(Rank *rank, uint64_t call, uint32_t instruction);
  void Retire(Rank *rank);
  void StartStreams(Rank *rank);
  void EndInstruction(Stream *stream);
  void MarkDirty(Rank *rank);

  // simulation_exchange.cc
  // Of the first slice; the others follow.
  size_t SlotOf(const Rank &rank, uint64_t call, uint32_t communication) const {
    return (size_t(rank.index) * kInFlight + size_t(call % kInFlight)) *
               model_.slices.size() +
           model_.communications[communication].first_slice;
  }
  Rank *RankOf(size_t slot) { return &ranks_[communications_[slot].rank]; }
  uint32_t CommunicationOf(size_t slot) const { return communications_[slot].index; }
  uint32_t SliceOf(size_t slot) const { return communications_[slot].slice; }
  // Of a slice's message in a round; as in the tag of a message.
  uint32_t TagOf(size_t slot, const core::Place &at) const {
    return at.index * model_.communications[CommunicationOf(slot)].slices + SliceOf(slot);
  }
  // Its dependences are met.
  void Ready(Rank *rank, uint64_t call, uint32_t communication);
  void TakeTurn(Rank *rank);
  void BeginCommunication(Rank *rank, uint64_t call, uint32_t communication);
  void EndCommunication(Rank *rank, uint64_t call, uint32_t communication);
  // By the engine, which may take its time: begins the slice or ends its receive.
  void LetEngine(Rank *rank, size_t slot, bool begins);
  void Move(size_t slot, bool begins);
  const Round &RoundAt(size_t slot, const core::Place &at);
  bool Lands(size_t slot, const Round &received, const Round &sent);
  bool FindMoves(Rank *rank, uint32_t shape, int64_t round, Moves *moves);
  // Where the transfer begins and ends in the tensor.
  std::pair<double, double> RangeOf(const ModelCommunication &c, const ExchangeShape &shape,
                                    const Transfer &transfer, uint32_t slice) const;
  uint32_t ChannelTo(Rank *rank, int peer);
  // Has its channels hold back what exclusive exchanges have it hold back now.
  void HoldBack(Rank *rank);
  void Pump(uint32_t channel);
  void HandOver(uint32_t channel, uint32_t slot);
  void Deliver(uint32_t message);
  void TakeData(Rank *rank, const Message &message);
  void TakeGrant(Rank *rank, const Message &message);

  // simulation_nccl.cc
  // A rank has come to it; it begins, if all have and it is its turn; it ends.
  void MeetNccl(uint64_t call, uint32_t communication);
  void BeginNccl();
  void EndNccl(uint32_t communication);

  // simulation_parts.cc
  bool HasParts(const ModelCommunication &c) const {
    return c.parts.size() > 1 && !model_.mean_sizes;
  }
  const std::vector<PartEnd<double>> &PartEndsOf(size_t slot);
  // Before the slices begin.
  void BeginParts(size_t first);
  // Those of the rounds before `round`, and of `bytes` of what it receives.
  void Release(size_t slot, uint32_t round, double bytes);
  void TakeProgress(const Progress &progress);

  void Accepted(const Message &message) override;
  MessageTag TagOf(const Message &message) const {
    return {message.call, model_.communications[message.communication].key_id, 0,
            message.round};
  }

  // simulation_servers.cc
  void BeginServerMessage(Rank *rank, uint64_t call, uint32_t instruction);
  void TakeServerMessage(const Message &message);
  void TakePull(int server, uint32_t block, uint32_t pending);
  void TakePullReply(const Message &message);
  void AcceptedPush(const Message &message);
  int Sharing() const;
  uint32_t ServerChannel(Rank *rank, int server);
  // Null if nothing is merged.
  Merged *MergedOf(uint32_t rank, const ServerMessageProgram &message);
  // Whether the trainer needs no message for it, now.
  bool IsMerged(uint32_t pending);
  void SendToServer(uint32_t pending);
  uint32_t ReplyChannel(int server, uint32_t rank);
  void Reply(int server, uint32_t block, uint32_t rank, uint32_t pending);
  void StartServer(int server);
  void EndServerJob(int server);

  const Model &model_;
  const SimulationOptions &options_;
  const std::vector<uint32_t> *const order_;
  std::vector<uint32_t> began_, ended_;
  EventQueue events_;
  Network network_;
  Time now_ = 0;
  absl::Status status_;
  uint64_t calls_ = kUnlimited;
  size_t in_flight_done_ = 0;  // steps that are complete everywhere
  size_t period_ = 0;          // in steps; 0: none was found
  std::vector<Rank> ranks_;
  std::vector<Stream> streams_;
  std::vector<Communication> communications_;
  std::vector<Moves> moves_;                             // by rank and shape
  std::vector<std::vector<PartEnd<double>>> part_ends_;  // by rank and slice; empty: not known
  std::vector<Link> links_;                              // by channel
  std::vector<Server> servers_;
  std::vector<int> first_trainer_;  // of servers' machines, by class
  std::vector<uint32_t> dirty_ranks_, dirty_links_, settling_;
  core::Calls::Actions actions_;
  core::Controls controls_;
  // Of servers' messages: instruction and begin, by call.
  struct ServerMessage {
    uint32_t rank = 0, instruction = 0;
    uint64_t call = 0;
    Time begin = 0;
  };
  std::vector<ServerMessage> pending_;
  std::vector<uint32_t> free_pending_;
  using PushKey = std::tuple<uint32_t, uint32_t, uint32_t, uint64_t>;  // class of trainers, server, block, call
  // Small pushes that are on their way, with the pull that goes with them; kNone: none yet.
  absl::flat_hash_map<PushKey, uint32_t> pushed_;
  // Of NCCL: how many ranks have come to each collective, by call and number; how many have
  // begun, and since when one is under way (-1: none).
  std::array<std::vector<uint32_t>, kInFlight> nccl_met_;
  uint64_t nccl_begun_ = 0;
  Time nccl_since_ = -1;
  std::vector<Time> ends_;           // by step, everywhere
  std::vector<uint32_t> left_;       // by step: ranks that have not retired it
  std::vector<double> first_bytes_;  // of resources, when the first step ended
  uint64_t messages_ = 0, events_handled_ = 0;
};

}  // namespace commsched::runtime::simulator

#endif  // COMMSCHED_RUNTIME_SIMULATOR_SIMULATION_H
