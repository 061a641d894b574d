// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tests/ops/cuda_emulation.h"

#include <setjmp.h>
#include <ucontext.h>

#include <numeric>
#include <vector>

namespace commsched::testing::cuda {
namespace {

constexpr size_t kStack = 64 << 10;

struct Barrier {
  unsigned here = 0;
  uint64_t round = 0;
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
  std::vector<Barrier> warps;
  std::vector<std::vector<uint64_t>> slots;
  Barrier all;
  unsigned current = 0, number = 0, running = 0;
  const std::function<void()> *body = nullptr;
};
Block *g_block = nullptr;

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

void Wait(Barrier *barrier, unsigned threads) {
  const uint64_t round = barrier->round;
  if (++barrier->here == threads) {
    barrier->here = 0;
    ++barrier->round;
    return;
  }
  while (barrier->round == round) Yield();
}

void Body() {
  Block &b = *g_block;
  (*b.body)();
  b.fibers[b.current].ended = true;
  --b.running;
  Yield();
}

}  // namespace

Dim ThreadIndex() { return {g_block->current}; }
Dim BlockIndex() { return {g_block->number}; }
// Kernels do not wait for threads that have returned.
void BlockBarrier() { Wait(&g_block->all, unsigned(g_block->fibers.size())); }
void WarpBarrier() { Wait(&g_block->warps[g_block->current / 32], 32); }
uint64_t *WarpSlots() { return g_block->slots[g_block->current / 32].data(); }

void Launch(unsigned blocks, unsigned threads, const std::function<void()> &body) {
  static std::vector<std::vector<char>> stacks;
  while (stacks.size() < threads) stacks.emplace_back(kStack);
  // A step that has no divisor in common with the number of blocks.
  unsigned step = blocks / 2 + 1;
  while (std::gcd(step, blocks) != 1) ++step;
  for (unsigned i = 0; i < blocks; ++i) {
    Block block;
    block.number = unsigned(uint64_t(i) * step % blocks);
    block.fibers.resize(threads);
    block.warps.resize((threads + 31) / 32);
    block.slots.assign(block.warps.size(), std::vector<uint64_t>(32));
    block.running = threads;
    block.body = &body;
    g_block = &block;
    for (unsigned t = 0; t < threads; ++t) {
      Fiber &fiber = block.fibers[t];
      getcontext(&fiber.context);
      fiber.context.uc_stack.ss_sp = stacks[t].data();
      fiber.context.uc_stack.ss_size = kStack;
      fiber.context.uc_link = &block.scheduler;
      makecontext(&fiber.context, &Body, 0);
    }
    while (block.running != 0)
      for (unsigned t = 0; t < threads; ++t) {
        if (block.fibers[t].ended) continue;
        Resume(t);
      }
    g_block = nullptr;
  }
}

}  // namespace commsched::testing::cuda
