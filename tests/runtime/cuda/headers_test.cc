// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Our declarations of NVIDIA's functions, types and numbers beside those of its headers, of those
// headers that are here. All of it is said when this file is compiled.
#include <cuda.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdio>
#include <tuple>
#include <type_traits>

#include "runtime/cuda/driver_api.h"
#include "runtime/cuda/library_apis.h"
#include "runtime/cuda/nccl_api.h"
#if __has_include(<nccl.h>)
#include <nccl.h>
#define COMMSCHED_HAS_NCCL 1
#else
#define COMMSCHED_HAS_NCCL 0
#endif
#if __has_include(<cublasLt.h>)
#include <cublasLt.h>
#define COMMSCHED_HAS_CUBLASLT 1
#else
#define COMMSCHED_HAS_CUBLASLT 0
#endif
#if __has_include(<cudnn.h>)
#include <cudnn.h>
#define COMMSCHED_HAS_CUDNN 1
#else
#define COMMSCHED_HAS_CUDNN 0
#endif

namespace commsched::runtime::cuda {
namespace {

// How a type is passed: a pointer, a number of so many bytes, a struct of so many bytes.
template <size_t bytes>
struct Number {};
template <size_t bytes>
struct Struct {};
template <typename T>
using Passed = std::conditional_t<std::is_pointer_v<T>, void *,
                                  std::conditional_t<std::is_integral_v<T> || std::is_enum_v<T>,
                                                     Number<sizeof(T)>, Struct<sizeof(T)>>>;
template <typename F>
struct Call;
template <typename R, typename... A>
struct Call<R (*)(A...)> {
  using Type = std::tuple<Passed<R>, Passed<A>...>;
};
template <typename Ours, typename Theirs>
constexpr bool kAlike = std::is_same_v<typename Call<Ours>::Type, typename Call<Theirs>::Type>;

static_assert(kAlike<int (*)(void *), CUresult (*)(const char *)>);
static_assert(!kAlike<int (*)(void *), int (*)(int)>);
static_assert(!kAlike<int (*)(size_t), int (*)(int)>);
static_assert(!kAlike<int (*)(int), int (*)(int, int)>);

#define COMMSCHED_TEST_ALIKE(name, symbol, parameters) \
  static_assert(kAlike<decltype(DriverApi::name), decltype(&::symbol)>, #symbol);
COMMSCHED_CUDA_DRIVER_FUNCTIONS(COMMSCHED_TEST_ALIKE)
#undef COMMSCHED_TEST_ALIKE
static_assert(int(DriverResult::kSuccess) == CUDA_SUCCESS);
static_assert(int(DriverResult::kInvalidValue) == CUDA_ERROR_INVALID_VALUE);
static_assert(int(DriverResult::kNotInitialized) == CUDA_ERROR_NOT_INITIALIZED);
static_assert(int(DriverResult::kNoDevice) == CUDA_ERROR_NO_DEVICE);
static_assert(int(DriverResult::kInvalidHandle) == CUDA_ERROR_INVALID_HANDLE);
static_assert(int(DriverResult::kNotReady) == CUDA_ERROR_NOT_READY);
static_assert(std::is_same_v<Device, CUdevice> && sizeof(DevicePtr) == sizeof(CUdeviceptr));
static_assert(kStreamNonBlocking == CU_STREAM_NON_BLOCKING);
static_assert(kEventDisableTiming == CU_EVENT_DISABLE_TIMING);
static_assert(kWaitValueGreaterEqual == CU_STREAM_WAIT_VALUE_GEQ);
static_assert(kHostAllocPortable == CU_MEMHOSTALLOC_PORTABLE);
static_assert(kComputeCapabilityMajor == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
static_assert(kComputeCapabilityMinor == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);

#if COMMSCHED_HAS_NCCL
#define COMMSCHED_TEST_ALIKE(result, name, symbol, parameters) \
  static_assert(kAlike<decltype(NcclApi::name), decltype(&::symbol)>, #symbol);
COMMSCHED_CUDA_NCCL_FUNCTIONS(COMMSCHED_TEST_ALIKE)
#undef COMMSCHED_TEST_ALIKE
static_assert(sizeof(NcclUniqueId) == sizeof(ncclUniqueId));
static_assert(int(NcclResult::kSuccess) == ncclSuccess);
static_assert(int(NcclResult::kUnhandledCudaError) == ncclUnhandledCudaError);
static_assert(int(NcclResult::kSystemError) == ncclSystemError);
static_assert(int(NcclResult::kInternalError) == ncclInternalError);
static_assert(int(NcclResult::kInvalidArgument) == ncclInvalidArgument);
static_assert(int(NcclResult::kInvalidUsage) == ncclInvalidUsage);
static_assert(int(NcclResult::kRemoteError) == ncclRemoteError);
static_assert(int(NcclResult::kInProgress) == ncclInProgress);
static_assert(int(NcclType::kInt32) == ncclInt32 && int(NcclType::kInt64) == ncclInt64);
static_assert(int(NcclType::kFloat16) == ncclFloat16 && int(NcclType::kFloat32) == ncclFloat32);
static_assert(int(NcclType::kFloat64) == ncclFloat64 && int(NcclType::kBfloat16) == ncclBfloat16);
static_assert(int(NcclReduction::kSum) == ncclSum && int(NcclReduction::kMax) == ncclMax);
static_assert(int(NcclReduction::kMin) == ncclMin && int(NcclReduction::kMean) == ncclAvg);
static_assert(kNcclWindowSymmetric == NCCL_WIN_COLL_SYMMETRIC);
static_assert(kNcclWindowAlignment == NCCL_WIN_REQUIRED_ALIGNMENT);
// Ours is a beginning of theirs.
static_assert(sizeof(NcclConfig) <= sizeof(ncclConfig_t));
static_assert(offsetof(NcclConfig, blocking) == offsetof(ncclConfig_t, blocking));
static_assert(offsetof(NcclConfig, max_ctas) == offsetof(ncclConfig_t, maxCTAs));
static_assert(offsetof(NcclConfig, net_name) == offsetof(ncclConfig_t, netName));
static_assert(offsetof(NcclConfig, comm_name) == offsetof(ncclConfig_t, commName));
static_assert(offsetof(NcclConfig, cta_policy) == offsetof(ncclConfig_t, CTAPolicy));
static_assert(offsetof(NcclConfig, nvls_ctas) == offsetof(ncclConfig_t, nvlsCTAs));
#endif

#if COMMSCHED_HAS_CUBLASLT
#define COMMSCHED_TEST_ALIKE(result, name, symbol, parameters) \
  static_assert(kAlike<decltype(CublasLtApi::name), decltype(&::symbol)>, #symbol);
COMMSCHED_CUDA_CUBLASLT_FUNCTIONS(COMMSCHED_TEST_ALIKE)
#undef COMMSCHED_TEST_ALIKE
static_assert(sizeof(CublasLtAlgorithm) == sizeof(cublasLtMatmulAlgo_t));
static_assert(sizeof(CublasLtHeuristic) == sizeof(cublasLtMatmulHeuristicResult_t));
static_assert(offsetof(CublasLtHeuristic, workspace_bytes) ==
              offsetof(cublasLtMatmulHeuristicResult_t, workspaceSize));
static_assert(offsetof(CublasLtHeuristic, status) ==
              offsetof(cublasLtMatmulHeuristicResult_t, state));
static_assert(kCublasSuccess == CUBLAS_STATUS_SUCCESS);
static_assert(kCudaF32 == CUDA_R_32F && kCudaF64 == CUDA_R_64F);
static_assert(kCudaF16 == CUDA_R_16F && kCudaBf16 == CUDA_R_16BF);
static_assert(kCublasComputeF32 == CUBLAS_COMPUTE_32F && kCublasComputeF64 == CUBLAS_COMPUTE_64F);
static_assert(kCublasAsItIs == CUBLAS_OP_N && kCublasTransposed == CUBLAS_OP_T);
static_assert(kOperationTransposeA == CUBLASLT_MATMUL_DESC_TRANSA);
static_assert(kOperationTransposeB == CUBLASLT_MATMUL_DESC_TRANSB);
static_assert(kLayoutBatchCount == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT);
static_assert(kLayoutBatchStride == CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET);
static_assert(kPreferenceWorkspaceBytes == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES);
static_assert(kPreferenceReductions == CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK);
static_assert(kPreferenceAlignmentA == CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES);
static_assert(kPreferenceAlignmentB == CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES);
static_assert(kPreferenceAlignmentC == CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES);
static_assert(kPreferenceAlignmentD == CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES);
static_assert(kReductionInComputeType == CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE);
// What it has been compiled with: defaults that are counted on.
static_assert(CUBLASLT_ORDER_COL == 0 && CUBLASLT_POINTER_MODE_HOST == 0);
#endif

#if COMMSCHED_HAS_CUDNN
#define COMMSCHED_TEST_ALIKE(result, name, symbol, parameters) \
  static_assert(kAlike<decltype(CudnnApi::name), decltype(&::symbol)>, #symbol);
COMMSCHED_CUDA_CUDNN_FUNCTIONS(COMMSCHED_TEST_ALIKE)
#undef COMMSCHED_TEST_ALIKE
#endif

TEST(CudaHeaders, SayTheSame) {
  const auto compared = [](const char *what, bool here) {
    std::printf("%s: %s\n", what, here ? "compared" : "no header here");
  };
  compared("driver", true);
  compared("NCCL", COMMSCHED_HAS_NCCL);
  compared("cuBLASLt", COMMSCHED_HAS_CUBLASLT);
  compared("cuDNN", COMMSCHED_HAS_CUDNN);
}

}  // namespace
}  // namespace commsched::runtime::cuda
