// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/schedule/MoveFragments.h"

#include <queue>

using namespace mlir;
using namespace commsched;

Moved commsched::moveFragments(const StepCommunications &communications,
                               const StepProblem &step,
                               const schedule::Schedule &schedule) {
  Block &block = communications.function().front();
  llvm::SmallVector<Operation *> ops;
  llvm::DenseMap<Operation *, unsigned> indexOf;
  for (Operation &op : block.without_terminator()) {
    indexOf[&op] = static_cast<unsigned>(ops.size());
    ops.push_back(&op);
  }
  // By op: what comes behind it, and how many it waits for.
  std::vector<llvm::SmallVector<unsigned, 4>> next(ops.size());
  std::vector<unsigned> waits(ops.size());
  auto edge = [&](unsigned from, unsigned to) {
    next[from].push_back(to);
    ++waits[to];
  };
  for (Operation *op : ops)
    for (Value operand : op->getOperands())
      if (Operation *def = operand.getDefiningOp())
        edge(indexOf.lookup(def), indexOf.lookup(op));
  // What servers make of messages comes behind them; rows are sent behind the fetch.
  for (Operation *op : communications.all()) {
    for (Operation *send : communications.sendsOf(op))
      edge(indexOf.lookup(send), indexOf.lookup(op));
    if (Operation *fetch = communications.fetchOf(op))
      edge(indexOf.lookup(fetch), indexOf.lookup(op));
  }
  llvm::DenseSet<Operation *> late;
  for (cs::FragmentOp fragment : step.late)
    late.insert(fragment);
  for (const std::vector<unsigned> &stream : schedule.order) {
    Operation *before = nullptr;
    for (unsigned op : stream) {
      cs::FragmentOp fragment = step.fragments[op];
      if (!fragment || late.contains(fragment))
        continue;
      if (before)
        edge(indexOf.lookup(before), indexOf.lookup(fragment));
      before = fragment;
    }
  }
  // Of what can come next, what sends something; then always the first of the program.
  using Key = std::pair<bool, unsigned>;
  std::priority_queue<Key, std::vector<Key>, std::greater<>> ready;
  auto push = [&](unsigned index) {
    bool sends = isa<cs::CommunicationOpInterface>(ops[index]) &&
                 ops[index]->getNumOperands();
    ready.emplace(!sends, index);
  };
  for (unsigned i = 0; i < ops.size(); ++i)
    if (waits[i] == 0)
      push(i);
  llvm::SmallVector<unsigned> order;
  while (!ready.empty()) {
    unsigned index = ready.top().second;
    ready.pop();
    order.push_back(index);
    for (unsigned user : next[index])
      if (--waits[user] == 0)
        push(user);
  }
  if (order.size() != ops.size())
    return Moved::impossible;
  if (llvm::is_sorted(order))
    return Moved::nothing;
  for (unsigned index : order)
    ops[index]->moveBefore(block.getTerminator());
  return Moved::some;
}
