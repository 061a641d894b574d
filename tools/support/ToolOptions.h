// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What options of MLIR and LLVM are in all tools.

#ifndef COMMSCHED_TOOLS_SUPPORT_TOOLOPTIONS_H
#define COMMSCHED_TOOLS_SUPPORT_TOOLOPTIONS_H

namespace commsched {

/// Diagnostics do not repeat the op that they are about, which may be a whole module,
/// unless --mlir-print-op-on-diagnostic asks for it. Before options are parsed, or while
/// they are: one that has been given stays.
void leaveOpsOutOfDiagnostics();
/// What the option says then.
bool wantsOpsInDiagnostics();

/// --version prints the version of CommSched, not that of LLVM alone. `tool` must stay.
void printOwnVersion(const char *tool);

} // namespace commsched

#endif // COMMSCHED_TOOLS_SUPPORT_TOOLOPTIONS_H
