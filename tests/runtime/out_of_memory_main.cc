// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An exception of a process without memory goes through a function of the C library, which cleans up
// behind it, and is caught: status 0. A program of its own, as tests have often unwound before.
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <new>

#include "runtime/base/out_of_memory.h"

int main() {
  using commsched::runtime::Abort;
  commsched::runtime::EndWhenOutOfMemory([](const char *) { _exit(3); }, Abort::kTake);
  const rlimit none = {0, 0};
  if (setrlimit(RLIMIT_AS, &none) != 0) return 2;
  for (size_t size = 1 << 20; size > 0; size /= 2)
    while (void *volatile taken = std::malloc(size)) (void)taken;
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  try {
    pthread_once(&once, [] { throw std::bad_alloc(); });
  } catch (const std::bad_alloc &) {
    _exit(0);
  }
  _exit(2);
}
