// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// --insert-dist-comm on random programs: the promises of passes/insert/
// Partition.h, checked against the level-0 text, and the values themselves,
// compared as expressions. Every op of a program has its number as its
// location.

#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "ir/Register.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "passes/Passes.h"
#include "tests/cases.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace commsched;

namespace {

constexpr char kType[] = "tensor<4xf32>";

/// A step of random ops over parameters, state and a batch, in which gradients
/// are marked along the way and their results used like any other value.
std::string randomProgram(unsigned seed) {
  std::mt19937 random(seed);
  auto below = [&](unsigned n) { return static_cast<unsigned>(random() % n); };
  unsigned params = 1 + below(6), states = below(4), ops = 1 + below(60);
  std::vector<std::string> values, arguments, results, returned;
  for (unsigned i = 0; i < params; ++i) {
    values.push_back("%p" + std::to_string(i));
    arguments.push_back(values.back() + ": " + kType + " {cs.param = \"p" +
                        std::to_string(i) + "\"}");
  }
  for (unsigned i = 0; i < states; ++i) {
    values.push_back("%s" + std::to_string(i));
    arguments.push_back(values.back() + ": " + kType + " {cs.state = \"s" +
                        std::to_string(i) + "\"}");
  }
  values.push_back("%x");
  arguments.push_back(std::string("%x: ") + kType + " {cs.batch = \"x\"}");
  std::string body;
  unsigned number = 0, marked = 0;
  auto emit = [&](const std::string &text) {
    body += "  %v" + std::to_string(number) + " = " + text + " loc(\"" +
            std::to_string(number) + "\")\n";
    values.push_back("%v" + std::to_string(number++));
  };
  // Mostly recent values, so that there are chains.
  auto pick = [&] {
    return below(2) ? values[below(values.size())]
                    : values[values.size() - 1 -
                             below(std::min<size_t>(4, values.size()))];
  };
  // Values that workers agree on: for results of parameters.
  std::vector<std::string> equal;
  while (number < ops || marked < 1) {
    unsigned kind = below(12);
    if (kind == 0) {
      emit(std::string("arith.constant dense<1.0> : ") + kType);
    } else if (kind <= 2 && marked < params) {
      emit("cs.gradient " + pick() + " of \"p" + std::to_string(marked) +
           "\" : " + kType);
      equal.push_back(values.back());
      ++marked;
    } else if (kind == 3 && !equal.empty()) {
      emit("arith.mulf " + equal[below(equal.size())] + ", %p" +
           std::to_string(below(params)) + " : " + kType);
      equal.push_back(values.back());
    } else if (kind == 4) {
      emit("math.exp " + pick() + " : " + kType);
    } else {
      const char *names[] = {"addf", "subf", "mulf"};
      emit(std::string("arith.") + names[below(3)] + " " + pick() + ", " +
           pick() + " : " + kType);
    }
  }
  for (unsigned i = 0; i < params; ++i)
    if (below(4)) {
      results.push_back(std::string(kType) + " {cs.updates = \"p" +
                        std::to_string(i) + "\"}");
      returned.push_back(below(5) && !equal.empty()
                             ? equal[below(equal.size())]
                             : "%p" + std::to_string(below(params)));
    }
  for (unsigned i = 0; i < states; ++i)
    if (below(4)) {
      results.push_back(std::string(kType) + " {cs.updates = \"s" +
                        std::to_string(i) + "\"}");
      returned.push_back(pick());
    }
  for (unsigned i = 0, n = below(3); i < n; ++i) {
    results.push_back(std::string(kType) + " {cs.metric = \"m" +
                      std::to_string(i) + "\"}");
    returned.push_back(pick());
  }
  auto join = [](const std::vector<std::string> &parts) {
    std::string all;
    for (const std::string &part : parts)
      all += (all.empty() ? "" : ", ") + part;
    return all;
  };
  std::string types;
  for (size_t i = 0; i < returned.size(); ++i)
    types += std::string(i ? ", " : "") + kType;
  return "func.func @step(" + join(arguments) + ") -> (" + join(results) +
         ") attributes {cs.step} {\n" + body + "  return " + join(returned) +
         (returned.empty() ? "" : " : " + types) + "\n}\n";
}

/// Numbers expressions, so that equal ones are equal numbers.
class Expressions {
public:
  int of(const std::string &what, const std::vector<int> &operands) {
    auto key = std::make_pair(what, operands);
    return numbers.try_emplace(key, static_cast<int>(numbers.size()))
        .first->second;
  }

private:
  std::map<std::pair<std::string, std::vector<int>>, int> numbers;
};

int numberOf(Operation *op) {
  if (auto name = dyn_cast<NameLoc>(op->getLoc()))
    return std::stoi(name.getName().str());
  return -1;
}

/// What level 0 says: expressions of results, and for each gradient the ops
/// that run before it is there.
struct Facts {
  std::vector<int> results;
  std::map<std::string, int> gradientMaker; // number of the op, -1: argument
  std::set<int> afterCommunication;         // ops that depend on one
  std::set<int> live;
};

int apply(Expressions &expressions, Operation &op,
          std::map<void *, int> &values) {
  std::vector<int> operands;
  for (Value operand : op.getOperands())
    operands.push_back(values.at(operand.getAsOpaquePointer()));
  int number = expressions.of(op.getName().getStringRef().str(), operands);
  if (op.getNumResults() == 1)
    values[op.getResult(0).getAsOpaquePointer()] = number;
  return number;
}

Facts readLevel0(func::FuncOp func, Expressions &expressions) {
  Facts facts;
  std::map<void *, int> values;
  for (BlockArgument argument : func.getArguments())
    values[argument.getAsOpaquePointer()] = expressions.of(
        "argument" + std::to_string(argument.getArgNumber()), {});
  std::set<void *> tainted, late;
  for (BlockArgument argument : func.getArguments())
    if (func.getArgAttr(argument.getArgNumber(), "cs.batch"))
      tainted.insert(argument.getAsOpaquePointer());
  auto has = [](std::set<void *> &set, Value value) {
    return set.count(value.getAsOpaquePointer()) > 0;
  };
  for (Operation &op : func.front().without_terminator()) {
    Value result = op.getResult(0);
    if (auto gradient = dyn_cast<cs::GradientOp>(op)) {
      std::string param = gradient.getParam().str();
      values[result.getAsOpaquePointer()] =
          expressions.of("all_reduce " + param,
                         {values.at(gradient.getValue().getAsOpaquePointer())});
      Operation *maker = gradient.getValue().getDefiningOp();
      facts.gradientMaker[param] = maker ? numberOf(maker) : -1;
      late.insert(result.getAsOpaquePointer());
      facts.afterCommunication.insert(numberOf(&op));
      continue;
    }
    apply(expressions, op, values);
    for (Value operand : op.getOperands()) {
      if (has(tainted, operand))
        tainted.insert(result.getAsOpaquePointer());
      if (has(late, operand)) {
        late.insert(result.getAsOpaquePointer());
        facts.afterCommunication.insert(numberOf(&op));
      }
    }
  }
  Operation *ret = func.front().getTerminator();
  for (auto [i, value] : llvm::enumerate(ret->getOperands())) {
    int number = values.at(value.getAsOpaquePointer());
    if (auto name = func.getResultAttrOfType<StringAttr>(i, "cs.metric"))
      number = expressions.of("reduce metric." + name.str(), {number});
    else if (has(tainted, value))
      number = expressions.of(
          "all_reduce state." +
              func.getResultAttrOfType<StringAttr>(i, "cs.updates").str(),
          {number});
    facts.results.push_back(number);
  }
  std::vector<Operation *> ops;
  for (Operation &op : func.front())
    ops.push_back(&op);
  for (Operation *op : llvm::reverse(ops)) {
    if (op != ret && !isa<cs::GradientOp>(op) &&
        !facts.live.count(numberOf(op)))
      continue;
    for (Value operand : op->getOperands())
      if (Operation *def = operand.getDefiningOp())
        facts.live.insert(numberOf(def));
  }
  return facts;
}

struct InsertProperty : ::testing::Test {
  InsertProperty() {
    registerDialects(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
  }
  DialectRegistry registry;
  MLIRContext context{MLIRContext::Threading::DISABLED};
};

void check(func::FuncOp func, const Facts &facts, Expressions &expressions) {
  std::map<void *, int> values;
  for (BlockArgument argument : func.getArguments())
    values[argument.getAsOpaquePointer()] = expressions.of(
        "argument" + std::to_string(argument.getArgNumber()), {});
  std::set<void *> late; // arguments that communication updates, unread as yet
  std::set<void *> communicated;
  // Forwards: what depends on communication, by value.
  for (Operation &op : func.front()) {
    bool depends = isa<cs::CommunicationOpInterface>(op);
    for (Value operand : op.getOperands())
      depends |= communicated.count(operand.getAsOpaquePointer()) > 0;
    if (depends)
      for (Value result : op.getResults())
        communicated.insert(result.getAsOpaquePointer());
  }
  Operation *ret = func.front().getTerminator();
  for (auto [i, value] : llvm::enumerate(ret->getOperands()))
    if (auto name = func.getResultAttrOfType<StringAttr>(i, "cs.updates"))
      if (communicated.count(value.getAsOpaquePointer()))
        for (BlockArgument argument : func.getArguments())
          for (const char *attr : {"cs.param", "cs.state"})
            if (func.getArgAttr(argument.getArgNumber(), attr) == name)
              late.insert(argument.getAsOpaquePointer());

  std::set<int> computed; // ops of fragments that are not deferred
  for (Operation &op : func.front().without_terminator()) {
    if (auto fragment = dyn_cast<cs::FragmentOp>(op)) {
      Block &body = fragment.getBody().front();
      std::set<void *> lateHere;
      for (auto [input, argument] :
           llvm::zip(fragment.getInputs(), body.getArguments())) {
        values[argument.getAsOpaquePointer()] =
            values.at(input.getAsOpaquePointer());
        if (!fragment.getDeferred() && late.erase(input.getAsOpaquePointer()))
          lateHere.insert(argument.getAsOpaquePointer());
        // Only deferred fragments wait for communication.
        EXPECT_TRUE(fragment.getDeferred() ||
                    !communicated.count(input.getAsOpaquePointer()));
      }
      bool first = true;
      int last = -1;
      for (Operation &inner : body.without_terminator()) {
        apply(expressions, inner, values);
        if (inner.hasTrait<OpTrait::ConstantLike>())
          continue; // repeated at will
        for (Value operand : inner.getOperands())
          // Promise 2: whoever fetches a late argument begins the fragment.
          EXPECT_TRUE(!lateHere.erase(operand.getAsOpaquePointer()) || first);
        first = false;
        EXPECT_LT(last, numberOf(&inner)) << "program order";
        last = numberOf(&inner);
        EXPECT_TRUE(fragment.getDeferred() || computed.insert(last).second)
            << "run twice: " << last;
      }
      for (auto [result, value] : llvm::zip(
               fragment.getOutputs(), body.getTerminator()->getOperands()))
        values[result.getAsOpaquePointer()] =
            values.at(value.getAsOpaquePointer());
      continue;
    }
    auto communication = cast<cs::CommunicationOpInterface>(op);
    std::string key = communication.getCommunicationKey().str();
    values[op.getResult(0).getAsOpaquePointer()] = expressions.of(
        (isa<cs::ReduceOp>(op) ? "reduce " : "all_reduce ") + key,
        {values.at(op.getOperand(0).getAsOpaquePointer())});
    auto maker = facts.gradientMaker.find(key);
    if (maker == facts.gradientMaker.end() ||
        facts.afterCommunication.count(maker->second))
      continue;
    // Promise 1: exactly the ops before it, but those moved into updates.
    for (int number : computed)
      EXPECT_LE(number, maker->second) << "gradient " << key << " waits";
  }
  ASSERT_EQ(ret->getNumOperands(), facts.results.size());
  for (auto [i, value] : llvm::enumerate(ret->getOperands()))
    EXPECT_EQ(values.at(value.getAsOpaquePointer()), facts.results[i])
        << "result " << i;
  // What does not depend on communication is in the compute order, and nothing
  // that does is.
  for (int number : computed) {
    EXPECT_FALSE(facts.afterCommunication.count(number)) << number;
    EXPECT_TRUE(facts.live.count(number)) << "dead: " << number;
  }
}

TEST_F(InsertProperty, RandomPrograms) {
  unsigned transformed = 0;
  commsched::Cases cases = commsched::casesOf(400);
  for (unsigned seed = cases.first; seed < cases.end; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    std::string text = randomProgram(seed);
    auto module = parseSourceString<ModuleOp>(text, ParserConfig(&context));
    ASSERT_TRUE(module) << text;
    Expressions expressions;
    Facts facts =
        readLevel0(*module->getOps<func::FuncOp>().begin(), expressions);
    PassManager manager(&context);
    manager.addPass(createInsertDistComm());
    std::string errors;
    ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
      errors += diagnostic.str();
      return success();
    });
    if (failed(manager.run(*module))) {
      // The one thing that a random program may get wrong.
      ASSERT_NE(errors.find("workers would drift apart"), std::string::npos)
          << errors << "\n"
          << text;
      continue;
    }
    ++transformed;
    check(*module->getOps<func::FuncOp>().begin(), facts, expressions);
    if (HasFailure()) {
      module->dump();
      FAIL() << text;
    }
    // And the graph can be scheduled.
    PassManager scheduler(&context);
    scheduler.addPass(createScheduleComm());
    scheduler.addPass(createExpandCollectives());
    scheduler.addPass(createVerifyDistributed());
    ASSERT_TRUE(succeeded(scheduler.run(*module))) << errors << "\n"
                                                   << text;
  }
  EXPECT_GT(transformed, cases.count() / 3);
}

} // namespace
