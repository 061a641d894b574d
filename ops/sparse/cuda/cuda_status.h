// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the CUDA runtime says, as absl::Status.
#ifndef COMMSCHED_OPS_SPARSE_CUDA_CUDA_STATUS_H
#define COMMSCHED_OPS_SPARSE_CUDA_CUDA_STATUS_H

#include <cuda_runtime_api.h>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace commsched::ops::sparse::cuda {

// `error` is a cudaError_t; `what` is what was tried.
inline absl::Status FromCuda(int error, const char *what) {
  if (error == cudaSuccess) return absl::OkStatus();
  return absl::InternalError(
      absl::StrCat(what, ": ", cudaGetErrorString(cudaError_t(error))));
}

}  // namespace commsched::ops::sparse::cuda

#endif  // COMMSCHED_OPS_SPARSE_CUDA_CUDA_STATUS_H
