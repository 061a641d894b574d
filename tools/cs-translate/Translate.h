// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef COMMSCHED_TOOLS_CS_TRANSLATE_TRANSLATE_H
#define COMMSCHED_TOOLS_CS_TRANSLATE_TRANSLATE_H

namespace commsched {

/// Reads the command line and runs the one registered translation that it names.
/// Returns the exit status.
int translate(int argc, char **argv);

} // namespace commsched

#endif // COMMSCHED_TOOLS_CS_TRANSLATE_TRANSLATE_H
