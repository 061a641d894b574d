// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/chakra/Chakra.h"

#include "ir/ReadText.h"
#include "ir/Register.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Tools/mlir-translate/Translation.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace commsched;

void commsched::registerChakraTranslations() {
  auto addDialects = [](DialectRegistry &registry) {
    registerDialects(registry);
    registry.insert<func::FuncDialect>();
  };
  static TranslateRegistration out(
      "mlir-to-chakra",
      "write the step of level 1 or 2 as a Chakra execution trace of one rank",
      [addDialects](const std::shared_ptr<llvm::SourceMgr> &sources, raw_ostream &output,
                    MLIRContext *context) -> LogicalResult {
        DialectRegistry registry;
        addDialects(registry);
        context->appendDialectRegistry(registry);
        OwningOpRef<ModuleOp> module = readModule(sources, context);
        chakra::Trace trace;
        if (!module || failed(exportChakra(*module, trace)))
          return failure();
        output << chakra::writeTrace(trace);
        return success();
      });
  static TranslateToMLIRRegistration in(
      "chakra-to-mlir", "import a Chakra execution trace as a level-0 program",
      [](llvm::SourceMgr &sources, MLIRContext *context) -> OwningOpRef<Operation *> {
        const llvm::MemoryBuffer *buffer =
            sources.getMemoryBuffer(sources.getMainFileID());
        auto location = FileLineColLoc::get(context, buffer->getBufferIdentifier(), 0, 0);
        if (isGzip(buffer->getBuffer())) {
          emitError(location) << "is no Chakra trace: is compressed by gzip";
          return nullptr;
        }
        chakra::Trace trace;
        std::string wrong = chakra::readTrace(
            {buffer->getBufferStart(), buffer->getBufferSize()}, trace);
        if (!wrong.empty()) {
          emitError(location) << "is no Chakra trace: " << wrong;
          return nullptr;
        }
        return OwningOpRef<Operation *>(
            importChakra(context, location, trace).release());
      },
      addDialects);
}
