// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The dialect cs and the passes of CommSched for the stock mlir-opt:
//   mlir-opt --load-dialect-plugin=CommSchedPlugin.so
//            --load-pass-plugin=CommSchedPlugin.so
//            --pass-pipeline="builtin.module(insert-dist-comm)" ...

#include "ir/Register.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/Plugins/DialectPlugin.h"
#include "mlir/Tools/Plugins/PassPlugin.h"
#include "passes/Passes.h"
#include "plan/version.h"
#include "tools/support/ToolOptions.h"

static constexpr char kName[] = "CommSched";

extern "C" LLVM_ATTRIBUTE_WEAK mlir::DialectPluginLibraryInfo
mlirGetDialectPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, kName, commsched::kVersion,
          [](mlir::DialectRegistry *registry) {
            commsched::leaveOpsOutOfDiagnostics();
            commsched::registerDialects(*registry);
          }};
}

extern "C" LLVM_ATTRIBUTE_WEAK mlir::PassPluginLibraryInfo
mlirGetPassPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, kName, commsched::kVersion, [] {
            commsched::leaveOpsOutOfDiagnostics();
            commsched::registerPasses();
            commsched::registerPipelines();
          }};
}
