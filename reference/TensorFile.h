// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arrays in files: safetensors, read and written without the runtime.

#ifndef COMMSCHED_REFERENCE_TENSORFILE_H
#define COMMSCHED_REFERENCE_TENSORFILE_H

#include "reference/Steps.h"

#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/Error.h"

namespace commsched::reference {

/// All tensors of a file, by name. Unsigned integers become signless ones of their
/// width, BOOL becomes i1. An error names the file, and the tensor where there is one.
llvm::Expected<NamedArrays> readSafetensors(llvm::StringRef path,
                                            mlir::MLIRContext *context);

/// Replaces the file, or says why not.
llvm::Error writeSafetensors(llvm::StringRef path, const NamedArrays &arrays);

/// The bounds of an array as one of f64; unwritten ones do not occur.
ArrayPtr boundsOf(const Array &array);

} // namespace commsched::reference

#endif // COMMSCHED_REFERENCE_TENSORFILE_H
