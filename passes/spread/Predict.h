// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a step, and small messages in it, take, by the cluster's rates.

#ifndef COMMSCHED_PASSES_SPREAD_PREDICT_H
#define COMMSCHED_PASSES_SPREAD_PREDICT_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "ir/Cs.h"

namespace commsched::spread {

/// Nanoseconds. No step is shorter than the longer of the two.
struct StepTimes {
  double compute = 0; // of the busiest device
  double link = 0;    // that the link of a node is busy
  double bound() const { return std::max(compute, link); }
};

StepTimes predictStep(mlir::func::FuncOp func, cs::ClusterOp cluster);

/// An all-reduce: until all have the result, and that the link is busy.
struct MessageTimes {
  double travel = 0, busy = 0;
};
MessageTimes predictAllReduce(int64_t bytes, cs::ClusterOp cluster);

/// Reading so many bytes.
double readTime(double bytes, cs::ClusterOp cluster);

} // namespace commsched::spread

#endif // COMMSCHED_PASSES_SPREAD_PREDICT_H
