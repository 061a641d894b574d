// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tests/cuda/FakeLibrary.h"

#include "llvm/ADT/StringRef.h"

#include <cstddef>
#include <memory>

namespace commsched::cudatest {

using namespace runtime::cuda;

// Whichever thread looks for progress runs what is on the device.
static void prepareThread() {
  thread_local bool prepared = false;
  if (!prepared)
    ops::PrepareComputeThread();
  prepared = true;
}

absl::Status FakeLibrary::Prepare(const std::vector<LibraryKernel> &list, uint32_t streams) {
  prepareThread();
  std::vector<LibraryKernel> ofLibraries = list;
  for (LibraryKernel &each : ofLibraries) {
    descriptions.push_back(each.description);
    if (each.description.kind == "matmul" || llvm::StringRef(each.description.kind).starts_with("convolution_")) {
      kernels.push_back(nullptr);
      continue;
    }
    each.alignments.clear();
    auto kernel = ops::MakeKernel(each.description);
    if (!kernel.ok())
      return kernel.status();
    kernels.push_back(std::move(*kernel));
  }
  return libraries->Prepare(ofLibraries, streams);
}

absl::Status FakeLibrary::Enqueue(uint32_t index, absl::Span<const DevicePtr> operands, Stream stream,
                                  uint32_t number) {
  if (kernels[index] == nullptr)
    return libraries->Enqueue(index, operands, stream, number);
  const ops::KernelDesc &description = descriptions[index];
  FakeWork work;
  work.name = description.kind;
  std::vector<void *> pointers;
  for (size_t i = 0; i < operands.size(); ++i) {
    const ops::KernelOperand &operand = description.operands[i];
    uint64_t last = 0;
    for (size_t d = 0; d < operand.dims.size(); ++d)
      last += uint64_t(operand.dims[d] - 1) * uint64_t(operand.strides[d]);
    Bytes bytes{operands[i], operands[i] + (last + 1) * ops::ElementBytes(operand.element)};
    bool output = i + 1 == operands.size();
    if (!output || description.accumulate)
      work.reads.push_back(bytes);
    if (output)
      work.writes.push_back(bytes);
    pointers.push_back(reinterpret_cast<void *>(operands[i]));
  }
  work.body = [kernel = kernels[index], pointers] {
    prepareThread();
    std::vector<std::max_align_t> scratch(kernel->scratch_bytes() / sizeof(std::max_align_t) + 8);
    void *aligned = scratch.data();
    size_t space = scratch.size() * sizeof(std::max_align_t);
    std::align(64, kernel->scratch_bytes(), aligned, space);
    if (!kernel->Run(pointers.data(), aligned).ok())
      std::abort();
  };
  FakeWork *parameter = &work;
  void *parameters[] = {&parameter};
  DriverResult launched = FakeMachine::driver().LaunchKernel(machine.kernel(), 1, 1, 1, 1, 1, 1, 0, stream,
                                                             parameters, nullptr);
  return launched == DriverResult::kSuccess ? absl::OkStatus() : absl::InternalError("cannot launch");
}

} // namespace commsched::cudatest
