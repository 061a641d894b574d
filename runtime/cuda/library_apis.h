// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The functions of cuBLASLt and cuDNN that products and convolutions on a device need, and
// their types; as driver_api.h. Of cuDNN it is the backend API, whose descriptors are data.
#ifndef COMMSCHED_RUNTIME_CUDA_LIBRARY_APIS_H
#define COMMSCHED_RUNTIME_CUDA_LIBRARY_APIS_H

#include <cstddef>
#include <cstdint>

#include "runtime/cuda/driver_api.h"

namespace commsched::runtime::cuda {

using CublasLtHandle = struct CublasLtContext *;
using CublasLtOperation = struct CublasLtMatmulDesc *;
using CublasLtLayout = struct CublasLtMatrixLayout *;
using CublasLtPreference = struct CublasLtMatmulPreference *;
struct CublasLtAlgorithm {
  uint64_t data[8];
};
struct CublasLtHeuristic {
  CublasLtAlgorithm algorithm;
  size_t workspace_bytes;
  int status;
  float waves;
  int reserved[4];
};
inline constexpr int kCublasSuccess = 0;
// cudaDataType.
inline constexpr int kCudaF32 = 0, kCudaF64 = 1, kCudaF16 = 2, kCudaBf16 = 14;
// cublasComputeType_t. That of f32 is without TF32.
inline constexpr int kCublasComputeF32 = 68, kCublasComputeF64 = 70;
// cublasOperation_t.
inline constexpr int32_t kCublasAsItIs = 0, kCublasTransposed = 1;
// Attributes of an operation (int32_t), of a layout (int32_t, int64_t), and of a preference (uint64_t; the
// others uint32_t).
inline constexpr int kOperationTransposeA = 3, kOperationTransposeB = 4;
inline constexpr int kLayoutBatchCount = 5, kLayoutBatchStride = 6;
inline constexpr int kPreferenceWorkspaceBytes = 1, kPreferenceReductions = 3,
                     kPreferenceAlignmentA = 5, kPreferenceAlignmentB = 6,
                     kPreferenceAlignmentC = 7, kPreferenceAlignmentD = 8;
// A bit of kPreferenceReductions: parts of a sum are kept in the compute type, in the workspace.
inline constexpr uint32_t kReductionInComputeType = 2;

// All return a cublasStatus_t but the two first.
#define COMMSCHED_CUDA_CUBLASLT_FUNCTIONS(F)                                                       \
  F(size_t, GetVersion, cublasLtGetVersion, ())                                                    \
  F(const char *, GetStatusName, cublasLtGetStatusName, (int status))                              \
  F(int, Create, cublasLtCreate, (CublasLtHandle *))                                               \
  F(int, Destroy, cublasLtDestroy, (CublasLtHandle))                                               \
  F(int, OperationCreate, cublasLtMatmulDescCreate, (CublasLtOperation *, int compute, int scale)) \
  F(int, OperationDestroy, cublasLtMatmulDescDestroy, (CublasLtOperation))                         \
  F(int, OperationSet, cublasLtMatmulDescSetAttribute,                                             \
    (CublasLtOperation, int attribute, const void *value, size_t bytes))                           \
  F(int, LayoutCreate, cublasLtMatrixLayoutCreate,                                                 \
    (CublasLtLayout *, int type, uint64_t rows, uint64_t columns, int64_t leading))                \
  F(int, LayoutDestroy, cublasLtMatrixLayoutDestroy, (CublasLtLayout))                             \
  F(int, LayoutSet, cublasLtMatrixLayoutSetAttribute,                                              \
    (CublasLtLayout, int attribute, const void *value, size_t bytes))                              \
  F(int, PreferenceCreate, cublasLtMatmulPreferenceCreate, (CublasLtPreference *))                 \
  F(int, PreferenceDestroy, cublasLtMatmulPreferenceDestroy, (CublasLtPreference))                 \
  F(int, PreferenceSet, cublasLtMatmulPreferenceSetAttribute,                                      \
    (CublasLtPreference, int attribute, const void *value, size_t bytes))                          \
  F(int, GetHeuristic, cublasLtMatmulAlgoGetHeuristic,                                             \
    (CublasLtHandle, CublasLtOperation, CublasLtLayout a, CublasLtLayout b, CublasLtLayout c,      \
     CublasLtLayout d, CublasLtPreference, int most, CublasLtHeuristic *, int *found))             \
  F(int, Matmul, cublasLtMatmul,                                                                   \
    (CublasLtHandle, CublasLtOperation, const void *alpha, const void *a, CublasLtLayout,          \
     const void *b, CublasLtLayout, const void *beta, const void *c, CublasLtLayout, void *d,      \
     CublasLtLayout, const CublasLtAlgorithm *, void *workspace, size_t bytes, Stream))

using CudnnHandle = struct CudnnContext *;
using CudnnDescriptor = void *;
inline constexpr int kCudnnSuccess = 0;
// cudnnBackendDescriptorType_t.
inline constexpr int kCudnnConvolution = 1, kCudnnEngine = 2, kCudnnEngineConfig = 3,
                     kCudnnHeuristics = 4, kCudnnPlan = 5, kCudnnForward = 10,
                     kCudnnBackwardFilter = 11, kCudnnBackwardData = 12, kCudnnGraph = 15,
                     kCudnnVariantPack = 16, kCudnnTensor = 17;
// cudnnBackendAttributeName_t, by descriptor. Of operations: alpha, beta, the convolution, and the tensors
// of the weights, of what has the source's shape, and of what has the destination's.
inline constexpr int kConvolutionComputeType = 100, kConvolutionMode = 101,
                     kConvolutionDilations = 102, kConvolutionStrides = 103,
                     kConvolutionPadHigh = 104, kConvolutionPadLow = 105, kConvolutionSpatial = 106;
inline constexpr int kHeuristicsMode = 200, kHeuristicsGraph = 201, kHeuristicsResults = 202;
inline constexpr int kConfigEngine = 300;
inline constexpr int kPlanHandle = 400, kPlanConfig = 401, kPlanWorkspaceBytes = 402;
struct CudnnOperationAttributes {
  int alpha, beta, convolution, weights, source, destination;
};
inline constexpr CudnnOperationAttributes kForwardAttributes = {700, 701, 702, 703, 704, 705},
                                          kBackwardDataAttributes = {706, 707, 708, 709, 710, 711},
                                          kBackwardFilterAttributes = {712, 713, 714, 715, 716, 717};
inline constexpr int kGraphHandle = 800, kGraphOperations = 801;
inline constexpr int kTensorAlignment = 900, kTensorType = 901, kTensorDims = 902,
                     kTensorStrides = 903, kTensorId = 906;
inline constexpr int kPackIds = 1000, kPackPointers = 1001, kPackWorkspace = 1003;
inline constexpr int kEngineNotes = 1303;
// cudnnBackendAttributeType_t.
inline constexpr int kCudnnHandleType = 0, kCudnnDataTypeType = 1, kCudnnInt64Type = 3,
                     kCudnnFloatType = 4, kCudnnDoubleType = 5, kCudnnPointerType = 6,
                     kCudnnModeType = 7, kCudnnHeuristicsModeType = 8, kCudnnNoteType = 11,
                     kCudnnDescriptorType = 15;
// cudnnDataType_t, cudnnConvolutionMode_t, cudnnBackendHeurMode_t, cudnnBackendNumericalNote_t: all of an int.
inline constexpr int kCudnnF32 = 0, kCudnnF64 = 1, kCudnnF16 = 2, kCudnnBf16 = 9;
inline constexpr int kCudnnCrossCorrelation = 1;
inline constexpr int kCudnnHeuristicsFallback = 2, kCudnnHeuristicsA = 3;
inline constexpr int kNoteTensorCore = 0, kNoteDownConverts = 1, kNoteReducedPrecision = 2,
                     kNoteFft = 3, kNoteNondeterministic = 4, kNoteWinograd = 5,
                     kNoteWinograd4x4 = 6, kNoteWinograd6x6 = 7, kNoteWinograd13x13 = 8,
                     kNoteStrictNan = 9;

// All return a cudnnStatus_t (0: success) but those that return something else here.
#define COMMSCHED_CUDA_CUDNN_FUNCTIONS(F)                                                    \
  F(size_t, GetVersion, cudnnGetVersion, ())                                                 \
  F(const char *, GetErrorString, cudnnGetErrorString, (int status))                         \
  F(int, Create, cudnnCreate, (CudnnHandle *))                                               \
  F(int, Destroy, cudnnDestroy, (CudnnHandle))                                               \
  F(int, SetStream, cudnnSetStream, (CudnnHandle, Stream))                                   \
  F(int, DescriptorCreate, cudnnBackendCreateDescriptor, (int type, CudnnDescriptor *))      \
  F(int, DescriptorDestroy, cudnnBackendDestroyDescriptor, (CudnnDescriptor))                \
  F(int, DescriptorSet, cudnnBackendSetAttribute,                                            \
    (CudnnDescriptor, int name, int type, int64_t count, const void *values))                \
  F(int, DescriptorGet, cudnnBackendGetAttribute,                                            \
    (const CudnnDescriptor, int name, int type, int64_t most, int64_t *count, void *values)) \
  F(int, DescriptorFinalize, cudnnBackendFinalize, (CudnnDescriptor))                        \
  F(int, Execute, cudnnBackendExecute, (CudnnHandle, CudnnDescriptor plan, CudnnDescriptor pack))

#define COMMSCHED_CUDA_MEMBER(result, name, symbol, parameters) result(*name) parameters = nullptr;
struct CublasLtApi {
  COMMSCHED_CUDA_CUBLASLT_FUNCTIONS(COMMSCHED_CUDA_MEMBER)
};
struct CudnnApi {
  COMMSCHED_CUDA_CUDNN_FUNCTIONS(COMMSCHED_CUDA_MEMBER)
};
#undef COMMSCHED_CUDA_MEMBER

}  // namespace commsched::runtime::cuda

#endif  // COMMSCHED_RUNTIME_CUDA_LIBRARY_APIS_H
