// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All kernels, by kind. Each family lives in a folder of its own.
#ifndef COMMSCHED_OPS_REGISTRY_H
#define COMMSCHED_OPS_REGISTRY_H

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ops/base/kernel.h"

namespace commsched::ops {

// Makes the kernel or says why it cannot be: unknown kind, shapes that do not
// fit together, an element type that no implementation takes. The calling
// thread must have called PrepareComputeThread. Thread-safe.
absl::StatusOr<std::unique_ptr<KernelInstance>> MakeKernel(
    const KernelDesc &desc);

// Checks what can be checked without making it: the kind is known, ranks and
// sizes of the operands fit, nothing overflows.
absl::Status CheckKernel(const KernelDesc &desc);

// Adds a kind, before any plan is loaded; replaces one of the same name.
void RegisterKernel(const std::string &kind, const KernelFamily &family);

// Restricts the calling thread to kernels on one core: the ranks are the
// parallelism. Called once by each compute thread.
void PrepareComputeThread();

}  // namespace commsched::ops

#endif  // COMMSCHED_OPS_REGISTRY_H
