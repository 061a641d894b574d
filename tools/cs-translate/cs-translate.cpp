// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cs-translate: level 2 to plan, plans to text, profiles to level 0, Chakra execution
// traces out and in.

#include "mlir/Tools/mlir-translate/MlirTranslateMain.h"
#include "passes/chakra/Chakra.h"
#include "passes/plan/ExportPlan.h"
#include "passes/profile/ImportProfile.h"
#include "tools/support/CrashReport.h"

int main(int argc, char **argv) {
  commsched::reportCrashesAsErrors(argv);
  commsched::registerPlanTranslations();
  commsched::registerProfileTranslations();
  commsched::registerChakraTranslations();
  return failed(mlir::mlirTranslateMain(argc, argv, "CommSched: plans, profiles and traces\n"));
}
