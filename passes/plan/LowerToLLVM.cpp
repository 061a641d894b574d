// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/plan/HalfArithmetic.h"
#include "passes/plan/Stages.h"

#include "mlir/Conversion/AffineToStandard/AffineToStandard.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVMPass.h"
#include "mlir/Conversion/IndexToLLVM/IndexToLLVM.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MathToLibm/MathToLibm.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/UBToLLVM/UBToLLVM.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/DialectConversion.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

namespace commsched::planexport {

// Polynomials that vectorise, where they are as good as libm to a few ulps of
// f32 (tests/translate measures them); the rest stays for libm.
static bool approximated(StringRef name) {
  return name == math::ExpOp::getOperationName() ||
         name == math::LogOp::getOperationName() ||
         name == math::Log1pOp::getOperationName() ||
         name == math::ExpM1Op::getOperationName() ||
         name == math::ErfOp::getOperationName() ||
         name == math::ErfcOp::getOperationName() ||
         name == math::TanhOp::getOperationName();
}

static LogicalResult approximateMath(ModuleOp module) {
  MLIRContext *context = module->getContext();
  if (failed(applyPatternsGreedily(module, RewritePatternSet(context))))
    return failure();
  mendFunctions(module);
  {
    RewritePatternSet patterns(context);
    populateMathAlgebraicSimplificationPatterns(patterns);
    // Not sinh, asinh and the like: as sums of exponentials and logarithms they lose all
    // digits near zero, and overflow early.
    math::populateExpansionPatterns(patterns, {"rsqrt"});
    if (failed(applyPatternsGreedily(module, std::move(patterns))))
      return failure();
  }
  {
    RewritePatternSet patterns(context);
    populateMathPolynomialApproximationPatterns(patterns, approximated);
    if (failed(applyPatternsGreedily(module, std::move(patterns))))
      return failure();
  }
  {
    RewritePatternSet patterns(context);
    arith::populateCeilFloorDivExpandOpsPatterns(patterns);
    if (failed(applyPatternsGreedily(module, std::move(patterns))))
      return failure();
  }
  defineIntegers(module);
  // What is left of these would become exp(x) - 1 and log(1 + x), which lose
  // all digits near 0.
  RewritePatternSet patterns(context);
  populateMathToLibmConversionPatterns(patterns);
  ConversionTarget target(*context);
  target.markUnknownOpDynamicallyLegal([](Operation *) { return true; });
  target.addIllegalOp<math::ExpM1Op, math::Log1pOp>();
  return applyPartialConversion(module, target, std::move(patterns));
}

// A boolean is a byte in memory; loads and stores of i1 do not vectorise.
static void widenBooleans(ModuleOp module) {
  SmallVector<Operation *> ops;
  module->walk([&](Operation *op) {
    if (isa<LLVM::LoadOp, LLVM::StoreOp>(op))
      ops.push_back(op);
  });
  for (Operation *op : ops) {
    OpBuilder builder(op);
    if (auto load = dyn_cast<LLVM::LoadOp>(op)) {
      if (!load.getType().isInteger(1))
        continue;
      Value byte = LLVM::LoadOp::create(builder, op->getLoc(), builder.getI8Type(),
                                        load.getAddr(), 1);
      Value zero = LLVM::ConstantOp::create(builder, op->getLoc(),
                                            builder.getI8IntegerAttr(0));
      load.replaceAllUsesWith(
          LLVM::ICmpOp::create(builder, op->getLoc(), LLVM::ICmpPredicate::ne, byte, zero)
              .getResult());
    } else {
      auto store = cast<LLVM::StoreOp>(op);
      if (!store.getValue().getType().isInteger(1))
        continue;
      Value byte = LLVM::ZExtOp::create(builder, op->getLoc(), builder.getI8Type(),
                                        store.getValue());
      LLVM::StoreOp::create(builder, op->getLoc(), byte, store.getAddr(), 1);
    }
    op->erase();
  }
}

LogicalResult lowerModuleToLLVM(ModuleOp module) {
  expandFunctions(module);
  widenHalves(module);
  if (failed(approximateMath(module)) || failed(expandHalves(module)))
    return failure();
  contractMultiplyAdds(module);
  PassManager pm(module->getContext());
  pm.enableVerifier(false);
  pm.addPass(memref::createExpandStridedMetadataPass());
  pm.addPass(createLowerAffinePass());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  pm.addPass(createSCFToControlFlowPass());
  pm.addPass(createConvertMathToLLVMPass());
  pm.addPass(createConvertMathToLibmPass());
  pm.addPass(createArithToLLVMConversionPass());
  pm.addPass(createConvertIndexToLLVMPass());
  pm.addPass(createFinalizeMemRefToLLVMConversionPass());
  ConvertFuncToLLVMPassOptions functions;
  functions.useBarePtrCallConv = true;
  pm.addPass(createConvertFuncToLLVMPass(functions));
  pm.addPass(createConvertControlFlowToLLVMPass());
  pm.addPass(createUBToLLVMConversionPass());
  pm.addPass(createReconcileUnrealizedCastsPass());
  if (failed(pm.run(module)))
    return failure();
  if (failed(storeHalvesAsIntegers(module)))
    return failure();
  widenBooleans(module);
  bool lowered = true;
  module->walk([&](Operation *op) {
    if (lowered && op != module && !isa<LLVM::LLVMDialect>(op->getDialect())) {
      op->emitError("cannot be compiled in a fragment");
      lowered = false;
    }
  });
  return success(lowered);
}

} // namespace commsched::planexport
