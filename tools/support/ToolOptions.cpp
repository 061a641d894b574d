// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/support/ToolOptions.h"

#include "mlir/IR/MLIRContext.h"
#include "plan/version.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/raw_ostream.h"

/// MLIR's own, which MLIR reads when it makes a context. Null if a later MLIR has none.
static llvm::cl::opt<bool> *findOption() {
  mlir::registerMLIRContextCLOptions();
  auto &options = llvm::cl::getRegisteredOptions();
  auto found = options.find("mlir-print-op-on-diagnostic");
  return found == options.end() ? nullptr
                                : static_cast<llvm::cl::opt<bool> *>(found->second);
}

void commsched::leaveOpsOutOfDiagnostics() {
  llvm::cl::opt<bool> *option = findOption();
  if (option && option->getNumOccurrences() == 0)
    option->setInitialValue(false);
}

bool commsched::wantsOpsInDiagnostics() {
  llvm::cl::opt<bool> *option = findOption();
  return option && option->getValue();
}

void commsched::printOwnVersion(const char *tool) {
  llvm::cl::SetVersionPrinter([tool](llvm::raw_ostream &os) {
    os << tool << " " << kVersion << " (CommSched, with MLIR " << LLVM_VERSION_STRING << ")\n";
  });
}
