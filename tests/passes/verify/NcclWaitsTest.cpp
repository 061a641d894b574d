// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// --verify-distributed on random steps with collectives of NCCL, whose order is drawn as well. The verdict
// must be that of ranks that run the step here, one op after the other, with a communicator each
// that takes its calls by their numbers. --lower-to-nccl on such steps without an order: nobody
// hangs, the turns are kept as far as that allows, and of all exchanges of two numbers those are
// found that hang.

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "ir/Register.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "passes/Passes.h"
#include "tests/cases.h"
#include "tests/passes/verify/Verdict.h"
#include "gtest/gtest.h"

#include "ir/Cs.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace commsched;

namespace {

enum class Kind {
  nccl,
  host, // a collective as well
  send, // to the next rank
  recv  // from the rank before
};
struct Communication {
  Kind kind = Kind::host;
  std::string key;
  int64_t number = 0;          // of NCCL
  int64_t turn = 0;            // as the schedule has it
  unsigned otherEnd = 0;       // of a send or recv
  std::vector<unsigned> after; // what has to be complete before it begins
};
struct Event {
  bool isAwait;
  unsigned communication;
};
struct Step {
  unsigned ranks = 2;
  std::vector<Communication> communications;
  std::vector<Event> events;
};

Step drawStep(std::mt19937 &random, bool messages) {
  auto below = [&](unsigned n) { return static_cast<unsigned>(random() % n); };
  Step step;
  step.ranks = 2 + below(3);
  std::vector<std::pair<double, Event>> events;
  auto add = [&](Kind kind, std::string key) {
    unsigned c = step.communications.size();
    double start = below(1000) / 1000.0;
    events.push_back({start, {false, c}});
    events.push_back({start + (1 + below(600)) / 1000.0, {true, c}});
    step.communications.push_back({kind, std::move(key), 0, below(8), 0, {}});
  };
  for (unsigned left = 2 + below(6), i = 0; i < left; ++i) {
    std::string key = "k" + std::to_string(i);
    if (unsigned which = below(6); which < 4) {
      add(Kind::nccl, key);
    } else if (which == 4 || !messages) {
      add(Kind::host, key);
    } else {
      unsigned first = step.communications.size();
      add(Kind::send, key);
      add(Kind::recv, key);
      step.communications[first].otherEnd = first + 1;
      step.communications[first + 1].otherEnd = first;
    }
  }
  std::stable_sort(events.begin(), events.end(), [](auto &a, auto &b) { return a.first < b.first; });
  std::vector<unsigned> begun;
  for (auto &[_, event] : events) {
    step.events.push_back(event);
    if (event.isAwait)
      continue;
    if (!begun.empty() && below(8) == 0)
      step.communications[event.communication].after.push_back(begun[below(begun.size())]);
    begun.push_back(event.communication);
  }
  return step;
}

/// As the program has them, or with some in each other's place, or in any order.
void drawNumbers(Step &step, std::mt19937 &random) {
  std::vector<unsigned> order;
  for (const Event &event : step.events)
    if (!event.isAwait && step.communications[event.communication].kind == Kind::nccl)
      order.push_back(event.communication);
  unsigned how = random() % 3;
  if (how == 2)
    std::shuffle(order.begin(), order.end(), random);
  for (unsigned swaps = how == 1 && !order.empty() ? 1 + random() % 2 : 0; swaps > 0; --swaps)
    std::swap(order[random() % order.size()], order[random() % order.size()]);
  for (auto [number, c] : llvm::enumerate(order))
    step.communications[c].number = static_cast<int64_t>(number);
}

std::string textOf(const Step &step, bool numbered) {
  std::string ranks = std::to_string(step.ranks), last = std::to_string(step.ranks - 1);
  std::string text = "cs.cluster @lab nodes = " + ranks +
                     " devices = 1 device = <kind = cuda, gflops = 40, gb_per_s = 20> "
                     "intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>\n"
                     "!t = !cs.placed<tensor<4xf32>, device 0>\n!f = !cs.future<!cs.placed<tensor<4xf32>, device 0>>\n"
                     "func.func @step(%a: !t {cs.param = \"a\"}) attributes {cs.step} {\n";
  for (const Event &event : step.events) {
    const Communication &own = step.communications[event.communication];
    std::string id = std::to_string(event.communication);
    if (event.isAwait) {
      text += "  %r" + id + " = cs.await %f" + id + " : !f\n";
      continue;
    }
    bool receives = own.kind == Kind::recv;
    text += "  %f" + id + " = cs.start \"" + own.key + "\" (" + (receives ? "" : "%a") + ")";
    if (!own.after.empty())
      text += " after (%f" + std::to_string(own.after.front()) + " : !f)";
    text += std::string(" : (") + (receives ? "" : "!t") + ") -> !f attributes {";
    if (own.kind == Kind::nccl && numbered)
      text += "cs.nccl = #cs.nccl<lane = 0, number = " + std::to_string(own.number) + ">, ";
    text += "cs.turn = " + std::to_string(own.turn) + " : i64} {\n";
    if (!receives)
      text += "  ^bb0(%x: !t):\n";
    std::string result = "%v";
    if (own.kind == Kind::send) {
      text += "    cs.send \"" + own.key + "\" %x to affine_map<(r) -> ((r + 1) mod " + ranks + ")> : !t\n";
      result = "%x";
    } else if (receives) {
      text += "    %v = cs.recv \"" + own.key + "\" from affine_map<(r) -> ((r + " + last + ") mod " + ranks + ")> : !t\n";
    } else {
      text += "    %v = cs.all_reduce \"" + own.key + "\" sum %x : !t\n";
    }
    text += "    cs.return " + result + " : !t\n  }\n";
  }
  return text + "  return\n}\n";
}

/// Runs it: every await blocks, and a communicator takes a call when those before it have ended.
bool hangs(const Step &step) {
  const unsigned ranks = step.ranks, count = step.communications.size();
  std::vector<size_t> at(ranks, 0);
  std::vector<std::vector<bool>> begun(ranks, std::vector<bool>(count, false));
  int64_t taken = 0; // numbers that have ended
  auto everywhere = [&](unsigned c) {
    return llvm::all_of(begun, [&](const std::vector<bool> &own) { return own[c]; });
  };
  auto complete = [&](unsigned rank, unsigned c) -> bool {
    const Communication &own = step.communications[c];
    switch (own.kind) {
    case Kind::nccl:
      return own.number < taken;
    case Kind::host:
      return everywhere(c);
    case Kind::send:
      return begun[(rank + 1) % ranks][own.otherEnd];
    case Kind::recv:
      return begun[(rank + ranks - 1) % ranks][own.otherEnd];
    }
    return false;
  };
  for (bool moved = true; moved;) {
    moved = false;
    for (unsigned rank = 0; rank < ranks; ++rank)
      for (; at[rank] < step.events.size(); ++at[rank]) {
        const Event &event = step.events[at[rank]];
        const Communication &own = step.communications[event.communication];
        if (event.isAwait ? !complete(rank, event.communication)
                          : llvm::any_of(own.after, [&](unsigned c) { return !complete(rank, c); }))
          break;
        if (!event.isAwait)
          begun[rank][event.communication] = true;
        moved = true;
      }
    for (unsigned c = 0; c < count; ++c) {
      const Communication &own = step.communications[c];
      if (own.kind != Kind::nccl || own.number != taken || !everywhere(c))
        continue;
      ++taken;
      moved = true;
      c = ~0u; // from the first again
    }
  }
  return llvm::any_of(at, [&](size_t place) { return place < step.events.size(); });
}

class NcclWaits : public ::testing::Test {
protected:
  NcclWaits() : context(registry()) { registerPasses(); }
  static DialectRegistry registry() {
    DialectRegistry registry;
    registerDialects(registry);
    return registry;
  }

  Verdict run(ModuleOp module, StringRef pipeline) { return verdictOf(module, pipeline, context, said); }
  Verdict run(const std::string &text, StringRef pipeline) {
    OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
    return run(module ? *module : ModuleOp(), pipeline);
  }

  MLIRContext context;
  std::string said;
};

TEST_F(NcclWaits, TheVerdictIsThatOfARun) {
  uint32_t stuck = 0, named = 0;
  const Cases cases = casesOf(600);
  for (uint32_t seed = cases.first; seed < cases.end; ++seed) {
    std::mt19937 random(seed);
    Step step = drawStep(random, true);
    drawNumbers(step, random);
    std::string text = textOf(step, true);
    Verdict wanted = hangs(step) ? Verdict::stuck : Verdict::free;
    ASSERT_EQ(run(text, "verify-distributed"), wanted) << "seed " << seed << "\n"
                                                       << said << text;
    named += StringRef(said).contains("which NCCL takes as number");
    ASSERT_EQ(run(text, "specialize-ranks,verify-distributed"), wanted)
        << "a function for each rank, seed " << seed << "\n"
        << said << text;
    stuck += wanted == Verdict::stuck;
  }
  EXPECT_GT(stuck, cases.count() / 10);
  EXPECT_LT(stuck, cases.count() * 9 / 10);
  EXPECT_GT(named, stuck / 4);
}

/// The step as the module has it.
Step readStep(ModuleOp module, const Step &drawn) {
  Step step = drawn;
  step.events.clear();
  llvm::DenseMap<Value, unsigned> futures;
  func::FuncOp function = *module.getOps<func::FuncOp>().begin();
  for (Operation &op : function.front())
    if (auto start = dyn_cast<cs::StartOp>(op)) {
      unsigned c = 0;
      while (step.communications[c].key != start.getKey())
        ++c;
      futures[start.getFuture()] = c;
      step.events.push_back({false, c});
      if (auto nccl = start->getAttrOfType<cs::NcclAttr>("cs.nccl"))
        step.communications[c].number = nccl.getNumber();
    } else if (auto await = dyn_cast<cs::AwaitOp>(op)) {
      step.events.push_back({true, futures.lookup(await.getFuture())});
    }
  return step;
}

/// The order of the pass, chosen one after the other: of those behind no first use of one that has no
/// number yet, the one whose turn it is.
std::vector<unsigned> expectedOrder(const Step &step) {
  std::vector<unsigned> starts, order;
  std::vector<size_t> place(step.communications.size()), used(step.communications.size(), SIZE_MAX);
  for (auto [i, event] : llvm::enumerate(step.events)) {
    if (event.isAwait) {
      used[event.communication] = std::min(used[event.communication], i);
      continue;
    }
    place[event.communication] = i;
    for (unsigned c : step.communications[event.communication].after)
      used[c] = std::min(used[c], i);
    starts.push_back(event.communication);
  }
  while (!starts.empty()) {
    unsigned best = ~0u;
    for (unsigned c : starts) {
      bool free = llvm::none_of(starts, [&](unsigned other) { return other != c && used[other] <= place[c]; });
      if (free && (best == ~0u || step.communications[c].turn < step.communications[best].turn))
        best = c;
    }
    order.push_back(best);
    llvm::erase(starts, best);
  }
  return order;
}

TEST_F(NcclWaits, ThePassKeepsTurnsAndNobodyHangs) {
  uint32_t swaps = 0, stuck = 0;
  const Cases cases = casesOf(200);
  for (uint32_t seed = cases.first; seed < cases.end; ++seed) {
    std::mt19937 random(seed);
    Step step = drawStep(random, false);
    for (Communication &own : step.communications)
      own.kind = Kind::nccl;
    std::string text = textOf(step, false);
    OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
    ASSERT_EQ(run(*module, "lower-to-nccl,verify-distributed"), Verdict::free) << "seed " << seed << "\n"
                                                                               << said << text;
    Step made = readStep(*module, step);
    ASSERT_FALSE(hangs(made)) << "seed " << seed << "\n"
                              << text;
    std::vector<unsigned> starts;
    for (const Event &event : made.events)
      if (!event.isAwait)
        starts.push_back(event.communication);
    for (auto [i, c] : llvm::enumerate(starts))
      ASSERT_EQ(made.communications[c].number, static_cast<int64_t>(i)) << "seed " << seed;
    ASSERT_EQ(starts, expectedOrder(step)) << "seed " << seed << "\n"
                                           << text;
    if (starts.size() < 2)
      continue;
    Step swapped = made;
    unsigned a = starts[random() % starts.size()], b = starts[random() % starts.size()];
    std::swap(swapped.communications[a].number, swapped.communications[b].number);
    Verdict wanted = hangs(swapped) ? Verdict::stuck : Verdict::free;
    ASSERT_EQ(run(textOf(swapped, true), "verify-distributed"), wanted) << "seed " << seed << "\n"
                                                                        << said;
    swaps += a != b;
    stuck += wanted == Verdict::stuck;
  }
  EXPECT_GT(stuck, swaps / 8);
  EXPECT_LT(stuck, swaps);
}

} // namespace
