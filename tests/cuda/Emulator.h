// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels of passes/cuda on the CPU: threads are fibers, of several blocks at a time, which
// change where they wait, in an order that a seed gives. What is right only in some orders is
// found: words of shared memory that two threads use without a barrier in between, words that
// nobody wrote, barriers and shuffles that some threads do not come to.

#ifndef COMMSCHED_TESTS_CUDA_EMULATOR_H
#define COMMSCHED_TESTS_CUDA_EMULATOR_H

#include <cstdint>
#include <functional>
#include <map>
#include <string>

namespace commsched::cudatest {

struct Launch {
  unsigned grid = 1, block = 1, sharedBytes = 0;
};

/// Runs `kernel` for every thread. The first fault, or nothing. One at a time.
std::string emulate(const Launch &launch, const std::function<void()> &kernel, uint64_t seed);

/// The same of a kernel whose threads never wait for each other, much faster: one after the other,
/// blocks and threads in an order that the seed gives.
std::string emulateAlone(const Launch &launch, const std::function<void()> &kernel, uint64_t seed);

/// What kernels ask of the device (passes/cuda/Stages.h), by name.
const std::map<std::string, void *> &deviceFunctions();

} // namespace commsched::cudatest

#endif // COMMSCHED_TESTS_CUDA_EMULATOR_H
