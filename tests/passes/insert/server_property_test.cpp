// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// --insert-dist-comm=mode=parameter-server on random steps: trainers and
// servers of level 1 are run for a few steps, and must have what level 0 has in
// which every gradient is the mean over the trainers. The arithmetic is the
// same, in the same order, so the values are equal to the last bit. So they are when
// blocks are cut into parts for the wire and share messages, as --schedule-comm does.

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "ir/Register.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "passes/Passes.h"
#include "passes/schedule/CutBlocks.h"
#include "passes/schedule/FuseBlocks.h"
#include "tests/cases.h"
#include "tests/passes/insert/RandomUpdates.h"
#include "tests/passes/insert/Steps.h"
#include "tests/passes/insert/TensorInterpreter.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace commsched;
using namespace commsched::testing;

namespace {

Tensor randomTensor(std::vector<int64_t> shape, std::mt19937 &random) {
  Tensor tensor = Tensor::zeros(std::move(shape));
  for (double &element : tensor.elements)
    element = static_cast<double>(random() % 2000) / 1000 - 1;
  return tensor;
}

/// Data of all steps and trainers, and what all begin with.
struct Inputs {
  Named carried;
  std::vector<std::vector<Named>> batches; // by step and trainer
};

Inputs makeInputs(func::FuncOp func, unsigned seed) {
  std::mt19937 random(seed);
  Inputs inputs;
  inputs.batches.assign(kSteps, std::vector<Named>(kTrainers));
  for (unsigned i = 0; i < func.getNumArguments(); ++i) {
    std::vector<int64_t> shape = shapeOf(func.getArgumentTypes()[i]);
    if (!func.getArgAttr(i, "cs.batch")) {
      inputs.carried[nameOf(func, i)] = randomTensor(shape, random);
      continue;
    }
    for (auto &step : inputs.batches)
      for (Named &batch : step)
        batch[nameOf(func, i)] = randomTensor(shape, random);
  }
  return inputs;
}

/// The workers side by side, one op after the other; what they exchange is done
/// by `exchange`.
using Workers = std::vector<Environment>;

template <typename Exchange>
void runWorkers(func::FuncOp func, Workers &workers, Exchange exchange) {
  for (Operation &op : func.front().without_terminator()) {
    if (exchange(op))
      continue;
    for (Environment &worker : workers) {
      if (auto fragment = dyn_cast<cs::FragmentOp>(op)) {
        Block &body = fragment.getBody().front();
        for (auto [input, argument] :
             llvm::zip(fragment.getInputs(), body.getArguments()))
          worker.set(argument, worker.get(input));
        for (Operation &inner : body.without_terminator())
          interpret(inner, worker);
        for (auto [output, value] :
             llvm::zip(fragment.getOutputs(),
                       body.getTerminator()->getOperands()))
          worker.set(output, worker.get(value));
      } else {
        interpret(op, worker);
      }
    }
  }
}

/// Elements of tensors, one piece behind the other.
bool movePieces(Operation &op, Workers &workers) {
  if (!isa<cs::PackOp, cs::UnpackOp>(op))
    return false;
  ArrayRef<int64_t> bounds = op.getAttrOfType<DenseI64ArrayAttr>("bounds");
  for (Environment &worker : workers) {
    Tensor all = Tensor::zeros(shapeOf(op.getResult(0).getType()));
    auto to = all.elements.begin();
    for (auto [i, piece] : llvm::enumerate(op.getOperands())) {
      const std::vector<double> &from = worker.get(piece).elements;
      to = std::copy(from.begin() + bounds[2 * i], from.begin() + bounds[2 * i + 1], to);
    }
    EXPECT_EQ(to, all.elements.end());
    worker.set(op.getResult(0), all);
  }
  return true;
}

/// Gives every worker the mean.
void average(Operation &op, Workers &workers) {
  std::vector<Tensor> parts;
  for (Environment &worker : workers)
    parts.push_back(worker.get(op.getOperand(0)));
  for (Environment &worker : workers)
    worker.set(op.getResult(0), mean(parts));
}

/// What a worker carries, and its metrics.
struct Outcome {
  Named carried, metrics;
};

void readResults(func::FuncOp func, const Environment &worker, Outcome &out) {
  for (auto [i, value] :
       llvm::enumerate(func.front().getTerminator()->getOperands())) {
    if (auto name = func.getResultAttrOfType<StringAttr>(i, "cs.updates"))
      out.carried[name.str()] = worker.get(value);
    else
      out.metrics[func.getResultAttrOfType<StringAttr>(i, "cs.metric").str()] =
          worker.get(value);
  }
}

Workers makeWorkers(func::FuncOp func, const std::vector<Outcome> &outcomes,
                    const std::vector<Named> &batches) {
  Workers workers(kTrainers);
  for (int rank = 0; rank < kTrainers; ++rank)
    for (BlockArgument argument : func.getArguments()) {
      unsigned number = argument.getArgNumber();
      std::string name = nameOf(func, number);
      bool isBatch = func.getArgAttr(number, "cs.batch") != nullptr;
      workers[rank].set(argument, isBatch ? batches[rank].at(name)
                                          : outcomes[rank].carried.at(name));
    }
  return workers;
}

Outcome runLevel0(func::FuncOp func, const Inputs &inputs) {
  std::vector<Outcome> outcomes(kTrainers, {inputs.carried, {}});
  for (int step = 0; step < kSteps; ++step) {
    Workers workers = makeWorkers(func, outcomes, inputs.batches[step]);
    runWorkers(func, workers, [&](Operation &op) {
      if (!isa<cs::GradientOp>(op))
        return false;
      average(op, workers);
      return true;
    });
    for (int rank = 0; rank < kTrainers; ++rank)
      readResults(func, workers[rank], outcomes[rank]);
    std::vector<Tensor> seen;
    for (Outcome &outcome : outcomes)
      seen.push_back(outcome.metrics.at("seen"));
    outcomes[0].metrics["seen"] = mean(seen);
  }
  return outcomes[0];
}

class Cluster {
public:
  Cluster(ModuleOp module, const Inputs &inputs) : inputs(inputs) {
    for (auto func : module.getOps<func::FuncOp>()) {
      if (func->hasAttr("cs.step")) {
        trainer = func;
        continue;
      }
      servers.push_back(func);
      std::vector<Tensor> &slots = slotsOf.emplace_back();
      for (unsigned i = 0; i < func.getNumArguments(); ++i)
        slots.push_back(part(func.getArgAttr(i, "cs.rows"),
                             inputs.carried.at(nameOf(func, i))));
    }
    whole = inputs.carried;
  }

  Outcome run();

private:
  static Tensor part(Attribute rows, const Tensor &tensor) {
    auto range = dyn_cast_or_null<DenseI64ArrayAttr>(rows);
    return range ? tensor.rows(range[0], range[1]) : tensor;
  }
  void runServer(func::FuncOp func, std::vector<Tensor> &slots);
  bool exchange(Operation &op, Workers &workers);

  const Inputs &inputs;
  func::FuncOp trainer;
  std::vector<func::FuncOp> servers;
  std::vector<std::vector<Tensor>> slotsOf;
  std::map<std::string, std::vector<Tensor>> sent; // by trainer
  Named published;
  Named whole; // what servers have, put together
};

void Cluster::runServer(func::FuncOp func, std::vector<Tensor> &slots) {
  Workers self(1);
  for (BlockArgument argument : func.getArguments())
    self[0].set(argument, slots[argument.getArgNumber()]);
  runWorkers(func, self, [&](Operation &op) {
    if (auto collect = dyn_cast<cs::CollectOp>(op)) {
      EXPECT_EQ(collect.getReduction(), cs::Reduction::mean);
      self[0].set(collect.getResult(), mean(sent.at(collect.getKey().str())));
    } else if (auto publish = dyn_cast<cs::PublishOp>(op)) {
      published[publish.getKey().str()] = self[0].get(publish.getValue());
    } else {
      return movePieces(op, self);
    }
    return true;
  });
  for (auto [i, value] :
       llvm::enumerate(func.front().getTerminator()->getOperands())) {
    auto name = func.getResultAttrOfType<StringAttr>(i, "cs.updates");
    Attribute rows = func.getResultAttr(i, "cs.rows");
    bool found = false;
    for (unsigned j = 0; j < func.getNumArguments(); ++j)
      if (nameOf(func, j) == name.getValue() &&
          func.getArgAttr(j, "cs.rows") == rows) {
        slots[j] = self[0].get(value);
        found = true;
      }
    EXPECT_TRUE(found) << name.str();
    Tensor &all = whole.at(name.str());
    int64_t begin = 0;
    if (auto range = dyn_cast_or_null<DenseI64ArrayAttr>(rows))
      begin = range[0] * all.rowElements();
    const Tensor &made = self[0].get(value);
    std::copy(made.elements.begin(), made.elements.end(),
              all.elements.begin() + begin);
  }
}

bool Cluster::exchange(Operation &op, Workers &workers) {
  if (auto split = dyn_cast<cs::SplitOp>(op)) {
    for (Environment &worker : workers) {
      int64_t begin = 0;
      for (Value block : split.getBlocks()) {
        int64_t end = begin + shapeOf(block.getType())[0];
        worker.set(block, worker.get(split.getValue()).rows(begin, end));
        begin = end;
      }
    }
  } else if (auto send = dyn_cast<cs::SendOp>(op)) {
    std::vector<Tensor> &parts = sent[send.getKey().str()];
    EXPECT_TRUE(parts.empty()) << "sent twice";
    for (Environment &worker : workers)
      parts.push_back(worker.get(send.getValue()));
  } else if (auto recv = dyn_cast<cs::RecvOp>(op)) {
    if (published.empty())
      for (auto [func, slots] : llvm::zip(servers, slotsOf))
        runServer(func, slots);
    for (Environment &worker : workers)
      worker.set(recv.getResult(), published.at(recv.getKey().str()));
  } else if (auto concat = dyn_cast<cs::ConcatOp>(op)) {
    for (Environment &worker : workers) {
      Tensor all = worker.get(concat.getBlocks()[0]);
      for (Value block : concat.getBlocks().drop_front()) {
        const Tensor &next = worker.get(block);
        all.shape[0] += next.shape[0];
        all.elements.insert(all.elements.end(), next.elements.begin(),
                            next.elements.end());
      }
      worker.set(concat.getResult(), all);
    }
  } else {
    // Trainers do not talk to each other.
    EXPECT_FALSE((isa<cs::AllReduceOp, cs::ReduceOp>(op)));
    return movePieces(op, workers);
  }
  return true;
}

Outcome Cluster::run() {
  std::vector<Outcome> outcomes(kTrainers, {inputs.carried, {}});
  for (int step = 0; step < kSteps; ++step) {
    sent.clear();
    published.clear();
    Workers workers = makeWorkers(trainer, outcomes, inputs.batches[step]);
    runWorkers(trainer, workers,
               [&](Operation &op) { return exchange(op, workers); });
    for (int rank = 0; rank < kTrainers; ++rank)
      readResults(trainer, workers[rank], outcomes[rank]);
  }
  // Trainers and servers agree on what both have; the rest is on servers.
  Outcome result = outcomes[0];
  for (unsigned i = 0; i < trainer.getNumArguments(); ++i)
    if (trainer.getArgAttr(i, "cs.param")) {
      EXPECT_EQ(result.carried.at(nameOf(trainer, i)),
                whole.at(nameOf(trainer, i)));
    }
  for (auto &[name, tensor] : result.carried) {
    bool isTrainers = false;
    for (unsigned i = 0; i < trainer.getNumArguments(); ++i)
      isTrainers |= nameOf(trainer, i) == name;
    if (!isTrainers)
      tensor = whole.at(name);
  }
  return result;
}

/// Cuts some of the blocks into parts of any rows, sent in any order. How many.
unsigned cutSome(func::FuncOp step, unsigned seed) {
  std::mt19937 random(seed);
  StepCommunications communications(step);
  EXPECT_TRUE(succeeded(communications.analyze()));
  ServerBlocks blocks(communications);
  std::vector<CutBlock> cuts;
  for (const std::unique_ptr<ServerBlock> &block : blocks.all()) {
    if (random() % 4 == 0 || !block->divisible)
      continue;
    CutBlock &cut = cuts.emplace_back();
    cut.block = block.get();
    std::string key = cs::SendOp(block->send).getKey().str() + ".part";
    for (int64_t begin = 0; begin < block->rows; begin = cut.parts.back().end)
      cut.parts.push_back({key + std::to_string(cut.parts.size()), begin,
                           begin + 1 + static_cast<int64_t>(random() % (block->rows - begin))});
    std::shuffle(cut.parts.begin(), cut.parts.end(), random);
  }
  cutBlocks(cuts);
  return static_cast<unsigned>(cuts.size());
}

/// Puts some of the blocks, or parts of them, into messages together, in any order. How
/// many messages.
unsigned fuseSome(func::FuncOp step, unsigned seed) {
  std::mt19937 random(seed);
  StepCommunications communications(step);
  EXPECT_TRUE(succeeded(communications.analyze()));
  ServerBlocks blocks(communications);
  std::vector<const ServerBlock *> order;
  for (const std::unique_ptr<ServerBlock> &block : blocks.all())
    order.push_back(block.get());
  std::shuffle(order.begin(), order.end(), random);
  std::vector<FusedBlocks> all;
  for (const ServerBlock *block : order) {
    auto shares = [&](const FusedBlocks &fused) {
      return fused.blocks.front()->sharesMessagesWith(*block);
    };
    auto known = llvm::find_if(all, shares);
    if (known == all.end() || random() % 4 == 0)
      all.insert(all.begin(), {"fused" + std::to_string(all.size()), {block}});
    else
      known->blocks.push_back(block);
  }
  llvm::erase_if(all, [](const FusedBlocks &fused) { return fused.blocks.size() == 1; });
  fuseBlocks(all);
  return static_cast<unsigned>(all.size());
}

TEST(ServerProperty, TrainersAndServersTogetherDoWhatOneDeviceDoes) {
  DialectRegistry registry;
  registerDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  unsigned transformed = 0, sliced = 0, joined = 0, scheduled = 0, cut = 0, inParts = 0,
           together = 0;
  commsched::Cases cases = commsched::casesOf(1500);
  for (unsigned seed = cases.first; seed < cases.end; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    std::string text = commsched::testing::randomUpdates(seed);
    auto module = parseSourceString<ModuleOp>(text, ParserConfig(&context));
    ASSERT_TRUE(module) << text;
    func::FuncOp step = *module->getOps<func::FuncOp>().begin();
    Inputs inputs = makeInputs(step, seed);
    Outcome expected = runLevel0(step, inputs);
    const char *placements[] = {"balanced", "round-robin", "hash"};
    InsertDistCommOptions options;
    options.mode = "parameter-server";
    options.servers = 1 + seed % 3;
    options.minBlockElements = 1 + seed % 5;
    options.placement = placements[seed % 7 % 3];
    PassManager manager(&context);
    manager.addPass(createInsertDistComm(options));
    std::string errors;
    ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
      errors += diagnostic.str();
      return success();
    });
    if (failed(manager.run(*module))) {
      // State in scalars that trainers read may get to depend on gradients.
      ASSERT_NE(errors.find("with mode=parameter-server"), std::string::npos)
          << errors << "\n"
          << text;
      continue;
    }
    ++transformed;
    module->walk([&](Operation *op) {
      sliced += isa<cs::SplitOp>(op);
      cut += op->getName().getStringRef() == "tensor.extract_slice";
      if (auto fragment = dyn_cast<cs::FragmentOp>(op)) {
        scheduled += fragment.getLabel() == "schedule";
        unsigned collected = 0;
        for (Value input : fragment.getInputs())
          collected += isa_and_nonnull<cs::CollectOp>(input.getDefiningOp());
        joined += collected > 1;
      }
    });
    for (auto func : module->getOps<func::FuncOp>())
      if (func->hasAttr("cs.step")) {
        if (seed % 3 != 0)
          inParts += cutSome(func, seed);
        if (seed % 4 != 0)
          together += fuseSome(func, seed);
      }
    ASSERT_TRUE(succeeded(verify(*module))) << errors << "\n"
                                            << text;
    Outcome found = Cluster(*module, inputs).run();
    for (const auto &[name, tensor] : expected.carried)
      EXPECT_EQ(found.carried.at(name), tensor) << name;
    EXPECT_EQ(found.metrics, expected.metrics);
    if (HasFailure()) {
      module->dump();
      FAIL() << text;
    }
  }
  // The programs are of all kinds.
  RecordProperty("transformed", static_cast<int>(transformed));
  RecordProperty("joined", static_cast<int>(joined));
  EXPECT_GT(transformed, cases.count() * 2 / 3);
  EXPECT_GT(sliced, cases.count() / 5);
  EXPECT_GT(joined, cases.count() / 30);
  EXPECT_GT(scheduled, cases.count() / 5);
  EXPECT_GT(cut, cases.count() / 30);
  EXPECT_GT(inParts, cases.count() / 3);
  EXPECT_GT(together, cases.count() / 3);
}

} // namespace
