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
static_assert(kEventDefault == CU_EVENT_DEFAULT && kEventDisableTiming == CU_EVENT_DISABLE_TIMING);
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
static_assert(kCudnnSuccess == CUDNN_STATUS_SUCCESS);
static_assert(kCudnnConvolution == CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
static_assert(kCudnnEngine == CUDNN_BACKEND_ENGINE_DESCRIPTOR);
static_assert(kCudnnEngineConfig == CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
static_assert(kCudnnHeuristics == CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
static_assert(kCudnnPlan == CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
static_assert(kCudnnForward == CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR);
static_assert(kCudnnBackwardFilter == CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR);
static_assert(kCudnnBackwardData == CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR);
static_assert(kCudnnGraph == CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
static_assert(kCudnnVariantPack == CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
static_assert(kCudnnTensor == CUDNN_BACKEND_TENSOR_DESCRIPTOR);
static_assert(kConvolutionComputeType == CUDNN_ATTR_CONVOLUTION_COMP_TYPE);
static_assert(kConvolutionMode == CUDNN_ATTR_CONVOLUTION_CONV_MODE);
static_assert(kConvolutionDilations == CUDNN_ATTR_CONVOLUTION_DILATIONS);
static_assert(kConvolutionStrides == CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES);
static_assert(kConvolutionPadHigh == CUDNN_ATTR_CONVOLUTION_POST_PADDINGS);
static_assert(kConvolutionPadLow == CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS);
static_assert(kConvolutionSpatial == CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS);
static_assert(kHeuristicsMode == CUDNN_ATTR_ENGINEHEUR_MODE);
static_assert(kHeuristicsGraph == CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH);
static_assert(kHeuristicsResults == CUDNN_ATTR_ENGINEHEUR_RESULTS);
static_assert(kConfigEngine == CUDNN_ATTR_ENGINECFG_ENGINE);
static_assert(kPlanHandle == CUDNN_ATTR_EXECUTION_PLAN_HANDLE);
static_assert(kPlanConfig == CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG);
static_assert(kPlanWorkspaceBytes == CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE);
static_assert(kForwardAttributes.alpha == CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA);
static_assert(kForwardAttributes.beta == CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA);
static_assert(kForwardAttributes.convolution == CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC);
static_assert(kForwardAttributes.weights == CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W);
static_assert(kForwardAttributes.source == CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X);
static_assert(kForwardAttributes.destination == CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y);
static_assert(kBackwardDataAttributes.alpha == CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA);
static_assert(kBackwardDataAttributes.beta == CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA);
static_assert(kBackwardDataAttributes.convolution == CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC);
static_assert(kBackwardDataAttributes.weights == CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W);
static_assert(kBackwardDataAttributes.source == CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX);
static_assert(kBackwardDataAttributes.destination == CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY);
static_assert(kBackwardFilterAttributes.alpha == CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA);
static_assert(kBackwardFilterAttributes.beta == CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA);
static_assert(kBackwardFilterAttributes.convolution == CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC);
static_assert(kBackwardFilterAttributes.weights == CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW);
static_assert(kBackwardFilterAttributes.source == CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X);
static_assert(kBackwardFilterAttributes.destination == CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY);
static_assert(kGraphHandle == CUDNN_ATTR_OPERATIONGRAPH_HANDLE);
static_assert(kGraphOperations == CUDNN_ATTR_OPERATIONGRAPH_OPS);
static_assert(kTensorAlignment == CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT);
static_assert(kTensorType == CUDNN_ATTR_TENSOR_DATA_TYPE);
static_assert(kTensorDims == CUDNN_ATTR_TENSOR_DIMENSIONS);
static_assert(kTensorStrides == CUDNN_ATTR_TENSOR_STRIDES);
static_assert(kTensorId == CUDNN_ATTR_TENSOR_UNIQUE_ID);
static_assert(kPackIds == CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
static_assert(kPackPointers == CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
static_assert(kPackWorkspace == CUDNN_ATTR_VARIANT_PACK_WORKSPACE);
static_assert(kEngineNotes == CUDNN_ATTR_ENGINE_NUMERICAL_NOTE);
static_assert(kCudnnHandleType == CUDNN_TYPE_HANDLE);
static_assert(kCudnnDataTypeType == CUDNN_TYPE_DATA_TYPE);
static_assert(kCudnnInt64Type == CUDNN_TYPE_INT64);
static_assert(kCudnnFloatType == CUDNN_TYPE_FLOAT);
static_assert(kCudnnDoubleType == CUDNN_TYPE_DOUBLE);
static_assert(kCudnnPointerType == CUDNN_TYPE_VOID_PTR);
static_assert(kCudnnModeType == CUDNN_TYPE_CONVOLUTION_MODE);
static_assert(kCudnnHeuristicsModeType == CUDNN_TYPE_HEUR_MODE);
static_assert(kCudnnNoteType == CUDNN_TYPE_NUMERICAL_NOTE);
static_assert(kCudnnDescriptorType == CUDNN_TYPE_BACKEND_DESCRIPTOR);
static_assert(kCudnnF32 == CUDNN_DATA_FLOAT);
static_assert(kCudnnF64 == CUDNN_DATA_DOUBLE);
static_assert(kCudnnF16 == CUDNN_DATA_HALF);
static_assert(kCudnnBf16 == CUDNN_DATA_BFLOAT16);
static_assert(kCudnnCrossCorrelation == CUDNN_CROSS_CORRELATION);
static_assert(kCudnnHeuristicsFallback == CUDNN_HEUR_MODE_FALLBACK);
static_assert(kCudnnHeuristicsA == CUDNN_HEUR_MODE_A);
static_assert(kNoteTensorCore == CUDNN_NUMERICAL_NOTE_TENSOR_CORE);
static_assert(kNoteDownConverts == CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS);
static_assert(kNoteReducedPrecision == CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION);
static_assert(kNoteFft == CUDNN_NUMERICAL_NOTE_FFT);
static_assert(kNoteNondeterministic == CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC);
static_assert(kNoteWinograd == CUDNN_NUMERICAL_NOTE_WINOGRAD);
static_assert(kNoteWinograd4x4 == CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_4x4);
static_assert(kNoteWinograd6x6 == CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_6x6);
static_assert(kNoteWinograd13x13 == CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_13x13);
static_assert(kNoteStrictNan == CUDNN_NUMERICAL_NOTE_STRICT_NAN_PROP);
// An attribute of one of these types is as large as the number that is passed.
static_assert(sizeof(cudnnDataType_t) == sizeof(int) && sizeof(cudnnConvolutionMode_t) == sizeof(int) &&
              sizeof(cudnnBackendHeurMode_t) == sizeof(int) && sizeof(cudnnBackendNumericalNote_t) == sizeof(int));
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
