// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tests/fuzz/check.h"

#include "ir/Register.h"
#include "mlir/Bytecode/BytecodeWriter.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"
#include "passes/Passes.h"
#include "tests/fuzz/draw.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/xxhash.h"

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
constexpr int kDrawn = 2; // more of each input

bool isInFile(mlir::Location location) {
  return location
      ->walk([](mlir::Location inner) {
        return llvm::isa<mlir::FileLineColLoc>(inner) ? mlir::WalkResult::interrupt()
                                                      : mlir::WalkResult::advance();
      })
      .wasInterrupted();
}

// Empty, or what is wrong with how a diagnostic of ours is written.
std::string faultOf(const mlir::Diagnostic &diagnostic, bool locations) {
  std::string text = diagnostic.str();
  llvm::StringRef word = llvm::StringRef(text).split(' ').first;
  if (text.empty())
    return "an error says nothing";
  bool capital = llvm::isUpper(word[0]) && word.size() > 1 && llvm::isLower(word[1]);
  if (capital || text.back() == '.' || llvm::StringRef(text).contains('\n'))
    return "an error must be one line of lower case without a full stop: " + text;
  // What is wrong with an option is in no file.
  bool ofOptions = mlir::PassInfo::lookup(word.rtrim(':')) || llvm::StringRef(text).starts_with("cannot read ");
  if (locations && !ofOptions && !isInFile(diagnostic.getLocation()))
    return "an error is nowhere: " + text;
  return "";
}

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
  // Two: what comes out may not depend on where a context has something in memory.
  std::unique_ptr<mlir::MLIRContext> context, again;
  std::vector<std::unique_ptr<mlir::PassManager>> pipelines;
  std::optional<Drawer> drawer;
  unsigned errors = 0;
  bool locations = true; // whether an error must say where it is
  std::string fault;     // of one of the errors

  std::unique_ptr<mlir::MLIRContext> makeContext() {
    auto made = std::make_unique<mlir::MLIRContext>(
        registry, mlir::MLIRContext::Threading::DISABLED);
    made->getDiagEngine().registerHandler(
        [this](mlir::Diagnostic &diagnostic) {
          if (diagnostic.getSeverity() != mlir::DiagnosticSeverity::Error)
            return mlir::success();
          ++errors;
          if (fault.empty())
            fault = faultOf(diagnostic, locations);
          return mlir::success();
        });
    made->loadAllAvailableDialects();
    return made;
  }

  mlir::OwningOpRef<mlir::ModuleOp> parse(llvm::StringRef text, mlir::MLIRContext *in = nullptr) {
    mlir::ParserConfig config(in ? in : context.get());
    return mlir::parseSourceString<mlir::ModuleOp>(text, config, "input.mlir");
  }

  std::string roundTrip(mlir::ModuleOp module);
  std::string runDrawn(mlir::ModuleOp module, llvm::StringRef bytecode, llvm::StringRef pipeline);
};

static std::string printed(mlir::ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream(text) << module;
  return text;
}

static std::string bytecodeOf(mlir::ModuleOp module) {
  std::string bytes;
  llvm::raw_string_ostream os(bytes);
  return mlir::succeeded(mlir::writeBytecodeToFile(module, os)) ? bytes : "";
}

/// What verifies can be printed and read again, as text and as bytecode, and is the same then.
std::string Checker::Impl::roundTrip(mlir::ModuleOp module) {
  std::string text = printed(module);
  // MLIR prints this constant of an affine expression, but does not read it.
  if (text.find("9223372036854775808") != std::string::npos)
    return "";
  mlir::OwningOpRef<mlir::ModuleOp> read = parse(text);
  if (!read)
    return "what is printed does not parse";
  // Data that a text brings has another name when a context reads it again.
  const bool comparable = text.find("dense_resource<") == std::string::npos;
  if (comparable && printed(*read) != text)
    return "what is printed is printed in another way when it was read";
  std::string bytecode = bytecodeOf(module);
  if (bytecode.empty())
    return "";
  mlir::OwningOpRef<mlir::ModuleOp> fromBytes = parse(bytecode);
  if (!fromBytes)
    return "its bytecode does not parse";
  if (comparable && printed(*fromBytes) != text)
    return "it is another after it was bytecode";
  return "";
}

/// A pipeline over a module: it fails with one error, or what comes out verifies, can be written and read, and is the same in
/// another context, where the module came as bytecode.
std::string Checker::Impl::runDrawn(mlir::ModuleOp module, llvm::StringRef bytecode, llvm::StringRef pipeline) {
  std::string outputs[2];
  bool succeeds[2];
  for (int i = 0; i < 2; ++i) {
    mlir::MLIRContext *in = i ? again.get() : context.get();
    mlir::PassManager manager(in, "builtin.module");
    manager.enableVerifier(false); // what does not verify is a finding below, and no error
    std::string why;
    llvm::raw_string_ostream os(why);
    if (mlir::failed(mlir::parsePassPipeline(pipeline, manager, os)))
      return why.empty() && !errors ? "options are refused without a diagnostic" : "";
    mlir::OwningOpRef<mlir::ModuleOp> copy = i ? parse(bytecode, in) : mlir::OwningOpRef<mlir::ModuleOp>(module.clone());
    if (!copy)
      return "its bytecode does not parse in another context";
    errors = 0;
    fault.clear();
    succeeds[i] = mlir::succeeded(manager.run(*copy));
    if (!fault.empty())
      return fault;
    const bool ofEach = errors > 1 && pipeline.contains("verify-solution"); // of each that is none
    if (errors != (succeeds[i] ? 0 : 1) && (succeeds[i] || !ofEach))
      return (succeeds[i] ? "succeeds with errors: " : "fails, and errors are not one: ") + std::to_string(errors);
    if (succeeds[i] && mlir::failed(mlir::verify(*copy)))
      return "what comes out does not verify: " + fault;
    if (succeeds[i])
      outputs[i] = printed(*copy);
    if (succeeds[i] && !i)
      if (std::string wrong = roundTrip(*copy); !wrong.empty())
        return "of what comes out: " + wrong;
  }
  if (outputs[0].find("dense_resource<") != std::string::npos)
    outputs[0] = outputs[1] = "";
  if (succeeds[0] != succeeds[1] || outputs[0] != outputs[1])
    return "comes out in another way the second time";
  return "";
}

Checker::Checker() : impl(std::make_unique<Impl>()) {
  static bool registered = [] {
    mlir::registerTransformsPasses();
    registerPasses();
    registerPipelines();
    return true;
  }();
  (void)registered;
  registerDialects(impl->registry);
  impl->context = impl->makeContext();
  impl->again = impl->makeContext();
  impl->drawer.emplace();
  for (const char *text : kPipelines) {
    impl->pipelines.push_back(std::make_unique<mlir::PassManager>(
        impl->context.get(), "builtin.module"));
    if (mlir::failed(
            mlir::parsePassPipeline(text, *impl->pipelines.back()))) {
      llvm::errs() << "error: no such pipeline: " << text << "\n";
      std::exit(2);
    }
  }
  // Pipelines prepare their patterns when they run first.
  for (auto &pipeline : impl->pipelines) {
    mlir::OwningOpRef<mlir::ModuleOp> module = impl->parse("");
    (void)pipeline->run(*module);
  }
}

Checker::~Checker() = default;

Outcome Checker::check(const std::string &text, std::string &finding,
                       const std::function<void(const std::string &)> &drawn) {
  impl->errors = 0;
  mlir::OwningOpRef<mlir::ModuleOp> module = impl->parse(text);
  if (!module) {
    if (!impl->errors)
      finding = "the parser refuses it without a diagnostic";
    return kRefused;
  }

  finding = impl->roundTrip(*module);
  if (!finding.empty())
    return kVerified;

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
  // The same for the same text, so that --replay finds again what was found.
  Random random(llvm::xxh3_64bits(text));
  std::string bytecode = bytecodeOf(*module);
  impl->locations = text.find("loc(") == std::string::npos;
  for (int i = 0; i < kDrawn && finding.empty() && !bytecode.empty(); ++i) {
    std::string pipeline = impl->drawer->pipeline(random);
    drawn(pipeline);
    finding = impl->runDrawn(*module, bytecode, pipeline);
    if (!finding.empty())
      finding += "\n  in: " + pipeline;
  }
  return outcome;
}

} // namespace commsched::fuzz
