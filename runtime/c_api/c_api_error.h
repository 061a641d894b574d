// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What cs_last_error() returns, for the files that the C interface is made of.
#ifndef COMMSCHED_RUNTIME_C_API_C_API_ERROR_H
#define COMMSCHED_RUNTIME_C_API_C_API_ERROR_H

#include "absl/status/status.h"

namespace commsched {

// Of this thread. OK clears it.
void SetLastError(const absl::Status &status);

}  // namespace commsched

#endif  // COMMSCHED_RUNTIME_C_API_C_API_ERROR_H
