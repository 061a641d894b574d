// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Cuts a sequence of tensors into messages.

#include "passes/schedule/solver/Partition.h"

#include <algorithm>

namespace commsched::schedule {

namespace {
// Walks along the tensors and puts their bytes into messages.
class Cutter {
public:
  explicit Cutter(const Problem &problem) : problem(problem) {}

  void add(unsigned index, int64_t upTo) {
    const Communication &communication = problem.communications[index];
    if (!communication.divisible) {
      // All of it goes where most of it would be.
      if (filled > 0 && upTo < filled + (communication.bytes + 1) / 2)
        close();
      current.pieces.push_back({index, 0, communication.bytes});
      filled += communication.bytes;
      if (filled >= upTo)
        close();
      return;
    }
    int64_t begin = 0;
    while (begin < communication.bytes) {
      int64_t end = std::min(communication.bytes, begin + (upTo - filled));
      current.pieces.push_back({index, begin, end});
      filled += end - begin;
      begin = end;
      if (filled >= upTo)
        close();
    }
  }

  void close() {
    if (!current.pieces.empty())
      messages.push_back(std::move(current));
    current = {};
    filled = 0;
  }

  const Problem &problem;
  Message current;
  int64_t filled = 0;
  std::vector<Message> messages;
};
} // namespace

std::vector<Message> cutFull(const View &view, const std::vector<unsigned> &tensors,
                             int64_t most) {
  Cutter cutter(view.problem);
  for (unsigned index : tensors)
    cutter.add(index, std::max<int64_t>(most, 1));
  cutter.close();
  return std::move(cutter.messages);
}

std::vector<Message> cutEvenly(const View &view, const std::vector<unsigned> &tensors,
                               int64_t most) {
  int64_t bytes = 0;
  for (unsigned index : tensors)
    bytes += view.problem.communications[index].bytes;
  most = std::max<int64_t>(most, 1);
  int64_t count = bytes / most + (bytes % most != 0);
  if (count <= 1)
    return {wholeMessage(view, tensors)};
  return cutFull(view, tensors, bytes / count + (bytes % count != 0));
}

int64_t sliceCount(const Problem &problem, int64_t most) {
  int64_t count = 0;
  for (const Communication &communication : problem.communications)
    count += communication.divisible
                 ? communication.bytes / most + (communication.bytes % most != 0)
                 : 1;
  return count;
}

} // namespace commsched::schedule
