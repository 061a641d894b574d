// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The parts of a plan that stand alone, tensor types and kernels, checked and
// turned into what the runtime uses. Used by the plan loader only.
#ifndef COMMSCHED_RUNTIME_LOADING_PLAN_VALUES_H
#define COMMSCHED_RUNTIME_LOADING_PLAN_VALUES_H

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ops/registry.h"
#include "plan/limits.h"
#include "plan/plan.pb.h"
#include "runtime/program/program.h"

namespace commsched::runtime {

// No tensor and no arena is larger.
inline constexpr uint64_t kMaxPlanBytes = kMaxTensorBytes;

// The error that the part `where` of the plan is wrong in the way `what`.
absl::Status BadPlan(const std::string &where, absl::string_view what);

// Refuses unknown element types and shapes that are negative or too large.
absl::StatusOr<TensorInfo> ConvertType(const plan::TensorType &type,
                                       const std::string &where);

// Kernel number `index` of the plan. Refuses operands that reach outside of
// kMaxPlanBytes and whatever ops::CheckKernel does.
absl::StatusOr<ops::KernelDesc> ConvertKernel(const plan::Kernel &kernel,
                                              int index);

}  // namespace commsched::runtime

#endif  // COMMSCHED_RUNTIME_LOADING_PLAN_VALUES_H
