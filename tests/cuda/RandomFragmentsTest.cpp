// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Fragments of random steps compute as launches, in any order of threads, what they compute
// on the host.

#include "tests/cases.h"
#include "tests/cuda/Fragments.h"
#include "tests/differential/generate.h"
#include "tests/differential/modes.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"
#include "passes/Passes.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace commsched;
using namespace commsched::cudatest;

namespace {

OwningOpRef<ModuleOp> schedule(Context &context, const std::string &program) {
  static bool once = [] {
    registerTransformsPasses();
    registerPasses();
    registerPipelines();
    return true;
  }();
  (void)once;
  OwningOpRef<ModuleOp> module = context.parse(differential::Mode{}.cluster() + program);
  if (!module)
    return nullptr;
  PassManager manager(&context.context);
  if (failed(parsePassPipeline("cs-all-reduce-pipeline", manager)) || failed(manager.run(*module)))
    return nullptr;
  return module;
}

struct Totals {
  size_t fragments = 0, elementwise = 0, elements = 0, refused = 0, differing = 0;
  double largest = 0;
};

using Make = Bytes (*)(Type, std::mt19937_64 &);

void checkFragment(Fragments &fragments, size_t index, uint64_t seed, Make make, Totals &totals) {
  std::mt19937_64 random(seed);
  Buffers inputs;
  for (Type type : fragments.inputs(index))
    inputs.push_back(make(type, random));
  Buffers host = fragments.runOnHost(index, inputs);
  std::string fault;
  Buffers first = fragments.emulate(index, inputs, 2 * seed, fault);
  ASSERT_EQ(fault, "");
  Buffers second = fragments.emulate(index, inputs, 2 * seed + 1, fault);
  ASSERT_EQ(fault, "");
  ++totals.fragments;
  bool elementwise = fragments.isElementwise(index);
  totals.elementwise += elementwise;
  for (auto [i, type] : llvm::enumerate(fragments.outputs(index))) {
    EXPECT_EQ(first[i], second[i]) << "result " << i << " depends on the order of threads";
    Difference difference = compare(type, host[i], first[i]);
    totals.elements += difference.elements;
    if (elementwise) {
      EXPECT_EQ(difference.differing, 0u) << "result " << i << " of fragment " << index << ", " << difference.elements << " elements";
      continue;
    }
    totals.differing += difference.differing;
    // Sums in another order. What is chosen by comparing them may be anything.
    if (difference.relative < 1)
      totals.largest = std::max(totals.largest, difference.relative);
    else
      ADD_FAILURE() << "result " << i << " differs by " << difference.relative;
  }
}

void checkRandom(Make make, uint32_t count) {
  Totals totals;
  std::map<std::string, size_t> refusals;
  Cases cases = casesOf(count);
  for (uint32_t seed = cases.first; seed < cases.end; ++seed) {
    const std::string program = differential::generate(seed, /*servers=*/false);
    // Of what is not finite an integer may be anything.
    if (make == specialTensor && program.find("arith.fpto") != std::string::npos)
      continue;
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + program);
    Context context;
    OwningOpRef<ModuleOp> module = schedule(context, program);
    if (!module)
      continue;
    Fragments fragments(context, *module);
    if (!fragments.refusal.empty()) {
      ++refusals[fragments.refusal];
      ++totals.refused;
      continue;
    }
    for (size_t i = 0; i < fragments.size(); ++i)
      checkFragment(fragments, i, seed, make, totals);
  }
  for (const auto &[refusal, count] : refusals)
    std::cout << count << " refused: " << refusal << "\n";
  std::cout << totals.fragments << " fragments, " << totals.elementwise << " elementwise, " << totals.elements
            << " elements; where sums are, " << totals.differing << " differ, by at most " << totals.largest << "\n";
  EXPECT_GT(totals.elementwise, cases.count() / 4);
}

TEST(RandomFragments, ComputeWhatTheHostComputes) { checkRandom(randomTensor, 60); }

TEST(RandomFragments, ComputeOfSpecialValuesWhatTheHostComputes) { checkRandom(specialTensor, 30); }

} // namespace
