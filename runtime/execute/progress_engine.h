// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs the communications of one rank: a state machine per Communicate
// instruction, moved on by the arrival of messages. Any number are in flight;
// what waits for a link goes out in order of priority. Messages to and from
// parameter servers are handed to their client, in the order in which they
// become possible.
#ifndef COMMSCHED_RUNTIME_EXECUTE_PROGRESS_ENGINE_H
#define COMMSCHED_RUNTIME_EXECUTE_PROGRESS_ENGINE_H

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/time/time.h"
#include "plan/exclusive.h"
#include "runtime/base/backoff.h"
#include "runtime/base/memory.h"
#include "runtime/base/stall_clock.h"
#include "runtime/base/sync.h"
#include "runtime/core/exchange.h"
#include "runtime/core/link_queue.h"
#include "runtime/execute/row_exchange.h"
#include "runtime/measure/link_observer.h"
#include "runtime/measure/trace.h"
#include "runtime/program/program.h"
#include "runtime/transport/parameter_client.h"
#include "runtime/transport/transport.h"

namespace commsched::runtime {

// Of a call of `function` that begins when `behind` steps of the job have begun: the step that a
// push to servers is of, the version that a pull gets. A call that is no step sees the values
// after the steps before it; rows that a step pulls are those that it computes with.
inline uint64_t ServerStep(const FunctionProgram &function, const InstructionProgram &instruction,
                           uint64_t behind) {
  return behind + (function.is_step && instruction.kind == InstructionProgram::kPull ? 1 : 0);
}

class ProgressEngine {
 public:
  // Calls come from the engine's thread, and, of messages to and from servers, from any; without its locks.
  class Host {
   public:
    virtual ~Host() = default;
    virtual void CommunicationDone(void *cookie, uint32_t instruction) = 0;
    // Of a communication with parts, before it is done: this one may be read. Not
    // necessarily of all parts; each at most once.
    virtual void PartDone(void *, uint32_t /*instruction*/, uint32_t /*part*/) {}
    virtual void CommunicationFailed(const absl::Status &why) = 0;
    // Whether this rank computes now: then a lack of messages is no stall.
    virtual bool Computing() const = 0;
  };

  // One communication of one call, with its addresses.
  struct Request {
    const InstructionProgram *instruction = nullptr;
    uint32_t index = 0;  // of the instruction in its function
    uint64_t call = 0;
    // Bytes that its links may have in flight with it; 0: any number.
    size_t credit = 0;
    // Of the job: what a Push pushes; the version that a Pull gets.
    uint64_t step = 0;
    void *cookie = nullptr;
    std::byte *buffer = nullptr;       // of rows: the values
    const std::byte *input = nullptr;  // of rows: their ids
    std::byte *output = nullptr;
  };

  // `transport` and `servers` may be null if no program has a message for them.
  // All pointers outlive the engine. `servers_of`, which describes the servers,
  // may be null without them.
  ProgressEngine(int rank, Transport *transport, ParameterClient *servers,
                 const ServersProgram *servers_of, Host *host,
                 TraceRecorder *trace, absl::Duration deadline,
                 LinkObserver *links = nullptr);
  // The transport and the client must have been closed. Stops the thread.
  ~ProgressEngine();

  // Thread-safe; do not wait.
  void Start(const Request &request);
  void PeerFailed(int peer, const absl::Status &why);
  // Whether a communication has begun and is not complete.
  bool Communicating() const { return communications_ != 0; }

 private:
  struct Active {
    Request request;
    uint64_t sequence = 0, begun = 0;  // `begun` is that of its first slice
    // Of a Communicate instruction: where this slice of it is.
    core::Exchange exchange;
    uint32_t slice = 0;
    std::shared_ptr<uint32_t> unfinished;  // slices of it; null if it is the only one
    // By part: slices that have not released it; null if this is the only one.
    std::shared_ptr<std::vector<uint32_t>> unreleased;
    uint32_t released = 0;  // of its part_ends, from the front
    Memory staging;         // for a round that receives on top of what it sends
    // Of a communication with parts: what is sent now, which is in pieces in the buffer.
    Memory outgoing;
    bool gathered = false;  // it is there already, as it will be changed in its place
    bool streamed = false;  // what is received now is combined as it comes
    Clock::time_point send_begin, recv_begin;
    bool of_server() const {
      return request.instruction->kind != InstructionProgram::kCommunicate;
    }
  };
  struct Event {
    enum Kind {
      kStart,
      kSent,
      kReceived,
      kPart,
      kPeerFailed
    };
    explicit Event(Kind k) : kind(k) {}
    Kind kind;
    Request request;
    Active *active = nullptr;
    // kPart: of the slice, which may be done; and how many of its part_ends are met.
    uint64_t sequence = 0;
    uint32_t met = 0;
    int peer = -1;
    absl::Status status;
    std::vector<uint64_t> bytes;  // of rows: by part
    Clock::time_point at;
  };
  using Link = core::LinkQueue<Active *, size_t>;  // of a peer

  void Loop();
  bool PollTransport(Clock::time_point *until);
  bool Pushed() const { return pushed_ || !own_events_.empty(); }
  void Push(Event event);
  // Of an exchange, by the transport: handled at once where that can be.
  void Ended(Event::Kind kind, Active *active, absl::Status status);
  // Whether anyone wants to know when things happen. A trace may begin at any
  // time: it leaves out what began before.
  bool Timed() const {
    return observer_ != nullptr || (trace_ != nullptr && trace_->enabled());
  }
  void Handle(Event &event);
  void Begin(const Request &request);
  Active *NewActive();
  // Gives `active` back; its memory is for others.
  void Forget(Active *active);
  void Pump(Time now);
  // The message to the transport.
  void Hand(int peer, Active *active);
  Clock::time_point WakeUp() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Fail(const absl::Status &why);
  void CheckStall(Clock::time_point now);
  // The communication that has begun first; null if there is none.
  const Active *Oldest() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // progress_exchanges.cc
  void BeginExchange(const Request &request);
  void HandleExchange(Event &event);
  struct Slice;  // what moves an exchange on
  bool PostReceive(Active *active, const core::Place &at, const Round &round,
                   bool staged);
  void PostUnposted();
  // Whether the transport may be asked for it.
  bool IsShort(size_t bytes) const { return takes_now_ != 0 && bytes <= takes_now_; }
  // True if a message that is waited for was there, and its exchange has moved on.
  bool TakeWaiting();
  void PostWaiting();
  void Combine(Active *active, const core::Place &at, const Round &round, bool staged);
  // Parts: those of the first `met` of part_ends; of the rounds before a place.
  void Release(Active *active, uint32_t met);
  void ReleaseBefore(Active *active, uint32_t round);
  // What a round sends, of all parts, into `outgoing`; false if there is no memory.
  bool Gather(Active *active, const core::Place &at);
  // Takes what a round receives to its parts, and tells when they are there.
  Transport::Sink PartsSink(const Active &active, const core::Place &at, const Round &round);
  void Finish(Active *active);
  // A message of it has come.
  void Received(const Active &active);
  // Has the transport hold back what exclusive exchanges have it hold back now.
  void HoldBack(Time now);
  // Memory of at least so many bytes.
  bool TakeMemory(size_t bytes, Memory *memory);
  static const PhaseProgram &PhaseAt(const Active &active, const core::Place &place);
  // What this slice sends and receives in a round.
  static Round RoundAt(const Active &active, const core::Place &place);
  // A sink of the message that is received.
  struct Into;
  Into SinkOf(const Active &active, const core::Place &at, const Round &round) const;
  static MessageTag Tag(const Active &active, const core::Place &place);

  // progress_servers.cc
  void BeginServer(const Request &request);
  void BeginMessage(const Request &request);
  void BeginRows(const Request &request);
  // A message has ended: by the thread that says so, without a hand-over to the engine's.
  void MessageEnded(Active *active, absl::Status status);
  void HandleServer(Event &event);
  void TraceServer(const Active &active, const std::vector<uint64_t> &bytes_of, Clock::time_point end);
  std::string DescribeServer(const Active &active) const;
  // What the deadline is for messages to and from servers: longer, since a
  // server that waits knows for whom, and should be the one to say. So should the
  // connection to one that is lost. Both take up to twice the deadline.
  Clock::duration DeadlineOf(const Active &active) const;

  std::string Describe(const Active &active) const;
  std::string DescribeMissing(const Active &active) const;
  void Trace(const Active &active, TraceSpan::Track track, int peer,
             uint64_t bytes, Clock::time_point begin, Clock::time_point end);

  const int rank_;
  Transport *const transport_;
  ParameterClient *const servers_;
  std::unique_ptr<RowExchange> rows_;  // if some block of the servers is of rows
  const ServersProgram *const servers_of_;
  Host *const host_;
  TraceRecorder *const trace_;
  LinkObserver *const observer_;
  const Clock::duration deadline_;
  // How long a link that has used up its credit waits for a completion.
  const Time patience_;

  Mutex mu_;
  CondVar changed_;
  std::vector<Event> events_ ABSL_GUARDED_BY(mu_);
  bool stop_ ABSL_GUARDED_BY(mu_) = false;
  // There are events or stop_ is set.
  std::atomic<bool> pushed_{false};

  std::atomic<int> communications_{0};
  // Whole blocks to and from servers, by sequence.
  std::map<uint64_t, std::unique_ptr<Active>> messages_ ABSL_GUARDED_BY(mu_);
  std::atomic<Time> message_ended_{0};  // the last one

  // Of the engine's thread only.
  std::vector<Event> own_events_;                       // pushed by itself
  std::map<uint64_t, std::unique_ptr<Active>> active_;  // all else, by sequence
  std::map<int, Link> links_;
  plan::Exclusives exclusives_;         // by Active::begun
  std::optional<plan::Urgency> least_;  // that the transport was told
  Time hold_ends_ = 0;                  // or is less, if nothing comes
  std::vector<std::map<uint64_t, std::unique_ptr<Active>>::node_type> spare_;
  std::vector<Memory> spare_staging_;  // fresh memory costs more than a short message
  uint64_t next_sequence_ = 0;
  // Receives that are not posted yet. Of what lands on what is being sent: where the send ends
  // at once, it needs no staging; and of short messages.
  std::vector<Active *> unposted_, posting_;
  // Of short messages that the transport is asked for, before it is worth while to post them;
  // since how many looks there are any.
  std::vector<Active *> waiting_;
  uint64_t waiting_since_ = 0;
  const size_t takes_now_;    // of the transport; 0: none
  bool in_exchange_ = false;  // an exchange is being moved on: it must not be called again
  bool moved_ = false;        // some exchange was, since Pump looked
  bool failed_ = false;
  StallClock stall_;
  Backoff backoff_;              // between polls of the transport
  uint64_t polls_ = 0;           // looks
  Clock::time_point yielded_{};  // the last time
  std::thread thread_;
};

}  // namespace commsched::runtime

#endif  // COMMSCHED_RUNTIME_EXECUTE_PROGRESS_ENGINE_H
