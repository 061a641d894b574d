// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/cuda/cublaslt_kernels.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/cuda/load.h"

namespace commsched::runtime::cuda {
namespace {

// What addresses are looked at for: more does not matter to the library.
constexpr uint32_t kMostAlignment = 256;

// Of cudaDataType_t.
constexpr int kTypeF32 = 0, kTypeF64 = 1, kTypeF16 = 2, kTypeBF16 = 14;

absl::StatusOr<int> TypeOf(ops::Element element) {
  switch (element) {
    case ops::Element::kF64: return kTypeF64;
    case ops::Element::kF32: return kTypeF32;
    case ops::Element::kF16: return kTypeF16;
    case ops::Element::kBF16: return kTypeBF16;
    default:
      return absl::UnimplementedError(
          absl::StrCat("products of ", ops::ElementName(element), " are not those of cuBLASLt"));
  }
}

// One matrix of a batch, without the dimensions in front: rows and columns as the kernel has them.
struct View {
  uint32_t operand = 0;
  int64_t rows = 0, columns = 0, row_stride = 0, column_stride = 0;

  View Transposed() const { return {operand, columns, rows, column_stride, row_stride}; }
};

// Whether neighbours along a dimension of this size and stride are neighbours in memory.
bool IsDense(int64_t size, int64_t stride) { return size == 1 || stride == 1; }

// The view as a matrix by columns whose op is the view; false if it is none.
bool Fit(const View &view, CublasLtProduct::Matrix *matrix) {
  matrix->operand = view.operand;
  const auto take = [&](bool transposed, int64_t rows, int64_t columns, int64_t stride) {
    matrix->transposed = transposed;
    matrix->rows = uint64_t(rows);
    matrix->columns = uint64_t(columns);
    matrix->leading = columns == 1 ? std::max<int64_t>(rows, stride) : stride;
    return matrix->leading >= rows;
  };
  return (IsDense(view.rows, view.row_stride) &&
          take(false, view.rows, view.columns, view.column_stride)) ||
         (IsDense(view.columns, view.column_stride) &&
          take(true, view.columns, view.rows, view.row_stride));
}

}  // namespace

absl::StatusOr<CublasLtProduct> PlanProduct(const ops::KernelDesc &kernel) {
  if (kernel.kind != "matmul" || kernel.operands.size() != 3)
    return absl::UnimplementedError(
        absl::StrCat("no library for CUDA devices has kernel \"", kernel.kind, "\" here"));
  const auto no_layout = [&] {
    std::vector<std::string> strides;
    for (const ops::KernelOperand &operand : kernel.operands)
      strides.push_back(absl::StrJoin(operand.strides, ","));
    return absl::UnimplementedError(absl::StrCat("kernel \"matmul\" has strides [",
                                                 absl::StrJoin(strides, "] ["),
                                                 "], of which cuBLASLt has no layout"));
  };
  CublasLtProduct product;
  product.accumulate = kernel.accumulate;
  std::array<View, 3> views;
  const size_t batches = kernel.operands[0].dims.size() - 2;
  for (uint32_t i = 0; i < 3; ++i) {
    const ops::KernelOperand &o = kernel.operands[i];
    views[i] = {i, o.dims[batches], o.dims[batches + 1], o.strides[batches],
                o.strides[batches + 1]};
  }
  // D by columns has to be C, or the transposed C of the transposed product.
  View a = views[0], b = views[1], d = views[2];
  if (!IsDense(d.rows, d.row_stride) || (d.columns > 1 && d.column_stride < d.rows)) {
    a = views[1].Transposed();
    b = views[0].Transposed();
    d = views[2].Transposed();
  }
  if (!Fit(a, &product.a) || !Fit(b, &product.b) || !Fit(d, &product.d) || product.d.transposed)
    return no_layout();
  for (CublasLtProduct::Matrix *matrix : {&product.a, &product.b, &product.d}) {
    absl::StatusOr<int> type = TypeOf(kernel.operands[matrix->operand].element);
    if (!type.ok()) return type.status();
    matrix->type = *type;
  }
  const bool wide = product.a.type == kTypeF64;
  if (product.a.type != product.b.type ||
      (product.d.type != product.a.type && (wide || product.d.type != kTypeF32)))
    return absl::UnimplementedError("kernel \"matmul\" has a mix of types that cuBLASLt has not");
  product.compute = wide ? kCublasLtCompute64 : kCublasLtCompute32;
  product.scale = wide ? kTypeF64 : kTypeF32;
  // The innermost dimension of the batch that is one is the library's; calls for the others.
  product.calls = {{0, 0, 0}};
  bool taken = false;
  for (size_t dim = batches; dim-- > 0;) {
    const int64_t size = kernel.operands[0].dims[dim];
    if (size == 1) continue;
    const auto stride = [&](uint32_t operand) { return kernel.operands[operand].strides[dim]; };
    if (!taken) {
      taken = true;
      product.batch = int32_t(size);
      if (size > INT32_MAX) return no_layout();
      for (CublasLtProduct::Matrix *matrix : {&product.a, &product.b, &product.d})
        matrix->batch_stride = stride(matrix->operand);
      continue;
    }
    std::vector<std::array<int64_t, 3>> more;
    for (int64_t i = 0; i < size; ++i) {
      for (const std::array<int64_t, 3> &call : product.calls)
        more.push_back({call[0] + i * stride(0), call[1] + i * stride(1), call[2] + i * stride(2)});
    }
    product.calls = std::move(more);
  }
  return product;
}

namespace {

class CublasLtKernels : public LibraryKernels {
 public:
  CublasLtKernels(const CublasLtApi &api, const DriverApi &driver, uint64_t workspace_bytes)
      : api_(api), driver_(driver), workspace_bytes_(workspace_bytes) {}
  ~CublasLtKernels() override {
    for (const Made &made : made_) {
      for (CublasLtLayout layout : made.layouts) {
        if (layout != nullptr) api_.LayoutDestroy(layout);
      }
      if (made.operation != nullptr) api_.OperationDestroy(made.operation);
    }
    for (DevicePtr workspace : workspaces_) driver_.MemFree(workspace);
    if (handle_ != nullptr) api_.Destroy(handle_);
  }

  absl::Status Prepare(const std::vector<ops::KernelDesc> &kernels, uint32_t streams) override {
    if (absl::Status s = Check(api_.Create(&handle_), "cublasLtCreate"); !s.ok()) return s;
    for (uint32_t i = 0; i < streams; ++i) {
      DevicePtr workspace = 0;
      if (absl::Status s =
              ToStatus(driver_, driver_.MemAlloc(&workspace, workspace_bytes_), "cuMemAlloc");
          !s.ok())
        return absl::ResourceExhaustedError(absl::StrCat("workspace of cuBLASLt of ",
                                                         workspace_bytes_, " bytes: ", s.message()));
      workspaces_.push_back(workspace);
    }
    made_.reserve(kernels.size());
    for (const ops::KernelDesc &kernel : kernels) {
      absl::StatusOr<CublasLtProduct> product = PlanProduct(kernel);
      if (!product.ok()) return product.status();
      Made &made = made_.emplace_back();
      made.product = *std::move(product);
      for (const ops::KernelOperand &operand : kernel.operands)
        made.element_bytes.push_back(ops::ElementBytes(operand.element));
      if (absl::Status s = Make(&made); !s.ok()) return s;
    }
    return absl::OkStatus();
  }

  absl::Status Enqueue(uint32_t kernel, absl::Span<const DevicePtr> operands, Stream stream,
                       uint32_t number) override {
    Made &made = made_[kernel];
    const CublasLtProduct &p = made.product;
    const double alpha64 = 1, beta64 = p.accumulate ? 1 : 0;
    const float alpha32 = 1, beta32 = p.accumulate ? 1 : 0;
    const bool wide = p.scale == kTypeF64;
    const void *alpha = wide ? static_cast<const void *>(&alpha64) : &alpha32;
    const void *beta = wide ? static_cast<const void *>(&beta64) : &beta32;
    for (const std::array<int64_t, 3> &call : p.calls) {
      std::array<DevicePtr, 3> at;
      for (uint32_t i = 0; i < 3; ++i)
        at[i] = operands[i] + DevicePtr(call[i] * int64_t(made.element_bytes[i]));
      absl::StatusOr<const CublasLtAlgorithm *> algorithm = AlgorithmOf(&made, at);
      if (!algorithm.ok()) return algorithm.status();
      const auto pointer = [&](const CublasLtProduct::Matrix &m) {
        return reinterpret_cast<void *>(at[m.operand]);
      };
      if (absl::Status s = Check(
              api_.Matmul(handle_, made.operation, alpha, pointer(p.a), made.layouts[0],
                          pointer(p.b), made.layouts[1], beta, pointer(p.d), made.layouts[2],
                          pointer(p.d), made.layouts[2], *algorithm,
                          reinterpret_cast<void *>(workspaces_[number]), workspace_bytes_, stream),
              "cublasLtMatmul");
          !s.ok())
        return s;
    }
    return absl::OkStatus();
  }

 private:
  struct Made {
    CublasLtProduct product;
    std::vector<size_t> element_bytes;  // of the kernel's operands
    CublasLtOperation operation = nullptr;
    std::array<CublasLtLayout, 3> layouts = {};
    // By what the addresses of A, B and D are multiples of.
    std::map<std::array<uint32_t, 3>, CublasLtAlgorithm> algorithms;
  };

  static absl::Status Check(int status, const char *what) {
    if (status == 0) return absl::OkStatus();
    return absl::InternalError(absl::StrCat(what, ": cuBLAS status ", status));
  }

  absl::Status Make(Made *made) {
    const CublasLtProduct &p = made->product;
    if (absl::Status s = Check(api_.OperationCreate(&made->operation, p.compute, p.scale),
                               "cublasLtMatmulDescCreate");
        !s.ok())
      return s;
    for (const auto &[attribute, matrix] :
         {std::pair(kCublasLtTransA, &p.a), std::pair(kCublasLtTransB, &p.b)}) {
      const int32_t operation = matrix->transposed ? 1 : 0;
      if (absl::Status s = Check(
              api_.OperationSet(made->operation, attribute, &operation, sizeof(operation)),
              "cublasLtMatmulDescSetAttribute");
          !s.ok())
        return s;
    }
    for (const auto &[layout, m] :
         {std::pair(&made->layouts[0], &p.a), std::pair(&made->layouts[1], &p.b),
          std::pair(&made->layouts[2], &p.d)}) {
      if (absl::Status s =
              Check(api_.LayoutCreate(layout, m->type, m->rows, m->columns, m->leading),
                    "cublasLtMatrixLayoutCreate");
          !s.ok())
        return s;
      absl::Status s = Check(
          api_.LayoutSet(*layout, kCublasLtBatchCount, &p.batch, sizeof(p.batch)),
          "cublasLtMatrixLayoutSetAttribute");
      if (s.ok())
        s = Check(api_.LayoutSet(*layout, kCublasLtBatchStride, &m->batch_stride,
                                 sizeof(m->batch_stride)),
                  "cublasLtMatrixLayoutSetAttribute");
      if (!s.ok()) return s;
    }
    return absl::OkStatus();
  }

  absl::StatusOr<const CublasLtAlgorithm *> AlgorithmOf(Made *made,
                                                        const std::array<DevicePtr, 3> &at) {
    const CublasLtProduct &p = made->product;
    std::array<uint32_t, 3> alignment;
    size_t next = 0;
    for (const CublasLtProduct::Matrix *m : {&p.a, &p.b, &p.d}) {
      const DevicePtr address = at[m->operand];
      alignment[next++] =
          uint32_t(std::min<DevicePtr>(kMostAlignment, address & (~address + 1)));
    }
    const auto known = made->algorithms.find(alignment);
    if (known != made->algorithms.end()) return &known->second;
    CublasLtPreference preference = nullptr;
    if (absl::Status s = Check(api_.PreferenceCreate(&preference), "cublasLtMatmulPreferenceCreate");
        !s.ok())
      return s;
    absl::Status s = Check(api_.PreferenceSet(preference, kCublasLtMaxWorkspace, &workspace_bytes_,
                                              sizeof(workspace_bytes_)),
                           "cublasLtMatmulPreferenceSetAttribute");
    for (const auto &[attribute, value] :
         {std::pair(kCublasLtAlignmentA, alignment[0]), std::pair(kCublasLtAlignmentB, alignment[1]),
          std::pair(kCublasLtAlignmentC, alignment[2]),
          std::pair(kCublasLtAlignmentD, alignment[2])}) {
      if (s.ok())
        s = Check(api_.PreferenceSet(preference, attribute, &value, sizeof(value)),
                  "cublasLtMatmulPreferenceSetAttribute");
    }
    CublasLtHeuristic found = {};
    int count = 0;
    if (s.ok())
      s = Check(api_.GetHeuristic(handle_, made->operation, made->layouts[0], made->layouts[1],
                                  made->layouts[2], made->layouts[2], preference, 1, &found, &count),
                "cublasLtMatmulAlgoGetHeuristic");
    api_.PreferenceDestroy(preference);
    if (s.ok() && count == 0)
      s = absl::UnimplementedError("cuBLASLt has no algorithm for a kernel \"matmul\"");
    if (!s.ok()) return s;
    return &made->algorithms.emplace(alignment, found.algorithm).first->second;
  }

  const CublasLtApi &api_;
  const DriverApi &driver_;
  const uint64_t workspace_bytes_;
  CublasLtHandle handle_ = nullptr;
  std::vector<DevicePtr> workspaces_;
  std::vector<Made> made_;
};

}  // namespace

std::unique_ptr<LibraryKernels> MakeCublasLtKernels(const CublasLtApi &api,
                                                    const DriverApi &driver,
                                                    uint64_t workspace_bytes) {
  return std::make_unique<CublasLtKernels>(api, driver, workspace_bytes);
}

}  // namespace commsched::runtime::cuda
