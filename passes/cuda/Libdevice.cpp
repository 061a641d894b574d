// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/cuda/Libdevice.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

#include "llvm/ADT/StringSwitch.h"
#include "llvm/IR/Module.h"
#include "llvm/IRReader/IRReader.h"
#include "llvm/Linker/Linker.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Transforms/IPO/Internalize.h"

#include <set>

using namespace mlir;

namespace commsched::cudaexport {

// Of ops for which LLVM would call the C library: the name there, without a suffix.
static StringRef libraryName(Operation *op) {
  return llvm::StringSwitch<StringRef>(op->getName().getStringRef())
      .Case("llvm.intr.sin", "sin")
      .Case("llvm.intr.cos", "cos")
      .Case("llvm.intr.tan", "tan")
      .Case("llvm.intr.asin", "asin")
      .Case("llvm.intr.acos", "acos")
      .Case("llvm.intr.atan", "atan")
      .Case("llvm.intr.atan2", "atan2")
      .Case("llvm.intr.sinh", "sinh")
      .Case("llvm.intr.cosh", "cosh")
      .Case("llvm.intr.tanh", "tanh")
      .Case("llvm.intr.exp", "exp")
      .Case("llvm.intr.exp2", "exp2")
      .Case("llvm.intr.exp10", "exp10")
      .Case("llvm.intr.log", "log")
      .Case("llvm.intr.log2", "log2")
      .Case("llvm.intr.log10", "log10")
      .Case("llvm.intr.pow", "pow")
      .Case("llvm.intr.powi", "powi")
      .Case("llvm.frem", "fmod")
      .Default("");
}

LogicalResult callLibdevice(ModuleOp module, StringRef libdevice,
                            std::vector<std::string> &functions) {
  std::set<std::string> names;
  SymbolTable symbols(module);
  SmallVector<Operation *> ops;
  module->walk([&](Operation *op) { ops.push_back(op); });
  for (Operation *op : ops) {
    std::string name = libraryName(op).str();
    if (!name.empty()) {
      if (op->getResult(0).getType().isF32())
        name += "f";
      if (!isa<Float32Type, Float64Type>(op->getResult(0).getType()))
        return op->emitError("'") << name << "' of this type has no code on CUDA devices";
    } else if (auto call = dyn_cast<LLVM::CallOp>(op); call && call.getCallee()) {
      auto callee = symbols.lookup<LLVM::LLVMFuncOp>(*call.getCallee());
      if (!callee || !callee.isExternal() || callee.getName().starts_with("cs_"))
        continue;
      name = callee.getName().str();
    } else {
      continue;
    }
    if (libdevice.empty())
      return op->emitError("function '") << name << "' has no polynomial: on CUDA devices it needs libdevice, "
                                                    "which --libdevice names";
    name = "__nv_" + name;
    names.insert(name);
    auto callee = module.lookupSymbol<LLVM::LLVMFuncOp>(name);
    if (!callee) {
      OpBuilder declare = OpBuilder::atBlockBegin(module.getBody());
      auto type = LLVM::LLVMFunctionType::get(op->getResult(0).getType(),
                                              llvm::to_vector(op->getOperandTypes()));
      callee = LLVM::LLVMFuncOp::create(declare, op->getLoc(), name, type);
    }
    OpBuilder builder(op);
    auto call = LLVM::CallOp::create(builder, op->getLoc(), callee, op->getOperands());
    op->replaceAllUsesWith(call.getResults());
    op->erase();
  }
  functions.assign(names.begin(), names.end());
  return success();
}

LogicalResult linkLibdevice(llvm::Module &module, StringRef libdevice, Location loc) {
  llvm::SMDiagnostic diagnostic;
  std::unique_ptr<llvm::Module> library = llvm::parseIRFile(libdevice, diagnostic, module.getContext());
  if (!library)
    return emitError(loc, "libdevice cannot be read: ") << libdevice << ": " << diagnostic.getMessage();
  library->setTargetTriple(module.getTargetTriple());
  library->setDataLayout(module.getDataLayout());
  // Subnormal numbers are numbers.
  module.setModuleFlag(llvm::Module::Override, "nvvm-reflect-ftz", uint32_t(0));
  auto hide = [](llvm::Module &merged, const llvm::StringSet<> &linked) {
    llvm::internalizeModule(merged, [&](const llvm::GlobalValue &value) {
      return !value.hasName() || !linked.contains(value.getName());
    });
  };
  if (llvm::Linker::linkModules(module, std::move(library), llvm::Linker::LinkOnlyNeeded, hide))
    return emitError(loc, "libdevice cannot be linked: ") << libdevice;
  return success();
}

} // namespace commsched::cudaexport
