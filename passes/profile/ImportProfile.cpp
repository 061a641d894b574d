// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/profile/ImportProfile.h"

#include "ir/ReadText.h"
#include "ir/Register.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Tools/mlir-translate/Translation.h"
#include "llvm/Support/CommandLine.h"

#include "passes/profile/Readers.h"

using namespace mlir;
using namespace commsched;
using namespace commsched::profile;

namespace {
enum class GradientOrder {
  backward,
  forward
};

/// Of tools that read profiles only: made with their translations.
struct ProfileOptions {
  llvm::cl::OptionCategory category{"profiles of models"};
  llvm::cl::opt<int64_t> batch{
      "profile-batch", llvm::cl::cat(category), llvm::cl::init(1),
      llvm::cl::desc("samples that a profile was taken with, which it does not "
                     "say: dimension 0 of the batch arguments (default 1)")};
  llvm::cl::opt<bool> activations{
      "profile-activations", llvm::cl::cat(category), llvm::cl::init(true),
      llvm::cl::desc("give activations their size; else they have one byte, and an "
                     "emulation needs no memory for them (default true)")};
  llvm::cl::opt<GradientOrder> gradientOrder{
      "profile-gradient-order", llvm::cl::cat(category),
      llvm::cl::init(GradientOrder::backward),
      llvm::cl::desc("order of the list that --import-kungfu reads (default backward)"),
      llvm::cl::values(clEnumValN(GradientOrder::backward, "backward",
                                  "as the backward pass makes the gradients"),
                       clEnumValN(GradientOrder::forward, "forward",
                                  "as the forward pass uses the parameters"))};
};
} // namespace

static ProfileOptions &profileOptions() {
  static ProfileOptions options;
  return options;
}

static OwningOpRef<Operation *>
import(llvm::SourceMgr &sources, MLIRContext *context,
       llvm::function_ref<FailureOr<Profile>(const ProfileText &)> read) {
  ProfileText text(sources, context);
  const int64_t batch = profileOptions().batch;
  constexpr int64_t kMostSamples = int64_t(1) << 24;
  if (batch < 1 || batch > kMostSamples) {
    emitError(UnknownLoc::get(context))
        << "profile-batch must be from 1 to " << kMostSamples
        << ", got: " << batch;
    return nullptr;
  }
  if (isGzip(text.getText())) {
    emitError(text.atFile()) << "is no profile: is compressed by gzip";
    return nullptr;
  }
  FailureOr<Profile> profile = read(text);
  if (failed(profile))
    return nullptr;
  return buildProgram(context, text.atFile(), *profile,
                      {batch, profileOptions().activations.getValue()})
      .release()
      .getOperation();
}

void commsched::registerProfileTranslations() {
  (void)profileOptions();
  auto addDialects = [](DialectRegistry &registry) {
    registerDialects(registry);
    registry.insert<func::FuncDialect>();
  };
  static TranslateToMLIRRegistration pipedream(
      "import-pipedream", "import a profiled graph of PipeDream as a level-0 program",
      [](llvm::SourceMgr &sources, MLIRContext *context) {
        return import(sources, context, readPipedream);
      },
      addDialects);
  static TranslateToMLIRRegistration kungfu(
      "import-kungfu", "import a list of gradient sizes as a level-0 program",
      [](llvm::SourceMgr &sources, MLIRContext *context) {
        return import(sources, context, [](const ProfileText &text) {
          return readKungfu(text, profileOptions().gradientOrder == GradientOrder::forward);
        });
      },
      addDialects);
  static TranslateToMLIRRegistration aicb(
      "import-aicb",
      "import a workload or list of collectives of AICB as a level-0 program",
      [](llvm::SourceMgr &sources, MLIRContext *context) {
        return import(sources, context, readAicb);
      },
      addDialects);
}
