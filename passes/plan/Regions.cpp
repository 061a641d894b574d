// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/plan/Regions.h"

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

Writers Content::read(const MemoryRegion &region) const {
  Writers result;
  Sources &sources = result.sources;
  for (const History &history : histories) {
    // Newest first, until nothing of the region is left.
    llvm::SmallVector<Box, 4> left{region.where ? region.inner : region.box};
    for (const Entry &entry : llvm::reverse(history)) {
      if (entry.region.where != region.where) {
        Relation relation = relate(entry.region, region);
        if (relation == Relation::Disjoint)
          continue;
        sources.push_back(entry.source);
        result.vague |= entry.vague;
        if (!entry.weak && (relation == Relation::Equal || relation == Relation::Contains))
          break;
        continue;
      }
      const Box &written = region.where ? entry.region.inner : entry.region.box;
      if (llvm::all_of(left, [&](const Box &box) {
            return relate(written, box) == Relation::Disjoint;
          }))
        continue;
      sources.push_back(entry.source);
      result.vague |= entry.vague || llvm::any_of(left, [&](const Box &box) {
                        return !isTold(written, box);
                      });
      if (entry.weak)
        continue;
      llvm::SmallVector<Box, 4> next;
      for (const Box &box : left)
        subtract(box, written, next);
      // Many pieces: as if nothing of them were written.
      if (next.size() <= kPieces)
        left = std::move(next);
      else
        result.vague = true;
      if (left.empty())
        break;
    }
  }
  llvm::sort(sources);
  sources.erase(llvm::unique(sources), sources.end());
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
    put(history, {region, source, weak, false});
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
  // Coordinates of the view: by the digits of its strides, and of steps of them.
  llvm::SmallVector<int64_t, 4> strides{1, source.elementBytes};
  for (auto [size, stride] : part->dims)
    strides.push_back(stride);
  for (auto [size, stride] : llvm::zip(source.sizes, source.strides))
    if (size != 1)
      strides.push_back(stride);
  // A view that has elements twice has several places for them.
  for (auto [d, size] : llvm::enumerate(source.sizes))
    for (auto [e, other] : llvm::enumerate(source.strides))
      if (d != e && size != 1 && source.sizes[e] != 1 && source.strides[d] <= other &&
          size * source.strides[d] > other)
        return std::nullopt;
  if (!sortDividing(strides))
    return std::nullopt;
  Box behind = *part;
  behind.offset -= from->offset;
  std::optional<Digits> places = digits(behind, strides);
  if (!places)
    return std::nullopt;
  Box box{target.region.where ? target.region.inner.offset : target.region.box.offset, {}};
  for (auto [i, place] : llvm::enumerate(*places)) {
    auto [begin, end] = place;
    int64_t stride = strides[i];
    if (stride < source.elementBytes) {
      // Only whole elements move.
      if (begin != 0 || end != strides[i - 1] / stride)
        return std::nullopt;
      box.dims.push_back({end, stride});
      continue;
    }
    std::optional<size_t> dim;
    for (size_t d = 0; d < source.sizes.size(); ++d)
      if (source.sizes[d] != 1 && source.strides[d] <= stride &&
          (!dim || source.strides[d] > source.strides[*dim]))
        dim = d;
    if (!dim) {
      if (begin != 0 || end != 1)
        return std::nullopt;
      continue;
    }
    int64_t there = stride / source.strides[*dim] * target.strides[*dim];
    box.offset += begin * there;
    box.dims.push_back({end - begin, there});
  }
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
        put(arriving, {target.region, entry.source, entry.weak, entry.vague});
        continue;
      }
      std::optional<MemoryRegion> region = moved(entry.region, source, target);
      put(arriving, {region ? *region : target.region, entry.source, entry.weak || !region,
                     entry.vague || !region});
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
                      llvm::ArrayRef(entry.region.box.dims),
                      llvm::ArrayRef(entry.region.inner.dims), entry.source, entry.vague);
  };
  llvm::stable_sort(all, [&](const Entry &a, const Entry &b) { return key(a) < key(b); });
  all.erase(llvm::unique(all), all.end());
  histories = {std::move(all)};
  anyOf = true;
}

} // namespace commsched::planexport
