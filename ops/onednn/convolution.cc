// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/onednn/convolution.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "ops/halves.h"
#include "ops/onednn/primitive.h"
#include "ops/onednn/widened.h"
#include "ops/reference/reference.h"

namespace commsched::ops {
namespace {

using Dims = dnnl::memory::dims;
using Desc = dnnl::memory::desc;

absl::StatusOr<std::vector<int64_t>> Attribute(const KernelDesc &desc,
                                               const char *name, size_t count,
                                               int64_t value, int64_t least) {
  auto it = desc.attributes.find(name);
  if (it == desc.attributes.end()) return std::vector<int64_t>(count, value);
  if (it->second.size() != count)
    return absl::InvalidArgumentError(
        absl::StrCat("attribute `", name, "` must have ", count,
                     " values, got: ", it->second.size()));
  for (int64_t v : it->second)
    if (v < least || v > (int64_t{1} << 31))
      return absl::InvalidArgumentError(absl::StrCat(
          "attribute `", name, "` must be at least ", least, ", got: ", v));
  return it->second;
}

absl::Status CheckSizes(const KernelDesc &desc, const ConvolutionShape &shape) {
  const auto &s = desc.operands[shape.source].dims;
  const auto &w = desc.operands[shape.weights].dims;
  const auto &t = desc.operands[shape.destination].dims;
  auto mismatch = [](const char *what, int64_t want, int64_t got) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, " must match ", want, ", got: ", got));
  };
  if (t[0] != s[0]) return mismatch("samples of the destination", s[0], t[0]);
  if (t[1] != w[0]) return mismatch("channels of the destination", w[0], t[1]);
  if (w[1] * shape.groups != s[1] || w[1] > s[1])
    return mismatch("channels of the source", w[1] * shape.groups, s[1]);
  if (w[0] % shape.groups != 0)
    return absl::InvalidArgumentError("groups must divide the output channels");
  for (int d = 0; d < shape.spatial; ++d) {
    int64_t extent;
    if (__builtin_mul_overflow(w[d + 2] - 1, shape.dilations[d], &extent))
      return absl::InvalidArgumentError("the dilated kernel is too large");
    int64_t room = s[d + 2] + shape.pad_low[d] + shape.pad_high[d] - extent - 1;
    int64_t out = room < 0 ? 0 : room / shape.strides[d] + 1;
    if (t[d + 2] != out)
      return mismatch("spatial size of the destination", out, t[d + 2]);
  }
  return absl::OkStatus();
}

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

absl::StatusOr<ConvolutionShape> ParseConvolution(const KernelDesc &desc) {
  ConvolutionShape shape;
  if (desc.operands.size() != 3)
    return absl::InvalidArgumentError(
        absl::StrCat("needs 3 operands, got: ", desc.operands.size()));
  if (desc.kind == "convolution_forward") {
    shape.kind = ConvolutionShape::kForward;
    shape.source = 0, shape.weights = 1, shape.destination = 2;
  } else if (desc.kind == "convolution_backward_data") {
    shape.kind = ConvolutionShape::kBackwardData;
    shape.destination = 0, shape.weights = 1, shape.source = 2;
  } else {
    shape.kind = ConvolutionShape::kBackwardWeights;
    shape.source = 0, shape.destination = 1, shape.weights = 2;
  }
  size_t rank = desc.operands[0].dims.size();
  if (rank < 3 || rank > 5)
    return absl::InvalidArgumentError(
        absl::StrCat("needs 1 to 3 spatial dimensions, got: ", int(rank) - 2));
  for (const KernelOperand &operand : desc.operands) {
    if (operand.dims.size() != rank || operand.strides.size() != rank)
      return absl::InvalidArgumentError(
          "operands must have the same number of dimensions");
    if (operand.element == Element::kI1 ||
        (!IsFloat(operand.element) &&
         operand.element != desc.operands[0].element))
      return absl::UnimplementedError("element types do not go together");
  }
  for (size_t d = 0; d < rank; ++d)
    if (desc.operands[2].dims[d] > 1 && desc.operands[2].strides[d] == 0)
      return absl::InvalidArgumentError("the output must not repeat elements");
  shape.spatial = int(rank) - 2;
  for (auto [target, name, value, least] :
       {std::tuple{&shape.strides, "strides", 1, 1},
        {&shape.dilations, "dilations", 1, 1},
        {&shape.pad_low, "pad_low", 0, 0},
        {&shape.pad_high, "pad_high", 0, 0}}) {
    auto values = Attribute(desc, name, size_t(shape.spatial), value, least);
    if (!values.ok()) return values.status();
    *target = *std::move(values);
  }
  auto groups = Attribute(desc, "groups", 1, 1, 1);
  if (!groups.ok()) return groups.status();
  shape.groups = (*groups)[0];
  return shape;
}

absl::Status CheckConvolution(const KernelDesc &desc) {
  absl::StatusOr<ConvolutionShape> shape = ParseConvolution(desc);
  if (!shape.ok()) return shape.status();
  return CheckSizes(desc, *shape);
}

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
