// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/plan/Boxes.h"

#include "llvm/ADT/STLExtras.h"

namespace commsched::planexport {

int64_t Box::volume() const {
  int64_t n = 1;
  for (auto [size, stride] : dims)
    n *= size;
  return n;
}

int64_t Box::end() const {
  int64_t last = offset;
  for (auto [size, stride] : dims)
    last += (size - 1) * stride;
  return volume() ? last + 1 : offset;
}

void normalise(Box &box) {
  llvm::erase_if(box.dims, [](auto dim) { return dim.first == 1; });
  llvm::sort(box.dims, [](auto a, auto b) { return a.second > b.second; });
  for (size_t i = 1; i < box.dims.size();) {
    auto &outer = box.dims[i - 1], &inner = box.dims[i];
    if (outer.second == inner.first * inner.second) {
      inner.first *= outer.first;
      box.dims.erase(&outer);
    } else {
      ++i;
    }
  }
}

Box makeBox(int64_t offset, llvm::ArrayRef<int64_t> sizes,
            llvm::ArrayRef<int64_t> strides, int64_t elementBytes) {
  Box box{offset, {}};
  for (auto [size, stride] : llvm::zip(sizes, strides))
    box.dims.push_back({size, stride * elementBytes});
  box.dims.push_back({elementBytes, 1});
  normalise(box);
  return box;
}

bool sortDividing(llvm::SmallVectorImpl<int64_t> &strides) {
  llvm::sort(strides, std::greater<>());
  strides.erase(llvm::unique(strides), strides.end());
  if (strides.back() <= 0)
    return false;
  for (size_t i = 1; i < strides.size(); ++i)
    if (strides[i - 1] % strides[i])
      return false;
  return true;
}

namespace {

// Boxes in coordinates of common digits: digit i counts strides[i], and is
// below strides[i - 1] / strides[i].
using Strides = llvm::SmallVector<int64_t, 4>;

std::optional<Strides> commonStrides(const Box &a, const Box &b) {
  Strides strides{1};
  for (const Box *box : {&a, &b})
    for (auto [size, stride] : box->dims)
      strides.push_back(stride);
  if (!sortDividing(strides))
    return std::nullopt;
  return strides;
}

// A box as one or several: dimensions that go over the end of a digit are cut there.
class Splitter {
public:
  Splitter(llvm::ArrayRef<int64_t> strides, llvm::SmallVectorImpl<Digits> &result)
      : strides(strides), current(strides.size()), result(result) {}

  // False where dimensions are interleaved.
  bool run(const Box &box) {
    Strides count(strides.size(), 1);
    for (auto [size, stride] : box.dims)
      count[llvm::find(strides, stride) - strides.begin()] = size;
    return split(strides.size() - 1, box.offset / strides.back(), count);
  }

private:
  // `place` counts strides[i].
  bool split(size_t i, int64_t place, Strides count) {
    if (i == 0) {
      current[0] = {place, place + count[0]};
      result.push_back(current);
      return true;
    }
    int64_t radix = strides[i - 1] / strides[i], begin = place % radix, left = count[i];
    int64_t row = place / radix;
    if (begin + left <= radix) {
      current[i] = {begin, begin + left};
      return split(i - 1, row, count);
    }
    if (count[i - 1] != 1)
      return false;
    // The end of a row, whole rows, and the beginning of one.
    auto part = [&](int64_t from, int64_t to, int64_t rows) {
      current[i] = {from, to};
      count[i - 1] = rows;
      row += rows;
      left -= (to - from) * rows;
      return split(i - 1, row - rows, count);
    };
    return (begin == 0 || part(begin, radix, 1)) &&
           (left < radix || part(0, radix, left / radix)) && (left == 0 || part(0, left, 1));
  }

  llvm::ArrayRef<int64_t> strides;
  Digits current;
  llvm::SmallVectorImpl<Digits> &result;
};

using Parts = llvm::SmallVector<Digits, 2>;

bool disjoint(const Digits &a, const Digits &b) {
  return llvm::any_of(llvm::zip(a, b), [](auto pair) {
    auto [p, q] = pair;
    return p.second <= q.first || q.second <= p.first;
  });
}

bool contains(const Digits &a, const Digits &b) {
  return llvm::all_of(llvm::zip(a, b), [](auto pair) {
    auto [p, q] = pair;
    return p.first <= q.first && q.second <= p.second;
  });
}

// Each of `b` lies in one of `a`.
bool contain(const Parts &a, const Parts &b) {
  return llvm::all_of(b, [&](const Digits &part) {
    return llvm::any_of(a, [&](const Digits &other) { return contains(other, part); });
  });
}

// Two boxes in the same digits.
struct Both {
  Strides strides;
  Parts a, b;
};

std::optional<Both> inDigits(const Box &a, const Box &b) {
  auto strides = commonStrides(a, b);
  if (!strides)
    return std::nullopt;
  Both both{*strides, {}, {}};
  if (!Splitter(both.strides, both.a).run(a) || !Splitter(both.strides, both.b).run(b))
    return std::nullopt;
  return both;
}

Box boxOf(const Digits &digits, llvm::ArrayRef<int64_t> strides) {
  Box box;
  for (auto [range, stride] : llvm::zip(digits, strides)) {
    box.offset += range.first * stride;
    box.dims.push_back({range.second - range.first, stride});
  }
  normalise(box);
  return box;
}

// What is left of `part` without `other`, digit by digit: what lies in front of it,
// and behind it.
void subtract(const Digits &part, const Digits &other, Parts &left) {
  if (disjoint(part, other)) {
    left.push_back(part);
    return;
  }
  Digits rest = part;
  for (size_t d = 0; d < rest.size(); ++d) {
    auto [begin, end] = rest[d];
    int64_t from = std::max(begin, other[d].first), to = std::min(end, other[d].second);
    for (auto [low, high] : {std::pair(begin, from), std::pair(to, end)})
      if (low < high) {
        left.push_back(rest);
        left.back()[d] = {low, high};
      }
    rest[d] = {from, to};
  }
}

} // namespace

std::optional<Digits> digits(const Box &box, llvm::ArrayRef<int64_t> strides) {
  Parts parts;
  if (!Splitter(strides, parts).run(box) || parts.size() != 1)
    return std::nullopt;
  return parts[0];
}

Relation relate(const Box &a, const Box &b) {
  if (a == b)
    return Relation::Equal;
  if (a.volume() == 0 || b.volume() == 0 || a.end() <= b.offset || b.end() <= a.offset)
    return Relation::Disjoint;
  // One run of bytes needs no digits.
  auto run = [](const Box &box) {
    return box.dims.empty() || (box.dims.size() == 1 && box.dims[0].second == 1);
  };
  if (run(a) && a.offset <= b.offset && b.end() <= a.end())
    return Relation::Contains;
  if (run(b) && b.offset <= a.offset && a.end() <= b.end())
    return Relation::Inside;
  auto both = inDigits(a, b);
  if (!both)
    return Relation::Overlap;
  if (llvm::all_of(both->a, [&](const Digits &part) {
        return llvm::all_of(both->b, [&](const Digits &other) { return disjoint(part, other); });
      }))
    return Relation::Disjoint;
  bool holds = contain(both->a, both->b), inside = contain(both->b, both->a);
  return holds && inside ? Relation::Equal
         : holds         ? Relation::Contains
         : inside        ? Relation::Inside
                         : Relation::Overlap;
}

bool isTold(const Box &a, const Box &b) {
  return relate(a, b) != Relation::Overlap || inDigits(a, b);
}

std::optional<Box> common(const Box &a, const Box &b) {
  switch (relate(a, b)) {
  case Relation::Disjoint:
    return std::nullopt;
  case Relation::Equal:
  case Relation::Inside:
    return a;
  case Relation::Contains:
    return b;
  case Relation::Overlap:
    break;
  }
  auto both = inDigits(a, b);
  if (!both || both->a.size() != 1 || both->b.size() != 1 || disjoint(both->a[0], both->b[0]))
    return std::nullopt;
  Digits part;
  for (auto [p, q] : llvm::zip(both->a[0], both->b[0]))
    part.push_back({std::max(p.first, q.first), std::min(p.second, q.second)});
  return boxOf(part, both->strides);
}

void subtract(const Box &box, const Box &other, llvm::SmallVectorImpl<Box> &left) {
  switch (relate(other, box)) {
  case Relation::Equal:
  case Relation::Contains:
    return;
  case Relation::Disjoint:
    left.push_back(box);
    return;
  default:
    break;
  }
  auto both = inDigits(box, other);
  if (!both) {
    left.push_back(box);
    return;
  }
  Parts parts = std::move(both->a);
  for (const Digits &taken : both->b) {
    Parts next;
    for (const Digits &part : parts)
      subtract(part, taken, next);
    parts = std::move(next);
  }
  for (const Digits &part : parts)
    left.push_back(boxOf(part, both->strides));
}

} // namespace commsched::planexport
