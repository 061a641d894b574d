// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Copies between devices and the host, of what is communicated, as the options of passes and
// pipelines name them.

#ifndef COMMSCHED_PASSES_SUPPORT_HOSTCOPIES_H
#define COMMSCHED_PASSES_SUPPORT_HOSTCOPIES_H

#include "mlir/IR/BuiltinOps.h"

#include <optional>

namespace commsched {

enum class HostCopies {
  none,    ///< they have one memory
  overlap, ///< on copy engines
  inLine   ///< on compute streams
};

/// Whether the host does not reach the memory in which fragments compute. What has only costs is
/// emulated, where it does.
bool needsHostCopies(mlir::ModuleOp module);

/// The copies by their name; `auto` are those that the module needs. Nothing if
/// there is no such name.
std::optional<HostCopies> hostCopiesOf(llvm::StringRef name, mlir::ModuleOp module);
/// The names, for errors.
inline constexpr llvm::StringLiteral kHostCopiesNames = "none, overlap, in-line or auto";

} // namespace commsched

#endif // COMMSCHED_PASSES_SUPPORT_HOSTCOPIES_H
