// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What MLIR takes for options of passes and pipelines although it says nothing: a number that is empty is 0 for it, and
// of an option that is given twice the last counts.

#ifndef COMMSCHED_PASSES_SUPPORT_CHECKEDPASS_H
#define COMMSCHED_PASSES_SUPPORT_CHECKEDPASS_H

#include <string>

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassRegistry.h"

namespace commsched {

/// Empty, or what is wrong with the options of a pass ("a=1 b={c d}") whatever their types: none may be empty, or there
/// twice.
std::string checkOptionText(llvm::StringRef options);

/// The base of all passes (CsPass in Options.td).
class CheckedPass : public mlir::OperationPass<mlir::ModuleOp> {
public:
  using OperationPass::OperationPass;

  llvm::LogicalResult
  initializeOptions(llvm::StringRef options,
                    llvm::function_ref<llvm::LogicalResult(const llvm::Twine &)> errorHandler) override {
    if (std::string why = checkOptionText(options); !why.empty())
      return errorHandler(why);
    return OperationPass::initializeOptions(options, errorHandler);
  }
};

/// In the place of mlir::PassPipelineRegistration.
template <typename Options>
void registerCheckedPipeline(llvm::StringRef name, llvm::StringRef description,
                             void (*build)(mlir::OpPassManager &, const Options &)) {
  mlir::registerPassPipeline(
      name, description,
      [build](mlir::OpPassManager &manager, llvm::StringRef text,
              llvm::function_ref<llvm::LogicalResult(const llvm::Twine &)> errorHandler) -> llvm::LogicalResult {
        if (std::string why = checkOptionText(text); !why.empty())
          return errorHandler(why);
        Options options;
        if (failed(options.parseFromString(text)))
          return llvm::failure();
        build(manager, options);
        return llvm::success();
      },
      [](llvm::function_ref<void(const mlir::detail::PassOptions &)> each) { each(Options()); });
}

} // namespace commsched

#endif // COMMSCHED_PASSES_SUPPORT_CHECKEDPASS_H
