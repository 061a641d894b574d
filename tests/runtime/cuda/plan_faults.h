// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Faults in what one rank does in a step, one at a time. Which of them can do harm is decided by
// reachability (orders.h): two ops use the same bytes, one of them writing, and nothing orders them.
#ifndef COMMSCHED_TESTS_RUNTIME_CUDA_PLAN_FAULTS_H
#define COMMSCHED_TESTS_RUNTIME_CUDA_PLAN_FAULTS_H

#include <memory>
#include <optional>
#include <random>
#include <string>

#include "tests/runtime/cuda/fake_probe.h"

namespace commsched::runtime::cuda {

enum class PlanFault {
  kWait,   // one is left out
  kRange,  // what an op reads or writes is not all said, and waits follow from that
  kCopy,   // in the second call of a round an op has the other copy of a slot
  kPlace,  // a message has a place of staging memory that another one has
  kPush,   // a push to a server does not wait for the copy to the host
  kPull,   // the copy to the device does not wait for the pull, or what comes behind it for the copy
};
// "wait", "range", "copy", "place", "push", "pull".
std::optional<PlanFault> PlanFaultOf(const std::string &name);

// Of the program's first function. `harmful` is set when the rank is made: nothing, where there is
// no such fault to be made.
void Plant(FakeProbe &probe, PlanFault fault, uint64_t seed,
           std::shared_ptr<std::optional<bool>> harmful);

}  // namespace commsched::runtime::cuda

#endif  // COMMSCHED_TESTS_RUNTIME_CUDA_PLAN_FAULTS_H
