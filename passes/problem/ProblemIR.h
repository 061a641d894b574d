// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Scheduling problems and schedules as ops and back. Both ways are exact: what is
// written is read again field by field.

#ifndef COMMSCHED_PASSES_PROBLEM_PROBLEMIR_H
#define COMMSCHED_PASSES_PROBLEM_PROBLEMIR_H

#include <optional>
#include <string>

#include "ir/CsProblemOps.h"
#include "passes/schedule/solver/Problem.h"
#include "passes/schedule/solver/Schedule.h"

namespace commsched {

/// The problem of a verified op, without its solutions. Fails with an error at the op
/// if schedule::check() finds something that the verifiers do not see.
mlir::FailureOr<schedule::Problem> readProblem(cs::ProblemOp op);

/// Requires that schedule::check() finds nothing.
cs::ProblemOp writeProblem(mlir::OpBuilder &builder, mlir::Location location,
                           const schedule::Problem &problem);

/// What is known of a schedule, in nanoseconds per step.
struct SolutionRecord {
  std::optional<double> period;
  std::optional<double> bound; ///< for its order of ops
  std::optional<double> anyOrderBound;
};

/// The schedule of a verified op. `problem` is that of the op's parent. Fails with an
/// error at the op if schedule::verify() finds something.
mlir::FailureOr<schedule::Schedule> readSchedule(cs::SolutionOp op,
                                                 const schedule::Problem &problem);
SolutionRecord readRecord(cs::SolutionOp op);

/// At the end of `op`, which holds `problem`. Requires that schedule::verify() finds
/// nothing.
cs::SolutionOp writeSolution(cs::ProblemOp op, const schedule::Problem &problem,
                             const schedule::Schedule &schedule,
                             const SolutionRecord &record = {});

/// A module with the problem and, if given, a solution, as text.
std::string problemText(const schedule::Problem &problem,
                        const schedule::Schedule *schedule = nullptr,
                        const SolutionRecord &record = {});

} // namespace commsched

#endif // COMMSCHED_PASSES_PROBLEM_PROBLEMIR_H
