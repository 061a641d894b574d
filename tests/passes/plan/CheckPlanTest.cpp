// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Real plans pass the checks of plans; plans with one thing changed do not,
// where a plain search says that it matters.

#include "passes/plan/CheckPlan.h"
#include "ir/Register.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"
#include "passes/Passes.h"
#include "passes/plan/PlanBuilder.h"

#include <gtest/gtest.h>

#include <cstdlib>

using namespace mlir;
using namespace commsched;
using namespace commsched::planexport;

namespace {

/// A step through a pipeline, and its plan.
class Example {
public:
  Example(const std::string &file, const std::string &pipeline) {
    static bool once = [] {
      registerTransformsPasses();
      registerPasses();
      registerPipelines();
      return true;
    }();
    (void)once;
    DialectRegistry registry;
    registerAllDialects(registry);
    registerAllExtensions(registry);
    registerDialects(registry);
    context.appendDialectRegistry(registry);
    context.getDiagEngine().registerHandler([this](Diagnostic &diagnostic) {
      if (diagnostic.getSeverity() == DiagnosticSeverity::Error)
        errors += diagnostic.str() + "\n";
      return success();
    });
    module = parseSourceFile<ModuleOp>(
        std::string(getenv("COMMSCHED_SOURCE")) + "/examples/" + file, &context);
    PassManager manager(&context);
    EXPECT_TRUE(succeeded(parsePassPipeline(pipeline, manager)));
    EXPECT_TRUE(succeeded(manager.run(*module))) << errors;
    FragmentCompiler compiler(&context, {});
    PlanContext state{plan, compiler, *module->getOps<cs::ClusterOp>().begin()};
    for (auto candidate : module->getOps<func::FuncOp>())
      if (!step && candidate->hasAttr("cs.step"))
        step = candidate;
    EXPECT_TRUE(succeeded(buildFunction(step, state))) << errors;
  }

  plan::Function &function() { return *plan.mutable_functions(0); }
  bool valuesAgree() { return succeeded(checkValues(step, plan, function())); }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  func::FuncOp step;
  plan::Plan plan;
  std::string errors;
};

bool computesInTurn(const plan::Instruction &instruction) {
  return !instruction.deferred() &&
         (instruction.has_run() || (instruction.has_copy() && instruction.copy().in_line()));
}

constexpr int kAny = -1, kWhole = -2;
/// Whether `to` waits for `from`, by walking back from it: for this part of it, for any, or for
/// all of it.
bool waits(const plan::Function &function, unsigned to, unsigned from, int part = kAny) {
  unsigned n = function.instructions_size();
  std::vector<bool> seen(2 * n);
  std::vector<unsigned> work{to};
  while (!work.empty()) {
    unsigned v = work.back();
    work.pop_back();
    if (v == from)
      return true;
    if (seen[v])
      continue;
    seen[v] = true;
    const plan::Instruction &instruction = function.instructions(v % n);
    for (const auto &dependence : instruction.dependences())
      if (dependence.distance() <= v / n &&
          (part == kAny || !dependence.has_part() || int(dependence.part()) == part ||
           (v / n - dependence.distance()) * n + dependence.instruction() != from))
        work.push_back((v / n - dependence.distance()) * n + dependence.instruction());
    for (unsigned u = v; computesInTurn(instruction) && u-- > 0;)
      if (computesInTurn(function.instructions(u % n)) &&
          function.instructions(u % n).device() == instruction.device()) {
        work.push_back(u);
        break;
      }
  }
  return false;
}

const std::pair<const char *, const char *> kExamples[] = {
    {"linear.mlir", "cs-all-reduce-pipeline"},
    {"digits.mlir", "cs-all-reduce-pipeline"},
    {"digits.mlir", "cs-all-reduce-pipeline{copies=overlap staging-bytes=65536}"},
    {"digits.mlir", "cs-all-reduce-pipeline{schedule=fixed-buckets}"},
    {"digits.mlir", "cs-all-reduce-pipeline{density=0.1 min-elements=16}"},
    {"digits.mlir", "cs-all-reduce-pipeline{schedule=fixed-buckets parts=true}"},
};

TEST(CheckPlan, PlansPass) {
  for (auto [file, pipeline] : kExamples) {
    Example example(file, pipeline);
    EXPECT_EQ(checkOrder(example.function()), "") << file << " " << pipeline;
    EXPECT_TRUE(example.valuesAgree()) << example.errors;
  }
}

// Every dependence in turn is left out. What it ordered and nothing else orders
// is found: an access to the same buffer, or to memory that it shares.
TEST(CheckPlan, MissingDependencesAreFound) {
  unsigned found = 0;
  for (auto [file, pipeline] : kExamples) {
    Example example(file, pipeline);
    plan::Function original = example.function();
    unsigned n = original.instructions_size();
    for (unsigned i = 0; i < n; ++i)
      for (int d = 0; d < original.instructions(i).dependences_size(); ++d) {
        plan::Function changed = original;
        auto *list = changed.mutable_instructions(i)->mutable_dependences();
        plan::Dependence gone = list->Get(d);
        list->DeleteSubrange(d, 1);
        unsigned from = gone.instruction(), to = i + gone.distance() * n;
        auto memory = [&](unsigned b, unsigned step) {
          MemoryRange range = rangeOf(changed, b);
          if (range.kind == MemoryRange::SlotNext || range.kind == MemoryRange::SlotCurrent)
            range.index = 2 * range.index + ((step + (range.kind == MemoryRange::SlotNext)) & 1),
            range.kind = MemoryRange::SlotNext;
          return range;
        };
        bool race = false;
        Touched a = touchedBy(changed.instructions(from)), b = touchedBy(changed.instructions(i));
        auto collide = [&](const auto &xs, const auto &ys) {
          for (unsigned x : xs)
            for (unsigned y : ys) {
              MemoryRange p = memory(x, 0), q = memory(y, gone.distance());
              race |= p.kind == q.kind && p.index == q.index && p.begin < q.end && q.begin < p.end;
            }
        };
        collide(a.writes, b.writes);
        collide(a.writes, b.reads);
        collide(a.reads, b.writes);
        race &= !waits(changed, to, from);
        if (!race)
          continue;
        ++found;
        EXPECT_NE(checkOrder(changed), "")
            << original.instructions(i).name() << " after " << original.instructions(from).name();
      }
  }
  EXPECT_GT(found, 50u);
}

// A dependence on another part than the one that is read; and a writer that waits for a
// part, while all of the message may be on its way.
TEST(CheckPlan, WrongPartsAreFound) {
  unsigned found = 0, writers = 0;
  Example example("digits.mlir", "cs-all-reduce-pipeline{schedule=fixed-buckets parts=true}");
  plan::Function original = example.function();
  unsigned n = original.instructions_size();
  for (unsigned i = 0; i < n; ++i)
    for (int d = 0; d < original.instructions(i).dependences_size(); ++d) {
      const plan::Dependence &own = original.instructions(i).dependences(d);
      unsigned from = own.instruction(), to = i + own.distance() * n;
      int parts = original.instructions(from).communicate().part_bytes_size();
      plan::Function changed = original;
      plan::Dependence &other = *changed.mutable_instructions(i)->mutable_dependences(d);
      if (parts > 0 && !own.has_part()) {
        other.set_part(0);
        if (waits(changed, to, from, kWhole))
          continue;
        ++writers;
        EXPECT_NE(checkOrder(changed), "") << original.instructions(i).name();
        continue;
      }
      for (int part = 0; part < parts; ++part) {
        other.set_part(part);
        if (waits(changed, to, from, int(own.part())))
          continue;
        ++found;
        EXPECT_NE(checkOrder(changed), "")
            << original.instructions(i).name() << " reads part " << own.part();
      }
      if (parts > 0) {
        other.set_part(parts);
        EXPECT_NE(checkOrder(changed).find("waits for part"), std::string::npos);
      }
    }
  EXPECT_GT(found, 5u);
  EXPECT_GT(writers, 0u);
}

// Arena buffers that move by half of themselves, parts that are elsewhere, and
// operands and results that change places.
TEST(CheckPlan, WrongMemoryIsFound) {
  unsigned changes = 0;
  for (auto [file, pipeline] : kExamples) {
    Example example(file, pipeline);
    plan::Function original = example.function();
    auto isFound = [&](const std::string &what) {
      ++changes;
      EXPECT_FALSE(checkOrder(example.function()).empty() && example.valuesAgree())
          << file << " " << pipeline << ": " << what;
    };
    for (int b = 0; b < original.buffers_size(); ++b) {
      const plan::Buffer &buffer = original.buffers(b);
      // In the staging area there may be room where another part was.
      if (buffer.kind() != plan::Buffer::PART || buffer.offset() < 4 ||
          original.buffers(buffer.parent()).name() == "staging")
        continue;
      example.function() = original;
      example.function().mutable_buffers(b)->set_offset(buffer.offset() - 4);
      isFound("buffer " + std::to_string(b) + " " + buffer.ShortDebugString());
    }
    for (int i = 0; i < original.instructions_size(); ++i) {
      const plan::Instruction &instruction = original.instructions(i);
      if (!instruction.has_run())
        continue;
      auto swap = [&](auto *list) {
        if (list->size() < 2 || list->Get(0) == list->Get(1))
          return;
        list->SwapElements(0, 1);
        isFound(instruction.ShortDebugString());
      };
      example.function() = original;
      swap(example.function().mutable_instructions(i)->mutable_run()->mutable_inputs());
      example.function() = original;
      swap(example.function().mutable_instructions(i)->mutable_run()->mutable_outputs());
    }
    // A result in the memory of an operand.
    for (int i = 0; i < original.instructions_size(); ++i) {
      const plan::Instruction &instruction = original.instructions(i);
      if (!instruction.has_run() || instruction.run().inputs().empty())
        continue;
      const plan::Buffer &in = original.buffers(instruction.run().inputs(0));
      const plan::Buffer &out = original.buffers(instruction.run().outputs(0));
      if (in.kind() != plan::Buffer::ARENA || out.kind() != plan::Buffer::ARENA)
        continue;
      example.function() = original;
      example.function().mutable_buffers(instruction.run().outputs(0))->set_offset(in.offset());
      isFound("in place: " + instruction.ShortDebugString());
    }
    example.function() = original;
  }
  EXPECT_GT(changes, 40u);
}

} // namespace
