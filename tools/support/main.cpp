// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// main() of every tool over MLIR: the tool itself is a function, COMMSCHED_TOOL, which a
// wheel has in one library with the others (tools/CMakeLists.txt).

#include "tools/support/EndWithStarter.h"
#include "tools/support/StandardFiles.h"

extern "C" int COMMSCHED_TOOL(int argc, char **argv);

int main(int argc, char **argv) {
  commsched::openStandardFiles();
  commsched::endWithStarter();
  return COMMSCHED_TOOL(argc, argv);
}
