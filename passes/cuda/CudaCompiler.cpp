// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/cuda/CudaCompiler.h"
#include "passes/cuda/MergeLaunches.h"
#include "passes/cuda/Rows.h"
#include "passes/cuda/Stages.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace commsched::cudaexport {

static planexport::CodeOptions codeOptions(const CudaOptions &options) {
  planexport::CodeOptions result;
  result.printStage = options.printStage;
  return result;
}

CudaCompiler::CudaCompiler(MLIRContext *context, CudaOptions options)
    : options(options), compiler(context, codeOptions(options)) {}

static void printAfter(ModuleOp module, StringRef stage, const CudaOptions &options) {
  if (options.printStage == stage)
    module->print(llvm::errs(), OpPrintingFlags().useLocalScope());
}

LogicalResult CudaCompiler::lower(CompiledCuda &result) {
  planexport::CompiledFragments outlined;
  if (failed(compiler.outline(planexport::BodyForm::Launches, outlined, groupRows)))
    return failure();
  ModuleOp module = getModule();
  foldFills(module, outlined.symbols);
  llvm::StringMap<NestKernels> nests;
  SmallVector<func::FuncOp> functions(module.getOps<func::FuncOp>());
  for (func::FuncOp function : functions) {
    if (!function->hasAttr(planexport::kNestAttr))
      continue;
    std::string name = function.getName().str();
    FailureOr<NestKernels> kernels = lowerToKernels(function);
    if (failed(kernels))
      return failure();
    for (const NestKernels::Kernel &kernel : kernels->kernels)
      entries.emplace_back(kernel.symbol, kernel.block);
    if (!kernels->kernels.empty())
      result.shapes[name] = kernels->shape;
    nests[name] = std::move(*kernels);
  }
  LaunchMerger merger(module, nests);
  llvm::StringSet<> launched;
  for (auto [i, symbol] : llvm::enumerate(outlined.symbols)) {
    auto function = module.lookupSymbol<func::FuncOp>(symbol);
    plan::CudaFragment &fragment = result.module.fragments.emplace_back();
    fragment.symbol = symbol;
    fragment.inputs = outlined.inputs[i];
    fragment.outputs = function.getNumArguments() - 2 - fragment.inputs;
    fragment.scratch_bytes = outlined.scratchBytes[i];
    if (failed(listLaunches(function, nests, fragment)))
      return failure();
    merger.run(fragment);
    for (const auto &step : fragment.steps)
      if (const auto *launch = std::get_if<plan::CudaLaunch>(&step))
        launched.insert(launch->kernel);
  }
  for (const LaunchMerger::Made &kernel : merger.kernels()) {
    entries.emplace_back(kernel.symbol, kernel.block);
    result.shapes[kernel.symbol] = kernel.shape;
  }
  // Those that have been merged wherever they are launched.
  llvm::erase_if(entries, [&](const auto &entry) {
    if (launched.contains(entry.first))
      return false;
    module.lookupSymbol<func::FuncOp>(entry.first).erase();
    result.shapes.erase(entry.first);
    return true;
  });
  for (const std::string &symbol : outlined.symbols)
    module.lookupSymbol<func::FuncOp>(symbol).erase();
  for (func::FuncOp function : llvm::make_early_inc_range(module.getOps<func::FuncOp>()))
    if (function->hasAttr(planexport::kKernelIndexAttr))
      function.erase();
  printAfter(module, "loops", options);
  if (failed(planexport::lowerModuleToLLVM(module)))
    return failure();
  printAfter(module, "llvm", options);
  result.kernels = std::move(outlined.kernels);
  result.nests = outlined.nests;
  result.checkSeconds = outlined.checkSeconds;
  return success();
}

LogicalResult CudaCompiler::compile(CompiledCuda &result) {
  if (failed(lower(result)))
    return failure();
  return emitPtx(getModule(), entries, options, result.module);
}

} // namespace commsched::cudaexport
