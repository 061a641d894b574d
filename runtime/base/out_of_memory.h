// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// When the process may have no more memory or threads (`ulimit -v`, a container's limits). The C++
// library, gRPC and what they use can only abort then, wherever they are.
#ifndef COMMSCHED_RUNTIME_BASE_OUT_OF_MEMORY_H
#define COMMSCHED_RUNTIME_BASE_OUT_OF_MEMORY_H

namespace commsched::runtime {

// What could not be had now if it were asked for, as a message; nullptr if all could. Safe in a handler
// of signals. The text stays.
const char *WhatIsMissing();

enum class Abort {
  kLeave,
  kTake
};

// From now on a process that is out of memory or threads ends with status 1, after say(WhatIsMissing()).
// `say` must neither allocate nor lock; it is called once. Other exceptions that nobody catches end
// as before. kTake: signals of programs that have not got what they need, too, where nobody
// handles them yet.
void EndWhenOutOfMemory(void (*say)(const char *message), Abort signals);

// Of a library that is about to abort, with what it says: where signals are taken, this ends the
// process in place of it, with WhatIsMissing() or, as that may be there again, with `text`.
void EndInsteadOfAbort(const char *text);

}  // namespace commsched::runtime

#endif  // COMMSCHED_RUNTIME_BASE_OUT_OF_MEMORY_H
