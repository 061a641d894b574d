// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/cuda/matmul_layout.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace commsched::runtime::cuda {
namespace {

// Of an operand, without its batch.
struct Matrix {
  size_t operand = 0;
  ops::Element element = ops::Element::kF32;
  int64_t rows = 1, columns = 1, row_stride = 0, column_stride = 0;
};

Matrix MatrixOf(const ops::KernelDesc &kernel, size_t operand) {
  const ops::KernelOperand &of = kernel.operands[operand];
  const size_t rank = of.dims.size();
  return {operand, of.element, of.dims[rank - 2],
          of.dims[rank - 1], of.strides[rank - 2], of.strides[rank - 1]};
}
Matrix Transpose(Matrix matrix) {
  std::swap(matrix.rows, matrix.columns);
  std::swap(matrix.row_stride, matrix.column_stride);
  return matrix;
}

std::optional<ColumnMajor> AsItLies(const Matrix &matrix) {
  if (matrix.rows > 1 && matrix.row_stride != 1) return std::nullopt;
  // The stride of a dimension of size 1 says nothing.
  const int64_t leading = matrix.columns == 1 ? matrix.rows : matrix.column_stride;
  if (leading < matrix.rows) return std::nullopt;
  ColumnMajor result;
  result.operand = matrix.operand;
  result.element = matrix.element;
  result.rows = uint64_t(matrix.rows);
  result.columns = uint64_t(matrix.columns);
  result.leading = leading;
  return result;
}
std::optional<ColumnMajor> AsFactor(const Matrix &matrix) {
  if (std::optional<ColumnMajor> lies = AsItLies(matrix)) return lies;
  std::optional<ColumnMajor> other = AsItLies(Transpose(matrix));
  if (other) other->transposed = true;
  return other;
}

std::vector<int64_t> DenseStrides(const std::vector<int64_t> &dims) {
  std::vector<int64_t> strides(dims.size(), 1);
  for (size_t d = dims.size(); d-- > 1;) strides[d - 1] = strides[d] * dims[d];
  return strides;
}

}  // namespace

bool Overlaps(const ops::KernelOperand &operand) {
  std::vector<std::pair<int64_t, int64_t>> axes;
  for (size_t d = 0; d < operand.dims.size(); ++d)
    if (operand.dims[d] > 1) axes.emplace_back(operand.strides[d], operand.dims[d]);
  std::sort(axes.begin(), axes.end());
  int64_t extent = 1;
  for (const auto &[stride, size] : axes) {
    if (stride < extent) return true;
    extent += (size - 1) * stride;
  }
  return false;
}

absl::StatusOr<MatmulLayout> LayoutOfMatmul(const ops::KernelDesc &kernel) {
  const auto refuse = [](absl::string_view what) { return absl::UnimplementedError(what); };
  const Matrix a = MatrixOf(kernel, 0), b = MatrixOf(kernel, 1), c = MatrixOf(kernel, 2);
  if (std::max({c.rows, c.columns, a.columns}) > std::numeric_limits<int32_t>::max())
    return refuse("sizes must be less than 2^31");
  if (Overlaps(kernel.operands[2])) return refuse("elements of the output must not overlap");
  MatmulLayout result;
  result.accumulate = kernel.accumulate;
  std::optional<ColumnMajor> first, second, output = AsItLies(Transpose(c));
  if (output) {
    first = AsFactor(Transpose(b));
    second = AsFactor(Transpose(a));
  } else {
    output = AsItLies(c);
    first = AsFactor(a);
    second = AsFactor(b);
  }
  if (!first || !second || !output)
    return refuse("each matrix must have rows or columns whose elements lie one behind the other");
  result.a = *first;
  result.b = *second;
  result.d = *output;

  const size_t batches = kernel.operands[2].dims.size() - 2;
  const std::vector<int64_t> &dims = kernel.operands[2].dims;
  const auto largest =
      size_t(std::max_element(dims.begin(), dims.begin() + ptrdiff_t(batches)) - dims.begin());
  size_t calls = 1;
  for (size_t d = 0; d < batches; ++d) {
    if (d == largest) continue;
    if (size_t(dims[d]) > kMostMatmulCalls / calls)
      return refuse(absl::StrCat("all batch dimensions but the largest must be of at most ",
                                 kMostMatmulCalls, " matrices"));
    calls *= size_t(dims[d]);
  }
  if (batches != 0) {
    if (dims[largest] > std::numeric_limits<int32_t>::max())
      return refuse("sizes must be less than 2^31");
    result.batch = int32_t(dims[largest]);
  }
  ColumnMajor *const matrices[] = {&result.a, &result.b, &result.d};
  result.offsets.assign(calls, {});
  for (size_t i = 0; i < 3; ++i) {
    const std::vector<int64_t> &strides = kernel.operands[matrices[i]->operand].strides;
    if (batches != 0 && dims[largest] > 1) matrices[i]->batch_stride = strides[largest];
    for (size_t call = 0; call < calls; ++call) {
      size_t index = call;
      for (size_t d = batches; d-- > 0;) {
        if (d == largest) continue;
        result.offsets[call][i] += int64_t(index % size_t(dims[d])) * strides[d];
        index /= size_t(dims[d]);
      }
    }
  }
  return result;
}

std::string DescribeKernel(const ops::KernelDesc &kernel) {
  std::string text = kernel.kind;
  for (size_t i = 0; i < kernel.operands.size(); ++i) {
    const ops::KernelOperand &operand = kernel.operands[i];
    const bool output = i + 1 == kernel.operands.size();
    absl::StrAppend(&text, i == 0 ? " " : !output         ? " x "
                                      : kernel.accumulate ? " += "
                                                          : " = ",
                    ops::ElementName(operand.element), "[", absl::StrJoin(operand.dims, ","), "]");
    if (operand.strides != DenseStrides(operand.dims))
      absl::StrAppend(&text, "(", absl::StrJoin(operand.strides, ","), ")");
  }
  for (const auto &[name, values] : kernel.attributes)
    absl::StrAppend(&text, " ", name, "=", absl::StrJoin(values, ","));
  return text;
}

}  // namespace commsched::runtime::cuda
