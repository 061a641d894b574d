// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tests/runtime/cuda/library_run.h"

#include <cstring>
#include <memory>
#include <random>

#include "absl/strings/str_cat.h"
#include "runtime/cuda/matmul_layout.h"

namespace commsched::runtime::cuda {
namespace {

uint32_t AlignmentOf(DevicePtr at) { return uint32_t((at | 256) & -(at | 256)); }

}  // namespace

TwoStreams::TwoStreams(uint64_t seed) : machine_(seed) {
  const DriverApi &driver = FakeMachine::driver();
  Context context = nullptr;
  driver.PrimaryContextRetain(&context, 0);
  driver.ContextSetCurrent(context);
  for (Stream &stream : streams_) driver.StreamCreateWithPriority(&stream, kStreamNonBlocking, 0);
}
TwoStreams::~TwoStreams() {
  const DriverApi &driver = FakeMachine::driver();
  for (Stream stream : streams_) driver.StreamDestroy(stream);
  for (DevicePtr memory : memory_) driver.MemFree(memory);
  driver.PrimaryContextRelease(0);
  driver.ContextSetCurrent(nullptr);
}
DevicePtr TwoStreams::Put(const DrawnOperand &operand) {
  DevicePtr memory = 0;
  FakeMachine::driver().MemAlloc(&memory, operand.bytes.size());
  memory_.push_back(memory);
  std::memcpy(reinterpret_cast<void *>(memory), operand.bytes.data(), operand.bytes.size());
  return memory + operand.first;
}
void TwoStreams::RunAll() {
  while (machine_.RunSome(100) != 0) {
  }
}

LibraryRun RunLibraryKernels(const std::vector<ops::KernelDesc> &kernels, uint64_t seed, uint64_t order,
                             const std::vector<KindOfLibrary> &kinds, const CheckKernelOutput &check) {
  std::mt19937_64 random(seed);
  LibraryRun outcome;
  const auto wrong = [&](const std::string &what) {
    if (outcome.wrong.empty()) outcome.wrong = what;
  };
  TwoStreams device(order);
  std::vector<std::vector<DrawnOperand>> operands;
  std::vector<std::vector<DevicePtr>> addresses;
  std::vector<LibraryKernel> prepared;
  for (const ops::KernelDesc &kernel : kernels) {
    operands.emplace_back();
    addresses.emplace_back();
    prepared.push_back({kernel, {}});
    for (const ops::KernelOperand &operand : kernel.operands) {
      operands.back().push_back(DrawOperand(random, operand));
      addresses.back().push_back(device.Put(operands.back().back()));
      prepared.back().alignments.push_back(AlignmentOf(addresses.back().back()));
    }
  }
  auto library = std::make_unique<DeviceLibraries>(FakeMachine::driver(), kinds);
  outcome.status = library->Prepare(prepared, 2);
  for (uint32_t k = 0; k < kernels.size() && outcome.status.ok(); ++k)
    outcome.status = library->Enqueue(k, addresses[k], device.stream(k % 2), k % 2);
  device.RunAll();
  if (!outcome.status.ok()) wrong(std::string(outcome.status.message()));
  for (size_t k = 0; k < kernels.size(); ++k) {
    const std::vector<std::byte> &before = operands[k][2].bytes;
    const auto *memory = reinterpret_cast<std::byte *>(addresses[k][2] - operands[k][2].first);
    outcome.outputs.emplace_back(memory, memory + before.size());
    const std::string found = check(kernels[k], operands[k], outcome.outputs.back());
    if (!found.empty()) wrong(absl::StrCat(DescribeKernel(kernels[k]), ": ", found));
  }
  library.reset();
  for (const std::string &finding : device.machine().TakeFindings()) wrong(finding);
  return outcome;
}

absl::Status PrepareStatus(const ops::KernelDesc &kernel, const std::vector<KindOfLibrary> &kinds) {
  TwoStreams device(0);
  DeviceLibraries library(FakeMachine::driver(), kinds);
  return library.Prepare({{kernel, {}}, {kernel, {16, 16, 16}}}, 2);
}

}  // namespace commsched::runtime::cuda
