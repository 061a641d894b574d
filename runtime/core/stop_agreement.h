// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// After which step all ranks of a job stop that is asked to end early. Ranks are a tree:
// one that wants to stop asks its parent, and so on to rank 0, which asks all which step
// they will not begin without hearing more; the largest is told to all. So nobody talks
// with more than three others, and what takes longest is as long as the tree is high.
//
// Not thread-safe.
#ifndef COMMSCHED_RUNTIME_CORE_STOP_AGREEMENT_H
#define COMMSCHED_RUNTIME_CORE_STOP_AGREEMENT_H

#include <cstdint>
#include <optional>
#include <set>
#include <vector>

namespace commsched::runtime::core {

class StopAgreement {
 public:
  enum Kind : uint32_t {
    kAsk,      // to the parent
    kHold,     // to a child
    kHolding,  // to the parent: the largest first step that a rank below it does not begin
    kStop      // to a child: the first step that nobody begins
  };
  // Each kind goes at most once from one rank to another.
  struct Message {
    int peer = 0;  // to whom, or from whom
    Kind kind = kAsk;
    uint64_t step = 0;
  };
  using Messages = std::vector<Message>;

  // Above every step: nobody stops early.
  static constexpr uint64_t kNever = ~uint64_t{0};

  StopAgreement(int rank, int nodes);
  // With whom the rank talks, and what comes from it.
  static std::set<int> Neighbours(int rank, int nodes);
  static std::vector<Kind> KindsFrom(int peer, int rank);

  enum class Turn {
    kBegin,
    kWait,  // it is not known yet
    kStop
  };
  // Of a step, after all before it; counted as begun if it may. Steps count from 0.
  Turn Begin(uint64_t step);
  // What follows is sent.
  void Ask(Messages *out);
  void Take(const Message &message, Messages *out);
  // The peer has ended in good order: there is no step that it has not begun, so that
  // nobody may stop before the end.
  void Gone(int peer, Messages *out);

 private:
  void Hold(Messages *out);
  void Answer(Messages *out);
  void Decide(uint64_t step, Messages *out);

  const int rank_;
  std::vector<int> children_;
  bool asked_ = false, said_ = false;
  uint64_t next_ = 0;             // step that has not begun here
  std::optional<uint64_t> hold_;  // is not begun without hearing more
  std::optional<uint64_t> stop_;
  uint64_t largest_ = 0;    // heard of children
  std::set<int> answered_;  // children
};

}  // namespace commsched::runtime::core

#endif  // COMMSCHED_RUNTIME_CORE_STOP_AGREEMENT_H
