// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "passes/problem/Passes.h"

#include <cmath>

#include "mlir/IR/BuiltinOps.h"
#include "passes/problem/ProblemIR.h"
#include "passes/schedule/solver/Bound.h"
#include "llvm/Support/Format.h"

namespace commsched {
#define GEN_PASS_DEF_VERIFYSOLUTION
#include "passes/problem/Passes.h.inc"
} // namespace commsched

using namespace mlir;
using namespace commsched;

namespace {

/// As in the text of the op.
std::string text(double time) {
  std::string result;
  llvm::raw_string_ostream os(result);
  if (time == std::floor(time) && std::abs(time) < 0x1p53)
    os << static_cast<int64_t>(time);
  else
    os << llvm::format("%.17g", time);
  return result;
}

LogicalResult verifyBound(cs::SolutionOp op, StringRef name,
                          std::optional<double> recorded, double proved) {
  // The last digits may differ between versions.
  if (!recorded || *recorded <= proved * (1 + 1e-9))
    return success();
  return op.emitOpError() << name << " must be at most " << text(proved)
                          << ", which is proved, got: " << text(*recorded);
}

LogicalResult verifySolution(cs::SolutionOp op, const schedule::Problem &problem) {
  FailureOr<schedule::Schedule> solution = readSchedule(op, problem);
  if (failed(solution))
    return failure();
  SolutionRecord record = readRecord(op);
  if (record.period) {
    double period = schedule::evaluate(problem, *solution).period;
    if (period != *record.period)
      return op.emitOpError() << "period_ns must match that of the schedule, "
                              << text(period) << ", got: " << text(*record.period);
  }
  if (record.bound &&
      failed(verifyBound(op, "bound_ns", record.bound,
                         schedule::boundOfOrder(problem, solution->order).period)))
    return failure();
  if (!record.anyOrderBound)
    return success();
  return verifyBound(op, "any_order_bound_ns", record.anyOrderBound,
                     schedule::boundOfAnyOrder(problem).period);
}

struct VerifySolution : commsched::impl::VerifySolutionBase<VerifySolution> {
  void runOnOperation() override {
    bool isGood = true;
    for (auto op : getOperation().getOps<cs::ProblemOp>()) {
      FailureOr<schedule::Problem> problem = readProblem(op);
      isGood &= succeeded(problem);
      if (succeeded(problem))
        for (auto solution : op.getBody().front().getOps<cs::SolutionOp>())
          isGood &= succeeded(verifySolution(solution, *problem));
    }
    if (!isGood)
      return signalPassFailure();
    markAllAnalysesPreserved();
  }
};

} // namespace
