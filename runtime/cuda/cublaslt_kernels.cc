// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/cuda/cublaslt_kernels.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"

namespace commsched::runtime::cuda {
namespace {

int TypeOf(ops::Element element) {
  switch (element) {
    case ops::Element::kF64: return kCudaF64;
    case ops::Element::kF16: return kCudaF16;
    case ops::Element::kBF16: return kCudaBf16;
    default: return kCudaF32;
  }
}
bool Multiplies(ops::Element a, ops::Element b, ops::Element output) {
  if (a != b) return false;
  if (a == ops::Element::kF16 || a == ops::Element::kBF16)
    return output == a || output == ops::Element::kF32;
  return (a == ops::Element::kF32 || a == ops::Element::kF64) && output == a;
}

// Of the first element of `matrix` at all calls.
uint32_t AlignmentOf(const LibraryKernel &kernel, const MatmulLayout &layout, size_t which,
                     const ColumnMajor &matrix) {
  uint64_t bits = kernel.alignments[matrix.operand];
  for (const auto &offsets : layout.offsets)
    bits |= uint64_t(offsets[which]) * ops::ElementBytes(matrix.element);
  return uint32_t(bits & -bits);
}

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

absl::Status CublasLtKernels::Check(int status, const char *what) const {
  if (status == kCublasSuccess) return absl::OkStatus();
  const char *name = api_.GetStatusName(status);
  return absl::InternalError(absl::StrCat(what, ": ", name == nullptr ? "" : name, " (", status, ")"));
}

absl::Status CublasLtKernels::Allocate(uint64_t bytes, const char *what, DevicePtr *memory) {
  size_t free = 0, total = 0;
  if (absl::Status s = Check(driver_.MemGetInfo(&free, &total), "cuMemGetInfo"); !s.ok()) return s;
  const DriverResult result =
      bytes <= free ? driver_.MemAlloc(memory, bytes) : DriverResult::kInvalidValue;
  if (result == DriverResult::kSuccess) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat(what, " of library kernels: ", bytes, " bytes are needed on the device, which has ",
                   free, " of ", total, " bytes free"));
}

CublasLtKernels::~CublasLtKernels() {
  for (const Product &product : products_) {
    for (CublasLtLayout layout : {product.a, product.b, product.d})
      if (layout != nullptr) api_.LayoutDestroy(layout);
    if (product.operation != nullptr) api_.OperationDestroy(product.operation);
  }
  for (DevicePtr workspace : workspaces_) driver_.MemFree(workspace);
  if (handle_ != nullptr) api_.Destroy(handle_);
}

absl::Status CublasLtKernels::Prepare(const std::vector<LibraryKernel> &kernels, uint32_t streams) {
  if (absl::Status s = Check(api_.Create(&handle_), "cublasLtCreate"); !s.ok()) return s;
  products_.resize(kernels.size());
  for (size_t k = 0; k < kernels.size(); ++k) {
    if (kernels[k].alignments.empty()) continue;
    absl::Status made = Make(kernels[k], &products_[k]);
    if (made.ok()) made = Choose(kernels[k], &products_[k]);
    if (!made.ok()) return Named(kernels[k], k, made);
  }
  if (absl::Status s = RunEach(kernels); !s.ok()) return s;
  for (uint32_t i = 0; i < streams && workspace_bytes_ != 0; ++i) {
    DevicePtr memory = 0;
    if (absl::Status s = Allocate(workspace_bytes_, "workspace", &memory); !s.ok()) return s;
    workspaces_.push_back(memory);
  }
  return absl::OkStatus();
}

absl::Status CublasLtKernels::Make(const LibraryKernel &kernel, Product *product) {
  if (kernel.description.kind != "matmul")
    return absl::UnimplementedError("there is no kernel of this kind for CUDA devices");
  const auto &operands = kernel.description.operands;
  if (!Multiplies(operands[0].element, operands[1].element, operands[2].element))
    return absl::UnimplementedError(
        "element types must be f64, f32, f16 or bf16, the same of all, or f32 of the output");
  absl::StatusOr<MatmulLayout> layout = LayoutOfMatmul(kernel.description);
  if (!layout.ok()) return layout.status();
  product->layout = *std::move(layout);

  const bool f64 = operands[0].element == ops::Element::kF64;
  if (absl::Status s = Check(api_.OperationCreate(&product->operation,
                                                  f64 ? kCublasComputeF64 : kCublasComputeF32,
                                                  f64 ? kCudaF64 : kCudaF32),
                             "cublasLtMatmulDescCreate");
      !s.ok())
    return s;
  for (const auto &[attribute, matrix] :
       {std::pair(kOperationTransposeA, &product->layout.a),
        std::pair(kOperationTransposeB, &product->layout.b)}) {
    const int32_t value = matrix->transposed ? kCublasTransposed : kCublasAsItIs;
    if (absl::Status s =
            Check(api_.OperationSet(product->operation, attribute, &value, sizeof(value)),
                  "cublasLtMatmulDescSetAttribute");
        !s.ok())
      return s;
  }
  for (const auto &[made, matrix] :
       {std::pair(&product->a, &product->layout.a), std::pair(&product->b, &product->layout.b),
        std::pair(&product->d, &product->layout.d)}) {
    if (absl::Status s = Check(api_.LayoutCreate(made, TypeOf(matrix->element), matrix->rows,
                                                 matrix->columns, matrix->leading),
                               "cublasLtMatrixLayoutCreate");
        !s.ok())
      return s;
    if (product->layout.batch == 1) continue;
    if (absl::Status s = Check(api_.LayoutSet(*made, kLayoutBatchCount, &product->layout.batch,
                                              sizeof(product->layout.batch)),
                               "cublasLtMatrixLayoutSetAttribute");
        !s.ok())
      return s;
    if (absl::Status s = Check(api_.LayoutSet(*made, kLayoutBatchStride, &matrix->batch_stride,
                                              sizeof(matrix->batch_stride)),
                               "cublasLtMatrixLayoutSetAttribute");
        !s.ok())
      return s;
  }
  return absl::OkStatus();
}

absl::Status CublasLtKernels::Choose(const LibraryKernel &kernel, Product *product) {
  CublasLtPreference preference = nullptr;
  if (absl::Status s = Check(api_.PreferenceCreate(&preference), "cublasLtMatmulPreferenceCreate");
      !s.ok())
    return s;
  absl::Status status;
  const auto set = [&](int attribute, auto value) {
    status.Update(Check(api_.PreferenceSet(preference, attribute, &value, sizeof(value)),
                        "cublasLtMatmulPreferenceSetAttribute"));
  };
  const MatmulLayout &layout = product->layout;
  set(kPreferenceWorkspaceBytes, kMostWorkspaceBytes);
  // Others are rounded in between.
  set(kPreferenceReductions, kReductionInComputeType);
  set(kPreferenceAlignmentA, AlignmentOf(kernel, layout, 0, layout.a));
  set(kPreferenceAlignmentB, AlignmentOf(kernel, layout, 1, layout.b));
  set(kPreferenceAlignmentC, AlignmentOf(kernel, layout, 2, layout.d));
  set(kPreferenceAlignmentD, AlignmentOf(kernel, layout, 2, layout.d));
  CublasLtHeuristic found = {};
  int count = 0;
  if (status.ok()) {
    const int result = api_.GetHeuristic(handle_, product->operation, product->a, product->b,
                                         product->d, product->d, preference, 1, &found, &count);
    if (result != kCublasSuccess || count == 0 || found.status != kCublasSuccess) {
      const char *name = api_.GetStatusName(result != kCublasSuccess ? result : found.status);
      status = absl::UnimplementedError(
          absl::StrCat("cuBLASLt has no algorithm for it: ",
                       result == kCublasSuccess && count == 0 ? "none is found"
                       : name == nullptr                      ? "no reason"
                                                              : name));
    }
  }
  api_.PreferenceDestroy(preference);
  if (!status.ok()) return status;
  product->algorithm = found.algorithm;
  workspace_bytes_ = std::max<uint64_t>(workspace_bytes_, found.workspace_bytes);
  return absl::OkStatus();
}

absl::Status CublasLtKernels::RunEach(const std::vector<LibraryKernel> &kernels) {
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
  absl::Status ran = RunEachOn(memory, bytes);
  ran.Update(Check(driver_.MemFree(memory), "cuMemFree"));
  return ran;
}

// All operands lie in the same place: what is zero stays zero.
absl::Status CublasLtKernels::RunEachOn(DevicePtr memory, uint64_t bytes) {
  Stream stream = nullptr;
  if (absl::Status s = Check(driver_.StreamCreateWithPriority(&stream, kStreamNonBlocking, 0),
                             "cuStreamCreateWithPriority");
      !s.ok())
    return s;
  Event ended = nullptr;
  absl::Status status = Check(driver_.EventCreate(&ended, kEventDisableTiming), "cuEventCreate");
  if (status.ok())
    status = Check(driver_.MemsetD8Async(memory, 0, bytes, stream), "cuMemsetD8Async");
  const std::array<DevicePtr, 3> operands = {memory, memory, memory};
  for (const Product &product : products_) {
    if (product.operation != nullptr && status.ok())
      status = EnqueueOn(product, operands, 1, memory + bytes, stream);
  }
  if (ended != nullptr) {
    status.Update(Check(driver_.EventRecord(ended, stream), "cuEventRecord"));
    DriverResult result = DriverResult::kSuccess;
    while ((result = driver_.EventQuery(ended)) == DriverResult::kNotReady)
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    status.Update(Check(result, "cuEventQuery"));
    status.Update(Check(driver_.EventDestroy(ended), "cuEventDestroy"));
  }
  status.Update(Check(driver_.StreamDestroy(stream), "cuStreamDestroy"));
  return status;
}

absl::Status CublasLtKernels::Enqueue(uint32_t kernel, absl::Span<const DevicePtr> operands,
                                      Stream stream, uint32_t number) {
  const Product &product = products_[kernel];
  return EnqueueOn(product, operands, product.layout.offsets.size(),
                   workspaces_.empty() ? 0 : workspaces_[number], stream);
}

absl::Status CublasLtKernels::EnqueueOn(const Product &product, absl::Span<const DevicePtr> operands,
                                        size_t most_calls, DevicePtr workspace, Stream stream) {
  const MatmulLayout &layout = product.layout;
  // In the type of the operation, read before the call returns.
  const double one = 1, zero = 0;
  const float one_f = 1, zero_f = 0;
  const bool f64 = layout.a.element == ops::Element::kF64;
  const void *alpha = f64 ? static_cast<const void *>(&one) : &one_f;
  const void *beta = f64 ? static_cast<const void *>(layout.accumulate ? &one : &zero)
                         : (layout.accumulate ? &one_f : &zero_f);
  for (size_t call = 0; call < most_calls; ++call) {
    const auto at = [&](const ColumnMajor &matrix, size_t which) {
      return reinterpret_cast<void *>(operands[matrix.operand] +
                                      uint64_t(layout.offsets[call][which]) *
                                          ops::ElementBytes(matrix.element));
    };
    void *d = at(layout.d, 2);
    if (absl::Status s =
            Check(api_.Matmul(handle_, product.operation, alpha, at(layout.a, 0), product.a,
                              at(layout.b, 1), product.b, beta, d, product.d, d, product.d,
                              &product.algorithm, reinterpret_cast<void *>(workspace),
                              workspace_bytes_, stream),
                  "cublasLtMatmul");
        !s.ok())
      return s;
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<LibraryKernels>> LoadLibraryKernels(const DriverApi &driver,
                                                                   const Libraries &libraries) {
  absl::StatusOr<CublasLtApi> api = LoadCublasLt(libraries);
  if (!api.ok()) return api.status();
  return std::make_unique<CublasLtKernels>(driver, *api);
}

}  // namespace commsched::runtime::cuda
