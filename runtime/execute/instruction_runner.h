// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs one instruction of a stream: a fragment of compiled code with the kernels
// that it calls, or a copy.
#ifndef COMMSCHED_RUNTIME_EXECUTE_INSTRUCTION_RUNNER_H
#define COMMSCHED_RUNTIME_EXECUTE_INSTRUCTION_RUNNER_H

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "ops/registry.h"
#include "plan/fragment_abi.h"
#include "runtime/base/memory.h"
#include "runtime/program/program.h"

namespace commsched::runtime {

// Owns the kernels and the scratch memory of fragments and kernels of one
// stream. Threading: MakeKernels and Run are called by one thread, the stream's,
// and take no lock.
class InstructionRunner {
 public:
  InstructionRunner() = default;
  InstructionRunner(const InstructionRunner &) = delete;
  InstructionRunner &operator=(const InstructionRunner &) = delete;

  // The first and the last are called once, in this order, before Run; neither if only copies are
  // run.
  absl::Status AllocateScratch(const Program &program);
  // What it asks for.
  static size_t ScratchBytesOf(const Program &program);
  absl::Status MakeKernels(const Program &program);
  // Of what has been made so far.
  size_t memory_bytes() const {
    return fragment_scratch_.size() + kernel_scratch_.size();
  }

  // Runs instruction `index` of `function` on the buffers at `address` (by
  // buffer); has nothing to do for other kinds than kRun and kCopy. Returns the first error of a
  // kernel since the beginning, after which the buffers hold anything.
  absl::Status Run(const FunctionProgram &function, uint32_t index,
                   const std::vector<std::byte *> &address);

 private:
  static void CallKernel(CsFragmentContext *context, int32_t index,
                         void **operands);

  Memory fragment_scratch_;
  Memory kernel_scratch_;
  std::vector<std::unique_ptr<ops::KernelInstance>> kernels_;
  CsFragmentContext context_{};  // what a fragment gets; `user` is this object
  absl::Status status_;
};

}  // namespace commsched::runtime

#endif  // COMMSCHED_RUNTIME_EXECUTE_INSTRUCTION_RUNNER_H
