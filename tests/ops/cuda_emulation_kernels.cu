// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tests/ops/cuda_emulation_kernels.h"

namespace commsched::testing::cuda {
namespace {

__global__ void Neighbours(Planted planted, uint32_t *memory) {
  __shared__ uint32_t numbers[kPlantedThreads];
  const unsigned t = threadIdx.x;
  numbers[t] = t;
  if (planted == Planted::kBarrier || planted == Planted::kReadThenWrite) __syncthreads();
  uint32_t sum = t;
  if (planted == Planted::kShuffleInsteadOfBarrier) sum = __shfl_sync(0xffffffffu, sum, 0);
  sum += numbers[t ^ 1];
  if (planted == Planted::kReadThenWrite) numbers[t] = sum;
  atomicAdd(memory, sum);
}

// Each block leaves a number, the last adds them up.
__global__ void AddUp(Planted planted, uint32_t *memory) {
  __shared__ bool last;
  uint32_t *left = memory + 1, *ticket = memory + kPlantedBlocks + 1;
  const bool by_one = planted == Planted::kTicketFencedByOne;
  if (threadIdx.x == 5) left[blockIdx.x] = blockIdx.x;
  if (planted != Planted::kTicketWithoutFence && !by_one) __threadfence();
  if (planted != Planted::kTicketWithoutBarrier) __syncthreads();
  if (threadIdx.x == 0) {
    if (by_one) __threadfence();
    last = atomicAdd(ticket, 1u) == kPlantedBlocks - 1;
    if (planted == Planted::kTicketWithoutBarrierBehind)
      for (int i = 0; last && i < kPlantedBlocks; ++i) memory[0] += left[i];
  }
  __syncthreads();
  if (planted != Planted::kTicketWithoutFenceBehind) __threadfence();
  if (planted == Planted::kTicketWithoutBarrierBehind || !last || threadIdx.x != 7) return;
  for (int i = 0; i < kPlantedBlocks; ++i) memory[0] += left[i];
}

__device__ void WaitUntil(uint32_t *number, uint32_t value) {
  while (EmulateAtomicLoad(number) != value) EmulatePause();
}
// Each block hands on to the next; only the first leaves a number, which the last reads.
__global__ void HandOn(Planted planted, uint32_t *memory) {
  const bool fences = planted != Planted::kChainWithoutFence || blockIdx.x != 2;
  if (threadIdx.x == 0 && blockIdx.x != 0) WaitUntil(memory + blockIdx.x, 1);
  if (threadIdx.x == 0 && blockIdx.x == 0) memory[kPlantedBlocks] = 17;
  __syncthreads();
  if (fences) __threadfence();
  __syncthreads();
  if (threadIdx.x != 0) return;
  if (blockIdx.x + 1 != kPlantedBlocks)
    atomicAdd(memory + blockIdx.x + 1, 1u);
  else
    memory[0] = memory[kPlantedBlocks];
}
// Blocks that run at once, with numbers in shared memory, each of its own.
__global__ void WaitForBlocks(uint32_t *memory, uint32_t blocks) {
  __shared__ uint32_t number;
  if (threadIdx.x == 0) number = blockIdx.x;
  __syncthreads();
  if (blockIdx.x >= 2) return;
  if (threadIdx.x == 0) {
    atomicAdd(memory, 1u);
    WaitUntil(memory, blocks);
  }
  __syncthreads();
  if (threadIdx.x == 1) memory[1 + blockIdx.x] = number;
}
__global__ void WriteOneWord(uint32_t *memory) {
  if (threadIdx.x == 0) memory[0] = 3;
}
__global__ void AddOrWrite(Planted planted, uint32_t *memory) {
  if (planted == Planted::kAtomics || blockIdx.x != 1)
    atomicAdd(memory, 1u);
  else if (threadIdx.x == 0)
    memory[0] = 0;
}
__global__ void ReadWord(uint32_t *memory, int word) {
  if (threadIdx.x == 0) atomicAdd(memory, memory[word]);
}
__global__ void ReadShared(uint32_t *memory) {
  __shared__ uint32_t number;
  // Of the first block only.
  if (threadIdx.x == 0 && blockIdx.x == 0) number = 1;
  __syncthreads();
  atomicAdd(memory, number);
}
__global__ void WriteWord(char *memory, size_t byte) {
  if (threadIdx.x == 0 && blockIdx.x == 0) *reinterpret_cast<uint32_t *>(memory + byte) = 1;
}
__global__ void SomeBarrier(uint32_t *memory) {
  if (threadIdx.x >= 40) return;
  __syncthreads();
  atomicAdd(memory, 1u);
}
__global__ void Differ(uint32_t *memory) {
  uint32_t sum = 0;
  if (threadIdx.x % 32 < 16)
    sum = __ballot_sync(0xffffffffu, true);
  else
    sum = __shfl_sync(0xffffffffu, 1u, 0);
  atomicAdd(memory, sum);
}

}  // namespace

void RunPlanted(Planted planted, uint32_t *memory, cudaStream_t stream) {
  const auto launch = [stream](auto kernel, auto... arguments) {
    EmulateLaunch(stream, kernel, uint32_t{kPlantedBlocks}, kPlantedThreads, arguments...);
  };
  switch (planted) {
    case Planted::kBarrier:
    case Planted::kNoBarrier:
    case Planted::kShuffleInsteadOfBarrier:
    case Planted::kReadThenWrite:
      return launch(Neighbours, planted, memory);
    case Planted::kTicket:
    case Planted::kTicketFencedByOne:
    case Planted::kTicketWithoutFence:
    case Planted::kTicketWithoutFenceBehind:
    case Planted::kTicketWithoutBarrier:
    case Planted::kTicketWithoutBarrierBehind:
      return launch(AddUp, planted, memory);
    case Planted::kChain:
    case Planted::kChainWithoutFence:
      return launch(HandOn, planted, memory);
    case Planted::kWait:
    case Planted::kWaitInVain:
      return launch(WaitForBlocks, memory, planted == Planted::kWait ? 2u : 3u);
    case Planted::kBlocksWriteOneWord:
      return launch(WriteOneWord, memory);
    case Planted::kAtomics:
    case Planted::kAtomicAndWrite:
      return launch(AddOrWrite, planted, memory);
    case Planted::kUnwritten:
      return launch(ReadWord, memory, kPlantedWords - 1);
    case Planted::kUnwrittenShared:
      return launch(ReadShared, memory);
    case Planted::kBehindMemory:
      return launch(WriteWord, reinterpret_cast<char *>(memory), kPlantedWords * sizeof(uint32_t));
    case Planted::kNotAligned:
      return launch(WriteWord, reinterpret_cast<char *>(memory), size_t{6});
    case Planted::kBarrierOfSome:
      return launch(SomeBarrier, memory);
    case Planted::kDifferentWarpOperations:
      return launch(Differ, memory);
  }
}

}  // namespace commsched::testing::cuda
