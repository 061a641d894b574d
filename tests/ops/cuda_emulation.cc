// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tests/ops/cuda_emulation.h"

#include <setjmp.h>
#include <ucontext.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <vector>

#include "tests/ops/cuda_emulation_check.h"

namespace commsched::testing::cuda {
namespace {

// Blocks that are there at once, and take turns.
constexpr unsigned kResident = 3;
// Turns of all of them without anything going on, after which nothing will.
constexpr unsigned kIdleTurns = 3 * kResident;

struct Barrier {
  unsigned here = 0;
  uint64_t round = 0;
};
struct Warp {
  Barrier barrier;
  WarpNumbers numbers = {};
  uint64_t operation = 0;
};
// Changes after the first are by _longjmp: swapcontext is a system call.
struct Fiber {
  ucontext_t context;
  jmp_buf resume;
  bool begun = false;
  bool ended = false;
};
struct Block {
  ucontext_t scheduler;
  jmp_buf resume;
  std::vector<Fiber> fibers;
  std::vector<Warp> warps;
  Barrier all;
  unsigned current = 0, number = 0, running = 0, slot = 0;
  bool moved = false;  // a thread passed a barrier, or ended
  const std::function<void()> *body = nullptr;
};
Block *g_block = nullptr;

char *Stack(unsigned slot, unsigned thread) {
  static std::vector<std::vector<char>> stacks[kResident];
  while (stacks[slot].size() <= thread) stacks[slot].emplace_back(kStack);
  return stacks[slot][thread].data();
}

// What the emulation does is not the kernel's.
class Outside {
 public:
  Outside() { LeaveKernel(); }
  ~Outside() { BeginKernel(); }
};

void Yield() {
  Block &b = *g_block;
  if (_setjmp(b.fibers[b.current].resume) == 0) _longjmp(b.resume, 1);
}

void Resume(unsigned thread) {
  Block &b = *g_block;
  Fiber &fiber = b.fibers[thread];
  b.current = thread;
  if (_setjmp(b.resume) != 0) return;
  if (fiber.begun) _longjmp(fiber.resume, 1);
  fiber.begun = true;
  swapcontext(&b.scheduler, &fiber.context);
}

// Whether this thread was the last to come.
bool Wait(Barrier *barrier, unsigned threads) {
  const uint64_t round = barrier->round;
  if (++barrier->here == threads) {
    barrier->here = 0;
    ++barrier->round;
    g_block->moved = true;
    return true;
  }
  while (barrier->round == round) Yield();
  return false;
}

void Body() {
  Block &b = *g_block;
  (*b.body)();
  b.fibers[b.current].ended = true;
  b.moved = true;
  --b.running;
  Yield();
}

template <typename T, typename Function>
T Atomic(T *p, Function function, AtomicKind kind = AtomicKind::kChanges) {
  const Outside outside;
  CheckAtomic(g_block->current, p, sizeof(T), kind);
  if (!IsInMemory(p, sizeof(T)) && !IsShared(p)) return 0;
  const T old = *p;
  *p = function(old);
  return old;
}

}  // namespace

Dim ThreadIndex() { return {g_block->current}; }
Dim BlockIndex() { return {g_block->number}; }
void BeginKernel() { EnterKernel(g_block->current, Stack(g_block->slot, g_block->current)); }
void EndKernel() { LeaveKernel(); }

// Kernels do not wait for threads that have returned.
void BlockBarrier() {
  const Outside outside;
  Block &b = *g_block;
  // Once, before any thread goes on.
  if (b.all.here + 1 == b.fibers.size()) CheckBarrier();
  Wait(&b.all, unsigned(b.fibers.size()));
}
void Fence() {
  const Outside outside;
  CheckFence(g_block->current);
}

WarpNumbers Exchange(uint64_t number, WarpOperation operation, int argument, unsigned mask) {
  const Outside outside;
  Warp &warp = g_block->warps[g_block->current / 32];
  const uint64_t own = uint64_t(operation) << 32 | uint32_t(argument);
  if (warp.barrier.here == 0)
    warp.operation = own;
  else if (warp.operation != own)
    AddFinding("lanes of a warp are in different shuffles or votes");
  if (mask != 0xffffffffu) AddFinding("only the mask of all lanes is emulated");
  warp.numbers.of[g_block->current % 32] = number;
  Wait(&warp.barrier, 32);
  const WarpNumbers numbers = warp.numbers;
  Wait(&warp.barrier, 32);
  return numbers;
}

uint32_t AtomicAdd(uint32_t *p, uint32_t v) {
  return Atomic(p, [v](uint32_t old) { return old + v; });
}
uint32_t AtomicMax(uint32_t *p, uint32_t v) {
  return Atomic(p, [v](uint32_t old) { return std::max(old, v); });
}
uint32_t AtomicExchange(uint32_t *p, uint32_t v) {
  return Atomic(p, [v](uint32_t) { return v; }, AtomicKind::kWrites);
}
uint64_t AtomicAdd(uint64_t *p, uint64_t v) {
  return Atomic(p, [v](uint64_t old) { return old + v; });
}
uint64_t AtomicMax(uint64_t *p, uint64_t v) {
  return Atomic(p, [v](uint64_t old) { return std::max(old, v); });
}
uint64_t AtomicExchange(uint64_t *p, uint64_t v) {
  return Atomic(p, [v](uint64_t) { return v; }, AtomicKind::kWrites);
}

uint32_t AtomicLoad(uint32_t *p) {
  return Atomic(p, [](uint32_t old) { return old; }, AtomicKind::kReads);
}
uint64_t AtomicLoad(uint64_t *p) {
  return Atomic(p, [](uint64_t old) { return old; }, AtomicKind::kReads);
}
void Pause() {
  const Outside outside;
  Yield();
}

namespace {

void Prepare(ucontext_t *context, char *stack, ucontext_t *scheduler) {
  getcontext(context);
  context->uc_stack.ss_sp = stack;
  context->uc_stack.ss_size = kStack;
  context->uc_link = scheduler;
  makecontext(context, &Body, 0);
}

std::unique_ptr<Block> Begin(unsigned number, unsigned slot, unsigned threads,
                             const std::function<void()> &body) {
  auto block = std::make_unique<Block>();
  block->number = number;
  block->slot = slot;
  block->fibers.resize(threads);
  block->warps.resize((threads + 31) / 32);
  block->running = threads;
  block->body = &body;
  for (unsigned t = 0; t < threads; ++t)
    Prepare(&block->fibers[t].context, Stack(slot, t), &block->scheduler);
  CheckBlock(slot, number, threads);
  return block;
}

// Up to `rounds` times, each thread goes on until it waits. Whether one did.
bool Turn(Block *block, unsigned rounds) {
  g_block = block;
  CheckTurn(block->slot);
  bool moved = false;
  do {
    block->moved = false;
    for (unsigned t = 0; t < block->fibers.size(); ++t)
      if (!block->fibers[t].ended) Resume(t);
    moved = moved || block->moved;
  } while (block->moved && block->running != 0 && --rounds != 0);
  g_block = nullptr;
  return moved;
}

}  // namespace

void Launch(unsigned blocks, unsigned threads, const std::function<void()> &body) {
  CheckLaunch(blocks);
  // A step that has no divisor in common with the number of blocks.
  unsigned step = blocks / 2 + 1;
  while (std::gcd(step, blocks) != 1) ++step;
  std::unique_ptr<Block> resident[kResident];
  unsigned begun = 0, left = blocks, idle = 0, slot = 0;
  for (uint32_t random = 1; left != 0 && idle < kIdleTurns;) {
    random = random * 1664525 + 1013904223;
    // By chance, but the next where the last could not go on.
    slot = idle != 0 ? (slot + 1) % kResident : random % 65521 % kResident;
    std::unique_ptr<Block> &block = resident[slot];
    if (block == nullptr && begun == blocks) {
      idle += idle != 0;
      continue;
    }
    if (block == nullptr)
      block = Begin(unsigned(uint64_t(begun++) * step % blocks), slot, threads, body);
    idle = Turn(block.get(), 1 + (random >> 8) % 100) ? 0 : idle + 1;
    if (block->running != 0) continue;
    block.reset();
    --left;
  }
  if (left != 0) AddFinding("threads wait for others that do not come");
}

}  // namespace commsched::testing::cuda
