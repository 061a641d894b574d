// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// cs: lists of selected elements as they travel, and cut by regions of the indices.
//
// A message is a matrix of words, integers. The bound of a word with bits of values is
// that of the values, also of those that a scale makes of them, which is all that moving
// words needs to keep.

#include "reference/Ops.h"

#include "ir/CsSparseOps.h"

#include <numeric>

using namespace mlir;
using namespace commsched;
using namespace commsched::reference;

static void forget(Array &array) {
  std::fill(array.bounds.begin(), array.bounds.end(), kUndetermined);
}

static bool isKnown(const Array &array) {
  return llvm::all_of(array.bounds, [](double bound) { return bound == 0; });
}

static LogicalResult checkAllWritten(OpContext &context) {
  for (unsigned i = 0; i < context.operands.size(); ++i)
    if (failed(checkWritten(context, i)))
      return failure();
  return success();
}

/// Where a row has what.
namespace {
struct Row {
  int64_t words, entries, valueBytes, valueWords;
  bool counted, hasScales, isQuantized;

  explicit Row(Type type) {
    auto coordinates = cs::CoordinatesAttr::of(type);
    words = cast<RankedTensorType>(type).getDimSize(1);
    valueBytes = coordinates.valueBytes();
    entries = coordinates.entriesOfRow(words);
    hasScales = coordinates.hasScales();
    isQuantized = coordinates.isQuantized();
    valueWords = (entries * valueBytes + 3) / 4 + (hasScales ? 1 : 0);
    counted = coordinates.getCounted();
  }
  /// The word that value `i` lies in, and which part of it.
  int64_t wordOf(int64_t i) const { return i * valueBytes / 4; }
  int64_t shiftOf(int64_t i) const { return 8 * (i * valueBytes % 4); }
  uint64_t mask() const { return (uint64_t(1) << (8 * valueBytes)) - 1; }
};

/// The values of one list as they travel: codes in the type of the encoding, which the
/// scale makes `read` of, and how far what is read may be from that.
struct Rounded {
  ArrayPtr codes;
  float scale = 0;
  std::vector<double> read, bounds;
};
} // namespace

/// The number that `value` is in a narrower type, a magnitude beyond its largest being that.
static double saturated(double value, const FloatFormat &format) {
  return std::clamp(format.round(value), -format.largest, format.largest);
}

/// Of f32, of what a quotient or a product of it may be off.
constexpr double kNarrow = 0x1p-22;

static Rounded roundList(const Array &values, int64_t begin, const Row &row, Type type) {
  Rounded rounded;
  rounded.codes = makeZeros(type, {row.entries});
  const FloatFormat &element = *formatOf(values.elementType);
  double largest = 0, doubt = 0;
  for (int64_t i = begin; i < begin + row.entries; ++i) {
    largest = std::max(largest, std::fabs(values.values[i]));
    doubt = std::max(doubt, values.bounds[i]);
  }
  rounded.scale = static_cast<float>(largest) / 127.0f;
  for (int64_t i = 0; i < row.entries; ++i) {
    double value = values.values[begin + i], bound = values.bounds[begin + i];
    if (row.hasScales) {
      float quotient = rounded.scale == 0 ? 0 : static_cast<float>(value) / rounded.scale;
      double code = std::nearbyint(std::clamp(quotient, -127.0f, 127.0f));
      rounded.codes->ints[i] = static_cast<int64_t>(code);
      double read = static_cast<float>(code) * rounded.scale;
      rounded.read.push_back(element.round(read));
      if (doubt == 0) {
        rounded.bounds.push_back(0);
        continue;
      }
      // How far the quotient is from where another integer would be next, and may be off.
      double scaleDoubt = doubt / 127 + kNarrow * rounded.scale;
      double margin = 0.5 - std::fabs(quotient - code);
      double off = rounded.scale > scaleDoubt
                       ? (bound + (std::fabs(quotient) + 1) * scaleDoubt) /
                             (rounded.scale - scaleDoubt)
                       : kUndetermined;
      double codes = off < margin ? 0 : 1 + std::ceil(std::min(off, 254.0));
      rounded.bounds.push_back((std::fabs(code) + codes) * scaleDoubt +
                               codes * rounded.scale + 2 * element.unit * std::fabs(read));
      continue;
    }
    const FloatFormat &format = *formatOf(type);
    rounded.codes->values[i] = saturated(value, format);
    rounded.read.push_back(rounded.codes->values[i]);
    // Rounding keeps the order.
    rounded.bounds.push_back(
        isUndetermined(bound) ? kUndetermined : std::max(saturated(value + bound, format) - rounded.codes->values[i], rounded.codes->values[i] - saturated(value - bound, format)));
  }
  return rounded;
}

static LogicalResult evaluatePackLists(OpContext &context) {
  if (failed(checkAllWritten(context)))
    return failure();
  auto op = cast<cs::PackListsOp>(context.op);
  const Array &values = context.operand(0), &indices = context.operand(1);
  const Array *counts = op.getCounts() ? &context.operand(2) : nullptr;
  Row row(op.getLists().getType());
  ArrayPtr lists = makeZeros(op.getLists().getType());
  std::vector<char> bytes = toBytes(values);
  std::vector<double> bounds = values.bounds;
  std::vector<float> scales;
  ArrayPtr error = op.getError() ? makeZeros(op.getError().getType()) : nullptr;
  if (row.isQuantized) {
    Type type = cs::CoordinatesAttr::of(op.getLists().getType()).getValues();
    const FloatFormat &element = *formatOf(values.elementType);
    bytes.clear();
    for (int64_t begin = 0; begin < values.size(); begin += row.entries) {
      Rounded list = roundList(values, begin, row, type);
      llvm::append_range(bytes, toBytes(*list.codes));
      scales.push_back(list.scale);
      for (int64_t i = 0; i < row.entries; ++i) {
        bounds[begin + i] = list.bounds[i];
        if (!error)
          continue;
        double left = values.values[begin + i] - list.read[i];
        error->values[begin + i] = element.round(left);
        double doubt = values.bounds[begin + i] + list.bounds[i];
        error->bounds[begin + i] = doubt == 0 ? 0 : doubt + 2 * element.unit * std::fabs(left);
      }
    }
  }
  int64_t own = lists->shape[0] / static_cast<int64_t>(op.getTimes());
  auto put = [&](int64_t word, uint64_t bits, double bound) {
    auto all = static_cast<uint32_t>(lists->ints[word]) | static_cast<uint32_t>(bits);
    lists->ints[word] = static_cast<int32_t>(all);
    lists->bounds[word] = std::max(lists->bounds[word], bound);
  };
  for (int64_t r = 0; r < lists->shape[0]; ++r) {
    int64_t list = r % own, at = r * row.words;
    for (int64_t i = 0; i < row.entries; ++i) {
      int64_t entry = list * row.entries + i;
      uint64_t bits = 0;
      for (int64_t b = row.valueBytes; b-- > 0;)
        bits = bits << 8 | static_cast<uint8_t>(bytes[entry * row.valueBytes + b]);
      put(at + row.wordOf(i), bits << row.shiftOf(i), bounds[entry]);
      lists->setFrom(at + row.valueWords + i, indices, entry);
    }
    if (row.hasScales)
      lists->ints[at + row.valueWords - 1] = llvm::bit_cast<int32_t>(scales[list]);
    if (counts)
      lists->setFrom(at + row.words - 1, *counts, list);
  }
  context.results.push_back(lists);
  if (error)
    context.results.push_back(error);
  return success();
}

/// What lists hold, from list `from` on: values of `element`, as many as there is room for, and
/// their indices.
static std::pair<ArrayPtr, ArrayPtr> unpack(const Array &lists, Type listsType, int64_t from,
                                            Type element, ArrayRef<int64_t> shape) {
  Row row(listsType);
  auto type = RankedTensorType::get(shape, element);
  int64_t size = type.getNumElements();
  std::vector<char> bytes(size * row.valueBytes);
  std::vector<double> bounds(size);
  ArrayPtr indices = makeZeros(IntegerType::get(element.getContext(), 32), shape);
  int64_t rows = row.entries == 0 ? 0 : size / row.entries;
  for (int64_t r = 0; r < rows; ++r) {
    int64_t at = (r + from) * row.words;
    for (int64_t i = 0; i < row.entries; ++i) {
      int64_t entry = r * row.entries + i, word = at + row.wordOf(i);
      uint64_t bits =
          static_cast<uint32_t>(lists.ints[word]) >> row.shiftOf(i) & row.mask();
      for (int64_t b = 0; b < row.valueBytes; ++b)
        bytes[entry * row.valueBytes + b] = static_cast<char>(bits >> (8 * b));
      bounds[entry] = lists.bounds[word];
      indices->setFrom(entry, lists, at + row.valueWords + i);
    }
  }
  Type travels = cs::CoordinatesAttr::of(listsType).getValues();
  ArrayPtr values = fromBytes(RankedTensorType::get(shape, travels), bytes);
  if (row.isQuantized) {
    ArrayPtr codes = values;
    values = makeZeros(type);
    for (int64_t i = 0; i < size; ++i) {
      int64_t r = i / row.entries + from;
      auto bits = static_cast<int32_t>(lists.ints[r * row.words + row.valueWords - 1]);
      values->values[i] = row.hasScales
                              ? formatOf(element)->round(static_cast<float>(codes->ints[i]) *
                                                         llvm::bit_cast<float>(bits))
                              : codes->values[i];
    }
  }
  values->bounds = bounds;
  return {values, indices};
}

static LogicalResult evaluateUnpackLists(OpContext &context) {
  if (failed(checkAllWritten(context)))
    return failure();
  auto op = cast<cs::UnpackListsOp>(context.op);
  const Array &lists = context.operand(0);
  Row row(op.getLists().getType());
  auto from = static_cast<int64_t>(op.getFrom());
  auto type = cast<RankedTensorType>(op.getValues().getType());
  auto [values, indices] =
      unpack(lists, op.getLists().getType(), from, type.getElementType(), type.getShape());
  context.results.assign({values, indices});
  if (!op.getCounts())
    return success();
  ArrayPtr counts = makeZeros(op.getCounts().getType());
  int64_t rows = row.entries == 0 ? 0 : values->size() / row.entries;
  for (int64_t r = 0; r < rows; ++r)
    counts->setFrom(r, lists, (r + from + 1) * row.words - 1);
  context.results.push_back(counts);
  return success();
}

FailureOr<ArrayPtr> commsched::reference::spreadList(Operation *at, const Array &list,
                                                     RankedTensorType listType,
                                                     RankedTensorType dense) {
  Row row(listType);
  auto [values, indices] = unpack(list, listType, 0, dense.getElementType(), {row.entries});
  ArrayPtr result = makeZeros(dense.getElementType(), dense.getShape());
  std::vector<bool> seen(result->size());
  for (int64_t i = 0; i < indices->size(); ++i) {
    int64_t index = indices->ints[i];
    if (index == -1) // padding
      continue;
    if (index < 0 || index >= result->size())
      return at->emitOpError() << "gets a list with index " << index << " outside of "
                               << result->size() << " elements";
    if (seen[index])
      return at->emitOpError() << "gets a list with index " << index << " twice";
    seen[index] = true;
    result->setFrom(index, *values, i);
  }
  if (!isKnown(*indices))
    forget(*result);
  return result;
}

/// Where the regions begin that shifts make of `elements`, and their end.
static SmallVector<int64_t> cutsOf(const Array &shifts, int64_t elements) {
  int64_t regions = shifts.size() + 1;
  SmallVector<int64_t> cuts{0};
  for (int64_t r = 1; r < regions; ++r) {
    auto cut = static_cast<int64_t>(static_cast<__int128>(r) * elements / regions);
    cuts.push_back(std::clamp(cut + shifts.ints[r - 1], cuts.back(), elements));
  }
  cuts.push_back(elements);
  return cuts;
}

/// Entries of a list in front of its padding; fails where they are not ascending
/// indices of the tensor.
static FailureOr<int64_t> lengthOf(OpContext &context, const Array &indices, int64_t begin,
                                   int64_t end, int64_t elements) {
  int64_t length = 0;
  for (int64_t i = begin; i < end && indices.ints[i] != -1; ++i, ++length) {
    if (indices.ints[i] < 0 || indices.ints[i] >= elements)
      return context.op->emitOpError() << "has index " << indices.ints[i] << " outside of "
                                       << elements << " elements";
    if (length > 0 && indices.ints[i] < indices.ints[i - 1])
      return context.op->emitOpError("needs indices that ascend");
  }
  return length;
}

static LogicalResult evaluateSplitRegions(OpContext &context) {
  if (failed(checkAllWritten(context)))
    return failure();
  auto op = cast<cs::SplitRegionsOp>(context.op);
  const Array &values = context.operand(0), &indices = context.operand(1),
              &shifts = context.operand(2);
  ArrayPtr ownValues = makeZeros(op.getSplitValues().getType());
  ArrayPtr ownIndices = makeZeros(op.getSplitIndices().getType());
  ArrayPtr counts = makeZeros(op.getCounts().getType());
  context.results.assign({ownValues, ownIndices, counts});
  std::fill(ownIndices->ints.begin(), ownIndices->ints.end(), -1);
  if (!isKnown(indices) || !isKnown(shifts)) {
    for (const ArrayPtr &result : context.results)
      forget(*result);
    return success();
  }
  auto elements = static_cast<int64_t>(op.getElements());
  FailureOr<int64_t> length = lengthOf(context, indices, 0, indices.size(), elements);
  if (failed(length))
    return failure();
  SmallVector<int64_t> cuts = cutsOf(shifts, elements);
  int64_t regions = counts->size(), capacity = ownValues->size() / regions;
  for (int64_t r = 0; r < regions; ++r) {
    SmallVector<int64_t> inside;
    for (int64_t i = 0; i < *length; ++i)
      if (indices.ints[i] >= cuts[r] && indices.ints[i] < cuts[r + 1])
        inside.push_back(i);
    counts->ints[r] = static_cast<int64_t>(inside.size());
    bool settled = true;
    if (static_cast<int64_t>(inside.size()) > capacity) {
      auto magnitude = [&](int64_t i) { return std::fabs(values.values[i]); };
      std::stable_sort(inside.begin(), inside.end(), [&](int64_t a, int64_t b) {
        return magnitude(a) > magnitude(b);
      });
      for (int64_t taken : ArrayRef<int64_t>(inside).take_front(capacity))
        for (int64_t left : ArrayRef<int64_t>(inside).drop_front(capacity)) {
          double doubt = values.bounds[taken] + values.bounds[left];
          settled &= doubt == 0 || magnitude(taken) - magnitude(left) > doubt;
        }
      inside.resize(capacity);
      std::sort(inside.begin(), inside.end());
    }
    for (auto [at, i] : llvm::enumerate(inside)) {
      int64_t to = r * capacity + static_cast<int64_t>(at);
      ownValues->setFrom(to, values, i);
      ownIndices->setFrom(to, indices, i);
    }
    if (!settled)
      for (int64_t i = r * capacity; i < (r + 1) * capacity; ++i)
        ownValues->bounds[i] = ownIndices->bounds[i] = kUndetermined;
  }
  return success();
}

static LogicalResult evaluateBalanceRegions(OpContext &context) {
  if (failed(checkAllWritten(context)))
    return failure();
  auto op = cast<cs::BalanceRegionsOp>(context.op);
  const Array &indices = context.operand(0), &counts = context.operand(1),
              &shifts = context.operand(2);
  ArrayPtr result = std::make_shared<Array>(shifts);
  context.results.push_back(result);
  if (!isKnown(indices) || !isKnown(counts) || !isKnown(shifts)) {
    forget(*result);
    return success();
  }
  auto elements = static_cast<int64_t>(op.getElements());
  int64_t regions = counts.size(), capacity = indices.size() / regions;
  SmallVector<int64_t> cuts = cutsOf(shifts, elements);
  int64_t total = 0;
  for (int64_t count : counts.ints) {
    if (count < 0)
      return op.emitOpError() << "has a negative count: " << count;
    total += count;
  }
  if (total == 0)
    return success();
  // New cut c is where c n-ths of all entries lie before it: in the first region that
  // the entries reach beyond it, at that part of its entries.
  for (int64_t c = 1; c < regions; ++c) {
    int64_t before = 0, r = 0;
    while ((before + counts.ints[r]) * regions <= c * total)
      before += counts.ints[r++];
    FailureOr<int64_t> length =
        lengthOf(context, indices, r * capacity, (r + 1) * capacity, elements);
    if (failed(length))
      return failure();
    // Entries, `regions` times, that are in front of the cut and in the region.
    __int128 inside = c * total - before * regions, all = counts.ints[r] * regions;
    int64_t cut = *length > 0
                      ? indices.ints[r * capacity + static_cast<int64_t>(inside * *length / all)]
                      : cuts[r] + static_cast<int64_t>(inside * (cuts[r + 1] - cuts[r]) / all);
    auto equal = static_cast<int64_t>(static_cast<__int128>(c) * elements / regions);
    result->ints[c - 1] = cut - equal;
  }
  return success();
}

void commsched::reference::addListOps(OpTable &table) {
  table["cs.pack_lists"] = evaluatePackLists;
  table["cs.unpack_lists"] = evaluateUnpackLists;
  table["cs.split_regions"] = evaluateSplitRegions;
  table["cs.balance_regions"] = evaluateBalanceRegions;
}
