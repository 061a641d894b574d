// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tests/cuda/HostKernels.h"

#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "passes/cuda/Stages.h"

#include "llvm/Analysis/ValueTracking.h"
#include "llvm/ExecutionEngine/Orc/ExecutionUtils.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"

#include <algorithm>

using namespace mlir;

namespace commsched::cudatest {

static Touched *current = nullptr;

static void touch(std::vector<Touched::Range> &ranges, int32_t argument, const char *at, int64_t bytes) {
  Touched::Range &range = ranges[size_t(argument)];
  if (range.first == range.second)
    range = {at, at + bytes};
  range = {std::min(range.first, at), std::max(range.second, at + bytes)};
}

extern "C" {
static void csTouchRead(int32_t argument, const char *at, int64_t bytes) {
  touch(current->reads, argument, at, bytes);
}
static void csTouchWrite(int32_t argument, const char *at, int64_t bytes) {
  touch(current->writes, argument, at, bytes);
}
}

static llvm::SmallVector<llvm::Function *> kernelsOf(llvm::Module &module) {
  llvm::SmallVector<llvm::Function *> kernels;
  for (llvm::Function &function : module)
    if (!function.isDeclaration())
      kernels.push_back(&function);
  return kernels;
}

// For each kernel `<name>_call(arguments)`.
static void wrapKernels(llvm::Module &module) {
  llvm::IRBuilder<> builder(module.getContext());
  for (llvm::Function *kernel : kernelsOf(module)) {
    auto *wrapper = llvm::Function::Create(
        llvm::FunctionType::get(builder.getVoidTy(), {builder.getPtrTy()}, false),
        llvm::GlobalValue::ExternalLinkage, kernel->getName() + "_call", module);
    builder.SetInsertPoint(llvm::BasicBlock::Create(module.getContext(), "", wrapper));
    llvm::SmallVector<llvm::Value *> arguments;
    for (unsigned i = 0; i < kernel->arg_size(); ++i)
      arguments.push_back(builder.CreateLoad(
          builder.getPtrTy(), builder.CreateConstGEP1_64(builder.getPtrTy(), wrapper->getArg(0), i)));
    builder.CreateCall(kernel, arguments);
    builder.CreateRetVoid();
  }
}

// Without vectors, so that what is loaded and stored is what the kernel says.
static void optimize(llvm::Module &module) {
  llvm::PipelineTuningOptions tuning;
  tuning.LoopVectorization = tuning.SLPVectorization = false;
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager sccs;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder passes(nullptr, tuning);
  passes.registerModuleAnalyses(modules);
  passes.registerCGSCCAnalyses(sccs);
  passes.registerFunctionAnalyses(functions);
  passes.registerLoopAnalyses(loops);
  passes.crossRegisterProxies(loops, functions, sccs, modules);
  passes.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O2).run(module, modules);
}

namespace {
/// Calls in front of what touches the memory of arguments.
class Tracer {
public:
  explicit Tracer(llvm::Module &module) : module(module), builder(module.getContext()) {
    auto *type = llvm::FunctionType::get(
        builder.getVoidTy(), {builder.getInt32Ty(), builder.getPtrTy(), builder.getInt64Ty()}, false);
    read = module.getOrInsertFunction("cs_touch_read", type);
    write = module.getOrInsertFunction("cs_touch_write", type);
  }

  /// What cannot be traced, or nothing.
  std::string trace() {
    std::string unknown;
    for (llvm::Function *kernel : kernelsOf(module))
      for (llvm::Instruction &instruction : llvm::make_early_inc_range(llvm::instructions(*kernel)))
        if (!add(instruction) && unknown.empty()) {
          llvm::raw_string_ostream os(unknown);
          os << kernel->getName() << ": " << instruction;
        }
    return unknown;
  }

private:
  bool add(llvm::Instruction &instruction) {
    const llvm::DataLayout &layout = module.getDataLayout();
    if (auto *load = llvm::dyn_cast<llvm::LoadInst>(&instruction))
      return add(instruction, read, load->getPointerOperand(),
                 builder.getInt64(layout.getTypeStoreSize(load->getType())));
    if (auto *store = llvm::dyn_cast<llvm::StoreInst>(&instruction))
      return add(instruction, write, store->getPointerOperand(),
                 builder.getInt64(layout.getTypeStoreSize(store->getValueOperand()->getType())));
    if (auto *fill = llvm::dyn_cast<llvm::MemIntrinsic>(&instruction)) {
      auto *copy = llvm::dyn_cast<llvm::MemTransferInst>(fill);
      return (!copy || add(instruction, read, copy->getSource(), copy->getLength())) &&
             add(instruction, write, fill->getDest(), fill->getLength());
    }
    auto *call = llvm::dyn_cast<llvm::CallBase>(&instruction);
    if (!call)
      return !instruction.mayReadOrWriteMemory();
    // Of pointers, lifetimes and assumptions alone are told.
    if (llvm::isa<llvm::IntrinsicInst>(call))
      return !call->mayReadFromMemory() || llvm::cast<llvm::IntrinsicInst>(call)->isAssumeLikeIntrinsic();
    return llvm::none_of(call->args(), [](llvm::Value *argument) { return argument->getType()->isPointerTy(); });
  }

  bool add(llvm::Instruction &before, llvm::FunctionCallee callee, llvm::Value *at, llvm::Value *bytes) {
    const llvm::Value *base = llvm::getUnderlyingObject(at, 0);
    if (llvm::isa<llvm::AllocaInst>(base) || llvm::isa<llvm::GlobalVariable>(base))
      return true;
    auto *argument = llvm::dyn_cast<llvm::Argument>(base);
    if (!argument)
      return false;
    builder.SetInsertPoint(&before);
    builder.CreateCall(callee, {builder.getInt32(argument->getArgNo()), at,
                                builder.CreateZExtOrTrunc(bytes, builder.getInt64Ty())});
    return true;
  }

  llvm::Module &module;
  llvm::IRBuilder<> builder;
  llvm::FunctionCallee read, write;
};
} // namespace

static bool waitsForOthers(const llvm::Function &kernel) {
  for (const llvm::Instruction &instruction : llvm::instructions(kernel))
    if (auto *call = llvm::dyn_cast<llvm::CallBase>(&instruction))
      if (const llvm::Function *callee = call->getCalledFunction())
        if (callee->getName() == cudaexport::kBarrier || callee->getName().starts_with(cudaexport::kShuffleDown))
          return true;
  return false;
}

std::unique_ptr<HostKernels> HostKernels::compile(ModuleOp kernels, bool traced, std::string &error) {
  LLVMInitializeX86TargetInfo();
  LLVMInitializeX86Target();
  LLVMInitializeX86TargetMC();
  LLVMInitializeX86AsmPrinter();
  registerBuiltinDialectTranslation(*kernels.getContext());
  registerLLVMDialectTranslation(*kernels.getContext());
  auto llvmContext = std::make_unique<llvm::LLVMContext>();
  std::unique_ptr<llvm::Module> code = translateModuleToLLVMIR(kernels, *llvmContext, "kernels");
  if (!code) {
    error = "kernels cannot be translated to LLVM IR";
    return nullptr;
  }
  llvm::orc::JITTargetMachineBuilder machine(llvm::Triple("x86_64-unknown-linux-gnu"));
  machine.setCPU("x86-64-v3");
  machine.getOptions().AllowFPOpFusion = llvm::FPOpFusion::Strict;
  auto made = llvm::orc::LLJITBuilder().setJITTargetMachineBuilder(machine).create();
  if (!made) {
    error = toString(made.takeError());
    return nullptr;
  }
  std::unique_ptr<HostKernels> result(new HostKernels);
  result->jit = std::move(*made);
  llvm::orc::LLJIT &jit = *result->jit;
  code->setDataLayout(jit.getDataLayout());
  code->setTargetTriple(llvm::Triple("x86_64-unknown-linux-gnu"));
  if (traced) {
    optimize(*code);
    if (std::string unknown = Tracer(*code).trace(); !unknown.empty()) {
      error = "cannot be traced: " + unknown;
      return nullptr;
    }
  }
  for (llvm::Function *kernel : kernelsOf(*code))
    result->known[kernel->getName().str()] = {kernel->arg_size(), waitsForOthers(*kernel)};
  wrapKernels(*code);
  llvm::orc::SymbolMap symbols;
  auto functions = deviceFunctions();
  functions["cs_touch_read"] = reinterpret_cast<void *>(csTouchRead);
  functions["cs_touch_write"] = reinterpret_cast<void *>(csTouchWrite);
  for (const auto &[name, address] : functions)
    symbols[jit.mangleAndIntern(name)] = {llvm::orc::ExecutorAddr::fromPtr(address),
                                          llvm::JITSymbolFlags::Exported};
  auto &dylib = jit.getMainJITDylib();
  llvm::cantFail(dylib.define(llvm::orc::absoluteSymbols(std::move(symbols))));
  dylib.addGenerator(llvm::cantFail(
      llvm::orc::DynamicLibrarySearchGenerator::GetForCurrentProcess(jit.getDataLayout().getGlobalPrefix())));
  if (auto failure = jit.addIRModule(llvm::orc::ThreadSafeModule(std::move(code), std::move(llvmContext)))) {
    error = toString(std::move(failure));
    return nullptr;
  }
  for (auto &[name, kernel] : result->known) {
    auto symbol = jit.lookup(name + "_call");
    if (!symbol) {
      error = toString(symbol.takeError());
      return nullptr;
    }
    kernel.entry = symbol->toPtr<void (*)(void **)>();
  }
  return result;
}

HostKernels::~HostKernels() = default;

std::string HostKernels::run(const std::string &name, const Launch &launch, void **arguments, uint64_t seed,
                             Touched *touched) {
  const Kernel &kernel = known.at(name);
  Touched unasked;
  current = touched ? touched : &unasked;
  current->reads.assign(kernel.parameters, {});
  current->writes.assign(kernel.parameters, {});
  auto thread = [&] { kernel.entry(arguments); };
  std::string fault = kernel.waits || launch.sharedBytes != 0 ? emulate(launch, thread, seed) : emulateAlone(launch, thread, seed);
  return fault.empty() ? fault : name + ": " + fault;
}

} // namespace commsched::cudatest
