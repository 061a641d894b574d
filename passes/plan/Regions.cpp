// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Regions.h"

#include "llvm/ADT/STLExtras.h"

#include <optional>
#include <tuple>

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

// Sorts dimensions, leaves out those of one element and joins neighbours.
static void normalise(Box &box) {
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

namespace {

// Boxes in coordinates of common digits: digit i counts strides[i], and is
// below strides[i - 1] / strides[i].
using Digits = llvm::SmallVector<std::pair<int64_t, int64_t>, 4>; // begin, end

std::optional<llvm::SmallVector<int64_t, 4>> commonStrides(const Box &a, const Box &b) {
  llvm::SmallVector<int64_t, 4> strides{1};
  for (const Box *box : {&a, &b})
    for (auto [size, stride] : box->dims)
      strides.push_back(stride);
  llvm::sort(strides, std::greater<>());
  strides.erase(llvm::unique(strides), strides.end());
  for (size_t i = 1; i < strides.size(); ++i)
    if (strides[i - 1] % strides[i])
      return std::nullopt;
  return strides;
}

std::optional<Digits> digits(const Box &box, llvm::ArrayRef<int64_t> strides) {
  llvm::SmallVector<int64_t, 4> count(strides.size(), 1);
  for (auto [size, stride] : box.dims)
    count[llvm::find(strides, stride) - strides.begin()] = size;
  Digits result(strides.size());
  for (size_t i = strides.size(); i-- > 0;) {
    int64_t place = box.offset / strides[i];
    if (i == 0) {
      result[i] = {place, place + count[i]};
      break;
    }
    int64_t radix = strides[i - 1] / strides[i];
    int64_t begin = place % radix;
    if (begin + count[i] > radix) {
      // Whole rows are a count of the next digit.
      if (begin != 0 || count[i] % radix || count[i - 1] != 1)
        return std::nullopt;
      count[i - 1] = count[i] / radix;
      count[i] = radix;
    }
    result[i] = {begin, begin + count[i]};
  }
  return result;
}

} // namespace

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
  auto strides = commonStrides(a, b);
  if (!strides)
    return Relation::Overlap;
  auto x = digits(a, *strides), y = digits(b, *strides);
  if (!x || !y)
    return Relation::Overlap;
  bool contains = true, inside = true;
  for (auto [p, q] : llvm::zip(*x, *y)) {
    if (p.second <= q.first || q.second <= p.first)
      return Relation::Disjoint;
    contains &= p.first <= q.first && q.second <= p.second;
    inside &= q.first <= p.first && p.second <= q.second;
  }
  return contains && inside ? Relation::Equal
         : contains         ? Relation::Contains
         : inside           ? Relation::Inside
                            : Relation::Overlap;
}

// What two boxes have in common, if that is a box that can be told.
static std::optional<Box> common(const Box &a, const Box &b) {
  auto strides = commonStrides(a, b);
  if (!strides)
    return std::nullopt;
  auto x = digits(a, *strides), y = digits(b, *strides);
  if (!x || !y)
    return std::nullopt;
  Box box;
  for (auto [p, q, stride] : llvm::zip(*x, *y, *strides)) {
    int64_t begin = std::max(p.first, q.first), end = std::min(p.second, q.second);
    if (begin >= end)
      return std::nullopt;
    box.offset += begin * stride;
    box.dims.push_back({end - begin, stride});
  }
  normalise(box);
  return box;
}

// What is left of `box` without `other`, where that can be told; else all of it.
static void subtract(const Box &box, const Box &other, llvm::SmallVectorImpl<Box> &left) {
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
  auto strides = commonStrides(box, other);
  auto x = strides ? digits(box, *strides) : std::nullopt;
  auto y = strides ? digits(other, *strides) : std::nullopt;
  if (!x || !y) {
    left.push_back(box);
    return;
  }
  auto add = [&](const Digits &part) {
    Box result;
    for (auto [range, stride] : llvm::zip(part, *strides)) {
      result.offset += range.first * stride;
      result.dims.push_back({range.second - range.first, stride});
    }
    normalise(result);
    left.push_back(result);
  };
  // Digit by digit: what lies in front of `other`, and behind it.
  Digits rest = *x;
  for (size_t d = 0; d < rest.size(); ++d) {
    auto [begin, end] = rest[d];
    int64_t from = std::max(begin, (*y)[d].first), to = std::min(end, (*y)[d].second);
    for (auto [low, high] : {std::pair(begin, from), std::pair(to, end)})
      if (low < high) {
        Digits part = rest;
        part[d] = {low, high};
        add(part);
      }
    rest[d] = {from, to};
  }
}

Relation relate(const Region &a, const Region &b) {
  if (!a.where && !b.where)
    return relate(a.box, b.box);
  if (a.where == b.where)
    return relate(a.inner, b.inner);
  Relation outer = relate(a.box, b.box);
  if (outer == Relation::Disjoint)
    return outer;
  if (!a.where && (outer == Relation::Contains || outer == Relation::Equal))
    return Relation::Contains;
  if (!b.where && (outer == Relation::Inside || outer == Relation::Equal))
    return Relation::Inside;
  return Relation::Overlap;
}

View denseView(llvm::ArrayRef<int64_t> sizes, int64_t elementBytes) {
  View view;
  view.elementBytes = elementBytes;
  view.sizes.assign(sizes.begin(), sizes.end());
  view.strides.resize(sizes.size());
  int64_t stride = elementBytes;
  llvm::SmallVector<int64_t> elements(sizes.size());
  for (size_t i = sizes.size(); i-- > 0;) {
    view.strides[i] = stride;
    elements[i] = stride / elementBytes;
    stride *= sizes[i];
  }
  view.region.box = makeBox(0, sizes, elements, elementBytes);
  return view;
}

// Of a region, while its writers are looked for.
static constexpr size_t kPieces = 256;

Sources Content::read(const Region &region) const {
  Sources result;
  for (const History &history : histories) {
    // Newest first, until nothing of the region is left.
    llvm::SmallVector<Box, 4> left{region.where ? region.inner : region.box};
    for (const Entry &entry : llvm::reverse(history)) {
      if (entry.region.where != region.where) {
        Relation relation = relate(entry.region, region);
        if (relation == Relation::Disjoint)
          continue;
        result.push_back(entry.source);
        if (!entry.weak && (relation == Relation::Equal || relation == Relation::Contains))
          break;
        continue;
      }
      const Box &written = region.where ? entry.region.inner : entry.region.box;
      if (llvm::all_of(left, [&](const Box &box) {
            return relate(written, box) == Relation::Disjoint;
          }))
        continue;
      result.push_back(entry.source);
      if (entry.weak)
        continue;
      llvm::SmallVector<Box, 4> next;
      for (const Box &box : left)
        subtract(box, written, next);
      // Many pieces: as if nothing of them were written.
      if (next.size() <= kPieces)
        left = std::move(next);
      if (left.empty())
        break;
    }
  }
  llvm::sort(result);
  result.erase(llvm::unique(result), result.end());
  return result;
}

void Content::put(History &history, const Entry &entry) {
  if (!entry.weak)
    llvm::erase_if(history, [&](const Entry &old) {
      Relation relation = relate(entry.region, old.region);
      return relation == Relation::Equal || relation == Relation::Contains;
    });
  else if (llvm::is_contained(history, entry))
    return;
  history.push_back(entry);
  // Writes side by side have no order: histories that differ in nothing else
  // are one.
  for (size_t i = history.size() - 1; i > 0; --i) {
    if (history[i - 1].region.box.offset <= history[i].region.box.offset ||
        relate(history[i - 1].region, history[i].region) != Relation::Disjoint)
      break;
    std::swap(history[i - 1], history[i]);
  }
}

void Content::write(const Region &region, Source source, bool weak) {
  for (History &history : histories)
    put(history, {region, source, weak});
  tidy();
}

// The part of `entry` that lies in `source`, as it comes to lie in `target`;
// nullopt if that is not a box.
static std::optional<Region> moved(const Region &entry, const View &source,
                                   const View &target) {
  const Box *from = &source.region.box, *written = &entry.box;
  if (source.region.where || entry.where) {
    if (source.region.where != entry.where)
      return std::nullopt;
    from = &source.region.inner;
    written = &entry.inner;
  }
  std::optional<Box> part = common(*written, *from);
  if (!part)
    return std::nullopt;
  Box logical{0, {}};
  llvm::SmallVector<int64_t, 4> strides(source.strides.begin(), source.strides.end());
  if (source.elementBytes > 1)
    strides.push_back(1);
  llvm::SmallVector<int64_t, 4> sorted(strides);
  llvm::sort(sorted, std::greater<>());
  sorted.erase(llvm::unique(sorted), sorted.end());
  if (sorted.empty() || sorted.back() != 1)
    sorted.push_back(1);
  for (size_t i = 1; i < sorted.size(); ++i)
    if (sorted[i - 1] % sorted[i])
      return std::nullopt;
  for (auto [size, stride] : part->dims)
    if (!llvm::is_contained(sorted, stride))
      return std::nullopt;
  auto x = digits(*part, sorted), y = digits(*from, sorted);
  if (!x || !y)
    return std::nullopt;
  Box box{target.region.where ? target.region.inner.offset : target.region.box.offset, {}};
  llvm::SmallVector<bool> used(sorted.size());
  auto take = [&](size_t digit, int64_t stride) {
    int64_t begin = std::max((*x)[digit].first, (*y)[digit].first);
    int64_t end = std::min((*x)[digit].second, (*y)[digit].second);
    box.offset += (begin - (*y)[digit].first) * stride;
    box.dims.push_back({end - begin, stride});
    used[digit] = true;
    return end > begin;
  };
  for (auto [d, stride] : llvm::enumerate(source.strides)) {
    if (source.sizes[d] == 1)
      continue;
    size_t digit = llvm::find(sorted, stride) - sorted.begin();
    if (used[digit])
      return std::nullopt;
    if (!take(digit, target.strides[d]))
      return std::nullopt;
  }
  if (source.elementBytes > 1) {
    size_t digit = sorted.size() - 1;
    // Only whole elements move.
    if (used[digit] || (*x)[digit].second - (*x)[digit].first < source.elementBytes)
      return std::nullopt;
    take(digit, 1);
  }
  // Digits that no dimension of the view has must not differ.
  for (size_t i = 0; i < sorted.size(); ++i)
    if (!used[i] && (*y)[i].second - (*y)[i].first != 1)
      return std::nullopt;
  normalise(box);
  Region result = target.region;
  (result.where ? result.inner : result.box) = box;
  return result;
}

void Content::copy(const Content &from, const View &source, const View &target) {
  std::vector<History> variants;
  for (const History &history : from.histories) {
    History arriving;
    for (const Entry &entry : history) {
      Relation relation = relate(entry.region, source.region);
      if (relation == Relation::Disjoint)
        continue;
      if (relation == Relation::Equal || relation == Relation::Contains) {
        put(arriving, {target.region, entry.source, entry.weak});
        continue;
      }
      std::optional<Region> region = moved(entry.region, source, target);
      put(arriving, {region ? *region : target.region, entry.source, entry.weak || !region});
    }
    if (!llvm::is_contained(variants, arriving))
      variants.push_back(std::move(arriving));
  }
  std::vector<History> result;
  for (const History &old : histories)
    for (const History &arriving : variants) {
      History history;
      for (const Entry &entry : old) {
        Relation relation = relate(target.region, entry.region);
        if (relation != Relation::Equal && relation != Relation::Contains)
          history.push_back(entry);
      }
      // Everything in the target is new, weak or not.
      for (const Entry &entry : arriving)
        put(history, entry);
      result.push_back(std::move(history));
    }
  histories = std::move(result);
  anyOf |= from.anyOf;
  tidy();
}

void Content::merge(const Content &other) {
  for (const History &history : other.histories)
    if (!llvm::is_contained(histories, history))
      histories.push_back(history);
  anyOf |= other.anyOf;
  tidy();
}

void Content::nextIteration(llvm::function_ref<bool(const Source &)> inLoop) {
  for (History &history : histories) {
    History next;
    for (Entry entry : history) {
      if (inLoop(entry.source))
        entry.source.earlier = true;
      if (entry.region.where) {
        entry.region = {entry.region.box, 0, {}};
        entry.weak = true;
      }
      put(next, entry);
    }
    history = std::move(next);
  }
  tidy();
}

// Many histories become one that may be any of them, and stays so: what a loop
// adds to it comes to an end.
void Content::tidy() {
  std::vector<History> distinct;
  for (History &history : histories)
    if (!llvm::is_contained(distinct, history))
      distinct.push_back(std::move(history));
  histories = std::move(distinct);
  if (histories.size() <= (anyOf ? 1 : 16))
    return;
  History all;
  for (const History &history : histories)
    for (Entry entry : history) {
      entry.weak = true;
      all.push_back(std::move(entry));
    }
  auto key = [](const Entry &entry) {
    return std::tuple(entry.region.box.offset, entry.region.where, entry.region.inner.offset,
                      llvm::ArrayRef(entry.region.box.dims), llvm::ArrayRef(entry.region.inner.dims),
                      entry.source);
  };
  llvm::stable_sort(all, [&](const Entry &a, const Entry &b) { return key(a) < key(b); });
  all.erase(llvm::unique(all), all.end());
  histories = {std::move(all)};
  anyOf = true;
}

} // namespace commsched::planexport
