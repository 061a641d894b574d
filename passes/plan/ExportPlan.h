// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Level 2 to plan (plan/plan.proto).

#ifndef COMMSCHED_PASSES_PLAN_EXPORTPLAN_H
#define COMMSCHED_PASSES_PLAN_EXPORTPLAN_H

#include "passes/plan/FragmentCompiler.h"

#include "llvm/Support/SourceMgr.h"

#include <memory>

namespace commsched {

namespace planexport {

/// What a plan needs, for people.
struct PlanStatistics {
  uint64_t arenaBytes = 0;   ///< most of any function
  uint64_t scratchBytes = 0; ///< most of any function
  unsigned fragments = 0;    ///< in all functions
  unsigned functions = 0;    ///< distinct compiled fragments
  unsigned nests = 0;        ///< distinct loop nests
  unsigned kernels = 0;      ///< distinct library kernels
  uint64_t codeBytes = 0;
  double checkSeconds = 0; ///< that checks of memory took
};

/// Builds the plan of a level-2 module. Errors are reported at the op that the
/// plan cannot hold.
mlir::LogicalResult exportPlan(mlir::ModuleOp module, const CodeOptions &options,
                               plan::Plan &plan, PlanStatistics &statistics);

/// The plan as text without machine code, one field a line.
std::string printPlan(plan::Plan plan);

/// What each role of a plan with parameter servers runs and keeps, one fact a
/// line; nothing for other plans.
std::string describeRoles(const plan::Plan &plan);

/// A module, in a context that has all that lowering a fragment goes through. Null with a
/// diagnostic where the text is none.
mlir::OwningOpRef<mlir::ModuleOp> readToLower(const std::shared_ptr<llvm::SourceMgr> &sources,
                                              mlir::MLIRContext *context);

/// What --mlir-to-plan compiles fragments for CUDA devices with. given: an option of that compiler that was given; empty: none.
void setDeviceCompiler(MakeDeviceCompiler make, std::function<std::string()> given);

/// What --print-stage says, of tools that registerPlanTranslations was called in.
std::string stageToPrint();

} // namespace planexport

/// Registers --mlir-to-plan, --plan-to-text and --plan-to-object with
/// cs-translate.
void registerPlanTranslations();

} // namespace commsched

#endif // COMMSCHED_PASSES_PLAN_EXPORTPLAN_H
