// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cs-lsp-server: editor support for .mlir files with the dialect cs.

#include "ir/Register.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"
#include "tools/support/ToolOptions.h"

extern "C" int commsched_cs_lsp_server(int argc, char **argv) {
  commsched::printOwnVersion("cs-lsp-server");
  mlir::DialectRegistry registry;
  commsched::registerDialects(registry);
  return mlir::failed(mlir::MlirLspServerMain(argc, argv, registry));
}
