// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tests/ops/cuda_emulation.h"

#include <setjmp.h>
#include <ucontext.h>

#include <numeric>
#include <vector>

#include "tests/ops/cuda_emulation_check.h"

namespace commsched::testing::cuda {
namespace {

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
  unsigned current = 0, number = 0, running = 0;
  bool moved = false;  // a thread passed a barrier, or ended
  const std::function<void()> *body = nullptr;
};
Block *g_block = nullptr;

std::vector<std::vector<char>> &Stacks() {
  static std::vector<std::vector<char>> stacks;
  return stacks;
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
T Atomic(T *p, Function function, bool writes = false) {
  const Outside outside;
  CheckAtomic(g_block->current, p, sizeof(T), writes);
  if (!IsInMemory(p, sizeof(T)) && !IsShared(p)) return 0;
  const T old = *p;
  *p = function(old);
  return old;
}

}  // namespace

Dim ThreadIndex() { return {g_block->current}; }
Dim BlockIndex() { return {g_block->number}; }
void BeginKernel() { EnterKernel(g_block->current, Stacks()[g_block->current].data()); }
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
  return Atomic(p, [v](uint32_t) { return v; }, true);
}
uint64_t AtomicAdd(uint64_t *p, uint64_t v) {
  return Atomic(p, [v](uint64_t old) { return old + v; });
}
uint64_t AtomicMax(uint64_t *p, uint64_t v) {
  return Atomic(p, [v](uint64_t old) { return std::max(old, v); });
}
uint64_t AtomicExchange(uint64_t *p, uint64_t v) {
  return Atomic(p, [v](uint64_t) { return v; }, true);
}

void Launch(unsigned blocks, unsigned threads, const std::function<void()> &body) {
  std::vector<std::vector<char>> &stacks = Stacks();
  while (stacks.size() < threads) stacks.emplace_back(kStack);
  CheckLaunch(blocks);
  // A step that has no divisor in common with the number of blocks.
  unsigned step = blocks / 2 + 1;
  while (std::gcd(step, blocks) != 1) ++step;
  for (unsigned i = 0; i < blocks; ++i) {
    Block block;
    block.number = unsigned(uint64_t(i) * step % blocks);
    block.fibers.resize(threads);
    block.warps.resize((threads + 31) / 32);
    block.running = threads;
    block.body = &body;
    g_block = &block;
    CheckBlock(block.number, threads);
    for (unsigned t = 0; t < threads; ++t) {
      Fiber &fiber = block.fibers[t];
      getcontext(&fiber.context);
      fiber.context.uc_stack.ss_sp = stacks[t].data();
      fiber.context.uc_stack.ss_size = kStack;
      fiber.context.uc_link = &block.scheduler;
      makecontext(&fiber.context, &Body, 0);
    }
    while (block.running != 0) {
      block.moved = false;
      for (unsigned t = 0; t < threads; ++t) {
        if (block.fibers[t].ended) continue;
        Resume(t);
      }
      if (block.moved || block.running == 0) continue;
      AddFinding("threads of a block wait for others that do not come");
      break;
    }
    g_block = nullptr;
  }
}

}  // namespace commsched::testing::cuda
