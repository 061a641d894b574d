// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/plan/MemoryTrace.h"
#include "passes/plan/Stages.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

#include <set>

using namespace mlir;

namespace commsched::planexport {

// Joins of loops and conditions may begin with one iteration or another: what
// changes in more rounds than this is not known.
static constexpr unsigned kRounds = 64;

void MemoryTrace::mergeRoots(const std::vector<Root> &other) {
  for (auto [root, more] : llvm::zip(roots, other))
    root.content.merge(more.content);
}

/// What is behind `memref` now, as a dense tensor.
Content MemoryTrace::behind(const Pointer &pointer) {
  View view = denseView(pointer.view.sizes, pointer.view.elementBytes);
  Content content(view.region.box, {});
  content.copy(roots[pointer.root].content, pointer.view, view);
  return content;
}

/// Makes `result` one of `pointers`, behind which there was `contents` where each
/// was chosen.
void MemoryTrace::choose(Value result, ArrayRef<Pointer> pointers,
                         ArrayRef<Content> contents) {
  if (llvm::all_of(pointers, [&](const Pointer &pointer) {
        return pointer.root == pointers[0].root &&
               pointer.view.region == pointers[0].view.region;
      })) {
    memrefs[result] = pointers[0];
    return;
  }
  View view = denseView(pointers[0].view.sizes, pointers[0].view.elementBytes);
  unsigned root = newRoot(view, {});
  roots[root].content = contents[0];
  for (const Content &other : contents.drop_front())
    roots[root].content.merge(other);
  roots[root].either.assign(pointers.begin(), pointers.end());
  memrefs[result] = {root, view};
}

LogicalResult MemoryTrace::branches(Operation *op) {
  std::vector<Root> before = roots, after;
  SmallVector<Contents> results;
  SmallVector<SmallVector<Value>> yields;
  for (mlir::Region &region : op->getRegions()) {
    // Roots that a branch makes stay, so that roots keep their numbers.
    for (size_t i = 0; i < before.size(); ++i)
      roots[i] = before[i];
    Contents values(op->getNumResults());
    SmallVector<Value> yielded;
    if (!region.empty()) {
      if (failed(block(region.front())))
        return failure();
      yielded = llvm::to_vector(region.front().getTerminator()->getOperands());
      for (auto [i, value] : llvm::enumerate(yielded))
        if (isa<RankedTensorType>(value.getType())) {
          values[i] = content(value);
        } else if (isa<MemRefType>(value.getType())) {
          FailureOr<Pointer> from = pointer(op, value);
          if (failed(from))
            return failure();
          values[i] = behind(*from);
        }
    }
    std::vector<Root> now = roots;
    if (!after.empty())
      for (size_t i = 0; i < after.size(); ++i)
        now[i].content.merge(after[i].content);
    after = std::move(now);
    results.push_back(std::move(values));
    yields.push_back(std::move(yielded));
  }
  roots = std::move(after);
  for (auto [i, result] : llvm::enumerate(op->getResults())) {
    if (isa<RankedTensorType>(result.getType())) {
      Content value = results[0][i];
      for (Contents &other : llvm::drop_begin(results))
        value.merge(other[i]);
      set(result, std::move(value));
    } else if (isa<MemRefType>(result.getType())) {
      SmallVector<Pointer, 2> pointers;
      Contents values;
      for (auto [yielded, branch] : llvm::zip(yields, results)) {
        pointers.push_back(memrefs[yielded[i]]);
        values.push_back(branch[i]);
      }
      choose(result, pointers, values);
    }
  }
  return success();
}

/// Whether what `source` names lies in `op`.
template <typename Numbers>
static auto insideOf(Operation *op, const Numbers &numbers) {
  std::set<std::pair<Source::Kind, unsigned>> inside;
  op->walk([&](Operation *nested) {
    auto it = numbers.find(nested);
    // A fill may be done again in a loop that it was in front of.
    if (nested == op || it == numbers.end() || isa<linalg::FillOp>(nested))
      return;
    if (isa<tensor::ExtractOp, memref::LoadOp>(nested))
      return;
    Source::Kind kind =
        isa<memref::StoreOp, tensor::InsertOp, tensor::FromElementsOp>(nested)
            ? Source::Stored
            : Source::Structured;
    unsigned count = isa<tensor::FromElementsOp>(nested) ? nested->getNumOperands() : 1;
    for (unsigned i = 0; i < count; ++i)
      inside.insert({kind, it->second + i});
  });
  return [inside](const Source &source) {
    return inside.contains({source.kind, source.number});
  };
}

/// What an iteration begins with is `known`, or what one has left. Whether that is new.
static bool joinIteration(Content &known, Content next,
                          llvm::function_ref<bool(const Source &)> inLoop) {
  next.nextIteration(inLoop);
  Content joined = known;
  joined.merge(next);
  bool changed = !(joined == known);
  known = std::move(joined);
  return changed;
}

LogicalResult MemoryTrace::loop(LoopLikeOpInterface op) {
  auto inLoop = insideOf(op, numbers);
  Block &body = op.getLoopRegions()[0]->front();
  auto args = op.getRegionIterArgs();
  auto inits = op.getInits();
  Contents entry(args.size());
  for (auto [i, arg] : llvm::enumerate(args)) {
    if (isa<RankedTensorType>(arg.getType())) {
      entry[i] = content(inits[i]);
    } else if (isa<MemRefType>(arg.getType())) {
      FailureOr<Pointer> from = pointer(op, inits[i]);
      if (failed(from))
        return failure();
      memrefs[arg] = *from;
    }
  }
  std::vector<Root> before = roots;
  ValueRange yields = body.getTerminator()->getOperands();
  for (unsigned round = 0;; ++round) {
    if (round == kRounds)
      return unknown(op);
    for (auto [i, arg] : llvm::enumerate(args))
      if (isa<RankedTensorType>(arg.getType()))
        set(arg, entry[i]);
    for (size_t i = 0; i < before.size(); ++i)
      roots[i] = before[i];
    if (failed(block(body)))
      return failure();
    bool changed = false;
    auto join = [&](Content &known, Content next) {
      changed |= joinIteration(known, std::move(next), inLoop);
    };
    for (size_t i = 0; i < before.size(); ++i)
      join(before[i].content, roots[i].content);
    for (auto [i, arg] : llvm::enumerate(args)) {
      if (isa<RankedTensorType>(arg.getType())) {
        join(entry[i], content(yields[i]));
      } else if (isa<MemRefType>(arg.getType())) {
        FailureOr<Pointer> next = pointer(op, yields[i]);
        if (failed(next) || next->root != memrefs[arg].root ||
            !(next->view.region == memrefs[arg].view.region))
          return unknown(op);
      }
    }
    if (!changed)
      break;
  }
  // Not one iteration, or some.
  bool runs = false;
  if (auto loop = dyn_cast<scf::ForOp>(op.getOperation())) {
    auto from = getConstantIntValue(loop.getLowerBound());
    auto to = getConstantIntValue(loop.getUpperBound());
    runs = from && to && *from < *to;
  }
  if (!runs)
    mergeRoots(before);
  for (auto [i, arg] : llvm::enumerate(args)) {
    Value result = op.getLoopResults()->operator[](i);
    if (isa<RankedTensorType>(arg.getType())) {
      Content value = content(yields[i]);
      if (!runs)
        value.merge(entry[i]);
      set(result, std::move(value));
    } else if (isa<MemRefType>(arg.getType())) {
      memrefs[result] = Pointer(memrefs[arg]);
    }
  }
  return success();
}

LogicalResult MemoryTrace::whileLoop(Operation *operation) {
  auto op = cast<scf::WhileOp>(operation);
  auto inLoop = insideOf(op, numbers);
  auto carry = [&](ValueRange values, ValueRange to, bool first) -> LogicalResult {
    for (auto [value, arg] : llvm::zip(values, to))
      if (isa<MemRefType>(arg.getType())) {
        FailureOr<Pointer> from = pointer(op, value);
        if (failed(from))
          return failure();
        auto [it, fresh] = memrefs.try_emplace(arg, *from);
        if (!fresh && !first &&
            (it->second.root != from->root ||
             !(it->second.view.region == from->view.region)))
          return unknown(op);
        it->second = *from;
      }
    return success();
  };
  ValueRange beforeArgs = op.getBeforeArguments(), afterArgs = op.getAfterArguments();
  Contents entry(beforeArgs.size());
  for (auto [i, init] : llvm::enumerate(op.getInits()))
    if (isa<RankedTensorType>(init.getType()))
      entry[i] = content(init);
  std::vector<Root> before = roots, atExit;
  ValueRange forwarded = op.getConditionOp().getArgs(), yields = op.getYieldOp()->getOperands();
  for (unsigned round = 0;; ++round) {
    if (round == kRounds || failed(carry(op.getInits(), beforeArgs, round == 0)))
      return round == kRounds ? unknown(op) : failure();
    for (auto [i, arg] : llvm::enumerate(beforeArgs))
      if (isa<RankedTensorType>(arg.getType()))
        set(arg, entry[i]);
    for (size_t i = 0; i < before.size(); ++i)
      roots[i] = before[i];
    if (failed(block(*op.getBeforeBody())) || failed(carry(forwarded, afterArgs, round == 0)))
      return failure();
    atExit = roots;
    for (auto [value, arg] : llvm::zip(forwarded, afterArgs))
      if (isa<RankedTensorType>(arg.getType()))
        set(arg, Content(content(value)));
    for (auto [value, result] : llvm::zip(forwarded, op.getResults()))
      if (isa<RankedTensorType>(result.getType()))
        set(result, Content(content(value)));
    if (failed(block(*op.getAfterBody())) || failed(carry(yields, beforeArgs, false)))
      return failure();
    bool changed = false;
    auto join = [&](Content &known, Content next) {
      changed |= joinIteration(known, std::move(next), inLoop);
    };
    for (size_t i = 0; i < before.size(); ++i)
      join(before[i].content, roots[i].content);
    for (auto [i, value] : llvm::enumerate(yields))
      if (isa<RankedTensorType>(value.getType()))
        join(entry[i], content(value));
    if (!changed)
      break;
  }
  for (size_t i = 0; i < atExit.size(); ++i)
    roots[i] = atExit[i];
  for (auto [value, result] : llvm::zip(forwarded, op.getResults()))
    if (isa<MemRefType>(result.getType()))
      memrefs[result] = Pointer(memrefs[value]);
  return success();
}

} // namespace commsched::planexport
