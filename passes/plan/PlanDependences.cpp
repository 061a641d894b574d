// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/plan/PlanDependences.h"
#include "passes/plan/Memory.h"

#include "llvm/ADT/STLExtras.h"

#include <map>

namespace commsched::planexport {

uint64_t tensorBytes(const plan::TensorType &type) {
  uint64_t bytes = 1;
  switch (type.element()) {
  case plan::F64:
  case plan::I64:
    bytes = 8;
    break;
  case plan::F32:
  case plan::I32:
    bytes = 4;
    break;
  case plan::F16:
  case plan::BF16:
    bytes = 2;
    break;
  default:
    break;
  }
  for (int64_t dim : type.shape())
    bytes *= dim;
  return bytes;
}

namespace {

/// The buffer whose memory `buffer` has.
unsigned rootOf(const plan::Function &function, unsigned buffer) {
  const plan::Buffer &b = function.buffers(buffer);
  return b.kind() == plan::Buffer::PART ? b.parent() : buffer;
}

/// The memory of all buffers as cells: the pieces between the bounds of parts;
/// a buffer without parts is one.
struct Cells {
  explicit Cells(const plan::Function &function) : of(function.buffers_size()) {
    std::vector<std::vector<uint64_t>> bounds(function.buffers_size());
    auto extent = [&](unsigned b) {
      const plan::Buffer &buffer = function.buffers(b);
      uint64_t begin = buffer.kind() == plan::Buffer::PART ? buffer.offset() : 0;
      return std::pair(begin, begin + tensorBytes(buffer.type()));
    };
    for (int b = 0; b < function.buffers_size(); ++b) {
      auto [begin, end] = extent(b);
      auto &list = bounds[rootOf(function, b)];
      list.push_back(begin);
      list.push_back(std::max(end, begin + 1));
    }
    for (int b = 0; b < function.buffers_size(); ++b) {
      if (function.buffers(b).kind() == plan::Buffer::PART)
        continue;
      auto &list = bounds[b];
      llvm::sort(list);
      list.erase(llvm::unique(list), list.end());
      root.insert(root.end(), list.size() - 1, b);
      for (size_t i = 0; i + 1 < list.size(); ++i) {
        of[b].push_back(root.size() - (list.size() - 1) + i);
        bytes.push_back({list[i], list[i + 1]});
      }
    }
    for (int b = 0; b < function.buffers_size(); ++b) {
      if (function.buffers(b).kind() != plan::Buffer::PART)
        continue;
      auto [begin, end] = extent(b);
      unsigned parent = rootOf(function, b);
      const auto &list = bounds[parent];
      size_t i = llvm::lower_bound(list, begin) - list.begin();
      for (; i + 1 < list.size() && list[i] < std::max(end, begin + 1); ++i)
        of[b].push_back(of[parent][i]);
    }
  }

  std::vector<llvm::SmallVector<unsigned, 1>> of;   // of a buffer
  std::vector<unsigned> root;                       // buffer of a cell
  std::vector<std::pair<uint64_t, uint64_t>> bytes; // of the root, of a cell
};

/// An instruction that is waited for, or a part of one.
struct Awaited {
  static constexpr int kWhole = -1;
  unsigned instruction;
  int part = kWhole;
  auto key() const { return std::pair(instruction, part); } // the whole first
  bool operator<(const Awaited &other) const { return key() < other.key(); }
  bool operator==(const Awaited &other) const { return key() == other.key(); }
};

class DependenceBuilder {
public:
  /// Works on cells: `touched` are accesses to them.
  DependenceBuilder(plan::Function &function, const Cells &cells,
                    const std::vector<Access> &touched)
      : function(function), cells(cells), accesses(touched),
        edges(touched.size()), afterStream(touched.size()) {}

  void build() {
    withinStep();
    acrossSteps();
    for (size_t i = 0; i < edges.size(); ++i) {
      llvm::sort(edges[i]);
      for (const auto &[distance, from] : edges[i]) {
        plan::Dependence *d = function.mutable_instructions(i)->add_dependences();
        d->set_instruction(from.instruction);
        d->set_distance(distance);
        if (from.part != Awaited::kWhole)
          d->set_part(from.part);
      }
    }
  }

private:
  unsigned device(unsigned i) const { return function.instructions(i).device(); }
  bool sameStream(unsigned a, unsigned b) const {
    return accesses[a].stream && accesses[b].stream && device(a) == device(b);
  }

  void add(unsigned to, Awaited from, unsigned distance) {
    std::pair<unsigned, Awaited> edge{distance, from};
    if (!llvm::is_contained(edges[to], edge))
      edges[to].push_back(edge);
  }

  bool hasParts(int instruction) const {
    return instruction >= 0 &&
           function.instructions(instruction).communicate().part_bytes_size() > 0;
  }

  /// What a reader of the cell waits for, of who wrote it last.
  void addReadOf(unsigned cell, unsigned writer, llvm::SmallVectorImpl<Awaited> &from) const {
    const plan::Communicate &communicate = function.instructions(writer).communicate();
    if (communicate.part_bytes_size() == 0)
      return from.push_back({writer});
    const plan::Buffer &buffer = function.buffers(communicate.buffer());
    auto [begin, end] = cells.bytes[cell];
    uint64_t at = buffer.kind() == plan::Buffer::PART ? buffer.offset() : 0;
    for (int part = 0; part < communicate.part_bytes_size(); ++part) {
      uint64_t next = at + communicate.part_bytes(part);
      if (begin < next && at < end)
        from.push_back({writer, part});
      at = next;
    }
  }

  void withinStep() {
    std::vector<int> lastWriter(cells.root.size(), -1);
    std::vector<llvm::SmallVector<unsigned, 2>> readers(cells.root.size());
    // The first instruction on a device's stream that waits for another: those
    // behind it need not.
    std::map<std::pair<unsigned, Awaited>, bool> streamWaited;
    for (unsigned i = 0; i < accesses.size(); ++i) {
      llvm::SmallVector<Awaited, 8> from;
      for (unsigned after : accesses[i].after)
        from.push_back({after});
      for (unsigned cell : accesses[i].reads)
        if (lastWriter[cell] >= 0)
          addReadOf(cell, lastWriter[cell], from);
      for (unsigned cell : accesses[i].writes) {
        for (unsigned reader : readers[cell])
          from.push_back({reader});
        // Who has read a part of a message need not have waited for all of it.
        if (lastWriter[cell] >= 0 && (readers[cell].empty() || hasParts(lastWriter[cell])))
          from.push_back({static_cast<unsigned>(lastWriter[cell])});
      }
      llvm::sort(from);
      from.erase(llvm::unique(from), from.end());
      // Of several on one stream the last is enough.
      std::map<unsigned, unsigned> lastOnStream;
      for (Awaited f : from)
        if (f.instruction != i && accesses[f.instruction].stream)
          lastOnStream[device(f.instruction)] = f.instruction;
      for (Awaited awaited : from) {
        unsigned f = awaited.instruction;
        if (f == i)
          continue;
        if (accesses[f].stream || afterStream[f])
          afterStream[i] = true;
        if (sameStream(f, i) ||
            (accesses[f].stream && lastOnStream[device(f)] != f))
          continue;
        // The whole has its parts.
        if (awaited.part != Awaited::kWhole && llvm::is_contained(from, Awaited{f}))
          continue;
        if (accesses[i].stream && (streamWaited[{device(i), {f}}] ||
                                   streamWaited[{device(i), awaited}]))
          continue;
        if (accesses[i].stream)
          streamWaited[{device(i), awaited}] = true;
        add(i, awaited, 0);
      }
      for (unsigned buffer : accesses[i].reads)
        readers[buffer].push_back(i);
      for (unsigned buffer : accesses[i].writes) {
        readers[buffer].clear();
        lastWriter[buffer] = i;
      }
    }
  }

  // `to` in step t waits for all of `from` in step t - 1.
  void addPrevious(unsigned to, llvm::ArrayRef<unsigned> from) {
    std::map<unsigned, unsigned> lastOnStream;
    for (unsigned f : from)
      if (accesses[f].stream)
        lastOnStream[device(f)] = std::max(lastOnStream[device(f)], f);
    for (unsigned f : from) {
      // A stream runs its steps one after the other; what waits for something
      // on the stream in this step comes after the stream's previous step.
      if (sameStream(f, to) ||
          (accesses[f].stream && function.buffers_size() && afterStream[to] &&
           oneDevice()))
        continue;
      if (accesses[f].stream && lastOnStream[device(f)] != f)
        continue;
      add(to, {f}, 1);
    }
  }

  bool oneDevice() const {
    for (const plan::Instruction &instruction : function.instructions())
      if (instruction.device() != 0)
        return false;
    return true;
  }

  struct Uses {
    int firstWriter = -1, lastWriter = -1;
    llvm::SmallVector<unsigned, 4> readers; // of what was written last
  };

  void acrossSteps() {
    std::vector<Uses> uses(cells.root.size());
    for (unsigned i = 0; i < accesses.size(); ++i) {
      for (unsigned from : accesses[i].afterPrevious)
        add(i, {from}, 1);
      for (unsigned c : accesses[i].reads)
        uses[c].readers.push_back(i);
      for (unsigned c : accesses[i].writes) {
        if (uses[c].firstWriter < 0)
          uses[c].firstWriter = i;
        uses[c].lastWriter = i;
        uses[c].readers.clear();
      }
    }
    std::map<unsigned, llvm::SmallVector<unsigned, 1>> next;           // slot -> cells
    std::map<unsigned, llvm::SmallVector<unsigned, 4>> currentReaders; // by slot
    for (unsigned c = 0; c < cells.root.size(); ++c) {
      const plan::Buffer &buffer = function.buffers(cells.root[c]);
      if (buffer.kind() == plan::Buffer::SLOT_CURRENT)
        for (unsigned reader : uses[c].readers)
          if (auto &list = currentReaders[buffer.slot()];
              !llvm::is_contained(list, reader))
            list.push_back(reader);
      if (buffer.kind() == plan::Buffer::SLOT_NEXT)
        next[buffer.slot()].push_back(c);
      // Memory of its own: the next step overwrites it.
      const Uses &own = uses[c];
      if (buffer.kind() != plan::Buffer::ARENA || own.firstWriter < 0)
        continue;
      llvm::SmallVector<unsigned, 4> previous(own.readers);
      if (previous.empty() || hasParts(own.lastWriter))
        previous.push_back(own.lastWriter);
      addPrevious(own.firstWriter, previous);
    }
    for (auto &[slot, list] : next)
      for (unsigned c : list)
        addSlotDependences(uses[c], currentReaders[slot]);
  }

  // Of a cell of a slot's next value; `readers` read the current one.
  void addSlotDependences(const Uses &written, llvm::ArrayRef<unsigned> readers) {
    if (written.firstWriter < 0)
      return;
    unsigned first = written.firstWriter, last = written.lastWriter;
    llvm::SmallVector<unsigned, 4> previous(written.readers);
    // The value of step t - 1 is read in step t...
    std::map<unsigned, bool> waited; // by the stream of a device
    for (unsigned reader : readers) {
      if (sameStream(last, reader))
        continue;
      if (accesses[reader].stream && waited[device(reader)])
        continue;
      if (accesses[reader].stream)
        waited[device(reader)] = true;
      add(reader, {last}, 1);
    }
    // ... and the copy that step t - 1 read is written in step t.
    llvm::append_range(previous, readers);
    if (previous.empty() || hasParts(static_cast<int>(last)))
      previous.push_back(last);
    llvm::sort(previous);
    previous.erase(llvm::unique(previous), previous.end());
    addPrevious(first, previous);
  }

  plan::Function &function;
  const Cells &cells;
  const std::vector<Access> &accesses;
  std::vector<llvm::SmallVector<std::pair<unsigned, Awaited>, 4>> edges;
  // Waits in this step, through others, for something on a stream.
  std::vector<bool> afterStream;
};

} // namespace

void addDependences(plan::Function &function, const std::vector<Access> &accesses) {
  Cells cells(function);
  std::vector<Access> touched(accesses);
  for (Access &access : touched)
    for (auto *list : {&access.reads, &access.writes}) {
      llvm::SmallVector<unsigned, 4> expanded;
      for (unsigned buffer : *list)
        llvm::append_range(expanded, cells.of[buffer]);
      *list = std::move(expanded);
    }
  DependenceBuilder(function, cells, touched).build();
}

void assignArena(plan::Function &function, const std::vector<Access> &accesses,
                 const std::vector<bool> &keep) {
  constexpr unsigned kAlways = UINT32_MAX;
  size_t count = function.buffers_size();
  std::vector<Interval> live(count);
  std::vector<bool> used(count), exclusive(keep);
  std::vector<unsigned> device(count);
  for (unsigned b = 0; b < count; ++b)
    if (exclusive[b])
      exclusive[rootOf(function, b)] = true;
  for (unsigned i = 0; i < accesses.size(); ++i)
    for (const auto *list : {&accesses[i].reads, &accesses[i].writes})
      for (unsigned part : *list) {
        unsigned b = rootOf(function, part);
        unsigned where = function.instructions(i).device();
        if (!used[b]) {
          live[b].first = i;
          device[b] = where;
        }
        used[b] = true;
        live[b].last = i;
        if (!accesses[i].stream || device[b] != where)
          exclusive[b] = true;
      }
  // Streams of different devices are not ordered: each has its own region, the host another.
  std::map<std::pair<bool, unsigned>, std::vector<unsigned>> regions;
  for (unsigned b = 0; b < count; ++b) {
    if (function.buffers(b).kind() != plan::Buffer::ARENA)
      continue;
    live[b].bytes = std::max<uint64_t>(1, tensorBytes(function.buffers(b).type()));
    if (exclusive[b]) {
      live[b].first = 0;
      live[b].last = kAlways;
    }
    bool host = function.buffers(b).host();
    regions[{host, host ? 0 : device[b]}].push_back(b);
  }
  uint64_t bases[2] = {0, 0};
  for (auto &[region, buffers] : regions) {
    uint64_t &base = bases[region.first];
    llvm::SmallVector<Interval> intervals;
    for (unsigned b : buffers)
      intervals.push_back(live[b]);
    uint64_t bytes = placeIntervals(intervals);
    for (auto [b, interval] : llvm::zip(buffers, intervals))
      function.mutable_buffers(b)->set_offset(base + interval.offset);
    base += bytes;
  }
  function.set_arena_bytes(bases[0]);
  function.set_host_arena_bytes(bases[1]);
}

} // namespace commsched::planexport
