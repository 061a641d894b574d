// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cuBLASLt on the devices of a FakeMachine: descriptors, layouts and preferences as its header has
// them, products by plain loops as work of streams. It takes what cublasLtMatmul's documentation lists
// of f64, f32, f16 and bf16, and has no algorithm for anything else.
//
// An algorithm is as bad as the preferences allow. It needs what alignment is promised; sums are in
// parts, which go through the workspace, and are rounded to the output's type if that may be; it is for
// its problem only.
#ifndef COMMSCHED_TESTS_RUNTIME_CUDA_FAKE_CUBLASLT_H
#define COMMSCHED_TESTS_RUNTIME_CUDA_FAKE_CUBLASLT_H

#include <cstddef>

#include "runtime/cuda/library_apis.h"
#include "runtime/cuda/load.h"

namespace commsched::runtime::cuda {

// Of the machine that is there. What is wrong in the order of streams, pointers with less alignment than
// promised and ranges outside of what is allocated are findings of it; what the library refuses is its
// status.
const CublasLtApi &FakeCublasLt();
// Handles, descriptors, layouts and preferences that are still there.
size_t LiveOfFakeCublasLt();
// A system that has this cuBLASLt and nothing else.
Libraries LibrariesWithFakeCublasLt();

}  // namespace commsched::runtime::cuda

#endif  // COMMSCHED_TESTS_RUNTIME_CUDA_FAKE_CUBLASLT_H
