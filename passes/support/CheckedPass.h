// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What MLIR takes for options of passes and pipelines although it says nothing: a number that is empty is 0 for it, and
// of an option that is given twice the last counts. And what is wrong with options, in one line.

#ifndef COMMSCHED_PASSES_SUPPORT_CHECKEDPASS_H
#define COMMSCHED_PASSES_SUPPORT_CHECKEDPASS_H

#include <string>

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassRegistry.h"
#include "passes/support/OptionValues.h"

namespace commsched {

/// Fails, with the one line that is wrong with the options, unless it was printed already, as llvm::cl does of values:
/// then MLIR says nothing, at more lines.
llvm::LogicalResult failWith(llvm::StringRef why,
                             llvm::function_ref<llvm::LogicalResult(const llvm::Twine &)> errorHandler);

/// Empty, or what is wrong with the options of a pass ("a=1 b={c d}") whatever their types: none may be empty, or there
/// twice. `cluster=""` and the like may: a pipeline that MLIR prints has all options of all passes.
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
    return OperationPass::initializeOptions(
        options, [&](const llvm::Twine &why) { return failWith(why.str(), errorHandler); });
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
        std::string why;
        llvm::raw_string_ostream stream(why);
        if (failed(options.parseFromString(text, stream)))
          return failWith(why, errorHandler);
        build(manager, options);
        return llvm::success();
      },
      [](llvm::function_ref<void(const mlir::detail::PassOptions &)> each) { each(Options()); });
}

} // namespace commsched

#endif // COMMSCHED_PASSES_SUPPORT_CHECKEDPASS_H
