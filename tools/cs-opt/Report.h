// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// --report=FILE of cs-opt: takes what the passes have scheduled, and writes the page
// and a trace beside it.

#ifndef COMMSCHED_TOOLS_CS_OPT_REPORT_H
#define COMMSCHED_TOOLS_CS_OPT_REPORT_H

#include "mlir/Tools/mlir-opt/MlirOptMain.h"

#include <memory>
#include <string>

namespace commsched {

class Report {
public:
  /// Adds the option; before the command line is parsed.
  Report();
  ~Report();

  bool wanted() const;
  /// Returns false, and has said why on stderr, if it would be written over the module, or has no name for the
  /// trace.
  bool check(llvm::StringRef input, llvm::StringRef output) const;
  /// Listens to the passes that `config` will run.
  void attach(mlir::MlirOptMainConfig &config);
  /// After the passes. `input`: name of the file that they have read. Returns false,
  /// and has said why on stderr, if there is nothing to report or a file cannot be
  /// written.
  bool write(llvm::StringRef input);

private:
  struct State;
  std::shared_ptr<State> state;
};

/// As mlir::MlirOptMain of files, of which the input must not be nested too deeply, then
/// the report if it is wanted. Returns the exit status.
int optimize(Report &report, llvm::StringRef input, llvm::StringRef output,
             mlir::DialectRegistry &registry);

} // namespace commsched

#endif // COMMSCHED_TOOLS_CS_OPT_REPORT_H
