// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a pipeline says of a module: whether its ranks wait for each other.

#ifndef COMMSCHED_TESTS_PASSES_VERIFY_VERDICT_H
#define COMMSCHED_TESTS_PASSES_VERIFY_VERDICT_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"

#include <string>

namespace commsched {

enum class Verdict {
  free,
  stuck,
  other
};

/// `said`: the diagnostics. A null module is `other`.
inline Verdict verdictOf(mlir::ModuleOp module, llvm::StringRef pipeline, mlir::MLIRContext &context, std::string &said) {
  said.clear();
  mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &diagnostic) {
    said += diagnostic.str() + "\n";
    for (mlir::Diagnostic &note : diagnostic.getNotes())
      said += "note: " + note.str() + "\n";
  });
  mlir::PassManager passes(&context, "builtin.module");
  if (!module || failed(mlir::parsePassPipeline(pipeline, passes)))
    return Verdict::other;
  if (succeeded(passes.run(module)))
    return Verdict::free;
  return llvm::StringRef(said).contains("wait for each other in a circle") ? Verdict::stuck : Verdict::other;
}

} // namespace commsched

#endif // COMMSCHED_TESTS_PASSES_VERIFY_VERDICT_H
