// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "bench/top_k_cub.h"

#if __has_include(<cub/device/device_topk.cuh>)
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

#include <cub/device/device_topk.cuh>
#define COMMSCHED_HAS_CUB_TOP_K
#endif

namespace commsched::bench {

#ifdef COMMSCHED_HAS_CUB_TOP_K
struct Magnitude {
  __host__ __device__ float operator()(float v) const { return v < 0 ? -v : v; }
};
#endif

cudaError_t CubTopK(void *scratch, size_t *bytes, const float *x, int64_t size, int64_t k,
                    float *magnitudes, int32_t *indices, cudaStream_t stream) {
#ifdef COMMSCHED_HAS_CUB_TOP_K
  const auto requirements = cuda::execution::require(cuda::execution::determinism::not_guaranteed,
                                                     cuda::execution::output_ordering::unsorted);
  const auto environment = cuda::std::execution::env{cuda::stream_ref{stream}, requirements};
  return cub::DeviceTopK::MaxPairs(scratch, *bytes, thrust::make_transform_iterator(x, Magnitude{}),
                                   magnitudes, thrust::counting_iterator<int32_t>(0), indices, size,
                                   k, environment);
#else
  return cudaErrorNotSupported;
#endif
}

}  // namespace commsched::bench
