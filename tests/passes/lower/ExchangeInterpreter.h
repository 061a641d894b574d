// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs exchanges on numbers, and says what collectives are defined to be. Shares
// no code with the passes: reads the ops' attributes, folds maps through MLIR.

#ifndef COMMSCHED_TESTS_PASSES_LOWER_EXCHANGEINTERPRETER_H
#define COMMSCHED_TESTS_PASSES_LOWER_EXCHANGEINTERPRETER_H

#include "ir/Cs.h"
#include "passes/Passes.h"

#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/FormatVariadic.h"
#include "gtest/gtest.h"
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

namespace commsched {

using namespace mlir;

struct Case {
  std::string op;        // "all_reduce"
  std::string reduction; // "", "sum", "mean", "max", "min"
  int root = -1;         // of reduce and broadcast
  std::string algorithm = "auto";

  bool scatters() const { return op == "reduce_scatter"; }
  bool gathers() const { return op == "all_gather"; }
  bool moves() const { return op == "all_to_all"; }
  /// What the number of elements must be a multiple of.
  int multipleOf(int ranks) const {
    return moves() ? 2 * ranks : scatters() || gathers() ? ranks
                                                         : 1;
  }
};

/// What one rank does on one side of one round.
struct Action {
  bool active = false;
  int64_t begin = 0, count = 0, peer = -1;
};

struct Phase {
  int64_t chunks, rounds;
  cs::Combine combine;
  double scale;                                // 0: none
  std::vector<std::vector<Action>> send, recv; // [rank][round]
};

inline int64_t fold(AffineExpr expr, int rank, int round) {
  MLIRContext *context = expr.getContext();
  AffineExpr folded =
      expr.replaceDims({getAffineConstantExpr(rank, context),
                        getAffineConstantExpr(round, context)});
  auto constant = dyn_cast<AffineConstantExpr>(folded);
  EXPECT_TRUE(bool(constant));
  return constant ? constant.getValue() : 0;
}

inline std::vector<std::vector<Action>> tabulate(cs::SideAttr side, int ranks,
                                                 int rounds) {
  std::vector<std::vector<Action>> table(ranks, std::vector<Action>(rounds));
  IntegerSet when = side.getWhen();
  for (int rank = 0; rank < ranks; ++rank)
    for (int round = 0; round < rounds; ++round) {
      bool active = true;
      for (unsigned i = 0; i < when.getNumConstraints(); ++i) {
        int64_t value = fold(when.getConstraint(i), rank, round);
        active &= when.isEq(i) ? value == 0 : value >= 0;
      }
      if (active)
        table[rank][round] = {true,
                              fold(side.getParts().getResult(0), rank, round),
                              fold(side.getParts().getResult(1), rank, round),
                              fold(side.getPeer().getResult(0), rank, round)};
    }
  return table;
}

using Values = std::vector<std::vector<double>>; // [rank][element]

inline int64_t partBegin(int64_t part, int64_t n, int64_t chunks) {
  return part * n / chunks;
}

inline double combine(cs::Combine how, double own, double received) {
  switch (how) {
  case cs::Combine::replace:
    return received;
  case cs::Combine::sum:
    return own + received;
  case cs::Combine::max:
    return std::max(own, received);
  case cs::Combine::min:
    return std::min(own, received);
  }
  return 0;
}

/// Runs a phase on all ranks, in place. False if a message has no counterpart; with
/// `moves` it may have another number there.
inline bool run(const Phase &phase, Values &values, bool moves = false) {
  const int ranks = values.size();
  const int64_t n = values.front().size();
  for (int round = 0; round < phase.rounds; ++round) {
    const Values before = values;
    for (int rank = 0; rank < ranks; ++rank) {
      const Action &send = phase.send[rank][round];
      if (send.active) {
        if (send.peer < 0 || send.peer >= ranks || send.peer == rank)
          return false;
        const Action &there = phase.recv[send.peer][round];
        if (!there.active || there.peer != rank)
          return false;
      }
      const Action &recv = phase.recv[rank][round];
      if (!recv.active)
        continue;
      if (recv.peer < 0 || recv.peer >= ranks || recv.peer == rank)
        return false;
      const Action &there = phase.send[recv.peer][round];
      if (!there.active || there.peer != rank ||
          (!moves && there.begin != recv.begin) || there.count != recv.count ||
          recv.begin < 0 || recv.count < 0 || there.begin < 0 ||
          recv.begin + recv.count > phase.chunks ||
          there.begin + there.count > phase.chunks)
        return false;
      int64_t begin = partBegin(recv.begin, n, phase.chunks);
      int64_t end = partBegin(recv.begin + recv.count, n, phase.chunks);
      int64_t from = partBegin(there.begin, n, phase.chunks);
      if (partBegin(there.begin + there.count, n, phase.chunks) - from != end - begin)
        return false;
      for (int64_t i = begin; i < end; ++i) {
        double &own = values[rank][i];
        own = combine(phase.combine, own, before[recv.peer][from + i - begin]);
        if (phase.scale != 0 && round + 1 == phase.rounds)
          own *= phase.scale;
      }
    }
  }
  return true;
}

class Expansion {
public:
  explicit Expansion(MLIRContext *context) : context(context) {}

  /// Expands `c` for `ranks` ranks. False on any error.
  bool expand(const Case &c, int ranks) {
    auto type = [&](int rows) {
      return llvm::formatv("!cs.placed<tensor<{0}xf64>, device 0>", rows).str();
    };
    int whole = 3 * (c.moves() ? 2 : 1) * ranks;
    std::string from = type(c.gathers() ? 3 : whole);
    std::string to = type(c.scatters() ? 3 : whole);
    std::string suffix = " : " + from;
    if (c.scatters() || c.gathers())
      suffix += " -> " + to;
    if (c.op == "reduce")
      suffix = llvm::formatv(" to {0}", c.root).str() + suffix;
    if (c.op == "broadcast")
      suffix = llvm::formatv(" from {0}", c.root).str() + suffix;
    std::string text =
        llvm::formatv(R"(
cs.cluster @lab nodes = {0} devices = 1 device = <kind = cpu, gflops = 40, gb_per_s = 20>
    intra = <mbit_per_s = 80000, latency_ns = 5000> inter = <mbit_per_s = 1000, latency_ns = 50000>
func.func @f(%v: {1}) -> {2} {{
  %f = cs.start "k" (%v) : ({1}) -> !cs.future<{2}> {{
  ^bb0(%x: {1}):
    %r = cs.{3} "k" {4} %x{5}
    cs.return %r : {2}
  }
  %r = cs.await %f : !cs.future<{2}>
  return %r : {2}
})",
                      ranks, from, to, c.op, c.reduction, suffix)
            .str();
    module = parseSourceString<ModuleOp>(text, ParserConfig(context));
    if (!module)
      return false;
    PassManager pm(context);
    ExpandCollectivesOptions options;
    options.algorithm = c.algorithm;
    pm.addPass(createExpandCollectives(options));
    if (failed(pm.run(*module)))
      return false;
    return read(ranks);
  }

  /// Reads the exchanges of the module, for `ranks` ranks.
  bool read(int ranks) {
    phases.clear();
    starts = shards = unshards = 0;
    bool known = true;
    module->walk([&](cs::StartOp start) {
      ++starts;
      // Every op works on the result of the one before.
      Value value = start.getBody().getArgument(0);
      for (Operation &op : start.getBody().front()) {
        known &= op.getNumOperands() == 1 && op.getOperand(0) == value;
        if (auto exchange = dyn_cast<cs::ExchangeOp>(op)) {
          int rounds = exchange.getRounds();
          phases.push_back({int64_t(exchange.getChunks()), rounds,
                            exchange.getCombine(),
                            exchange.getScale()
                                ? exchange.getScale()->convertToDouble()
                                : 0.0,
                            tabulate(exchange.getSend(), ranks, rounds),
                            tabulate(exchange.getRecv(), ranks, rounds)});
        } else if (isa<cs::ShardOp>(op)) {
          ++shards;
        } else if (isa<cs::UnshardOp>(op)) {
          ++unshards;
        } else if (!isa<cs::ReturnOp>(op)) {
          known = false;
        }
        if (op.getNumResults() == 1)
          value = op.getResult(0);
      }
    });
    return known;
  }

  MLIRContext *context;
  OwningOpRef<ModuleOp> module;
  std::vector<Phase> phases;
  int starts, shards, unshards;
};

/// Small integers, so that sums are exact.
inline double integerValue(int rank, int element) {
  return (rank * 37 + element * 11) % 101 - 50;
}

/// Values whose sum depends on the order of summation.
inline double roughValue(int rank, int element) {
  return std::sin(rank * 12.9898 + element * 78.233) *
         std::pow(10.0, (rank + element) % 7);
}

/// By definition, what `element` must be on every rank; of all_to_all, on `rank`.
inline double expected(const Case &c, int ranks, int n, int element, int rank = 0) {
  if (c.moves()) {
    int half = n / 2, width = half / ranks;
    int sender = (element - half) / width;
    if (element < half || sender == rank)
      return integerValue(rank, element);
    return integerValue(sender, rank * width + (element - half) % width);
  }
  if (c.op == "broadcast")
    return integerValue(c.root, element);
  if (c.gathers())
    return integerValue(element / (n / ranks), element);
  double result = integerValue(0, element);
  for (int rank = 1; rank < ranks; ++rank) {
    double value = integerValue(rank, element);
    if (c.reduction == "max")
      result = std::max(result, value);
    else if (c.reduction == "min")
      result = std::min(result, value);
    else
      result += value;
  }
  return c.reduction == "mean" ? result / ranks : result;
}

/// The whole buffer of each rank at the start: for all_gather only its own part
/// is known.
inline Values initial(const Case &c, int ranks, int n,
                      double (*value)(int rank, int element)) {
  Values values(ranks, std::vector<double>(n));
  for (int rank = 0; rank < ranks; ++rank)
    for (int i = 0; i < n; ++i)
      values[rank][i] = c.gathers() && i / (n / ranks) != rank
                            ? std::numeric_limits<double>::quiet_NaN()
                            : value(rank, i);
  return values;
}

/// True if the definition says what `element` is on `rank`.
inline bool isDefined(const Case &c, int ranks, int n, int rank, int element) {
  if (c.op == "reduce")
    return rank == c.root;
  if (c.scatters())
    return element / (n / ranks) == rank;
  return true;
}

} // namespace commsched

#endif // COMMSCHED_TESTS_PASSES_LOWER_EXCHANGEINTERPRETER_H
