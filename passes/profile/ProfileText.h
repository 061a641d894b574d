// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The text of a profile: what readers of all formats need.

#ifndef COMMSCHED_PASSES_PROFILE_PROFILETEXT_H
#define COMMSCHED_PASSES_PROFILE_PROFILETEXT_H

#include <vector>

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Location.h"
#include "llvm/Support/SourceMgr.h"

namespace commsched::profile {

class ProfileText {
public:
  /// The main file of `sources`, which must outlive this.
  ProfileText(const llvm::SourceMgr &sources, mlir::MLIRContext *context)
      : sources(sources), context(context) {}

  mlir::MLIRContext *getContext() const { return context; }
  /// Without the mark that some editors begin text in UTF-8 with.
  llvm::StringRef getText() const {
    llvm::StringRef text = sources.getMemoryBuffer(sources.getMainFileID())->getBuffer();
    text.consume_front("\xEF\xBB\xBF");
    return text;
  }
  /// Lines that are not blank, without the space at their ends.
  std::vector<llvm::StringRef> getLines() const;

  /// Of a piece of the text.
  mlir::Location at(llvm::StringRef piece) const;
  mlir::Location atFile() const;
  mlir::InFlightDiagnostic error(llvm::StringRef piece) const {
    return mlir::emitError(at(piece));
  }

  /// A duration of at most an hour, in units of `unit` ns, rounded to ns.
  llvm::FailureOr<int64_t> readTime(llvm::StringRef field, llvm::StringRef value,
                                    double unit) const;
  /// A whole number, of at most kMaxTensorBytes; also written as "4096.000".
  llvm::FailureOr<int64_t> readBytes(llvm::StringRef field,
                                     llvm::StringRef value) const;
  /// The same, of f32 values.
  llvm::FailureOr<int64_t> readFloatBytes(llvm::StringRef field,
                                          llvm::StringRef value) const;

private:
  const llvm::SourceMgr &sources;
  mlir::MLIRContext *context;
};

} // namespace commsched::profile

#endif // COMMSCHED_PASSES_PROFILE_PROFILETEXT_H
