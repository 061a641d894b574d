// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels with faults, which the emulation is to find, and without.
#ifndef COMMSCHED_TESTS_OPS_CUDA_EMULATION_KERNELS_H
#define COMMSCHED_TESTS_OPS_CUDA_EMULATION_KERNELS_H

#include <cuda_runtime_api.h>

#include <cstdint>

namespace commsched::testing::cuda {

inline constexpr int kPlantedThreads = 64;
inline constexpr int kPlantedBlocks = 5;
// Of memory; the first kPlantedBlocks + 2 are 0, the others not written.
inline constexpr int kPlantedWords = 64;

enum class Planted {
  // Right ones.
  kBarrier,
  kTicket,
  kTicketFencedByOne,
  kAtomics,
  kChain,
  kWait,
  // Neighbours in shared memory.
  kNoBarrier,
  kShuffleInsteadOfBarrier,
  kReadThenWrite,
  // Blocks that add up what others left.
  kTicketWithoutFence,
  kTicketWithoutFenceBehind,
  kTicketWithoutBarrier,
  kTicketWithoutBarrierBehind,
  kBlocksWriteOneWord,
  kAtomicAndWrite,
  // The last block reads what the first left, and knows it of the second.
  kChainWithoutFence,
  // Others.
  kWaitInVain,
  kUnwritten,
  kUnwrittenShared,
  kBehindMemory,
  kNotAligned,
  kBarrierOfSome,
  kDifferentWarpOperations,
};

void RunPlanted(Planted planted, uint32_t *memory, cudaStream_t stream);

}  // namespace commsched::testing::cuda

#endif  // COMMSCHED_TESTS_OPS_CUDA_EMULATION_KERNELS_H
