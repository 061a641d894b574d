// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/place/StagingPlaces.h"

#include "llvm/ADT/STLExtras.h"

#include <map>
#include <set>

#include "passes/layout/StagingRing.h"
#include "passes/place/Devices.h"
#include "passes/support/Module.h"

using namespace mlir;
using namespace commsched;
using namespace commsched::place;

static std::optional<int64_t> turnOf(const Staging &staging) {
  auto turn = cs::StartOp(staging.communication)->getAttrOfType<IntegerAttr>(kTurnAttr);
  return turn ? std::optional(turn.getInt()) : std::nullopt;
}

namespace {

/// Puts ops in an order in which buffers are filled by turns, as far as data allows. What
/// runs on streams keeps its order; everything else comes as early as it can.
class TurnOrder {
public:
  TurnOrder(Block &block, std::vector<Staging> &stagings) : block(block) {
    for (Operation &op : block.without_terminator()) {
      numbers[&op] = ops.size();
      ops.push_back(&op);
    }
    waiting.resize(ops.size());
    users.resize(ops.size());
    for (const Staging &staging : stagings)
      turns[numbers.lookup(staging.fills)] = {*turnOf(staging), numbers.lookup(staging.fills)};
    for (auto [number, turn] : turns)
      left.insert(turn);
    addEdges();
  }

  /// The ops, in their new order.
  std::vector<Operation *> find() {
    for (unsigned number = 0; number < ops.size(); ++number)
      if (waiting[number] == 0)
        becomesReady(number);
    std::vector<Operation *> order;
    while (order.size() < ops.size())
      order.push_back(ops[takeNext()]);
    return order;
  }

private:
  using Turn = std::pair<int64_t, unsigned>; // and the number of the op

  void addEdge(unsigned from, unsigned to) {
    users[from].push_back(to);
    ++waiting[to];
  }

  void addEdges() {
    std::optional<unsigned> previous;
    for (unsigned number = 0; number < ops.size(); ++number) {
      ops[number]->walk([&](Operation *inner) {
        for (Value operand : inner->getOperands())
          if (Operation *def = operand.getDefiningOp(); def && def->getBlock() == &block)
            addEdge(numbers.lookup(def), number);
      });
      if (!isOnStream(number))
        continue;
      if (previous)
        addEdge(*previous, number);
      previous = number;
    }
  }

  bool isOnStream(unsigned number) const {
    return isa<cs::FragmentOp, cs::CopyOp>(ops[number]);
  }

  void becomesReady(unsigned number) {
    if (auto turn = turns.find(number); turn != turns.end())
      fills.insert(turn->second);
    else
      (isOnStream(number) ? compute : others).insert(number);
  }

  /// What takes no time, among it all that frees the last buffer; else a buffer whose turn it
  /// is; else compute; else a buffer out of turn. There is something, as the ops have an
  /// order.
  unsigned takeNext() {
    unsigned number;
    if (others.empty() && !fills.empty() &&
        (compute.empty() || *fills.begin() == *left.begin())) {
      number = fills.begin()->second;
      left.erase(*fills.begin());
      fills.erase(fills.begin());
    } else {
      std::set<unsigned> &from = others.empty() ? compute : others;
      number = *from.begin();
      from.erase(from.begin());
    }
    for (unsigned user : users[number])
      if (--waiting[user] == 0)
        becomesReady(user);
    return number;
  }

  Block &block;
  std::vector<Operation *> ops;
  llvm::DenseMap<Operation *, unsigned> numbers;
  std::vector<unsigned> waiting; // by op: edges to it from ops that are not in order yet
  std::vector<std::vector<unsigned>> users;
  std::map<unsigned, Turn> turns;     // of ops that fill a buffer
  std::set<Turn> left, fills;         // not in order yet; of these, what could come now
  std::set<unsigned> compute, others; // what fills no buffer and could come now
};

void orderByTurns(Block &block, std::vector<Staging> &stagings) {
  Operation *end = block.getTerminator();
  llvm::DenseMap<Operation *, size_t> places;
  for (Operation *op : TurnOrder(block, stagings).find()) {
    places[op] = places.size();
    op->moveBefore(end);
  }
  llvm::sort(stagings, [&](Staging &a, Staging &b) {
    return places.lookup(a.fills) < places.lookup(b.fills);
  });
}

} // namespace

LogicalResult place::giveStagingPlaces(func::FuncOp func, std::vector<Staging> &stagings,
                                       int64_t limit) {
  auto hasTurn = [](const Staging &staging) { return turnOf(staging).has_value(); };
  if (!stagings.empty() && llvm::all_of(stagings, hasTurn))
    orderByTurns(func.front(), stagings);
  StagingRing ring(limit);
  for (auto [i, staging] : llvm::enumerate(stagings)) {
    if (staging.bytes > limit)
      return staging.communication.emitOpError()
             << "\"" << staging.communication.getKey() << "\" needs "
             << staging.bytes << " bytes of staging memory, more than "
             << "staging-bytes, " << limit;
    SmallVector<Value> after(staging.fills.getAfter());
    StagingRing::Place place = ring.place(i, staging.bytes);
    staging.fills->setAttr(kStagingAttr, OpBuilder(staging.fills)
                                             .getI64IntegerAttr(place.offset));
    for (unsigned earlier : place.before) {
      Staging &other = stagings[earlier];
      cs::StartOp frees = other.frees();
      // Its memory is needed before its value is.
      if (staging.fills->isBeforeInBlock(frees)) {
        other.await->moveBefore(staging.fills);
        frees->moveBefore(staging.fills);
      }
      if (!llvm::is_contained(after, frees.getFuture()))
        after.push_back(frees.getFuture());
      remarkAt(staging.fills.getLoc(), "overlap-rpc-memcpy", func.getName(),
               "staging", [&](raw_ostream &os) {
                 os << "\"" << staging.fills.getKey() << "\" waits for \""
                    << frees.getKey() << "\" to free its staging memory";
               });
    }
    staging.fills.getAfterMutable().assign(after);
  }
  return success();
}
