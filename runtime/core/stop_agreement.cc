// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/core/stop_agreement.h"

#include <algorithm>

namespace commsched::runtime::core {
namespace {

constexpr int kChildren = 2;

int ParentOf(int rank) { return (rank - 1) / kChildren; }

}  // namespace

StopAgreement::StopAgreement(int rank, int nodes) : rank_(rank) {
  for (const int peer : Neighbours(rank, nodes))
    if (peer > rank) children_.push_back(peer);
}

std::set<int> StopAgreement::Neighbours(int rank, int nodes) {
  std::set<int> peers;
  if (rank != 0) peers.insert(ParentOf(rank));
  for (int child = kChildren * rank + 1; child <= kChildren * (rank + 1); ++child)
    if (child < nodes) peers.insert(child);
  return peers;
}

std::vector<StopAgreement::Kind> StopAgreement::KindsFrom(int peer, int rank) {
  if (peer < rank) return {kHold, kStop};
  return {kAsk, kHolding};
}

StopAgreement::Turn StopAgreement::Begin(uint64_t step) {
  if (stop_ && step >= *stop_) return Turn::kStop;
  if (!stop_ && hold_ && step >= *hold_) return Turn::kWait;
  next_ = std::max(next_, step + 1);
  return Turn::kBegin;
}

void StopAgreement::Ask(Messages *out) {
  if (asked_) return;
  asked_ = true;
  if (rank_ == 0)
    Hold(out);
  else
    out->push_back({ParentOf(rank_), kAsk, 0});
}

void StopAgreement::Hold(Messages *out) {
  if (hold_) return;
  hold_ = next_;
  asked_ = true;  // there is no need to any more
  for (const int child : children_) out->push_back({child, kHold, 0});
  Answer(out);
}

// What the ranks below hold, when all of them have said it.
void StopAgreement::Answer(Messages *out) {
  if (!hold_ || said_ || answered_.size() < children_.size()) return;
  said_ = true;
  const uint64_t largest = std::max(*hold_, largest_);
  if (rank_ == 0)
    Decide(largest, out);
  else
    out->push_back({ParentOf(rank_), kHolding, largest});
}

void StopAgreement::Decide(uint64_t step, Messages *out) {
  stop_ = step;
  for (const int child : children_) out->push_back({child, kStop, step});
}

void StopAgreement::Take(const Message &message, Messages *out) {
  switch (message.kind) {
    case kAsk:
      return Ask(out);
    case kHold:
      return Hold(out);
    case kHolding:
      largest_ = std::max(largest_, message.step);
      answered_.insert(message.peer);
      return Answer(out);
    case kStop:
      return Decide(message.step, out);
  }
}

void StopAgreement::Gone(int peer, Messages *out) {
  if (peer < rank_) {
    if (!stop_) Decide(kNever, out);
  } else if (answered_.insert(peer).second) {
    largest_ = kNever;
    Answer(out);
  }
}

}  // namespace commsched::runtime::core
