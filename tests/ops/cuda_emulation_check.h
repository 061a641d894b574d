// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What compute-sanitizer would say, of kernels in the emulation: accesses outside of
// memory, reads of what nobody wrote, and races, in shared memory and between blocks.
// A race is two accesses to the same bytes by two threads, one of them a write and not
// both atomic, that nothing orders: not whether something went wrong, but whether it
// could. What orders is what CUDA promises:
//
// - a barrier, the threads of its block;
// - between blocks, atomic operations on one address: what was before a barrier of the
//   first block, with a fence of all threads in front of the barrier or of its own
//   behind, is before what threads of the second do behind a fence, with a barrier in
//   front of it if it is not their own operation; and what was before that in turn;
// - the end of a kernel.
//
// Shuffles and votes do not order memory. Of each four bytes the last few accesses are
// remembered, so a race may be missed among many, but none is made up.
#ifndef COMMSCHED_TESTS_OPS_CUDA_EMULATION_CHECK_H
#define COMMSCHED_TESTS_OPS_CUDA_EMULATION_CHECK_H

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace commsched::testing::cuda {

// Memory of the device: what kernels may touch beside shared memory.
void AddMemory(void *begin, size_t bytes);
void RemoveMemory(void *begin);
bool IsInMemory(const void *begin, size_t bytes);
// Whether it is a variable of the program, as shared memory is in the emulation.
bool IsShared(const void *p);
// By the host, or a copy on a stream.
void SetWritten(void *begin, size_t bytes);

void CheckLaunch(unsigned blocks);
// `stacks`: of the threads, each kStack bytes.
inline constexpr size_t kStack = 64 << 10;
// A block begins, in a place where there is none.
void CheckBlock(unsigned slot, unsigned block, unsigned threads);
// What comes is of the block in this place, with its own shared memory.
void CheckTurn(unsigned slot);
void CheckBarrier();  // of all threads of the block
void CheckFence(unsigned thread);
enum class AtomicKind {
  kReads,
  kChanges,
  kWrites,  // whatever was there before
};
void CheckAtomic(unsigned thread, const void *p, size_t bytes, AtomicKind kind);

// While a thread is in a kernel its accesses are checked.
void EnterKernel(unsigned thread, const char *stack);
void LeaveKernel();

void AddFinding(const std::string &finding);
// What was found since the last call; some, if it is much.
std::vector<std::string> TakeFindings();

}  // namespace commsched::testing::cuda

#endif  // COMMSCHED_TESTS_OPS_CUDA_EMULATION_CHECK_H
