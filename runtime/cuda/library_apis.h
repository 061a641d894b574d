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

// Of cublasComputeType_t, and attributes of products, layouts and preferences.
inline constexpr int kCublasLtCompute32 = 68, kCublasLtCompute64 = 70;
inline constexpr int kCublasLtTransA = 3, kCublasLtTransB = 4;
inline constexpr int kCublasLtBatchCount = 5, kCublasLtBatchStride = 6;
inline constexpr int kCublasLtMaxWorkspace = 1, kCublasLtAlignmentA = 5, kCublasLtAlignmentB = 6,
                     kCublasLtAlignmentC = 7, kCublasLtAlignmentD = 8;

// All return a cublasStatus_t (0: success) but GetVersion.
#define COMMSCHED_CUDA_CUBLASLT_FUNCTIONS(F)                                                       \
  F(size_t, GetVersion, cublasLtGetVersion, ())                                                    \
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
