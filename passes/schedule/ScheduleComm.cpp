// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/Passes.h"

#include <map>

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
  void findNeeds();
  void rank();
  void schedule(Operation *op);

  func::FuncOp func;
  llvm::SmallVector<Operation *> communications;
  llvm::DenseMap<Operation *, unsigned> places;
  llvm::DenseMap<Value, Need> needs;
  llvm::DenseMap<Operation *, unsigned> priorities;
};

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
    if (!communication.isCollective() || op.getNumResults() != 1)
      return op.emitOpError("cannot be scheduled: must be a collective");
    communications.push_back(&op);
  }
  return success();
}

/// Backwards over the block: a value is needed where its users are, and through
/// deferred fragments and communications where their results are.
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
        carried[name.getValue()] = argument;
  auto offer = [&](Value value, const Need &need) {
    auto [entry, isNew] = needs.try_emplace(value, need);
    if (!isNew && need < entry->second)
      entry->second = need;
  };
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
    for (Value operand : op.getOperands())
      offer(operand, need);
  }
}

/// Priorities count from 0 without gaps; the same need, the same priority.
void Scheduler::rank() {
  std::map<std::pair<Need::When, unsigned>, unsigned> ranks;
  auto keyOf = [&](Operation *op) {
    Need need = needs.lookup(op->getResult(0));
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
  Value result = op->getResult(0);
  auto communication = cast<cs::CommunicationOpInterface>(op);
  unsigned priority = priorities.lookup(op);
  if (func.getContext()->getRemarkEngine()) {
    Need need = needs.lookup(result);
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
  for (Operation *user : result.getUsers()) {
    user = op->getBlock()->findAncestorOpInBlock(*user);
    if (places[user] < places[first])
      first = user;
  }
  auto placed = cast<cs::PlacedType>(result.getType());
  OpBuilder builder(op);
  auto start = cs::StartOp::create(
      builder, op->getLoc(), cs::FutureType::get(op->getContext(), placed),
      communication.getCommunicationKey(), op->getOperands(),
      /*after=*/ValueRange(), priority);
  builder.setInsertionPoint(first);
  auto await = cs::AwaitOp::create(builder, op->getLoc(), start.getFuture());
  result.replaceAllUsesWith(await.getResult());
  Block *body = builder.createBlock(&start.getBody());
  for (OpOperand &operand : op->getOpOperands())
    operand.set(
        body->addArgument(operand.get().getType(), operand.get().getLoc()));
  op->moveBefore(body, body->end());
  builder.setInsertionPointToEnd(body);
  cs::ReturnOp::create(builder, op->getLoc(), op->getResults());
}

LogicalResult Scheduler::run() {
  if (failed(check()))
    return failure();
  findNeeds();
  rank();
  for (Operation *op : communications)
    schedule(op);
  return success();
}

struct ScheduleComm : commsched::impl::ScheduleCommBase<ScheduleComm> {
  void runOnOperation() override {
    for (auto func : getOperation().getOps<func::FuncOp>()) {
      if (func.isExternal() || !func.isPublic())
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
