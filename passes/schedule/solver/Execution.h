// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs a schedule event by event, step after step, until it is told to stop. At every
// instant first everything that ends is counted, then links choose what they are given,
// so that nothing depends on the order of events of the same time.

#ifndef COMMSCHED_PASSES_SCHEDULE_SOLVER_EXECUTION_H
#define COMMSCHED_PASSES_SCHEDULE_SOLVER_EXECUTION_H

#include "passes/schedule/solver/ConnectionLink.h"
#include "passes/schedule/solver/OpStream.h"
#include "passes/schedule/solver/Timeline.h"
#include "plan/credit.h"
#include "plan/exclusive.h"
#include "plan/packets.h"
#include "plan/urgency.h"

#include <optional>
#include <queue>
#include <tuple>

namespace commsched::schedule {

/// Of a problem whose links have one connection each.
struct Sharing {
  enum class Sends {
    messages, ///< whole, in the order in which they were given
    rounds,   ///< ConnectionLink, what the credit allows
    pushes,   ///< ConnectionLink, of what is of no use before all of it is there
    parts     ///< ConnectionLink
  };
  /// Of a message of up to so many bytes, in all of its slices: stages [begin, end) send all of it each, and [end, behind) are left out.
  struct Once {
    int64_t bytes = 0;
    unsigned begin = 0, end = 0, behind = 0;
  };
  std::vector<Sends> sends;    ///< by link; empty: messages
  std::vector<unsigned> media; ///< by link: that of which it has an equal part while it sends; empty: all send messages
  // With media:
  std::vector<std::vector<unsigned>> stageOf; ///< by communication and stage: where messages have its priority
  std::vector<Once> once;                     ///< by communication
  std::vector<int64_t> parts;                 ///< by link: into how many the credit of its medium is divided; 0: it has none
};

/// The arguments must outlive it; verify() finds nothing in the schedule.
class Execution {
public:
  /// A stream stood still, for nothing but a communication.
  struct Stall {
    uint64_t steps; ///< complete on all streams when it ended
    unsigned communication;
    Time time;
  };

  /// `exchanges`, by message: those with the same number take turns, by stages; empty: each has its own. Everything is recorded in
  /// the timeline, if there is one: of a ConnectionLink what packets have of messages, as if one after the other.
  Execution(const Problem &problem, const Schedule &schedule, const Sharing &sharing, const std::vector<unsigned> &exchanges,
            Timeline *timeline = nullptr);

  /// Begins what can begin now; true if something of no duration did, which ends now too.
  bool begin();
  /// Goes on to what ends next; false if nothing does.
  bool advance();

  Time now() const { return current; }
  /// Steps of which all ops are done.
  uint64_t stepsComputed() const { return computed; }
  /// All so far, by their ends.
  const std::vector<Stall> &stallsSoFar() const { return stalls; }
  /// Everything that the future depends on, relative to now and to the steps done.
  std::vector<int64_t> state();

private:
  static constexpr unsigned kNone = ~0u;
  enum class Asking : uint8_t {
    none,
    asked,
    given
  };
  static constexpr unsigned kPiece = ~0u;       ///< of events; behind all others of their time
  static constexpr unsigned kLink = kPiece - 1; ///< likewise
  static constexpr unsigned kAsked = kPiece - 2;
  static constexpr unsigned kHold = kPiece - 3;

  /// Lists of indices, by index, in one array.
  class Lists {
  public:
    /// `visit(add)` calls add(from, to) for every entry, the same each time.
    template <typename Visit>
    Lists(size_t size, Visit visit) : begins(size + 1) {
      visit([&](unsigned from, unsigned) { ++begins[from + 1]; });
      for (size_t i = 0; i < size; ++i)
        begins[i + 1] += begins[i];
      entries.resize(begins[size]);
      std::vector<size_t> next(begins.begin(), begins.end() - 1);
      visit([&](unsigned from, unsigned to) { entries[next[from]++] = to; });
    }

    struct Range {
      const unsigned *first, *last;
      const unsigned *begin() const { return first; }
      const unsigned *end() const { return last; }
    };
    Range operator[](size_t index) const {
      return {entries.data() + begins[index], entries.data() + begins[index + 1]};
    }

  private:
    std::vector<size_t> begins;
    std::vector<unsigned> entries;
  };

  /// What is left to wait for in one step.
  struct Step {
    std::vector<unsigned> opWaits;
    std::vector<unsigned> messageWaits;
    std::vector<unsigned> communicationWaits;
    std::vector<Time> opReady;      ///< when the last op arrived that is waited for
    std::vector<unsigned> lastComm; ///< the last to arrive of what is waited for
    size_t opsLeft = 0;
    size_t communicationsLeft = 0;
    unsigned lastOfStep = kNone; ///< communication
  };

  struct Event {
    Time time;
    uint64_t step;
    /// 0: op ends; 1 + 2 stage: message is complete; 2 + 2 stage: its credit is free;
    /// kPiece: a piece has arrived before its message; kLink: of the links of a medium (index), one has sent
    /// what it is to send before it looks again, where `step` counts these; kAsked: a round (index, into `bytes`) has been asked for; kHold: what
    /// exclusive messages hold back may be another.
    unsigned kind;
    unsigned index;
    auto key() const { return std::tie(time, step, kind, index); }
    bool operator<(const Event &other) const { return key() > other.key(); }
  };

  struct Waiting {
    plan::Urgency urgency; ///< its call: the step
    int64_t before;        ///< bytesBefore
    unsigned exchange;
    unsigned message;
    unsigned stage;
    uint64_t step() const { return urgency.call; }
    auto key() const { return std::tie(urgency, before, exchange, stage, message); }
    bool operator<(const Waiting &other) const { return key() > other.key(); }
  };

  struct LinkState {
    std::priority_queue<Waiting> queue;
    Time free = 0;
    plan::BytesInFlight<int64_t> inFlight; ///< given, credit not free again
    /// Of a ConnectionLink.
    bool busy = false;
    uint64_t looks = 0; ///< how often it has been told when to look again
  };

  /// What links share, or a link has to itself. Its clock says for how long one that has been busy all along
  /// had the whole rate: of several that are, each has an equal part, so the clock is as many times slower
  /// (virtual time, as in processor sharing), and what one is to do at a time of that clock stays there
  /// whoever begins or ends.
  struct Medium {
    struct Look {
      Time clock;
      unsigned link;
      uint64_t looks; ///< the link's; it has been told another time since if they differ
      bool operator<(const Look &other) const {
        return std::tie(clock, link, looks) > std::tie(other.clock, other.link, other.looks);
      }
    };
    Time busy = 0;  ///< how many links are
    Time clock = 0; ///< as of `counted`, which is less than `busy` nanoseconds ago
    Time counted = 0;
    std::priority_queue<Look> looks;
    Time next = 0;       ///< of its event
    Time traced = 0;     ///< in the timeline, until then
    uint64_t events = 0; ///< of which the last one counts; 0: none does
    bool waits = false;
  };

  Step &at(uint64_t step) { return steps[step % 3]; }
  void reset(uint64_t step);
  void endOp(uint64_t step, unsigned op);
  void endMessage(uint64_t step, unsigned message, unsigned stage);
  void freeCredit(uint64_t step, unsigned message, unsigned stage);
  void endPiece(uint64_t step, unsigned communication);
  void arrive(uint64_t step, unsigned communication);
  void enqueue(uint64_t step, unsigned message, unsigned stage);
  void completeSteps();
  bool startOps();
  bool dispatch();
  bool giveWhatFits(unsigned link);
  void sendInOrder(unsigned link, const Waiting &next);
  /// By which credit is counted: where messages are sent in order none overtakes another.
  plan::Urgency countedUrgency(unsigned link, const plan::Urgency &urgency) const {
    return connections[link] ? urgency : plan::Urgency();
  }
  void setBusy(unsigned link, bool busy);
  void count(Medium &medium);
  void waitFor(unsigned medium);
  void lookAll(unsigned medium);
  void look(unsigned link);
  /// It may have something to send, or to give to what it sends.
  void touch(unsigned link);
  /// By message; null: all of its stages are as given.
  const Sharing::Once *onceOf(unsigned message) const {
    return once.empty() || !once[message] ? nullptr : &sharing.once[schedule.messages[message].pieces.front().communication];
  }
  /// Whether it is sent when its receiver has asked for it.
  bool isAskedFor(unsigned message, unsigned stage) const {
    return isRound(message, stage) && bytesOf(message, stage) > int64_t{plan::kEagerBytes};
  }
  void endAsking(uint64_t step, unsigned index);
  /// Whether the other one of the two was there before.
  bool meets(uint64_t step, unsigned message, unsigned stage, Asking what);
  void push(unsigned link, const plan::Urgency &urgency, unsigned message, unsigned stage);
  void removeFromCredit(uint64_t step, unsigned message, unsigned stage);
  bool sendFrom(unsigned link);
  void trace(unsigned link, const ConnectionLink::Part &part);
  /// Of one with a ConnectionLink.
  unsigned mediumOf(unsigned link) const { return sharing.media[link]; }
  /// Of its medium, now.
  Time clockOf(unsigned link) const {
    const Medium &medium = shared[mediumOf(link)];
    return medium.busy ? medium.clock + (current - medium.counted) / medium.busy : medium.clock;
  }
  bool gateOpen(uint64_t step);
  void sendOnce();
  void countBytesBefore();
  void joinSlices();
  void beginStage(uint64_t step, unsigned message, unsigned stage);
  void endSlice(uint64_t step, unsigned message, unsigned stage, unsigned next);
  /// Of exclusive messages: the first of its rounds begins, one of them ends, `next` follows.
  void beginExclusive(uint64_t step, unsigned message, unsigned stage);
  void endExclusive(uint64_t step, unsigned message, unsigned stage, unsigned next);
  void holdBack();
  void endPieces(uint64_t step, unsigned message);

  int64_t bytesOf(unsigned message, unsigned stage) const {
    return bytes[stageBegin[message] + stage];
  }
  /// From its last byte on the link until it is complete.
  Time latencyOf(unsigned message, unsigned stage) const {
    return latencies[stageBegin[message] + stage];
  }
  const std::vector<Stage> &stagesOf(unsigned message) const {
    return problem.communications[schedule.messages[message]
                                      .pieces.front()
                                      .communication]
        .stages;
  }

  /// Whether it is a round, which each slice has by itself. All others are of the whole message, and its first slice stands for it.
  bool isRound(unsigned message, unsigned stage) const {
    return !sharing.sends.empty() && sharing.sends[stagesOf(message)[stage].link] == Sharing::Sends::rounds;
  }
  const std::vector<Piece> &piecesOf(unsigned message) const {
    return wholes.empty() || wholes[message].empty() ? schedule.messages[message].pieces : wholes[message];
  }
  unsigned firstSliceOf(unsigned message) const { return firstSlice.empty() ? message : firstSlice[message]; }
  unsigned exchangeOf(unsigned message) const { return exchanges.empty() ? message : exchanges[message]; }
  /// By piece, how long before its message it arrives; null: all of them with it.
  const std::vector<Time> *leadsIn(unsigned message, unsigned stage) const {
    bool last = stage + 1 == stagesOf(message).size();
    return leads.empty() || !last || leads[message].empty() ? nullptr : &leads[message];
  }
  /// Before the message is complete.
  bool freesCreditEarly(unsigned message, unsigned stage) const {
    unsigned link = stagesOf(message)[stage].link;
    return problem.links[link].creditUntilSent && (connections[link] || latencyOf(message, stage) > 0) && credit[link] != kNoLimit;
  }

  const Problem &problem;
  const Schedule &schedule;
  std::vector<unsigned> firstSlice; ///< by message: of its exchange; empty: each is one
  Lists opUsers;                    ///< op -> ops after it
  Lists opMessages;                 ///< op -> first slices of messages with a piece that it produces
  std::vector<size_t> stageBegin;   ///< by message, into `bytes`
  std::vector<int64_t> bytes;       ///< by message and stage
  std::vector<Time> latencies;      ///< likewise
  std::vector<int64_t> priorities;  ///< likewise
  std::vector<int64_t> credit;      ///< by link
  /// Likewise, where there are several connections, else empty: bytes of tensors that are as urgent there and
  /// before it on its connection.
  std::vector<int64_t> bytesBefore;
  /// By message and stage, and step modulo 3, of what is asked for: that it has been, and that it has its credit. Empty: nothing is.
  std::vector<Asking> asking;
  std::vector<bool> once;                 ///< by message; empty: none
  std::vector<unsigned> slices;           ///< by message: how many its exchange has; empty: each is one
  std::vector<std::vector<Piece>> wholes; ///< by message, of first slices that stand for all at the end: the pieces of all
  std::vector<unsigned> joined;           ///< by message and stage, and step modulo 3: slices that wait for others there
  plan::Exclusives exclusives;            ///< by step, and first slice
  std::vector<unsigned> unfinished;       ///< by first slice, and step modulo 3: of exclusive ones, slices in their rounds
  std::optional<plan::Urgency> least;     ///< that links were told
  /// By message, if some piece arrives before it: by piece, how long before.
  std::vector<std::vector<Time>> leads;
  Step first; ///< all that any step but the first waits for
  Step steps[3];
  std::vector<LinkState> links;
  std::vector<std::optional<ConnectionLink>> connections; ///< by link
  std::vector<unsigned> touched;                          ///< links
  std::vector<bool> isTouched;                            ///< by link
  const Sharing &sharing;
  const std::vector<unsigned> &exchanges;
  std::vector<Medium> shared; ///< by medium
  std::vector<OpStream> streams;
  std::priority_queue<Event> events;
  Time current = 0;
  uint64_t complete = 0;     ///< steps of which everything is done
  uint64_t computed = 0;     ///< steps of which all ops are done
  unsigned gateComm = kNone; ///< the last communication of the last complete step
  Time gateTime = 0;         ///< when that step became complete
  std::vector<Stall> stalls;
  Timeline *timeline;
  /// For the timeline, by message, stage and step modulo 2: when it became ready. The step
  /// two before is complete then.
  std::vector<Time> ready;
};

/// evaluate() of a problem whose links have one connection each, which sends what `sharing` says, whatever they say.
Evaluation runSteps(const Problem &problem, const Schedule &schedule, unsigned maxSteps, const Sharing &sharing = {},
                    const std::vector<unsigned> &exchanges = {});
/// Likewise, traceSchedule(): of messages, stages and links of this problem.
Timeline traceSteps(const Problem &problem, const Schedule &schedule, unsigned steps, unsigned maxSteps, const Sharing &sharing,
                    const std::vector<unsigned> &exchanges);

} // namespace commsched::schedule

#endif // COMMSCHED_PASSES_SCHEDULE_SOLVER_EXECUTION_H
