// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// --verify-distributed on random trainers and servers in which somebody may wait in a
// circle. Where all trainers run one program, one of them stands for all, so the verdict
// must be that of the same module with a function for each rank, of which all are looked
// at. And it must be what follows from the order of the program: trainers get stuck if a
// value is received before something that it is made of is sent.

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

using namespace mlir;
using namespace commsched;

namespace {

struct Case {
  std::string text;
  bool stuck = false;
};

Case makeCase(uint32_t seed) {
  std::mt19937 random(seed);
  auto below = [&](unsigned n) { return static_cast<unsigned>(random() % n); };
  const unsigned nodes = 1 + below(4), servers = 1 + below(3), keys = 1 + below(6);
  const bool sync = below(3) != 0;
  const std::string index = " of @server.";
  std::vector<unsigned> serverOf(keys);
  std::vector<std::vector<unsigned>> needs(keys); // keys of the same server
  for (unsigned k = 0; k < keys; ++k) {
    serverOf[k] = below(servers);
    needs[k] = {k};
    for (unsigned other = 0; other < k; ++other)
      if (serverOf[other] == serverOf[k] && below(3) == 0)
        needs[k].push_back(other);
  }
  // Sends in some order, and each receive somewhere: mostly behind what it needs.
  std::vector<unsigned> sends(keys);
  for (unsigned k = 0; k < keys; ++k)
    sends[k] = k;
  std::shuffle(sends.begin(), sends.end(), random);
  const unsigned careless = below(2) * (2 + below(8));
  std::vector<std::pair<double, std::string>> ops;
  std::vector<double> sent(keys);
  for (unsigned i = 0; i < keys; ++i) {
    sent[sends[i]] = i;
    std::string k = std::to_string(sends[i]);
    ops.push_back({i, "  cs.send \"k" + k + "\" %a" + k + " to affine_map<(r) -> (0)>" + index +
                          std::to_string(serverOf[sends[i]]) + " : !t\n"});
  }
  Case result;
  for (unsigned i = 0; i < keys; ++i) {
    double last = 0;
    for (unsigned need : needs[i])
      last = std::max(last, sent[need]);
    double place = careless && below(careless) == 0 ? below(keys) - 0.5 : last + 0.5 + below(2);
    result.stuck |= place < last;
    std::string k = std::to_string(i);
    ops.push_back({place, "  %n" + k + " = cs.recv \"k" + k + ".new\" from affine_map<(r) -> (0)>" + index +
                              std::to_string(serverOf[i]) + " : !t\n"});
  }
  std::stable_sort(ops.begin(), ops.end(), [](auto &a, auto &b) { return a.first < b.first; });

  std::string &text = result.text;
  text = "cs.cluster @lab nodes = " + std::to_string(nodes) +
         " devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20> "
         "intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>\n"
         "!t = !cs.placed<tensor<4xf32>, device 0>\nfunc.func @step(";
  for (unsigned k = 0; k < keys; ++k)
    text += (k ? ", %a" : "%a") + std::to_string(k) + ": !t {cs.param = \"k" + std::to_string(k) + "\"}";
  text += ") attributes {cs.step, cs.servers = #cs.servers<count = " + std::to_string(servers) + ", sync_mode = " +
          (sync ? "sync" : "async") + ", merge = 1>} {\n";
  for (auto &[place, op] : ops)
    text += op;
  text += "  return\n}\n";
  for (unsigned s = 0; s < servers; ++s) {
    text += "func.func @server." + std::to_string(s) + "() attributes {cs.server = " + std::to_string(s) + " : i64} {\n";
    for (unsigned k = 0; k < keys; ++k)
      if (serverOf[k] == s)
        text += "  %g" + std::to_string(k) + " = cs.collect \"k" + std::to_string(k) + "\" " +
                (sync ? "by mean" : "each") + " from @step : !t\n";
    for (unsigned k = 0; k < keys; ++k) {
      if (serverOf[k] != s)
        continue;
      std::string inputs, types, number = std::to_string(k);
      for (unsigned need : needs[k]) {
        inputs += (inputs.empty() ? "%g" : ", %g") + std::to_string(need);
        types += types.empty() ? "!t" : ", !t";
      }
      text += "  %u" + number + " = cs.fragment \"u" + number + "\" on 0 (" + inputs + ") cost <flops = 0, bytes = 0, ns = 10> : (" + types + ") -> !t\n" +
              "  cs.publish \"k" + number + ".new\" %u" + number + " to @step : !t\n";
    }
    text += "  return\n}\n";
  }
  return result;
}

Verdict verify(MLIRContext &context, const std::string &text, StringRef pipeline, std::string &said) {
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
  return verdictOf(module ? *module : ModuleOp(), pipeline, context, said);
}

TEST(ServerWaits, OneTrainerStandsForAll) {
  DialectRegistry registry;
  registerDialects(registry);
  MLIRContext context(registry);
  registerPasses();
  uint32_t stuck = 0;
  const Cases cases = casesOf(400);
  for (uint32_t seed = cases.first; seed < cases.end; ++seed) {
    Case one = makeCase(seed);
    std::string said;
    Verdict wanted = one.stuck ? Verdict::stuck : Verdict::free;
    ASSERT_EQ(verify(context, one.text, "verify-distributed", said), wanted) << "seed " << seed << "\n"
                                                                             << said << one.text;
    ASSERT_EQ(verify(context, one.text, "specialize-ranks,verify-distributed", said), wanted)
        << "a function for each rank, seed " << seed << "\n"
        << said << one.text;
    stuck += one.stuck;
  }
  EXPECT_GT(stuck, cases.count() / 20);
  EXPECT_LT(stuck, cases.count() / 2);
}

} // namespace
