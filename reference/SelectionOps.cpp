// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// cs: selections of elements, and what is made of them.

#include "reference/Ops.h"

#include "ir/CsSparseOps.h"
#include "reference/MsTopK.h"

#include <map>
#include <numeric>

using namespace mlir;
using namespace commsched;
using namespace commsched::reference;

namespace {

/// a + b as arith.addf adds.
Scalar add(Operation *op, const FloatFormat &format, const Scalar &a, const Scalar &b) {
  static const ScalarBuilder build = scalarBuilder("arith.addf");
  Machine machine;
  machine.registers = {a, b, {}};
  Instruction i;
  i.op = op;
  i.operands = {0, 1};
  i.result = 2;
  i.format = i.from = &format;
  build(op, i);
  i.run(i, machine);
  return machine.registers[2];
}

/// The first k of `entries` by magnitude, of equal ones the lower index; ascending.
/// `settled` is false if bounds allow other ones.
std::vector<int64_t> selectLargest(const std::vector<Scalar> &entries, int64_t k,
                                   bool &settled) {
  std::vector<int64_t> order(entries.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    return std::fabs(entries[a].value) > std::fabs(entries[b].value);
  });
  k = std::min<int64_t>(k, static_cast<int64_t>(order.size()));
  // The least magnitude that a chosen one may have, and the largest of the others; of
  // equal ones the lower index is chosen, if they are known to be equal.
  double least = kUndetermined, most = 0;
  bool leastIsKnown = true, mostIsKnown = true;
  for (int64_t i = 0; i < static_cast<int64_t>(order.size()); ++i) {
    const Scalar &entry = entries[order[i]];
    bool chosen = i < k, known = entry.bound == 0;
    double at = std::fabs(entry.value) + (chosen ? -entry.bound : entry.bound);
    double &extreme = chosen ? least : most;
    bool &isKnown = chosen ? leastIsKnown : mostIsKnown;
    if (at == extreme) {
      isKnown &= known;
    } else if (chosen ? at < extreme : at > extreme) {
      extreme = at;
      isKnown = known;
    }
  }
  settled = k == static_cast<int64_t>(order.size()) || least > most ||
            (least == most && leastIsKnown && mostIsKnown);
  order.resize(k);
  std::sort(order.begin(), order.end());
  return order;
}

void forget(Array &array) {
  std::fill(array.bounds.begin(), array.bounds.end(), kUndetermined);
}

} // namespace

/// Of `chosen`, the largest ones, leaves those that are not below the threshold.
/// `settled`, which says whether they are known to be the largest, becomes whether it is
/// known which are left.
static void leaveAbove(const Scalar &threshold, const std::vector<Scalar> &entries,
                       std::vector<int64_t> &chosen, bool &settled) {
  size_t above = 0;
  // A threshold that may be zero may not be one.
  bool known = threshold.value > threshold.bound;
  for (const Scalar &entry : entries) {
    double distance = std::fabs(entry.value) - threshold.value;
    above += distance >= 0;
    double doubt = entry.bound + threshold.bound;
    known &= doubt == 0 || std::fabs(distance) > doubt;
  }
  // If all of them have a place, it does not matter which are the largest.
  settled = known && (settled || above <= chosen.size());
  llvm::erase_if(chosen, [&](int64_t e) {
    return std::fabs(entries[e].value) < threshold.value;
  });
}

/// The least magnitude of `chosen`.
static Scalar leastOf(const std::vector<Scalar> &entries, const std::vector<int64_t> &chosen) {
  Scalar least;
  if (chosen.empty())
    return least;
  double low = kUndetermined, high = kUndetermined, middle = kUndetermined;
  for (int64_t e : chosen) {
    double magnitude = std::fabs(entries[e].value);
    low = std::min(low, magnitude - entries[e].bound);
    middle = std::min(middle, magnitude);
    high = std::min(high, magnitude + entries[e].bound);
  }
  least.value = middle;
  least.bound = std::max(middle - low, high - middle);
  return least;
}

static LogicalResult evaluateTopK(OpContext &context) {
  auto op = cast<cs::TopKOp>(context.op);
  for (unsigned i = 0; i < context.operands.size(); ++i)
    if (failed(checkWritten(context, i)))
      return failure();
  const Array &value = context.operand(0);
  const FloatFormat &format = *formatOf(value.elementType);
  ArrayPtr values = makeZeros(op.getValues().getType());
  ArrayPtr indices = makeZeros(op.getIndices().getType());
  ArrayPtr rest = makeZeros(op.getRest().getType());
  std::vector<Scalar> entries(value.size());
  for (int64_t e = 0; e < value.size(); ++e) {
    load(entries[e], value, e);
    if (op.getResidual()) {
      Scalar residual;
      load(residual, context.operand(1), e);
      entries[e] = add(op, format, entries[e], residual);
    }
    if (!std::isfinite(entries[e].value))
      return op.emitOpError() << "cannot select from a number that is not finite, element " << e;
    storeElement(*rest, e, entries[e]);
  }
  bool settled;
  std::vector<int64_t> chosen;
  auto select = [&]() -> LogicalResult {
    if (op.getMethod() != "mstopk") {
      chosen = selectLargest(entries, values->size(), settled);
      return success();
    }
    MsTopKDraw draw{static_cast<int64_t>(op.getSamples()), op.getSeed(), /*step=*/0};
    if (op.getStep()) {
      const Array &step = context.operand(context.operands.size() - 1);
      if (step.bounds[0] != 0)
        return op.emitOpError("has a number of the step that is not known, and cannot be "
                              "interpreted");
      draw.step = static_cast<int32_t>(step.ints[0]);
    }
    chosen = selectMsTopK(entries, values->size(), draw, settled);
    return success();
  };
  ArrayPtr next;
  if (!op.getThreshold()) {
    if (failed(select()))
      return failure();
  } else {
    const Array &state = context.operand(2);
    if (state.bounds[1] != 0)
      return op.emitOpError("has a threshold whose age is not known, and cannot be interpreted");
    auto every = static_cast<double>(op.getEvery());
    double age = state.values[1] >= 0 && state.values[1] < every ? state.values[1] : 0;
    Scalar threshold;
    load(threshold, state, 0);
    if (age != 0 && threshold.value > 0) {
      chosen = selectLargest(entries, values->size(), settled);
      leaveAbove(threshold, entries, chosen, settled);
    } else {
      if (failed(select()))
        return failure();
      settled &= age == 0 || threshold.bound == 0;
      threshold = leastOf(entries, chosen);
    }
    next = makeZeros(op.getNext().getType());
    storeElement(*next, 0, threshold);
    next->values[1] = age + 1 < every ? age + 1 : 0;
    if (!settled)
      next->bounds[0] = kUndetermined;
  }
  std::fill(indices->ints.begin(), indices->ints.end(), -1);
  for (auto [i, e] : llvm::enumerate(chosen)) {
    storeElement(*values, i, entries[e]);
    indices->ints[i] = e;
    rest->values[e] = 0;
    rest->bounds[e] = 0;
  }
  if (!settled) {
    forget(*values);
    forget(*indices);
    // Each element is there, or is zero.
    for (int64_t e = 0; e < rest->size(); ++e)
      rest->bounds[e] = std::fabs(entries[e].value) + entries[e].bound;
  }
  context.results.append({values, indices, rest});
  if (next)
    context.results.push_back(next);
  return success();
}

/// Reads index `i` of a list: -1 is padding. Fails outside of `size` elements.
static FailureOr<int64_t> readIndex(OpContext &context, const Array &list, int64_t i,
                                    int64_t size) {
  int64_t index = list.ints[i];
  if (index < -1 || index >= size)
    return context.op->emitOpError() << "has index " << index << " outside of " << size
                                     << " elements";
  return index;
}

static bool hasBounds(const Array &array) {
  return llvm::any_of(array.bounds, [](double bound) { return bound != 0; });
}

static LogicalResult evaluateScatterAdd(OpContext &context) {
  auto op = cast<cs::ScatterAddOp>(context.op);
  for (unsigned i = 0; i < context.operands.size(); ++i)
    if (failed(checkWritten(context, i)))
      return failure();
  const Array &values = context.operand(0), &indices = context.operand(1);
  unsigned next = 2;
  const Array *except = op.getExcept() ? &context.operand(next++) : nullptr;
  ArrayPtr result = op.getInto() ? owned(std::move(context.operands[next]))
                                 : makeZeros(op.getResult().getType());
  const FloatFormat &format = *formatOf(result->elementType);
  double over = static_cast<double>(op.getOver());
  std::vector<bool> out(result->size());
  for (int64_t i = 0; except && i < except->size(); ++i)
    if (except->ints[i] >= 0 && except->ints[i] < result->size())
      out[except->ints[i]] = true;
  for (int64_t i = 0; i < indices.size(); ++i) {
    FailureOr<int64_t> index = readIndex(context, indices, i, result->size());
    if (failed(index))
      return failure();
    if (*index < 0 || out[*index])
      continue;
    Scalar sum, term;
    load(sum, *result, *index);
    load(term, values, i);
    if (over != 1)
      // Divided, or times a factor that is rounded.
      store(term, format, term.value / over,
            3 * format.unit * std::fabs(term.value / over), term.bound / over);
    storeElement(*result, *index, add(op, format, sum, term));
  }
  if (hasBounds(indices) || (except && hasBounds(*except)))
    forget(*result);
  context.results.push_back(std::move(result));
  return success();
}

static LogicalResult evaluateScatterClear(OpContext &context) {
  const Array &indices = context.operand(1);
  if (failed(checkWritten(context, 1)))
    return failure();
  ArrayPtr result = owned(std::move(context.operands[0]));
  for (int64_t i = 0; i < indices.size(); ++i) {
    FailureOr<int64_t> index = readIndex(context, indices, i, result->size());
    if (failed(index))
      return failure();
    if (*index < 0)
      continue;
    result->values[*index] = 0;
    result->bounds[*index] = 0;
  }
  if (hasBounds(indices))
    forget(*result);
  context.results.push_back(std::move(result));
  return success();
}

static LogicalResult evaluateMergeTopK(OpContext &context) {
  auto op = cast<cs::MergeTopKOp>(context.op);
  if (failed(checkWritten(context, 0)) || failed(checkWritten(context, 1)))
    return failure();
  const Array &values = context.operand(0), &indices = context.operand(1);
  const FloatFormat &format = *formatOf(values.elementType);
  std::map<int64_t, Scalar> sums;
  for (int64_t i = 0; i < indices.size(); ++i) {
    if (indices.ints[i] < 0)
      continue;
    Scalar term;
    load(term, values, i);
    auto [entry, isNew] = sums.try_emplace(indices.ints[i], term);
    if (!isNew)
      entry->second = add(op, format, entry->second, term);
  }
  std::vector<Scalar> entries;
  std::vector<int64_t> names;
  for (const auto &[index, sum] : sums) {
    names.push_back(index);
    entries.push_back(sum);
  }
  ArrayPtr top = makeZeros(op.getTopValues().getType());
  ArrayPtr places = makeZeros(op.getTopIndices().getType());
  std::fill(places->ints.begin(), places->ints.end(), -1);
  bool settled;
  for (auto [i, e] : llvm::enumerate(selectLargest(entries, top->size(), settled))) {
    storeElement(*top, i, entries[e]);
    places->ints[i] = names[e];
  }
  if (!settled || hasBounds(indices)) {
    forget(*top);
    forget(*places);
  }
  context.results.append({top, places});
  return success();
}

void commsched::reference::addSelectionOps(OpTable &table) {
  table["cs.top_k"] = evaluateTopK;
  table["cs.scatter_add"] = evaluateScatterAdd;
  table["cs.scatter_clear"] = evaluateScatterClear;
  table["cs.merge_top_k"] = evaluateMergeTopK;
}
