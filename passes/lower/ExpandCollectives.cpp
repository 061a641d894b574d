// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/lower/Passes.h"
#include "passes/support/OptionError.h"

#include "passes/layout/MessageLayout.h"
#include "passes/lower/ExchangeAlgorithms.h"
#include "passes/support/Module.h"

#include "ir/CsGroups.h"
#include "ir/CsSparseOps.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/TypeSwitch.h"
#include <map>

namespace commsched {
#define GEN_PASS_DEF_EXPANDCOLLECTIVES
#include "passes/lower/Passes.h.inc"
} // namespace commsched

using namespace mlir;
using namespace commsched;
using namespace commsched::cs;

namespace {

/// A collective op as data; nothing for other ops.
std::optional<Collective> describe(Operation *op) {
  return llvm::TypeSwitch<Operation *, std::optional<Collective>>(op)
      .Case([](AllReduceOp op) {
        return Collective{CollectiveKind::allReduce, op.getReduction(), 0};
      })
      .Case([](ReduceOp op) {
        return Collective{CollectiveKind::reduce, op.getReduction(),
                          static_cast<int64_t>(op.getRoot())};
      })
      .Case([](BroadcastOp op) {
        return Collective{CollectiveKind::broadcast, Reduction::sum,
                          static_cast<int64_t>(op.getRoot())};
      })
      .Case([](ReduceScatterOp op) {
        return Collective{CollectiveKind::reduceScatter, op.getReduction(), 0};
      })
      .Case([](AllGatherOp op) {
        return Collective{CollectiveKind::allGather, Reduction::sum, 0};
      })
      .Case([](AllToAllOp op) {
        return Collective{CollectiveKind::allToAll, Reduction::sum, 0};
      })
      .Default([](Operation *) { return std::nullopt; });
}

class ExpandCollectives
    : public commsched::impl::ExpandCollectivesBase<ExpandCollectives> {
public:
  using ExpandCollectivesBase::ExpandCollectivesBase;

  void runOnOperation() override {
    if (algorithm != "auto" && algorithm != "ring" &&
        algorithm != "halving-doubling" && algorithm != "recursive-doubling") {
      emitOptionError(*this, &getContext())
          << "algorithm must be auto, ring, halving-doubling or "
             "recursive-doubling, got: "
          << algorithm.getValue();
      return signalPassFailure();
    }
    isFixed = isChosen = false;
    SmallVector<Operation *> collectives;
    WalkResult walked = getOperation().walk([&](Operation *op) {
      if (!describe(op) && !isa<PairExchangeOp>(op))
        return WalkResult::advance();
      if (!isa<StartOp>(op->getParentOp())) {
        op->emitOpError("is not in a cs.start; run --schedule-comm first");
        return WalkResult::interrupt();
      }
      if (op->getParentOp()->hasAttr(CsDialect::kNcclAttr)) {
        isFixed = true;
        return WalkResult::advance();
      }
      collectives.push_back(op);
      return WalkResult::advance();
    });
    if (walked.wasInterrupted())
      return signalPassFailure();
    if (collectives.empty() && failed(checkChoice()))
      return signalPassFailure();
    if (collectives.empty())
      return markAllAnalysesPreserved();
    FailureOr<ClusterOp> cluster = findCluster(getOperation());
    if (failed(cluster))
      return signalPassFailure();
    link = cluster->getInter();
    built.clear();
    for (Operation *op : collectives) {
      nodes = getRankCount(op->getParentOfType<func::FuncOp>(), *cluster);
      auto pair = dyn_cast<PairExchangeOp>(op);
      if (failed(pair ? expand(pair) : expand(op, *describe(op))))
        return signalPassFailure();
    }
    if (failed(checkChoice()))
      return signalPassFailure();
    for (auto function : getOperation().getOps<func::FuncOp>())
      remarkOnCopies(function);
  }

private:
  LogicalResult checkChoice() {
    if (algorithm == "auto" || isChosen || !isFixed)
      return success();
    return emitOptionError(*this, &getContext())
           << "algorithm must be auto where no collective has a choice, got: " << algorithm.getValue();
  }

  LogicalResult expand(Operation *op, Collective collective) {
    auto part = cast<PlacedType>(op->getOperand(0).getType());
    auto result = cast<PlacedType>(op->getResult(0).getType());
    FailureOr<Members> members = Members::of(op, nodes);
    if (failed(members))
      return failure();
    ranks = members->size();
    if (hasRoot(collective.kind) && !members->has(collective.root)) {
      if (members->areAll())
        return op->emitOpError() << "root must be below the number of nodes, "
                                 << ranks << ", got: " << collective.root;
      return op->emitOpError() << "root must be in " << getGroupName(op)
                               << ", got: " << collective.root;
    }
    collective.root = members->indexOf(collective.root).value_or(0);
    if (failed(verifyRanks(op, part, result, collective)))
      return failure();
    auto start = cast<StartOp>(op->getParentOp());
    if (ranks == 1) {
      op->getResult(0).replaceAllUsesWith(op->getOperand(0));
      op->erase();
      remark::passed(start.getLoc(), remarkOf(start))
          << remark::add("{0} \"{1}\" of one node is the identity",
                         stringify(collective.kind).str(),
                         start.getKey().str());
      removeIdentity(start);
      return success();
    }

    if (isKnownEverywhere(start, collective)) {
      start.removeExclusiveAttr();
      OpBuilder builder(op);
      Value own = ShardOp::create(builder, op->getLoc(), result, op->getOperand(0),
                                  getGroupName(op));
      op->getResult(0).replaceAllUsesWith(own);
      op->erase();
      remark::passed(start.getLoc(), remarkOf(start))
          << remark::add("{0} \"{1}\" of a constant needs no messages",
                         stringify(collective.kind).str(), start.getKey().str());
      return success();
    }
    PlacedType whole =
        collective.kind == CollectiveKind::allGather ? result : part;
    ExchangeAlgorithm chosen = choose(start, collective, whole);
    OpBuilder builder(op);
    Location loc = op->getLoc();
    Value value = op->getOperand(0);
    FlatSymbolRefAttr group = getGroupName(op);
    if (collective.kind == CollectiveKind::allGather)
      value = UnshardOp::create(builder, loc, whole, value, group);
    FloatAttr mean = builder.getF64FloatAttr(1.0 / static_cast<double>(ranks));
    ArrayRef<ExchangePhase> phases = exchangesOf(collective, chosen);
    // Behind the last that combines, sums are only distributed.
    auto gathers = llvm::find_if(llvm::reverse(phases), [](auto &phase) {
                     return phase.combine != Combine::replace;
                   }).base();
    for (const ExchangePhase &phase : phases)
      value = ExchangeOp::create(
          builder, loc, value, phase.chunks, phase.rounds, phase.combine,
          phase.scaled ? mean : FloatAttr(), phase.send, phase.recv,
          &phase >= gathers ? start.getGatherPriorityAttr() : IntegerAttr(), group);
    start.removeGatherPriorityAttr();
    if (collective.kind == CollectiveKind::reduceScatter)
      value = ShardOp::create(builder, loc, result, value, group);
    record(start, op, collective);
    op->getResult(0).replaceAllUsesWith(value);
    op->erase();
    return success();
  }

  /// The extremes of what all nodes have: a part of it, which depends on the node.
  static bool isKnownEverywhere(StartOp start, const Collective &collective) {
    if (collective.kind != CollectiveKind::reduceScatter ||
        (collective.reduction != Reduction::max && collective.reduction != Reduction::min) ||
        start.getInputs().size() != 1)
      return false;
    auto fragment = start.getInputs().front().getDefiningOp<FragmentOp>();
    return fragment && fragment.hasBody() && fragment.getInputs().empty();
  }

  /// One round, in which nodes send the half that is theirs.
  LogicalResult expand(PairExchangeOp op) {
    auto distance = static_cast<int64_t>(op.getDistance());
    if (nodes % (2 * distance) != 0)
      return op.emitOpError() << "needs a multiple of " << 2 * distance
                              << " nodes, got: " << nodes;
    isFixed = true;
    OpBuilder builder(op);
    MLIRContext *context = &getContext();
    AffineExpr rank = builder.getAffineDimExpr(0);
    AffineExpr one = builder.getAffineConstantExpr(1);
    AffineExpr half = rank.floorDiv(distance) % 2;
    auto mapOf = [&](ArrayRef<AffineExpr> results) {
      return AffineMap::get(2, 0, results, context);
    };
    AffineMap peer = mapOf(rank + distance - half * (2 * distance));
    IntegerSet always = IntegerSet::get(2, 0, {builder.getAffineConstantExpr(0)}, {true});
    Value value = ExchangeOp::create(
        builder, op.getLoc(), op.getValue(), /*chunks=*/2, /*rounds=*/1, Combine::replace,
        FloatAttr(), SideAttr::get(context, mapOf({half, one}), peer, always),
        SideAttr::get(context, mapOf({one - half, one}), peer, always), IntegerAttr(),
        FlatSymbolRefAttr());
    op.getResult().replaceAllUsesWith(value);
    op.erase();
    return success();
  }

  /// Those of buildExchanges(), made once for all collectives of a kind.
  ArrayRef<ExchangePhase> exchangesOf(const Collective &collective,
                                      ExchangeAlgorithm algorithm) {
    auto [it, isNew] = built.try_emplace({collective.kind, collective.reduction,
                                          collective.root, algorithm, ranks});
    if (isNew)
      it->second = buildExchanges(&getContext(), collective, algorithm, ranks);
    return it->second;
  }

  /// What depends on the number of ranks, and so is not the op's to verify.
  LogicalResult verifyRanks(Operation *op, PlacedType value, PlacedType result,
                            const Collective &collective) {
    int64_t whole, part;
    if (collective.kind == CollectiveKind::allToAll) {
      if (int64_t rows = value.getTensor().getDimSize(0); rows % (2 * ranks) != 0)
        return op->emitOpError() << "dimension 0 must be a multiple of " << 2 * ranks
                                 << ", two parts for each of " << ranks
                                 << " nodes, got: " << rows;
      return success();
    }
    if (collective.kind == CollectiveKind::reduceScatter) {
      whole = value.getTensor().getDimSize(0);
      part = result.getTensor().getDimSize(0);
    } else if (collective.kind == CollectiveKind::allGather) {
      whole = result.getTensor().getDimSize(0);
      part = value.getTensor().getDimSize(0);
    } else {
      return success();
    }
    if (whole % ranks != 0 || whole / ranks != part)
      return op->emitOpError()
             << "dimension 0 of the whole must be " << ranks
             << " (nodes) times the part's, got: " << whole << " and " << part;
    return success();
  }

  /// The algorithm to use; leaves a remark.
  ExchangeAlgorithm choose(StartOp start, const Collective &collective,
                           PlacedType whole) {
    const CollectiveKind kind = collective.kind;
    int64_t bytes = bytesOf(whole);
    auto time = [&](ExchangeAlgorithm algorithm) {
      return predictNanoseconds(kind, algorithm, ranks, bytes, link);
    };
    if (isApplicable(ExchangeAlgorithm::pairwise, kind, ranks)) {
      remark::passed(start.getLoc(), remarkOf(start)) << remark::add(
          "{0} \"{1}\" of {2} bytes: pairwise exchange takes {3:F0} ns",
          stringify(kind).str(), start.getKey().str(), bytes / 2,
          predictNanoseconds(kind, ExchangeAlgorithm::pairwise, ranks, bytes / 2, link));
      isFixed = true;
      return ExchangeAlgorithm::pairwise;
    }
    if (isApplicable(ExchangeAlgorithm::tree, kind, ranks)) {
      remark::passed(start.getLoc(), remarkOf(start)) << remark::add(
          "{0} \"{1}\" of {2} bytes: tree takes {3:F0} ns",
          stringify(kind).str(), start.getKey().str(), bytes,
          time(ExchangeAlgorithm::tree));
      isFixed = true;
      return ExchangeAlgorithm::tree;
    }
    isChosen = true;
    ExchangeChoice choice = chooseExchanges(algorithm, collective, ranks, bytes, link);
    if (choice.halving < 0) {
      remark::passed(start.getLoc(), remarkOf(start)) << remark::add(
          "{0} \"{1}\" of {2} bytes: ring takes {3:F0} ns; halving-doubling "
          "needs a power of two of nodes, not {4}",
          stringify(kind).str(), start.getKey().str(), bytes, choice.ring, ranks);
      return choice.chosen;
    }
    if (choice.doubling >= 0) {
      remark::passed(start.getLoc(), remarkOf(start)) << remark::add(
          "{0} \"{1}\" of {2} bytes: ring takes {3:F0} ns, halving-doubling "
          "{4:F0} ns, recursive doubling {5:F0} ns; took {6}",
          stringify(kind).str(), start.getKey().str(), bytes, choice.ring, choice.halving,
          choice.doubling, stringify(choice.chosen).str());
      return choice.chosen;
    }
    remark::passed(start.getLoc(), remarkOf(start)) << remark::add(
        "{0} \"{1}\" of {2} bytes: ring takes {3:F0} ns, halving-doubling "
        "{4:F0} ns; took {5}",
        stringify(kind).str(), start.getKey().str(), bytes, choice.ring, choice.halving,
        stringify(choice.chosen).str());
    return choice.chosen;
  }

  remark::RemarkOpts remarkOf(StartOp start) {
    auto function = start->getParentOfType<func::FuncOp>();
    return remark::RemarkOpts::name("ExpandCollectives")
        .category(getArgument())
        .function(function ? function.getName() : StringRef());
  }

  /// Says which messages the plan will not have in their place.
  void remarkOnCopies(func::FuncOp function) {
    bool cuts = llvm::any_of(function.getOps(), llvm::IsaPred<PackOp, UnpackOp>);
    if (!cuts || !getContext().getRemarkEngine())
      return;
    planexport::MessageLayout layout(function);
    for (Operation &op : function.getOps()) {
      StringRef reason = layout.reasonToCopy(&op);
      if (reason.empty())
        continue;
      auto type = cast<PlacedType>(op.getResult(0).getType());
      int64_t elements = type.getTensor().getNumElements(), copied = elements;
      if (auto pack = dyn_cast<PackOp>(op)) {
        copied = 0;
        ArrayRef<int64_t> bounds = pack.getBounds();
        for (unsigned i = 0; i < pack.getPieces().size(); ++i)
          if (layout.isCopied(pack, i))
            copied += bounds[2 * i + 1] - bounds[2 * i];
      }
      remark::missed(op.getLoc(), remark::RemarkOpts::name("MessageCopied")
                                      .category(getArgument())
                                      .function(function.getName()))
          << remark::add("{0} copies {1} of {2} bytes: {3}",
                         op.getName().getStringRef().str(),
                         bytesOf(type) / elements * copied, bytesOf(type),
                         reason.str());
    }
  }

  static int64_t bytesOf(PlacedType placed) {
    RankedTensorType type = placed.getTensor();
    // Elements of one bit take a byte.
    return type.getNumElements() *
           ((type.getElementType().getIntOrFloatBitWidth() + 7) / 8);
  }

  static bool hasRoot(CollectiveKind kind) {
    return kind == CollectiveKind::reduce || kind == CollectiveKind::broadcast;
  }

  /// Keeps what the exchanges compute: --verify-distributed proves it, and
  /// traces name it.
  void record(StartOp start, Operation *op, const Collective &collective) {
    OpBuilder builder(&getContext());
    start->setAttr(kCollectiveAttr,
                   builder.getStringAttr(stringify(collective.kind)));
    if (hasRoot(collective.kind))
      start->setAttr(kRootAttr, op->getAttr("root"));
    if (collective.kind != CollectiveKind::broadcast &&
        collective.kind != CollectiveKind::allGather &&
        collective.kind != CollectiveKind::allToAll)
      start->setAttr(kReductionAttr, builder.getStringAttr(stringifyReduction(
                                         collective.reduction)));
  }

  /// Replaces the awaits of a start that only returns its input; what must
  /// come after it must come after what it came after.
  void removeIdentity(StartOp start) {
    auto returned = dyn_cast<BlockArgument>(
        start.getBody().front().getTerminator()->getOperand(0));
    if (!returned || returned.getOwner() != &start.getBody().front())
      return;
    Value input = start.getInputs()[returned.getArgNumber()];
    SmallVector<Value> before(start.getAfter());
    for (Operation *user :
         llvm::make_early_inc_range(start.getFuture().getUsers())) {
      if (auto await = dyn_cast<AwaitOp>(user)) {
        await.getResult().replaceAllUsesWith(input);
        await.erase();
      }
    }
    SmallVector<StartOp> later;
    for (Operation *user : start.getFuture().getUsers())
      if (auto other = dyn_cast<StartOp>(user);
          other && !llvm::is_contained(later, other))
        later.push_back(other);
    for (StartOp other : later) {
      SmallVector<Value> after;
      for (Value future : other.getAfter()) {
        ArrayRef<Value> with = future == start.getFuture()
                                   ? ArrayRef<Value>(before)
                                   : ArrayRef<Value>(future);
        for (Value value : with)
          if (!llvm::is_contained(after, value))
            after.push_back(value);
      }
      other.getAfterMutable().assign(after);
    }
    if (start.getFuture().use_empty())
      start.erase();
  }

  int64_t nodes = 1; // that run the function at hand
  int64_t ranks = 1; // of the collective at hand
  LinkAttr link;
  bool isFixed = false;  // some collective goes in one way only
  bool isChosen = false; // the algorithm of some collective
  std::map<std::tuple<CollectiveKind, Reduction, int64_t, ExchangeAlgorithm, int64_t>,
           SmallVector<ExchangePhase>>
      built;
};

} // namespace
