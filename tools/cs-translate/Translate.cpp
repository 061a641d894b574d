// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// In the place of mlirTranslateMain, which prints the op of each diagnostic whatever the
// options say, and one line for each translation where none is named.

#include "tools/cs-translate/Translate.h"

#include "ir/OutputFile.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Support/FileUtilities.h"
#include "mlir/Support/ToolUtilities.h"
#include "mlir/Tools/mlir-translate/Translation.h"
#include "tools/support/ToolOptions.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;
using namespace commsched;

namespace {

struct Options {
  llvm::cl::opt<std::string> input{llvm::cl::Positional, llvm::cl::desc("<input file>"),
                                   llvm::cl::init("-")};
  llvm::cl::opt<std::string> output{"o", llvm::cl::desc("Output file (default: stdout)"),
                                    llvm::cl::value_desc("filename"), llvm::cl::init("-")};
  llvm::cl::opt<bool> anyDialect{
      "allow-unregistered-dialect",
      llvm::cl::desc("Allow ops of dialects that are not known (default false)")};
  llvm::cl::opt<bool> split{
      "split-input-file",
      llvm::cl::desc("Translate what is between lines \"// -----\" piece by piece "
                     "(default false)")};
  llvm::cl::opt<bool> verify{
      "verify-diagnostics",
      llvm::cl::desc("Check that diagnostics are those of lines \"expected-error\" and "
                     "so on (default false)")};
  llvm::cl::list<const Translation *, bool, TranslationParser> translations{
      "", llvm::cl::desc("Translations, of which one is needed")};
};

/// A diagnostic without its line where that is too long to read: profiles may be one.
void printDiagnostic(const llvm::SMDiagnostic &diagnostic, void *) {
  constexpr size_t kLongest = 400;
  if (diagnostic.getLineContents().size() <= kLongest)
    return diagnostic.print(nullptr, llvm::errs());
  constexpr StringRef kKinds[] = {"error", "warning", "remark", "note"};
  llvm::errs() << diagnostic.getFilename() << ":" << diagnostic.getLineNo() << ":"
               << diagnostic.getColumnNo() + 1 << ": " << kKinds[diagnostic.getKind()]
               << ": " << diagnostic.getMessage() << "\n";
}

LogicalResult translatePiece(const Options &options, const Translation &translation,
                             std::unique_ptr<llvm::MemoryBuffer> piece, raw_ostream &os) {
  // Pieces do not end in a 0, which parsers want.
  piece = llvm::MemoryBuffer::getMemBufferCopy(piece->getBuffer(),
                                               piece->getBufferIdentifier());
  MLIRContext context;
  context.allowUnregisteredDialects(options.anyDialect);
  context.printOpOnDiagnostic(wantsOpsInDiagnostics() && !options.verify);
  auto sources = std::make_shared<llvm::SourceMgr>();
  sources->AddNewSourceBuffer(std::move(piece), llvm::SMLoc());
  sources->setDiagHandler(printDiagnostic);
  if (!options.verify) {
    SourceMgrDiagnosticHandler handler(*sources, &context);
    return translation(sources, os, &context);
  }
  SourceMgrDiagnosticVerifierHandler handler(*sources, &context);
  // Most are expected to fail.
  (void)translation(sources, os, &context);
  return handler.verify();
}

int fail(const llvm::Twine &why) {
  llvm::errs() << "error: " << why << "\n";
  return EXIT_FAILURE;
}

/// Of the translation that was asked for.
StringRef nameOf(Options &options) {
  auto &parser = options.translations.getParser();
  for (unsigned i = 0; i < parser.getNumOptions(); ++i) {
    const Translation *named = nullptr;
    StringRef name = parser.getOption(i);
    if (!parser.parse(options.translations, name, "", named) && named == options.translations[0])
      return name;
  }
  return "";
}

/// Options that are of use in some translations only.
struct Use {
  const char *option;
  std::initializer_list<const char *> translations;
};
const Use kUses[] = {
    {"target-cpu", {"mlir-to-plan"}},
    {"plan-summary", {"mlir-to-plan"}},
    {"linker", {"mlir-to-plan"}},
    {"print-stage", {"mlir-to-plan", "mlir-to-cuda"}},
    {"libdevice", {"mlir-to-plan", "mlir-to-cuda"}},
    {"profile-batch", {"import-pipedream", "import-kungfu", "import-aicb"}},
    {"profile-activations", {"import-pipedream"}},
    {"profile-gradient-order", {"import-kungfu"}},
    {"allow-unregistered-dialect", {"mlir-to-plan", "mlir-to-cuda", "mlir-to-chakra"}},
};

/// Empty, or which option that was given `translation` has no use for.
std::string findUnused(StringRef translation) {
  auto &options = llvm::cl::getRegisteredOptions();
  for (const Use &use : kUses) {
    auto found = options.find(use.option);
    std::string name = std::string("--") + use.option;
    if (found == options.end() || found->second->getNumOccurrences() == 0 ||
        llvm::is_contained(use.translations, translation))
      continue;
    std::string text = name + " must go with ";
    llvm::raw_string_ostream os(text);
    llvm::interleave(use.translations, os, [&](const char *name) { os << "--" << name; }, " or ");
    os << ", got: --" << translation;
    return text;
  }
  return "";
}

} // namespace

int commsched::translate(int argc, char **argv) {
  Options options;
  registerAsmPrinterCLOptions();
  registerTranslationCLOptions();
  llvm::cl::ParseCommandLineOptions(argc, argv, "CommSched: plans, profiles and traces\n");
  if (options.translations.size() != 1)
    return fail("one translation must be named, got: " +
                llvm::Twine(options.translations.size()) + "; see cs-translate --help");
  const Translation &translation = *options.translations[0];
  SmallVector<const char *> own{"o"};
  for (const Use &use : kUses)
    own.push_back(use.option);
  if (std::string why = checkOwnOptions(own, ArrayRef(argv, argc)); !why.empty())
    return fail(why);
  if (std::string why = findUnused(nameOf(options)); !why.empty())
    return fail(why);
  std::string error;
  std::unique_ptr<llvm::MemoryBuffer> input = openInputFile(options.input, &error);
  if (!input)
    return fail(error);
  std::unique_ptr<OutputFile> output = OutputFile::open(options.output, &error);
  if (!output)
    return fail(error);
  auto each = [&](std::unique_ptr<llvm::MemoryBuffer> piece, raw_ostream &os) {
    return translatePiece(options, translation, std::move(piece), os);
  };
  StringRef marker = options.split ? StringRef(kDefaultSplitMarker) : StringRef();
  if (failed(splitAndProcessBuffer(std::move(input), each, output->os(), marker)))
    return EXIT_FAILURE;
  if (std::string why = output->keep(); !why.empty())
    return fail("cannot write " + (options.output == "-" ? "stdout" : StringRef(options.output)) + ": " + why);
  return EXIT_SUCCESS;
}
