// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The calls of one rank that are in flight: which instructions may begin, and
// what each stream runs next.
//
// Calls of the same step function overlap, two at most, ordered only by the
// plan's dependences, which reach back one call; others begin when all before them
// are complete. A compute stream runs its list in order, call by call. Deferred
// instructions run when the head of the list waits, so at the latest before their
// first user; those of a negative priority run as soon as they can. A copy engine
// takes what is ready of the earlier call first, as all of it is needed before what the later
// one makes of it, then by priority, then in the order of the program. What no stream runs
// (communications) begins at once.
//
// On a CUDA device copies and deferred instructions are on streams of their own, each first in, first out
// (FunctionProgram::lanes): only their heads are ready. Of those an engine takes that of the earlier call first,
// then the one that is enqueued first; deferred ones run as above.
//
// What waits for a part of a communication need not wait for its end: the part is
// released before, or else with it.
//
// Not thread-safe. Calls belong to the caller and stay until they are retired.
#ifndef COMMSCHED_RUNTIME_CORE_CALLS_H
#define COMMSCHED_RUNTIME_CORE_CALLS_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "runtime/base/time.h"
#include "runtime/program/program.h"

namespace commsched::runtime::core {

struct Call {
  // The caller's, set before Begin. Numbers count all calls of the rank.
  const FunctionProgram *program = nullptr;
  uint64_t number = 0;

  // Of Calls; by instruction, but for `position`, which is by stream, and `lane_position`.
  std::vector<uint32_t> waiting;  // dependences not yet met
  std::vector<uint8_t> done;
  std::vector<uint8_t> released;        // by number of the part
  std::vector<Time> met;                // when they were met; only if that is kept
  std::vector<uint32_t> position;       // in what runs in order
  std::vector<uint32_t> lane_position;  // by lane of a CUDA device
  uint32_t remaining = 0;               // instructions
};

class Calls {
 public:
  static constexpr size_t kMost = 2;  // in flight

  // What is to be done after an event. Appended to, in order.
  struct Actions {
    // Instructions that no stream runs: they begin now.
    std::vector<std::pair<Call *, uint32_t>> begin;
    std::vector<uint32_t> wake;  // streams with something new; may be repeated
    void clear() {
      begin.clear();
      wake.clear();
    }
  };

  // `keep_times`: Call::met is filled from the times of Begin and Complete.
  explicit Calls(const std::vector<StreamInfo> &streams, bool keep_times = false);

  // Whether a call of `program` may begin now.
  bool MayBegin(const FunctionProgram &program) const;
  void Begin(Call *call, Time now, Actions *actions);
  // The instruction has ended. Returns whether a call can be retired.
  bool Complete(Call *call, uint32_t instruction, Time now, Actions *actions);
  // A part of what the instruction communicates is there; no effect if it was already.
  void Release(Call *call, uint32_t instruction, uint32_t part, Time now, Actions *actions);
  // The oldest call, if it is complete: it is no longer in flight. Else null.
  Call *Retire();

  // What `stream` is to run now; false if there is nothing. It counts as begun.
  bool Next(uint32_t stream, Call **call, uint32_t *instruction);
  // What the stream waits for, for traces: "wait for a, b".
  std::string WaitName(uint32_t stream) const;

  bool empty() const { return count_ == 0; }
  Call *oldest() const { return in_flight_[0]; }
  // Index 0 is the oldest.
  size_t size() const { return count_; }
  Call *operator[](size_t index) const { return in_flight_[index]; }

 private:
  // Of what does not run in order, the first in this order is next: of copies, the call first; the priority, which
  // says nothing of copies on a CUDA device; the call; the instruction, or its turn on a CUDA device.
  using Place = std::tuple<uint64_t, int32_t, uint64_t, uint32_t>;
  struct Stream {
    bool compute = true;
    std::set<Place> ready;  // without what is on lanes
  };
  struct Head {
    Place place;
    Call *call;
    uint32_t lane;
  };
  Place PlaceOf(const Call &call, uint32_t instruction) const;
  // Of the lanes of the stream, that which is next.
  std::optional<Head> NextOfLanes(uint32_t stream) const;
  void Ready(Call *call, uint32_t instruction, Actions *actions);
  void Met(Call *call, uint32_t instruction, Time now, Actions *actions);
  // Of this call, and of the one after it, if it has begun.
  void Wake(Call *call, const std::vector<uint32_t> &same, const std::vector<uint32_t> &next,
            Time now, Actions *actions);

  std::vector<Stream> streams_;
  const bool keep_times_;
  std::array<Call *, kMost> in_flight_{};
  size_t count_ = 0;
};

}  // namespace commsched::runtime::core

#endif  // COMMSCHED_RUNTIME_CORE_CALLS_H
