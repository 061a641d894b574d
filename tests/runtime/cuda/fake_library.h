// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What fakes of libraries have in common: memory, and work of streams.
#ifndef COMMSCHED_TESTS_RUNTIME_CUDA_FAKE_LIBRARY_H
#define COMMSCHED_TESTS_RUNTIME_CUDA_FAKE_LIBRARY_H

#include <cstddef>

#include "runtime/cuda/driver_api.h"
#include "tests/runtime/cuda/fake_machine.h"

namespace commsched::runtime::cuda {

// Puts `work` into a stream. False, which is a finding, if it uses memory that is not there.
bool EnqueueLibraryWork(FakeWork work, Stream stream);

// A finding if `pointer` has less than the alignment that was promised.
void CheckAlignment(const void *pointer, size_t alignment, const char *what);

}  // namespace commsched::runtime::cuda

#endif  // COMMSCHED_TESTS_RUNTIME_CUDA_FAKE_LIBRARY_H
