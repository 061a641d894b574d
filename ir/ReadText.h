// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Text from outside, before parsers see it that recurse as deep as it is nested.

#ifndef COMMSCHED_IR_READTEXT_H
#define COMMSCHED_IR_READTEXT_H

#include <memory>
#include <optional>

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"

namespace commsched {

/// Brackets that may be open at once in text that MLIR or LLVM parses: far more than
/// programs have, far fewer than a stack of 1 MiB bears.
inline constexpr unsigned kMostNesting = 500;

/// Where one bracket too many is opened, outside of strings and comments of MLIR.
/// Bytecode is not text, and has none.
std::optional<size_t> findDeepNesting(llvm::StringRef text);

/// Whether it is no text, nor what it could be read as, before it is decompressed.
bool isGzip(llvm::StringRef text);

/// As llvm::json::parse, but an error if the text is nested too deeply for it.
llvm::Expected<llvm::json::Value> parseJson(llvm::StringRef text);

/// Of text that is nested too deeply, where and why; else nothing.
std::string whyTooDeep(const llvm::MemoryBuffer &buffer);
/// Says so, and returns false, if the main file of `sources` is nested too
/// deeply for the parser of MLIR.
bool checkNesting(const llvm::SourceMgr &sources, mlir::MLIRContext *context);

/// The module in the main file of `sources`, verified; null after an error, which is one
/// line for a file that is empty or nested too deeply.
mlir::OwningOpRef<mlir::ModuleOp>
readModule(const std::shared_ptr<llvm::SourceMgr> &sources, mlir::MLIRContext *context);

} // namespace commsched

#endif // COMMSCHED_IR_READTEXT_H
