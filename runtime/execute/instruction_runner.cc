// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/execute/instruction_runner.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "runtime/loading/code_object.h"

namespace commsched::runtime {

size_t InstructionRunner::ScratchBytesOf(const Program &program) {
  size_t scratch = 0;
  for (const FunctionProgram &f : program.functions)
    scratch = std::max(scratch, f.scratch_bytes);
  return scratch;
}

absl::Status InstructionRunner::AllocateScratch(const Program &program) {
  absl::StatusOr<Memory> memory = Memory::Allocate(ScratchBytesOf(program));
  if (!memory.ok()) return memory.status();
  fragment_scratch_ = *std::move(memory);
  context_ = {&CallKernel, fragment_scratch_.data(), this};
  return absl::OkStatus();
}

absl::Status InstructionRunner::MakeKernels(const Program &program) {
  size_t scratch = 0;
  for (size_t i = 0; i < program.kernels.size(); ++i) {
    auto kernel = ops::MakeKernel(program.kernels[i]);
    if (!kernel.ok())
      return absl::Status(
          kernel.status().code(),
          absl::StrCat("kernel ", i, " \"", program.kernels[i].kind,
                       "\": ", kernel.status().message()));
    scratch = std::max(scratch, (*kernel)->scratch_bytes());
    kernels_.push_back(*std::move(kernel));
  }
  absl::StatusOr<Memory> memory = Memory::Allocate(scratch);
  if (!memory.ok()) return memory.status();
  kernel_scratch_ = *std::move(memory);
  return absl::OkStatus();
}

void InstructionRunner::CallKernel(CsFragmentContext *context, int32_t index,
                                   void **operands) {
  auto *self = static_cast<InstructionRunner *>(context->user);
  absl::Status status;
  if (index < 0 || size_t(index) >= self->kernels_.size())
    status = absl::InvalidArgumentError(
        absl::StrCat("calls kernel ", index, ", which the plan lacks"));
  else
    status = self->kernels_[size_t(index)]->Run(operands,
                                                self->kernel_scratch_.data());
  if (!status.ok() && self->status_.ok()) self->status_ = status;
}

absl::Status InstructionRunner::Run(const FunctionProgram &function,
                                    uint32_t index,
                                    const std::vector<std::byte *> &address) {
  const InstructionProgram &instruction = function.instructions[index];
  switch (instruction.kind) {
    case InstructionProgram::kLaunch:
      // Not every fragment for a device has code for the host: emulation does without.
      if (instruction.run.fragment == nullptr) break;
      [[fallthrough]];
    case InstructionProgram::kRun: {
      const std::vector<uint32_t> &operands = instruction.run.operands;
      void *few[32];
      std::vector<void *> many;
      void **pointers = few;
      if (operands.size() > 32) {
        many.resize(operands.size());
        pointers = many.data();
      }
      for (size_t i = 0; i < operands.size(); ++i)
        pointers[i] = address[operands[i]];
      instruction.run.fragment->function(&context_, pointers);
      break;
    }
    case InstructionProgram::kCopy: {
      size_t bytes = function.buffers[instruction.target].type.bytes;
      if (bytes != 0)
        std::memmove(address[instruction.target], address[instruction.source],
                     bytes);
      break;
    }
    default:
      break;
  }
  return status_;
}

}  // namespace commsched::runtime
