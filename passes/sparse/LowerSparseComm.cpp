// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/sparse/Passes.h"
#include "passes/support/OptionError.h"

#include <cmath>

#include "ir/CsGroups.h"
#include "ir/CsSparseOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "passes/place/Devices.h"
#include "passes/sparse/Correction.h"
#include "passes/sparse/Exchange.h"
#include "passes/sparse/ForwardUses.h"
#include "passes/sparse/FuseExchanges.h"
#include "passes/sparse/Options.h"
#include "passes/sparse/Policy.h"
#include "passes/sparse/Predict.h"
#include "passes/sparse/RankStates.h"
#include "passes/sparse/Regions.h"
#include "passes/sparse/ServerLists.h"
#include "passes/support/Module.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/MathExtras.h"

namespace commsched {
#define GEN_PASS_DEF_LOWERSPARSECOMM
#include "passes/sparse/Passes.h.inc"
} // namespace commsched

using namespace mlir;
using namespace commsched;
using namespace commsched::sparse;

namespace {

struct LowerSparseComm : commsched::impl::LowerSparseCommBase<LowerSparseComm> {
  using LowerSparseCommBase::LowerSparseCommBase;

  void runOnOperation() override {
    if (failed(run()))
      signalPassFailure();
  }

private:
  LogicalResult run() {
    auto refuse = [&](const Twine &what) {
      return emitOptionError(*this, &getContext()) << what;
    };
    FailureOr<Policy> policy =
        Policy::read({density, method, minElements,
                      std::vector<std::string>(rules.begin(), rules.end())},
                     refuse);
    if (failed(policy))
      return failure();
    const LowerSparseCommOptions options = given();
    if (std::string wrong = checkOptions(options); !wrong.empty())
      return refuse(wrong);
    if (StringRef option = optionOfSelections(options); !option.empty() && !policy->asks() && !anyGradientAsks())
      return refuse(option + " must go with a density below 1, where something is selected, got: " + textOf(density));
    FailureOr<SmallVector<func::FuncOp>> functions =
        place::trainerFunctions(getOperation(), getArgument());
    if (failed(functions))
      return failure();
    if (fuseBytes > 0 && llvm::any_of(*functions, [](func::FuncOp func) {
          return func->hasAttr(cs::CsDialect::kServersAttr);
        }))
      return refuse("fuse-bytes must go with all-reduces, not with parameter servers, got: " +
                    Twine(fuseBytes));
    llvm::StringSet<> trained;
    for (func::FuncOp func : *functions) {
      if (!func->hasAttr(cs::CsDialect::kStepAttr))
        continue;
      llvm::StringSet<> params;
      for (BlockArgument argument : func.getArguments())
        if (auto name = func.getArgAttrOfType<StringAttr>(argument.getArgNumber(),
                                                          cs::CsDialect::kParamAttr))
          params.insert(name.getValue());
      for (const auto &param : params)
        trained.insert(param.getKey());
      if (failed(checkCorrection(func, *policy)) || failed(lower(func, *policy, params)))
        return failure();
      noteCorrection(func);
    }
    if (std::optional<std::string> rule = policy->unusedRule(trained))
      return refuse("rules must match a parameter each, got: " + *rule);
    return success();
  }

  LowerSparseCommOptions given() const {
    LowerSparseCommOptions options;
    options.density = density;
    options.method = method;
    options.minElements = minElements;
    options.rules.assign(rules.begin(), rules.end());
    options.feedback = feedback;
    options.momentum = momentum;
    options.mask = mask;
    options.secondMoment = secondMoment;
    options.epsilon = epsilon;
    options.squares = squares;
    options.clip = clip;
    options.select = select;
    options.values = values;
    options.unsentRate = unsentRate;
    options.samples = samples;
    options.earlyStop = earlyStop;
    options.seed = seed;
    options.exactEvery = exactEvery;
    options.fuseBytes = fuseBytes;
    return options;
  }
  SelectionRules rulesOfSelection() const { return sparse::rulesOfSelection(given()); }

  /// Says on what keeps moments how.
  void noteCorrection(func::FuncOp func) {
    std::string text = textOfCorrection(given());
    if (text.empty())
      return;
    for (auto fragment : func.front().getOps<cs::FragmentOp>())
      if (readsMoments(fragment) && !fragment->hasAttr(kCorrectionAttr))
        fragment->setAttr(kCorrectionAttr, StringAttr::get(&getContext(), text));
  }

  /// It is one for all gradients of a step, and the first run over it has decided: what that selected stays as it is.
  LogicalResult checkCorrection(func::FuncOp func, const Policy &policy) {
    std::string wanted = textOfCorrection(given());
    if (wanted.empty() && !policy.asks() && !anyGradientAsks())
      return success();
    StringAttr known;
    bool isSelected = false;
    for (Operation &op : func.front()) {
      if (auto own = op.getAttrOfType<StringAttr>(kCorrectionAttr))
        known = own;
      isSelected |= llvm::any_of(op.getOperandTypes(), [](Type type) {
        auto placed = dyn_cast<cs::PlacedType>(type);
        return placed && cs::CoordinatesAttr::of(placed.getTensor());
      });
    }
    StringRef made = known ? known.getValue() : "";
    if ((!known && !isSelected) || made == wanted)
      return success();
    auto named = [](StringRef correction) { return correction.empty() ? StringRef("momentum=0") : correction; };
    return func.emitOpError() << "has gradients that were lowered with " << named(made)
                              << ", which counts for all: a later run must ask for the same, got: " << named(wanted);
  }

  bool anyGradientAsks() {
    return getOperation()
        .walk([](Operation *op) {
          return op->hasAttr(cs::kDensityAttr) || op->hasAttr(cs::kSparseMethodAttr) ? WalkResult::interrupt()
                                                                                     : WalkResult::advance();
        })
        .wasInterrupted();
  }

  LogicalResult lower(func::FuncOp func, const Policy &policy,
                      const llvm::StringSet<> &params) {
    if (auto servers = func->getAttrOfType<cs::ServersAttr>(cs::CsDialect::kServersAttr))
      return lowerToServers(func, servers, policy);
    SmallVector<cs::AllReduceOp> gradients;
    for (auto op : func.front().getOps<cs::AllReduceOp>()) {
      if (op.getGroup() && (op->hasAttr(cs::kDensityAttr) || op->hasAttr(cs::kSparseMethodAttr)))
        return op.emitOpError() << "cannot be sparse: it is in a group of the nodes, "
                                << op.getGroupAttr();
      if (params.contains(op.getKey()) && !op.getGroup())
        gradients.push_back(op);
    }
    if (rulesOfSelection().correction.any() && failed(sparse::checkNotCombined(func, params)))
      return failure();
    if (gradients.empty())
      return success();
    FailureOr<cs::ClusterOp> cluster = findCluster(getOperation());
    if (failed(cluster))
      return failure();
    llvm::DenseSet<Operation *> others;
    for (Operation &op : func.front())
      if (isFusable(&op))
        others.insert(&op);
    ForwardUses forward;
    if (unsentRate > 0) {
      SmallVector<Operation *> begins(gradients.begin(), gradients.end());
      FailureOr<ForwardUses> found = findForwardUses(func, begins);
      if (failed(found))
        return failure();
      forward = std::move(*found);
    }
    for (cs::AllReduceOp op : gradients)
      if (failed(lower(func, op, *cluster,
                       policy.wishFor(op, op.getKey(), op.getValue().getType().getTensor(),
                                      op.getReduction()),
                       static_cast<int64_t>(gradients.size()), forward)))
        return failure();
    SmallVector<Operation *> exchanges;
    for (Operation &op : func.front())
      if (isFusable(&op) && !others.contains(&op))
        exchanges.push_back(&op);
    auto tell = [&](Operation *made, ArrayRef<StringRef> keys) {
      auto type = cast<cs::PlacedType>(made->getOperand(0).getType());
      place::remarkAt(made->getLoc(), getArgument(), func.getName(), "sparse",
                      [&](raw_ostream &os) {
                        os << "one message of " << place::bytesOf(type) << " bytes for \"";
                        llvm::interleave(keys, os, "\", \"");
                        os << '"';
                      });
    };
    fuseExchanges(exchanges,
                  fuseBytes < 0 ? fusionBytes(cluster->getInter()) : int64_t{fuseBytes}, tell);
    return success();
  }

  /// With parameter servers: trainers send lists, which servers add up.
  LogicalResult lowerToServers(func::FuncOp func, cs::ServersAttr servers,
                               const Policy &policy) {
    FailureOr<cs::ClusterOp> cluster = findCluster(getOperation());
    const SmallVector<SentGradient> gradients = findSentGradients(func);
    if (failed(cluster))
      return failure();
    struct Chosen {
      const SentGradient *gradient;
      ListOptions options;
      bool isSparse;
    };
    SmallVector<Chosen> chosen;
    SelectionRules rules = rulesOfSelection();
    for (const SentGradient &gradient : gradients) {
      cs::SendOp op = gradient.sends.front();
      RankedTensorType type = gradient.type();
      Wish wish = policy.wishFor(op, gradient.param, type, gradient.reduction);
      if (wish.method != Method::dense && wish.method != Method::automatic)
        return op.emitOpError() << "of \"" << gradient.param << "\" cannot use method "
                                << stringify(wish.method)
                                << " with parameter servers: method must be auto or dense";
      if (gradient.apart && (wish.method != Method::dense || rules.correction.any()))
        return cs::SendOp(gradient.apart).emitOpError()
               << "of \"" << gradient.param
               << "\" cannot be sparse: its blocks are combined on several devices";
      ListOptions options{wish.density, rules, valueTypeOf(values, type.getElementType()),
                          static_cast<int64_t>(cluster->getNodes())};
      int64_t lists = 0, all = 0;
      if (wish.method == Method::automatic) {
        std::tie(lists, all) = bytesToServers(gradient, options);
        if (lists >= all)
          wish = {1, Method::dense,
                  "its lists would have " + std::to_string(lists) + " of " +
                      std::to_string(all) + " bytes"};
      }
      bool isSparse = wish.method != Method::dense;
      place::remarkAt(op.getLoc(), getArgument(), func.getName(), "sparse",
                      [&](raw_ostream &os) {
                        os << "gradient \"" << gradient.param << "\": ";
                        if (!isSparse)
                          os << "dense" << (wish.why.empty() ? "" : ": ") << wish.why;
                        else
                          os << "lists of " << gradient.sends.size() << " blocks to servers, "
                             << lists << " of " << all << " bytes sent by a node";
                      });
      chosen.push_back({&gradient, std::move(options), isSparse});
    }
    bool any = llvm::any_of(chosen, [](const Chosen &c) { return c.isSparse; });
    if (servers.getSyncMode() != cs::SyncMode::sync && (any || rules.correction.any()))
      return func.emitOpError() << "has sparse gradients, which need sync-mode=sync, got: "
                                << cs::stringifySyncMode(servers.getSyncMode());
    if (rules.correction.secondMoment > 0)
      return func.emitOpError() << "cannot have second moments with parameter servers, whose "
                                   "optimizer sees the sum: second-moment must be 0, got: "
                                << std::to_string(rules.correction.secondMoment);
    if (unsentRate > 0 && any && cluster->getDevices() > 1)
      return func.emitOpError() << "cannot have an unsent rate on nodes of "
                                << cluster->getDevices()
                                << " devices: their parameters are the owner's";
    ForwardUses forward;
    if (unsentRate > 0 && any) {
      SmallVector<Operation *> begins;
      for (const Chosen &own : chosen)
        begins.push_back(own.gradient->first());
      FailureOr<ForwardUses> found = findForwardUses(func, begins);
      if (failed(found))
        return failure();
      forward = std::move(*found);
    }
    for (const Chosen &own : chosen) {
      if (own.isSparse) {
        if (failed(sendLists(func, *own.gradient, own.options, forward)))
          return failure();
        continue;
      }
      for (cs::SendOp send : own.gradient->sends) {
        send->removeAttr(cs::kDensityAttr);
        send->removeAttr(cs::kSparseMethodAttr);
      }
      if (rules.correction.any() && isa<FloatType>(own.gradient->type().getElementType()) &&
          failed(sendVelocity(func, *own.gradient, rules)))
        return failure();
    }
    return success();
  }

  /// Of a gradient that stays dense. A second run finds the state of the first.
  LogicalResult correct(func::FuncOp func, cs::AllReduceOp op, cs::ClusterOp cluster) {
    SelectionRules rules = rulesOfSelection();
    bool isCorrectable = isa<FloatType>(op.getValue().getType().getTensor().getElementType()) &&
                         (op.getReduction() == cs::Reduction::mean ||
                          op.getReduction() == cs::Reduction::sum);
    if (!rules.correction.any() || !isCorrectable)
      return success();
    for (Operation *user : op.getResult().getUsers())
      if (auto fragment = dyn_cast<cs::FragmentOp>(user);
          fragment && readsMoments(fragment, op.getKey()))
        return success();
    NodeGradient gradient(op, static_cast<unsigned>(cluster.getDevices()));
    return correctDense(func, op, gradient, cluster,
                        {Method::dense, /*density=*/1.0, std::move(rules), {}});
  }

  LogicalResult lower(func::FuncOp func, cs::AllReduceOp op, cs::ClusterOp cluster,
                      Wish wish, int64_t exchanges, const ForwardUses &forward) {
    auto tell = [&](auto write) {
      place::remarkAt(op.getLoc(), getArgument(), func.getName(), "sparse",
                      [&](raw_ostream &os) {
                        os << "gradient \"" << op.getKey() << "\": ";
                        write(os);
                      });
    };
    auto dense = [&](const Twine &why) {
      op->removeAttr(cs::kDensityAttr);
      op->removeAttr(cs::kSparseMethodAttr);
      if (std::string text = why.str(); !text.empty())
        tell([&](raw_ostream &os) { os << "dense: " << text; });
      return correct(func, op, cluster);
    };
    if (wish.method == Method::dense)
      return dense(wish.why);
    RankedTensorType type = op.getValue().getType().getTensor();
    if (cluster.getNodes() * cluster.getDevices() == 1)
      return dense("there is one rank");
    NodeGradient gradient(op, static_cast<unsigned>(cluster.getDevices()));
    // Without the devices' own gradients, and of shards, nodes exchange theirs.
    if (cluster.getNodes() == 1 && !gradient.isOfDevices())
      return dense("there is one node");
    int64_t elements = type.getNumElements();
    Type travels = valueTypeOf(values, type.getElementType());
    bool isRounded = travels != type.getElementType();
    ExchangeSize size{elements,
                      static_cast<int64_t>(type.getElementTypeBitWidth() / 8),
                      static_cast<int64_t>(travels.getIntOrFloatBitWidth() / 8),
                      selected(wish.density, elements),
                      {}};
    for (RankedTensorType shard : gradient.shardTypes())
      size.shards.push_back(selected(wish.density, shard.getNumElements()));
    // Sums of several ranks would be rounded, and no rank could keep what that cuts off.
    if (isRounded && (wish.method == Method::gTopK || wish.method == Method::okTopK))
      return op.emitOpError() << "of \"" << op.getKey() << "\" cannot use method "
                              << stringify(wish.method) << " with values=" << values
                              << ": sums travel, and what is rounded off them would be lost";
    bool isPowerOfTwo = llvm::isPowerOf2_64(cluster.getNodes());
    if (wish.method == Method::gTopK && !isPowerOfTwo)
      return op.emitOpError() << "of \"" << op.getKey()
                              << "\" cannot use method gtopk: needs a power of two of "
                                 "nodes, got: "
                              << cluster.getNodes();
    bool hasRegions = Regions::fits(size.selected, cluster.getNodes());
    if (wish.method == Method::okTopK && !hasRegions)
      return op.emitOpError() << "of \"" << op.getKey()
                              << "\" cannot use method oktopk: " << cluster.getNodes()
                              << " nodes that select " << size.selected
                              << " elements are more than can be counted";
    SmallVector<std::pair<Method, double>> times;
    for (Method candidate : {Method::dense, Method::allGather, Method::hiTopK, Method::gTopK,
                             Method::okTopK}) {
      if (isRounded && (candidate == Method::gTopK || candidate == Method::okTopK))
        continue;
      if (candidate == Method::okTopK && (!hasRegions || cluster.getNodes() == 1))
        continue;
      if (candidate == Method::gTopK && (!isPowerOfTwo || cluster.getNodes() == 1))
        continue;
      times.push_back({candidate, predictExchange(candidate, size, cluster, exchanges)});
    }
    Method chosen = wish.method;
    if (chosen == Method::automatic) // the first of equals
      chosen = std::min_element(times.begin(), times.end(), [](auto &a, auto &b) {
                 return a.second < b.second;
               })->first;
    tell([&](raw_ostream &os) {
      os << stringify(chosen);
      if (wish.method != Method::automatic)
        os << " (asked for)";
      os << ", " << size.selected << " of " << elements << " elements, "
         << static_cast<int64_t>(std::llround(bytesSent(chosen, size, cluster)))
         << " bytes sent by a node; predicted";
      for (auto [i, time] : llvm::enumerate(times))
        os << (i ? ", " : " ") << stringify(time.first) << " "
           << static_cast<int64_t>(std::llround(time.second)) << " ns";
    });
    if (chosen == Method::dense)
      return dense("");
    ExchangeOptions options{chosen, wish.density, rulesOfSelection(), travels};
    return exchange(func, op, gradient, cluster, options, forward);
  }
};

} // namespace
