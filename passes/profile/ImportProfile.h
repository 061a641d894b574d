// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef COMMSCHED_PASSES_PROFILE_IMPORTPROFILE_H
#define COMMSCHED_PASSES_PROFILE_IMPORTPROFILE_H

namespace commsched {

/// Registers --import-pipedream, --import-kungfu and --import-aicb, and their
/// options, with cs-translate.
void registerProfileTranslations();

} // namespace commsched

#endif // COMMSCHED_PASSES_PROFILE_IMPORTPROFILE_H
