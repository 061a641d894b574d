// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Regions.h"

#include "llvm/ADT/STLExtras.h"

#include <tuple>

namespace commsched::planexport {

Relation relate(const MemoryRegion &a, const MemoryRegion &b) {
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

Sources Content::read(const MemoryRegion &region) const {
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

void Content::write(const MemoryRegion &region, Source source, bool weak) {
  for (History &history : histories)
    put(history, {region, source, weak});
  tidy();
}

// The part of `entry` that lies in `source`, as it comes to lie in `target`;
// nullopt if that is not a box.
static std::optional<MemoryRegion> moved(const MemoryRegion &entry, const View &source,
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
  MemoryRegion result = target.region;
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
      std::optional<MemoryRegion> region = moved(entry.region, source, target);
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
