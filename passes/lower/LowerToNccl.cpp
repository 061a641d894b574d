// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/lower/Passes.h"

#include "ir/CsGroups.h"
#include "ir/CsServerFunctions.h"
#include "passes/lower/Communication.h"
#include "passes/support/Module.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Remarks.h"

#include <set>

namespace commsched {
#define GEN_PASS_DEF_LOWERTONCCL
#include "passes/lower/Passes.h.inc"
} // namespace commsched

using namespace mlir;
using namespace commsched;
using namespace commsched::cs;

namespace {

/// The all-reduce in a start; null if there is something else.
AllReduceOp reductionOf(StartOp start) {
  return dyn_cast<AllReduceOp>(start.getBody().front().front());
}

/// Numbers the collectives of a function, and puts their starts into this order.
class Numbering {
public:
  Numbering(Block &block, ArrayRef<StartOp> starts) : starts(starts) {
    for (auto [i, op] : llvm::enumerate(block))
      places[&op] = i;
  }

  void run() {
    // A collective is called before whatever stands in front of its first user waits for it: so a
    // collective that begins behind that has a later number.
    std::vector<std::pair<size_t, unsigned>> used; // first users' places
    for (unsigned i = 0; i < starts.size(); ++i) {
      StartOp start = starts[i];
      size_t first = SIZE_MAX;
      for (Operation *user : start.getFuture().getUsers())
        first = std::min(first, places.lookup(user));
      used.emplace_back(first, i);
    }
    llvm::sort(used);
    std::vector<bool> done(starts.size(), false);
    std::set<std::tuple<int64_t, size_t, unsigned>> ready; // turn, place, which
    unsigned given = 0, passed = 0;                        // starts looked at; leading users done
    auto offer = [&] {
      while (passed < used.size() && done[used[passed].second])
        ++passed;
      // Starts are in the order of their places.
      size_t before = passed < used.size() ? used[passed].first : SIZE_MAX;
      for (; given < starts.size() && places.lookup(starts[given]) < before; ++given)
        ready.emplace(turnOf(starts[given]), places.lookup(starts[given]), given);
    };
    StartOp previous;
    size_t last = 0; // place of the last start so far
    for (int64_t number = 0; number < static_cast<int64_t>(starts.size()); ++number) {
      offer();
      unsigned chosen = std::get<2>(*ready.begin());
      ready.erase(ready.begin());
      done[chosen] = true;
      StartOp start = starts[chosen];
      start->setAttr(CsDialect::kNcclAttr,
                     NcclAttr::get(start->getContext(), /*lane=*/0, number));
      start.removeGatherPriorityAttr();
      start.removeExclusiveAttr();
      start->removeAttr(kTurnAttr);
      if (previous && places.lookup(start) < last)
        start->moveAfter(previous);
      last = std::max(last, places.lookup(start));
      previous = start;
    }
  }

private:
  static int64_t turnOf(StartOp start) {
    auto turn = start->getAttrOfType<IntegerAttr>(kTurnAttr);
    return turn ? turn.getInt() : 0;
  }

  ArrayRef<StartOp> starts;
  llvm::DenseMap<Operation *, size_t> places; // at the beginning
};

class LowerToNccl : public commsched::impl::LowerToNcclBase<LowerToNccl> {
public:
  using LowerToNcclBase::LowerToNcclBase;

  void runOnOperation() override {
    if (failed(run()))
      signalPassFailure();
  }

private:
  LogicalResult run() {
    FailureOr<ClusterOp> cluster = findCluster(getOperation());
    if (failed(cluster))
      return failure();
    if (cluster->getDevice().getKind() != DeviceKind::cuda)
      return cluster->emitError("NCCL needs devices of kind cuda, got: ")
             << stringifyDeviceKind(cluster->getDevice().getKind());
    if (cluster->getDevices() != 1)
      return cluster->emitError("NCCL needs nodes of one device, each of which is a rank: nodes = ")
             << cluster->getNodes() * cluster->getDevices() << " devices = 1 nccl = <machine_ranks = "
             << cluster->getDevices() << ">, with what each device has of the network as inter, got: nodes = "
             << cluster->getNodes() << " devices = " << cluster->getDevices();
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.isDeclaration() && !getServerIndex(function) &&
          failed(lower(function, cluster->getNodes())))
        return failure();
    return success();
  }

  LogicalResult check(func::FuncOp function, Operation &op) {
    if (isa<CommunicationOpInterface>(op))
      return op.emitOpError("is not in a cs.start; run --schedule-comm first");
    auto start = dyn_cast<StartOp>(op);
    if (!start)
      return success();
    Operation &inner = start.getBody().front().front();
    StringRef problem;
    if (start->hasAttr(CsDialect::kNcclAttr))
      problem = "has its number already";
    else if (function->hasAttr(CsDialect::kCountAttr) && isa<AllReduceOp>(inner))
      problem = "is of some of the nodes, NCCL's communicator of all";
    else if (isa<AllReduceOp>(inner) && getGroupName(&inner))
      problem = "is of a group, NCCL's communicator of all nodes";
    else if (isa<AllReduceOp>(inner) && start.getPartsAttr())
      problem = "has parts, which NCCL does not release one by one";
    else if (isa<ExchangeOp>(inner))
      problem = "is expanded: --lower-to-nccl must come before --expand-collectives";
    else if (isMessageOfRanks(inner))
      problem = "is a message between two nodes, which NCCL is not given";
    if (problem.empty())
      return success();
    return start.emitError() << "\"" << start.getKey() << "\" " << problem;
  }

  static bool isMessageOfRanks(Operation &inner) {
    return isa<SendOp, RecvOp>(inner) && !getServerOf(&inner);
  }

  LogicalResult lower(func::FuncOp function, int64_t nodes) {
    if (!llvm::hasSingleElement(function.getBody()))
      return function.emitOpError("must have one block");
    Block &block = function.getBody().front();
    SmallVector<StartOp> starts;
    for (Operation &op : block) {
      if (failed(check(function, op)))
        return failure();
      auto start = dyn_cast<StartOp>(op);
      AllReduceOp reduce = start ? reductionOf(start) : AllReduceOp();
      // Of one node it is the identity, which --expand-collectives takes away.
      if (!reduce || nodes == 1)
        continue;
      if (StringRef reason = reasonAgainstNccl(reduce); !reason.empty()) {
        remark::missed(start.getLoc(), remarkOf(function))
            << remark::add("\"{0}\" is not for NCCL: {1}", start.getKey().str(), reason.str());
        continue;
      }
      starts.push_back(start);
    }
    if (starts.empty())
      return success();
    Numbering(block, starts).run();
    remark::passed(function.getLoc(), remarkOf(function))
        << remark::add("@{0}: {1} collectives by NCCL", function.getName().str(), starts.size());
    return success();
  }

  remark::RemarkOpts remarkOf(func::FuncOp function) {
    return remark::RemarkOpts::name("LowerToNccl").category(getArgument()).function(function.getName());
  }
};

} // namespace
