// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The emulation of CUDA finds faults of kernels, and none where there are none.
#include <cuda_runtime_api.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/ops/cuda_emulation_check.h"
#include "tests/ops/cuda_emulation_kernels.h"

namespace commsched::testing::cuda {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class CudaEmulationTest : public ::testing::Test {
 protected:
  void SetUp() override {
    void *p = nullptr;
    cudaMalloc(&p, kPlantedWords * sizeof(uint32_t));
    memory_ = static_cast<uint32_t *>(p);
    cudaMemsetAsync(p, 0, (kPlantedBlocks + 2) * sizeof(uint32_t), nullptr);
  }
  void TearDown() override { cudaFree(memory_); }
  std::vector<std::string> Run(Planted planted) {
    TakeFindings();
    RunPlanted(planted, memory_, nullptr);
    return TakeFindings();
  }
  uint32_t *memory_ = nullptr;
};

TEST_F(CudaEmulationTest, FindsNothingWrongInWhatIsRight) {
  EXPECT_THAT(Run(Planted::kBarrier), IsEmpty());
  EXPECT_EQ(memory_[0], kPlantedBlocks * kPlantedThreads * (kPlantedThreads - 1u));
  memory_[0] = 0;
  for (Planted planted : {Planted::kTicket, Planted::kTicketFencedByOne}) {
    memory_[0] = memory_[kPlantedBlocks + 1] = 0;
    EXPECT_THAT(Run(planted), IsEmpty());
    EXPECT_EQ(memory_[0], kPlantedBlocks * (kPlantedBlocks - 1u) / 2);
  }
  memory_[0] = 0;
  EXPECT_THAT(Run(Planted::kAtomics), IsEmpty());
  EXPECT_EQ(memory_[0], kPlantedBlocks * uint32_t{kPlantedThreads});
}

TEST_F(CudaEmulationTest, BlocksTakeTurns) {
  EXPECT_THAT(Run(Planted::kWait), IsEmpty());
  EXPECT_EQ(memory_[0], 2);
  EXPECT_EQ(memory_[1], 0);
  EXPECT_EQ(memory_[2], 1);
}

TEST_F(CudaEmulationTest, WhatOneBlockKnowsTheNextOneDoes) {
  EXPECT_THAT(Run(Planted::kChain), IsEmpty());
  EXPECT_EQ(memory_[0], 17);
  std::fill_n(memory_, kPlantedBlocks, 0);
  EXPECT_THAT(Run(Planted::kChainWithoutFence), Contains(HasSubstr("race: ")));
}

TEST_F(CudaEmulationTest, FindsRaces) {
  for (Planted planted :
       {Planted::kNoBarrier, Planted::kShuffleInsteadOfBarrier, Planted::kReadThenWrite})
    EXPECT_THAT(Run(planted), Contains(::testing::AllOf(HasSubstr("race: "),
                                                        HasSubstr("shared memory"))))
        << int(planted);
  for (Planted planted :
       {Planted::kTicketWithoutFence, Planted::kTicketWithoutFenceBehind,
        Planted::kTicketWithoutBarrier, Planted::kTicketWithoutBarrierBehind,
        Planted::kBlocksWriteOneWord, Planted::kAtomicAndWrite}) {
    memory_[kPlantedBlocks + 1] = 0;
    EXPECT_THAT(Run(planted),
                Contains(::testing::AllOf(HasSubstr("race: "), HasSubstr(" of memory "))))
        << int(planted);
  }
}

TEST_F(CudaEmulationTest, FindsReadsOfWhatWasNotWritten) {
  EXPECT_THAT(Run(Planted::kUnwritten), Contains(HasSubstr("reads what was not written")));
  EXPECT_THAT(Run(Planted::kUnwrittenShared), Contains(HasSubstr("reads what was not written")));
}

TEST_F(CudaEmulationTest, FindsAccessesOutsideOfMemory) {
  EXPECT_THAT(Run(Planted::kBehindMemory), Contains(HasSubstr("4 bytes outside of memory")));
  EXPECT_THAT(Run(Planted::kNotAligned), Contains(HasSubstr("not aligned")));
}

TEST_F(CudaEmulationTest, FindsThreadsThatWaitForOthersInVain) {
  EXPECT_THAT(Run(Planted::kBarrierOfSome), Contains(HasSubstr("others that do not come")));
  memory_[0] = 0;
  EXPECT_THAT(Run(Planted::kWaitInVain), Contains(HasSubstr("others that do not come")));
  EXPECT_THAT(Run(Planted::kDifferentWarpOperations),
              Contains(HasSubstr("different shuffles or votes")));
}

TEST_F(CudaEmulationTest, CopiesStayWithinMemory) {
  uint32_t number = 0;
  EXPECT_EQ(cudaMemcpy(&number, memory_ + kPlantedWords, 4, cudaMemcpyDeviceToHost),
            cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemsetAsync(memory_ + kPlantedWords - 1, 0, 8, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(TakeFindings().size(), 2);
}

TEST_F(CudaEmulationTest, ACapturedStreamRunsWhenItsGraphIsLaunched) {
  cudaStream_t stream;
  cudaGraph_t graph;
  uint32_t number = 7;
  ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
  ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), cudaSuccess);
  RunPlanted(Planted::kAtomics, memory_, stream);
  EXPECT_EQ(cudaMemcpy(&number, memory_, 4, cudaMemcpyDeviceToHost),
            cudaErrorStreamCaptureUnsupported);
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaErrorStreamCaptureUnsupported);
  ASSERT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
  EXPECT_EQ(TakeFindings().size(), 2);
  EXPECT_EQ(memory_[0], 0);
  for (uint32_t times : {1, 2}) {
    ASSERT_EQ(cudaGraphLaunch(graph, stream), cudaSuccess);
    EXPECT_EQ(memory_[0], times * kPlantedBlocks * kPlantedThreads);
  }
  cudaGraphDestroy(graph);
  cudaStreamDestroy(stream);
}

}  // namespace
}  // namespace commsched::testing::cuda
