// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/plan/FragmentCompiler.h"
#include "passes/plan/CheckTimer.h"
#include "passes/plan/Stages.h"

#include "ir/Cs.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

#include <limits>

using namespace mlir;

namespace commsched::planexport {

FragmentCompiler::FragmentCompiler(MLIRContext *context, CodeOptions options)
    : context(context), options(std::move(options)),
      module(ModuleOp::create(UnknownLoc::get(context))) {
  context->loadDialect<func::FuncDialect, bufferization::BufferizationDialect,
                       linalg::LinalgDialect, memref::MemRefDialect,
                       tensor::TensorDialect, scf::SCFDialect,
                       LLVM::LLVMDialect, math::MathDialect, cs::CsDialect>();
  addKernelBufferization(context);
}

std::string wholeText(Operation *op) {
  OpPrintingFlags flags;
  flags.useLocalScope().printGenericOpForm().enableDebugInfo(false);
  // A tool may have been told to leave these out, or to add to them, where it prints a module.
  flags.skipRegions(false).elideLargeElementsAttrs(std::numeric_limits<int64_t>::max());
  flags.printValueUsers(false).printUniqueSSAIDs(false).printNameLocAsPrefix(false);
  std::string text;
  llvm::raw_string_ostream os(text);
  op->print(os, flags);
  return text;
}

unsigned FragmentCompiler::add(Block &body, Location loc) {
  OpBuilder builder(context);
  SmallVector<Type> types{LLVM::LLVMPointerType::get(context)};
  // Tensors without elements have no strides that could be passed, and nothing
  // to read or write.
  auto isEmpty = [](Type type) { return cast<RankedTensorType>(type).getNumElements() == 0; };
  auto memrefOf = [&](Type type) -> Type {
    auto tensor = cast<RankedTensorType>(type);
    if (isEmpty(type))
      return MemRefType::get({0}, tensor.getElementType());
    return MemRefType::get(tensor.getShape(), tensor.getElementType());
  };
  for (Type type : body.getArgumentTypes())
    types.push_back(memrefOf(type));
  unsigned inputs = body.getNumArguments();
  Operation *terminator = body.getTerminator();
  for (Type type : terminator->getOperandTypes())
    types.push_back(memrefOf(type));

  auto function = func::FuncOp::create(
      loc, "frag", FunctionType::get(context, types, {}));
  Block *entry = function.addEntryBlock();
  builder.setInsertionPointToStart(entry);
  IRMapping mapping;
  for (auto [i, arg] : llvm::enumerate(body.getArguments())) {
    Value value;
    if (isEmpty(arg.getType()))
      value = tensor::EmptyOp::create(builder, loc, arg.getType(), ValueRange());
    else
      value = bufferization::ToTensorOp::create(builder, loc, arg.getType(),
                                                entry->getArgument(1 + i),
                                                /*restrict=*/true, /*writable=*/false);
    mapping.map(arg, value);
  }
  for (Operation &op : body.without_terminator())
    builder.clone(op, mapping);
  // All round so, and what is lowered knows no other way of saying it.
  function.walk([](arith::TruncFOp op) { op.removeRoundingmodeAttr(); });
  for (auto [i, value] : llvm::enumerate(terminator->getOperands())) {
    if (isEmpty(value.getType()))
      continue;
    auto store = bufferization::MaterializeInDestinationOp::create(
        builder, terminator->getLoc(), mapping.lookup(value),
        entry->getArgument(1 + inputs + i));
    store.setRestrict(true);
    store.setWritable(true);
  }
  func::ReturnOp::create(builder, loc);
  // Lists of tensors of any shape have the same code.
  lowerLists(function);

  auto [it, fresh] = known.try_emplace(wholeText(function), count);
  if (!fresh) {
    function.erase();
    return it->second;
  }
  function.setName("frag_" + std::to_string(count));
  this->inputs.push_back(inputs);
  module->push_back(function);
  return count++;
}

static void printAfter(ModuleOp module, StringRef stage,
                       const CodeOptions &options) {
  if (options.printStage == stage)
    module->print(llvm::errs(), OpPrintingFlags().useLocalScope());
}

LogicalResult FragmentCompiler::outline(BodyForm form, CompiledFragments &result,
                                        llvm::function_ref<void(func::FuncOp)> group) {
  SmallVector<func::FuncOp> fragments(module->getOps<func::FuncOp>());
  for (func::FuncOp fragment : fragments) {
    lowerSparseOps(fragment);
    if (failed(fuseFragment(fragment)))
      return failure();
  }
  printAfter(*module, "fuse", options);
  for (func::FuncOp fragment : fragments)
    if (failed(bufferizeFragment(fragment, result.checkSeconds)))
      return failure();
  printAfter(*module, "bufferize", options);

  KernelTable kernels;
  NestTable nests;
  for (func::FuncOp fragment : fragments) {
    extractKernels(fragment, kernels, form);
    if (failed(extractKernelCalls(fragment, kernels)))
      return failure();
    if (form == BodyForm::Launches)
      copyConstantOperands(fragment);
    if (group)
      group(fragment);
    FailureOr<uint64_t> scratch = assignScratch(fragment);
    if (failed(scratch))
      return failure();
    {
      CheckTimer timer(result.checkSeconds);
      if (failed(checkScratch(fragment, *scratch)))
        return failure();
    }
    if (failed(outlineNests(fragment, nests, form)))
      return failure();
    result.scratchBytes.push_back(*scratch);
    result.symbols.push_back(fragment.getName().str());
  }
  printAfter(*module, "nests", options);
  result.inputs = inputs;
  result.kernels = std::move(kernels.kernels);
  result.nests = nests.count;
  return success();
}

LogicalResult FragmentCompiler::compile(CompiledFragments &result) {
  if (failed(outline(BodyForm::Calls, result)))
    return failure();
  {
    const SymbolTable symbols(*module);
    for (const std::string &symbol : result.symbols)
      lowerKernelCalls(symbols.lookup<func::FuncOp>(symbol));
  }
  for (func::FuncOp function :
       llvm::make_early_inc_range(module->getOps<func::FuncOp>())) {
    if (function->hasAttr(kKernelIndexAttr))
      function.erase();
    else if (function->hasAttr(kNestAttr) && failed(lowerNest(function)))
      return failure();
  }
  printAfter(*module, "loops", options);
  if (failed(lowerModuleToLLVM(*module)))
    return failure();
  printAfter(*module, "llvm", options);
  return emitSharedObject(*module, result.symbols, options, result);
}

} // namespace commsched::planexport
