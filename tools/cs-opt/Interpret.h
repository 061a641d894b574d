// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// --interpret of cs-opt: runs steps of what the passes have made with the reference
// interpreter (docs/interpreter.md).

#ifndef COMMSCHED_TOOLS_CS_OPT_INTERPRET_H
#define COMMSCHED_TOOLS_CS_OPT_INTERPRET_H

#include "mlir/Tools/mlir-opt/MlirOptMain.h"

#include <memory>

namespace commsched {

class Interpret {
public:
  /// Adds the options; before the command line is parsed.
  Interpret();
  ~Interpret();

  bool wanted() const;
  /// Whether the options go together, and with the module, `output` of -o and `report`; else an error says what does not.
  bool check(llvm::StringRef input, llvm::StringRef output, bool report) const;
  /// Reads `input`, runs the passes of the command line, interprets the step, and
  /// writes values and bounds; not the module. Returns the exit status.
  int run(llvm::StringRef input, mlir::DialectRegistry &registry);

private:
  struct Options;
  std::unique_ptr<Options> options;
};

} // namespace commsched

#endif // COMMSCHED_TOOLS_CS_OPT_INTERPRET_H
