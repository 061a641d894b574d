// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// LLVM dialect to PTX. Nothing of the host, the time, the process or the folder goes into the
// text.

#include "passes/cuda/Libdevice.h"
#include "passes/cuda/Stages.h"

#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/IntrinsicsNVPTX.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Target/TargetOptions.h"

using namespace mlir;

namespace commsched::cudaexport {

static constexpr llvm::StringLiteral kTriple = "nvptx64-nvidia-cuda", kProcessor = "sm_90",
                                     kFeatures = "+ptx80";

static std::unique_ptr<llvm::TargetMachine> createMachine() {
  LLVMInitializeNVPTXTargetInfo();
  LLVMInitializeNVPTXTarget();
  LLVMInitializeNVPTXTargetMC();
  LLVMInitializeNVPTXAsmPrinter();
  std::string error;
  llvm::Triple triple(kTriple);
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!target)
    return nullptr;
  llvm::TargetOptions options;
  // a * b + c is one operation where planexport::contractMultiplyAdds said so. Standard would
  // contract what has flags, and ptxas whatever is not said to be rounded.
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  return std::unique_ptr<llvm::TargetMachine>(
      target->createTargetMachine(triple, kProcessor, kFeatures, options, std::nullopt,
                                  std::nullopt, llvm::CodeGenOptLevel::Aggressive));
}

namespace {

/// The bodies of what kernels ask of the device (Stages.h).
class DeviceFunctions {
public:
  explicit DeviceFunctions(llvm::Module &module)
      : module(module), builder(module.getContext()) {}

  void define() {
    with(kThread, [&](llvm::Function &) {
      return builder.CreateIntrinsic(llvm::Intrinsic::nvvm_read_ptx_sreg_tid_x, {});
    });
    with(kBlock, [&](llvm::Function &) {
      return builder.CreateIntrinsic(llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_x, {});
    });
    with(kBarrier, [&](llvm::Function &) {
      builder.CreateIntrinsic(llvm::Intrinsic::nvvm_barrier_cta_sync_aligned_all, {builder.getInt32(0)});
      return nullptr;
    });
    with(kAny, [&](llvm::Function &function) {
      return builder.CreateIntrinsic(llvm::Intrinsic::nvvm_redux_sync_or, {function.getArg(0), builder.getInt32(-1)});
    });
    for (unsigned bits : {32, 64}) {
      llvm::Type *type = builder.getIntNTy(bits);
      with((kShuffleDown + Twine(bits)).str(), [&](llvm::Function &function) {
        return shuffle(llvm::Intrinsic::nvvm_shfl_sync_down_i32, function.getArg(0), function.getArg(1));
      });
      with((kFirst + Twine(bits)).str(), [&](llvm::Function &function) {
        return shuffle(llvm::Intrinsic::nvvm_shfl_sync_idx_i32, function.getArg(0), builder.getInt32(0));
      });
      with((kSharedStore + Twine(bits)).str(), [&](llvm::Function &function) {
        builder.CreateStore(function.getArg(1), shared(type, function.getArg(0)));
        return nullptr;
      });
      with((kSharedLoad + Twine(bits)).str(), [&](llvm::Function &function) {
        return builder.CreateLoad(type, shared(type, function.getArg(0)));
      });
    }
  }

private:
  void with(StringRef name, llvm::function_ref<llvm::Value *(llvm::Function &)> body) {
    llvm::Function *function = module.getFunction(name);
    if (!function)
      return;
    function->setLinkage(llvm::GlobalValue::InternalLinkage);
    function->addFnAttr(llvm::Attribute::AlwaysInline);
    function->addFnAttr(llvm::Attribute::Convergent);
    builder.SetInsertPoint(llvm::BasicBlock::Create(module.getContext(), "", function));
    if (llvm::Value *value = body(*function))
      builder.CreateRet(value);
    else
      builder.CreateRetVoid();
  }

  // In memory that each launch says the size of.
  llvm::Value *shared(llvm::Type *type, llvm::Value *word) {
    constexpr unsigned kSharedSpace = 3;
    if (!area) {
      area = new llvm::GlobalVariable(
          module, llvm::ArrayType::get(builder.getInt8Ty(), 0), false,
          llvm::GlobalValue::ExternalLinkage, nullptr, "cs_shared", nullptr,
          llvm::GlobalValue::NotThreadLocal, kSharedSpace);
      area->setAlignment(llvm::Align(16));
    }
    return builder.CreateGEP(type, area, word);
  }

  llvm::Value *shuffle(llvm::Intrinsic::ID kind, llvm::Value *value, llvm::Value *distance) {
    auto one = [&](llvm::Value *part) -> llvm::Value * {
      return builder.CreateIntrinsic(
          kind,
          {builder.getInt32(-1), part, distance, builder.getInt32(kWarp - 1)});
    };
    if (value->getType()->isIntegerTy(32))
      return one(value);
    llvm::Type *i32 = builder.getInt32Ty(), *i64 = builder.getInt64Ty();
    llvm::Value *low = one(builder.CreateTrunc(value, i32));
    llvm::Value *high = one(builder.CreateTrunc(builder.CreateLShr(value, 32), i32));
    return builder.CreateOr(builder.CreateZExt(low, i64),
                            builder.CreateShl(builder.CreateZExt(high, i64), 32));
  }

  llvm::Module &module;
  llvm::IRBuilder<> builder;
  llvm::GlobalVariable *area = nullptr;
};

} // namespace

static void optimize(llvm::Module &module, llvm::TargetMachine &machine) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager sccs;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder passes(&machine);
  passes.registerModuleAnalyses(modules);
  passes.registerCGSCCAnalyses(sccs);
  passes.registerFunctionAnalyses(functions);
  passes.registerLoopAnalyses(loops);
  passes.crossRegisterProxies(loops, functions, sccs, modules);
  passes.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O3).run(module, modules);
}

// What no function of the module is called, nor instruction, cannot be assembled.
static LogicalResult checkCalls(const llvm::Module &module, Location loc) {
  for (const llvm::Function &function : module)
    if (function.isDeclaration() && !function.isIntrinsic() && !function.use_empty())
      return emitError(loc, "a kernel would need '") << function.getName() << "', which no device has";
  return success();
}

LogicalResult emitPtx(ModuleOp module, ArrayRef<std::pair<std::string, uint32_t>> kernels,
                      const CudaOptions &options, plan::CudaModule &result) {
  Location loc = module.getLoc();
  std::unique_ptr<llvm::TargetMachine> machine = createMachine();
  if (!machine)
    return emitError(loc, "this build of LLVM has no target for ") << kTriple;
  if (!options.libdevice.empty() && !llvm::sys::fs::is_regular_file(options.libdevice))
    return emitError(loc, "libdevice must be a file, got: ") << options.libdevice;
  if (failed(callLibdevice(module, options.libdevice, result.libdevice_functions)))
    return failure();
  registerBuiltinDialectTranslation(*module.getContext());
  registerLLVMDialectTranslation(*module.getContext());
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> code = translateModuleToLLVMIR(module, context, "fragments");
  if (!code)
    return emitError(loc, "fragments cannot be translated to LLVM IR");
  code->setSourceFileName("fragments");
  code->setTargetTriple(llvm::Triple(kTriple));
  code->setDataLayout(machine->createDataLayout());
  DeviceFunctions(*code).define();
  for (llvm::Function &function : *code)
    if (!function.isDeclaration())
      function.addFnAttr(llvm::Attribute::NoUnwind);
  for (const auto &[name, threads] : kernels) {
    llvm::Function *function = code->getFunction(name);
    if (!function)
      continue;
    function->setCallingConv(llvm::CallingConv::PTX_Kernel);
    function->addFnAttr("nvvm.maxntid", std::to_string(threads));
  }
  if (!result.libdevice_functions.empty() && failed(linkLibdevice(*code, options.libdevice, loc)))
    return failure();
  if (options.printStage == "llvm-ir")
    code->print(llvm::errs(), nullptr);
  optimize(*code, *machine);
  if (options.printStage == "llvm-opt")
    code->print(llvm::errs(), nullptr);
  std::string why;
  llvm::raw_string_ostream messages(why);
  if (llvm::verifyModule(*code, &messages))
    return emitError(loc, "internal error: LLVM's optimizer made code that is none: ")
           << StringRef(why).split('\n').first;
  if (failed(checkCalls(*code, loc)))
    return failure();
  SmallVector<char, 0> text;
  {
    llvm::raw_svector_ostream os(text);
    llvm::legacy::PassManager passes;
    if (machine->addPassesToEmitFile(passes, os, nullptr, llvm::CodeGenFileType::AssemblyFile))
      return emitError(loc, "code generator cannot write PTX");
    passes.run(*code);
  }
  result.ptx.assign(text.begin(), text.end());
  result.architecture = kProcessor.str();
  return success();
}

} // namespace commsched::cudaexport
