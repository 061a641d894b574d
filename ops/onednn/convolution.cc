// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/onednn/convolution.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "ops/base/halves.h"
#include "ops/onednn/primitive.h"
#include "ops/onednn/widened.h"
#include "ops/reference/reference.h"

namespace commsched::ops {
namespace {

using Dims = dnnl::memory::dims;
using Desc = dnnl::memory::desc;

Desc Plain(const KernelOperand &operand) {
  Dims strides = operand.strides;
  for (size_t d = strides.size(); d-- > 0;)
    if (operand.dims[d] == 1)  // arbitrary; this one looks dense
      strides[d] = d + 1 == strides.size()
                       ? 1
                       : std::max<int64_t>(1, strides[d + 1] * operand.dims[d + 1]);
  return Desc(operand.dims, *DnnlType(operand.element), strides);
}

// [O, I, ...] as [groups, O / groups, I, ...].
Desc PlainWeights(const KernelOperand &operand, int64_t groups) {
  if (groups == 1) return Plain(operand);
  Dims dims = operand.dims, strides = operand.strides;
  dims[0] /= groups;
  dims.insert(dims.begin(), groups);
  strides.insert(strides.begin(), strides[0] * dims[1]);
  return Desc(dims, *DnnlType(operand.element), strides);
}

// What the three primitives differ in.
struct Built {
  dnnl::primitive primitive;
  std::string name;
  Desc scratchpad, source, weights, destination;
};

template <typename PrimitiveDesc>
void Name(const PrimitiveDesc &pd, Built *built) {
  built->name = pd.impl_info_str();
  built->scratchpad = pd.scratchpad_desc();
}

Built Build(const ConvolutionShape &shape, const Desc &s, const Desc &w,
            const Desc &t, bool sum) {
  Dims dilations;
  for (int64_t d : shape.dilations) dilations.push_back(d - 1);
  const auto direct = dnnl::algorithm::convolution_direct;
  using Forward = dnnl::convolution_forward;
  dnnl::primitive_attr attr = UserScratchpad();
  dnnl::primitive_attr hint_attr = UserScratchpad();
  if (sum) {
    dnnl::post_ops ops;
    ops.append_sum(1.0f);
    attr.set_post_ops(ops);
  }
  Forward::primitive_desc forward(
      Forward::desc(dnnl::prop_kind::forward_training, direct, s, w, t,
                    shape.strides, dilations, shape.pad_low, shape.pad_high),
      shape.kind == ConvolutionShape::kForward ? attr : hint_attr, CpuEngine());
  Built built;
  if (shape.kind == ConvolutionShape::kForward) {
    built.primitive = Forward(forward);
    Name(forward, &built);
    built.source = forward.src_desc();
    built.weights = forward.weights_desc();
    built.destination = forward.dst_desc();
  } else if (shape.kind == ConvolutionShape::kBackwardData) {
    using Backward = dnnl::convolution_backward_data;
    Backward::primitive_desc pd(
        Backward::desc(direct, s, w, t, shape.strides, dilations, shape.pad_low,
                       shape.pad_high),
        hint_attr, CpuEngine(), forward);
    built.primitive = Backward(pd);
    Name(pd, &built);
    built.source = pd.diff_src_desc();
    built.weights = pd.weights_desc();
    built.destination = pd.diff_dst_desc();
  } else {
    using Backward = dnnl::convolution_backward_weights;
    Backward::primitive_desc pd(
        Backward::desc(direct, s, w, t, shape.strides, dilations, shape.pad_low,
                       shape.pad_high),
        hint_attr, CpuEngine(), forward);
    built.primitive = Backward(pd);
    Name(pd, &built);
    built.source = pd.src_desc();
    built.weights = pd.diff_weights_desc();
    built.destination = pd.diff_dst_desc();
  }
  return built;
}

Desc Any(const Desc &desc) {
  return Desc(desc.dims(), desc.data_type(), dnnl::memory::format_tag::any);
}

// Slow implementations: plain loops, and matrix products on unfolded patches.
bool IsSlow(const std::string &name) {
  return absl::StartsWith(name, "ref") || absl::StrContains(name, "gemm");
}

std::unique_ptr<KernelInstance> Make(const KernelDesc &desc,
                                     const ConvolutionShape &shape) {
  Desc s = Plain(desc.operands[shape.source]);
  Desc w = PlainWeights(desc.operands[shape.weights], shape.groups);
  Desc t = Plain(desc.operands[shape.destination]);
  bool forward = shape.kind == ConvolutionShape::kForward;
  std::optional<Built> built;
  bool sum = desc.accumulate && forward;
  try {
    built = Build(shape, s, w, t, sum);
  } catch (const dnnl::error &) {
  }
  if (!built || IsSlow(built->name)) {
    // Layouts of the library's choice pay for copying in and out, unless it
    // has nothing better for those either.
    try {
      Built free = Build(shape, Any(s), Any(w), Any(t), false);
      if (!built || !IsSlow(free.name) ||
          (absl::StartsWith(built->name, "ref") &&
           !absl::StartsWith(free.name, "ref"))) {
        built = std::move(free);
        sum = false;
      }
    } catch (const dnnl::error &) {
    }
  }
  if (!built) return nullptr;
  bool add = desc.accumulate && !sum;
  // Of 16 bits there is better than loops, and what is added later would be
  // rounded twice.
  if (IsHalf(desc.operands[2].element) && (add || IsSlow(built->name)))
    return nullptr;
  using Kind = ConvolutionShape::Kind;
  const Kind kind = shape.kind;
  std::vector<PrimitiveArgument> arguments = {
      {kind == Kind::kBackwardData ? DNNL_ARG_DIFF_SRC : DNNL_ARG_SRC,
       shape.source, s, built->source, kind == Kind::kBackwardData,
       add && kind == Kind::kBackwardData},
      {kind == Kind::kBackwardWeights ? DNNL_ARG_DIFF_WEIGHTS : DNNL_ARG_WEIGHTS,
       shape.weights, w, built->weights, kind == Kind::kBackwardWeights,
       add && kind == Kind::kBackwardWeights},
      {forward ? DNNL_ARG_DST : DNNL_ARG_DIFF_DST, shape.destination, t,
       built->destination, forward, add && forward}};
  return std::make_unique<PrimitiveKernel>(built->primitive, built->name,
                                           built->scratchpad,
                                           std::move(arguments));
}

}  // namespace

absl::StatusOr<std::unique_ptr<KernelInstance>> MakeConvolution(
    const KernelDesc &desc) {
  absl::StatusOr<ConvolutionShape> shape = ParseConvolution(desc);
  if (!shape.ok()) return shape.status();
  bool library = true;
  for (const KernelOperand &operand : desc.operands) {
    library = library && DnnlType(operand.element).has_value();
    for (size_t d = 0; d < operand.dims.size(); ++d)
      library = library && (operand.strides[d] != 0 || operand.dims[d] == 1);
  }
  if (library) {
    try {
      if (auto kernel = Make(desc, *shape)) return kernel;
    } catch (const dnnl::error &) {
      // Falls back to f32, or to the loops.
    }
  }
  if (CanWiden(desc)) return MakeWidened(desc, &MakeConvolution);
  return MakeReferenceConvolution(desc);
}

}  // namespace commsched::ops
