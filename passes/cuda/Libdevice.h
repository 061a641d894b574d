// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Mathematical functions that have no polynomial here, by NVIDIA's libdevice: its last bits
// are not those of the host's C library.

#ifndef COMMSCHED_PASSES_CUDA_LIBDEVICE_H
#define COMMSCHED_PASSES_CUDA_LIBDEVICE_H

#include "mlir/IR/BuiltinOps.h"

#include <string>
#include <vector>

namespace llvm {
class Module;
}

namespace commsched::cudaexport {

/// In the LLVM dialect, what would be a function of the C library is a call of libdevice's,
/// of which it lists the names, sorted. An error at the first if `libdevice` is empty.
llvm::LogicalResult callLibdevice(mlir::ModuleOp module, llvm::StringRef libdevice,
                                  std::vector<std::string> &functions);

/// Puts the bodies of these into `module`, from the file.
llvm::LogicalResult linkLibdevice(llvm::Module &module, llvm::StringRef libdevice,
                                  mlir::Location loc);

} // namespace commsched::cudaexport

#endif // COMMSCHED_PASSES_CUDA_LIBDEVICE_H
