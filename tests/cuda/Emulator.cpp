// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tests/cuda/Emulator.h"

#include <algorithm>
#include <deque>
#include <memory>
#include <numeric>
#include <random>
#include <vector>

// Keeps what a function must keep and the stack in `*from`, and goes on where `to` was kept. That of
// libc asks the system for the mask of signals each time, which takes most of an emulation.
extern "C" [[gnu::visibility("hidden")]] void csSwitchStack(void **from, void *to);
asm(R"(
  .text
  .hidden csSwitchStack
  .globl csSwitchStack
  .type csSwitchStack, @function
csSwitchStack:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
  .size csSwitchStack, . - csSwitchStack
)");

namespace commsched::cudatest {
namespace {

constexpr size_t kStackBytes = 64 << 10;
constexpr unsigned kWarp = 32, kResident = 3; // blocks that run at a time
constexpr uint64_t kAll = ~uint64_t(0);       // a distance: what all lanes give, or-ed
constexpr uint64_t kFromFirst = kAll - 1;     // a distance: what the first lane gives

struct Fiber {
  enum State {
    Ready,
    AtBarrier,
    AtShuffle,
    Done
  };
  void *at = nullptr; // its stack, while others run
  std::unique_ptr<char[]> stack{new char[kStackBytes]};
  State state = Ready;
  uint64_t given = 0, distance = 0, received = 0;
};

// A word of shared memory, and who used it since the last barrier.
struct Word {
  uint64_t value = 0;
  bool written = false;
  unsigned writer = 0, reader = 0;
  uint64_t writeEpoch = 0, readEpoch = 0; // 0: never
  bool severalReaders = false;
};

struct ThreadBlock {
  unsigned number = 0;
  std::vector<std::unique_ptr<Fiber>> fibers;
  std::vector<Word> shared;
  uint64_t epoch = 1;
};

struct Machine {
  void *scheduler = nullptr; // as Fiber::at
  std::vector<ThreadBlock> blocks;
  const std::function<void()> *kernel = nullptr;
  ThreadBlock *block = nullptr;
  unsigned thread = 0;
  std::string fault;
};
Machine *machine = nullptr;

std::vector<std::unique_ptr<Fiber>> &idleFibers() {
  static std::vector<std::unique_ptr<Fiber>> fibers;
  return fibers;
}

void fail(const std::string &what) {
  if (machine->fault.empty())
    machine->fault = "block " + std::to_string(machine->block->number) + ", thread " +
                     std::to_string(machine->thread) + ": " + what;
}

void leave(Fiber::State state) {
  Fiber &fiber = *machine->block->fibers[machine->thread];
  fiber.state = state;
  csSwitchStack(&fiber.at, machine->scheduler);
}

void enter() {
  (*machine->kernel)();
  leave(Fiber::Done);
}

// So that csSwitchStack begins enter() as if it had been called.
void prepare(Fiber &fiber) {
  auto top = (reinterpret_cast<uintptr_t>(fiber.stack.get()) + kStackBytes) / 16 * 16;
  // A function begins eight bytes off, where its caller's address is: here that of nobody.
  auto *words = reinterpret_cast<void **>(top) - 1;
  *words = nullptr;
  *--words = reinterpret_cast<void *>(enter);
  for (int saved = 0; saved < 6; ++saved)
    *--words = nullptr;
  fiber.at = words;
}

uint64_t shuffleDown(uint64_t value, uint64_t distance) {
  Fiber &fiber = *machine->block->fibers[machine->thread];
  fiber.given = value;
  fiber.distance = distance;
  leave(Fiber::AtShuffle);
  return fiber.received;
}

Word *wordAt(int32_t index) {
  auto &words = machine->block->shared;
  if (index >= 0 && size_t(index) < words.size())
    return &words[index];
  fail("shared memory has no word " + std::to_string(index));
  static Word nowhere;
  return &nowhere;
}

void storeShared(int32_t index, uint64_t value) {
  Word &word = *wordAt(index);
  uint64_t now = machine->block->epoch;
  if (word.writeEpoch == now && word.writer != machine->thread)
    fail("writes a word that another thread wrote before the same barrier");
  if (word.readEpoch == now && (word.severalReaders || word.reader != machine->thread))
    fail("writes a word that another thread read before the same barrier");
  word.value = value;
  word.written = true;
  word.writer = machine->thread;
  word.writeEpoch = now;
}

uint64_t loadShared(int32_t index) {
  Word &word = *wordAt(index);
  uint64_t now = machine->block->epoch;
  if (!word.written)
    fail("reads a word that nobody wrote");
  if (word.writeEpoch == now && word.writer != machine->thread)
    fail("reads a word that another thread wrote before the same barrier");
  word.severalReaders = word.readEpoch == now && (word.severalReaders || word.reader != machine->thread);
  word.reader = machine->thread;
  word.readEpoch = now;
  return word.value;
}

ThreadBlock makeBlock(unsigned number, const Launch &launch) {
  ThreadBlock block;
  block.number = number;
  // The number of words of either width: the kernel uses one.
  block.shared.resize(launch.sharedBytes / 4);
  for (unsigned thread = 0; thread < launch.block; ++thread) {
    auto &idle = idleFibers();
    std::unique_ptr<Fiber> fiber;
    if (idle.empty()) {
      fiber = std::make_unique<Fiber>();
    } else {
      fiber = std::move(idle.back());
      idle.pop_back();
    }
    fiber->state = Fiber::Ready;
    prepare(*fiber);
    block.fibers.push_back(std::move(fiber));
  }
  return block;
}

// Lets threads go on that wait for what has come; whether there were any.
bool release(ThreadBlock &block) {
  auto all = [](auto begin, auto end, Fiber::State state) {
    return std::all_of(begin, end, [=](auto &fiber) { return fiber->state == state; });
  };
  auto &fibers = block.fibers;
  if (all(fibers.begin(), fibers.end(), Fiber::AtBarrier)) {
    ++block.epoch;
    for (auto &fiber : fibers)
      fiber->state = Fiber::Ready;
    return true;
  }
  bool any = false;
  for (size_t warp = 0; warp + kWarp <= fibers.size(); warp += kWarp) {
    auto begin = fibers.begin() + warp;
    if (!all(begin, begin + kWarp, Fiber::AtShuffle))
      continue;
    any = true;
    uint64_t given = 0;
    for (size_t lane = 0; lane < kWarp; ++lane)
      given |= begin[lane]->given;
    for (size_t lane = 0; lane < kWarp; ++lane) {
      uint64_t distance = begin[lane]->distance;
      size_t other = distance < kWarp - lane ? lane + distance : lane;
      begin[lane]->received = distance == kAll ? given : begin[distance == kFromFirst ? 0 : other]->given;
    }
    for (size_t lane = 0; lane < kWarp; ++lane)
      begin[lane]->state = Fiber::Ready;
  }
  return any;
}

} // namespace

std::string emulate(const Launch &launch, const std::function<void()> &kernel, uint64_t seed) {
  std::mt19937_64 random(seed);
  Machine own;
  machine = &own;
  own.kernel = &kernel;
  std::vector<unsigned> order(launch.grid);
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), random);
  size_t next = 0;
  std::vector<unsigned> threads(launch.block);
  std::iota(threads.begin(), threads.end(), 0);
  while (own.fault.empty()) {
    while (own.blocks.size() < kResident && next < order.size())
      own.blocks.push_back(makeBlock(order[next++], launch));
    if (own.blocks.empty())
      break;
    size_t at = random() % own.blocks.size();
    ThreadBlock &block = own.blocks[at];
    own.block = &block;
    std::shuffle(threads.begin(), threads.end(), random);
    bool ran = false;
    // Not all that can run: others of the same warp come much later.
    for (unsigned thread : threads) {
      Fiber &fiber = *block.fibers[thread];
      if (fiber.state != Fiber::Ready || (launch.sharedBytes != 0 && random() % 4 == 0 && ran))
        continue;
      ran = true;
      own.thread = thread;
      csSwitchStack(&own.scheduler, fiber.at);
    }
    bool done = std::all_of(block.fibers.begin(), block.fibers.end(),
                            [](auto &fiber) { return fiber->state == Fiber::Done; });
    if (done) {
      for (auto &fiber : block.fibers)
        idleFibers().push_back(std::move(fiber));
      own.blocks.erase(own.blocks.begin() + at);
    } else if (!release(block) && !ran) {
      own.fault = "block " + std::to_string(block.number) +
                  ": threads wait at a barrier or shuffle that others do not come to";
    }
  }
  machine = nullptr;
  return own.fault;
}

std::string emulateAlone(const Launch &launch, const std::function<void()> &kernel, uint64_t seed) {
  std::mt19937_64 random(seed);
  Machine own;
  machine = &own;
  ThreadBlock block;
  own.block = &block;
  // Steps of a length that has no divisor in common with the number come to every one once.
  auto order = [&random](unsigned count) {
    unsigned step = 1 + unsigned(random() % count);
    while (std::gcd(step, count) != 1)
      ++step;
    return std::pair(unsigned(random() % count), step);
  };
  auto [firstBlock, blockStep] = order(launch.grid);
  for (unsigned i = 0; i < launch.grid && own.fault.empty(); ++i) {
    block.number = unsigned((firstBlock + uint64_t(i) * blockStep) % launch.grid);
    auto [firstThread, threadStep] = order(launch.block);
    for (unsigned j = 0; j < launch.block; ++j) {
      own.thread = unsigned((firstThread + uint64_t(j) * threadStep) % launch.block);
      kernel();
    }
  }
  machine = nullptr;
  return own.fault;
}

extern "C" {
static int32_t csThread() { return int32_t(machine->thread); }
static int32_t csBlock() { return int32_t(machine->block->number); }
static void csBarrier() { leave(Fiber::AtBarrier); }
static int32_t csShuffle32(int32_t value, int32_t distance) {
  return int32_t(shuffleDown(uint32_t(value), uint32_t(distance)));
}
static int64_t csShuffle64(int64_t value, int32_t distance) {
  return int64_t(shuffleDown(uint64_t(value), uint32_t(distance)));
}
static int32_t csFirst32(int32_t value) { return int32_t(shuffleDown(uint32_t(value), kFromFirst)); }
static int64_t csFirst64(int64_t value) { return int64_t(shuffleDown(uint64_t(value), kFromFirst)); }
static int32_t csAny(int32_t value) { return int32_t(shuffleDown(uint32_t(value), kAll)); }
static void csStore32(int32_t index, int32_t value) { storeShared(index, uint32_t(value)); }
static void csStore64(int32_t index, int64_t value) { storeShared(index, uint64_t(value)); }
static int32_t csLoad32(int32_t index) { return int32_t(loadShared(index)); }
static int64_t csLoad64(int32_t index) { return int64_t(loadShared(index)); }
}

const std::map<std::string, void *> &deviceFunctions() {
  static const std::map<std::string, void *> functions = {
      {"cs_thread", reinterpret_cast<void *>(csThread)},
      {"cs_block", reinterpret_cast<void *>(csBlock)},
      {"cs_barrier", reinterpret_cast<void *>(csBarrier)},
      {"cs_first_32", reinterpret_cast<void *>(csFirst32)},
      {"cs_first_64", reinterpret_cast<void *>(csFirst64)},
      {"cs_any", reinterpret_cast<void *>(csAny)},
      {"cs_shuffle_down_32", reinterpret_cast<void *>(csShuffle32)},
      {"cs_shuffle_down_64", reinterpret_cast<void *>(csShuffle64)},
      {"cs_shared_store_32", reinterpret_cast<void *>(csStore32)},
      {"cs_shared_store_64", reinterpret_cast<void *>(csStore64)},
      {"cs_shared_load_32", reinterpret_cast<void *>(csLoad32)},
      {"cs_shared_load_64", reinterpret_cast<void *>(csLoad64)}};
  return functions;
}

} // namespace commsched::cudatest
