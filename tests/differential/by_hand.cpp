// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tests/differential/by_hand.h"

#include "mlir/Bytecode/BytecodeWriter.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "tests/differential/random.h"
#include "llvm/ADT/StringExtras.h"

#include <algorithm>

using namespace mlir;

namespace commsched::differential {
namespace {

struct RoundTrip : PassWrapper<RoundTrip, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(RoundTrip)
  RoundTrip() = default;
  RoundTrip(const RoundTrip &other) : PassWrapper(other) { as = other.as.getValue(); }

  StringRef getArgument() const final { return "round-trip"; }

  void runOnOperation() override {
    ModuleOp module = getOperation();
    std::string text;
    llvm::raw_string_ostream os(text);
    if (as == "bytecode") {
      if (failed(writeBytecodeToFile(module, os)))
        return signalPassFailure();
    } else {
      OpPrintingFlags flags;
      if (as == "generic")
        flags.printGenericOpForm().enableDebugInfo();
      module.print(os, flags);
    }
    OwningOpRef<ModuleOp> read = parseSourceString<ModuleOp>(text, ParserConfig(&getContext()));
    if (!read) {
      module.emitError("internal error: what is written as ") << as.getValue() << " cannot be read";
      return signalPassFailure();
    }
    module->setAttrs((*read)->getAttrDictionary());
    module.getBodyRegion().takeBody(read->getBodyRegion());
  }

  Option<std::string> as{*this, "as", llvm::cl::init("text")};
};

std::vector<std::string> passesOf(const std::string &pipeline) {
  OpPassManager manager("builtin.module");
  std::vector<std::string> passes;
  if (failed(parsePassPipeline(pipeline, manager)))
    return {pipeline};
  for (Pass &pass : manager) {
    llvm::raw_string_ostream os(passes.emplace_back());
    pass.printAsTextualPipeline(os);
  }
  return passes;
}

void change(std::vector<std::string> &passes, Random &rng) {
  auto place = [&](size_t of) { return size_t(rng.below(int64_t(of))); };
  switch (rng.below(6)) {
  case 0: { // twice in a row
    std::vector<std::string> twice;
    for (const std::string &pass : passes)
      twice.insert(twice.end(), rng.oneIn(3) ? 1 : 2, pass);
    passes = std::move(twice);
    break;
  }
  case 1: { // once more, later
    size_t from = place(passes.size());
    std::string pass = passes[from];
    passes.insert(passes.begin() + long(from + 1 + place(passes.size() - from)), pass);
    break;
  }
  case 2: // with its neighbour
    if (size_t first = place(passes.size()); first + 1 < passes.size())
      std::swap(passes[first], passes[first + 1]);
    break;
  case 3: { // elsewhere
    size_t from = place(passes.size());
    std::string pass = passes[from];
    passes.erase(passes.begin() + long(from));
    passes.insert(passes.begin() + long(place(passes.size() + 1)), pass);
    break;
  }
  case 4: // not at all, but what says for how many the program is
    if (size_t at = place(passes.size()); passes[at].rfind("replicate-devices", 0) != 0)
      passes.erase(passes.begin() + long(at));
    break;
  default: // any order
    for (size_t i = passes.size(); i > 1; --i)
      std::swap(passes[i - 1], passes[place(i)]);
  }
}

} // namespace

void registerRoundTrip() { PassRegistration<RoundTrip>(); }

std::string byHand(const std::string &pipeline, uint64_t seed) {
  Random rng(seed);
  std::vector<std::string> passes = passesOf(pipeline), all;
  for (int64_t changes = rng.pick({0, 1, 1, 1, 2, 3}); changes > 0; --changes)
    change(passes, rng);
  // Of MLIR, all that are for any program; that change no file.
  const std::vector<std::string> others = {
      "canonicalize", "canonicalize{region-simplify=aggressive}", "cse", "sccp", "symbol-dce", "inline",
      "loop-invariant-code-motion", "loop-invariant-subset-hoisting", "control-flow-sink", "topological-sort",
      "mem2reg", "sroa", "strip-debuginfo",
      "round-trip", "round-trip{as=generic}", "round-trip{as=bytecode}"};
  int64_t often = rng.pick({2, 4, 0});
  auto between = [&] {
    for (int more = 0; more < 3 && often && rng.oneIn(often); ++more)
      all.push_back(rng.pick(others));
  };
  for (std::string &pass : passes) {
    between();
    all.push_back(std::move(pass));
  }
  between();
  return llvm::join(all, ",");
}

} // namespace commsched::differential
