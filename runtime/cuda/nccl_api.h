// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The functions of NCCL that the runtime calls, and their types; as driver_api.h.
#ifndef COMMSCHED_RUNTIME_CUDA_NCCL_API_H
#define COMMSCHED_RUNTIME_CUDA_NCCL_API_H

#include <climits>
#include <cstddef>

#include "runtime/cuda/driver_api.h"

namespace commsched::runtime::cuda {

enum class NcclResult : int {
  kSuccess = 0,
  kUnhandledCudaError = 1,
  kSystemError = 2,
  kInternalError = 3,
  kInvalidArgument = 4,
  kInvalidUsage = 5,
  kRemoteError = 6,
  kInProgress = 7,
};
enum class NcclType : int {
  kInt32 = 2,
  kInt64 = 4,
  kFloat16 = 6,
  kFloat32 = 7,
  kFloat64 = 8,
  kBfloat16 = 9
};
enum class NcclReduction : int {
  kSum = 0,
  kMax = 2,
  kMin = 3,
  kMean = 4
};

using NcclComm = struct NcclCommHandle *;
using NcclWindow = struct NcclWindowHandle *;
struct NcclUniqueId {
  char bytes[128];
};

// As of 2.27. A later library takes what its own is longer by as not set.
struct NcclConfig {
  size_t size = sizeof(NcclConfig);
  unsigned magic = 0xcafebeef;
  unsigned version = 22700;
  int blocking = INT_MIN;
  int cga_cluster_size = INT_MIN;
  int min_ctas = INT_MIN;
  int max_ctas = INT_MIN;
  const char *net_name = nullptr;
  int split_share = INT_MIN;
  int traffic_class = INT_MIN;
  const char *comm_name = nullptr;
  int collnet_enable = INT_MIN;
  int cta_policy = INT_MIN;
  int shrink_share = INT_MIN;
  int nvls_ctas = INT_MIN;
};
inline constexpr int kNcclWindowSymmetric = 1;
inline constexpr size_t kNcclWindowAlignment = 4096;

#define COMMSCHED_CUDA_NCCL_FUNCTIONS(F)                                                   \
  F(NcclResult, GetVersion, ncclGetVersion, (int *version))                                \
  F(const char *, GetErrorString, ncclGetErrorString, (NcclResult))                        \
  F(const char *, GetLastError, ncclGetLastError, (NcclComm))                              \
  F(NcclResult, GetUniqueId, ncclGetUniqueId, (NcclUniqueId *))                            \
  F(NcclResult, CommInitRankConfig, ncclCommInitRankConfig,                                \
    (NcclComm *, int ranks, NcclUniqueId, int rank, NcclConfig *))                         \
  F(NcclResult, CommGetAsyncError, ncclCommGetAsyncError, (NcclComm, NcclResult *))        \
  F(NcclResult, CommFinalize, ncclCommFinalize, (NcclComm))                                \
  F(NcclResult, CommDestroy, ncclCommDestroy, (NcclComm))                                  \
  F(NcclResult, CommAbort, ncclCommAbort, (NcclComm))                                      \
  F(NcclResult, CommWindowRegister, ncclCommWindowRegister,                                \
    (NcclComm, void *buffer, size_t bytes, NcclWindow *, int flags))                       \
  F(NcclResult, CommWindowDeregister, ncclCommWindowDeregister, (NcclComm, NcclWindow))    \
  F(NcclResult, MemAlloc, ncclMemAlloc, (void **, size_t bytes))                           \
  F(NcclResult, MemFree, ncclMemFree, (void *))                                            \
  F(NcclResult, AllReduce, ncclAllReduce,                                                  \
    (const void *from, void *to, size_t count, NcclType, NcclReduction, NcclComm, Stream)) \
  F(NcclResult, ReduceScatter, ncclReduceScatter,                                          \
    (const void *from, void *to, size_t count, NcclType, NcclReduction, NcclComm, Stream)) \
  F(NcclResult, AllGather, ncclAllGather,                                                  \
    (const void *from, void *to, size_t count, NcclType, NcclComm, Stream))

struct NcclApi {
#define COMMSCHED_CUDA_MEMBER(result, name, symbol, parameters) result(*name) parameters = nullptr;
  COMMSCHED_CUDA_NCCL_FUNCTIONS(COMMSCHED_CUDA_MEMBER)
#undef COMMSCHED_CUDA_MEMBER
};

}  // namespace commsched::runtime::cuda

#endif  // COMMSCHED_RUNTIME_CUDA_NCCL_API_H
