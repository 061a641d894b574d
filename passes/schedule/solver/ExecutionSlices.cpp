// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Messages in slices, which go through rounds by themselves and through all else together; rounds that are asked for, and
// those of few bytes.

#include "passes/schedule/solver/Execution.h"

#include <algorithm>

namespace commsched::schedule {

void Execution::sendOnce() {
  if (sharing.once.empty())
    return;
  const auto sizeOf = [&](unsigned message) {
    int64_t size = 0;
    for (const Piece &piece : schedule.messages[message].pieces)
      size += piece.end - piece.begin;
    return size;
  };
  std::vector<int64_t> wholes(schedule.messages.size()); // by exchange
  for (unsigned i = 0; i < schedule.messages.size(); ++i)
    wholes[exchangeOf(i)] += sizeOf(i);
  for (unsigned i = 0; i < schedule.messages.size(); ++i) {
    const Sharing::Once &own = sharing.once[schedule.messages[i].pieces.front().communication];
    if (own.begin == own.end || wholes[exchangeOf(i)] > own.bytes)
      continue;
    const int64_t size = sizeOf(i);
    once.resize(schedule.messages.size());
    once[i] = true;
    for (unsigned stage = own.begin; stage < own.end; ++stage)
      bytes[stageBegin[i] + stage] = size;
  }
}

void Execution::joinSlices() {
  if (firstSlice.empty())
    return;
  slices.resize(schedule.messages.size());
  for (unsigned first : firstSlice)
    ++slices[first];
  for (unsigned i = 0; i < schedule.messages.size(); ++i) {
    const unsigned first = firstSlice[i];
    slices[i] = slices[first];
    if (slices[first] == 1)
      continue;
    const auto stages = static_cast<unsigned>(stagesOf(i).size());
    for (unsigned stage = 0; stage < stages; ++stage) {
      if (isRound(i, stage))
        continue;
      joined.resize(3 * bytes.size());
      if (i != first) {
        bytes[stageBegin[first] + stage] += bytes[stageBegin[i] + stage];
        latencies[stageBegin[first] + stage] += latencies[stageBegin[i] + stage] - stagesOf(i)[stage].latency; // updates
      }
    }
    if (isRound(i, stages - 1))
      continue;
    wholes.resize(schedule.messages.size());
    wholes[first].insert(wholes[first].end(), schedule.messages[i].pieces.begin(), schedule.messages[i].pieces.end());
  }
}

bool Execution::meets(uint64_t step, unsigned message, unsigned stage, Asking what) {
  if (asking.empty())
    asking.resize(3 * bytes.size());
  Asking &before = asking[3 * (stageBegin[message] + stage) + step % 3];
  const bool both = before != Asking::none;
  before = both ? Asking::none : what;
  return both;
}

/// Its receiver, which is as far as this node, has the round before too.
void Execution::endAsking(uint64_t step, unsigned index) {
  const auto message = static_cast<unsigned>(std::upper_bound(stageBegin.begin(), stageBegin.end(), index) - stageBegin.begin() - 1);
  const auto stage = static_cast<unsigned>(index - stageBegin[message]);
  if (!meets(step, message, stage, Asking::asked))
    return;
  const unsigned link = stagesOf(message)[stage].link;
  push(link, {priorities[index], step}, message, stage);
  touch(link);
}

/// What is no round is done with the whole message: it follows when all slices are there, and they begin when it is done.
void Execution::endSlice(uint64_t step, unsigned message, unsigned stage, unsigned next) {
  const unsigned first = firstSlice[message];
  if (isRound(message, stage) && isRound(message, next))
    return enqueue(step, message, next);
  if (isRound(message, stage)) {
    unsigned &there = joined[3 * (stageBegin[first] + stage) + step % 3];
    if (++there < slices[message])
      return;
    there = 0;
    return enqueue(step, first, next);
  }
  beginStage(step, first, next);
}

/// Of the exchange of which it is the first slice.
void Execution::beginStage(uint64_t step, unsigned message, unsigned stage) {
  const unsigned end = slices.empty() || !isRound(message, stage) ? message + 1 : message + slices[message];
  for (unsigned i = message; i < end; ++i)
    enqueue(step, i, stage);
}

} // namespace commsched::schedule
