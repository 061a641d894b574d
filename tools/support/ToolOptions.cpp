// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/support/ToolOptions.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "plan/version.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
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

std::string commsched::checkOwnOptions(llvm::ArrayRef<const char *> names, llvm::ArrayRef<char *> words) {
  auto &options = llvm::cl::getRegisteredOptions();
  for (llvm::StringRef name : names) {
    auto found = options.find(name);
    const std::string dashed = (name.size() == 1 ? "-" : "--") + name.str();
    if (found != options.end() && found->second->getNumOccurrences() > 1)
      return dashed + " must be there once";
    if (llvm::any_of(words, [&](llvm::StringRef word) {
          return word.consume_back("=") && word.consume_front("-") && (word == name || word == "-" + name.str());
        }))
      return dashed + " must have a value";
  }
  return "";
}

std::string commsched::checkOtherFile(llvm::StringRef option, llvm::StringRef file, llvm::StringRef what,
                                      llvm::StringRef other) {
  if (file == "-" || other == "-" || (file != other && !llvm::sys::fs::equivalent(file, other)))
    return "";
  return (option + " must be another file than " + what + ", got: " + file).str();
}

/// What MLIR says in several lines of a pipeline that it has parsed. Empty where llvm::cl has said it.
static std::string firstLineOf(llvm::StringRef text) {
  auto [line, rest] = text.split('\n');
  constexpr llvm::StringLiteral kAdding = "failed to add `";
  if (line.starts_with(kAdding))
    return "";
  if (line.consume_front("MLIR Textual PassPipeline Parser:"))
    line = line.substr(line.find("error: ")).substr(7);
  std::string said = line.trim().str();
  if (rest.consume_front(kAdding)) {
    said[0] = llvm::toLower(said[0]);
    said = (rest.split('`').first + ": " + said).str();
  }
  return said;
}

void commsched::tellWithoutPlaces(mlir::MLIRContext &context) {
  context.getDiagEngine().registerHandler([](mlir::Diagnostic &diagnostic) -> llvm::LogicalResult {
    if (diagnostic.getSeverity() != mlir::DiagnosticSeverity::Error || !llvm::isa<mlir::UnknownLoc>(diagnostic.getLocation()) ||
        !diagnostic.getNotes().empty())
      return llvm::failure();
    if (std::string line = firstLineOf(diagnostic.str()); !line.empty())
      llvm::errs() << "error: " << line << "\n";
    return llvm::success();
  });
}

void commsched::printOwnVersion(const char *tool) {
  llvm::cl::SetVersionPrinter([tool](llvm::raw_ostream &os) {
    os << tool << " " << kVersion << " (CommSched, with MLIR " << LLVM_VERSION_STRING << ")\n";
  });
}
