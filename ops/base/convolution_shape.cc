// Part of CommSched, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ops/base/convolution_shape.h"

#include <string>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"

namespace commsched::ops {
namespace {

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

}  // namespace commsched::ops
