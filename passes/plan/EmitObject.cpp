// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// LLVM dialect to machine code. Nothing of the host, the time, the process or
// the folder goes into the bytes.

#include "passes/plan/Stages.h"

#include "ir/OutputFile.h"
#include "plan/fragment_imports.h"

#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/Analysis/TargetTransformInfo.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Object/ObjectFile.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Target/TargetOptions.h"
#include "llvm/Transforms/Scalar/LoopIdiomRecognize.h"
#include "llvm/Transforms/Utils/Cloning.h"

using namespace mlir;

namespace commsched::planexport {

static constexpr llvm::StringLiteral kTriple = "x86_64-unknown-linux-gnu";

static std::unique_ptr<llvm::TargetMachine> createMachine(const CodeOptions &options) {
  LLVMInitializeX86TargetInfo();
  LLVMInitializeX86Target();
  LLVMInitializeX86TargetMC();
  LLVMInitializeX86AsmPrinter();
  std::string error;
  llvm::Triple triple(kTriple);
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!target)
    return nullptr;
  llvm::TargetOptions target_options;
  // a * b + c is one operation where contractMultiplyAdds said so.
  target_options.AllowFPOpFusion = llvm::FPOpFusion::Standard;
  return std::unique_ptr<llvm::TargetMachine>(target->createTargetMachine(
      triple, options.targetCpu, "", target_options, llvm::Reloc::PIC_,
      std::nullopt, llvm::CodeGenOptLevel::Aggressive));
}

// `void <name>(context, buffers)` around the fragment's function, which gets
// the addresses one by one.
static void wrapFragment(llvm::Module &module, llvm::Function *inner) {
  llvm::LLVMContext &context = module.getContext();
  std::string name = inner->getName().str();
  inner->setName(name + "_body");
  inner->setLinkage(llvm::GlobalValue::InternalLinkage);
  auto *pointer = llvm::PointerType::getUnqual(context);
  auto *wrapper = llvm::Function::Create(
      llvm::FunctionType::get(llvm::Type::getVoidTy(context), {pointer, pointer},
                              false),
      llvm::GlobalValue::ExternalLinkage, name, module);
  llvm::IRBuilder<> builder(llvm::BasicBlock::Create(context, "", wrapper));
  llvm::Value *fragmentContext = wrapper->getArg(0);
  // CsFragmentContext: call_kernel, scratch, user.
  llvm::Value *scratch = builder.CreateLoad(
      pointer, builder.CreateConstInBoundsGEP1_64(pointer, fragmentContext, 1));
  SmallVector<llvm::Value *> arguments{fragmentContext, scratch};
  for (unsigned i = 2; i < inner->arg_size(); ++i)
    arguments.push_back(builder.CreateLoad(
        pointer, builder.CreateConstInBoundsGEP1_64(pointer, wrapper->getArg(1), i - 2)));
  builder.CreateCall(inner, arguments);
  builder.CreateRetVoid();
}

static void optimize(llvm::Module &module, llvm::TargetMachine &machine,
                     bool slpVectorization) {
  // Looking for checksums in loops takes time exponential in the operations between a
  // loop's value and the next. LLVM has one switch for all of the process.
  static const bool noChecksums = llvm::DisableLIRP::HashRecognize = true;
  (void)noChecksums;
  llvm::PipelineTuningOptions tuning;
  tuning.LoopVectorization = true;
  tuning.SLPVectorization = slpVectorization;
  tuning.LoopUnrolling = true;
  tuning.LoopInterleaving = true;
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager sccs;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder passes(&machine, tuning);
  passes.registerModuleAnalyses(modules);
  passes.registerCGSCCAnalyses(sccs);
  passes.registerFunctionAnalyses(functions);
  passes.registerLoopAnalyses(loops);
  passes.crossRegisterProxies(loops, functions, sccs, modules);
  passes.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O3)
      .run(module, modules);
}

// The SLP vectorizer of LLVM 22.1 at times puts a load behind what takes an element of
// it; the code generator crashes then. Such a module is optimized again, without it.
static LogicalResult optimizeSoundly(std::unique_ptr<llvm::Module> &module,
                                     llvm::TargetMachine &machine, Location loc) {
  std::unique_ptr<llvm::Module> before = llvm::CloneModule(*module);
  optimize(*module, machine, /*slpVectorization=*/true);
  if (!llvm::verifyModule(*module))
    return success();
  module = std::move(before);
  optimize(*module, machine, /*slpVectorization=*/false);
  std::string why;
  llvm::raw_string_ostream os(why);
  if (!llvm::verifyModule(*module, &os))
    return success();
  return emitError(loc, "internal error: LLVM's optimizer made code that is none: ")
         << StringRef(why).split('\n').first;
}

// Refuses imports that fragment_imports.h does not allow, and sums up the code.
static LogicalResult inspect(StringRef object, Location loc, uint64_t &codeBytes) {
  auto file = llvm::object::ObjectFile::createObjectFile(
      llvm::MemoryBufferRef(object, "fragments"));
  if (!file) {
    llvm::consumeError(file.takeError());
    return emitError(loc, "code generator wrote no object file");
  }
  for (const llvm::object::SectionRef &section : (*file)->sections())
    if (section.isText())
      codeBytes += section.getSize();
  for (const llvm::object::SymbolRef &symbol : (*file)->symbols()) {
    auto flags = symbol.getFlags();
    auto name = symbol.getName();
    if (!flags || !name) {
      llvm::consumeError(flags.takeError());
      llvm::consumeError(name.takeError());
      continue;
    }
    if ((*flags & llvm::object::SymbolRef::SF_Undefined) && !name->empty() &&
        !plan::FragmentMayImport({name->data(), name->size()}))
      return emitError(loc, "a fragment would need '")
             << *name << "', which the runtime does not provide";
  }
  return success();
}

// For conversions of bf16, LLVM calls functions that no process has: what became
// arithmetic on integers must not have become bf16 again.
static LogicalResult checkHalves(const llvm::Module &module, Location loc) {
  auto narrow = [](const llvm::Value *value) {
    return value->getType()->getScalarType()->isBFloatTy();
  };
  for (const llvm::Function &function : module)
    for (const llvm::BasicBlock &block : function)
      for (const llvm::Instruction &instruction : block)
        if (narrow(&instruction) || llvm::any_of(instruction.operand_values(), narrow))
          return emitError(loc, "a value of bf16 is left in the code of fragments");
  return success();
}

static std::string findLinker(const CodeOptions &options) {
  if (!options.linker.empty())
    return options.linker;
  if (auto path = llvm::sys::Process::GetEnv("COMMSCHED_LLD"))
    return *path;
  // A bundle has its own, beside the tools.
  static const char here = 0;
  SmallString<128> beside(
      llvm::sys::path::parent_path(llvm::sys::fs::getMainExecutable(nullptr, const_cast<char *>(&here))));
  llvm::sys::path::append(beside, "ld.lld");
  if (llvm::sys::fs::can_execute(beside))
    return beside.str().str();
#ifdef COMMSCHED_LLD_PATH
  if (llvm::sys::fs::can_execute(COMMSCHED_LLD_PATH))
    return COMMSCHED_LLD_PATH;
#endif
  if (auto path = llvm::sys::findProgramByName("ld.lld"))
    return *path;
  return "";
}

/// Without `handle`, it is closed.
static std::error_code createTemporary(StringRef ending, std::string &path, int *handle = nullptr) {
  SmallString<128> stem;
  llvm::sys::path::system_temp_directory(/*ErasedOnReboot=*/true, stem);
  llvm::sys::path::append(stem, "commsched-");
  int own = -1;
  const std::error_code failed = createUniqueFile(stem.str().str(), ending, 0600, /*onSignal=*/false, own, path);
  if (handle)
    *handle = own;
  else if (!failed)
    (void)llvm::sys::Process::SafelyCloseFileDescriptor(own);
  return failed;
}

static LogicalResult link(StringRef object, const CodeOptions &options,
                          Location loc, std::string &elf) {
  std::string linker = findLinker(options);
  if (linker.empty())
    return emitError(loc, "no linker: ld.lld is not in the path and "
                          "COMMSCHED_LLD is not set");
  std::string input, output, messages;
  llvm::scope_exit remove([&] {
    for (const std::string &file : {input, output, messages})
      if (!file.empty())
        llvm::sys::fs::remove(file);
  });
  int handle = -1;
  std::error_code failed = createTemporary(".o", input, &handle);
  if (!failed)
    failed = createTemporary(".so", output);
  if (!failed)
    failed = createTemporary(".txt", messages);
  if (handle >= 0) {
    llvm::raw_fd_ostream os(handle, /*shouldClose=*/true);
    os << object;
    os.close();
    if (!failed)
      failed = os.error();
    os.clear_error(); // which would end the process with the stream
  }
  if (failed) {
    SmallString<128> folder;
    llvm::sys::path::system_temp_directory(/*ErasedOnReboot=*/true, folder);
    return emitError(loc, "cannot write a temporary file in ") << folder << ": " << failed.message();
  }
  // Of a name with one, LLD writes another file first, of which '%' is a pattern.
  const bool isPattern = StringRef(output).contains('%');
  SmallVector<StringRef> arguments{
      linker, "-shared", "--build-id=none", "-z", "noexecstack", "-z",
      "relro", "-z", "now", "--hash-style=gnu",
      "--strip-all", "--no-undefined-version", "--threads=1", "-o",
      isPattern ? StringRef("-") : StringRef(output), input};
  std::string error;
  int code = llvm::sys::ExecuteAndWait(
      linker, arguments, /*Env=*/std::nullopt,
      {std::nullopt, StringRef(isPattern ? output : messages), StringRef(messages)},
      /*SecondsToWait=*/300, /*MemoryLimit=*/0, &error);
  if (code != 0) {
    // `error` is of what could not be started; else the linker has written why, unless it
    // had no room for that.
    std::string why = error;
    if (why.empty()) {
      auto text = llvm::MemoryBuffer::getFile(messages);
      why = text ? (*text)->getBuffer().split('\n').first.str() : text.getError().message();
    }
    if (why.empty()) {
      std::error_code full;
      llvm::raw_fd_ostream os(messages, full, llvm::sys::fs::OF_Append);
      if (!full) {
        os << '\n';
        os.close();
        full = os.error();
        os.clear_error(); // which would end the process with the stream
      }
      why = full ? full.message() : "exit status " + std::to_string(code);
    }
    // Not all of these name a file.
    const StringRef folder = llvm::sys::path::parent_path(messages);
    if (!StringRef(why).contains(folder))
      why += (", files are in " + folder).str();
    return emitError(loc, "linking fragments failed: ") << linker << ": " << why;
  }
  auto bytes = llvm::MemoryBuffer::getFile(output, /*IsText=*/false,
                                           /*RequiresNullTerminator=*/false);
  if (!bytes)
    return emitError(loc, "linking fragments failed: ") << output << ": " << bytes.getError().message();
  elf = (*bytes)->getBuffer().str();
  return success();
}

LogicalResult emitSharedObject(ModuleOp module, ArrayRef<std::string> functions,
                               const CodeOptions &options, CompiledFragments &result) {
  Location loc = module.getLoc();
  std::unique_ptr<llvm::TargetMachine> machine = createMachine(options);
  if (!machine)
    return emitError(loc, "this build of LLVM has no target for ") << kTriple;
  registerBuiltinDialectTranslation(*module.getContext());
  registerLLVMDialectTranslation(*module.getContext());
  llvm::LLVMContext llvmContext;
  std::unique_ptr<llvm::Module> llvmModule;
  bool isTold = false; // why not
  {
    ScopedDiagnosticHandler handler(module.getContext(), [&](Diagnostic &diagnostic) {
      isTold |= diagnostic.getSeverity() == DiagnosticSeverity::Error;
      return failure(); // the next one prints it
    });
    llvmModule = translateModuleToLLVMIR(module, llvmContext, "fragments");
  }
  if (!llvmModule)
    return isTold ? failure() : LogicalResult(emitError(loc, "fragments cannot be translated to LLVM IR"));
  llvmModule->setSourceFileName("fragments");
  llvmModule->setTargetTriple(llvm::Triple(kTriple));
  llvmModule->setDataLayout(machine->createDataLayout());
  for (const std::string &name : functions)
    wrapFragment(*llvmModule, llvmModule->getFunction(name));
  for (llvm::Function &function : *llvmModule) {
    if (function.isDeclaration())
      continue;
    function.addFnAttr("target-cpu", options.targetCpu);
    function.addFnAttr("prefer-vector-width", "256");
    function.addFnAttr(llvm::Attribute::NoUnwind);
    // A nest inlined would lose that its pointers do not alias, or pay for it
    // in metadata; the call costs nothing next to it.
    if (function.getName().starts_with("nest_")) {
      function.setLinkage(llvm::GlobalValue::InternalLinkage);
      function.addFnAttr(llvm::Attribute::NoInline);
    }
  }
  if (options.printStage == "llvm-ir")
    llvmModule->print(llvm::errs(), nullptr);
  if (failed(optimizeSoundly(llvmModule, *machine, loc)))
    return failure();
  if (options.printStage == "llvm-opt")
    llvmModule->print(llvm::errs(), nullptr);
  if (failed(checkHalves(*llvmModule, loc)))
    return failure();
  SmallVector<char, 0> object;
  {
    llvm::raw_svector_ostream os(object);
    llvm::legacy::PassManager passes;
    if (machine->addPassesToEmitFile(passes, os, nullptr,
                                     llvm::CodeGenFileType::ObjectFile))
      return emitError(loc, "code generator cannot write object files");
    passes.run(*llvmModule);
  }
  StringRef bytes(object.data(), object.size());
  if (failed(inspect(bytes, loc, result.codeBytes)))
    return failure();
  return link(bytes, options, loc, result.elf);
}

} // namespace commsched::planexport
