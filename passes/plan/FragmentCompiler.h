// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compiles the bodies of fragments to one ELF shared object that follows
// plan/fragment_abi.h, and the library kernels that it calls back for.

#ifndef COMMSCHED_PASSES_PLAN_FRAGMENTCOMPILER_H
#define COMMSCHED_PASSES_PLAN_FRAGMENTCOMPILER_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "passes/plan/DeviceCompiler.h"
#include "plan/plan.pb.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringMap.h"

#include <string>
#include <vector>

namespace commsched::planexport {

struct CodeOptions {
  /// "x86-64-v3" or "x86-64-v4"; never the host's own, so that the same input
  /// gives the same bytes on every machine.
  std::string targetCpu = "x86-64-v3";
  /// Path of ld.lld; empty: as found by CMake or COMMSCHED_LLD.
  std::string linker;
  /// If not empty, the module is printed here after the named stage.
  std::string printStage;
  /// For fragments of CUDA devices; empty: they are refused.
  MakeDeviceCompiler deviceCompiler = {};
};

/// What a fragment's body may be when its loop nests are functions of their own.
enum class BodyForm {
  Calls,   ///< a host runs it: calls of nests and kernels, also under conditions and in loops
  Launches ///< a host only puts them into a queue: one after the other, addresses known
};

struct CompiledFragments {
  /// Per distinct function: the symbol, the number of its inputs, and the scratch bytes
  /// that it needs.
  std::vector<std::string> symbols;
  std::vector<unsigned> inputs;
  std::vector<uint64_t> scratchBytes;
  std::vector<plan::Kernel> kernels;
  std::string elf;
  uint64_t codeBytes = 0;
  unsigned nests = 0;
  double checkSeconds = 0; // of checks of memory
};

class FragmentCompiler {
public:
  FragmentCompiler(mlir::MLIRContext *context, CodeOptions options);

  /// Adds a fragment: tensors in as block arguments, tensors out as operands of
  /// the terminator. Returns the index of its function; fragments with the
  /// same body share one.
  unsigned add(mlir::Block &body, mlir::Location loc);

  /// The stages that all targets share, for everything added: fusion, buffers, library
  /// kernels, scratch, and loop nests as functions of their own (Stages.h). What is left of
  /// each frag_<n> in module() calls these and kernels. Fills in all but the code.
  /// group: called of each fragment before its temporaries have places, where it may put ops that follow each other into
  /// a region, which is one nest.
  mlir::LogicalResult outline(BodyForm form, CompiledFragments &result,
                              llvm::function_ref<void(mlir::func::FuncOp)> group = {});

  /// Compiles everything added for the host. Errors are reported at the op.
  mlir::LogicalResult compile(CompiledFragments &result);

  mlir::ModuleOp getModule() { return *module; }

  unsigned size() const { return count; }

private:
  mlir::MLIRContext *context;
  CodeOptions options;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  llvm::StringMap<unsigned> known;
  std::vector<unsigned> inputs; // of each function
  unsigned count = 0;
};

} // namespace commsched::planexport

#endif // COMMSCHED_PASSES_PLAN_FRAGMENTCOMPILER_H
