// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/cs-opt/Interpret.h"

#include "ir/Cs.h"
#include "ir/ReadText.h"
#include "reference/Ranks.h"
#include "reference/TensorFile.h"
#include "tools/support/ToolOptions.h"

#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Support/FileUtilities.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;
using namespace commsched;
using namespace commsched::reference;

struct commsched::Interpret::Options {
  llvm::cl::OptionCategory category{"Interpreting a step (docs/interpreter.md)"};
  llvm::cl::opt<uint64_t> steps{
      "interpret", llvm::cl::value_desc("steps"), llvm::cl::cat(category),
      llvm::cl::desc("Run so many steps of the function with cs.step by the reference "
                     "interpreter, and print metrics instead of the module; at level 1 "
                     "and 2 on all nodes and servers")};
  llvm::cl::opt<std::string> values{
      "interpret-values", llvm::cl::value_desc("file.safetensors"), llvm::cl::cat(category),
      llvm::cl::desc("Parameters and state before the first step")};
  llvm::cl::opt<std::string> batches{
      "interpret-batches", llvm::cl::value_desc("file.safetensors"), llvm::cl::cat(category),
      llvm::cl::desc("Samples; step s takes the s-th global batch of them, and begins "
                     "anew behind the last whole one")};
  llvm::cl::opt<std::string> output{
      "interpret-output", llvm::cl::value_desc("file.safetensors"), llvm::cl::cat(category),
      llvm::cl::desc("Values after each step s, \"s:NAME\" and \"s:NAME.bound\", and of "
                     "metrics \"s:metric:NAME\" and \"s:metric:NAME.bound\"")};
  llvm::cl::opt<uint64_t> workers{"interpret-workers", llvm::cl::init(1),
                                  llvm::cl::value_desc("n"), llvm::cl::cat(category),
                                  llvm::cl::desc("Workers that share a global batch; at level 1 "
                                                 "and 2 the devices of the cluster do (default 1)")};
  llvm::cl::opt<Combiner> reduction{
      "interpret-reduction", llvm::cl::init(Combiner::mean), llvm::cl::cat(category),
      llvm::cl::desc("What gradients are over the workers; at level 1 and 2 the module says "
                     "(default mean)"),
      llvm::cl::values(clEnumValN(Combiner::mean, "mean", ""),
                       clEnumValN(Combiner::sum, "sum", ""))};
  llvm::cl::opt<bool> each{
      "interpret-each", llvm::cl::cat(category),
      llvm::cl::desc("Begin each step with values of the file, \"0:NAME\" before the "
                     "first, \"1:NAME\" before the second, instead of its own")};
};

Interpret::Interpret() : options(std::make_unique<Options>()) {}
Interpret::~Interpret() = default;

bool Interpret::wanted() const { return options->steps.getNumOccurrences() > 0; }

static int fail(const llvm::Twine &why) {
  llvm::errs() << "error: --interpret: " << why << "\n";
  return EXIT_FAILURE;
}

/// Of MLIR, about how modules are read and written; --interpret reads one, and writes none.
static constexpr const char *kOfModules[] = {"dump-pass-pipeline", "emit-bytecode", "emit-bytecode-version", "no-implicit-module",
                                             "output-split-marker", "split-input-file", "verify-diagnostics", "verify-roundtrip"};

bool Interpret::check(llvm::StringRef input, llvm::StringRef output, bool report) const {
  const llvm::cl::Option *others[] = {&options->values, &options->batches, &options->output,
                                      &options->workers, &options->reduction, &options->each};
  if (!wanted()) {
    for (const llvm::cl::Option *other : others)
      if (other->getNumOccurrences() > 0) {
        llvm::errs() << "error: --" << other->ArgStr << " needs --interpret\n";
        return false;
      }
    return true;
  }
  if (output != "-" || report) {
    fail(llvm::Twine("prints metrics, and no module: it goes without ") + (report ? "--report" : "-o"));
    return false;
  }
  for (const char *name : kOfModules)
    if (auto found = llvm::cl::getRegisteredOptions().find(name);
        found != llvm::cl::getRegisteredOptions().end() && found->second->getNumOccurrences() > 0) {
      fail(llvm::Twine("reads one module and writes none: it goes without --") + name);
      return false;
    }
  if (std::string why = checkOtherFile("--interpret-output", options->output, "the input", input); !why.empty()) {
    llvm::errs() << "error: " << why << "\n";
    return false;
  }
  return true;
}

/// Batch `step` of the samples of a file.
static llvm::Expected<NamedArrays> batchOf(func::FuncOp function, const NamedArrays &samples,
                                           uint64_t step, int64_t workers) {
  NamedArrays batch;
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    auto name = function.getArgAttrOfType<StringAttr>(i, "cs.batch");
    Type argument = function.getArgumentTypes()[i];
    if (auto placed = dyn_cast<cs::PlacedType>(argument))
      argument = placed.getTensor();
    auto type = dyn_cast<RankedTensorType>(argument);
    if (!name || !type || type.getRank() == 0)
      continue;
    auto found = samples.find(name.str());
    if (found == samples.end())
      return llvm::createStringError("--interpret-batches has no \"" + name.str() + "\"");
    const Array &all = *found->second;
    int64_t rows = type.getDimSize(0) * workers;
    int64_t there = all.shape.empty() ? 0 : all.shape[0];
    if (rows == 0 || there < rows)
      return llvm::createStringError("batch \"" + name.str() + "\" must have at least " +
                                     std::to_string(rows) + " samples, got: " +
                                     std::to_string(there));
    int64_t first = static_cast<int64_t>(step % (there / rows)) * rows;
    int64_t row = all.size() / there;
    SmallVector<int64_t> shape(all.shape.begin(), all.shape.end());
    shape[0] = rows;
    ArrayPtr part = makeZeros(all.elementType, shape);
    for (int64_t e = 0; e < part->size(); ++e)
      part->setFrom(e, all, first * row + e);
    batch[name.str()] = part;
  }
  return batch;
}

/// The same of all steps, where ranks run different ones.
static llvm::Expected<NamedArrays> batchesOf(ModuleOp module, func::FuncOp step,
                                             const NamedArrays &samples, uint64_t number,
                                             int64_t workers) {
  NamedArrays batches;
  bool anyRole = false;
  for (auto function : module.getOps<func::FuncOp>()) {
    auto count = function->getAttrOfType<IntegerAttr>(cs::CsDialect::kCountAttr);
    if (!count || !function->hasAttr(cs::CsDialect::kStepAttr))
      continue;
    anyRole = true;
    auto nodes =
        static_cast<int64_t>((*module.getOps<cs::ClusterOp>().begin()).getNodes());
    auto own = batchOf(function, samples, number, workers / nodes * count.getInt());
    if (!own)
      return own.takeError();
    batches.insert(own->begin(), own->end());
  }
  if (anyRole)
    return batches;
  return batchOf(step, samples, number, workers);
}

/// Of a step: the values of the names "s:NAME", without what is before the colon.
static NamedArrays valuesOf(const NamedArrays &all, uint64_t step) {
  NamedArrays values;
  std::string prefix = std::to_string(step) + ":";
  for (const auto &[name, array] : all)
    if (StringRef(name).starts_with(prefix))
      values[name.substr(prefix.size())] = array;
  return values;
}

static void add(NamedArrays &to, const std::string &prefix, const NamedArrays &arrays) {
  for (const auto &[name, array] : arrays) {
    to[prefix + name] = array;
    to[prefix + name + ".bound"] = boundsOf(*array);
  }
}

static void printMetrics(uint64_t step, const NamedArrays &metrics) {
  llvm::outs() << "step " << step;
  for (const auto &[name, array] : metrics) {
    if (array->size() != 1)
      continue;
    llvm::outs() << "  " << name << " " << llvm::format("%.9g", array->at(0));
    if (isUndetermined(array->bounds[0]))
      llvm::outs() << " (not determined)";
    else
      llvm::outs() << " +- " << llvm::format("%.2g", array->bounds[0]);
  }
  llvm::outs() << "\n";
}

/// Of levels 1 and 2: the step of all ranks, or of one of them.
static FailureOr<func::FuncOp> anyStep(ModuleOp module) {
  for (auto function : module.getOps<func::FuncOp>())
    if (function->hasAttr("cs.step"))
      return function;
  return failure();
}

static FailureOr<StepResult> runRankStep(ModuleOp module, const NamedArrays &slots,
                                         const NamedArrays &batch) {
  FailureOr<std::vector<StepResult>> results = runRankSteps(module, slots, batch);
  if (failed(results))
    return failure();
  return std::move(results->front());
}

int Interpret::run(llvm::StringRef input, DialectRegistry &registry) {
  MlirOptMainConfig config = MlirOptMainConfig::createFromCLOptions();
  MLIRContext context(registry);
  context.allowUnregisteredDialects(config.shouldAllowUnregisteredDialects());
  llvm::SourceMgr sources;
  std::string error;
  std::unique_ptr<llvm::MemoryBuffer> buffer = openInputFile(input, &error);
  if (!buffer)
    return fail(error);
  sources.AddNewSourceBuffer(std::move(buffer), llvm::SMLoc());
  SourceMgrDiagnosticHandler handler(sources, &context);
  tellWithoutPlaces(context);
  OwningOpRef<ModuleOp> module;
  if (checkNesting(sources, &context))
    module = parseSourceFile<ModuleOp>(sources, &context);
  if (!module)
    return EXIT_FAILURE;
  PassManager passes(&context);
  if (failed(config.setupPassPipeline(passes)) || failed(passes.run(*module)))
    return EXIT_FAILURE;
  bool ofRanks = isOfRanks(*module);
  FailureOr<func::FuncOp> step = ofRanks ? anyStep(*module) : findStep(*module);
  if (failed(step))
    return EXIT_FAILURE;

  NamedArrays values, samples, output;
  for (auto [path, arrays] : {std::pair{&options->values, &values},
                              std::pair{&options->batches, &samples}}) {
    if (path->empty())
      continue;
    llvm::Expected<NamedArrays> read = readSafetensors(*path, &context);
    if (!read)
      return fail(llvm::toString(read.takeError()));
    *arrays = std::move(*read);
  }
  Interpreter interpreter;
  interpreter.setReduction(options->reduction);
  int64_t workers = static_cast<int64_t>(options->workers);
  if (ofRanks) {
    FailureOr<int64_t> devices = countWorkers(*module);
    if (failed(devices))
      return EXIT_FAILURE;
    if (options->workers.getNumOccurrences() > 0 && workers != *devices)
      return fail("--interpret-workers must be " + std::to_string(*devices) +
                  ", the devices of the cluster, got: " + std::to_string(workers));
    if (options->reduction.getNumOccurrences() > 0)
      return fail("--interpret-reduction is for level 0: this module says what gradients "
                  "become");
    workers = *devices;
  }
  NamedArrays slots = values;
  for (uint64_t s = 0; s < options->steps; ++s) {
    if (options->each)
      slots = valuesOf(values, s);
    llvm::Expected<NamedArrays> batch = batchesOf(*module, *step, samples, s, workers);
    if (!batch)
      return fail(llvm::toString(batch.takeError()));
    FailureOr<StepResult> result =
        ofRanks ? runRankStep(*module, slots, *batch)
                : runStep(interpreter, *step, slots, *batch, workers);
    if (failed(result))
      return EXIT_FAILURE;
    printMetrics(s + 1, result->metrics);
    std::string prefix = std::to_string(s + 1) + ":";
    if (!options->output.empty()) {
      add(output, prefix, result->slots);
      add(output, prefix + "metric:", result->metrics);
    }
    slots = std::move(result->slots);
  }
  if (!options->output.empty())
    if (llvm::Error why = writeSafetensors(options->output, output))
      return fail(llvm::toString(std::move(why)));
  return EXIT_SUCCESS;
}
