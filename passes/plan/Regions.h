// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is in a buffer: for the check of memory (CheckMemory.cpp). Nothing here is used
// to assign memory.

#ifndef COMMSCHED_PASSES_PLAN_REGIONS_H
#define COMMSCHED_PASSES_PLAN_REGIONS_H

#include "passes/plan/Boxes.h"

#include "llvm/ADT/STLFunctionalExtras.h"

#include <vector>

namespace commsched::planexport {

/// A box, or a block somewhere in a box: blocks of the same `where` lie at the
/// same place, at `inner` behind it; where that is, is not known.
struct MemoryRegion {
  Box box;
  unsigned where = 0; // 0: it is `box`
  Box inner;

  int64_t volume() const { return where ? inner.volume() : box.volume(); }
  bool operator==(const MemoryRegion &other) const = default;
};

Relation relate(const MemoryRegion &a, const MemoryRegion &b);

/// Who wrote something: `what`.`number` is an operation, `operand` its result.
struct Source {
  enum Kind : uint8_t {
    Nothing,
    Input,
    Constant,
    Structured,
    Stored
  };
  Kind kind = Nothing;
  bool earlier = false; // in an earlier iteration of a loop
  uint16_t operand = 0;
  uint32_t number = 0;

  auto operator<=>(const Source &other) const = default;
};

using Sources = llvm::SmallVector<Source, 2>; // sorted, no duplicates

/// Who wrote some bytes.
struct Writers {
  Sources sources;
  /// Some of them perhaps did not: it could not be told how parts lie to each other.
  bool vague = false;
};

/// A tensor or a part of a buffer, with its logical dimensions.
struct View {
  MemoryRegion region;
  llvm::SmallVector<int64_t, 4> sizes, strides; // strides in bytes
  int64_t elementBytes = 1;
};

/// The view of a dense tensor on itself.
View denseView(llvm::ArrayRef<int64_t> sizes, int64_t elementBytes);

/// What is in a buffer or tensor: one of several histories of writes.
class Content {
public:
  struct Entry {
    MemoryRegion region;
    Source source;
    bool weak = false;  // may not have happened, or not everywhere
    bool vague = false; // weak, because its place could not be told any closer
    bool operator==(const Entry &other) const = default;
  };
  using History = std::vector<Entry>;

  Content() = default;
  Content(const Box &all, Source source) : histories{{{{all, 0, {}}, source}}} {}

  /// Who wrote the bytes of `region`.
  Writers read(const MemoryRegion &region) const;
  void write(const MemoryRegion &region, Source source, bool weak = false);
  /// What `from` has in `source` is now in `target`, element by element.
  void copy(const Content &from, const View &source, const View &target);
  /// Either this or `other`.
  void merge(const Content &other);
  /// At the end of an iteration: places that are known in an iteration are not
  /// any more, and all writers of `inLoop` are of an earlier one.
  void nextIteration(llvm::function_ref<bool(const Source &)> inLoop);

  bool operator==(const Content &other) const = default;

private:
  void put(History &history, const Entry &entry);
  void tidy();
  std::vector<History> histories;
  bool anyOf = false; // one history that stands for many
};

} // namespace commsched::planexport

#endif // COMMSCHED_PASSES_PLAN_REGIONS_H
