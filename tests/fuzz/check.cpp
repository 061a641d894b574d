// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tests/fuzz/check.h"

#include "ir/Register.h"
#include "mlir/Bytecode/BytecodeWriter.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"
#include "passes/Passes.h"

namespace commsched::fuzz {
namespace {

// Each is run on a copy of what the input verified as. The first is the whole
// way; the others put passes before inputs that they are not meant for.
constexpr const char *kPipelines[] = {
    "cs-all-reduce-pipeline",
    "cs-parameter-server-pipeline{servers=2 min-block-elements=4}",
    "canonicalize,cse,insert-dist-comm,canonicalize,cse,schedule-comm",
    "schedule-comm,canonicalize",
    "insert-dist-comm,replicate-devices,lower-sparse-comm{density=0.3 min-elements=2 rules=.*b=0.5:gtopk},"
    "spread-sums{force=true min-elements=2},schedule-comm,expand-collectives",
    "spread-sums{force=true apart=false min-elements=2},schedule-comm",
    "expand-collectives,canonicalize",
    "verify-distributed",
    "extract-problem,solve-problem{policy=fifo},verify-solution",
};

} // namespace

const char *outcomeName(Outcome outcome) {
  switch (outcome) {
  case kRefused:
    return "refused";
  case kVerified:
    return "verified";
  default:
    return "through the pipeline";
  }
}

struct Checker::Impl {
  mlir::DialectRegistry registry;
  std::unique_ptr<mlir::MLIRContext> context;
  std::vector<std::unique_ptr<mlir::PassManager>> pipelines;
  unsigned errors = 0;

  mlir::OwningOpRef<mlir::ModuleOp> parse(llvm::StringRef text) {
    mlir::ParserConfig config(context.get());
    return mlir::parseSourceString<mlir::ModuleOp>(text, config);
  }
};

Checker::Checker() : impl(std::make_unique<Impl>()) {
  static bool registered = [] {
    mlir::registerTransformsPasses();
    registerPasses();
    registerPipelines();
    return true;
  }();
  (void)registered;
  registerDialects(impl->registry);
  impl->context = std::make_unique<mlir::MLIRContext>(
      impl->registry, mlir::MLIRContext::Threading::DISABLED);
  impl->context->getDiagEngine().registerHandler(
      [this](mlir::Diagnostic &diagnostic) {
        impl->errors +=
            diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error;
        return mlir::success();
      });
  for (const char *text : kPipelines) {
    impl->pipelines.push_back(std::make_unique<mlir::PassManager>(
        impl->context.get(), "builtin.module"));
    if (mlir::failed(
            mlir::parsePassPipeline(text, *impl->pipelines.back()))) {
      llvm::errs() << "error: no such pipeline: " << text << "\n";
      std::exit(2);
    }
  }
  // Pipelines prepare their patterns when they run first, and again whenever a
  // dialect is loaded.
  impl->context->loadAllAvailableDialects();
  for (auto &pipeline : impl->pipelines) {
    mlir::OwningOpRef<mlir::ModuleOp> module = impl->parse("");
    (void)pipeline->run(*module);
  }
}

Checker::~Checker() = default;

Outcome Checker::check(const std::string &text, std::string &finding) {
  impl->errors = 0;
  mlir::OwningOpRef<mlir::ModuleOp> module = impl->parse(text);
  if (!module) {
    if (!impl->errors)
      finding = "the parser refuses it without a diagnostic";
    return kRefused;
  }

  // What verifies can be printed and read again, as text and as bytecode.
  std::string printed, bytecode;
  llvm::raw_string_ostream(printed) << *module;
  if (!impl->parse(printed)) {
    // MLIR prints this constant of an affine expression, but does not read it.
    if (printed.find("9223372036854775808") == std::string::npos)
      finding = "what is printed does not parse";
    return kVerified;
  }
  llvm::raw_string_ostream bytes(bytecode);
  if (mlir::succeeded(mlir::writeBytecodeToFile(*module, bytes)) &&
      !impl->parse(bytecode)) {
    finding = "its bytecode does not parse";
    return kVerified;
  }

  Outcome outcome = kVerified;
  for (auto [name, pipeline] : llvm::zip(kPipelines, impl->pipelines)) {
    mlir::OwningOpRef<mlir::ModuleOp> copy = module->clone();
    impl->errors = 0;
    if (mlir::succeeded(pipeline->run(*copy))) {
      if (pipeline == impl->pipelines.front())
        outcome = kDistributed;
    } else if (!impl->errors) {
      finding = std::string("fails without a diagnostic: ") + name;
      return outcome;
    }
  }
  return outcome;
}

} // namespace commsched::fuzz
