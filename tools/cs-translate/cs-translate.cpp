// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cs-translate: level 2 to plan, plans to text, profiles to level 0, Chakra execution
// traces out and in.

#include "passes/chakra/Chakra.h"
#include "passes/cuda/ExportCuda.h"
#include "passes/plan/ExportPlan.h"
#include "passes/profile/ImportProfile.h"
#include "tools/cs-translate/Translate.h"
#include "tools/support/CrashReport.h"
#include "tools/support/StandardFiles.h"
#include "tools/support/ToolOptions.h"
#include "llvm/Support/InitLLVM.h"

extern "C" int commsched_cs_translate(int argc, char **argv) {
  commsched::reportCrashesAsErrors(argv);
  llvm::InitLLVM init(argc, argv);
  commsched::takeLimitsForErrors();
  commsched::leaveOpsOutOfDiagnostics();
  commsched::printOwnVersion("cs-translate");
  commsched::registerPlanTranslations();
  commsched::registerCudaTranslations();
  commsched::registerProfileTranslations();
  commsched::registerChakraTranslations();
  return commsched::translate(argc, argv);
}
