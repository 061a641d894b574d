// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/onednn/matmul.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ops/base/halves.h"
#include "ops/onednn/primitive.h"
#include "ops/onednn/widened.h"
#include "ops/reference/reference.h"

namespace commsched::ops {
namespace {

using Dims = dnnl::memory::dims;

// One operand in the shape that is given to the library.
struct Tensor {
  size_t operand = 0;
  dnnl::memory::data_type type = dnnl::memory::data_type::f32;
  Dims dims, strides;

  dnnl::memory::desc Desc() const { return {dims, type, strides}; }
  dnnl::memory::desc Dense() const {
    Dims dense(dims.size(), 1);
    for (size_t d = dims.size() - 1; d > 0; --d)
      dense[d - 1] = dense[d] * dims[d];
    return {dims, type, dense};
  }
  void SwapLast() {
    std::swap(dims[dims.size() - 1], dims[dims.size() - 2]);
    std::swap(strides[dims.size() - 1], strides[dims.size() - 2]);
  }
};

// Merges neighbouring batch dimensions that all three walk through evenly.
void MergeBatch(Tensor *tensors) {
  for (size_t d = 0; tensors[2].dims.size() > 3 && d + 3 < tensors[2].dims.size();) {
    bool even = true;
    for (int i = 0; i < 3; ++i)
      even = even && tensors[i].strides[d] ==
                         tensors[i].strides[d + 1] * tensors[i].dims[d + 1];
    if (!even) {
      ++d;
      continue;
    }
    for (int i = 0; i < 3; ++i) {
      tensors[i].dims[d + 1] *= tensors[i].dims[d];
      tensors[i].dims.erase(tensors[i].dims.begin() + long(d));
      tensors[i].strides.erase(tensors[i].strides.begin() + long(d));
    }
  }
}

// The stride of a dimension of size 1 is arbitrary; this one looks dense.
void TidyUnitStrides(Tensor *t) {
  for (size_t d = t->dims.size(); d-- > 0;)
    if (t->dims[d] == 1)
      t->strides[d] = d + 1 == t->dims.size()
                          ? 1
                          : std::max<int64_t>(1, t->strides[d + 1] * t->dims[d + 1]);
}

std::unique_ptr<KernelInstance> Make(const Tensor &a, const Tensor &b,
                                     const Tensor &c, bool accumulate,
                                     bool dense_inputs, bool dense_output,
                                     bool half) {
  dnnl::memory::desc a_md = dense_inputs ? a.Dense() : a.Desc();
  dnnl::memory::desc b_md = dense_inputs ? b.Dense() : b.Desc();
  dnnl::memory::desc c_md = dense_output ? c.Dense() : c.Desc();
  dnnl::primitive_attr attr = UserScratchpad();
  bool copied = dense_output && c_md != c.Desc();
  // The product would be rounded before it is added.
  if (half && accumulate && copied) return nullptr;
  if (accumulate && !copied) {
    dnnl::post_ops ops;
    ops.append_sum(1.0f);
    attr.set_post_ops(ops);
  }
  dnnl::matmul::primitive_desc pd(dnnl::matmul::desc(a_md, b_md, c_md), attr,
                                  CpuEngine());
  std::string name = pd.impl_info_str();
  bool last = dense_inputs && dense_output && !half;
  if (absl::StartsWith(name, "ref") && !last) return nullptr;
  std::vector<PrimitiveArgument> arguments = {
      {DNNL_ARG_SRC, a.operand, a.Desc(), a_md, false, false},
      {DNNL_ARG_WEIGHTS, b.operand, b.Desc(), b_md, false, false},
      {DNNL_ARG_DST, c.operand, c.Desc(), c_md, true, accumulate && copied}};
  return std::make_unique<PrimitiveKernel>(dnnl::matmul(pd), name,
                                           pd.scratchpad_desc(),
                                           std::move(arguments));
}

}  // namespace

absl::Status CheckMatmul(const KernelDesc &desc) {
  if (desc.operands.size() != 3)
    return absl::InvalidArgumentError(
        absl::StrCat("needs 3 operands, got: ", desc.operands.size()));
  size_t rank = desc.operands[2].dims.size();
  if (rank < 2 || rank > 5)
    return absl::InvalidArgumentError(
        absl::StrCat("needs 2 to 5 dimensions, got: ", rank));
  for (const KernelOperand &operand : desc.operands) {
    if (operand.dims.size() != rank || operand.strides.size() != rank)
      return absl::InvalidArgumentError(
          "operands must have the same number of dimensions");
    if (!IsFloat(operand.element) && desc.operands[0].element != operand.element)
      return absl::InvalidArgumentError("integer operands must have one type");
    if (operand.element == Element::kI1)
      return absl::UnimplementedError("i1 is not an element type of it");
  }
  const auto &a = desc.operands[0].dims, &b = desc.operands[1].dims,
             &c = desc.operands[2].dims;
  bool fits = a[rank - 2] == c[rank - 2] && a[rank - 1] == b[rank - 2] &&
              b[rank - 1] == c[rank - 1];
  for (size_t d = 0; d + 2 < rank; ++d)
    fits = fits && a[d] == c[d] && b[d] == c[d];
  for (size_t d = 0; d < rank; ++d)
    if (c[d] > 1 && desc.operands[2].strides[d] == 0)
      return absl::InvalidArgumentError("the output must not repeat elements");
  if (!fits)
    return absl::InvalidArgumentError(absl::StrCat(
        "sizes must match [.., m, k] x [.., k, n] = [.., m, n], got: [",
        absl::StrJoin(a, ","), "] x [", absl::StrJoin(b, ","), "] = [",
        absl::StrJoin(c, ","), "]"));
  return absl::OkStatus();
}

// Where the library has nothing.
static absl::StatusOr<std::unique_ptr<KernelInstance>> MakeOther(
    const KernelDesc &desc) {
  if (CanWiden(desc)) return MakeWidened(desc, &MakeMatmul);
  return MakeReferenceMatmul(desc);
}

absl::StatusOr<std::unique_ptr<KernelInstance>> MakeMatmul(
    const KernelDesc &desc) {
  Tensor t[3];
  bool library = true;
  for (size_t i = 0; i < 3; ++i) {
    const KernelOperand &operand = desc.operands[i];
    auto type = DnnlType(operand.element);
    library = library && type.has_value();
    t[i] = {i, type.value_or(dnnl::memory::data_type::f32), operand.dims,
            operand.strides};
  }
  // The library multiplies f32 by f32 and bf16 by bf16.
  library = library && t[0].type == t[1].type &&
            (t[0].type != dnnl::memory::data_type::f32 ||
             t[2].type == dnnl::memory::data_type::f32);
  if (!library) return MakeOther(desc);
  MergeBatch(t);
  size_t rank = t[2].dims.size();
  for (Tensor &tensor : t) {
    TidyUnitStrides(&tensor);
    for (size_t d = 0; d < rank; ++d)
      if (tensor.strides[d] == 0) {
        // A repeated matrix is a batch dimension of size 1 to the library.
        if (d + 2 >= rank) return MakeOther(desc);
        tensor.dims[d] = 1;
        TidyUnitStrides(&tensor);
      }
  }
  // A column-major product is the row-major product of the transposes.
  if (t[2].strides[rank - 1] != 1 && t[2].strides[rank - 2] == 1) {
    for (Tensor &tensor : t) tensor.SwapLast();
    std::swap(t[0], t[1]);
  }
  try {
    for (auto [inputs, output] :
         {std::pair{false, false}, {false, true}, {true, false}, {true, true}}) {
      try {
        if (auto kernel = Make(t[0], t[1], t[2], desc.accumulate, inputs, output,
                               IsHalf(desc.operands[2].element)))
          return kernel;
      } catch (const dnnl::error &) {
        if (inputs && output) throw;
      }
    }
  } catch (const dnnl::error &) {
  }
  return MakeOther(desc);
}

}  // namespace commsched::ops
