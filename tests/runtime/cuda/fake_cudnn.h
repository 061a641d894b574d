// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cuDNN's graph API on the devices of a FakeMachine: descriptors with the attributes of its header, which are
// checked when they are set and finalized, convolutions and their gradients as work of streams.
// It takes tensors that are all dense in one order, channels last or channels first, as much padding behind as
// in front, and has no engine for anything else.
//
// Engines are as bad as their notes allow, and come first: one whose bits change from run to run, of TF32, of
// Winograd, of sums in f16, with a note that nobody knows, with a workspace of 2^40 bytes, one that cannot be made. The good one
// that is proposed then needs the whole workspace that it asks for, and the promised alignment, and sums in parts; the one to
// fall back to needs nothing. What is good is not proposed for every convolution.
#ifndef COMMSCHED_TESTS_RUNTIME_CUDA_FAKE_CUDNN_H
#define COMMSCHED_TESTS_RUNTIME_CUDA_FAKE_CUDNN_H

#include <cstddef>

#include "runtime/cuda/library_apis.h"
#include "runtime/cuda/load.h"

namespace commsched::runtime::cuda {

// Of the machine that is there; findings as those of FakeCublasLt.
const CudnnApi &FakeCudnn();
// Handles and descriptors that are still there.
size_t LiveOfFakeCudnn();
// A system that has this cuDNN, and the cuBLASLt of fake_cublaslt.h.
Libraries LibrariesWithFakeCudnn();

}  // namespace commsched::runtime::cuda

#endif  // COMMSCHED_TESTS_RUNTIME_CUDA_FAKE_CUDNN_H
