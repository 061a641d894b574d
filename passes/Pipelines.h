// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pipelines put the passes in order, under short names.

#ifndef COMMSCHED_PASSES_PIPELINES_H
#define COMMSCHED_PASSES_PIPELINES_H

#include <string>

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"

namespace commsched {

struct AllReducePipelineOptions
    : mlir::PassPipelineOptions<AllReducePipelineOptions> {
  Option<std::string> reduction{
      *this, "reduction",
      llvm::cl::desc("how gradients of workers combine: mean or sum"),
      llvm::cl::init("mean")};
  Option<std::string> cluster{
      *this, "cluster",
      llvm::cl::desc(
          "file with one cs.cluster op to use instead of the module's"),
      llvm::cl::init("")};
  Option<std::string> algorithm{
      *this, "algorithm",
      llvm::cl::desc("collective algorithm: auto, ring or halving-doubling"),
      llvm::cl::init("auto")};
};

/// From level 0 to a verified level 2: --cse, --insert-dist-comm,
/// --schedule-comm, --expand-collectives, --verify-distributed.
void buildAllReducePipeline(mlir::OpPassManager &manager,
                            const AllReducePipelineOptions &options);

} // namespace commsched

#endif // COMMSCHED_PASSES_PIPELINES_H
