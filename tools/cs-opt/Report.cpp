// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tools/cs-opt/Report.h"

#include "ir/OutputFile.h"
#include "ir/ReadText.h"
#include "passes/schedule/ScheduledSteps.h"
#include "tools/cs-opt/StepDocument.h"
#include "tools/support/ToolOptions.h"

#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassInstrumentation.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Support/FileUtilities.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace commsched;

struct commsched::Report::State {
  llvm::cl::opt<std::string> file{
      "report", llvm::cl::value_desc("file.html"),
      llvm::cl::desc("Write a report of the schedule that --schedule-comm or "
                     "--solve-problem makes: one page, and a trace for Perfetto "
                     "beside it (docs/report.md)")};
  std::vector<ScheduledStep> steps;
};

namespace {

template <typename State>
struct Listener : PassInstrumentation {
  explicit Listener(std::shared_ptr<State> state) : state(std::move(state)) {}

  void runBeforePass(Pass *pass, Operation *) override {
    if (auto *scheduled = dynamic_cast<ScheduledSteps *>(pass))
      scheduled->keepSteps();
  }
  void runAfterPass(Pass *pass, Operation *) override {
    if (auto *scheduled = dynamic_cast<ScheduledSteps *>(pass))
      for (ScheduledStep &step : scheduled->takeSteps())
        state->steps.push_back(std::move(step));
  }

  std::shared_ptr<State> state;
};

} // namespace

Report::Report() : state(std::make_shared<State>()) {}
Report::~Report() = default;

bool Report::wanted() const { return !state->file.empty(); }

bool Report::check(llvm::StringRef input, llvm::StringRef output) const {
  if (!wanted())
    return true;
  std::string why;
  if (state->file == "-")
    why = "--report must be a file, which a trace is written beside, got: -";
  for (const std::string &file : {state->file.getValue(), report::tracePathBeside(state->file)})
    for (auto [what, other] : {std::pair("the input", input), std::pair("that of -o", output)})
      if (why.empty())
        why = checkOtherFile("--report", file, what, other);
  if (!why.empty())
    llvm::errs() << "error: " << why << "\n";
  return why.empty();
}

void Report::attach(MlirOptMainConfig &config) {
  MlirOptMainConfig original = config;
  config.setPassPipelineSetupFn([original, state = state](PassManager &manager) {
    if (failed(original.setupPassPipeline(manager)))
      return failure();
    manager.addInstrumentation(std::make_unique<Listener<State>>(state));
    return success();
  });
}

static bool fail(llvm::StringRef file, llvm::StringRef why) {
  llvm::errs() << "error: --report=" << file << ": " << why << "\n";
  return false;
}

static std::string writeFile(llvm::StringRef file, llvm::StringRef text) {
  std::string error;
  std::unique_ptr<OutputFile> output = OutputFile::open(file, &error);
  if (!output)
    return error;
  output->os() << text;
  std::string why = output->keep();
  return why.empty() ? "" : "cannot be written: " + why;
}

bool Report::write(llvm::StringRef input) {
  const std::string &file = state->file;
  if (state->steps.empty())
    return fail(file, "no step was scheduled: it needs --schedule-comm with a policy "
                      "other than priority, in a step that communicates, or "
                      "--solve-problem");
  if (state->steps.size() > 1)
    return fail(file, "must be of one step, got: " + std::to_string(state->steps.size()));
  report::Document document = stepDocument(state->steps.front());
  llvm::StringRef name = llvm::sys::path::filename(input);
  if (input != "-")
    document.title = (name + ": " + document.title).str();
  std::string trace = report::tracePathBeside(file);
  if (std::string why = writeFile(file, report::toHtml(document)); !why.empty())
    return fail(file, why);
  if (std::string why =
          writeFile(trace, report::toChromeTrace(document, document.timelines.front()));
      !why.empty())
    return fail(trace, why);
  return true;
}

/// Options of passes are read where the pipeline is set up.
static void setUpDiagnostics(MlirOptMainConfig &config) {
  MlirOptMainConfig original = config;
  if (!config.shouldVerifyDiagnostics())
    config.setPassPipelineSetupFn([original](PassManager &manager) {
      tellWithoutPlaces(*manager.getContext());
      return original.setupPassPipeline(manager);
    });
}

int commsched::optimize(Report &report, llvm::StringRef input, llvm::StringRef output,
                        DialectRegistry &registry) {
  MlirOptMainConfig config = MlirOptMainConfig::createFromCLOptions();
  setUpDiagnostics(config);
  if (report.wanted())
    report.attach(config);
  std::string error;
  std::unique_ptr<llvm::MemoryBuffer> buffer = openInputFile(input, &error);
  std::unique_ptr<OutputFile> to;
  if (buffer)
    error = whyTooDeep(*buffer);
  if (error.empty())
    to = OutputFile::open(output, &error);
  if (!to) {
    llvm::errs() << "error: " << error << "\n";
    return EXIT_FAILURE;
  }
  if (failed(MlirOptMain(to->os(), std::move(buffer), registry, config)))
    return EXIT_FAILURE;
  if (report.wanted() && !report.write(input))
    return EXIT_FAILURE;
  if (std::string why = to->keep(); !why.empty()) {
    llvm::errs() << "error: cannot write " << (output == "-" ? "stdout" : output) << ": " << why << "\n";
    return EXIT_FAILURE;
  }
  return EXIT_SUCCESS;
}
