// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "HalfArithmetic.h"
#include "Stages.h"

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
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"
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
         name == math::TanhOp::getOperationName();
}

// What the polynomials leave out: the logarithm of a number below the smallest normal one,
// and the sign of zero, which a function that ascends through zero keeps.
static void mendSpecialValues(ModuleOp module) {
  module->walk([](Operation *op) {
    if (!isa<math::LogOp, math::ErfOp>(op) || !getElementTypeOrSelf(op->getResult(0)).isF32())
      return;
    OpBuilder builder(op);
    Location loc = op->getLoc();
    Type type = op->getResult(0).getType();
    Value x = op->getOperand(0);
    auto number = [&](float value) {
      return arith::ConstantOp::create(builder, loc, type, builder.getF32FloatAttr(value)).getResult();
    };
    if (isa<math::ErfOp>(op)) {
      builder.setInsertionPointAfter(op);
      auto mended = math::CopySignOp::create(builder, loc, op->getResult(0), x);
      op->getResult(0).replaceAllUsesExcept(mended, mended);
      return;
    }
    constexpr float kLeast = 0x1p-126f, kScale = 0x1p25f, kLogOfScale = 17.3286795f;
    Value small = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OLT, x, number(kLeast));
    Value scaled = arith::MulFOp::create(builder, loc, x, number(kScale));
    op->setOperand(0, arith::SelectOp::create(builder, loc, small, scaled, x));
    builder.setInsertionPointAfter(op);
    Value less = arith::SelectOp::create(builder, loc, small, number(kLogOfScale), number(0));
    auto mended = arith::SubFOp::create(builder, loc, op->getResult(0), less);
    op->getResult(0).replaceAllUsesExcept(mended, mended);
  });
}

// What upstream has no lowering of, or a wrong one: its expansion of clampf is `max` for
// every number (MLIR 22). In the types of the program: a subnormal f16 is a normal f32.
static void expandByComparison(ModuleOp module) {
  module->walk([](Operation *op) {
    OpBuilder builder(op);
    Location loc = op->getLoc();
    Value result;
    if (auto clamp = dyn_cast<math::ClampFOp>(op)) {
      Value above = arith::MaximumFOp::create(builder, loc, clamp.getValue(), clamp.getMin());
      result = arith::MinimumFOp::create(builder, loc, above, clamp.getMax());
    } else if (isa<math::IsInfOp, math::IsNormalOp>(op)) {
      Type type = op->getOperand(0).getType();
      const llvm::fltSemantics &format = cast<FloatType>(type).getFloatSemantics();
      auto number = [&](const APFloat &value) {
        return arith::ConstantOp::create(builder, loc, builder.getFloatAttr(type, value));
      };
      Value size = math::AbsFOp::create(builder, loc, op->getOperand(0));
      Value infinity = number(APFloat::getInf(format));
      if (isa<math::IsInfOp>(op)) {
        result = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OEQ, size, infinity);
      } else {
        Value least = number(APFloat::getSmallestNormalized(format));
        result = arith::AndIOp::create(
            builder, loc, arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OLT, size, infinity),
            arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OGE, size, least));
      }
    } else if (auto power = dyn_cast<math::FPowIOp>(op)) {
      // Of a constant it becomes multiplications, else a call into a compiler's library.
      if (matchPattern(power.getRhs(), m_Constant()))
        return;
      Type type = power.getType(), f64 = builder.getF64Type();
      Value base = power.getLhs();
      if (!type.isF64())
        base = arith::ExtFOp::create(builder, loc, f64, base);
      result = math::PowFOp::create(builder, loc, base,
                                    arith::SIToFPOp::create(builder, loc, f64, power.getRhs()));
      if (!type.isF64())
        result = arith::TruncFOp::create(builder, loc, type, result);
    } else {
      return;
    }
    op->getResult(0).replaceAllUsesWith(result);
    op->erase();
  });
}

static LogicalResult approximateMath(ModuleOp module) {
  MLIRContext *context = module->getContext();
  mendSpecialValues(module);
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
  expandByComparison(module);
  widenHalves(module);
  if (failed(approximateMath(module)) || failed(expandHalves(module)))
    return failure();
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
