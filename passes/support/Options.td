// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef COMMSCHED_PASSES_SUPPORT_OPTIONS_TD
#define COMMSCHED_PASSES_SUPPORT_OPTIONS_TD

include "mlir/Pass/PassBase.td"

// A pass whose options are checked before MLIR reads them (CheckedPass.h).
class CsPass<string argument> : PassBase<argument, "::commsched::CheckedPass">;

// An option whose text says its default, in --help and in docs/reference.
class CsOption<string name, string argument, string type, string default, string text>
    : Option<name, argument, type, default,
             text # " (default " # !if(!eq(!subst("\"", "", default), ""), "none",
                                       !subst("\"", "", default)) # ")">;

#endif // COMMSCHED_PASSES_SUPPORT_OPTIONS_TD
