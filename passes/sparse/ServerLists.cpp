// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/sparse/ServerLists.h"

#include "ir/CsServerFunctions.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "passes/place/Devices.h"
#include "passes/sparse/Exchange.h"
#include "passes/sparse/FragmentMaker.h"
#include "passes/sparse/RankStates.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace commsched;
using namespace commsched::sparse;
using place::placedType;

RankedTensorType SentGradient::type() const { return placedType(value).getTensor(); }

Operation *SentGradient::first() const {
  return split ? split : cs::SendOp(sends.front()).getOperation();
}

bool SentGradient::hasBody() const {
  auto made = place::sourceOf(value).getDefiningOp<cs::FragmentOp>();
  return !made || made.hasBody();
}

SmallVector<SentGradient> sparse::findSentGradients(func::FuncOp func) {
  // By what servers hand out, under another key: what they make it of.
  SymbolTableCollection symbols;
  struct Served {
    cs::SendOp send;
    cs::Reduction reduction;
  };
  llvm::DenseMap<Operation *, llvm::StringMap<cs::Reduction>> collects;
  llvm::StringMap<Served> served;
  for (auto send : func.front().getOps<cs::SendOp>()) {
    auto server = cs::getServerOf(send, &symbols);
    if (!server || server.isExternal())
      continue;
    auto [known, isNew] = collects.try_emplace(server);
    if (isNew)
      for (auto collect : server.getFunctionBody().getOps<cs::CollectOp>())
        known->second[collect.getKey()] = collect.getReduction().value_or(cs::Reduction::mean);
    if (auto it = known->second.find(send.getKey()); it != known->second.end())
      served[cs::getNewKey(send.getKey())] = {send, it->second};
  }
  SmallVector<SentGradient> found;
  llvm::StringSet<> seen;
  Operation *ret = func.front().getTerminator();
  for (unsigned i = 0, e = func.getNumArguments(); i < e; ++i) {
    auto name = func.getArgAttrOfType<StringAttr>(i, cs::CsDialect::kParamAttr);
    if (!name || !seen.insert(name.getValue()).second) // each device has the parameter
      continue;
    SentGradient gradient;
    gradient.param = name.str();
    for (unsigned r = 0, n = func.getNumResults(); r < n && gradient.sends.empty(); ++r) {
      if (func.getResultAttrOfType<StringAttr>(r, cs::CsDialect::kUpdatesAttr) != name)
        continue;
      Operation *made = place::sourceOf(ret->getOperand(r)).getDefiningOp();
      SmallVector<Value> parts;
      if (auto concat = dyn_cast_or_null<cs::ConcatOp>(made))
        llvm::append_range(parts, concat->getOperands());
      else if (made)
        parts.push_back(made->getResult(0));
      for (Value part : parts) {
        auto recv = place::sourceOf(part).getDefiningOp<cs::RecvOp>();
        auto known = recv ? served.find(recv.getKey()) : served.end();
        if (known == served.end()) {
          gradient.sends.clear();
          break;
        }
        gradient.sends.push_back(known->second.send);
        gradient.reduction = known->second.reduction;
      }
    }
    if (gradient.sends.empty())
      continue;
    gradient.value = gradient.sends.front().getValue();
    if (cs::CoordinatesAttr::of(gradient.type())) // done already
      continue;
    if (gradient.sends.size() > 1) {
      auto split = gradient.value.getDefiningOp<cs::SplitOp>();
      for (auto [block, send] : llvm::enumerate(gradient.sends))
        if (cs::SendOp own = send;
            !gradient.apart && (!split || split.getNumResults() != gradient.sends.size() ||
                                own.getValue() != split.getResult(block)))
          gradient.apart = send;
      if (!gradient.apart) {
        gradient.split = split;
        gradient.value = split.getOperand();
      }
    }
    found.push_back(std::move(gradient));
  }
  return found;
}

namespace {

RankedTensorType blockType(const SentGradient &gradient, cs::SendOp send) {
  RankedTensorType own = placedType(send.getValue()).getTensor();
  return gradient.sends.size() == 1 ? gradient.type() : own;
}

class ListSender {
public:
  ListSender(func::FuncOp func, const SentGradient &gradient, const ListOptions &options)
      : func(func), gradient(gradient), options(options), builder(gradient.first()),
        loc(gradient.first()->getLoc()), states(func, loc, gradient.param) {}

  LogicalResult run(const ForwardUses &forward);

private:
  SelectionContext contextOf(RankedTensorType type) {
    return {builder, loc, type, selected(options.density, type.getNumElements()),
            options.values, options.rules, gradient.hasBody()};
  }
  FailureOr<SmallVector<Value>> keepThresholds();
  SmallVector<Value> body(FragmentMaker &maker, ArrayRef<SelectionContext> contexts,
                          const Kept &kept);

  func::FuncOp func;
  const SentGradient &gradient;
  const ListOptions &options;
  OpBuilder builder;
  Location loc;
  RankStates states;
};

/// Each block has a threshold of its own.
FailureOr<SmallVector<Value>> ListSender::keepThresholds() {
  SmallVector<Value> thresholds;
  if (options.rules.exactEvery == 1)
    return thresholds;
  cs::PlacedType whole = placedType(gradient.value);
  auto type = cs::PlacedType::get(func.getContext(), cs::thresholdType(func.getContext()),
                                  whole.getDevice(), whole.getMemory());
  size_t blocks = gradient.sends.size();
  for (size_t block = 0; block < blocks; ++block) {
    FailureOr<Value> state = states.add(cs::getBlockKey(".threshold", block, blocks), type);
    if (failed(state))
      return failure();
    thresholds.push_back(*state);
  }
  return thresholds;
}

/// Messages, then the next values of what is kept, then of thresholds. Blocks are rows of
/// the gradient, and of what is kept of it.
SmallVector<Value> ListSender::body(FragmentMaker &maker,
                                    ArrayRef<SelectionContext> contexts, const Kept &kept) {
  OpBuilder &in = maker.inside;
  Value whole = clipped(in, loc, maker.argument(0), options.rules, options.ranks);
  Kept own = kept.with(maker.arguments().drop_front());
  auto thresholds = maker.arguments().drop_front(1 + kept.present().size());
  bool cut = contexts.size() > 1;
  int64_t row = 0;
  auto slices = [&](Value value, int64_t rows) {
    SmallVector<OpFoldResult> offsets, sizes, strides;
    for (auto [d, size] : llvm::enumerate(cast<RankedTensorType>(value.getType()).getShape())) {
      offsets.push_back(in.getIndexAttr(d == 0 ? row : 0));
      sizes.push_back(in.getIndexAttr(d == 0 ? rows : size));
      strides.push_back(in.getIndexAttr(1));
    }
    return std::tuple(offsets, sizes, strides);
  };
  auto partOf = [&](Value value, int64_t rows) -> Value {
    if (!value || !cut)
      return value;
    auto [offsets, sizes, strides] = slices(value, rows);
    return tensor::ExtractSliceOp::create(in, loc, value, offsets, sizes, strides);
  };
  Kept next;
  auto join = [&](Value part, Value old, Value &joined, int64_t rows) {
    if (!part)
      return;
    if (!cut) {
      joined = part;
      return;
    }
    auto type = cast<RankedTensorType>(old.getType());
    if (!joined)
      joined = tensor::EmptyOp::create(in, loc, type.getShape(), type.getElementType());
    auto [offsets, sizes, strides] = slices(joined, rows);
    joined = tensor::InsertSliceOp::create(in, loc, part, joined, offsets, sizes, strides);
  };
  SmallVector<Value> messages, nextThresholds;
  for (auto [block, context] : llvm::enumerate(contexts)) {
    int64_t rows = context.type.getRank() ? context.type.getDimSize(0) : 1;
    Kept part = own;
    part.residual = partOf(own.residual, rows);
    part.moments.velocity = partOf(own.moments.velocity, rows);
    if (!thresholds.empty())
      part.threshold = thresholds[block];
    std::string label =
        cs::getBlockKey(maker.fragment.getLabel(), block, contexts.size());
    SelectedInside made = selectFrom(context, in, label, partOf(whole, rows), part, options.ranks);
    messages.push_back(packSelected(context, in, made));
    join(made.kept.residual, own.residual, next.residual, rows);
    join(made.kept.moments.velocity, own.moments.velocity, next.moments.velocity, rows);
    next.step = made.kept.step; // of all blocks alike
    if (made.kept.threshold)
      nextThresholds.push_back(made.kept.threshold);
    row += rows;
  }
  SmallVector<Value> returned = std::move(messages);
  llvm::append_range(returned, next.present());
  llvm::append_range(returned, nextThresholds);
  return returned;
}

LogicalResult ListSender::run(const ForwardUses &forward) {
  SelectionRules withoutThreshold = options.rules;
  withoutThreshold.exactEvery = 1;
  FailureOr<Kept> kept = states.keep(withoutThreshold, "", placedType(gradient.value));
  if (failed(kept))
    return failure();
  FailureOr<SmallVector<Value>> thresholds = keepThresholds();
  if (failed(thresholds))
    return failure();
  SmallVector<SelectionContext> contexts;
  SmallVector<RankedTensorType> results;
  int64_t bytes = passesOfSelection(options.rules, *kept) *
                  place::bytesOf(placedType(gradient.value));
  for (cs::SendOp send : gradient.sends) {
    const SelectionContext &context =
        contexts.emplace_back(contextOf(blockType(gradient, send)));
    results.push_back(context.messageType(1, context.k, /*counted=*/false));
    bytes += context.messageBytes(1, context.k, /*counted=*/false);
  }
  SmallVector<Value> inputs{gradient.value};
  llvm::append_range(inputs, kept->present());
  llvm::append_range(inputs, *thresholds);
  for (Value state : ArrayRef(inputs).drop_front())
    results.push_back(placedType(state).getTensor());
  FragmentMaker maker(builder, loc, "top_k." + gradient.param, inputs, results,
                      2 * gradient.type().getNumElements(), bytes, /*deferred=*/false,
                      gradient.hasBody());
  if (maker.hasBody())
    maker.finish(loc, body(maker, contexts, *kept));
  ValueRange outputs = maker.fragment.getOutputs();
  for (auto [send, message] : llvm::zip(gradient.sends, outputs)) {
    cs::SendOp(send).getValueMutable().assign(message);
    send->removeAttr(cs::kDensityAttr);
    send->removeAttr(cs::kSparseMethodAttr);
  }
  if (gradient.split)
    gradient.split->erase();
  states.setNext(outputs.drop_front(gradient.sends.size()));
  states.addResults();
  computeAhead(func, loc, gradient.param, forward, kept->residual, options.rules.unsentRate,
               gradient.hasBody());
  return success();
}

} // namespace

std::pair<int64_t, int64_t> sparse::bytesToServers(const SentGradient &gradient,
                                                   const ListOptions &options) {
  int64_t bytes = 0;
  for (cs::SendOp send : gradient.sends) {
    int64_t k = selected(options.density, blockType(gradient, send).getNumElements());
    bytes += cs::kWordBytes * cs::CoordinatesAttr::wordsOfRow(
                                  k, options.values.getIntOrFloatBitWidth() / 8,
                                  /*counted=*/false);
  }
  return {bytes, place::bytesOf(placedType(gradient.value))};
}

LogicalResult sparse::sendLists(func::FuncOp func, const SentGradient &gradient,
                                const ListOptions &options, const ForwardUses &forward) {
  return ListSender(func, gradient, options).run(forward);
}

LogicalResult sparse::sendVelocity(func::FuncOp func, const SentGradient &gradient,
                                   const SelectionRules &rules) {
  Operation *at = gradient.first();
  if (auto made = gradient.value.getDefiningOp<cs::FragmentOp>();
      made && readsMoments(made, gradient.param)) // done already
    return success();
  RankStates states(func, at->getLoc(), gradient.param);
  FailureOr<Moments> moments =
      states.keepMoments(rules.correction, "", placedType(gradient.value));
  if (failed(moments))
    return failure();
  OpBuilder builder(at);
  RankedTensorType type = gradient.type();
  FragmentMaker maker(builder, at->getLoc(), "correct." + gradient.param,
                      {gradient.value, moments->velocity}, {type, type},
                      2 * type.getNumElements(),
                      passesOfCorrection(rules.correction) *
                          place::bytesOf(placedType(gradient.value)),
                      /*deferred=*/false, gradient.hasBody());
  if (maker.hasBody()) {
    auto [direction, next] =
        correct(maker.inside, at->getLoc(), maker.argument(0),
                moments->with(maker.arguments().drop_front()), rules.correction,
                /*ranks=*/1);
    maker.finish(at->getLoc(), {direction, next.velocity});
  }
  auto outputs = maker.fragment.getOutputs();
  at->setOperand(0, outputs.front());
  states.setNext(outputs.drop_front());
  states.addResults();
  return success();
}
