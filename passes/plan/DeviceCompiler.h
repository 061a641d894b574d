// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compiles the bodies of fragments that devices of another kind than the host run, into a plan.

#ifndef COMMSCHED_PASSES_PLAN_DEVICECOMPILER_H
#define COMMSCHED_PASSES_PLAN_DEVICECOMPILER_H

#include "mlir/IR/Block.h"
#include "mlir/IR/MLIRContext.h"
#include "plan/plan.pb.h"

#include <functional>
#include <memory>

namespace commsched::planexport {

class DeviceCompiler {
public:
  virtual ~DeviceCompiler() = default;
  /// As FragmentCompiler::add.
  virtual unsigned add(mlir::Block &body, mlir::Location loc) = 0;
  /// Puts everything added into the plan, in this order, and the kernels that it calls behind
  /// those that are there. Errors are reported at the op. Called once.
  struct Result {
    unsigned nests = 0;
    uint64_t codeBytes = 0;
    double checkSeconds = 0;
  };
  virtual mlir::FailureOr<Result> compile(plan::Plan &plan) = 0;
  virtual unsigned size() const = 0;
};

using MakeDeviceCompiler =
    std::function<std::unique_ptr<DeviceCompiler>(mlir::MLIRContext *, std::string printStage)>;

} // namespace commsched::planexport

#endif // COMMSCHED_PASSES_PLAN_DEVICECOMPILER_H
