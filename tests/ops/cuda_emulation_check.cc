// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tests/ops/cuda_emulation_check.h"

#include <algorithm>
#include <map>
#include <memory>
#include <unordered_map>

#include "absl/strings/str_cat.h"

// Of the program's variables, by the linker.
extern char __data_start, _end;

namespace commsched::testing::cuda {
namespace {

constexpr size_t kMaxFindings = 10;
constexpr int kRecords = 4;

enum class Kind : uint8_t {
  kNone,
  kRead,
  kWrite,
  kAtomic
};
constexpr const char *kVerbs[] = {"", "reads", "writes", "changes atomically"};

struct Record {
  uint32_t serial;  // of the block, from 1
  uint16_t thread;
  uint16_t epoch;  // barriers before it
  Kind kind;
  uint8_t mask;  // of the bytes of the word
};
struct Word {
  Record records[kRecords];
};
struct Memory {
  uintptr_t begin = 0;
  size_t bytes = 0;
  size_t number = 0;
  std::unique_ptr<Word, void (*)(void *)> words{nullptr, std::free};
  // By byte, the block that wrote it first; that of the host is 1.
  std::unique_ptr<uint32_t, void (*)(void *)> written{nullptr, std::free};

  Memory(uintptr_t begin, size_t bytes, size_t number)
      : begin(begin), bytes(bytes), number(number) {
    const auto zeros = [](size_t count, size_t each) { return std::calloc(count + 1, each); };
    words.reset(static_cast<Word *>(zeros(bytes / 4 + 2, sizeof(Word))));
    written.reset(static_cast<uint32_t *>(zeros(bytes, sizeof(uint32_t))));
  }
  bool Has(uintptr_t p, size_t n) const { return p >= begin && p + n <= begin + bytes; }
};

struct Thread {
  uint16_t epoch = 0;
  bool dirty = false;   // touched memory since its last fence
  bool fenced = false;  // since the last barrier
  uint32_t acquired = 0;
};
// How much of a block is known: what was before this epoch.
struct Known {
  uint32_t serial;
  uint16_t epoch;
};
struct Release {
  Known own;
  std::vector<Known> others;
};
struct Acquired {
  uint16_t epoch;
  uint32_t number;  // of the acquisition
};
struct Acquisition {
  uint16_t epoch;
  unsigned thread;
};

// A block, and what its threads know of others.
struct Block {
  uint32_t serial = 0;
  std::vector<Thread> threads;
  size_t dirty = 0;
  bool clean = false;  // at the last barrier no thread was dirty
  // By serial, in the order in which it became known.
  std::vector<std::vector<Acquired>> acquired;
  std::vector<Acquisition> acquisitions;
  // Of shared memory, the words that the block has written, and what is in them
  // while others run.
  std::vector<uint32_t *> words;
  std::vector<uint32_t> values;
  std::unique_ptr<Memory> shared;
};

struct State {
  uint32_t first = 1, serial = 1, launches = 0;
  size_t blocks_of_launch = 0;
  std::vector<uint32_t> blocks;  // by serial
  // By place; that of `now` runs.
  std::map<unsigned, Block> slots;
  Block *now = nullptr;
  // By address; of the launch.
  std::unordered_map<uintptr_t, std::vector<Release>> releases;

  std::map<uintptr_t, Memory> memory;
  size_t memories = 0;
  Memory *last = nullptr;
  uint32_t victim = 0;

  std::vector<std::string> findings;
};
State &TheState() {
  static State *state = new State;
  return *state;
}

bool g_inside = false;
unsigned g_thread = 0;
uintptr_t g_stack = 0;

Memory *Find(State &s, uintptr_t p, size_t bytes) {
  if (s.last != nullptr && s.last->Has(p, bytes)) return s.last;
  const auto after = s.memory.upper_bound(p);
  if (after != s.memory.begin()) {
    Memory &m = std::prev(after)->second;
    if (m.Has(p, bytes)) return s.last = &m;
  }
  if (s.now == nullptr || !IsShared(reinterpret_cast<const void *>(p))) return nullptr;
  return s.now->shared.get();
}
bool IsShared(const State &s, const Memory *m) {
  return s.now != nullptr && m == s.now->shared.get();
}

std::string Place(const State &s, const Memory &m, uintptr_t p) {
  const std::string where =
      IsShared(s, &m) ? "shared memory" : absl::StrCat("memory ", m.number);
  return absl::StrCat("byte ", p - m.begin, " of ", where, ", launch ", s.launches);
}
std::string Who(const State &s, uint32_t serial, unsigned thread) {
  return absl::StrCat("thread ", thread, " of block ", s.blocks[serial - s.first]);
}

// Whether it was before what `thread` of the block that runs does now.
bool IsBefore(const State &s, const Record &r, unsigned thread) {
  if (r.serial < s.first) return true;
  const Thread &t = s.now->threads[thread];
  if (r.serial == s.now->serial) return r.thread == thread || r.epoch < t.epoch;
  const std::vector<Acquired> &known = s.now->acquired[r.serial - s.first];
  for (auto a = known.rbegin(); a != known.rend() && r.epoch < a->epoch; ++a)
    if (a->number <= t.acquired) return true;
  return false;
}

// Remembers the words of shared memory that the block has not written before.
void AddWords(Block *block, uintptr_t p, size_t bytes) {
  const Memory &m = *block->shared;
  for (uintptr_t word = p / 4 * 4; word < p + bytes; word += 4) {
    const uint32_t *written = m.written.get() + (word - m.begin);
    const auto is_own = [block](uint32_t serial) { return serial == block->serial; };
    if (std::none_of(written, written + 4, is_own))
      block->words.push_back(reinterpret_cast<uint32_t *>(word));
  }
}

void Access(unsigned thread, uintptr_t p, size_t bytes, Kind kind) {
  State &s = TheState();
  if (p >= g_stack && p < g_stack + kStack) return;
  Memory *m = Find(s, p, bytes);
  if (m == nullptr)
    return AddFinding(absl::StrCat(Who(s, s.now->serial, thread), " ", kVerbs[int(kind)], " ", bytes,
                                   " bytes outside of memory, launch ", s.launches));
  const bool shared = IsShared(s, m);
  Block &block = *s.now;
  if (p % bytes != 0)
    AddFinding(absl::StrCat(Who(s, s.now->serial, thread), " ", kVerbs[int(kind)], " ", bytes,
                            " bytes that are not aligned, ", Place(s, *m, p)));
  Thread &t = block.threads[thread];
  if (!shared && !t.dirty && kind != Kind::kAtomic) t.dirty = true, ++block.dirty;
  uint32_t *written = m->written.get() + (p - m->begin);
  for (size_t i = 0; i < bytes; ++i) {
    if (kind != Kind::kWrite && (shared ? written[i] != block.serial : written[i] == 0)) {
      AddFinding(absl::StrCat(Who(s, s.now->serial, thread), " ", kVerbs[int(kind)],
                              " what was not written, ", Place(s, *m, p + i)));
      break;
    }
  }
  if (kind != Kind::kRead) {
    if (shared) AddWords(&block, p, bytes);
    std::fill_n(written, bytes, block.serial);
  }

  for (uintptr_t word = p / 4; word <= (p + bytes - 1) / 4; ++word) {
    uint8_t mask = 0;
    for (uintptr_t b = std::max(p, word * 4); b < std::min(p + bytes, word * 4 + 4); ++b)
      mask |= uint8_t(1u << (b % 4));
    Word &w = m->words.get()[word - m->begin / 4];
    Record *free = nullptr;
    for (Record &r : w.records) {
      if (r.kind == Kind::kNone || r.serial < s.first || (shared && r.serial != block.serial)) {
        r.kind = Kind::kNone;
        free = &r;
        continue;
      }
      if ((r.mask & mask) == 0) continue;
      const bool before = IsBefore(s, r, thread);
      const bool conflict = (r.kind != Kind::kRead || kind != Kind::kRead) &&
                            (r.kind != Kind::kAtomic || kind != Kind::kAtomic);
      if (conflict && !before)
        AddFinding(absl::StrCat("race: ", Who(s, s.now->serial, thread), " ", kVerbs[int(kind)],
                                " what ", Who(s, r.serial, r.thread), " ", kVerbs[int(r.kind)],
                                ", ", Place(s, *m, p)));
      // What comes later is behind this one, then, and conflicts with it too.
      if ((kind == Kind::kWrite || (before && r.kind == kind)) && (r.mask & ~mask) == 0) {
        r.kind = Kind::kNone;
        free = &r;
      }
    }
    if (free == nullptr) {
      // Rather what was read.
      for (int i = 0; i < kRecords && free == nullptr; ++i) {
        Record &r = w.records[++s.victim % kRecords];
        if (r.kind == Kind::kRead) free = &r;
      }
      if (free == nullptr) free = &w.records[++s.victim % kRecords];
    }
    *free = {block.serial, uint16_t(thread), t.epoch, kind, mask};
  }
}

}  // namespace

void AddMemory(void *begin, size_t bytes) {
  State &s = TheState();
  const auto at = reinterpret_cast<uintptr_t>(begin);
  s.memory.emplace(at, Memory(at, bytes, ++s.memories));
}
void RemoveMemory(void *begin) {
  State &s = TheState();
  s.last = nullptr;
  s.memory.erase(reinterpret_cast<uintptr_t>(begin));
}
bool IsInMemory(const void *begin, size_t bytes) {
  const auto at = reinterpret_cast<uintptr_t>(begin);
  Memory *m = Find(TheState(), at, bytes);
  return m != nullptr && !IsShared(TheState(), m);
}
bool IsShared(const void *p) { return p >= &__data_start && p < &_end; }
void SetWritten(void *begin, size_t bytes) {
  const auto at = reinterpret_cast<uintptr_t>(begin);
  if (Memory *m = Find(TheState(), at, bytes); m != nullptr)
    std::fill_n(m->written.get() + (at - m->begin), bytes, 1);
}

void CheckLaunch(unsigned blocks) {
  State &s = TheState();
  s.first = s.serial + 1;
  ++s.launches;
  s.blocks.clear();
  s.releases.clear();
  s.blocks_of_launch = blocks;
}
void CheckBlock(unsigned slot, unsigned block, unsigned threads) {
  State &s = TheState();
  Block &b = s.slots[slot];
  auto shared = std::move(b.shared);
  if (s.now == &b) s.now = nullptr;
  b = Block();
  if (shared == nullptr)
    shared = std::make_unique<Memory>(reinterpret_cast<uintptr_t>(&__data_start) / 4 * 4,
                                      size_t(&_end - &__data_start) + 8, 0);
  b.shared = std::move(shared);
  b.serial = ++s.serial;
  b.threads.assign(threads, {});
  b.acquired.resize(s.blocks_of_launch);
  s.blocks.push_back(block);
}
void CheckTurn(unsigned slot) {
  State &s = TheState();
  Block &b = s.slots[slot];
  if (s.now == &b) return;
  if (s.now != nullptr) {
    s.now->values.clear();
    for (const uint32_t *word : s.now->words) s.now->values.push_back(*word);
  }
  s.now = &b;
  for (size_t i = 0; i < b.values.size(); ++i) *b.words[i] = b.values[i];
}
void CheckBarrier() {
  Block &b = *TheState().now;
  b.clean = b.dirty == 0;
  for (Thread &t : b.threads) {
    ++t.epoch;
    t.fenced = false;
  }
}
void CheckFence(unsigned thread) {
  Block &b = *TheState().now;
  Thread &t = b.threads[thread];
  if (t.dirty) t.dirty = false, --b.dirty;
  t.fenced = true;
  // Of this thread's own, or with a barrier since.
  while (t.acquired < b.acquisitions.size()) {
    const Acquisition &a = b.acquisitions[t.acquired];
    if (a.thread != thread && a.epoch >= t.epoch) break;
    ++t.acquired;
  }
}
void CheckAtomic(unsigned thread, const void *p, size_t bytes, AtomicKind kind) {
  State &s = TheState();
  Block &b = *s.now;
  const auto at = reinterpret_cast<uintptr_t>(p);
  if (Memory *m = Find(s, at, bytes); kind == AtomicKind::kWrites && m != nullptr) {
    if (IsShared(s, m)) AddWords(&b, at, bytes);
    std::fill_n(m->written.get() + (at - m->begin), bytes, b.serial);
  }
  Access(thread, at, bytes, Kind::kAtomic);
  if (!IsInMemory(p, bytes)) return;
  const Thread &t = b.threads[thread];
  if (const auto found = s.releases.find(at); found != s.releases.end()) {
    const auto number = uint32_t(b.acquisitions.size() + 1);
    const auto acquire = [&](const Known &known) {
      std::vector<Acquired> &all = b.acquired[known.serial - s.first];
      if (known.serial == b.serial || (!all.empty() && all.back().epoch >= known.epoch))
        return false;
      all.push_back({known.epoch, number});
      return true;
    };
    bool news = false;
    for (const Release &r : found->second) {
      if (!acquire(r.own)) continue;
      news = true;
      for (const Known &known : r.others) acquire(known);
    }
    if (news) b.acquisitions.push_back({t.epoch, thread});
  }
  if (kind == AtomicKind::kReads || t.epoch == 0 || !(b.clean || t.fenced)) return;
  Release release{{b.serial, t.epoch}, {}};
  for (size_t i = 0; i < b.acquired.size(); ++i) {
    const std::vector<Acquired> &all = b.acquired[i];
    for (auto a = all.rbegin(); a != all.rend(); ++a)
      if (a->number <= t.acquired) {
        release.others.push_back({uint32_t(s.first + i), a->epoch});
        break;
      }
  }
  s.releases[at].push_back(std::move(release));
}

void EnterKernel(unsigned thread, const char *stack) {
  g_thread = thread;
  g_stack = reinterpret_cast<uintptr_t>(stack);
  g_inside = true;
}
void LeaveKernel() { g_inside = false; }

void AddFinding(const std::string &finding) {
  std::vector<std::string> &findings = TheState().findings;
  if (findings.size() < kMaxFindings) findings.push_back(finding);
}
std::vector<std::string> TakeFindings() { return std::exchange(TheState().findings, {}); }

}  // namespace commsched::testing::cuda

// What the compiler calls, where it is told -fsanitize=thread.
namespace {

using commsched::testing::cuda::Kind;

inline void Seen(void *p, size_t bytes, Kind kind) {
  using namespace commsched::testing::cuda;
  if (!g_inside) return;
  g_inside = false;
  Access(g_thread, reinterpret_cast<uintptr_t>(p), bytes, kind);
  g_inside = true;
}

}  // namespace

extern "C" {
void __tsan_init() {}
void __tsan_func_entry(void *) {}
void __tsan_func_exit() {}
#define COMMSCHED_SEEN(bytes)                                       \
  void __tsan_read##bytes(void *p) { Seen(p, bytes, Kind::kRead); } \
  void __tsan_write##bytes(void *p) { Seen(p, bytes, Kind::kWrite); }
COMMSCHED_SEEN(1)
COMMSCHED_SEEN(2)
COMMSCHED_SEEN(4)
COMMSCHED_SEEN(8)
COMMSCHED_SEEN(16)
void __tsan_unaligned_read2(void *p) { Seen(p, 2, Kind::kRead); }
void __tsan_unaligned_read4(void *p) { Seen(p, 4, Kind::kRead); }
void __tsan_unaligned_read8(void *p) { Seen(p, 8, Kind::kRead); }
void __tsan_unaligned_read16(void *p) { Seen(p, 16, Kind::kRead); }
void __tsan_unaligned_write2(void *p) { Seen(p, 2, Kind::kWrite); }
void __tsan_unaligned_write4(void *p) { Seen(p, 4, Kind::kWrite); }
void __tsan_unaligned_write8(void *p) { Seen(p, 8, Kind::kWrite); }
void __tsan_unaligned_write16(void *p) { Seen(p, 16, Kind::kWrite); }
// Of structures: byte by byte.
void __tsan_read_range(void *p, size_t bytes) {
  for (size_t i = 0; i < bytes; ++i) Seen(static_cast<char *>(p) + i, 1, Kind::kRead);
}
void __tsan_write_range(void *p, size_t bytes) {
  for (size_t i = 0; i < bytes; ++i) Seen(static_cast<char *>(p) + i, 1, Kind::kWrite);
}
void __tsan_vptr_update(void *, void *) {}
}
