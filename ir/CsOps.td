// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// All ops of the dialect, for the generators.
include "ir/CsScheduleOps.td"
include "ir/CsServerOps.td"
include "ir/CsRowOps.td"
