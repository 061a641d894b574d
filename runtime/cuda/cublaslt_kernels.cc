// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/cuda/cublaslt_kernels.h"

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

}  // namespace

absl::Status CublasLtKernels::Check(int status, const char *what) const {
  if (status == kCublasSuccess) return absl::OkStatus();
  const char *name = api_.GetStatusName(status);
  return absl::InternalError(absl::StrCat(what, ": ", name == nullptr ? "" : name, " (", status, ")"));
}

CublasLtKernels::~CublasLtKernels() {
  for (const auto &[index, product] : products_) {
    for (CublasLtLayout layout : {product.a, product.b, product.d})
      if (layout != nullptr) api_.LayoutDestroy(layout);
    if (product.operation != nullptr) api_.OperationDestroy(product.operation);
  }
  if (handle_ != nullptr) api_.Destroy(handle_);
}

absl::Status CublasLtKernels::Make(uint32_t index, const LibraryKernel &kernel,
                                   uint64_t workspace_bytes) {
  if (handle_ == nullptr)
    if (absl::Status s = Check(api_.Create(&handle_), "cublasLtCreate"); !s.ok()) return s;
  Product &product = products_[index];
  if (absl::Status s = Describe(kernel, &product); !s.ok()) return s;
  return Choose(kernel, workspace_bytes, &product);
}

absl::Status CublasLtKernels::Describe(const LibraryKernel &kernel, Product *product) {
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

absl::Status CublasLtKernels::Choose(const LibraryKernel &kernel, uint64_t workspace_bytes,
                                     Product *product) {
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
  set(kPreferenceWorkspaceBytes, workspace_bytes);
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
  product->workspace_bytes = found.workspace_bytes;
  return absl::OkStatus();
}

absl::Status CublasLtKernels::Enqueue(uint32_t index, absl::Span<const DevicePtr> operands,
                                      DevicePtr workspace, Stream stream, bool once) {
  const Product &product = products_.at(index);
  const MatmulLayout &layout = product.layout;
  // In the type of the operation, read before the call returns.
  const double one = 1, zero = 0;
  const float one_f = 1, zero_f = 0;
  const bool f64 = layout.a.element == ops::Element::kF64;
  const void *alpha = f64 ? static_cast<const void *>(&one) : &one_f;
  const void *beta = f64 ? static_cast<const void *>(layout.accumulate ? &one : &zero)
                         : (layout.accumulate ? &one_f : &zero_f);
  for (size_t call = 0; call < (once ? 1 : layout.offsets.size()); ++call) {
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
                              product.workspace_bytes, stream),
                  "cublasLtMatmul");
        !s.ok())
      return s;
  }
  return absl::OkStatus();
}

}  // namespace commsched::runtime::cuda
