// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/cuda/device_libraries.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <thread>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "runtime/cuda/cublaslt_kernels.h"
#include "runtime/cuda/cudnn_kernels.h"
#include "runtime/cuda/matmul_layout.h"

namespace commsched::runtime::cuda {
namespace {

constexpr absl::string_view kProducts = "matmul", kConvolutions = "convolution_";

// Bytes from the first to behind the last element.
uint64_t ExtentOf(const ops::KernelOperand &operand) {
  uint64_t last = 0;
  for (size_t d = 0; d < operand.dims.size(); ++d)
    last += uint64_t(operand.dims[d] - 1) * uint64_t(operand.strides[d]);
  return (last + 1) * ops::ElementBytes(operand.element);
}

absl::Status Named(const LibraryKernel &kernel, size_t index, const absl::Status &status) {
  if (status.ok()) return status;
  return absl::Status(status.code(),
                      absl::StrCat("kernel ", index, ", ", DescribeKernel(kernel.description), ": ",
                                   status.message()));
}

}  // namespace

DeviceLibraries::~DeviceLibraries() {
  for (DevicePtr workspace : workspaces_) driver_.MemFree(workspace);
}

absl::Status DeviceLibraries::Allocate(uint64_t bytes, const char *what, DevicePtr *memory) {
  size_t free = 0, total = 0;
  if (absl::Status s = Check(driver_.MemGetInfo(&free, &total), "cuMemGetInfo"); !s.ok()) return s;
  const DriverResult result =
      bytes <= free ? driver_.MemAlloc(memory, bytes) : DriverResult::kInvalidValue;
  if (result == DriverResult::kSuccess) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat(what, " of library kernels: ", bytes, " bytes are needed on the device, which has ",
                   free, " of ", total, " bytes free"));
}

absl::Status DeviceLibraries::Prepare(const std::vector<LibraryKernel> &kernels, uint32_t streams) {
  of_kernels_.assign(kernels.size(), nullptr);
  for (uint32_t k = 0; k < kernels.size(); ++k) {
    if (kernels[k].alignments.empty()) continue;
    absl::StatusOr<const KindOfLibrary *> kind = Find(kernels[k]);
    if (!kind.ok()) return Named(kernels[k], k, kind.status());
    if (absl::Status s = Load(**kind); !s.ok())
      return absl::Status(s.code(), absl::StrCat("the plan calls library kernels: ", s.message()));
    of_kernels_[k] = libraries_[size_t(*kind - kinds_.data())].get();
    workspace_bytes_ = std::max(workspace_bytes_, (*kind)->workspace_bytes);
    if (absl::Status s = of_kernels_[k]->Make(k, kernels[k], (*kind)->workspace_bytes); !s.ok())
      return Named(kernels[k], k, s);
  }
  if (absl::Status s = RunEach(kernels); !s.ok()) return s;
  for (uint32_t i = 0; i < streams && workspace_bytes_ != 0; ++i) {
    DevicePtr memory = 0;
    if (absl::Status s = Allocate(workspace_bytes_, "workspace", &memory); !s.ok()) return s;
    workspaces_.push_back(memory);
  }
  return absl::OkStatus();
}

absl::StatusOr<const KindOfLibrary *> DeviceLibraries::Find(const LibraryKernel &kernel) const {
  for (const KindOfLibrary &kind : kinds_)
    if (absl::StartsWith(kernel.description.kind, kind.prefix)) return &kind;
  return absl::UnimplementedError("there is no kernel of this kind for CUDA devices");
}

absl::Status DeviceLibraries::Load(const KindOfLibrary &kind) {
  std::unique_ptr<KernelLibrary> &library = libraries_[size_t(&kind - kinds_.data())];
  if (library != nullptr) return absl::OkStatus();
  absl::StatusOr<std::unique_ptr<KernelLibrary>> loaded = kind.load();
  if (loaded.ok()) library = *std::move(loaded);
  return loaded.status();
}

absl::Status DeviceLibraries::RunEach(const std::vector<LibraryKernel> &kernels) {
  uint64_t bytes = 0;
  for (const LibraryKernel &kernel : kernels) {
    if (kernel.alignments.empty()) continue;
    for (const ops::KernelOperand &operand : kernel.description.operands)
      bytes = std::max(bytes, ExtentOf(operand));
  }
  if (bytes == 0) return absl::OkStatus();
  constexpr uint64_t kAlignment = 256;
  bytes = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  DevicePtr memory = 0;
  if (absl::Status s = Allocate(bytes + workspace_bytes_, "first run", &memory); !s.ok()) return s;
  Stream stream = nullptr;
  absl::Status status = Check(driver_.StreamCreateWithPriority(&stream, kStreamNonBlocking, 0),
                              "cuStreamCreateWithPriority");
  Event ended = nullptr;
  if (status.ok()) status = Check(driver_.EventCreate(&ended, kEventDisableTiming), "cuEventCreate");
  if (status.ok()) status = Check(driver_.MemsetD8Async(memory, 0, bytes, stream), "cuMemsetD8Async");
  // All operands lie in the same place: what is zero stays zero.
  const std::array<DevicePtr, 3> operands = {memory, memory, memory};
  for (uint32_t k = 0; k < of_kernels_.size() && status.ok(); ++k)
    if (of_kernels_[k] != nullptr)
      status = Named(kernels[k], k,
                     of_kernels_[k]->Enqueue(k, operands, memory + bytes, stream, /*once=*/true));
  if (ended != nullptr) {
    status.Update(Check(driver_.EventRecord(ended, stream), "cuEventRecord"));
    DriverResult result = DriverResult::kSuccess;
    while ((result = driver_.EventQuery(ended)) == DriverResult::kNotReady)
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    status.Update(Check(result, "cuEventQuery"));
    status.Update(Check(driver_.EventDestroy(ended), "cuEventDestroy"));
  }
  if (stream != nullptr) status.Update(Check(driver_.StreamDestroy(stream), "cuStreamDestroy"));
  status.Update(Check(driver_.MemFree(memory), "cuMemFree"));
  return status;
}

absl::Status DeviceLibraries::Enqueue(uint32_t kernel, absl::Span<const DevicePtr> operands,
                                      Stream stream, uint32_t number) {
  return of_kernels_[kernel]->Enqueue(kernel, operands, workspaces_[number], stream,
                                      /*once=*/false);
}

uint32_t DeviceLibraries::most_commands(uint32_t kernel) const {
  // What is known of libraries: a kernel, one that sums its parts, one that clears memory before.
  constexpr uint32_t kCommandsOfCall = 4;
  return of_kernels_[kernel] == nullptr
             ? 0
             : kCommandsOfCall * uint32_t(of_kernels_[kernel]->calls(kernel));
}

uint64_t WorkspaceBytes(const std::vector<const ops::KernelDesc *> &called) {
  uint64_t bytes = 0;
  for (const ops::KernelDesc *kernel : called)
    bytes = std::max(bytes, absl::StartsWith(kernel->kind, kConvolutions) ? kConvolutionWorkspaceBytes
                                                                          : kProductWorkspaceBytes);
  return bytes;
}

std::unique_ptr<LibraryKernels> MakeDeviceLibraries(const DriverApi &driver,
                                                    const Libraries &libraries) {
  using Loaded = absl::StatusOr<std::unique_ptr<KernelLibrary>>;
  const auto products = [libraries]() -> Loaded {
    absl::StatusOr<CublasLtApi> api = LoadCublasLt(libraries);
    if (!api.ok()) return api.status();
    return std::make_unique<CublasLtKernels>(*api);
  };
  const auto convolutions = [libraries]() -> Loaded {
    absl::StatusOr<CudnnApi> api = LoadCudnn(libraries);
    if (!api.ok()) return api.status();
    return std::make_unique<CudnnKernels>(*api);
  };
  return std::make_unique<DeviceLibraries>(
      driver, std::vector<KindOfLibrary>{{kProducts, kProductWorkspaceBytes, products},
                                         {kConvolutions, kConvolutionWorkspaceBytes, convolutions}});
}

}  // namespace commsched::runtime::cuda
