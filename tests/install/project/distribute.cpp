// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs --insert-dist-comm on a module of its own and counts what came out.

#include "ir/Cs.h"
#include "ir/Register.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "passes/Passes.h"
#include "plan/plan_file.h"

static constexpr char kProgram[] = R"mlir(
func.func @step(%a: tensor<8xf32> {cs.param = "a"}, %b: tensor<8xf32> {cs.param = "b"},
                %x: tensor<8xf32> {cs.batch = "x"})
    -> (tensor<8xf32> {cs.updates = "a"}, tensor<8xf32> {cs.updates = "b"}) attributes {cs.step} {
  %ga = arith.mulf %b, %x : tensor<8xf32>
  %ga1 = cs.gradient %ga of "a" : tensor<8xf32>
  %gb = arith.mulf %a, %x : tensor<8xf32>
  %gb1 = cs.gradient %gb of "b" : tensor<8xf32>
  %a1 = arith.subf %a, %ga1 : tensor<8xf32>
  %b1 = arith.subf %b, %gb1 : tensor<8xf32>
  return %a1, %b1 : tensor<8xf32>, tensor<8xf32>
}
)mlir";

int main() {
  mlir::DialectRegistry registry;
  commsched::registerDialects(registry);
  commsched::registerPasses();
  mlir::MLIRContext context(registry);
  mlir::OwningOpRef<mlir::ModuleOp> module =
      mlir::parseSourceString<mlir::ModuleOp>(kProgram, &context);
  if (!module)
    return 1;
  mlir::PassManager passes(&context, "builtin.module");
  if (mlir::failed(mlir::parsePassPipeline("insert-dist-comm", passes)) ||
      mlir::failed(passes.run(*module)))
    return 1;
  int allReduces = 0, gradients = 0;
  module->walk([&](commsched::cs::AllReduceOp) { ++allReduces; });
  module->walk([&](commsched::cs::GradientOp) { ++gradients; });
  if (allReduces != 2 || gradients != 0) {
    llvm::errs() << "expected 2 all_reduce and no gradient, got: "
                 << allReduces << " and " << gradients << "\n";
    return 1;
  }
  commsched::plan::Plan plan;
  std::string error = commsched::plan::Deserialize("not a plan", &plan);
  if (error.empty()) {
    llvm::errs() << "expected an error for what is not a plan\n";
    return 1;
  }
  return 0;
}
