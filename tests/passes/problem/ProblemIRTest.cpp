// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random problems and schedules as ops, as text, and back.

#include "passes/problem/ProblemIR.h"

#include <functional>
#include <random>

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "passes/schedule/solver/baselines/Baselines.h"
#include "tests/cases.h"
#include "tests/passes/schedule/RandomLayers.h"
#include "tests/passes/schedule/RandomProblem.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace commsched {
namespace {

using mlir::failed;
using mlir::succeeded;

class ProblemIRTest : public testing::Test {
protected:
  ProblemIRTest() { context.loadDialect<cs::CsDialect>(); }

  mlir::OwningOpRef<mlir::ModuleOp> parse(const std::string &text) {
    return mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  }

  /// In a module of its own.
  cs::ProblemOp write(const schedule::Problem &problem) {
    mlir::Location location = mlir::UnknownLoc::get(&context);
    module = mlir::ModuleOp::create(location);
    mlir::OpBuilder builder = mlir::OpBuilder::atBlockEnd(module->getBody());
    return writeProblem(builder, location, problem);
  }

  void expectRoundTrip(const schedule::Problem &problem) {
    cs::ProblemOp op = write(problem);
    ASSERT_TRUE(succeeded(mlir::verify(*module))) << problem.name;
    mlir::FailureOr<schedule::Problem> direct = readProblem(op);
    ASSERT_TRUE(succeeded(direct));
    EXPECT_EQ(*direct, problem) << problem.name;
    std::string text = problemText(problem);
    mlir::OwningOpRef<mlir::ModuleOp> parsed = parse(text);
    ASSERT_TRUE(parsed) << text;
    mlir::FailureOr<schedule::Problem> again =
        readProblem(*parsed->getOps<cs::ProblemOp>().begin());
    ASSERT_TRUE(succeeded(again)) << text;
    EXPECT_EQ(*again, problem) << text;
    // And the text of the text.
    EXPECT_EQ(problemText(*again), text);
  }

  void expectRoundTrip(const schedule::Problem &problem, const schedule::Schedule &schedule,
                       const SolutionRecord &record) {
    std::string text = problemText(problem, &schedule, record);
    mlir::OwningOpRef<mlir::ModuleOp> parsed = parse(text);
    ASSERT_TRUE(parsed) << text;
    cs::ProblemOp op = *parsed->getOps<cs::ProblemOp>().begin();
    cs::SolutionOp solution = *op.getOps<cs::SolutionOp>().begin();
    mlir::FailureOr<schedule::Schedule> again = readSchedule(solution, problem);
    ASSERT_TRUE(succeeded(again)) << text;
    EXPECT_EQ(*again, schedule) << text;
    SolutionRecord read = readRecord(solution);
    EXPECT_EQ(read.period, record.period);
    EXPECT_EQ(read.bound, record.bound);
    EXPECT_EQ(read.anyOrderBound, record.anyOrderBound);
  }

  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

schedule::RandomOptions options(uint64_t seed) {
  schedule::RandomOptions options;
  options.streams = 1 + seed % 3;
  options.links = 1 + seed / 3 % 3;
  options.maxLatency = static_cast<schedule::Time>(seed % 5);
  options.maxOverhead = static_cast<schedule::Time>(seed % 4);
  options.maxUpdate = static_cast<schedule::Time>(seed % 6);
  options.tails = seed % 2;
  options.connections = seed % 4 != 1;
  return options;
}

TEST_F(ProblemIRTest, ProblemsAreReadAsTheyWereWritten) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    schedule::Problem problem = schedule::randomProblem(seed, options(seed));
    if (seed % 4 == 0)
      problem.memoryLimit = static_cast<int64_t>(seed);
    if (seed % 7 == 0)
      problem.name = "";
    if (seed % 3 == 0) {
      problem.links.back().packetBytes = 1 + static_cast<int64_t>(seed);
      problem.links.back().aheadBytes = static_cast<int64_t>(seed % 5);
    }
    problem.links.front().peers = 1 + seed % 4;
    problem.links.back().onceBytes = static_cast<int64_t>(seed % 3) * 1000;
    if (problem.links.front().peers == 1)
      problem.links.front().rounds = 1 + seed % 5;
    if (problem.links.back().rounds == 1)
      problem.links.back().byConnection = problem.links.back().peers == 1 && seed % 3;
    if (seed % 5 == 0)
      problem.stepsApart = 1 + static_cast<int64_t>(seed % 9);
    if (seed % 2)
      for (schedule::Communication &communication : problem.communications)
        for (schedule::Stage &stage : communication.stages)
          stage.avoidableBytes = stage.bytes / static_cast<int64_t>(1 + seed % 4);
    expectRoundTrip(problem);
  }
  for (uint32_t seed = 0; seed < 300; ++seed)
    expectRoundTrip(schedule::randomLayers(seed));
}

TEST_F(ProblemIRTest, KeepsNamesThatAreNoIdentifiers) {
  schedule::Problem problem = schedule::randomProblem(1, {});
  problem.name = "a \"b\"\n@c";
  problem.links[0].name = "ü 1\\";
  for (schedule::Op &op : problem.ops)
    op.name = "same";
  problem.communications[0].name = "same";
  expectRoundTrip(problem);
}

TEST_F(ProblemIRTest, SchedulesAreReadAsTheyWereWritten) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    schedule::Problem problem = schedule::randomProblem(seed, options(seed));
    schedule::Schedule schedule = schedule::randomSchedule(problem, seed, 2);
    ASSERT_EQ(schedule::verify(problem, schedule), std::nullopt) << seed;
    schedule.name = "random " + std::to_string(seed);
    schedule.barrier = seed % 2;
    expectRoundTrip(problem, schedule, {});
    // Numbers with and without a short decimal form, and large ones.
    double time = static_cast<double>(seed);
    expectRoundTrip(problem, schedule, {time, time / 7, 0x1p60 / (time + 3)});
  }
}

TEST_F(ProblemIRTest, OrdersOfComputeAreReadAsTheyWereWritten) {
  for (uint32_t seed = 0; seed < 200; ++seed) {
    schedule::Problem problem = schedule::randomLayers(seed);
    // What can run first does, from the end.
    schedule::Order order(problem.streams);
    std::vector<bool> done(problem.ops.size());
    for (size_t count = 0; count < problem.ops.size();)
      for (size_t op = problem.ops.size(); op-- > 0;) {
        bool ready = !done[op];
        for (unsigned before : problem.ops[op].after)
          ready &= done[before];
        if (!ready)
          continue;
        done[op] = true;
        order[problem.ops[op].stream].push_back(static_cast<unsigned>(op));
        ++count;
        break;
      }
    schedule::View view(problem, schedule::programOrder(problem));
    schedule::Schedule schedule = schedule::fifo(view);
    schedule.order = order;
    if (schedule::verify(problem, schedule))
      continue; // a tensor is needed before it is made
    expectRoundTrip(problem, schedule, {});
  }
}

/// Changes of numbers and operands that keep the form of the ops.
class Mutation {
public:
  Mutation(cs::ProblemOp op, uint64_t seed) : op(op), random(seed) {}

  void apply() {
    auto links = parts<cs::ProblemLinkOp>();
    auto computes = parts<cs::ProblemComputeOp>();
    auto communications = parts<cs::ProblemCommunicationOp>();
    auto link = links[upTo(links.size() - 1)];
    auto compute = computes[upTo(computes.size() - 1)];
    auto communication = communications[upTo(communications.size() - 1)];
    mlir::Value other = computes[upTo(computes.size() - 1)].getDone();
    switch (upTo(13)) {
    case 0:
      return op.setStreams(upTo(2));
    case 1:
      return op.setMemoryLimit(number(-1, 1));
    case 2:
      return link.setBytesPerSecond(number(-1, 1));
    case 3:
      return compute.setNs(number(-1, 1));
    case 4:
      return compute.setStream(number(-1, 2));
    case 5:
      return compute.setExtraBytes(number(-1, 1));
    case 6:
      return replace(compute.getAfterMutable(), other);
    case 7:
      return communication.setBytes(number(-1, 2));
    case 8:
      return communication.setKind(upTo(2));
    case 9:
      return replace(communication.getProducersMutable(), other);
    case 10:
      return replace(communication.getConsumersMutable(), other);
    case 11:
      return replace(communication.getLinksMutable(), link.getLink());
    case 12: {
      llvm::SmallVector<bool> next(communication.getNextStep());
      if (!next.empty())
        next[upTo(next.size() - 1)] ^= true;
      return communication.setNextStep(next);
    }
    default: {
      auto values = {communication.getStageBytesAttr(), communication.getOverheadNsAttr(),
                     communication.getLatencyNsAttr(), communication.getUpdateNsAttr()};
      size_t which = upTo(3);
      llvm::SmallVector<int64_t> changed((values.begin() + which)->asArrayRef());
      changed[upTo(changed.size() - 1)] = number(-1, 2);
      return which == 0   ? communication.setStageBytes(changed)
             : which == 1 ? communication.setOverheadNs(changed)
             : which == 2 ? communication.setLatencyNs(changed)
                          : communication.setUpdateNs(changed);
    }
    }
  }

private:
  size_t upTo(size_t most) { return random() % (most + 1); }
  uint64_t number(int64_t first, int64_t last) {
    return static_cast<uint64_t>(first + static_cast<int64_t>(upTo(last - first)));
  }
  template <typename Part>
  std::vector<Part> parts() {
    auto range = op.getOps<Part>();
    return std::vector<Part>(range.begin(), range.end());
  }
  void replace(mlir::MutableOperandRange operands, mlir::Value value) {
    if (!operands.empty())
      operands[upTo(operands.size() - 1)].set(value);
  }

  cs::ProblemOp op;
  std::mt19937_64 random;
};

TEST_F(ProblemIRTest, VerifiersFindWhatCheckFinds) {
  unsigned good = 0, bad = 0;
  Cases cases = casesOf(6000);
  for (uint64_t seed = cases.first; seed < cases.end; ++seed) {
    cs::ProblemOp op = write(schedule::randomProblem(seed, options(seed)));
    Mutation(op, seed).apply();
    mlir::ScopedDiagnosticHandler silence(
        &context, [](mlir::Diagnostic &) { return mlir::success(); });
    bool verified = succeeded(mlir::verify(*module));
    ASSERT_EQ(verified, succeeded(readProblem(op))) << seed;
    ++(verified ? good : bad);
  }
  EXPECT_GT(good, cases.count() / 6);
  EXPECT_GT(bad, cases.count() / 6);
}

TEST_F(ProblemIRTest, RefusesWhatCannotBeCounted) {
  schedule::Problem problem = schedule::randomProblem(1, {});
  cs::ProblemOp op = write(problem);
  (*op.getOps<cs::ProblemComputeOp>().begin()).setNs(INT64_MAX);
  std::string error;
  mlir::ScopedDiagnosticHandler keep(&context, [&](mlir::Diagnostic &diagnostic) {
    error = diagnostic.str();
    return mlir::success();
  });
  EXPECT_TRUE(failed(readProblem(op)));
  EXPECT_THAT(error, testing::HasSubstr("takes too long to be counted"));
}

} // namespace
} // namespace commsched
