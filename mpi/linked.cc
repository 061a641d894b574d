// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "mpi/functions.h"

namespace commsched::transport::mpi {

absl::StatusOr<const Functions *> FindMpi() { return commsched_mpi_functions(); }

}  // namespace commsched::transport::mpi
