// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tables with row-sparse gradients and random updates: trainers and servers of
// level 1 are run for a few steps, and must have what level 0 has in which every
// gradient is the mean over the trainers, and every row of a table and of its
// state that no trainer's ids of the step name is put back as it was. The values
// are equal to the last bit.

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
#include "tests/passes/insert/RandomUpdates.h"
#include "tests/passes/insert/Steps.h"
#include "tests/passes/insert/TensorInterpreter.h"
#include "gtest/gtest.h"

using namespace mlir;

namespace commsched::row_property {
using namespace commsched::testing;
namespace {

/// Data of all steps and trainers, and what all begin with. Ids lie in the tables
/// and around them.
struct Inputs {
  Named carried;
  std::vector<std::vector<Named>> batches; // by step and trainer

  Inputs(func::FuncOp func, unsigned seed)
      : batches(kSteps, std::vector<Named>(kTrainers)) {
    std::mt19937 random(seed);
    int64_t rows = shapeOf(func.getArgumentTypes()[2])[0]; // of "w0"
    for (unsigned i = 0; i < func.getNumArguments(); ++i) {
      std::string name = nameOf(func, i);
      auto make = [&] {
        Tensor tensor = Tensor::zeros(shapeOf(func.getArgumentTypes()[i]));
        for (double &element : tensor.elements)
          element = name.starts_with("ids")
                        ? static_cast<double>(random() % (rows + 2)) - 1
                        : static_cast<double>(random() % 2000) / 1000 - 1;
        return tensor;
      };
      if (!func.getArgAttr(i, "cs.batch"))
        carried[name] = make();
      else
        for (auto &step : batches)
          for (Named &batch : step)
            batch[name] = make();
    }
  }
};

/// The rows of the table "w<n>" that some trainer names.
std::set<int64_t> touched(const std::string &table, int64_t rows,
                          const std::vector<Named> &batches) {
  std::set<int64_t> result;
  for (const Named &batch : batches)
    for (double id : batch.at("ids" + table.substr(1)).elements)
      if (id >= 0 && id < static_cast<double>(rows))
        result.insert(static_cast<int64_t>(id));
  return result;
}

void copyRow(const Tensor &from, int64_t row, Tensor &to, int64_t at) {
  std::copy_n(from.elements.begin() + row * from.rowElements(),
              from.rowElements(), to.elements.begin() + at * to.rowElements());
}

/// One step of level 0; `lazy` names what lies beside which table.
Named runLevel0(func::FuncOp func, const Named &carried,
                const std::vector<Named> &batches,
                const std::map<std::string, std::string> &lazy) {
  std::vector<Environment> workers(kTrainers);
  for (int rank = 0; rank < kTrainers; ++rank)
    for (BlockArgument argument : func.getArguments()) {
      std::string name = nameOf(func, argument.getArgNumber());
      bool isBatch = func.getArgAttr(argument.getArgNumber(), "cs.batch") != nullptr;
      workers[rank].set(argument, isBatch ? batches[rank].at(name)
                                          : carried.at(name));
    }
  for (Operation &op : func.front().without_terminator()) {
    if (auto gradient = dyn_cast<cs::GradientOp>(op)) {
      std::vector<Tensor> parts;
      for (Environment &worker : workers)
        parts.push_back(worker.get(gradient.getValue()));
      for (Environment &worker : workers)
        worker.set(gradient.getResult(), mean(parts));
    } else {
      for (Environment &worker : workers)
        interpret(op, worker);
    }
  }
  Named result = carried;
  for (auto [i, value] :
       llvm::enumerate(func.front().getTerminator()->getOperands())) {
    auto name = func.getResultAttrOfType<StringAttr>(i, "cs.updates");
    if (!name)
      continue;
    Tensor made = workers[0].get(value);
    auto table = lazy.find(name.str());
    if (table == lazy.end()) {
      result[name.str()] = made;
      continue;
    }
    for (int64_t row : touched(table->second, made.shape[0], batches))
      copyRow(made, row, result[name.str()], row);
  }
  return result;
}

void runFragment(cs::FragmentOp fragment, Environment &worker) {
  Block &body = fragment.getBody().front();
  for (auto [input, argument] :
       llvm::zip(fragment.getInputs(), body.getArguments()))
    worker.set(argument, worker.get(input));
  for (Operation &inner : body.without_terminator())
    interpret(inner, worker);
  for (auto [output, value] : llvm::zip(fragment.getOutputs(),
                                        body.getTerminator()->getOperands()))
    worker.set(output, worker.get(value));
}

class Cluster {
public:
  explicit Cluster(ModuleOp module) {
    for (auto func : module.getOps<func::FuncOp>())
      (func->hasAttr("cs.step") ? trainers : servers).push_back(func);
    for (func::FuncOp server : servers)
      server.walk([&](cs::UpdateRowsOp update) {
        auto nameOfRows = [&](Value rows) {
          return nameOf(server, cast<BlockArgument>(rows).getArgNumber());
        };
        for (Value rows : update.getRows())
          lazy[nameOfRows(rows)] = nameOfRows(update.getRows()[0]);
      });
  }

  Named step(const Named &begin, const std::vector<Named> &batches) {
    sent.clear();
    rows.clear();
    published.clear();
    now = next = begin;
    func::FuncOp func = trainers[0];
    std::vector<Environment> workers(kTrainers);
    for (int rank = 0; rank < kTrainers; ++rank)
      for (BlockArgument argument : func.getArguments()) {
        std::string name = nameOf(func, argument.getArgNumber());
        EXPECT_FALSE(func.getArgAttr(argument.getArgNumber(), "cs.param"))
            << name << " is on a trainer";
        auto own = batches[rank].find(name);
        workers[rank].set(argument, own != batches[rank].end() ? own->second
                                                               : now.at(name));
      }
    for (Operation &op : func.front().without_terminator())
      for (Environment &worker : workers)
        runOnTrainer(op, worker);
    runServers();
    for (auto [i, value] :
         llvm::enumerate(func.front().getTerminator()->getOperands()))
      if (auto name = func.getResultAttrOfType<StringAttr>(i, "cs.updates"))
        next[name.str()] = workers[0].get(value);
    return next;
  }

  /// By name: the table that it lies beside.
  std::map<std::string, std::string> lazy;

private:
  void runOnTrainer(Operation &op, Environment &worker) {
    if (auto fragment = dyn_cast<cs::FragmentOp>(op)) {
      runFragment(fragment, worker);
    } else if (auto fetch = dyn_cast<cs::FetchRowsOp>(op)) {
      // What the steps before have left.
      const Tensor &table = now.at(fetch.getKey().str());
      Tensor made = Tensor::zeros(shapeOf(fetch.getResult().getType()));
      EXPECT_EQ(fetch.getOffsets().back(), table.shape[0]);
      const Tensor &ids = worker.get(fetch.getIds());
      for (size_t i = 0; i < ids.elements.size(); ++i)
        copyRow(table,
                std::clamp<int64_t>(static_cast<int64_t>(ids.elements[i]), 0,
                                    table.shape[0] - 1),
                made, static_cast<int64_t>(i));
      worker.set(fetch.getResult(), made);
    } else if (auto send = dyn_cast<cs::SendRowsOp>(op)) {
      rows[send.getKey().str()].push_back(
          {worker.get(send.getIds()), worker.get(send.getValues())});
    } else if (auto send = dyn_cast<cs::SendOp>(op)) {
      sent[send.getKey().str()].push_back(worker.get(send.getValue()));
    } else if (auto recv = dyn_cast<cs::RecvOp>(op)) {
      runServers();
      worker.set(recv.getResult(), published.at(recv.getKey().str()));
    } else {
      ADD_FAILURE() << "unexpected " << op.getName().getStringRef().str();
    }
  }

  void runServers() {
    if (!published.empty())
      return;
    for (func::FuncOp server : servers)
      runServer(server);
  }

  void runServer(func::FuncOp func) {
    auto rangeOf = [&](Attribute attribute, const Tensor &whole) {
      auto range = dyn_cast_or_null<DenseI64ArrayAttr>(attribute);
      return range ? std::pair(range[0], range[1])
                   : std::pair(int64_t(0), whole.shape.empty() ? 1 : whole.shape[0]);
    };
    Environment self;
    for (BlockArgument argument : func.getArguments()) {
      unsigned i = argument.getArgNumber();
      const Tensor &whole = now.at(nameOf(func, i));
      auto [begin, end] = rangeOf(func.getArgAttr(i, "cs.rows"), whole);
      self.set(argument, whole.shape.empty() ? whole : whole.rows(begin, end));
    }
    for (Operation &op : func.front().without_terminator()) {
      if (auto fragment = dyn_cast<cs::FragmentOp>(op)) {
        runFragment(fragment, self);
      } else if (auto collect = dyn_cast<cs::CollectOp>(op)) {
        self.set(collect.getResult(), mean(sent.at(collect.getKey().str())));
      } else if (auto publish = dyn_cast<cs::PublishOp>(op)) {
        published[publish.getKey().str()] = self.get(publish.getValue());
      } else {
        auto update = cast<cs::UpdateRowsOp>(op);
        unsigned table = cast<BlockArgument>(update.getRows()[0]).getArgNumber();
        auto [begin, end] = rangeOf(func.getArgAttr(table, "cs.rows"),
                                    now.at(nameOf(func, table)));
        updateRows(update, nameOf(func, table), begin, end, self);
      }
    }
    for (auto [i, value] :
         llvm::enumerate(func.front().getTerminator()->getOperands())) {
      Tensor &whole =
          next.at(func.getResultAttrOfType<StringAttr>(i, "cs.updates").str());
      auto [begin, end] = rangeOf(func.getResultAttr(i, "cs.rows"), whole);
      const Tensor &made = self.get(value);
      int64_t width = whole.shape.empty() ? 1 : whole.rowElements();
      std::copy(made.elements.begin(), made.elements.end(),
                whole.elements.begin() + begin * width);
    }
  }

  /// Rows [begin, end) of `table`: merges, and applies the region, a chunk of rows
  /// at a time.
  void updateRows(cs::UpdateRowsOp update, const std::string &table,
                  int64_t begin, int64_t end, Environment &self) {
    EXPECT_EQ(update.getReduction(), cs::Reduction::mean);
    std::vector<Tensor> results;
    for (Value value : update.getRows())
      results.push_back(self.get(value));
    std::vector<Tensor> parts;
    std::set<int64_t> named;
    for (auto &[ids, values] : rows.at(table)) {
      Tensor &part = parts.emplace_back(Tensor::zeros(results[0].shape));
      for (size_t i = 0; i < ids.elements.size(); ++i) {
        auto id = static_cast<int64_t>(ids.elements[i]);
        if (id < begin || id >= end)
          continue;
        named.insert(id - begin);
        for (int64_t j = 0; j < part.rowElements(); ++j)
          part.elements[(id - begin) * part.rowElements() + j] +=
              values.elements[static_cast<int64_t>(i) * part.rowElements() + j];
      }
    }
    Tensor gradient = mean(parts);
    std::vector<int64_t> order(named.begin(), named.end());
    auto chunk = static_cast<int64_t>(update.getChunk());
    Block &body = update.getBody().front();
    for (size_t first = 0; first < order.size(); first += chunk) {
      std::vector<Tensor> inputs = {gradient};
      for (Value value : update.getRows())
        inputs.push_back(self.get(value));
      size_t count = std::min<size_t>(chunk, order.size() - first);
      for (size_t k = 0; k < inputs.size(); ++k) {
        Tensor some =
            Tensor::zeros(shapeOf(body.getArgument(k).getType()));
        for (size_t i = 0; i < count; ++i)
          copyRow(inputs[k], order[first + i], some, static_cast<int64_t>(i));
        self.set(body.getArgument(k), some);
      }
      for (auto [k, value] : llvm::enumerate(update.getOthers()))
        self.set(body.getArgument(inputs.size() + k), self.get(value));
      for (Operation &inner : body.without_terminator())
        interpret(inner, self);
      for (auto [k, value] :
           llvm::enumerate(body.getTerminator()->getOperands()))
        for (size_t i = 0; i < count; ++i)
          copyRow(self.get(value), static_cast<int64_t>(i), results[k],
                  order[first + i]);
    }
    for (auto [value, result] : llvm::zip(update.getResults(), results))
      self.set(value, result);
  }

  std::vector<func::FuncOp> trainers, servers;
  Named now, next;
  std::map<std::string, std::vector<std::pair<Tensor, Tensor>>> rows;
  std::map<std::string, std::vector<Tensor>> sent; // by trainer
  Named published;
};

TEST(RowProperty, ServersUpdateTheRowsThatTrainersNameAndNoOthers) {
  DialectRegistry registry;
  registerDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  unsigned transformed = 0, refused = 0, cut = 0, scheduled = 0, constants = 0;
  commsched::Cases cases = commsched::casesOf(800);
  for (unsigned seed = cases.first; seed < cases.end; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    std::string text = commsched::testing::randomUpdates(seed, /*tables=*/true);
    auto module = parseSourceString<ModuleOp>(text, ParserConfig(&context));
    auto original = parseSourceString<ModuleOp>(text, ParserConfig(&context));
    ASSERT_TRUE(module && original) << text;
    std::string why;
    ScopedDiagnosticHandler diagnostics(&context, [&](Diagnostic &diagnostic) {
      if (diagnostic.getSeverity() == DiagnosticSeverity::Error)
        why += diagnostic.str();
      return success();
    });
    PassManager manager(&context);
    manager.addPass(createInsertDistComm(
        {.mode = "parameter-server", .servers = 1 + seed % 3, .minBlockElements = 3}));
    if (failed(manager.run(*module))) {
      EXPECT_TRUE(why.find("row-sparse parameter") != std::string::npos ||
                  why.find("with mode=parameter-server") != std::string::npos)
          << why << "\n"
          << text;
      ++refused;
      continue;
    }
    ++transformed;
    Cluster cluster(*module);
    module->walk([&](cs::UpdateRowsOp update) {
      cut += update->getParentOfType<func::FuncOp>().getArgAttr(
                 cast<BlockArgument>(update.getRows()[0]).getArgNumber(),
                 "cs.rows") != nullptr;
      scheduled += !update.getOthers().empty();
      Operation *ret = update.getBody().front().getTerminator();
      constants += llvm::is_contained(ret->getOperands(),
                                      update.getBody().getArguments().back());
    });
    func::FuncOp step = *original->getOps<func::FuncOp>().begin();
    Inputs inputs(step, seed);
    Named expected = inputs.carried, found = inputs.carried;
    for (int i = 0; i < kSteps; ++i) {
      expected = runLevel0(step, expected, inputs.batches[i], cluster.lazy);
      found = cluster.step(found, inputs.batches[i]);
      ASSERT_EQ(found, expected) << "step " << i << "\n"
                                 << text;
    }
  }
  // The generator keeps its promises.
  EXPECT_GT(transformed, cases.count() / 6);
  EXPECT_GT(refused, cases.count() / 16);
  EXPECT_GT(cut, cases.count() / 8);
  EXPECT_GT(scheduled, cases.count() / 40);
  EXPECT_GT(constants, cases.count() / 160);
}

} // namespace
} // namespace commsched::row_property
