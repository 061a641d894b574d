// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef COMMSCHED_TESTS_CUDA_CONTEXT_H
#define COMMSCHED_TESTS_CUDA_CONTEXT_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

#include <string>

namespace commsched::cudatest {

/// With all dialects; remembers the first error.
class Context {
public:
  Context();
  mlir::MLIRContext context;
  std::string error;

  mlir::OwningOpRef<mlir::ModuleOp> parse(const std::string &text);
};

} // namespace commsched::cudatest

#endif // COMMSCHED_TESTS_CUDA_CONTEXT_H
