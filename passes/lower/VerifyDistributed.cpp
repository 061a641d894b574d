// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/lower/Passes.h"

#include "passes/lower/DistributedModel.h"
#include "passes/lower/ExchangeAlgorithms.h"
#include "passes/lower/ExchangeMessages.h"
#include "passes/lower/ExchangeProof.h"
#include "passes/lower/ExchangeSequence.h"
#include "passes/support/Module.h"

#include "mlir/IR/Remarks.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/StringSwitch.h"
#include <map>

namespace commsched {
#define GEN_PASS_DEF_VERIFYDISTRIBUTED
#include "passes/lower/Passes.h.inc"
} // namespace commsched

using namespace mlir;
using namespace commsched;
using namespace commsched::cs;

namespace {

/// The exchange ops of one communication on one rank.
SmallVector<ExchangeOp> exchangesOf(const Communication &communication) {
  auto start = cast<StartOp>(communication.op);
  return llvm::to_vector(start.getBody().getOps<ExchangeOp>());
}

/// Checks the exchanges of all roles; equal sequences once.
class ExchangeVerifier {
public:
  ExchangeVerifier(const DistributedModel &model, ExchangeCounts &counts)
      : model(model), counts(counts) {}

  LogicalResult run() {
    for (const Role &role : model.roles) {
      llvm::StringSet<> seen;
      for (const FunctionModel &function : role.functions)
        for (const Communication &communication : function.communications)
          if (communication.isStart() && !communication.inner &&
              seen.insert(communication.key).second &&
              failed(verify(role, communication.key, communication.members)))
            return failure();
    }
    return success();
  }

private:
  struct Verdict {
    bool sampled = false;
    Proof proof = Proof::tooLarge;
  };

  static const Communication &find(const Role &role, int64_t rank,
                                   StringRef key) {
    const FunctionModel &function = role.of(rank);
    return function.communications[function.collectives.lookup(key)];
  }

  LogicalResult verify(const Role &role, StringRef key, const Members &members) {
    ExchangeSequence sequence{members.size(), {}, members};
    // What the verdict depends on, and nothing else.
    std::vector<const void *> identity;
    int64_t programs = role.isUniform() ? 1 : members.size();
    for (int64_t index = 0; index < programs; ++index)
      if (failed(append(role, index, key, sequence, identity)))
        return failure();
    const Communication &first = find(role, members.rankAt(0), key);
    FailureOr<std::optional<Collective>> collective = goalOf(first);
    if (failed(collective))
      return failure();
    auto start = cast<StartOp>(first.op);
    for (StringRef name : {kCollectiveAttr, kReductionAttr})
      identity.push_back(start->getAttr(name).getAsOpaquePointer());
    for (int64_t number : {members.size(), *collective ? (*collective)->root : 0})
      identity.push_back(
          reinterpret_cast<const void *>(static_cast<uintptr_t>(number)));

    ++counts.sequences;
    auto [it, isNew] = verdicts.try_emplace(std::move(identity));
    Verdict &verdict = it->second;
    if (isNew) {
      ++counts.distinct;
      sequence.moves = *collective && (*collective)->kind == CollectiveKind::allToAll;
      if (auto fault = checkMessages(sequence, verdict.sampled))
        return report(role, key, members, *fault);
      if (*collective && !verdict.sampled)
        if (auto fault =
                proveCollective(sequence, **collective, verdict.proof))
          return report(role, key, members, *fault);
    }
    counts.sampled += verdict.sampled;
    counts.proved += verdict.proof == Proof::done;
    return success();
  }

  LogicalResult append(const Role &role, int64_t index, StringRef key,
                       ExchangeSequence &sequence,
                       std::vector<const void *> &identity) {
    const int64_t rank = sequence.members.rankAt(index);
    const int64_t firstRank = sequence.members.rankAt(0);
    const Communication &own = find(role, rank, key);
    SmallVector<ExchangeOp> ops = exchangesOf(own);
    auto mismatch = [&](Operation *op, StringRef what, int64_t want,
                        int64_t got, Operation *there) -> LogicalResult {
      InFlightDiagnostic diagnostic = op->emitOpError()
                                      << what << " of rank " << rank
                                      << " must match " << want << " of rank "
                                      << firstRank << ", got: " << got;
      diagnostic.attachNote(there->getLoc()) << "rank " << firstRank << " is here";
      return diagnostic;
    };
    SmallVector<ExchangeOp> firsts =
        index == 0 ? ops : exchangesOf(find(role, firstRank, key));
    if (ops.size() != firsts.size())
      return mismatch(own.op, "number of exchanges", firsts.size(), ops.size(),
                      find(role, firstRank, key).op);
    ExchangeSequence::Program program;
    for (auto [op, first] : llvm::zip(ops, firsts)) {
      if (op.getChunks() != first.getChunks())
        return mismatch(op, "chunks", first.getChunks(), op.getChunks(), first);
      if (op.getRounds() != first.getRounds())
        return mismatch(op, "rounds", first.getRounds(), op.getRounds(), first);
      if (op.getCombine() != first.getCombine()) {
        InFlightDiagnostic diagnostic =
            op.emitOpError()
            << "rank " << rank << " must combine by "
            << stringifyCombine(first.getCombine()) << " like rank " << firstRank
            << ", got: " << stringifyCombine(op.getCombine());
        diagnostic.attachNote(first.getLoc()) << "rank " << firstRank << " is here";
        return diagnostic;
      }
      program.push_back({static_cast<int64_t>(op.getChunks()),
                         static_cast<int64_t>(op.getRounds()), op.getCombine(),
                         op.getScale() ? op.getScale()->convertToDouble() : 0.0,
                         op.getSend(), op.getRecv()});
      for (Attribute attr :
           {Attribute(op.getChunksAttr()), Attribute(op.getRoundsAttr()),
            Attribute(op.getCombineAttr()), Attribute(op.getScaleAttr()),
            Attribute(op.getSendAttr()), Attribute(op.getRecvAttr())})
        identity.push_back(attr.getAsOpaquePointer());
    }
    sequence.programs.push_back(std::move(program));
    return success();
  }

  /// What the start says that its exchanges compute; nothing if it does not.
  static FailureOr<std::optional<Collective>> goalOf(const Communication &first) {
    auto start = cast<StartOp>(first.op);
    Attribute named = start->getAttr(kCollectiveAttr);
    if (!named)
      return std::optional<Collective>();
    auto text = dyn_cast<StringAttr>(named);
    std::optional<CollectiveKind> kind;
    for (CollectiveKind other :
         {CollectiveKind::allReduce, CollectiveKind::reduce,
          CollectiveKind::broadcast, CollectiveKind::reduceScatter,
          CollectiveKind::allGather, CollectiveKind::allToAll})
      if (text && text.getValue() == stringify(other))
        kind = other;
    if (!kind)
      return start.emitOpError() << "'" << kCollectiveAttr
                                 << "' must name a collective, got: " << named;
    Collective goal{*kind};
    bool reduces = *kind != CollectiveKind::broadcast &&
                   *kind != CollectiveKind::allGather &&
                   *kind != CollectiveKind::allToAll;
    if (reduces) {
      auto name = start->getAttrOfType<StringAttr>(kReductionAttr);
      auto reduction = name ? symbolizeReduction(name.getValue())
                            : std::optional<Reduction>();
      if (!reduction)
        return start.emitOpError()
               << "'" << kReductionAttr
               << "' must be \"sum\", \"mean\", \"max\" or \"min\"";
      goal.reduction = *reduction;
    }
    if (*kind == CollectiveKind::reduce || *kind == CollectiveKind::broadcast) {
      auto root = start->getAttrOfType<IntegerAttr>(kRootAttr);
      const Members &members = first.members;
      if (!root || !members.has(root.getInt())) {
        InFlightDiagnostic diagnostic = start.emitOpError();
        diagnostic << "'" << kRootAttr << "' must be a rank ";
        if (members.areAll())
          return diagnostic << "from 0 to " << members.size() - 1;
        return diagnostic << "of its group";
      }
      goal.root = *members.indexOf(root.getInt());
    }
    Block &body = start.getBody().front();
    bool gathers = isa<UnshardOp>(body.front());
    bool scatters = llvm::any_of(body, llvm::IsaPred<ShardOp>);
    if (gathers != (*kind == CollectiveKind::allGather))
      return start.emitOpError()
             << "exchanges of " << stringify(*kind) << " must "
             << (gathers ? "not " : "") << "begin with cs.unshard";
    if (scatters != (*kind == CollectiveKind::reduceScatter))
      return start.emitOpError() << "exchanges of " << stringify(*kind)
                                 << " must " << (scatters ? "not " : "")
                                 << "end with cs.shard";
    return std::optional<Collective>(goal);
  }

  LogicalResult report(const Role &role, StringRef key, const Members &members,
                       const ExchangeFault &fault) {
    auto opOf = [&](int64_t index) -> Operation * {
      const Communication &communication = find(role, members.rankAt(index), key);
      SmallVector<ExchangeOp> ops = exchangesOf(communication);
      return fault.phase < ops.size() ? ops[fault.phase].getOperation()
                                      : communication.op;
    };
    InFlightDiagnostic diagnostic = opOf(fault.rank)->emitOpError()
                                    << "in \"" << key
                                    << "\": " << fault.message;
    if (fault.other && opOf(*fault.other) != opOf(fault.rank))
      diagnostic.attachNote(opOf(*fault.other)->getLoc())
          << "rank " << members.rankAt(*fault.other) << " is here";
    return diagnostic;
  }

  const DistributedModel &model;
  ExchangeCounts &counts;
  std::map<std::vector<const void *>, Verdict> verdicts;
};

class VerifyDistributed
    : public commsched::impl::VerifyDistributedBase<VerifyDistributed> {
public:
  using VerifyDistributedBase::VerifyDistributedBase;

  void runOnOperation() override {
    markAllAnalysesPreserved();
    FailureOr<DistributedModel> model = buildModel(getOperation());
    if (failed(model))
      return signalPassFailure();
    int64_t messages, servers;
    bool sampled;
    ExchangeCounts exchanges;
    WaitProof waits;
    if (failed(verifyNccl(*model)) || failed(verifyOrder(*model)) || failed(verifyServers(*model)) ||
        failed(verifyExchanges(*model, exchanges)) ||
        failed(verifyMessages(*model, messages, sampled)) ||
        failed(verifyServerMessages(*model, servers)) ||
        failed(verifyRowMessages(*model, servers)) ||
        failed(verifyWaits(*model, waits)))
      return signalPassFailure();
    report(*model, messages, sampled, servers, exchanges, waits);
  }

private:
  void report(const DistributedModel &model, int64_t messages, bool sampled,
              int64_t servers,
              const ExchangeCounts &exchanges, WaitProof waits) {
    if (!getContext().getRemarkEngine())
      return;
    std::string text;
    llvm::raw_string_ostream os(text);
    size_t collectives = 0;
    for (const auto &[index, role] : llvm::enumerate(model.roles)) {
      os << (index ? ", @" : "@") << role.name << " on " << role.ranks
         << (role.ranks == 1 ? " rank" : " ranks");
      if (!role.isUniform())
        os << " (one function each)";
      collectives += role.collectives.size();
    }
    if (model.roles.empty())
      os << "nothing is distributed";
    os << ": " << model.futures << " futures awaited exactly once; "
       << collectives << " collectives in the same order on all ranks; "
       << exchanges.sequences << " expanded (" << exchanges.distinct
       << " different), all messages match, " << exchanges.proved
       << " proved to compute their collective; " << messages
       << " messages with both ends" << (sampled ? " (a sample); " : "; ");
    if (model.servers)
      os << servers << " messages with " << model.servers.getCount()
         << (model.servers.getCount() == 1 ? " parameter server; "
                                           : " parameter servers; ");
    if (exchanges.sampled)
      os << exchanges.sampled << " checked on a sample of rounds and ranks; ";
    switch (waits) {
    case WaitProof::byConstruction:
    case WaitProof::byGraph:
      os << "no circular wait";
      break;
    case WaitProof::tooLarge:
      os << "too large to look for circular waits";
      break;
    }
    remark::passed(getOperation().getLoc(),
                   remark::RemarkOpts::name("VerifyDistributed")
                       .category(getArgument()))
        << text;
  }
};

} // namespace

LogicalResult commsched::verifyExchanges(const DistributedModel &model,
                                         ExchangeCounts &counts) {
  return ExchangeVerifier(model, counts).run();
}
