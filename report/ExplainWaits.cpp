// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "report/Document.h"

namespace commsched::report {

void explainWaits(Timeline &timeline, Strings &strings) {}

} // namespace commsched::report
