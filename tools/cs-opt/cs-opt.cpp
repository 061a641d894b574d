// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cs-opt: runs the passes of CommSched, and the upstream ones that go with
// them, over a module.

#include "ir/Register.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"
#include "passes/Passes.h"
#include "tools/cs-opt/Interpret.h"
#include "tools/cs-opt/Report.h"
#include "tools/support/CrashReport.h"
#include "tools/support/StandardFiles.h"
#include "tools/support/ToolOptions.h"
#include "llvm/Support/InitLLVM.h"

extern "C" int commsched_cs_opt(int argc, char **argv) {
  commsched::reportCrashesAsErrors(argv);
  llvm::InitLLVM init(argc, argv);
  commsched::takeLimitsForErrors();
  commsched::leaveOpsOutOfDiagnostics();
  commsched::printOwnVersion("cs-opt");
  mlir::DialectRegistry registry;
  commsched::registerDialects(registry);
  mlir::registerTransformsPasses();
  commsched::registerPasses();
  commsched::registerPipelines();
  commsched::Report report;
  commsched::Interpret interpret;
  auto [input, output] = mlir::registerAndParseCLIOptions(
      argc, argv, "CommSched: training steps for one device, distributed\n",
      registry);
  if (std::string why = commsched::checkOwnOptions({"o", "report", "interpret", "interpret-values", "interpret-batches",
                                                    "interpret-output", "interpret-workers", "interpret-reduction",
                                                    "interpret-each"},
                                                   llvm::ArrayRef(argv, argc));
      !why.empty()) {
    llvm::errs() << "error: " << why << "\n";
    return EXIT_FAILURE;
  }
  if (!interpret.check(input, output, report.wanted()) || !report.check(input, output))
    return EXIT_FAILURE;
  if (interpret.wanted())
    return interpret.run(input, registry);
  auto config = mlir::MlirOptMainConfig::createFromCLOptions();
  if (config.shouldShowDialects() || config.shouldListPasses())
    return mlir::asMainReturnCode(
        mlir::MlirOptMain(argc, argv, input, output, registry));
  return commsched::optimize(report, input, output, registry);
}
