// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// --check-against: the first steps of a job beside the reference interpreter
// (docs/interpreter.md).
#ifndef COMMSCHED_TOOLS_CS_RUN_CHECK_REFERENCE_H
#define COMMSCHED_TOOLS_CS_RUN_CHECK_REFERENCE_H

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "runtime/loading/plan_loader.h"
#include "tools/cs-run/options.h"

namespace commsched::run {

// What sets the options, by name.
std::map<std::string, std::function<absl::Status(const std::string &)>>
CheckReferenceSetters(Options *options);
absl::Status CheckCheckReference(const Options &options);

// Instead of training: runs the first steps one at a time and all in one go, has cs-opt
// interpret each step from the values that the job had before it, and prints the
// largest difference of each tensor. kDataLoss if a value is outside of its bound.
absl::Status CheckAgainst(const Options &options,
                          std::shared_ptr<const runtime::PlanImage> image);

}  // namespace commsched::run

#endif  // COMMSCHED_TOOLS_CS_RUN_CHECK_REFERENCE_H
