// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels as code of the host in a shared library (CompileKernels.h), for a process that has no
// compiler.

#ifndef COMMSCHED_TESTS_CUDA_KERNELFILE_H
#define COMMSCHED_TESTS_CUDA_KERNELFILE_H

#include "tests/cuda/HostKernels.h"

#include <cstdint>
#include <memory>
#include <string>

namespace commsched::cudatest {

/// The name of the file for a plan's PTX.
std::string kernelFileName(const std::string &ptx);

/// Null, and why, if it cannot be loaded.
std::unique_ptr<HostKernels> loadKernels(const std::string &path, std::string &error);

} // namespace commsched::cudatest

#endif // COMMSCHED_TESTS_CUDA_KERNELFILE_H
