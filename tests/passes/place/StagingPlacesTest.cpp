// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Staging buffers of random steps whose communications say their turns: whoever has the
// bytes of another one waits for it, and the buffers are filled by turns unless data does not
// allow it.

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "ir/Cs.h"
#include "ir/Register.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "passes/Passes.h"
#include "tests/cases.h"
#include "gtest/gtest.h"

using namespace mlir;

namespace commsched::place {
namespace {

/// Fragment i makes what communication i reduces, and reads what some earlier ones gave;
/// the last fragment reads what no other one does.
struct Case {
  std::string text;
  int64_t capacity = 0;
  std::vector<int64_t> bytes, turns;  // by communication
  std::vector<unsigned> firstReaders; // fragments
};

Case makeCase(uint32_t seed) {
  std::mt19937 random(seed);
  auto below = [&](unsigned n) { return static_cast<unsigned>(random() % n); };
  const unsigned count = 1 + below(12);
  Case result;
  std::string text = "cs.cluster @node nodes = 2 devices = 1 device = <kind = cuda, gflops = 40, gb_per_s = 20>"
                     " intra = <mbit_per_s = 80000, latency_ns = 0> inter = <mbit_per_s = 1000, latency_ns = 0>\n"
                     "func.func @step(%x: !cs.placed<tensor<8xf32>, device 0> {cs.batch = \"x\"})"
                     " -> (!cs.placed<tensor<8xf32>, device 0> {cs.metric = \"m\"}) attributes {cs.step} {\n";
  std::vector<std::string> types;
  for (unsigned i = 0; i < count; ++i) {
    const int64_t elements = 1 + below(20);
    result.bytes.push_back(4 * elements);
    result.capacity = std::max(result.capacity, 4 * elements);
    types.push_back("!cs.placed<tensor<" + std::to_string(elements) + "xf32>, device 0>");
    result.turns.push_back(i);
  }
  std::shuffle(result.turns.begin(), result.turns.end(), random);
  result.capacity += below(3) ? below(120) : 0;
  result.firstReaders.assign(count, count);
  const unsigned careless = 1 + below(8);
  auto reads = [&](unsigned fragment) {
    std::string inputs = "%x", of = "!cs.placed<tensor<8xf32>, device 0>";
    for (unsigned i = 0; i < fragment; ++i) {
      if (fragment == count ? result.firstReaders[i] != count : below(careless + 2) != 0)
        continue;
      const std::string k = std::to_string(i);
      if (result.firstReaders[i] == count)
        text += "  %a" + k + " = cs.await %s" + k + " : !cs.future<" + types[i] + ">\n";
      result.firstReaders[i] = std::min(result.firstReaders[i], fragment);
      inputs += ", %a" + k;
      of += ", " + types[i];
    }
    return std::pair(inputs, of);
  };
  for (unsigned i = 0; i < count; ++i) {
    const std::string k = std::to_string(i), &type = types[i];
    auto [inputs, of] = reads(i);
    text += "  %g" + k + " = cs.fragment \"f" + k + "\" on 0 (" + inputs +
            ") cost <flops = 1, bytes = 1, ns = 0> : (" + of + ") -> " + type + "\n";
    text += "  %s" + k + " = cs.start \"k" + k + "\" priority " + std::to_string(below(4)) + " (%g" + k +
            ") : (" + type + ") -> !cs.future<" + type + "> attributes {cs.turn = " +
            std::to_string(result.turns[i]) + " : i64} {\n  ^bb0(%v: " + type + "):\n    %r = cs.all_reduce \"k" +
            k + "\" mean %v : " + type + "\n    cs.return %r : " + type + "\n  }\n";
  }
  auto [inputs, of] = reads(count);
  text += "  %m = cs.fragment \"last\" on 0 (" + inputs + ") cost <flops = 1, bytes = 1, ns = 0> : (" + of +
          ") -> !cs.placed<tensor<8xf32>, device 0>\n";
  result.text = text + "  return %m : !cs.placed<tensor<8xf32>, device 0>\n}\n";
  return result;
}

/// Whether `from` ends before `to` begins, by operands.
bool isBefore(Operation *from, Operation *to) {
  llvm::DenseSet<Operation *> seen;
  SmallVector<Operation *> worklist{to};
  while (!worklist.empty()) {
    Operation *op = worklist.pop_back_val();
    if (op == from)
      return true;
    for (Value operand : op->getOperands())
      if (Operation *def = operand.getDefiningOp(); def && seen.insert(def).second)
        worklist.push_back(def);
  }
  return false;
}

class StagingPlaces : public ::testing::Test {
protected:
  StagingPlaces() : context(registry()) { context.loadAllAvailableDialects(); }
  static DialectRegistry registry() {
    DialectRegistry registry;
    registerDialects(registry);
    return registry;
  }
  void expectRight(const Case &c);

  MLIRContext context;
};

void StagingPlaces::expectRight(const Case &c) {
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(c.text, &context);
  ASSERT_TRUE(module);
  PassManager manager(&context);
  manager.addPass(createOverlapRpcMemcpy({.mode = "overlap", .stagingBytes = c.capacity}));
  ASSERT_TRUE(succeeded(manager.run(*module)));
  Block &block = (*module->getOps<func::FuncOp>().begin()).front();
  const unsigned count = static_cast<unsigned>(c.bytes.size());
  std::vector<cs::StartOp> fills(count), frees(count);
  std::vector<unsigned> order; // communications
  std::vector<std::string> fragments;
  for (Operation &op : block) {
    if (auto fragment = dyn_cast<cs::FragmentOp>(op))
      fragments.push_back(fragment.getLabel().str());
    auto start = dyn_cast<cs::StartOp>(op);
    if (!start)
      continue;
    EXPECT_FALSE(start->hasAttr("cs.turn"));
    auto [name, what] = start.getKey().split('.');
    const unsigned k = static_cast<unsigned>(std::stoul(name.drop_front().str()));
    if (what == "to_host") {
      order.push_back(k);
      fills[k] = start;
    } else if (what == "to_device") {
      frees[k] = start;
    }
  }
  ASSERT_EQ(order.size(), count);
  for (unsigned i = 0; i < count; ++i)
    EXPECT_EQ(fragments[i], "f" + std::to_string(i));
  auto begin = [&](unsigned k) {
    return fills[k]->getAttrOfType<IntegerAttr>("cs.staging").getInt();
  };
  for (unsigned at = 0; at < count; ++at) {
    const unsigned b = order[at];
    EXPECT_LE(begin(b) + c.bytes[b], c.capacity);
    // Communications that b's fragment, or one before it, waits for.
    auto needs = [&](unsigned k) { return c.firstReaders[k] <= b; };
    for (unsigned before = 0; before < at; ++before) {
      const unsigned a = order[before];
      if (begin(a) < begin(b) + c.bytes[b] && begin(b) < begin(a) + c.bytes[a]) {
        EXPECT_TRUE(isBefore(frees[a], fills[b])) << a << " and " << b << " share bytes";
      }
      if (c.turns[a] > c.turns[b]) {
        EXPECT_TRUE(std::any_of(order.begin() + before, order.begin() + at, needs))
            << a << " is out of turn before " << b;
      }
    }
  }
}

TEST_F(StagingPlaces, ByTurns) {
  for (Cases cases = casesOf(300); cases.first < cases.end; ++cases.first) {
    Case c = makeCase(cases.first);
    SCOPED_TRACE(std::to_string(cases.first) + "\n" + c.text);
    expectRight(c);
    if (HasFailure())
      return;
  }
}

} // namespace
} // namespace commsched::place
