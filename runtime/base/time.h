// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The machines of runtime/core know no clock: they are told when something
// happens. In a run that is the steady clock's time, in a simulation a virtual
// one.
#ifndef COMMSCHED_RUNTIME_BASE_TIME_H
#define COMMSCHED_RUNTIME_BASE_TIME_H

#include <cstdint>

namespace commsched::runtime {

using Time = int64_t;  // nanoseconds since any origin

}  // namespace commsched::runtime

#endif  // COMMSCHED_RUNTIME_BASE_TIME_H
