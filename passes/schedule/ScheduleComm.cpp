// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/Passes.h"

#include <map>

#include "ir/CsServerFunctions.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/StringMap.h"

namespace commsched {
#define GEN_PASS_DEF_SCHEDULECOMM
#include "passes/schedule/Passes.h.inc"
} // namespace commsched

using namespace mlir;
using namespace commsched;

namespace {

/// When a value is needed: in this step or the next (then by which carried
/// argument), and where in the order of compute.
struct Need {
  enum When { ThisStep, NextStep, Report } when = Report;
  unsigned place = 0; // of the fragment in its block
  cs::FragmentOp fragment;
  StringRef carried;
  bool operator<(const Need &other) const {
    return std::pair(when, place) < std::pair(other.when, other.place);
  }
};

class Scheduler {
public:
  explicit Scheduler(func::FuncOp func) : func(func) {}
  LogicalResult run();

private:
  LogicalResult check();
  LogicalResult findUpdates(cs::RecvOp recv);
  LogicalResult findFetch(cs::SendRowsOp send);
  void sinkConcats();
  void findNeeds();
  void rank();
  void schedule(Operation *op);

  func::FuncOp func;
  llvm::SmallVector<Operation *> communications;
  llvm::DenseMap<Operation *, unsigned> places;
  llvm::DenseMap<Value, Need> needs;
  llvm::DenseMap<Operation *, Need> communicationNeeds;
  llvm::DenseMap<Operation *, unsigned> priorities;
  // The sends whose update a recv from a server receives, and the reverse.
  llvm::DenseMap<Operation *, llvm::SmallVector<Operation *, 1>> sendsOf;
  llvm::DenseMap<Operation *, llvm::SmallVector<Operation *, 1>> recvsOf;
  llvm::DenseMap<Operation *, Operation *> fetchOf; // by cs.send_rows
  llvm::DenseMap<Operation *, cs::StartOp> starts;
  llvm::DenseMap<Operation *, cs::ServerDependences> servers; // by function
};

/// The value that a communication moves.
Value payloadOf(Operation *communication) {
  if (auto send = dyn_cast<cs::SendRowsOp>(communication))
    return send.getValues();
  return communication->getNumResults() ? communication->getResult(0)
                                        : communication->getOperand(0);
}

LogicalResult Scheduler::check() {
  for (Operation &op : func.front()) {
    if (isa<cs::StartOp, cs::AwaitOp>(op))
      return op.emitOpError("must not be there yet: the module is scheduled");
    if (isa<cs::ExchangeOp, cs::ShardOp, cs::UnshardOp>(op))
      return op.emitOpError("must be inside a cs.start: run --schedule-comm "
                            "before --expand-collectives");
    if (isa<cs::GradientOp>(op))
      return op.emitOpError("must have been replaced: run --insert-dist-comm "
                            "first");
    auto communication = dyn_cast<cs::CommunicationOpInterface>(op);
    if (!communication)
      continue;
    bool isOfRows = isa<cs::FetchRowsOp, cs::SendRowsOp>(op);
    if (!communication.isCollective() && !isOfRows && !cs::getServerOf(&op))
      return op.emitOpError("cannot be scheduled: must be a collective, or a "
                            "message to or from a parameter server");
    communications.push_back(&op);
    auto recv = dyn_cast<cs::RecvOp>(op);
    if (recv && failed(findUpdates(recv)))
      return failure();
    auto send = dyn_cast<cs::SendRowsOp>(op);
    if (send && failed(findFetch(send)))
      return failure();
  }
  return success();
}

/// A server publishes what depends on the messages that it collects.
LogicalResult Scheduler::findUpdates(cs::RecvOp recv) {
  FunctionOpInterface server = cs::getServerOf(recv);
  if (!llvm::hasSingleElement(server.getFunctionBody()))
    return server.emitOpError("must have one block");
  auto [known, isNew] = servers.try_emplace(server, server);
  const cs::ServerDependences &dependences = known->second;
  for (auto publish : server.getFunctionBody().front().getOps<cs::PublishOp>()) {
    if (publish.getKey() != recv.getKey())
      continue;
    for (cs::CollectOp collect : dependences.of(publish))
      for (auto send : func.front().getOps<cs::SendOp>()) {
        if (send.getKey() != collect.getKey() ||
            cs::getServerOf(send) != server)
          continue;
        if (!send->isBeforeInBlock(recv)) {
          InFlightDiagnostic diagnostic =
              recv.emitOpError() << "must come after the cs.send \""
                                 << send.getKey()
                                 << "\" whose update it receives";
          diagnostic.attachNote(send.getLoc()) << "which is here";
          return diagnostic;
        }
        sendsOf[recv].push_back(send);
        recvsOf[send].push_back(recv);
      }
  }
  return success();
}

/// A fetch gets what the steps before have left: nothing of this step may be
/// ahead of it.
LogicalResult Scheduler::findFetch(cs::SendRowsOp send) {
  for (auto fetch : func.front().getOps<cs::FetchRowsOp>()) {
    if (fetch.getKey() != send.getKey())
      continue;
    if (!fetch->isBeforeInBlock(send)) {
      InFlightDiagnostic diagnostic =
          send.emitOpError() << "must come after the cs.fetch_rows of \""
                             << send.getKey() << "\"";
      diagnostic.attachNote(fetch.getLoc()) << "which is here";
      return diagnostic;
    }
    fetchOf[send] = fetch;
  }
  return success();
}

/// Joining blocks is no use of them yet.
void Scheduler::sinkConcats() {
  Block &block = func.front();
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block))) {
    if (!isa<cs::ConcatOp>(op))
      continue;
    Operation *first = block.getTerminator();
    for (Operation *user : op.getUsers())
      if (user->isBeforeInBlock(first))
        first = user;
    op.moveBefore(first);
  }
}

/// Backwards over the block: a value is needed where its users are, and through
/// deferred fragments and communications where their results are; what is sent
/// to a server, where the value that comes back is.
void Scheduler::findNeeds() {
  Block &block = func.front();
  unsigned place = 0;
  for (Operation &op : block)
    places[&op] = place++;
  llvm::StringMap<Value> carried;
  for (BlockArgument argument : block.getArguments())
    for (StringRef attr :
         {cs::CsDialect::kParamAttr, cs::CsDialect::kStateAttr})
      if (auto name =
              func.getArgAttrOfType<StringAttr>(argument.getArgNumber(), attr))
        carried.try_emplace(name.getValue(), argument); // of the first device
  auto offer = [&](Value value, const Need &need) {
    auto [entry, isNew] = needs.try_emplace(value, need);
    if (!isNew && need < entry->second)
      entry->second = need;
  };
  // Rows that are sent are needed where rows are read in the next step.
  llvm::DenseMap<Operation *, Need> nextRows; // by cs.fetch_rows
  for (auto fragment : block.getOps<cs::FragmentOp>())
    if (!fragment.getDeferred())
      for (Value input : fragment.getInputs())
        if (auto fetch = input.getDefiningOp<cs::FetchRowsOp>())
          nextRows.try_emplace(
              fetch,
              Need{Need::NextStep, places[fragment], fragment, fetch.getKey()});
  // The first compute that reads each carried argument, next step.
  llvm::DenseMap<Value, Need> next;
  for (auto fragment : block.getOps<cs::FragmentOp>())
    if (!fragment.getDeferred())
      for (Value input : fragment.getInputs())
        if (isa<BlockArgument>(input))
          next.try_emplace(
              input, Need{Need::NextStep, places[fragment], fragment, {}});
  Operation *ret = block.getTerminator();
  for (auto [i, value] : llvm::enumerate(ret->getOperands())) {
    Need need;
    if (auto name = func.getResultAttrOfType<StringAttr>(
            i, cs::CsDialect::kUpdatesAttr)) {
      auto reader = next.find(carried.lookup(name.getValue()));
      if (reader != next.end()) {
        need = reader->second;
        need.carried = name.getValue();
      }
    }
    offer(value, need);
  }
  for (Operation &op : llvm::drop_begin(llvm::reverse(block))) {
    Need need;
    auto fragment = dyn_cast<cs::FragmentOp>(op);
    if (fragment && !fragment.getDeferred())
      need = {Need::ThisStep, places[&op], fragment, {}};
    else
      for (Value result : op.getResults())
        if (auto known = needs.find(result);
            known != needs.end() && known->second < need)
          need = known->second;
    if (Operation *fetch = fetchOf.lookup(&op))
      need = nextRows.lookup(fetch);
    for (Operation *recv : recvsOf.lookup(&op))
      need = std::min(need, communicationNeeds.lookup(recv));
    communicationNeeds[&op] = need;
    for (Value operand : op.getOperands())
      offer(operand, need);
  }
}

/// Priorities count from 0 without gaps; the same need, the same priority.
void Scheduler::rank() {
  std::map<std::pair<Need::When, unsigned>, unsigned> ranks;
  auto keyOf = [&](Operation *op) {
    Need need = communicationNeeds.lookup(op);
    return std::pair(need.when, need.place);
  };
  for (Operation *op : communications)
    ranks[keyOf(op)] = 0;
  unsigned next = 0;
  for (auto &[key, rank] : ranks)
    rank = next++;
  for (Operation *op : communications)
    priorities[op] = ranks[keyOf(op)];
}

void Scheduler::schedule(Operation *op) {
  auto communication = cast<cs::CommunicationOpInterface>(op);
  unsigned priority = priorities.lookup(op);
  if (func.getContext()->getRemarkEngine()) {
    Need need = communicationNeeds.lookup(op);
    std::string text;
    llvm::raw_string_ostream os(text);
    os << "\"" << communication.getCommunicationKey() << "\": priority "
       << priority << ": ";
    if (need.when == Need::Report)
      os << "no compute waits for it";
    else
      os << "first needed by \"" << need.fragment.getLabel() << "\" of "
         << (need.when == Need::ThisStep ? "this step" : "the next step");
    if (!need.carried.empty())
      os << ", through \"" << need.carried << "\"";
    remark::passed(op->getLoc(), remark::RemarkOpts::name("priority")
                                     .category("schedule-comm")
                                     .function(func.getName()))
        << remark::detail::Remark::Arg("Remark", text);
  }
  Operation *first = op->getBlock()->getTerminator();
  for (Operation *user : op->getUsers()) {
    user = op->getBlock()->findAncestorOpInBlock(*user);
    if (places[user] < places[first])
      first = user;
  }
  llvm::SmallVector<Value> after;
  for (Operation *send : sendsOf.lookup(op))
    after.push_back(starts.lookup(send).getFuture());
  if (Operation *fetch = fetchOf.lookup(op))
    after.push_back(starts.lookup(fetch).getFuture());
  auto placed = cast<cs::PlacedType>(payloadOf(op).getType());
  OpBuilder builder(op);
  auto start = cs::StartOp::create(
      builder, op->getLoc(), cs::FutureType::get(op->getContext(), placed),
      communication.getCommunicationKey(), op->getOperands(), after, priority,
      /*gather_priority=*/IntegerAttr());
  starts[op] = start;
  builder.setInsertionPoint(first);
  auto await = cs::AwaitOp::create(builder, op->getLoc(), start.getFuture());
  if (op->getNumResults())
    op->getResult(0).replaceAllUsesWith(await.getResult());
  Block *body = builder.createBlock(&start.getBody());
  for (OpOperand &operand : op->getOpOperands())
    operand.set(
        body->addArgument(operand.get().getType(), operand.get().getLoc()));
  op->moveBefore(body, body->end());
  builder.setInsertionPointToEnd(body);
  // A send gives back the memory that it has sent.
  cs::ReturnOp::create(builder, op->getLoc(), payloadOf(op));
}

LogicalResult Scheduler::run() {
  if (failed(check()))
    return failure();
  sinkConcats();
  findNeeds();
  rank();
  for (Operation *op : communications)
    schedule(op);
  return success();
}

struct ScheduleComm : commsched::impl::ScheduleCommBase<ScheduleComm> {
  void runOnOperation() override {
    for (auto func : getOperation().getOps<func::FuncOp>()) {
      // The runtime runs a block of a server when its messages are there.
      if (func.isExternal() || !func.isPublic() || cs::getServerIndex(func))
        continue;
      if (!func.getBody().hasOneBlock() ||
          !isa<func::ReturnOp>(func.front().back())) {
        func.emitOpError("must have one block, and end in func.return");
        return signalPassFailure();
      }
      if (failed(Scheduler(func).run()))
        return signalPassFailure();
    }
  }
};

} // namespace
