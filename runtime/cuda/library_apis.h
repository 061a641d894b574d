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
