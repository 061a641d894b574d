// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cub::DeviceTopK, if nvcc finds a CCCL that has it (3.2 or later).
#ifndef COMMSCHED_BENCH_TOP_K_CUB_H
#define COMMSCHED_BENCH_TOP_K_CUB_H

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

namespace commsched::bench {

// The k largest of |x| and their indices, in no order, on the stream. With
// scratch null only sets *bytes. cudaErrorNotSupported without CUB.
cudaError_t CubTopK(void *scratch, size_t *bytes, const float *x, int64_t size, int64_t k,
                    float *magnitudes, int32_t *indices, cudaStream_t stream);

}  // namespace commsched::bench

#endif  // COMMSCHED_BENCH_TOP_K_CUB_H
