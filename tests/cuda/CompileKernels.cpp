// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tests/cuda/CompileKernels.h"

#include "ir/Cs.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
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
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"

using namespace mlir;

namespace commsched::cudatest {

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
    llvm::Value *argument = argumentOf(at);
    if (!argument)
      return false;
    builder.SetInsertPoint(&before);
    builder.CreateCall(callee, {argument, at, builder.CreateZExtOrTrunc(bytes, builder.getInt64Ty())});
    return true;
  }

  /// The number of the argument whose memory `at` is in, as code where a branch decides it; null: not known.
  llvm::Value *argumentOf(llvm::Value *at) {
    llvm::Value *base = llvm::getUnderlyingObject(at, 0);
    if (auto *argument = llvm::dyn_cast<llvm::Argument>(base))
      return builder.getInt32(argument->getArgNo());
    if (llvm::Value *known = arguments.lookup(base))
      return known;
    if (auto *select = llvm::dyn_cast<llvm::SelectInst>(base)) {
      llvm::Value *one = argumentOf(select->getTrueValue()), *other = argumentOf(select->getFalseValue());
      if (!one || !other)
        return nullptr;
      builder.SetInsertPoint(select);
      return arguments[base] = builder.CreateSelect(select->getCondition(), one, other);
    }
    auto *branches = llvm::dyn_cast<llvm::PHINode>(base);
    if (!branches)
      return nullptr;
    builder.SetInsertPoint(branches);
    llvm::PHINode *number = builder.CreatePHI(builder.getInt32Ty(), branches->getNumIncomingValues());
    arguments[base] = number; // its own way back in a loop
    for (auto [value, block] : llvm::zip_equal(branches->incoming_values(), branches->blocks())) {
      llvm::Value *of = argumentOf(value);
      if (!of)
        return nullptr;
      number->addIncoming(of, block);
    }
    return number;
  }

  llvm::DenseMap<llvm::Value *, llvm::Value *> arguments;
  llvm::Module &module;
  llvm::IRBuilder<> builder;
  llvm::FunctionCallee read, write;
};
} // namespace

static bool waitsForOthers(const llvm::Function &kernel) {
  for (const llvm::Instruction &instruction : llvm::instructions(kernel))
    if (auto *call = llvm::dyn_cast<llvm::CallBase>(&instruction))
      if (const llvm::Function *callee = call->getCalledFunction())
        if (callee->getName() == cudaexport::kBarrier || callee->getName() == cudaexport::kAny || callee->getName().starts_with(cudaexport::kFirst) ||
            callee->getName().starts_with(cudaexport::kShuffleDown))
          return true;
  return false;
}

// The code of the host that it is compiled for.
static llvm::orc::JITTargetMachineBuilder hostMachine() {
  LLVMInitializeX86TargetInfo();
  LLVMInitializeX86Target();
  LLVMInitializeX86TargetMC();
  LLVMInitializeX86AsmPrinter();
  llvm::orc::JITTargetMachineBuilder machine(llvm::Triple("x86_64-unknown-linux-gnu"));
  machine.setCPU("x86-64-v3");
  machine.getOptions().AllowFPOpFusion = llvm::FPOpFusion::Strict;
  return machine;
}

static std::unique_ptr<llvm::Module> translate(ModuleOp kernels, llvm::LLVMContext &context,
                                               const llvm::DataLayout &layout, std::string &error) {
  registerBuiltinDialectTranslation(*kernels.getContext());
  registerLLVMDialectTranslation(*kernels.getContext());
  std::unique_ptr<llvm::Module> code = translateModuleToLLVMIR(kernels, context, "kernels");
  if (!code) {
    error = "kernels cannot be translated to LLVM IR";
    return nullptr;
  }
  code->setDataLayout(layout);
  code->setTargetTriple(llvm::Triple("x86_64-unknown-linux-gnu"));
  return code;
}

// All but their addresses.
static std::map<std::string, HostKernel> describe(llvm::Module &code) {
  std::map<std::string, HostKernel> kernels;
  for (llvm::Function *kernel : kernelsOf(code))
    kernels[kernel->getName().str()] = {kernel->arg_size(), waitsForOthers(*kernel), nullptr};
  return kernels;
}

std::unique_ptr<cudaexport::CudaCompiler> lowerPlanKernels(Context &context, const std::string &text,
                                                           const plan::CudaModule &expected, std::string &error) {
  OwningOpRef<ModuleOp> module = context.parse(text);
  if (!module) {
    error = "cannot read the module: " + context.error;
    return nullptr;
  }
  auto compiler = std::make_unique<cudaexport::CudaCompiler>(&context.context, cudaexport::CudaOptions{});
  for (auto function : module->getOps<func::FuncOp>()) {
    if (function->hasAttr(cs::CsDialect::kServerAttr)) // code for the host
      continue;
    function.walk([&](cs::FragmentOp op) {
      if (op.hasBody())
        compiler->add(op.getBody().front(), op.getLoc());
    });
  }
  cudaexport::CompiledCuda compiled;
  if (failed(compiler->lower(compiled))) {
    error = "cannot compile the module";
    return nullptr;
  }
  if (compiled.module.fragments != expected.fragments) {
    error = "the plan is not that of the module";
    return nullptr;
  }
  return compiler;
}

std::unique_ptr<HostKernels> compileKernels(ModuleOp kernels, bool traced, std::string &error) {
  auto made = llvm::orc::LLJITBuilder().setJITTargetMachineBuilder(hostMachine()).create();
  if (!made) {
    error = toString(made.takeError());
    return nullptr;
  }
  std::shared_ptr<llvm::orc::LLJIT> jit = std::move(*made);
  auto llvmContext = std::make_unique<llvm::LLVMContext>();
  std::unique_ptr<llvm::Module> code = translate(kernels, *llvmContext, jit->getDataLayout(), error);
  if (!code)
    return nullptr;
  if (traced) {
    optimize(*code);
    if (std::string unknown = Tracer(*code).trace(); !unknown.empty()) {
      error = "cannot be traced: " + unknown;
      return nullptr;
    }
  }
  std::map<std::string, HostKernel> known = describe(*code);
  wrapKernels(*code);
  llvm::orc::SymbolMap symbols;
  for (const auto &[name, address] : kernelImports())
    symbols[jit->mangleAndIntern(name)] = {llvm::orc::ExecutorAddr::fromPtr(address),
                                           llvm::JITSymbolFlags::Exported};
  auto &dylib = jit->getMainJITDylib();
  llvm::cantFail(dylib.define(llvm::orc::absoluteSymbols(std::move(symbols))));
  dylib.addGenerator(llvm::cantFail(
      llvm::orc::DynamicLibrarySearchGenerator::GetForCurrentProcess(jit->getDataLayout().getGlobalPrefix())));
  if (auto failure = jit->addIRModule(llvm::orc::ThreadSafeModule(std::move(code), std::move(llvmContext)))) {
    error = toString(std::move(failure));
    return nullptr;
  }
  for (auto &[name, kernel] : known) {
    auto symbol = jit->lookup(name + "_call");
    if (!symbol) {
      error = toString(symbol.takeError());
      return nullptr;
    }
    kernel.entry = symbol->toPtr<void (*)(void **)>();
  }
  return std::make_unique<HostKernels>(std::move(known), std::move(jit));
}

namespace {
/// What KernelFile.h looks for in a library, as tables of constants.
class Tables {
public:
  explicit Tables(llvm::Module &module) : module(module), builder(module.getContext()) {}

  // What is called here becomes a call through a place that whoever loads the library fills.
  void addImports() {
    llvm::SmallVector<llvm::Constant *> fields;
    for (const auto &[name, address] : kernelImports()) {
      llvm::Function *function = module.getFunction(name);
      if (!function)
        continue;
      auto *place = new llvm::GlobalVariable(module, builder.getPtrTy(), false, llvm::GlobalValue::InternalLinkage,
                                             llvm::ConstantPointerNull::get(builder.getPtrTy()), name + "_place");
      function->setLinkage(llvm::GlobalValue::InternalLinkage);
      builder.SetInsertPoint(llvm::BasicBlock::Create(module.getContext(), "", function));
      llvm::SmallVector<llvm::Value *> arguments;
      for (llvm::Argument &argument : function->args())
        arguments.push_back(&argument);
      llvm::Value *result = builder.CreateCall(function->getFunctionType(),
                                               builder.CreateLoad(builder.getPtrTy(), place), arguments);
      if (result->getType()->isVoidTy())
        builder.CreateRetVoid();
      else
        builder.CreateRet(result);
      fields.append({text(name), place});
    }
    add("cs_kernel_imports", fields);
  }
  void addKernels(const std::map<std::string, HostKernel> &kernels) {
    llvm::SmallVector<llvm::Constant *> fields;
    for (const auto &[name, kernel] : kernels)
      fields.append({text(name), number(kernel.parameters), number(kernel.waits), module.getFunction(name + "_call")});
    add("cs_kernels", fields);
  }

private:
  llvm::Constant *text(const std::string &value) {
    return builder.CreateGlobalString(value, "", 0, &module);
  }
  llvm::Constant *number(uint64_t value) {
    return llvm::ConstantExpr::getIntToPtr(builder.getInt64(value), builder.getPtrTy());
  }
  // All words, and a null behind the last.
  void add(const char *name, llvm::SmallVector<llvm::Constant *> fields) {
    fields.push_back(llvm::ConstantPointerNull::get(builder.getPtrTy()));
    auto *type = llvm::ArrayType::get(builder.getPtrTy(), fields.size());
    new llvm::GlobalVariable(module, type, false, llvm::GlobalValue::ExternalLinkage,
                             llvm::ConstantArray::get(type, fields), name);
  }

  llvm::Module &module;
  llvm::IRBuilder<> builder;
};
} // namespace

std::string writeKernels(ModuleOp kernels, const std::string &path) {
  llvm::orc::JITTargetMachineBuilder builder = hostMachine();
  builder.setRelocationModel(llvm::Reloc::PIC_);
  auto machine = builder.createTargetMachine();
  if (!machine)
    return toString(machine.takeError());
  llvm::LLVMContext context;
  std::string error;
  std::unique_ptr<llvm::Module> code = translate(kernels, context, (*machine)->createDataLayout(), error);
  if (!code)
    return error;
  optimize(*code);
  std::map<std::string, HostKernel> known = describe(*code);
  wrapKernels(*code);
  Tables tables(*code);
  tables.addImports();
  tables.addKernels(known);
  std::string object = path + ".o";
  std::error_code failure;
  {
    llvm::raw_fd_ostream file(object, failure);
    llvm::legacy::PassManager passes;
    if (failure)
      return object + ": " + failure.message();
    if ((*machine)->addPassesToEmitFile(passes, file, nullptr, llvm::CodeGenFileType::ObjectFile))
      return "no object file can be written";
    passes.run(*code);
  }
  llvm::StringRef linker = COMMSCHED_TEST_LINKER;
  if (llvm::sys::ExecuteAndWait(linker, {linker, "-shared", "-o", path, object, "-lm"}, std::nullopt, {}, 0, 0, &error))
    return "cannot link " + path + ": " + error;
  llvm::sys::fs::remove(object);
  return "";
}

} // namespace commsched::cudatest
