// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/schedule/Pace.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include <tuple>

using namespace mlir;
using namespace commsched;

schedule::Schedule commsched::atOnePace(const StepProblem &step, schedule::Schedule schedule) {
  llvm::DenseMap<Attribute, unsigned> servers;
  for (const StepProblem::Part &part : step.parts)
    if (part.pull)
      servers.try_emplace(cs::SendOp(part.op).getRoleAttr(), servers.size());
  if (servers.size() < 2)
    return schedule;
  // By stage, priority and server: bytes of the messages so far.
  llvm::DenseMap<std::tuple<unsigned, int64_t, unsigned>, int64_t> sent;
  std::vector<std::tuple<int64_t, int64_t, int64_t *>> order; // priority, bytes before it on its connection
  for (schedule::Message &message : schedule.messages) {
    const StepProblem::Part &part = step.partOf(message);
    int64_t bytes = 0;
    for (const schedule::Piece &piece : message.pieces)
      bytes += piece.end - piece.begin;
    for (auto [stage, priority] : llvm::enumerate(message.priorities)) {
      int64_t before = 0;
      if (part.pull) {
        int64_t &own = sent[{stage, priority, servers.lookup(cs::SendOp(part.op).getRoleAttr())}];
        before = own;
        own += bytes;
      }
      order.emplace_back(priority, before, &priority);
    }
  }
  llvm::stable_sort(order, [](const auto &a, const auto &b) {
    return std::pair(std::get<0>(a), std::get<1>(a)) < std::pair(std::get<0>(b), std::get<1>(b));
  });
  for (auto [place, entry] : llvm::enumerate(order))
    *std::get<int64_t *>(entry) = static_cast<int64_t>(place);
  return schedule;
}
