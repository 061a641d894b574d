// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What options of MLIR and LLVM are in all tools.

#ifndef COMMSCHED_TOOLS_SUPPORT_TOOLOPTIONS_H
#define COMMSCHED_TOOLS_SUPPORT_TOOLOPTIONS_H

#include "llvm/ADT/ArrayRef.h"

#include <string>

namespace mlir {
class MLIRContext;
}

namespace commsched {

/// Diagnostics do not repeat the op that they are about, which may be a whole module,
/// unless --mlir-print-op-on-diagnostic asks for it. Before options are parsed, or while
/// they are: one that has been given stays.
void leaveOpsOutOfDiagnostics();
/// What the option says then.
bool wantsOpsInDiagnostics();

/// Empty, or what is wrong with one of `names`, options that a tool has itself: it is there twice, of which LLVM takes
/// the last, or says nothing ("--report="). `words`: the command line, after it was parsed.
std::string checkOwnOptions(llvm::ArrayRef<const char *> names, llvm::ArrayRef<char *> words);

/// Empty, or that `option` wants to write `file` over what the tool has read or writes, of which `what` is the name.
std::string checkOtherFile(llvm::StringRef option, llvm::StringRef file, llvm::StringRef what, llvm::StringRef other);

/// An error that is at no place of a file, such as what is wrong with an option of a pass, is one line, "error: ...".
void tellWithoutPlaces(mlir::MLIRContext &context);

/// --version prints the version of CommSched, not that of LLVM alone. `tool` must stay.
void printOwnVersion(const char *tool);

} // namespace commsched

#endif // COMMSCHED_TOOLS_SUPPORT_TOOLOPTIONS_H
